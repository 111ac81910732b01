"""The learners by the names that the command line has for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import click


class Learner(NamedTuple):
    """A learner's class, and what its number of hyperplanes is called."""

    title: str
    number: str | None
    many: bool
    """Whether it learns more than two classes."""


LEARNERS = {
    "polyceptron": Learner("Polyceptron", "n_hyperplanes", True),
    "batch": Learner("BatchPolyceptron", "n_hyperplanes", False),
    "online": Learner("OnlinePolyceptron", "n_hyperplanes", False),
    "spla1": Learner("SPLA1", "n_hyperplanes", False),
    "spla2": Learner("SPLA2", "max_hyperplanes", False),
    "pcslp": Learner("PCSLP", "n_hyperplanes", False),
    "oc1": Learner("OC1", None, True),
}


def make(name: str, classes: Any, *, k: int | None, inside: str | None, seed: int) -> Any:
    """Return a learner that is ready to fit.

    Parameters
    ----------
    name : str
        One of `LEARNERS`.
    classes : ndarray
        The labels that there are.
    k : int or None
        The number of hyperplanes; None is the learner's own choice.
    inside : str or None
        The class inside, as text.
    seed : int
    """
    from polyceptron import learners

    learner = LEARNERS[name]
    if len(classes) > 2 and not learner.many:
        able = ", ".join(other for other, entry in LEARNERS.items() if entry.many)
        raise click.UsageError(
            f"--learner {name} learns two classes, and there are {len(classes)}; "
            f"these learn more: {able}"
        )
    parameters: dict[str, Any] = {"random_state": seed}
    if k is not None:
        if learner.number is None:
            raise click.UsageError(
                f"--learner {name} finds its own number of hyperplanes; leave out -k"
            )
        parameters[learner.number] = k
    if inside is not None:
        parameters["inside"] = _inside(name, classes, inside)
    return getattr(learners, learner.title)(**parameters)


def _inside(name: str, classes: Any, inside: str) -> Any:
    if name == "oc1":
        raise click.UsageError(
            "--learner oc1 is a tree, which has no class inside; leave out --inside"
        )
    if len(classes) > 2:
        raise click.UsageError(
            f"--inside is for two classes, and there are {len(classes)}: "
            "each gets a polyhedron of its own"
        )
    for label in classes.tolist():
        if str(label) == inside:
            return label
    raise click.UsageError(
        f"--inside must be one of {', '.join(map(str, classes))}; got {inside!r}"
    )

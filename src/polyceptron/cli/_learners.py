"""The learners as the command line names and makes them; `registry` knows them."""

from __future__ import annotations

from typing import Any

import click

from polyceptron.learners import registry


class LearnerName(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The name of a learner that there is, also one that a package adds."""

    name = "learner"

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return f"[{'|'.join(registry.known_names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in registry.known_names() and value not in registry.learner_names():
            known = ", ".join(map(repr, registry.learner_names()))
            self.fail(f"{value!r} is not one of {known}.", param, ctx)
        return str(value)


def make(name: str, classes: Any, *, k: int | None, inside: str | None, seed: int) -> Any:
    """Return a learner that is ready to fit; k None is its own choice, inside is text."""
    learner = registry.find_learner(name)
    if len(classes) > 2 and not registry.learns_many_classes(learner):
        names = registry.learner_names()
        able = [one for one in names if registry.learns_many_classes(registry.find_learner(one))]
        raise click.UsageError(
            f"--learner {name} learns two classes, and there are {len(classes)}; "
            f"these learn more: {', '.join(able)}"
        )
    known = registry.parameters_of(learner)
    parameters: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    if k is not None:
        number = registry.number_parameter(learner)
        if number is None:
            raise click.UsageError(
                f"--learner {name} finds its own number of hyperplanes; leave out -k"
            )
        parameters[number] = k
    if inside is not None:
        if "inside" not in known:
            raise click.UsageError(f"--learner {name} has no class inside; leave out --inside")
        parameters["inside"] = _label(inside, classes.tolist())
    return learner(**parameters)


def _label(inside: str, classes: list[Any]) -> Any:
    if len(classes) > 2:
        raise click.UsageError(
            f"--inside is for two classes, and there are {len(classes)}: "
            "each gets a polyhedron of its own"
        )
    named = {str(label): label for label in classes}
    if inside not in named:
        raise click.UsageError(f"--inside must be one of {', '.join(named)}; got {inside!r}")
    return named[inside]

"""Learners as the command line makes them, and how well a model answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import polyceptron
from polyceptron.cli._lazy import metrics, model_selection, np
from polyceptron.cli._terminal import Waiting, section, shown, table
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.source import ArraySource


def make(
    name: str, classes: Any, *, k: int | None, inside: str | None, seed: int, **sizes: Any
) -> Any:
    """Return a learner that is ready to fit; None is its own choice, inside is text.

    ``sizes`` are parameters of learners of unions.
    """
    learner = registry.find_learner(name)
    if len(classes) > 2 and not registry.learns_many_classes(learner):
        raise click.UsageError(
            f"--learner {name} learns two classes, and there are {len(classes)}; "
            f"these learn more: {_those_that(registry.learns_many_classes)}"
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
    sizes = {size: value for size, value in sizes.items() if value is not None}
    missing = next((size for size in sizes if size not in known), None)
    if missing is not None:
        able = _those_that(lambda one: missing in registry.parameters_of(one))
        option = "--" + missing.removeprefix("n_").replace("_", "-")
        raise click.UsageError(
            f"--learner {name} has no {missing}; leave out {option}, or choose one that has: {able}"
        )
    return learner(**parameters, **sizes)


def _those_that(able: Callable[[type], bool]) -> str:
    """The names of the learners whose class is fit for something."""
    return ", ".join(one for one in registry.learner_names() if able(registry.find_learner(one)))


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


class Score(NamedTuple):
    """Answers on rows that were not learned from; ``counts`` is their confusion matrix."""

    what: str
    accuracy: float
    spread: float | None
    counts: Any


def split(y: Any, share: float, seed: int) -> Any:
    """Return which rows to learn from, and which share of each class to hold out."""
    try:
        return model_selection.train_test_split(
            np.arange(len(y)), test_size=share, random_state=seed, stratify=y
        )
    except ValueError as error:
        raise ValueError(f"--test-size {share:g} does not work here: {error}") from None


def held_out(rule: polyceptron.Rule, X: Any, places: Any) -> Score:
    """Return the score of a rule on rows that were held out."""
    counts = confusion(rule, X, places)
    return Score(f"{len(places)} rows held out", share_right(counts), None, counts)


def cross_validated(estimator: Any, rows: ArraySource, n: int, seed: int, title: str = "") -> Score:
    """Return the score of stratified cross-validation."""
    from sklearn.base import clone

    X, y, places = rows.X, rows.y, rows.codes
    least = np.bincount(places).min()
    if least < n:
        raise ValueError(f"--cv {n} needs {n} rows of every class; one has {least}")
    folds = model_selection.StratifiedKFold(n, shuffle=True, random_state=seed)
    counts = []
    with Waiting("Cross-validating") as waiting:
        for i, (train, test) in enumerate(folds.split(places, places), 1):
            waiting.say(f"{title}{': ' if title else ''}fold {i} of {n}", i - 1, n)
            rule = clone(estimator).fit(X[train], y[train]).rule_
            counts.append(confusion(rule, X[test], places[test]))
    shares = list(map(share_right, counts))
    accuracy, spread = float(np.mean(shares)), float(np.std(shares))
    return Score(f"{n}-fold cross-validation", accuracy, spread, sum(counts))


def confusion(rule: polyceptron.Rule, X: Any, places: Any) -> Any:
    """Count rows by their class, a line each, and by their answer."""
    labels = range(len(rule.classes))
    return metrics.confusion_matrix(places, rule.decide(X).place, labels=labels)


def share_right(counts: Any) -> float:
    """Return the accuracy that a confusion matrix shows."""
    return float(counts.trace() / counts.sum())


def answers_in(counts: Any) -> Any:
    """Return the confusion matrix in a tally."""
    return counts[:, : len(counts)]


def tally(rule: polyceptron.Rule, X: Any, places: Any) -> Any:
    """Count, in a line for each class, its rows by their answer, and those that each face rejects.

    The tallies of parts of the rows add up to that of all.
    """
    rejected = np.hstack([piece.polyhedron.margins(X) < 0 for piece in rule.pieces])
    by_class = [rejected[places == place].sum(axis=0) for place in range(len(rule.classes))]
    return np.hstack([confusion(rule, X, places), by_class])


def show_counts(title: str, counts: Any, classes: Any) -> None:
    """Print a confusion matrix: a row for each class, a column for each answer."""
    labels = list(map(shown, classes.tolist()))
    rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
    section(title, table(["class \\ answer", *labels], rows))


def show_faces(rule: polyceptron.Rule, counts: Any = None) -> None:
    """Print the inequalities of every polyhedron; with a tally, how many rows each rejects."""
    start, labels = len(rule.classes), list(map(shown, rule.labels))
    headings, besides = rule.in_words(labels)
    for heading, (polyhedron, place, _) in zip(headings, rule.pieces, strict=True):
        n = polyhedron.n_faces
        columns, heads = [range(n)], ["face"]
        if counts is not None:
            rejected = counts[:, start : start + n]
            columns += [rejected.sum(axis=0) - rejected[place], rejected[place]]
            heads += ["rejects others", f"rejects {labels[place]}"]
        rows = zip(*columns, polyhedron.to_text().splitlines(), strict=True)
        body = table([*heads, "inequality"], rows, "<>><" if counts is not None else "<<")
        section(heading, body)
        start += n
    click.echo(f"\n{besides}")

"""Learners as the command line makes them, and how well a model answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

import polyceptron
from polyceptron.cli._lazy import metrics, model_selection, np
from polyceptron.cli._terminal import Waiting, section, shown, table
from polyceptron.learners import registry


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


class Score(NamedTuple):
    """Answers on rows that were not learned from."""

    what: str
    accuracy: float
    spread: float | None
    y: Any
    answers: Any


def held_out(estimator: Any, X: Any, y: Any, share: float, seed: int) -> tuple[Score, Any]:
    """Return the score on a share of the rows, and which others the estimator learned from."""
    try:
        train, test = model_selection.train_test_split(
            np.arange(len(y)), test_size=share, random_state=seed, stratify=y
        )
    except ValueError as error:
        raise ValueError(f"--test-size {share:g} does not work here: {error}") from None
    with Waiting("Learning"):
        answers = estimator.fit(X[train], y[train]).predict(X[test])
    accuracy = float(np.mean(answers == y[test]))
    return Score(f"{len(test)} rows held out", accuracy, None, y[test], answers), train


def cross_validated(estimator: Any, X: Any, y: Any, n: int, seed: int, title: str = "") -> Score:
    """Return the score of stratified cross-validation."""
    from sklearn.base import clone

    fewest = min(np.unique(y, return_counts=True)[1])
    if fewest < n:
        raise ValueError(f"--cv {n} needs {n} rows of every class; one has {fewest}")
    folds = model_selection.StratifiedKFold(n, shuffle=True, random_state=seed)
    answers = np.empty_like(y)
    shares = []
    with Waiting("Cross-validating") as waiting:
        for i, (train, test) in enumerate(folds.split(np.zeros(len(y)), y), 1):
            waiting.say(f"{title}{': ' if title else ''}fold {i} of {n}", i - 1, n)
            answers[test] = clone(estimator).fit(X[train], y[train]).predict(X[test])
            shares.append(float(np.mean(answers[test] == y[test])))
    spread = float(np.std(shares))
    return Score(f"{n}-fold cross-validation", float(np.mean(shares)), spread, y, answers)


def tally(rule: polyceptron.Rule, X: Any, places: Any) -> Any:
    """Count, in a line for each class, its rows by their answer, and those that each face rejects.

    The tallies of parts of the rows add up to that of all.
    """
    own = [places == place for place in range(len(rule.classes))]
    answers = rule.decide(X).place[:, None] == np.arange(len(own))
    rejected = (piece.polyhedron.margins(X) < 0 for piece in rule.pieces)
    counts = [[part[rows].sum(axis=0) for rows in own] for part in (answers, *rejected)]
    return np.hstack(counts)


def show_answers(title: str, y: Any, answers: Any, classes: Any) -> None:
    """Print the confusion matrix of labels."""
    places = [np.searchsorted(classes, labels) for labels in (y, answers)]
    show_counts(title, metrics.confusion_matrix(*places, labels=range(len(classes))), classes)


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

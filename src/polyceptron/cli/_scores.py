"""How well a model answers: shares, the confusion matrix, what its faces reject."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

import polyceptron
from polyceptron.cli._lazy import metrics, model_selection, np
from polyceptron.cli._progress import Waiting
from polyceptron.cli._tables import section, shown, table


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


def confusion(y: Any, answers: Any, classes: Any) -> str:
    """Return the confusion matrix as text: a row for each class, a column for each answer."""
    places = [np.searchsorted(classes, labels) for labels in (y, answers)]
    return confusion_table(
        metrics.confusion_matrix(*places, labels=range(len(classes))), classes.tolist()
    )


def confusion_table(counts: Any, classes: list[Any]) -> str:
    """Return a confusion matrix as text."""
    labels = list(map(shown, classes))
    rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
    return table(["class \\ answer", *labels], rows)


def show_faces(
    rule: polyceptron.Rule, X: Any = None, y: Any = None, counts_of_faces: Any = None
) -> None:
    """Print the inequalities of every polyhedron, and how many rows each face rejects.

    These are counted, or given for a single polyhedron: others, and rows of its own class.
    """
    for number, (polyhedron, place, _) in enumerate(rule.pieces, 1):
        label, n = rule.labels[place], polyhedron.n_faces
        heads, counts = [], counts_of_faces or [[]] * n
        if X is not None:
            rejected, own = polyhedron.margins(X).T < 0, y == label
            counts = [[(out & ~own).sum(), (out & own).sum()] for out in rejected]
        if counts[0]:
            heads = ["rejects others", f"rejects {shown(label)}"]
        rows = [[k, *counts[k], line] for k, line in enumerate(polyhedron.to_text().splitlines())]
        how = "this holds" if n == 1 else f"all {n} hold"
        body = table(["face", *heads, "inequality"], rows, "<>><" if heads else "<<")
        section(f"{shown(label)} if {how}{piece_of(rule, number)}", body)
    if rule.is_partition:
        otherwise = "One of them holds for every row: they are the leaves of a tree."
    elif rule.otherwise is None:
        otherwise = "Where none or several hold, the answer is the class that is most probable."
    else:
        otherwise = f"Otherwise {shown(rule.labels[rule.otherwise])}."
    click.echo(f"\n{otherwise}")


def piece_of(rule: polyceptron.Rule, number: int) -> str:
    """Which of a union of polyhedra this is, counted from 1."""
    is_union = rule.otherwise is not None and len(rule.pieces) > 1
    return f" (piece {number} of {len(rule.pieces)})" if is_union else ""

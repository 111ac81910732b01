"""How well a model answers: shares, the confusion matrix, what its faces reject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from polyceptron.cli._progress import Waiting
from polyceptron.cli._tables import section, shown, table

if TYPE_CHECKING:
    from polyceptron.rule import Rule


class Score(NamedTuple):
    """Answers on rows that were not learned from."""

    what: str
    accuracy: float
    spread: float | None
    y: Any
    answers: Any


def held_out(estimator: Any, X: Any, y: Any, share: float, seed: int) -> tuple[Score, Any]:
    """Return the score on a share of the rows, and which others the estimator learned from."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    try:
        train, test = train_test_split(rows, test_size=share, random_state=seed, stratify=y)
    except ValueError as error:
        raise ValueError(f"--test-size {share:g} does not work here: {error}") from None
    with Waiting("Learning"):
        estimator.fit(X[train], y[train])
        answers = estimator.predict(X[test])
    accuracy = float(np.mean(answers == y[test]))
    what = f"{len(test)} rows held out"
    return Score(what, accuracy, None, y[test], answers), train


def cross_validated(estimator: Any, X: Any, y: Any, n: int, seed: int, title: str = "") -> Score:
    """Return the score of stratified cross-validation."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    fewest = min(np.unique(y, return_counts=True)[1])
    if fewest < n:
        raise ValueError(f"--cv {n} needs {n} rows of every class; one has {fewest}")
    folds = list(StratifiedKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    answers = np.empty_like(y)
    shares = []
    with Waiting("Cross-validating") as waiting:
        for i, (train, test) in enumerate(folds, 1):
            waiting.say(f"{title}{': ' if title else ''}fold {i} of {n}", i - 1, n)
            model = clone(estimator).fit(X[train], y[train])
            answers[test] = model.predict(X[test])
            shares.append(float(np.mean(answers[test] == y[test])))
    spread = float(np.std(shares))
    return Score(f"{n}-fold cross-validation", float(np.mean(shares)), spread, y, answers)


def confusion(y: Any, answers: Any, classes: Any) -> str:
    """Return the confusion matrix as text: a row for each class, a column for each answer."""
    import numpy as np

    places = [np.searchsorted(classes, labels) for labels in (y, answers)]
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, tuple(places), 1)
    return confusion_table(counts, classes)


def confusion_table(counts: Any, classes: Any) -> str:
    """Return a confusion matrix as text."""
    labels = [shown(label) for label in classes.tolist()]
    header = ["class \\ answer", *labels]
    return table(header, [[labels[j], *counts[j]] for j in range(len(labels))])


def show_faces(rule: Rule, X: Any = None, y: Any = None, counts_of_faces: Any = None) -> None:
    """Print the inequalities of every polyhedron, and how many rows each face rejects.

    These are counted, or given for a single polyhedron: others, and rows of its own class.
    """
    for number, (polyhedron, place, _) in enumerate(rule.pieces, 1):
        label = rule.labels[place]
        lines = ["inequality", *polyhedron.to_text().splitlines()]
        n = polyhedron.n_faces
        counts = [["face"], *([str(k)] for k in range(n))]
        if X is not None or counts_of_faces is not None:
            heads = ["rejects others", f"rejects {shown(label)}"]
            if X is not None:
                counts_of_faces = _rejections(polyhedron, X, y == label)
            rejected = [heads, *counts_of_faces]
            counts = [a + b for a, b in zip(counts, rejected, strict=True)]
        aligned = table(counts[0], counts[1:]).splitlines()
        width = max(map(len, aligned))
        body = [f"{a.ljust(width)}  {b}" for a, b in zip(aligned, lines, strict=True)]
        how = "this holds" if n == 1 else f"all {n} hold"
        section(f"{shown(label)} if {how}{piece_of(rule, number)}", "\n".join(body))
    if rule.is_partition:
        otherwise = "One of them holds for every row: they are the leaves of a tree."
    elif rule.otherwise is None:
        otherwise = "Where none or several hold, the answer is the class that is most probable."
    else:
        otherwise = f"Otherwise {shown(rule.labels[rule.otherwise])}."
    click.echo(f"\n{otherwise}")


def piece_of(rule: Rule, number: int) -> str:
    """Which of a union of polyhedra this is, counted from 1."""
    is_union = rule.otherwise is not None and len(rule.pieces) > 1
    return f" (piece {number} of {len(rule.pieces)})" if is_union else ""


def _rejections(polyhedron: Any, X: Any, is_own: Any) -> list[list[int]]:
    rejected = polyhedron.margins(X) < 0
    return [[int((out & ~is_own).sum()), int((out & is_own).sum())] for out in rejected.T]

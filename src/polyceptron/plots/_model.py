"""The picture that suits a model: what the command line draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.plots import style
from polyceptron.plots._heatmap import FaceHeatmapDisplay, heatmap_size
from polyceptron.plots._multiples import (
    FEW_ROWS,
    classes_alone,
    draw_classes,
    multiples_size,
)
from polyceptron.plots._plane import Wanted, all_faces, choose_plane, normals_of, standard
from polyceptron.plots._polyhedron import PolyhedronDisplay
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, as_rule, is_bare
from polyceptron.utils.types import Floats

_ENOUGH = 0.9
"""A PCA plane as truthful as this is taken, though another may be more so."""


def plot_model(
    model: Any, X: Any = None, y: Any = None, feature_names: Sequence[str] | None = None
) -> Any:
    """Draw the picture that says most about a model.

    One or two columns: the polyhedron itself, each place in the colour of the face that decides
    about it. More columns with rows: a plane, and beside it the weight of each column in each
    face. More columns without rows: the weights.

    The plane is that of the rows' two main directions if at least 90 % of them, inside and outside
    counting alike, are seen on the side where they are. Else it is the truest in this sense of
    that plane, the one closest to the faces' normals, and the two columns with the largest weights.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
    X : array-like or data frame of shape (n_samples, n_features), default=None
    y : array-like of shape (n_samples,), default=None
    feature_names : sequence of str, default=None
        Other names for the columns.

    Returns
    -------
    matplotlib Figure
        For `save`, or to show in a notebook; pyplot does not know of it.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.plots import plot_model
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])
    >>> figure = plot_model(triangle)
    >>> figure.axes[0].get_xlabel()
    'age'
    """
    rule = as_rule(model)
    if feature_names is not None:
        rule = rule.renamed(feature_names)
    every = all_faces([piece.polyhedron for piece in rule.pieces])
    rows = None if X is None else style.as_array(rule.features(X), every)
    labels = style.labels_of(y, rows)
    n_faces = every.n_faces if rule.is_partition else sum(p.polyhedron.n_faces for p in rule.pieces)
    classes = classes_alone(rule, labels)
    size = multiples_size(len(classes)) if classes else (8.6, 4.8)
    if every.n_features <= 2:
        figure = style.new_figure(size)
        _draw_plane(figure, model, rule, rows, labels, classes)
    elif rows is None:
        figure = style.new_figure(heatmap_size(n_faces, min(every.n_features, 30)))
        FaceHeatmapDisplay.from_estimator(rule, ax=figure.add_subplot())
    else:
        shown = min(every.n_features, 20)
        width, height = heatmap_size(n_faces, shown)
        width = min(width, 8.0)
        figure = style.new_figure((8.0 + width, max(5.0, height, size[1])))
        left, right = figure.subfigures(1, 2, width_ratios=[8.0, width])
        FaceHeatmapDisplay.from_estimator(rule, rows, max_features=shown, ax=right.add_subplot())
        _draw_plane(left, model, rule, rows, labels, classes)
    return figure


def _draw_plane(
    figure: Any,
    model: Any,
    rule: Rule,
    rows: Floats | None,
    labels: NDArray[Any] | None,
    classes: list[Any],
) -> None:
    """One picture, or one for each of these classes."""
    how: dict[str, Any] = {}
    if rows is not None and rows.shape[1] > 2:
        how["plane"] = clearest_plane([piece.polyhedron for piece in rule.pieces], rows)
    if rows is not None and labels is not None and classes:
        with style.drawing():
            draw_classes(figure, rule, rows, labels, classes, how.get("plane"))
        return
    is_crowded = labels is not None and len(labels) > FEW_ROWS
    if len(rule.pieces) == 1 and rule.inside_place is not None and not is_crowded:
        how["regions"] = "faces"  # of many rows the classes have the colours
    one = [piece.polyhedron for piece in rule.pieces] if is_bare(model) else rule
    PolyhedronDisplay.from_estimator(one, rows, labels, ax=figure.add_subplot(), **how)


def clearest_plane(polyhedra: Sequence[Polyhedron], X: Floats) -> Wanted:
    """Return the PCA plane, or where it shows too many rows on a wrong side, the truest plane."""

    def truth(wanted: Wanted) -> float:
        """The share of rows seen on the side where they are, both sides counting alike."""
        plane = choose_plane(wanted, polyhedra, X, None)
        points = np.column_stack([plane.of_rows(X), np.ones(len(X))])
        shares = []
        for polyhedron, there in zip(polyhedra, inside, strict=True):
            seen = np.asarray((points @ plane.lines(polyhedron).T >= 0).all(axis=1))
            sides = [seen[there], ~seen[~there]]
            shares.append(np.mean([side.mean() for side in sides if len(side)]))
        return float(np.mean(shares))

    inside = [p.contains(X) for p in polyhedra]
    if truth("pca") >= _ENOUGH:
        return "pca"
    weights = (normals_of(all_faces(polyhedra), standard(X)[1]) ** 2).sum(axis=0)
    largest: Wanted = np.sort(np.argsort(-weights, kind="stable")[:2]).tolist()
    return max("pca", "faces", largest, key=truth)

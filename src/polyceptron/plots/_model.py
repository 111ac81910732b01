"""The picture that suits a model: what the command line draws."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.plots import _style as style
from polyceptron.plots._arguments import as_array, labels_of
from polyceptron.plots._choice import clearest
from polyceptron.plots._heatmap import FaceHeatmapDisplay, size_of
from polyceptron.plots._polyhedra import PolyhedraDisplay, all_faces, labelled
from polyceptron.plots._polyhedron import PolyhedronDisplay
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats


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
    model : fitted learner or Polyhedron
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
    sets, inside = _polyhedra(model, feature_names)
    every = all_faces(sets)
    rows = None if X is None else as_array(X, every)
    labels = None if rows is None or y is None else labels_of(y, len(rows))
    if every.n_features <= 2:
        figure = style.new_figure((8.6, 4.8))
        _draw_plane(figure.add_subplot(), model, sets, inside, rows, labels)
    elif rows is None:
        figure = style.new_figure(size_of(_count(sets), min(every.n_features, 30)))
        _draw_weights(figure.add_subplot(), sets, None, 30)
    else:
        shown = min(every.n_features, 20)
        width, height = size_of(_count(sets), shown)
        width = min(width, 8.0)
        figure = style.new_figure((8.0 + width, max(5.0, height)))
        left, right = figure.subfigures(1, 2, width_ratios=[8.0, width])
        _draw_weights(right.add_subplot(), sets, rows, shown)
        _draw_plane(left.add_subplot(), model, sets, inside, rows, labels)
    return figure


def _polyhedra(model: Any, names: Sequence[str] | None) -> tuple[dict[Any, list[Polyhedron]], Any]:
    """Return the polyhedra of a model by label, and the label inside where it is a single one."""
    if isinstance(model, Polyhedron):
        found, inside = {None: [model]}, None
    elif hasattr(model, "polyhedron_"):
        found, inside = {model.inside_: [model.polyhedron_]}, model.inside_
    elif hasattr(model, "polyhedra_") or hasattr(model, "polyhedra"):
        found, inside = labelled(model), None
    else:
        raise ValueError(
            f"model must be a Polyhedron or a fitted learner of this package, got {model!r}"
        )
    if names is not None:
        found = {
            label: [Polyhedron(p.W, p.b, names) for p in some] for label, some in found.items()
        }
    return found, inside


def _draw_plane(
    ax: Any,
    model: Any,
    sets: dict[Any, list[Polyhedron]],
    inside: Any,
    rows: Floats | None,
    labels: NDArray[Any] | None,
) -> None:
    plane = None
    if rows is not None and rows.shape[1] > 2:
        plane = clearest([p for some in sets.values() for p in some], rows)
    if isinstance(model, Polyhedron) or hasattr(model, "polyhedron_"):
        ((polyhedron,),) = sets.values()
        PolyhedronDisplay.from_polyhedron(
            polyhedron, rows, labels, inside=inside, plane=plane, regions="faces", ax=ax
        )
    else:
        predicted = None if rows is None else _predicted(model, rows)
        PolyhedraDisplay.from_polyhedra(sets, rows, labels, predicted=predicted, plane=plane, ax=ax)


def _predicted(model: Any, rows: Floats) -> NDArray[Any]:
    """Return the labels of rows without names, which were checked before."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.asarray(model.predict(rows))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return np.asarray(model.predict(rows))


def _draw_weights(
    ax: Any, sets: dict[Any, list[Polyhedron]], rows: Floats | None, most: int
) -> None:
    if len(sets) == 1:
        ((polyhedron,),) = sets.values()
        FaceHeatmapDisplay.from_polyhedron(polyhedron, rows, max_features=most, ax=ax)
    elif not _is_tree(sets):
        single = {label: some[0] for label, some in sets.items()}
        FaceHeatmapDisplay.from_polyhedra(single, rows, max_features=most, ax=ax)
    else:  # the tests of a tree, each once
        FaceHeatmapDisplay.from_polyhedron(
            all_faces(sets), rows, sides=("no", "yes"), max_features=most, ax=ax
        )
        ax.set_xlabel("test of the tree")


def _count(sets: dict[Any, list[Polyhedron]]) -> int:
    """Return how many faces the weights are drawn of."""
    if _is_tree(sets):
        return all_faces(sets).n_faces
    return sum(some[0].n_faces for some in sets.values())


def _is_tree(sets: dict[Any, list[Polyhedron]]) -> bool:
    """Return whether polyhedra share their faces, as the leaves of a tree do."""
    n_faces = sum(p.n_faces for some in sets.values() for p in some)
    return all_faces(sets).n_faces < n_faces

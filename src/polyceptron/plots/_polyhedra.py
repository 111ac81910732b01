"""Several polyhedra with labels in one plane: the leaves of a tree, or one set for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import _style as style
from polyceptron.plots._arguments import Wanted, as_array, choose_plane, labels_of
from polyceptron.plots._names import shorten
from polyceptron.plots._plane import Plane, middle_of, room_around, window_without_rows
from polyceptron.plots._slice import Limits, cut
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

Labelled = Mapping[Any, Polyhedron | Sequence[Polyhedron]]


class PolyhedraDisplay:
    """Labelled polyhedra and rows in a plane, each class in a colour and with a marker.

    For learners whose answer is not a single polyhedron: `OC1`, whose leaves share out the
    plane, and `Polyceptron` with more than two classes, whose polyhedra may overlap and leave
    places to none.

    Make one by `from_estimator`, `from_polyhedra` or `from_predictions`.

    Parameters
    ----------
    polyhedra : mapping of label to a Polyhedron or a sequence of them
    X : ndarray of shape (n_samples, n_features) or None
    y : ndarray of shape (n_samples,) or None
    plane : Plane
        What is shown.
    predicted : ndarray of shape (n_samples,) or None
        What the learner answers; rows with another label are ringed.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    regions_ : dict of label to list of matplotlib Polygon
        The parts that the window shows.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from polyceptron import OC1
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.plots import PolyhedraDisplay
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = OC1(random_state=0).fit(X, y)
    >>> display = PolyhedraDisplay.from_estimator(model, X, y)
    >>> sorted(display.regions_)
    [-1, 1]
    """

    def __init__(
        self,
        polyhedra: Labelled,
        X: Floats | None,
        y: NDArray[Any] | None,
        *,
        plane: Plane,
        predicted: NDArray[Any] | None = None,
    ) -> None:
        self.polyhedra = _lists(polyhedra)
        self.X, self.y, self.plane, self.predicted = X, y, plane, predicted

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted learner has learned.

        Parameters
        ----------
        estimator : fitted learner
            With a method `polyhedra`, as `OC1` has, or an attribute `polyhedra_`.
        X : array-like or data frame of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
        plane, at, limits, ax
            As in `PolyhedronDisplay`.

        Returns
        -------
        PolyhedraDisplay
        """
        predicted = None if X is None or y is None else estimator.predict(X)
        return cls.from_polyhedra(
            labelled(estimator), X, y, predicted=predicted, plane=plane, at=at, limits=limits, ax=ax
        )

    @classmethod
    def from_polyhedra(
        cls,
        polyhedra: Labelled,
        X: Any = None,
        y: Any = None,
        *,
        predicted: Any = None,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw labelled polyhedra.

        Parameters
        ----------
        polyhedra : mapping of label to a Polyhedron or a sequence of them
        X : array-like or data frame of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
        predicted : array-like of shape (n_samples,), default=None
        plane, at, limits, ax
            As in `PolyhedronDisplay`.

        Returns
        -------
        PolyhedraDisplay
        """
        every = all_faces(polyhedra)
        rows = None if X is None else as_array(X, every)
        if at is None and rows is not None:
            at = middle_of(rows)
        chosen = choose_plane(plane, every, rows, at)
        labels = None if y is None or rows is None else labels_of(y, len(rows))
        answers = None if labels is None or predicted is None else labels_of(predicted, len(labels))
        return cls(polyhedra, rows, labels, plane=chosen, predicted=answers).plot(
            ax=ax, limits=limits
        )

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, X: Any, polyhedra: Labelled, **how: Any
    ) -> Self:
        """Draw labels and predictions that are known already, without a learner.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_pred : array-like of shape (n_samples,)
            Predictions: rows where they are not the labels are ringed.
        X : array-like or data frame of shape (n_samples, n_features)
        polyhedra : mapping of label to a Polyhedron or a sequence of them
        **how
            As in `from_polyhedra`: `plane`, `at`, `limits`, `ax`.

        Returns
        -------
        PolyhedraDisplay
        """
        return cls.from_polyhedra(polyhedra, X, y_true, predicted=y_pred, **how)

    def plot(self, *, ax: Any = None, limits: Limits | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        limits : ((left, right), (low, high)), default=None

        Returns
        -------
        PolyhedraDisplay
        """
        self.ax_ = style.new_axes(figsize=(7.6, 4.8))[0] if ax is None else ax
        self.figure_ = style.whole_figure(self.ax_)
        points = None if self.X is None else self.plane.of_rows(self.X)
        if points is not None and self.plane.is_line:
            points = paint.in_lanes(points, np.zeros(len(points)) if self.y is None else self.y)
        if limits is None:
            lines = self.plane.lines(all_faces(self.polyhedra))
            limits = window_without_rows(lines) if points is None else room_around(points)
        self.ax_.set(xlim=limits[0], ylim=limits[1])
        self._draw_regions(limits)
        self._draw_rows(points)
        self._describe()
        return self

    def _draw_regions(self, limits: Limits) -> None:
        self.regions_: dict[Any, list[Any]] = {}
        for k, (label, polyhedra) in enumerate(self.polyhedra.items()):
            views = (cut(self.plane.lines(p), limits).polygon() for p in polyhedra)
            self.regions_[label] = [
                paint.patch(self.ax_, corners, k) for corners in views if len(corners) >= 3
            ]

    def _draw_rows(self, points: Floats | None) -> None:
        self.points_: dict[Any, Any] = {}
        self.mistakes_ = None
        if points is None:
            return
        size = paint.size_of(len(points))
        if self.y is None:
            self.points_[None] = paint.rows(self.ax_, points, style.GREY, "o", size=size)
            return
        known = list(self.polyhedra)
        for label in np.unique(self.y).tolist():
            k = known.index(label) if label in known else len(known)
            marker = paint.MARKERS[k % len(paint.MARKERS)]
            self.points_[label] = paint.rows(
                self.ax_, points[self.y == label], style.INK, marker, size=size
            )
        if self.predicted is not None and (self.predicted != self.y).any():
            wrong = points[self.predicted != self.y]
            self.mistakes_ = paint.rings(self.ax_, wrong, size=size)

    def _describe(self) -> None:
        ax = self.ax_
        xlabel, ylabel = self.plane.labels
        style.describe(ax, x=xlabel, y=ylabel, title=self.plane.title)
        style.quiet_frame(ax)
        if self.plane.is_line:
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        style.add_legend(
            ax, self._entries(), loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=9
        )

    def _entries(self) -> list[tuple[Any, str]]:
        entries: list[tuple[Any, str]] = []
        for k, (label, regions) in enumerate(self.regions_.items()):
            some = "" if regions else " (none in view)"
            entries.append((paint.swatch(k), f"region of {shorten(label)}{some}"))
        if self.y is not None:
            entries += [(points, f"class {shorten(k)}") for k, points in self.points_.items()]
        if self.mistakes_ is not None and self.y is not None:
            n = len(self.mistakes_.get_offsets())
            entries.append((self.mistakes_, f"{n} of {len(self.y)} predicted otherwise"))
        return entries


def labelled(estimator: Any) -> dict[Any, list[Polyhedron]]:
    """Return the polyhedra of each class that a fitted learner has any for."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if hasattr(estimator, "polyhedra_"):
        return _lists(estimator.polyhedra_)
    found = {label: estimator.polyhedra(label) for label in estimator.classes_.tolist()}
    return {label: polyhedra for label, polyhedra in found.items() if polyhedra}


def all_faces(polyhedra: Labelled) -> Polyhedron:
    """Return the faces of all in one polyhedron, each only once."""
    every = [p for some in _lists(polyhedra).values() for p in some]
    faces = np.concatenate([np.column_stack([p.W, p.b]) for p in every])
    # A test of a tree is a face of its leaves on both sides.
    first = np.sign(faces[np.arange(len(faces)), (faces != 0).argmax(axis=1)])
    _, index = np.unique(faces * first[:, None], axis=0, return_index=True)
    faces = faces[np.sort(index)]
    return Polyhedron(faces[:, :-1], faces[:, -1], every[0].feature_names)


def _lists(polyhedra: Labelled) -> dict[Any, list[Polyhedron]]:
    return {
        label: [some] if isinstance(some, Polyhedron) else list(some)
        for label, some in polyhedra.items()
    }

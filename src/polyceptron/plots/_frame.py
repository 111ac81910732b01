"""What pictures share: arguments, checked; and in a plane, window, rows, rings and legend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import _plane as planes
from polyceptron.plots import style
from polyceptron.plots._plane import Plane, Wanted, all_faces
from polyceptron.plots._slice import Limits
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

LARGEST = 1e150
"""The largest number that is drawn: squares of larger ones overflow."""

Labelled = Mapping[Any, Polyhedron | Sequence[Polyhedron]]
Entries = list[tuple[Any, str]]


class PlaneDisplay(ABC):
    """Polyhedra and labelled rows in a plane."""

    _figsize = (8.6, 4.8)

    def __init__(
        self,
        pieces: Sequence[Polyhedron],
        X: Floats | None,
        y: NDArray[Any] | None,
        predicted: NDArray[Any] | None,
        plane: Plane,
    ) -> None:
        self.pieces, self.X, self.y, self.predicted, self.plane = pieces, X, y, predicted, plane

    @property
    def at(self) -> Floats:
        """The point through which the plane goes."""
        return self.plane.at

    @property
    def columns(self) -> tuple[int, int] | None:
        """The columns shown; None where the axes are mixtures of columns."""
        return self.plane.columns

    @style.drawing()
    def plot(self, *, ax: Any = None, limits: Limits | None = None, legend: bool = True) -> Self:
        """Draw, as `from_estimator` does; `legend` may be left out."""
        self.ax_ = style.new_axes(figsize=self._figsize)[0] if ax is None else ax
        self.figure_ = self.ax_.figure.figure
        points = self._points()
        if limits is None:
            lines = self.plane.lines(all_faces(self.pieces))
            without = planes.window_without_rows
            limits = without(lines) if points is None else planes.room_around(points)
        self.ax_.set(xlim=limits[0], ylim=limits[1])
        self._draw_rows(points)
        self._draw_polyhedra(limits)
        xlabel, ylabel = self.plane.labels
        style.describe(self.ax_, x=xlabel, y=ylabel, title=self.plane.title)
        style.quiet_frame(self.ax_)
        if self.plane.is_line:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        if legend:
            style.add_legend(self.ax_, self._entries())
        self._draw_numbers()  # after all else: they depend on the size of the axes
        return self

    def _points(self) -> Floats | None:
        """Where the rows are seen."""
        if self.X is None:
            return None
        points = self.plane.of_rows(self.X)
        if self.plane.is_line:
            return paint.in_lanes(points, np.zeros(len(points)) if self.y is None else self.y)
        return points

    def _draw_rows(self, points: Floats | None) -> None:
        self.points_: dict[Any, Any] = {}
        self.mistakes_ = None
        if points is None:
            return
        n = len(points)
        size = float(np.clip(9000 / n, 3 if n > 5000 else 8, 34))
        alpha = 0.75 if size >= 8 else 0.3  # where there are many, how dense they are shows
        for label in [None] if self.y is None else np.unique(self.y).tolist():
            colour, marker = (style.GREY, "o") if self.y is None else self._look_of(label)
            self.points_[label] = paint.rows(
                self.ax_, points if self.y is None else points[self.y == label], s=size, c=colour,
                marker=marker, linewidths=1.0 if marker in "x+1234" else 0.0, alpha=alpha, zorder=2,
            )  # fmt: skip
        wrong = None if self.y is None else self._wrong()
        if wrong is not None and wrong.any():
            self.mistakes_ = paint.rows(
                self.ax_, points[wrong], s=3.2 * size, facecolors="none", edgecolors=style.INK,
                linewidths=0.9, zorder=3,
            )  # fmt: skip

    def _wrong(self) -> NDArray[np.bool_] | None:
        """Which rows are ringed."""
        return None if self.predicted is None else np.asarray(self.predicted != self.y)

    def _entry_of_mistakes(self, how: str) -> Entries:
        if self.mistakes_ is None or self.X is None:
            return []
        return [(self.mistakes_, f"{len(self.mistakes_.get_offsets())} of {len(self.X)} {how}")]

    @abstractmethod
    def _look_of(self, label: Any) -> tuple[str, str]:
        """The colour and the marker of rows with this label."""

    @abstractmethod
    def _draw_polyhedra(self, limits: Limits) -> None: ...

    @abstractmethod
    def _entries(self) -> Entries: ...

    @abstractmethod
    def _draw_numbers(self) -> None: ...


def checked(
    polyhedra: Sequence[Polyhedron],
    X: Any,
    y: Any,
    predicted: Any,
    plane: Wanted,
    at: ArrayLike | int | None,
) -> tuple[Floats | None, NDArray[Any] | None, dict[str, Any]]:
    """Return rows and labels as arrays, and the plane and predictions by their names."""
    rows = None if X is None else as_array(X, all_faces(polyhedra))
    chosen = planes.choose_plane(plane, polyhedra, rows, at)
    labels = labels_of(y, rows)
    answers = None if labels is None else labels_of(predicted, rows)
    return rows, labels, {"plane": chosen, "predicted": answers}


def as_array(X: Any, polyhedron: Polyhedron) -> Floats:
    """Return dense, finite rows that fit the polyhedron."""
    polyhedron.margins(X)  # says what is wrong with them
    rows: Floats = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if len(rows) == 0:
        raise ValueError("X has no rows to draw")
    far = np.abs(rows).max(axis=1)
    if far.max() > LARGEST:
        i = int(far.argmax())
        raise ValueError(f"X has {far[i]:.3g} in row {i}, which is too far away to draw")
    return rows.astype(float, copy=False)


def labels_of(y: Any, rows: Floats | None) -> NDArray[Any] | None:
    """Return labels, one a row, where there are any."""
    if y is None or rows is None:
        return None
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must be {len(rows)} labels, one a row of X; got shape {labels.shape}")
    return labels


def unions_of(polyhedra: Labelled) -> dict[Any, list[Polyhedron]]:
    """Return the polyhedra of each label."""
    return {
        label: [some] if isinstance(some, Polyhedron) else list(some)
        for label, some in polyhedra.items()
    }


def pieces_of(polyhedra: Labelled) -> list[Polyhedron]:
    """Return the polyhedra of all labels."""
    return [piece for union in unions_of(polyhedra).values() for piece in union]

"""What pictures of polyhedra in a plane share: window, rows, rings, labels and legend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import style
from polyceptron.plots._arguments import Wanted, as_array, choose_plane, labels_of
from polyceptron.plots._plane import Plane, all_faces, room_around, window_without_rows
from polyceptron.plots._slice import Limits
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

LISTED = 12
"""Faces in the legend; more would not fit."""

Rows = tuple[Floats | None, NDArray[Any] | None, NDArray[Any] | None]


class PlaneDisplay(ABC):
    """Polyhedra and labelled rows in a plane."""

    pieces: Sequence[Polyhedron]
    X: Floats | None
    y: NDArray[Any] | None
    predicted: NDArray[Any] | None
    plane: Plane

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
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        limits : ((left, right), (low, high)), default=None
        legend : bool, default=True
        """
        self.ax_ = style.new_axes(figsize=self._size())[0] if ax is None else ax
        self.figure_ = style.whole_figure(self.ax_)
        points = self._points()
        if limits is None:
            lines = self.plane.lines(all_faces(self.pieces))
            limits = window_without_rows(lines) if points is None else room_around(points)
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
        self._draw_numbers()
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
        size = paint.size_of(len(points))
        if self.y is None:
            self.points_[None] = paint.rows(self.ax_, points, style.GREY, "o", size=size)
            return
        for label in np.unique(self.y).tolist():
            colour, marker = self._look_of(label)
            self.points_[label] = paint.rows(
                self.ax_, points[self.y == label], colour, marker, size=size
            )
        wrong = self._wrong()
        if wrong is not None and wrong.any():
            self.mistakes_ = paint.rings(self.ax_, points[wrong], size=size)

    def _wrong(self) -> NDArray[np.bool_] | None:
        """Which rows are ringed."""
        return None if self.predicted is None else np.asarray(self.predicted != self.y)

    def _entry_of_mistakes(self, how: str) -> list[tuple[Any, str]]:
        if self.mistakes_ is None or self.X is None:
            return []
        return [(self.mistakes_, f"{len(self.mistakes_.get_offsets())} of {len(self.X)} {how}")]

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Of a figure for this display alone."""

    @abstractmethod
    def _look_of(self, label: Any) -> tuple[str, str]:
        """The colour and the marker of rows with this label."""

    @abstractmethod
    def _draw_polyhedra(self, limits: Limits) -> None: ...

    @abstractmethod
    def _entries(self) -> list[tuple[Any, str]]:
        """The legend."""

    @abstractmethod
    def _draw_numbers(self) -> None:
        """The numbers of the faces, after all else: they depend on the size of the axes."""


def checked(
    polyhedra: Sequence[Polyhedron],
    X: Any,
    y: Any,
    predicted: Any,
    plane: Wanted,
    at: ArrayLike | int | None,
) -> tuple[Rows, Plane]:
    """Return rows, labels and predictions as arrays, and the plane to draw them in."""
    rows = None if X is None else as_array(X, all_faces(polyhedra))
    chosen = choose_plane(plane, polyhedra, rows, at)
    labels = labels_of(y, rows)
    answers = None if labels is None else labels_of(predicted, rows)
    return (rows, labels, answers), chosen

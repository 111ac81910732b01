"""A polyhedron in the plane of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron._types import Floats
from polyceptron.plots import _style as style
from polyceptron.plots._arguments import (
    as_array,
    columns_of,
    labels_of,
    names_of,
    point_of,
    room_around,
    telling_point,
)
from polyceptron.plots._slice import Limits, Slice, cut, in_words, where
from polyceptron.polyhedron import Polyhedron


class PolyhedronDisplay:
    """A polyhedron and labelled rows, in the plane of two columns.

    The inside is shaded. Each face is a line with its number, as in
    `Polyhedron.active_face`, and an arrow that points inside; where a face does not
    bound what is shown its line is dotted. With more than two columns this is a slice
    through the point `at`: all rows are drawn where their two columns put them, however
    far they are from the slice. Mistakes, by all columns, are ringed.

    Make one by `from_estimator` or `from_polyhedron`.

    Parameters
    ----------
    polyhedron : Polyhedron
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
        Labels; None draws all rows alike.
    columns : tuple of two int
        The columns drawn.
    at : ndarray of shape (n_features,)
        The point through which the slice goes.
    inside : label or None
        The label of the rows that should be inside.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    region_ : matplotlib Polygon or None
        The inside; None where the slice has none of it.
    faces_ : dict of int to matplotlib Line2D
        The line of each face that the window shows.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None
        The rings around the rows on the wrong side.
    text_ : dict of int to str
        The inequality of each face, in the two columns.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.plots import PolyhedronDisplay
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])
    >>> X, y = [[1, 1], [3, 1], [0.5, 0.2], [-1, 1]], [1, -1, 1, -1]
    >>> display = PolyhedronDisplay.from_polyhedron(triangle, X, y)
    >>> display.text_[2]
    '-age - 2*dose ≥ -4'
    """

    def __init__(
        self,
        polyhedron: Polyhedron,
        X: Floats,
        y: NDArray[Any] | None,
        *,
        columns: tuple[int, int],
        at: Floats,
        inside: Any = None,
    ) -> None:
        self.polyhedron = polyhedron
        self.X, self.y = X, y
        self.columns, self.at, self.inside = columns, at, inside

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[int | str] = (0, 1),
        at: ArrayLike | None = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted learner has learned.

        Parameters
        ----------
        estimator : fitted learner
            With `polyhedron_` and `inside_`.
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        features : two column numbers or names, default=(0, 1)
        at : array-like of shape (n_features,), default=None
            See `from_polyhedron`.
        limits : ((left, right), (low, high)), default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        PolyhedronDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "polyhedron_")
        given: dict[str, Any] = {"features": features, "at": at, "limits": limits, "ax": ax}
        return cls.from_polyhedron(estimator.polyhedron_, X, y, inside=estimator.inside_, **given)

    @classmethod
    def from_polyhedron(
        cls,
        polyhedron: Polyhedron,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[int | str] = (0, 1),
        at: ArrayLike | None = None,
        inside: Any = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a polyhedron.

        Parameters
        ----------
        polyhedron : Polyhedron
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        features : two column numbers or names, default=(0, 1)
        at : array-like of shape (n_features,), default=None
            The point through which a slice of more than two columns goes. The default is
            the mean of the rows, or where that slice shows no inside, the row deepest inside.
        inside : label, default=None
            The label of the rows that should be inside; the greatest if None.
        limits : ((left, right), (low, high)), default=None
            What the axes show; the rows and some room if None.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        PolyhedronDisplay
        """
        rows = as_array(X, polyhedron)
        columns = columns_of(features, polyhedron)
        point = telling_point(polyhedron, columns, rows) if at is None else point_of(at, rows)
        labels = None if y is None else labels_of(y, len(rows))
        if inside is None and labels is not None:
            inside = np.unique(labels)[-1]
        display = cls(polyhedron, rows, labels, columns=columns, at=point, inside=inside)
        return display.plot(ax=ax, limits=limits)

    def plot(self, *, ax: Any = None, limits: Limits | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        limits : ((left, right), (low, high)), default=None

        Returns
        -------
        PolyhedronDisplay
        """
        self.ax_ = style.new_axes(figsize=(8.6, 4.8))[0] if ax is None else ax
        self.figure_ = self.ax_.figure
        shown = limits or room_around(self.X[:, self.columns])
        self.ax_.set(xlim=shown[0], ylim=shown[1])
        view = cut(self.polyhedron, self.columns, self.at, shown)
        self._draw_rows()
        self._draw_region(view)
        places = self._draw_faces(view)
        self._describe()
        self.figure_.draw_without_rendering()  # the arrows depend on the size of the axes
        for k, place in places.items():
            self._mark(k, place, view.inward(k))
        return self

    # --- the parts of the picture -----------------------------------------------------

    def _draw_rows(self) -> None:
        self.points_: dict[Any, Any] = {}
        x, z = self.X[:, self.columns].T
        size = float(np.clip(9000 / max(len(x), 1), 8, 34))
        labels = np.zeros(len(x)) if self.y is None else self.y
        for label in np.unique(labels).tolist():
            rows = labels == label
            mine = self.y is not None and label == self.inside
            color = style.FAINT if self.y is None else style.BLUE if mine else style.VERMILLION
            shape: dict[str, Any] = {"marker": "o", "linewidths": 0.0}
            if self.y is not None and not mine:  # a shape too, for prints without colour
                shape = {"marker": "x", "linewidths": 1.0}
            self.points_[label] = self.ax_.scatter(
                x[rows], z[rows], s=size, c=color, alpha=0.75, zorder=2, **shape
            )
        self.mistakes_ = None
        if self.y is not None:
            wrong = self.polyhedron.contains(self.X) != (self.y == self.inside)
            if wrong.any():
                self.mistakes_ = self.ax_.scatter(
                    x[wrong], z[wrong], s=3.2 * size, facecolors="none", edgecolors=style.INK,
                    linewidths=0.9, zorder=3,
                )  # fmt: skip

    def _draw_region(self, view: Slice) -> None:
        self.region_ = None
        corners = view.polygon()
        if len(corners) >= 3:
            (self.region_,) = self.ax_.fill(
                *corners.T, facecolor=style.BLUE, alpha=0.10, linewidth=0, zorder=0
            )

    def _draw_faces(self, view: Slice) -> dict[int, Floats]:
        """Draw the lines, and return where to mark them."""
        self.faces_: dict[int, Any] = {}
        places: dict[int, Floats] = {}
        for k in range(self.polyhedron.n_faces):
            chord, edge = view.chord(k), view.edge(k)
            if chord is None:
                continue
            faint = {
                "color": style.FAINT,
                "linewidth": 1.0,
                "linestyle": (0, (1, 2.5)),
                "zorder": 1,
            }
            (self.faces_[k],) = self.ax_.plot(*chord.T, **faint)
            if edge is not None:
                self.ax_.plot(
                    *edge.T, color=style.INK, linewidth=1.6, solid_capstyle="round", zorder=4
                )
            places[k] = (chord if edge is None else edge).mean(axis=0)
        return places

    def _mark(self, k: int, place: Floats, inward: Floats) -> None:
        """Draw an arrow inwards, and the face's number on its other side."""
        box = self.ax_.get_window_extent()
        # The gradient of the margin on the screen, where the axes have other lengths.
        arrow = inward / [box.width, box.height]
        arrow = arrow / np.linalg.norm(arrow)
        self.ax_.annotate(
            "", xy=place, xytext=tuple(17 * arrow), textcoords="offset points", zorder=5,
            arrowprops={"arrowstyle": "<|-,head_width=.22,head_length=.4", "color": style.INK,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        self.ax_.annotate(
            str(k), xy=place, xytext=tuple(-10 * arrow), textcoords="offset points", zorder=6,
            ha="center", va="center", fontsize=9, color=style.INK,
            bbox={"boxstyle": "circle,pad=0.22", "fc": style.PAPER, "ec": style.INK, "lw": 0.8},
        )  # fmt: skip

    def _describe(self) -> None:
        names = names_of(self.polyhedron)
        i, j = self.columns
        self.ax_.set_xlabel(names[i], parse_math=False)
        self.ax_.set_ylabel(names[j], parse_math=False)
        style.quiet_frame(self.ax_)
        self.text_ = in_words(self.polyhedron, names, self.columns, self.at)
        if self.polyhedron.n_features > 2:
            title = where(names, self.columns, self.at)
            self.ax_.set_title(title, fontsize=9, color=style.INK, loc="left", parse_math=False)
        style.add_legend(
            self.ax_, self._entries(), loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=9
        )

    def _entries(self) -> list[tuple[Any, str]]:
        from matplotlib.lines import Line2D

        entries: list[tuple[Any, str]] = []
        if self.y is not None:
            for label, points in self.points_.items():
                side = "inside" if label == self.inside else "outside"
                entries.append((points, f"class {label} ({side})"))
        if self.mistakes_ is not None:
            n = len(self.mistakes_.get_offsets())
            entries.append((self.mistakes_, f"{n} of {len(self.X)} on the wrong side"))
        for k, text in list(self.text_.items())[:12]:  # more would not fit
            bubble = Line2D(
                [], [], marker=f"${k}$", color=style.INK, linestyle="none", markersize=7
            )
            entries.append((bubble, text if k in self.faces_ else f"{text} (out of view)"))
        return entries

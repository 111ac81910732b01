"""A polyhedron in a plane: two columns, or the plane that shows most of more."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import _style as style
from polyceptron.plots._arguments import Wanted, as_array, choose_plane, labels_of, one_of
from polyceptron.plots._names import shorten
from polyceptron.plots._plane import Plane, names_of, room_around, window_without_rows
from polyceptron.plots._slice import Limits, cut
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

_LISTED = 12
"""Faces in the legend; more would not fit."""
_WIDE = 48
"""Characters in a line of the legend, which leaves room for the plane."""


class PolyhedronDisplay:
    """A polyhedron and labelled rows, in a plane.

    Each face is a line with its number, as in `Polyhedron.active_face`, and an arrow that
    points inside; where a face does not bound what is shown its line is dotted. The inside
    is shaded, or with ``regions="faces"`` everything: each place in the colour of the face with
    the least margin there, which decides about it (the sets S_k of the paper), paler inside.

    With more than two columns this is a slice through the point `at`: all rows are drawn where
    the plane shows them, however far they are from it. Mistakes, by all columns, are ringed.
    A single column is drawn along x, and the classes above each other.

    Make one by `from_estimator`, `from_polyhedron` or `from_predictions`.

    Parameters
    ----------
    polyhedron : Polyhedron
    X : ndarray of shape (n_samples, n_features) or None
    y : ndarray of shape (n_samples,) or None
        Labels; None draws all rows alike.
    plane : Plane
        What is shown.
    inside : label or None
        The label of the rows that should be inside.
    regions : {"inside", "faces"}
        What is shaded.
    predicted : ndarray of shape (n_samples,) or None
        Predictions: rows with another label are ringed. None rings those on the wrong side.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    region_ : matplotlib Polygon or None
        The inside; None where the slice has none of it, or all regions are coloured by face.
    cells_ : dict of int to matplotlib Polygon
        With ``regions="faces"``, the part of the window that each face decides about.
    faces_ : dict of int to matplotlib Line2D
        The line of each face that the window shows.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None
        The rings around the rows on the wrong side, or predicted otherwise.
    numbers_ : dict of int to matplotlib Annotation
        The number of each face that is seen.
    text_ : dict of int to str
        Each face in words: its inequality in the two columns, or the columns it depends on most.
    at : ndarray of shape (n_features,)
        The point through which the plane goes.
    columns : tuple of two int or None
        The columns shown; None where the axes are mixtures of columns.

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
    >>> PolyhedronDisplay.from_polyhedron(triangle, X, y, regions="faces").cells_.keys()
    dict_keys([0, 1, 2])
    """

    def __init__(
        self,
        polyhedron: Polyhedron,
        X: Floats | None,
        y: NDArray[Any] | None,
        *,
        plane: Plane,
        inside: Any = None,
        regions: str = "inside",
        predicted: NDArray[Any] | None = None,
    ) -> None:
        self.polyhedron = polyhedron
        self.X, self.y, self.predicted = X, y, predicted
        self.plane, self.inside = plane, inside
        self.regions = one_of(regions, "regions", ("inside", "faces"))

    @property
    def at(self) -> Floats:
        return self.plane.at

    @property
    def columns(self) -> tuple[int, int] | None:
        return self.plane.columns

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
        regions: str = "inside",
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted learner has learned.

        Parameters
        ----------
        estimator : fitted learner
            With `polyhedron_` and `inside_`.
        X : array-like or data frame of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
        plane, at, regions, limits, ax
            See `from_polyhedron`.

        Returns
        -------
        PolyhedronDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "polyhedron_")
        return cls.from_polyhedron(
            estimator.polyhedron_, X, y, plane=plane, at=at, inside=estimator.inside_,
            regions=regions, limits=limits, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_polyhedron(
        cls,
        polyhedron: Polyhedron,
        X: Any = None,
        y: Any = None,
        *,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
        inside: Any = None,
        regions: str = "inside",
        predicted: Any = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a polyhedron.

        Parameters
        ----------
        polyhedron : Polyhedron
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows; without any, more than two columns need `at`.
        y : array-like of shape (n_samples,), default=None
        plane : two column numbers or names, "pca" or "faces", default=None
            What is shown of more than two columns: two of them, the two main directions of the
            rows, or the two directions that say most about the faces, these two in units of the
            columns' spreads. The first two columns if None.
        at : array-like of shape (n_features,) or int, default=None
            The point through which a slice of more than two columns goes, or the number of a row.
            The default is the medians of the rows, or where that slice shows no inside, the
            row deepest inside. Columns of 0 and 1, such as the values of text, are not at their
            medians but as in the row nearest to their means.
        inside : label, default=None
            The label of the rows that should be inside; the greatest if None.
        regions : {"inside", "faces"}, default="inside"
            Shade the inside, or each place in the colour of the face that decides about it.
        predicted : array-like of shape (n_samples,), default=None
            Predictions, if rows are to be ringed where these are not `y`.
        limits : ((left, right), (low, high)), default=None
            What the axes show; the rows and some room if None.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        PolyhedronDisplay
        """
        rows = None if X is None else as_array(X, polyhedron)
        chosen = choose_plane(plane, polyhedron, rows, at)
        labels = None if y is None or rows is None else labels_of(y, len(rows))
        if inside is None and labels is not None:
            inside = np.unique(labels)[-1]
        answers = None if labels is None or predicted is None else labels_of(predicted, len(labels))
        display = cls(
            polyhedron, rows, labels, plane=chosen, inside=inside, regions=regions,
            predicted=answers,
        )  # fmt: skip
        return display.plot(ax=ax, limits=limits)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, X: Any, polyhedron: Polyhedron, **how: Any
    ) -> Self:
        """Draw labels and predictions that are known already, without a learner.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_pred : array-like of shape (n_samples,)
            Predictions, of any model: rows where they are not the labels are ringed.
        X : array-like or data frame of shape (n_samples, n_features)
        polyhedron : Polyhedron
        **how
            As in `from_polyhedron`: `plane`, `at`, `inside`, `regions`, `limits`, `ax`.

        Returns
        -------
        PolyhedronDisplay
        """
        return cls.from_polyhedron(polyhedron, X, y_true, predicted=y_pred, **how)

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
        self.text_ = self.plane.in_words(self.polyhedron, names_of(self.polyhedron, 18))
        if ax is None:
            longest = min(max(map(len, self.text_.values())), _WIDE)
            ax = style.new_axes(figsize=(6.2 + 0.07 * max(longest, 28), 4.8))[0]
        self.ax_ = ax
        self.figure_ = style.whole_figure(self.ax_)
        lines = self.plane.lines(self.polyhedron)
        points = self._points()
        if limits is None:
            limits = window_without_rows(lines) if points is None else room_around(points)
        self.ax_.set(xlim=limits[0], ylim=limits[1])
        view = cut(lines, limits)
        self._draw_rows(points)
        by_face = self.regions == "faces"
        self.cells_ = paint.cells(self.ax_, view) if by_face else {}
        self.region_ = None if by_face else paint.inside(self.ax_, view)
        self._empty = len(view.polygon()) < 3
        self.faces_ = paint.faces(self.ax_, view)
        self._describe()
        with style.any_script():
            self.figure_.draw_without_rendering()  # the numbers depend on the size of the axes
        self.numbers_ = paint.numbers(self.ax_, view, coloured=by_face)
        for k in self.cells_.keys() - self.numbers_.keys():  # decided by a face out of view
            middle = view.cell(k).mean(axis=0)
            self.numbers_[k] = paint.bubble(self.ax_, k, middle, np.zeros(2), coloured=True)
        return self

    # --- the parts of the picture -----------------------------------------------------

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
        if points is None or self.X is None:
            return
        size = paint.size_of(len(points))
        if self.y is None:
            self.points_[0.0] = paint.rows(self.ax_, points, style.FAINT, "o", size=size)
            return
        # Colours of classes would be taken for those of faces.
        ours, theirs = (style.BLUE, style.VERMILLION)
        if self.regions == "faces":
            ours, theirs = (style.INK, style.GREY)
        for label in np.unique(self.y).tolist():
            mine = label == self.inside
            self.points_[label] = paint.rows(
                self.ax_, points[self.y == label], ours if mine else theirs,
                "o" if mine else "x", size=size,
            )  # fmt: skip
        if self.predicted is not None:
            wrong = self.predicted != self.y
        else:
            wrong = self.polyhedron.contains(self.X) != (self.y == self.inside)
        if wrong.any():
            self.mistakes_ = paint.rings(self.ax_, points[wrong], size=size)

    def _describe(self) -> None:
        xlabel, ylabel = self.plane.labels
        style.describe(self.ax_, x=xlabel, y=ylabel, title=self.plane.title)
        style.quiet_frame(self.ax_)
        if self.plane.is_line:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        style.add_legend(
            self.ax_, self._entries(), loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=9
        )

    def _entries(self) -> list[tuple[Any, str]]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        nothing = Line2D([], [], linestyle="none")
        entries: list[tuple[Any, str]] = []
        if self.y is not None:
            for label, points in self.points_.items():
                side = "inside" if label == self.inside else "outside"
                entries.append((points, f"class {shorten(label)} ({side})"))
        if self.mistakes_ is not None and self.X is not None:
            n = len(self.mistakes_.get_offsets())
            how = "on the wrong side" if self.predicted is None else "predicted otherwise"
            entries.append((self.mistakes_, f"{n} of {len(self.X)} {how}"))
        if self._empty:
            entries.append((nothing, "nothing here is inside"))
        if self.columns is None:
            entries.append((nothing, "faces, and what they depend on most:"))
        for k, text in list(self.text_.items())[:_LISTED]:
            handle: Any = Line2D(
                [], [], marker=f"${k}$", color=style.INK, linestyle="none", markersize=7
            )
            if self.regions == "faces":
                colour, hatch, _, _ = style.look(k)
                handle = Patch(facecolor=colour, hatch=hatch, edgecolor=style.PAPER)
                text = f"{k}:  {text}"  # noqa: PLW2901
            text = text if k in self.faces_ else f"{text} (out of view)"  # noqa: PLW2901
            entries.append((handle, _in_lines(text)))
        if len(self.text_) > _LISTED:
            entries.append((nothing, f"and {len(self.text_) - _LISTED} more faces"))
        return entries


def _in_lines(text: str) -> str:
    """Return a face in words, in lines that end before a sign."""
    joined = re.sub(r"(?<= )([-+≥\u2212]) ", "\\1\N{NO-BREAK SPACE}", text)
    return "\n".join(wrap(joined, _WIDE, break_long_words=False, break_on_hyphens=False))

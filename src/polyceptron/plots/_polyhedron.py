"""A polyhedron in a plane: two columns, or the plane that shows most of more."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import style
from polyceptron.plots._arguments import Wanted, one_of
from polyceptron.plots._frame import LISTED, PlaneDisplay, checked
from polyceptron.plots._plane import Plane, names_of
from polyceptron.plots._slice import Limits, cut
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule
from polyceptron.utils.types import Floats

_WIDE = 48
"""Characters in a line of the legend, which leaves room for the plane."""


class PolyhedronDisplay(PlaneDisplay):
    """A polyhedron and labelled rows, in a plane.

    Each face is a line with its number, as in `Polyhedron.active_face`, and an arrow that
    points inside; where a face does not bound what is shown its line is dotted. The inside
    is shaded, or with ``regions="faces"`` everything: each place in the colour of the face with
    the least margin there, which decides about it (the sets S_k of the paper), paler inside.

    With more than two columns this is a slice through the point `at`: all rows are drawn where
    the plane shows them, however far they are from it. Mistakes, by all columns, are ringed.
    A single column is drawn along x, and the classes above each other.

    Make one by `from_estimator`, `from_polyhedron` or `from_predictions`; its parameters are
    theirs, as arrays.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    region_ : matplotlib Polygon or None
        The inside; None where the slice has none of it, or all regions are coloured by face.
    cells_ : dict of int to matplotlib Polygon
        With ``regions="faces"``, the part of the window that each face decides about.
    faces_, numbers_ : dict of int to matplotlib Line2D and Annotation
        The line and the number of each face that the window shows.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None
        The rings around the rows on the wrong side, or predicted otherwise.
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
        self.polyhedron, self.pieces = polyhedron, [polyhedron]
        self.X, self.y, self.predicted = X, y, predicted
        self.plane, self.inside = plane, inside
        self.regions = one_of(regions, "regions", ("inside", "faces"))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, **how: Any) -> Self:
        """Draw what a fitted learner has learned.

        Parameters
        ----------
        estimator : fitted learner or Rule
            Of a single polyhedron; `PolyhedraDisplay` draws several.
        X, y, **how
            As in `from_polyhedron`: `plane`, `at`, `regions`, `limits`, `ax`.
        """
        rule = as_rule(estimator, "estimator")
        if len(rule.pieces) > 1:
            raise ValueError(
                f"estimator has {len(rule.pieces)} polyhedra; PolyhedraDisplay draws several"
            )
        polyhedron, place, _ = rule.pieces[0]
        return cls.from_polyhedron(polyhedron, X, y, inside=rule.labels[place], **how)

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
        """
        (rows, labels, answers), chosen = checked([polyhedron], X, y, predicted, plane, at)
        if inside is None and labels is not None:
            inside = np.unique(labels)[-1]
        display = cls(
            polyhedron, rows, labels, plane=chosen, inside=inside, regions=regions,
            predicted=answers,
        )  # fmt: skip
        return display.plot(ax=ax, limits=limits)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, X: Any, polyhedron: Polyhedron, **how: Any
    ) -> Self:
        """Draw labels, with rings around the rows that are predicted otherwise.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
        X, polyhedron, **how
            As in `from_polyhedron`.
        """
        return cls.from_polyhedron(polyhedron, X, y_true, predicted=y_pred, **how)

    # --- the parts of the picture -----------------------------------------------------

    def _size(self) -> tuple[float, float]:
        longest = min(max(map(len, self._texts().values())), _WIDE)
        return 6.2 + 0.07 * max(longest, 28), 4.8

    def _texts(self) -> dict[int, str]:
        return self.plane.in_words(self.polyhedron, names_of(self.polyhedron, 18))

    def _look_of(self, label: Any) -> tuple[str, str]:
        # Colours of classes would be taken for those of faces.
        by_face = self.regions == "faces"
        if label == self.inside:
            return style.INK if by_face else style.BLUE, "o"
        return style.GREY if by_face else style.VERMILLION, "x"

    def _wrong(self) -> NDArray[np.bool_] | None:
        if self.predicted is not None or self.X is None:
            return super()._wrong()
        return np.asarray(self.polyhedron.contains(self.X) != (self.y == self.inside))

    def _draw_polyhedra(self, limits: Limits) -> None:
        self.text_ = self._texts()
        self._view = cut(self.plane.lines(self.polyhedron), limits)
        by_face = self.regions == "faces"
        self.cells_ = paint.cells(self.ax_, self._view) if by_face else {}
        self.region_ = None if by_face else paint.inside(self.ax_, self._view)
        self.faces_ = paint.faces(self.ax_, self._view)

    def _draw_numbers(self) -> None:
        faces = {k: (self._view, k) for k in range(self.polyhedron.n_faces)}
        by_face = self.regions == "faces"
        self.numbers_ = paint.numbers(self.ax_, faces, coloured=by_face)
        for k in self.cells_.keys() - self.numbers_.keys():  # decided by a face out of view
            middle = self._view.cell(k).mean(axis=0)
            self.numbers_[k] = paint.bubble(self.ax_, k, middle, np.zeros(2), coloured=True)

    def _entries(self) -> list[tuple[Any, str]]:
        entries: list[tuple[Any, str]] = []
        if self.y is not None:
            for label, points in self.points_.items():
                side = "inside" if label == self.inside else "outside"
                entries.append((points, f"class {style.shorten(label)} ({side})"))
        entries += self._entry_of_mistakes(
            "on the wrong side" if self.predicted is None else "predicted otherwise"
        )
        if len(self._view.polygon()) < 3:
            entries.append((paint.nothing(), "nothing here is inside"))
        if self.columns is None:
            entries.append((paint.nothing(), "faces, and what they depend on most:"))
        for k, text in list(self.text_.items())[:LISTED]:
            seen = text if k in self.faces_ else f"{text} (out of view)"
            if self.regions == "faces":
                entries.append((paint.sample_of_face(k), in_lines(f"{k}:  {seen}")))
            else:
                entries.append((paint.number_in_legend(k), in_lines(seen)))
        if len(self.text_) > LISTED:
            entries.append((paint.nothing(), f"and {len(self.text_) - LISTED} more faces"))
        return entries


def in_lines(text: str) -> str:
    """Return a face in words, in lines that end before a sign."""
    joined = re.sub(r"(?<= )([-+≥\u2212]) ", "\\1\N{NO-BREAK SPACE}", text)
    return "\n".join(wrap(joined, _WIDE, break_long_words=False, break_on_hyphens=False))

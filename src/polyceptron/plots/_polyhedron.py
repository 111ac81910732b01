"""A polyhedron, or several with labels, in a plane: two columns, or what shows most of more."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.plots import _paint as paint
from polyceptron.plots import _plane as planes
from polyceptron.plots import style
from polyceptron.plots._plane import Limits, Slice, cut, names_of
from polyceptron.plots.style import ByLabel
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule, is_bare
from polyceptron.utils import palette
from polyceptron.utils.types import Floats

_LISTED = 12
"""Faces in the legend at most: those in view first, and as many as fit."""
_LINE, _NEXT = 16, 12
"""Points that the first and each further line of text in the legend needs."""
_WIDE = 48
"""Characters in a line of the legend, which leaves room for the plane."""

Entries = list[tuple[Any, str]]


class PolyhedronDisplay:
    """A polyhedron, or several with labels, and rows, in a plane.

    Of a single polyhedron each face is a line with its number, as in `Polyhedron.active_face`, and
    an arrow that points inside; where a face does not bound what is shown its line is dotted. The
    inside is shaded, or with ``regions="faces"`` everything: each place in the colour of the face
    with the least margin there, which decides about it (the sets S_k of the paper), paler inside.

    Several have the colours and hatches of their classes, and rows a marker for each: unions,
    leaves of `OC1`, which share out the plane, and polyhedra of more than two classes, which may
    overlap and leave places to none. But for trees, where there are few faces they have numbers
    such as 1.0: the first polyhedron, its face 0.

    With more than two columns this is a slice through the point `at`: all rows are drawn where
    the plane shows them, however far they are from it. Mistakes, by all columns, are ringed.
    A single column is drawn along x, and the classes above each other.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    region_ : matplotlib Polygon or None
        The inside of a single polyhedron; None where the slice has none of it, or all regions are
        coloured by face.
    regions_ : dict of label to list of matplotlib Polygon
        The parts of several polyhedra that the window shows.
    cells_ : dict of int to matplotlib Polygon
        With ``regions="faces"``, the part of the window that each face decides about.
    faces_, numbers_ : dict of matplotlib Line2D and Annotation
        The line of each face of a single polyhedron that the window shows, and the numbers.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None
        The rings around the rows on the wrong side, or predicted otherwise.
    text_ : dict of number to str
        Each numbered face in words: its inequality in the two columns, or the columns it depends
        on most.
    told_ : str
        With `alone`, the rows of that class and the mistakes about it.
    at, columns
        The point through which the plane goes, and the two columns shown, if any.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.plots import PolyhedronDisplay
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])
    >>> X, y = [[1, 1], [3, 1], [0.5, 0.2], [-1, 1]], [1, -1, 1, -1]
    >>> display = PolyhedronDisplay.from_polyhedron(triangle, X, y)
    >>> display.text_[2]
    '2*dose + age ≤ 4'
    """

    def __init__(
        self,
        polyhedron: Polyhedron | ByLabel,
        X: Any = None,
        y: Any = None,
        *,
        inside: Any = None,
        otherwise: Any = None,
        regions: str = "inside",
        numbered: bool = True,
        predicted: Any = None,
        plane: planes.Wanted = None,
        at: ArrayLike | int | None = None,
        alone: Any = None,
    ) -> None:
        if regions not in ("inside", "faces"):
            raise ValueError(f"regions must be one of ['inside', 'faces'], got {regions!r}")
        one = polyhedron if isinstance(polyhedron, Polyhedron) else None
        labelled = {inside: polyhedron} if isinstance(polyhedron, Polyhedron) else polyhedron
        self.polyhedron, self.polyhedra = one, style.unions_of(labelled)
        self.pieces = [p for union in self.polyhedra.values() for p in union]
        self.otherwise, self.regions, self.numbered = otherwise, regions, numbered
        if alone is not None and alone not in self.polyhedra:
            raise ValueError(f"alone must be one of {[*self.polyhedra]!r:.200}, got {alone!r:.60}")
        self.alone = alone
        self._by_face = regions == "faces"
        if self._by_face and one is None:
            raise ValueError("regions='faces' needs a single polyhedron, got several with labels")
        self.X = None if X is None else style.as_array(X, planes.all_faces(self.pieces))
        self.plane = planes.choose_plane(plane, self.pieces, self.X, at)
        self.at, self.columns = self.plane.at, self.plane.columns
        self.y = style.labels_of(y, self.X)
        self.inside = np.unique(self.y)[-1] if inside is None and self.y is not None else inside
        self.predicted = None if self.y is None else style.labels_of(predicted, self.X)
        self._wrong = None if self.predicted is None else np.asarray(self.predicted != self.y)
        self._faces: dict[Any, tuple[Slice, int]] = {}
        self.text_: dict[Any, str] = {}
        if one is not None:
            self.text_ |= self.plane.in_words(one, names_of(one, 18))
            if self.X is not None and self.y is not None and self.predicted is None:
                self._wrong = np.asarray(one.contains(self.X) != (self.y == self.inside))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, **how: Any) -> Self:
        """Draw what a fitted learner or a Rule has learned; else as `from_polyhedron`."""
        rule, bare = as_rule(estimator, "estimator"), is_bare(estimator)
        X = rule.features(X)
        if len(rule.pieces) == 1 and rule.inside_place is not None:
            how |= {} if bare else {"inside": rule.labels[rule.inside_place]}
            return cls.from_polyhedron(rule.pieces[0].polyhedron, X, y, **how)
        # Sides without labels are no prediction.
        predicted = None if X is None or y is None or bare else rule.predict(X)
        otherwise = None if rule.otherwise is None else rule.labels[rule.otherwise]
        return cls.from_polyhedron(
            rule.polyhedra, X, y, predicted=predicted, otherwise=otherwise,
            numbered=not rule.is_partition, **how,
        )  # fmt: skip

    @classmethod
    def from_polyhedron(
        cls,
        polyhedron: Polyhedron | ByLabel,
        X: Any = None,
        y: Any = None,
        *,
        limits: Limits | None = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Draw a polyhedron, or several with labels.

        Parameters
        ----------
        polyhedron : Polyhedron, or mapping of label to a Polyhedron or a sequence of them
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
            The label of the rows that should be inside a single polyhedron; the greatest if None.
        otherwise : label, default=None
            The answer where none of several polyhedra is.
        regions : {"inside", "faces"}, default="inside"
            Shade the inside, or each place in the colour of the face of a single polyhedron that
            decides about it.
        numbered : bool, default=True
            Whether faces of several polyhedra have numbers, if there are at most 12.
        predicted : array-like of shape (n_samples,), default=None
            Predictions, if rows are to be ringed where these are not `y`.
        alone : label, default=None
            Draw the regions of this class only, and the rows of all others pale: of many classes
            a picture each says more than one of all.
        limits : ((left, right), (low, high)), default=None
            What the axes show; the rows and some room if None.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        """
        return cls(polyhedron, X, y, **how).plot(ax=ax, limits=limits)

    from_polyhedra = from_polyhedron

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        X: Any,
        polyhedron: Polyhedron | None = None,
        polyhedra: ByLabel | None = None,
        **how: Any,
    ) -> Self:
        """Draw labels, with rings around rows predicted otherwise; else as `from_polyhedron`."""
        what = polyhedron if polyhedra is None else polyhedra
        if what is None:
            raise ValueError("polyhedron or polyhedra must be given")
        return cls.from_polyhedron(what, X, y_true, predicted=y_pred, **how)

    @style.drawing()
    def plot(self, *, ax: Any = None, limits: Limits | None = None, legend: bool = True) -> Self:
        """Draw, as `from_estimator` does; `legend` may be left out."""
        self.ax_, self.figure_ = style.place(ax, self._figsize())
        points = self._points()
        if limits is None and points is not None:
            limits = planes.room_around(points)
        lines = self.plane.lines(planes.all_faces(self.pieces))
        limits = planes.window_without_rows(lines) if limits is None else limits
        self.ax_.set(xlim=limits[0], ylim=limits[1])
        self.region_: Any = None
        self.regions_: dict[Any, list[Any]] = {}
        self.cells_: dict[int, Any] = {}
        self.faces_: dict[int, Any] = {}
        one = self.polyhedron
        entries = self._draw_several(limits) if one is None else self._draw_single(one, limits)
        entries += self._draw_rows(points)
        style.describe(self.ax_, *self.plane.labels, title=self.plane.title)
        style.quiet_frame(self.ax_)
        if self.plane.is_line:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        if legend:
            room = 72 * 0.95 * self.figure_.get_figheight() - _height(entries)
            style.add_legend(self.ax_, entries + self._faces_in_words(room))
        # After all else: they depend on the size of the axes.
        self.numbers_ = paint.numbers(self.ax_, self._faces, coloured=self._by_face)
        return self

    def _figsize(self) -> tuple[float, float]:
        longest = max(map(len, self.text_.values()), default=0)
        wide = 6.2 + 0.07 * min(max(longest, 28), _WIDE)
        return (8.6 if self.polyhedron is None else wide), 4.8

    def _look_of(self, label: Any) -> tuple[str, str, str]:
        """The colour and the marker of the rows of a label, and what the legend calls them."""
        name = f"class {style.shorten(label)}"
        if self.polyhedron is None:
            known = list(dict.fromkeys([*self.polyhedra, *np.unique(np.asarray(self.y)).tolist()]))
            return palette.INK, paint.MARKERS[known.index(label) % len(paint.MARKERS)], name
        # Colours of classes would be taken for those of faces.
        if label == self.inside:
            return palette.INK if self._by_face else palette.BLUE, "o", f"{name} (inside)"
        return palette.GREY if self._by_face else palette.VERMILLION, "x", f"{name} (outside)"

    def _draw_single(self, polyhedron: Polyhedron, limits: Limits) -> Entries:
        view = cut(self.plane.lines(polyhedron), limits)
        self._faces = {k: (view, k) for k in range(polyhedron.n_faces)}
        corners = view.polygon()
        if self._by_face:
            self.cells_ = paint.cells(self.ax_, view)
        elif len(corners) >= 3:
            (self.region_,) = self.ax_.fill(
                *corners.T, facecolor=palette.BLUE, alpha=0.10, linewidth=0, zorder=0
            )
        self.faces_ = paint.faces(self.ax_, view)
        return [] if len(corners) >= 3 else [(paint.in_legend(), "nothing here is inside")]

    def _draw_several(self, limits: Limits) -> Entries:
        entries: Entries = []
        views: list[Slice] = []
        for k, (label, union) in enumerate(self.polyhedra.items()):
            if self.alone not in (None, label):
                continue
            here = [cut(self.plane.lines(p), limits) for p in union]
            views += here
            look, n = paint.look_of_class(k), len(union)
            self.regions_[label] = regions = [
                self.ax_.fill(*corners.T, linewidth=1.0, zorder=0, **look)[0]
                for view in here
                if len(corners := view.polygon()) >= 3
            ]
            seen = "" if len(regions) == n else f" ({len(regions) or 'none'} in view)"
            of = "region" if n == 1 else f"{n} regions"
            entries.append((_patch(**look), f"{of} of {style.shorten(label)}{seen}"))
        if self.otherwise is not None:
            entries.append((paint.in_legend(), f"elsewhere {style.shorten(self.otherwise)}"))
        self._faces, self.text_ = {}, {}
        if self.numbered and self.alone is None and sum(p.n_faces for p in self.pieces) <= _LISTED:
            for number, (polyhedron, view) in enumerate(zip(self.pieces, views, strict=True), 1):
                texts = self.plane.in_words(polyhedron, names_of(polyhedron, 18))
                seen_here = {f"{number}.{k}": k for k in texts if view.edge(k) is not None}
                self._faces |= {key: (view, k) for key, k in seen_here.items()}
                self.text_ |= {key: texts[k] for key, k in seen_here.items()}
        return entries

    def _points(self) -> Floats | None:
        if self.X is None:
            return None
        points = self.plane.of_rows(self.X)
        if self.plane.is_line:  # heights part the labels, and rows of equal value
            lane = 0 if self.y is None else np.unique(self.y, return_inverse=True)[1]
            spread = np.arange(len(points)) * 0.6180339887 % 1.0  # evenly, and the same each time
            points[:, 1] = lane + 0.75 * (spread - 0.5)
        return points

    def _draw_rows(self, points: Floats | None) -> Entries:
        self.points_: dict[Any, Any] = {}
        self.mistakes_: Any = None
        if points is None:
            return []
        n = len(points)
        size = float(np.clip(9000 / n, 3 if n > 5000 else 8, 34))
        dots = {"s": size, "alpha": 0.75 if size >= 8 else 0.3, "zorder": 2}  # many show how dense
        if self.y is None:
            look = {"c": palette.GREY, "marker": "o", "linewidths": 0.0}
            self.points_[None] = paint.rows(self.ax_, points, **look, **dots)
            return []
        if self.alone is not None:
            return self._draw_class(points, dots)
        entries: Entries = []
        for label in np.unique(self.y).tolist():
            colour, marker, name = self._look_of(label)
            width = 1.0 if marker in "x+1234" else 0.0
            look = {"c": colour, "marker": marker, "linewidths": width}
            drawn = paint.rows(self.ax_, points[self.y == label], **look, **dots)
            self.points_[label] = drawn
            entries.append((drawn, name))
        if self._wrong is not None and self._wrong.any():
            how = "on the wrong side" if self.predicted is None else "predicted otherwise"
            entries.append(
                self._ring(points, self._wrong, size, f"{self._wrong.sum()} of {n} {how}")
            )
        return entries

    def _draw_class(self, points: Floats, dots: dict[str, Any]) -> Entries:
        """The rows of one class, before those of all others."""
        own = np.asarray(self.y == self.alone)
        pale = {"c": palette.FAINT, "marker": "o", "linewidths": 0.0}
        self.points_[None] = paint.rows(self.ax_, points[~own], **pale, **dots | {"alpha": 0.25})
        ink = {"c": palette.INK, "marker": "o", "linewidths": 0.0}
        shown = paint.rows(self.ax_, points[own], **ink, **dots | {"zorder": 2.5})
        self.points_[self.alone] = shown
        entries: Entries = [(shown, f"class {style.shorten(self.alone)}")]
        entries.append((self.points_[None], "other classes"))
        self.told_ = f"{own.sum()} rows{'' if self.regions_[self.alone] else ', no region in view'}"
        if self.predicted is not None:
            wrong = own != (self.predicted == self.alone)
            self.told_ += f"\n{(wrong & own).sum()} missed, {(wrong & ~own).sum()} false"
            if wrong.any():
                entries.append(self._ring(points, wrong, float(dots["s"]), "mistakes"))
        return entries

    def _ring(self, points: Floats, which: Any, size: float, told: str) -> tuple[Any, str]:
        self.mistakes_ = paint.rows(
            self.ax_, points[which], s=3.2 * size, facecolors="none",
            edgecolors=palette.INK, linewidths=0.9, zorder=3,
        )  # fmt: skip
        return self.mistakes_, told

    def _faces_in_words(self, room: float) -> Entries:
        """The faces with text, as many as fit in so many points of height."""
        title: Entries = []
        if self.text_ and self.columns is None:
            title = [(paint.in_legend(), "faces, and what they depend on most:")]
        room -= _height(title)
        in_view = {key: view.chord(k) is not None for key, (view, k) in self._faces.items()}
        far = {key: (not in_view[key], key not in self.cells_) for key in self.text_}
        listed = sorted(self.text_, key=far.__getitem__)[:_LISTED]
        entries = {key: self._face_in_words(key, in_view=in_view[key]) for key in listed}
        while (
            entries
            and _height([*entries.values()]) + _LINE * (len(entries) < len(self.text_)) > room
        ):
            entries.popitem()
        shown = [entries[key] for key in self.text_ if key in entries]
        if len(shown) < len(self.text_):
            shown.append((paint.in_legend(), f"and {len(self.text_) - len(shown)} more faces"))
        return title + shown

    def _face_in_words(self, key: Any, *, in_view: bool) -> tuple[Any, str]:
        seen = self.text_[key] + ("" if in_view else " (out of view)")
        if not self._by_face:
            return paint.in_legend(key), _in_lines(seen)
        colour, hatch, _ = style.look(self._faces[key][1])
        sample = _patch(facecolor=colour, hatch=hatch, edgecolor=palette.PAPER)
        return sample, _in_lines(f"{key}:  {seen}")


PolyhedraDisplay = PolyhedronDisplay


def _patch(**look: Any) -> Any:
    return style.pyplot().matplotlib.patches.Patch(**look)


def _in_lines(text: str) -> str:
    """Return a face in words, in lines that end before a sign."""
    joined = re.sub(r"(?<= )([-+≥\u2212]) ", "\\1\N{NO-BREAK SPACE}", text)
    return "\n".join(wrap(joined, _WIDE, break_long_words=False, break_on_hyphens=False))


def _height(entries: Entries) -> int:
    """How many points of height the legend needs for them."""
    return sum(_LINE + _NEXT * text.count("\n") for _, text in entries)

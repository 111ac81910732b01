"""One answer, column by column: how the deciding face came to its margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.explain import Contributions, as_row, contributions
from polyceptron.plots import style
from polyceptron.plots._frame import as_array
from polyceptron.plots.style import MINUS, short_names, shorten
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import as_count, as_floats


class Bar(NamedTuple):
    """From where to where, and what it is: "start", "column", "rest" or "total"."""

    label: str
    begin: float
    end: float
    kind: str


class WaterfallDisplay:
    """What each column adds to the margin of the face that decides about a row.

    From the top: what the margin is to begin with, then the contributions w_j * (x_j - r_j),
    largest first, then their sum, the margin of the row. On the shaded side, from zero on, the
    face holds. The deciding face is the one with the least margin, so where it holds, all do:
    the row is inside.

    The reference r is the medians of the rows, where rows are given, else zero, so that the
    beginning is the face's own offset.

    Make one by `from_estimator`, `from_polyhedron`, `from_contributions` (which
    `from_predictions` is another name of), or from numbers:
    ``WaterfallDisplay(["age", "dose"], [1.5, -0.5], start=-2.0).plot()``.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    contributions : array-like of shape (n_features,)
    start : float
        The margin to begin with.
    values : array-like of shape (n_features,), default=None
        The row, to be named beside the columns.
    title : str, default=""
    start_label : str, default="offset"

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : list of Bar
        From the top: (label, begin, end, kind).
    patches_ : list of matplotlib Rectangle
        One for each bar.
    total : float
        The margin of the row.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.plots import WaterfallDisplay
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])
    >>> display = WaterfallDisplay.from_polyhedron(triangle, [3, 1])
    >>> for label, begin, end, _ in display.bars_:
    ...     print(f"{label}: {begin:g} to {end:g}")
    offset: 0 to 4
    age = 3: 4 to 1
    dose = 1: 1 to -1
    margin: 0 to -1
    """

    def __init__(
        self,
        names: Sequence[str],
        contributions: ArrayLike,
        start: float,
        *,
        values: ArrayLike | None = None,
        title: str = "",
        start_label: str = "offset",
    ) -> None:
        self.contributions = as_floats(contributions, "contributions")
        if self.contributions.shape != (len(names),):
            raise ValueError(
                f"contributions must be {len(names)} numbers, one for each name; "
                f"got shape {self.contributions.shape}"
            )
        self.names, self.start = list(names), float(start)
        self.values = None if values is None else as_floats(values, "values")
        self.title, self.start_label = title, start_label
        with np.errstate(over="ignore", invalid="ignore"):
            self.total = self.start + float(self.contributions.sum())
        if not np.isfinite([self.total, *self.contributions]).all():
            raise ValueError("contributions and start must have a finite sum: they are too large")

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, X: Any = None, *, face: int | None = None, **how: Any
    ) -> Self:
        """Draw why a fitted learner answers as it does for one row.

        Parameters
        ----------
        estimator : fitted learner or Rule
            Of several polyhedra, the one that decides is looked at: it contains the row, or comes
            nearest to it.
        x : array-like, mapping, Series or one-row frame
            The row.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows to compare with: contributions count from their medians.
        face : int, default=None
            Which face to look at; the one that decides if None.
        **how
            As in `plot`: `max_features`, `ax`.
        """
        rule = as_rule(estimator, "estimator")
        row = as_row(x, rule)
        decision = rule.decide(row[None, :])
        piece = int(decision.piece[0])
        polyhedron = rule.pieces[piece].polyhedron
        if polyhedron.n_faces == 0:
            raise ValueError("estimator has the same answer for every row: no face decides")
        reference = np.zeros_like(row) if X is None else np.median(as_array(X, polyhedron), axis=0)
        why = contributions(polyhedron, row, reference, face=face)
        margins = polyhedron.margins(row[None, :])[0]
        said = "inside" if margins.min() >= 0 else "outside"
        if estimator is not polyhedron:
            said = f"class {shorten(rule.labels[int(decision.place[0])])} ({said})"
        name = f"{'the deciding face' if why.face == margins.argmin() else 'face'} {why.face}"
        of = f" of piece {piece + 1}" if len(rule.pieces) > 1 else ""
        display = cls(
            list(why.values), list(why.values.values()), why.base, values=row,
            title=f"{said}: {name}{of} {'holds' if why.slack >= 0 else 'rejects'}",
            start_label="offset" if X is None else "at the medians",
        )  # fmt: skip
        return display.plot(**how)

    @classmethod
    def from_polyhedron(
        cls, polyhedron: Polyhedron, x: Any, X: Any = None, *, answers: Any = None, **how: Any
    ) -> Self:
        """Draw why a row is inside or outside.

        Parameters
        ----------
        polyhedron : Polyhedron
        answers : (label, label), default=None
            What inside and outside are called.
        x, X, **how
            As in `from_estimator`.
        """
        model = polyhedron if answers is None else Rule.inside(answers, 0, polyhedron)
        return cls.from_estimator(model, x, X, **how)

    @classmethod
    def from_contributions(cls, why: Contributions, **how: Any) -> Self:
        """Draw what `polyceptron.explain.contributions` returned; `how` is as in `plot`."""
        title = f"face {why.face} {'holds' if why.slack >= 0 else 'rejects'}"
        display = cls(
            list(why.values), list(why.values.values()), why.base, title=title,
            start_label="at the reference",
        )  # fmt: skip
        return display.plot(**how)

    from_predictions = from_contributions

    @style.drawing()
    def plot(self, *, max_features: int = 10, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        max_features : int, default=10
            The most columns shown; the others are one bar.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        """
        self.bars_ = self._bars(as_count(max_features, "max_features"))
        if ax is None:
            ax = style.new_axes(figsize=(7.6, 1.5 + 0.36 * len(self.bars_)))[0]
        self.ax_, self.figure_ = ax, ax.figure.figure
        ends = [0.0, *(end for bar in self.bars_ for end in (bar.begin, bar.end))]
        low, high = min(ends), max(ends)
        room = 0.18 * (high - low) or 1.0  # for the numbers at the ends of the bars
        ax.set(xlim=(low - room, high + room), ylim=(len(self.bars_) - 0.4, -0.6))
        ax.axvspan(0.0, high + room, color=style.BLUE, alpha=0.07, linewidth=0, zorder=0)
        ax.axvline(0.0, color=style.FAINT, linewidth=0.8, zorder=1)
        self.patches_ = [self._draw(row, bar) for row, bar in enumerate(self.bars_)]
        for row, bar in enumerate(self.bars_[:-1]):  # from where it ends to where the next begins
            at, along = [bar.end, bar.end], [row - 0.31, row + 1.31]
            ax.plot(at, along, color=style.GREY, linewidth=0.7, zorder=2)
        ax.set_yticks(range(len(self.bars_)), [bar.label for bar in self.bars_], **style.PLAIN)
        meaning = "margin of the face (shaded, from zero on: it holds)"
        style.describe(ax, x=meaning, title=self.title)
        style.quiet_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return self

    def _bars(self, most: int) -> list[Bar]:
        bars = [Bar(self.start_label, 0.0, self.start, "start")]
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        order = order[self.contributions[order] != 0]
        shown = order if len(order) <= most else order[: most - 1]
        names = short_names(self.names)
        level = self.start
        for j in shown.tolist():
            value = "" if self.values is None else f" = {_figure(float(self.values[j]))}"
            after = level + float(self.contributions[j])
            bars.append(Bar(f"{names[j]}{value}", level, after, "column"))
            level = after
        rest = order[len(shown) :]
        if len(rest):
            bars.append(Bar(f"{len(rest)} other columns", level, self.total, "rest"))
        return [*bars, Bar("margin", 0.0, self.total, "total")]

    def _draw(self, row: int, bar: Bar) -> Any:
        change = bar.end - bar.begin
        is_sum = bar.kind in ("start", "total")
        colour = style.BLUE if change >= 0 else style.VERMILLION
        if is_sum:
            colour = style.FAINT if bar.kind == "start" else style.INK
        (patch,) = self.ax_.barh(
            row, change, left=bar.begin, height=0.62, color=colour, edgecolor=style.PAPER,
            hatch="////" if change < 0 and not is_sum else "", linewidth=0.0, zorder=3,
        )  # fmt: skip
        self.ax_.annotate(
            _figure(change, 3, always_signed=not is_sum), xy=(bar.end, row),
            xytext=(4 if change >= 0 else -4, 0), textcoords="offset points", va="center",
            ha="left" if change >= 0 else "right", fontsize=9, color=style.INK, zorder=4,
            fontweight="bold" if bar.kind == "total" else "normal",
        )  # fmt: skip
        return patch


def _figure(value: float, digits: int = 4, *, always_signed: bool = False) -> str:
    """Return a number as people write it: 3570, not 3.57e+03."""
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-5 < abs(value) < 1e7:
        text = np.format_float_positional(
            value, precision=digits, unique=False, fractional=False, trim="-"
        )
    return ("+" if always_signed and value >= 0 else "") + text.replace("-", MINUS)

"""One answer, column by column: how the deciding face came to its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.explain import Contributions, as_row, contributions
from polyceptron.plots import style
from polyceptron.rule import as_rule, is_bare
from polyceptron.utils import palette
from polyceptron.utils.checks import as_columns, as_count, as_floats
from polyceptron.utils.text import number_text
from polyceptron.utils.types import Floats


class Bar(NamedTuple):
    """From where to where, and what it is: "start", "column", "rest" or "total"."""

    label: str
    begin: float
    end: float
    kind: str


@dataclass(eq=False, repr=False)
class WaterfallDisplay:
    """What each column adds to the margin of the face that decides about a row.

    From the top: what the margin is to begin with, then the contributions w_j * (x_j - r_j),
    largest first, then their sum, the margin of the row. On the shaded side, from zero on, the
    face holds. The deciding face is the one with the least margin, so where it holds, all do:
    the row is inside.

    Make one by `from_estimator` (`from_polyhedron` is another name of it), by `from_contributions`
    (`from_predictions` is another name), or from numbers:
    ``WaterfallDisplay(["age", "dose"], [1.5, -0.5], start=-2.0).plot()``.

    Parameters
    ----------
    names, contributions : sequences of str and of float
        Of the columns.
    start, start_label : float and str
        The margin to begin with, and what it is called.
    values : array-like of shape (n_features,), default=None
        The row, to be named beside the columns.
    title : str, default=""
    spreads : array-like of shape (n_features,), default=None
        Of the columns: values have digits for a hundredth of them.

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

    names: Sequence[str]
    contributions: ArrayLike
    start: float
    values: ArrayLike | None = None
    title: str = ""
    start_label: str = "offset"
    spreads: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._sizes = as_floats(self.contributions, "contributions")
        if self._sizes.shape != (len(self.names),):
            raise ValueError(
                f"contributions must be {len(self.names)} numbers, one for each name; "
                f"got shape {self._sizes.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            self.total = float(self.start + self._sizes.sum())
        if not np.isfinite([self.total, *self._sizes]).all():
            raise ValueError("contributions and start must have a finite sum: they are too large")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        X: Any = None,
        *,
        face: int | None = None,
        spreads: ArrayLike | None = None,
        **how: Any,
    ) -> Self:
        """Draw why a model answers as it does for one row.

        Parameters
        ----------
        estimator : fitted learner, Rule or Polyhedron
            Of several polyhedra, the one that the answer rests on is looked at, as by
            `polyceptron.explain.membership`.
        x : array-like, mapping, Series or one-row frame
            The row.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows to compare with: contributions count from their medians, else from zero.
        face : int, default=None
            Which face to look at; the one that decides if None.
        spreads : array-like of shape (n_features,), default=None
            Those of the columns, which say how many digits values need; of X if None. Others are
            as in `plot`.
        """
        rule = as_rule(estimator, "estimator")
        row = as_row(x, rule)
        decision = rule.decide(row[None, :])
        piece = int(decision.piece[0])
        polyhedron = rule.pieces[piece].polyhedron
        rows = (
            np.zeros((1, len(row))) if X is None else style.as_array(rule.features(X), polyhedron)
        )
        reference, spreads = np.median(rows, axis=0), _spreads(rows) if spreads is None else spreads
        why = contributions(polyhedron, row, reference, face=face)
        margins = polyhedron.margins(row[None, :])[0]
        said = "inside" if margins.min() >= 0 else "outside"
        if not is_bare(estimator):
            said = f"class {style.shorten(rule.labels[int(decision.place[0])])} ({said})"
        name = f"{'the deciding face' if why.face == margins.argmin() else 'face'} {why.face}"
        of = f" of piece {piece + 1}" if len(rule.pieces) > 1 else ""
        title, start = f"{said}: {name}{of}", "offset" if X is None else "at the medians"
        return cls._of(why, title, start, row, spreads).plot(**how)

    from_polyhedron = from_estimator

    @classmethod
    def from_contributions(cls, why: Contributions, **how: Any) -> Self:
        """Draw what `polyceptron.explain.contributions` returned; `how` is as in `plot`."""
        return cls._of(why, f"face {why.face}", "at the reference").plot(**how)

    from_predictions = from_contributions

    @classmethod
    def _of(
        cls, why: Contributions, title: str, start: str, values: Any = None, spreads: Any = None
    ) -> Self:
        title = f"{title} {'holds' if why.slack >= 0 else 'rejects'}"
        names, sizes = list(why.values), list(why.values.values())
        return cls(names, sizes, why.base, values, title, start, spreads)

    @style.drawing()
    def plot(self, *, max_features: int = 10, ax: Any = None) -> Self:
        """Draw so many columns, the others being one bar; in a new figure without `ax`."""
        self.bars_ = self._bars(as_count(max_features, "max_features"))
        self.ax_, self.figure_ = ax, _ = style.place(ax, (7.6, 1.5 + 0.36 * len(self.bars_)))
        ends = [0.0, *(end for bar in self.bars_ for end in (bar.begin, bar.end))]
        low, high = min(ends), max(ends)
        room = 0.18 * (high - low) or 1.0  # for the numbers at the ends of the bars
        ax.set(xlim=(low - room, high + room), ylim=(len(self.bars_) - 0.4, -0.6))
        ax.axvspan(0.0, high + room, color=palette.BLUE, alpha=0.07, linewidth=0, zorder=0)
        ax.axvline(0.0, color=palette.FAINT, linewidth=0.8, zorder=1)
        self.patches_ = [self._draw(row, bar) for row, bar in enumerate(self.bars_)]
        for row, bar in enumerate(self.bars_[:-1]):  # from where it ends to where the next begins
            at, along = [bar.end, bar.end], [row - 0.31, row + 1.31]
            ax.plot(at, along, color=palette.GREY, linewidth=0.7, zorder=2)
        ax.set_yticks(range(len(self.bars_)), [bar.label for bar in self.bars_], **style.PLAIN)
        meaning = "margin of the face (shaded, from zero on: it holds)"
        style.describe(ax, x=meaning, title=self.title)
        style.quiet_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return self

    def _bars(self, most: int) -> list[Bar]:
        bars = [Bar(self.start_label, 0.0, float(self.start), "start")]
        order = np.argsort(-np.abs(self._sizes), kind="stable")
        order = order[self._sizes[order] != 0]
        shown = order if len(order) <= most else order[: most - 1]
        names = style.short_names(self.names)
        values = None if self.values is None else as_floats(self.values, "values")
        spreads = as_columns(0.0 if self.spreads is None else self.spreads, "spreads", len(names))
        for j in shown.tolist():
            value = "" if values is None else f" = {_figure(values[j], 4, spreads[j])}"
            level = bars[-1].end
            bars.append(Bar(f"{names[j]}{value}", level, level + float(self._sizes[j]), "column"))
        if len(shown) < len(order):
            rest = f"{len(order) - len(shown)} other columns"
            bars.append(Bar(rest, bars[-1].end, self.total, "rest"))
        return [*bars, Bar("margin", 0.0, self.total, "total")]

    def _draw(self, row: int, bar: Bar) -> Any:
        change = bar.end - bar.begin
        sums = {"start": palette.FAINT, "total": palette.INK}
        colour = sums.get(bar.kind, palette.BLUE if change >= 0 else palette.VERMILLION)
        is_sum = bar.kind in sums
        (patch,) = self.ax_.barh(
            row, change, left=bar.begin, height=0.62, color=colour, edgecolor=palette.PAPER,
            hatch="////" if change < 0 and not is_sum else "", linewidth=0.0, zorder=3,
        )  # fmt: skip
        self.ax_.annotate(
            _figure(change, 3, signed=not is_sum), xy=(bar.end, row),
            xytext=(4 if change >= 0 else -4, 0), textcoords="offset points", va="center",
            ha="left" if change >= 0 else "right", fontsize=9, color=palette.INK, zorder=4,
            fontweight="bold" if bar.kind == "total" else "normal",
        )  # fmt: skip
        return patch


def _spreads(rows: Floats) -> Floats:
    """Those of columns, 0 where they are too large to tell."""
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = rows.std(axis=0)
    return np.where(np.isfinite(spreads), spreads, 0.0)


def _figure(value: float, digits: int, spread: float = 0.0, *, signed: bool = False) -> str:
    text = number_text(float(value), float(spread), digits)
    return ("+" if signed and value >= 0 else "") + text.replace("-", style.MINUS)

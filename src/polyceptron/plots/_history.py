"""How a fit went, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from polyceptron.plots import style
from polyceptron.utils import palette
from polyceptron.utils.types import Floats

_COLORS = {"mistakes": palette.BLUE, "criterion": palette.VERMILLION}


@dataclass(eq=False, repr=False)
class HistoryDisplay:
    """Mistakes, and the criterion where there is one, against iterations or passes.

    Parameters
    ----------
    history : mapping of str to ndarray of shape (n_iter,)
    unit : {"iteration", "pass"}
        What is counted along the x-axis.
    name : str or None

    Attributes
    ----------
    axes_, figure_ : list of matplotlib Axes, one for each measure, and their Figure
    lines_ : dict of str to matplotlib Line2D
        The curve of each measure.

    Examples
    --------
    >>> from polyceptron import OnlinePolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.plots import HistoryDisplay
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = OnlinePolyceptron(3, random_state=0).fit(X, y)
    >>> display = HistoryDisplay.from_estimator(model)
    >>> list(display.lines_), display.axes_[-1].get_xlabel()
    (['mistakes'], 'pass')
    """

    history: Mapping[str, Floats]
    unit: str = "iteration"
    name: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, **how: Any) -> Self:
        """Draw `history_` of a fitted learner, called as its class if not `name`; as in `plot`."""
        return cls._of(estimator, name).plot(**how)

    @classmethod
    def from_predictions(
        cls, history: Mapping[str, Any], *, unit: str = "iteration", name: Any = None, **how: Any
    ) -> Self:
        """Draw a history that is known already, such as ``{"mistakes": [9, 4, 2]}``."""
        return cls(history, unit=unit, name=name).plot(**how)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Sequence[Any],
        *,
        measures: Sequence[str] | None = None,
        ax: Any = None,
    ) -> list[Self]:
        """Draw the histories of several fitted learners in the same axes, a display for each.

        Parameters
        ----------
        estimators : mapping of str to fitted learner, or a sequence of them
            A sequence is named by the numbers and classes of the learners.
        measures, ax
            As in `plot`, but the criterion is drawn only where all have one.
        """
        if not isinstance(estimators, Mapping):
            estimators = {f"{k}: {type(one).__name__}": one for k, one in enumerate(estimators)}
        if not estimators:
            raise ValueError("estimators must have at least one fitted learner, got none")
        displays = [cls._of(estimator, name) for name, estimator in estimators.items()]
        if measures is None:
            both = ax is None and all("criterion" in d.history for d in displays)
            measures = ["mistakes", "criterion"] if both else ["mistakes"]
        if ax is None:
            ax = style.new_axes(len(measures), figsize=(7.6, 1.6 + 2.0 * len(measures)))
        for k, display in enumerate(displays):
            one = style.look(k)
            display.plot(measures=measures, color=one.colour, linestyle=one.dashes, ax=ax)
        axes = displays[0].axes_
        if len({display.unit for display in displays}) > 1:
            axes[-1].set_xlabel("iteration or pass")
        curves = [(d.lines_[measures[0]], style.shorten(d.name)) for d in displays]
        style.add_legend(axes[0], curves)
        return displays

    @classmethod
    def _of(cls, estimator: Any, name: str | None) -> Self:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "history_")
        unit = "pass" if "updates" in estimator.history_ else "iteration"
        return cls(estimator.history_, unit=unit, name=name or type(estimator).__name__)

    @style.drawing()
    def plot(
        self,
        *,
        measures: Sequence[str] | None = None,
        color: str | None = None,
        linestyle: Any = "solid",
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        measures : sequence of str, default=None
            Entries of the history. If None, "mistakes", and in a new figure "criterion" too
            where there is one.
        color, linestyle
            As matplotlib has them.
        ax : matplotlib Axes or a sequence of them, default=None
            Where to draw, one for each measure; a new figure if None.
        """
        given = None if ax is None else list(np.atleast_1d(np.asarray(ax, dtype=object)))
        chosen = self._measures(measures, 2 if given is None else len(given))
        if given is None:
            given = style.new_axes(len(chosen), figsize=(6.4, 1.6 + 2.0 * len(chosen)))
        if len(given) != len(chosen):
            raise ValueError(f"ax has {len(given)} axes for {len(chosen)} measures: {chosen}")
        self.axes_, self.figure_, self.lines_ = given, given[0].figure, {}
        for measure, axes in zip(chosen, given, strict=True):
            colour = color or _COLORS.get(measure, palette.INK)
            self.lines_[measure] = self._curve(axes, measure, colour, linestyle, alone=ax is None)
        self.axes_[-1].set_xlabel(self.unit)
        return self

    def _measures(self, measures: Sequence[str] | None, most: int) -> list[str]:
        if measures is None:
            return [m for m in ("mistakes", "criterion") if m in self.history][:most]
        chosen = [measures] if isinstance(measures, str) else list(measures)
        for measure in chosen:
            if measure not in self.history:
                known = sorted(self.history)
                raise ValueError(f"measures has {measure!r}, but the history has {known}")
        return chosen

    def _curve(self, ax: Any, measure: str, color: str, linestyle: Any, *, alone: bool) -> Any:
        values = np.asarray(self.history[measure])
        counts = np.arange(1, len(values) + 1)
        look = {"color": color, "linestyle": linestyle, "linewidth": 1.5, "label": self.name}
        (line,) = ax.plot(counts, values, **look)
        least = int(values.argmin())
        dot = {"color": color, "markersize": 5, "clip_on": False, "zorder": 3}
        ax.plot(counts[least], values[least], "o", **dot)
        ax.set_ylabel(measure.replace("_", " "))
        ax.set_ylim(bottom=0, auto=True)  # auto: another curve may need more room
        ax.grid(axis="y", color=palette.RULE, linewidth=0.8)
        ax.set_axisbelow(True)
        style.quiet_frame(ax)
        if alone:
            least_of_all = f"least {values[least]:.4g}, at {self.unit} {least + 1}"
            ax.set_title(least_of_all, loc="right", fontsize=9, color=color)
        return line

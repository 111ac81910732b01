"""Accuracy against the number of terms, so that a person can choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from polyceptron.plots import style
from polyceptron.utils import palette


@dataclass(eq=False, repr=False)
class PathDisplay:
    """What `Polyceptron(max_terms=...)` tried: accuracy on rows held out against terms in all.

    The line joins those that are more accurate than all with fewer terms.

    Parameters
    ----------
    path : mapping of str to sequence
        `path_` of a fitted `Polyceptron`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D

    Examples
    --------
    >>> from polyceptron.plots import PathDisplay
    >>> path = {"n_terms": [1, 2, 4], "accuracy": [0.8, 0.95, 0.9], "error": [0.02, 0.01, 0.01]}
    >>> path |= {"n_hyperplanes": [1, 2, 2], "chosen": [False, True, False]}
    >>> display = PathDisplay.from_predictions(path)
    >>> display.line_.get_xdata().tolist(), display.ax_.get_xlabel()
    ([1, 2], 'terms of the rule, in the mean of the folds')
    """

    path: Mapping[str, Sequence[Any]]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw `path_` of a fitted `Polyceptron`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        try:
            path = estimator.path_
        except AttributeError:
            none = "there is no path_: fit with max_terms, such as max_terms='auto'"
            raise ValueError(none) from None
        if "class" in path:
            raise ValueError("each class has a path of its own: draw one of estimator.estimators_")
        return cls(path).plot(ax=ax)

    @classmethod
    def from_predictions(cls, path: Mapping[str, Sequence[Any]], *, ax: Any = None) -> Self:
        """Draw a path that is known already."""
        return cls(path).plot(ax=ax)

    @style.drawing()
    def plot(self, *, ax: Any = None) -> Self:
        """Draw into `ax`, or a new figure."""
        self.ax_, self.figure_ = style.place(ax, (6.4, 4.2))
        terms, chosen = np.asarray(self.path["n_terms"]), np.asarray(self.path["chosen"])
        share, error = (100 * np.asarray(self.path[name]) for name in ("accuracy", "error"))
        order = np.lexsort((-share, terms))
        best = np.maximum.accumulate(np.append(-1.0, share[order]))[:-1]
        front = order[share[order] > best]
        self.ax_.plot(terms, share, ".", color=palette.FAINT, label="tried")
        (self.line_,) = self.ax_.plot(terms[front], share[front], color=palette.BLUE)
        where = np.flatnonzero(chosen)[:1]
        self.ax_.errorbar(
            terms[where], share[where], error[where], fmt="o", color=palette.VERMILLION, capsize=3,
            label="chosen, ± a standard error",
        )  # fmt: skip
        for k in front:
            n = self.path["n_hyperplanes"][k]
            text = f"{n} face{'s' if n > 1 else ''}"
            self.ax_.annotate(
                text, (terms[k], share[k]), (0, 5), textcoords="offset points", ha="center",
                fontsize="small", color=palette.BLUE,
            )  # fmt: skip
        words = "terms of the rule, in the mean of the folds", "right, of rows held out (%)"
        style.describe(self.ax_, *words)
        style.quiet_frame(self.ax_)
        self.ax_.legend(loc="lower right", frameon=False)
        return self

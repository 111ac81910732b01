"""Accuracy against the number of terms, so that a person can choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyceptron.plots import style
from polyceptron.utils import palette
from polyceptron.utils.types import Floats


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
            own = "each class has a path of its own: see plot_paths, or draw estimator.estimators_"
            raise ValueError(own)
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
        for k in _apart(terms, share, front):
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


def _apart(terms: Floats, share: Floats, front: NDArray[np.intp]) -> Iterator[int]:
    """Those of the front whose words are not upon others, from the last, the best, on."""
    taken: list[tuple[float, float]] = []
    wide, high = max(float(np.ptp(terms)), 1e-9), max(float(np.ptp(share)), 1e-9)
    for k in reversed(front.tolist()):
        x, y = terms[k] / wide, share[k] / high
        if all(abs(x - u) > 0.1 or abs(y - v) > 0.06 for u, v in taken):
            taken.append((x, y))
            yield k


def plot_paths(path: Mapping[str, Sequence[Any]]) -> Any:
    """Draw `path_` of a fitted `Polyceptron`, of more than two classes one below another.

    Returns the matplotlib Figure.
    """
    if "class" not in path:
        return PathDisplay.from_predictions(path).figure_
    labels = list(dict.fromkeys(path["class"]))
    figure = style.new_figure(figsize=(6.4, 3.6 * len(labels)))
    axes = figure.subplots(len(labels), squeeze=False)[:, 0]
    for ax, label in zip(axes, labels, strict=True):
        own = [other == label for other in path["class"]]
        part = {name: list(compress(values, own)) for name, values in path.items()}
        PathDisplay.from_predictions(part, ax=ax)
        ax.set_title(style.shorten(label), fontsize=9, color=palette.INK, loc="left", **style.PLAIN)
    return figure

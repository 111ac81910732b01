"""Small multiples: a picture of each class, with all others pale, in one plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.plots import style
from polyceptron.plots._plane import Wanted, choose_plane
from polyceptron.plots._polyhedron import PolyhedronDisplay
from polyceptron.rule import Rule
from polyceptron.utils import palette
from polyceptron.utils.types import Floats

FEW_CLASSES, FEW_ROWS = 4, 2000
"""Of more classes, or of three and more with more rows, one picture is not readable."""
_PANELS = 12
_LEGEND = "Dark: rows of the class; pale: all others; rings: mistakes about it."


def classes_alone(rule: Rule, labels: NDArray[Any] | None) -> list[Any]:
    """Return the classes that need a picture of their own: the most frequent, in their order."""
    several = list(rule.polyhedra)
    if labels is None or len(several) < 3:
        return []
    if len(several) <= FEW_CLASSES and len(labels) <= FEW_ROWS:
        return []
    counts = [-int((labels == label).sum()) for label in several]
    return [several[k] for k in sorted(np.argsort(counts, kind="stable")[:_PANELS].tolist())]


def multiples_size(n: int) -> tuple[float, float]:
    """Return the size of a figure of so many pictures, in inches."""
    return 8.6, 1.2 + 2.3 * -(-n // _pictures_in_a_row(n))


def draw_classes(
    figure: Any, rule: Rule, X: Floats, y: NDArray[Any], classes: list[Any], wanted: Wanted
) -> None:
    """Draw a picture of each of these classes."""
    plane = choose_plane(wanted, [piece.polyhedron for piece in rule.pieces], X, None)
    predicted, n_columns = rule.predict(X), _pictures_in_a_row(len(classes))
    n_rows = -(-len(classes) // n_columns)
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, label in zip(axes, classes, strict=False):
        display = PolyhedronDisplay(
            rule.polyhedra, X, y, predicted=predicted, plane=plane, alone=label
        ).plot(ax=ax, legend=False)
        style.describe(ax)
        title = f"{style.shorten(label)}\n{display.told_}"
        ax.set_title(title, fontsize=8, color=palette.INK, loc="left", **style.PLAIN)
        ax.tick_params(labelsize=8)
    for ax in axes[len(classes) :]:
        ax.set_axis_off()
    n = len(rule.polyhedra)
    some = f"The {len(classes)} largest of {n} classes. " if len(classes) < n else ""
    title = f"{plane.title}\n{some}{_LEGEND}".strip()
    look = {"color": palette.INK, **style.PLAIN}
    figure.suptitle(title, x=0.02, ha="left", fontsize=9, **look)
    figure.supxlabel(plane.labels[0], fontsize=10, **look)
    figure.supylabel(plane.labels[1], fontsize=10, **look)


def _pictures_in_a_row(n: int) -> int:
    return min(n, 3 if n <= 6 else 4)

"""Which columns each face depends on, and in which direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from polyceptron.plots import style
from polyceptron.plots._plane import all_faces, names_of, normals_of, standard
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule
from polyceptron.utils import palette
from polyceptron.utils.checks import as_count
from polyceptron.utils.types import Floats


@dataclass(eq=False, repr=False)
class FaceHeatmapDisplay:
    """The weight of each column in each face, as colours, signs and numbers.

    Blue and a plus: a larger value speaks for inside; vermillion and a minus: for outside. Each
    face is scaled to length one, as a positive factor says nothing of it. With rows given, weights
    count per spread of the column, which makes columns of different units comparable; without, per
    unit.

    Make one by `from_estimator` or `from_polyhedra`; `from_polyhedron` and `from_predictions` are
    other names of the first, as predictions depend on nothing else.

    Attributes
    ----------
    weights : ndarray of shape (n_faces, n_features)
        In [-1, 1].
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib AxesImage
        Columns of X downwards, faces to the right.
    columns_ : ndarray of int
        The columns of X shown, from the top.
    cells_ : dict of (int, int) to matplotlib Text
        What is written in the cell of a face and a column.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.plots import FaceHeatmapDisplay
    >>> window = Polyhedron([[3, -4], [0, 1]], [0, 0], ["age", "dose"])
    >>> display = FaceHeatmapDisplay.from_polyhedron(window)
    >>> display.weights
    array([[ 0.6, -0.8],
           [ 0. ,  1. ]])
    >>> display.cells_[0, 0].get_text()
    '+0.60'
    """

    weights: Floats
    names: Sequence[str]
    faces: Sequence[str]
    per_spread: bool = False
    sides: tuple[str, str] = ("outside", "inside")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **how: Any) -> Self:
        """Draw the faces of a model; of a tree its tests, each once.

        Parameters
        ----------
        estimator : fitted learner, Rule or Polyhedron
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows, for the spreads of the columns. Other arguments are as in `plot`.
        """
        rule = as_rule(estimator, "estimator")
        X = rule.features(X)
        if not rule.is_partition:
            return cls.from_polyhedra(rule.polyhedra, X, **how)
        tests = all_faces([piece.polyhedron for piece in rule.pieces])
        numbers = [str(k) for k in range(tests.n_faces)]
        display = cls._of(tests, numbers, X, ("no", "yes")).plot(**how)
        display.ax_.set_xlabel("test of the tree")
        return display

    from_polyhedron = from_predictions = from_estimator

    @classmethod
    def from_polyhedra(cls, polyhedra: style.ByLabel, X: Any = None, **how: Any) -> Self:
        """Draw the faces of several classes, or of a union, side by side.

        The first argument is a mapping of label to a Polyhedron or a sequence of them; the others
        are as in `from_estimator`.
        """
        unions = style.unions_of(polyhedra)
        every = [(label, p) for label, union in unions.items() for p in union]
        faces = []
        for number, (label, p) in enumerate(every, 1):
            name = f"{style.shorten(label, 10)}\n" if len(unions) > 1 else ""
            piece = f"{number}." if len(every) > 1 else ""  # as `PolyhedronDisplay` calls them
            faces += [f"{name}{piece}{k}" for k in range(p.n_faces)]
        W = np.concatenate([p.W for _, p in every])
        b = np.concatenate([p.b for _, p in every])
        return cls._of(Polyhedron(W, b, every[0][1].feature_names), faces, X).plot(**how)

    @classmethod
    def _of(cls, polyhedron: Polyhedron, faces: list[str], X: Any, *sides: Any) -> Self:
        spread = np.ones(polyhedron.n_features)
        if X is not None:
            spread = standard(style.as_array(X, polyhedron))[1]
        weights = normals_of(polyhedron, spread)
        return cls(weights, names_of(polyhedron, 32), faces, X is not None, *sides)

    @style.drawing()
    def plot(self, *, max_features: int = 30, ax: Any = None) -> Self:
        """Draw the columns of the largest weights, in their order; in a new figure without `ax`."""
        largest = np.abs(self.weights).max(axis=0)
        most = as_count(max_features, "max_features")
        self.columns_ = np.sort(np.argsort(-largest, kind="stable")[:most])
        shown = self.weights[:, self.columns_].T
        m, K = shown.shape
        step = K // 40 + 1
        self.ax_, self.figure_ = ax, _ = style.place(ax, heatmap_size(K, m))
        self._most = float(np.abs(shown).max())  # full colour, however many share a length of one
        self.image_ = ax.imshow(
            shown, vmin=-self._most, vmax=self._most, aspect="auto", interpolation="nearest",
            cmap=style.pyplot().matplotlib.colors.LinearSegmentedColormap.from_list(
                "faces", [palette.VERMILLION, "#F7F7F7", palette.BLUE]
            ),
        )  # fmt: skip
        ax.set_xticks(range(0, K, step), self.faces[::step], **style.PLAIN)
        self._describe(m, K)
        self.figure_.draw_without_rendering()  # what fits depends on the size of the cells
        box = ax.get_window_extent()
        cell = box.width / K * 72 / self.figure_.dpi, box.height / m * 72 / self.figure_.dpi
        longest = max(len(line) for name in self.faces for line in name.split("\n"))
        if 6.5 * longest > cell[0]:  # they would touch each other
            ticks = [name.replace("\n", " ") for name in self.faces]
            ax.set_xticks(range(0, K, step), ticks[::step], rotation=90, **style.PLAIN)
        self._write(shown, cell)
        return self

    def _write(self, shown: Floats, cell: tuple[float, float]) -> None:
        self.cells_: dict[tuple[int, int], Any] = {}
        width, height = cell
        if width < 8 or height < 9:  # points; too small to read
            return
        for row, k in np.ndindex(*shown.shape):
            value = float(shown[row, k])
            text = _signed_weight(value)
            if width <= 28:
                text = "" if abs(value / self._most) < 0.2 else "+" if value > 0 else style.MINUS
            self.cells_[k, int(self.columns_[row])] = self.ax_.text(
                k, row, text, ha="center", va="center", fontsize=8,
                color=palette.PAPER if abs(value) > 0.75 * self._most else palette.INK,
            )  # fmt: skip

    def _describe(self, m: int, K: int) -> None:
        ax, d = self.ax_, len(self.names)
        ax.set_yticks(range(m), [self.names[j] for j in self.columns_], **style.PLAIN)
        ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(m + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=palette.PAPER, linewidth=1.5 if K <= 40 else 0.3)
        ax.spines[:].set_visible(False)
        ax.tick_params(which="both", colors=palette.INK, length=0)
        ax.set_xlabel("face")
        if m < d:
            ax.set_title(f"the {m} of {d} columns with the largest weights", fontsize=9, loc="left")
        ends = [-self._most, 0.0, self._most]
        bar = ax.figure.colorbar(
            self.image_, ax=ax, ticks=ends, pad=0.02, aspect=24, shrink=min(1.0, 16 / m)
        )
        bar.ax.set_yticklabels([_signed_weight(end) for end in ends])
        bar.outline.set_visible(False)
        unit = "spread" if self.per_spread else "unit"
        sides = "  ←  larger is  →  ".join(self.sides)
        bar.set_label(f"weight per {unit} of the column\n{sides}", fontsize=9)


def heatmap_size(n_faces: int, n_columns: int) -> tuple[float, float]:
    """Return how large a figure must be for so many cells."""
    width, height = 3.9 + 0.55 * n_faces, 1.5 + 0.27 * n_columns
    return float(np.clip(width, 5.2, 12.0)), float(np.clip(height, 3.4, 16.0))


def _signed_weight(value: float) -> str:
    """A weight of at most one with its sign, so that colours are not needed."""
    text = f"{value:+.2f}".replace("-", style.MINUS)
    return "0" if text[1:] == "0.00" else text

"""Several polyhedra with labels in one plane: unions, the leaves of a tree, a set a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import style
from polyceptron.plots._arguments import Wanted
from polyceptron.plots._frame import LISTED, PlaneDisplay, checked
from polyceptron.plots._plane import Plane, names_of
from polyceptron.plots._polyhedron import in_lines
from polyceptron.plots._slice import Limits, Slice, cut
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule
from polyceptron.utils.types import Floats

Labelled = Mapping[Any, Polyhedron | Sequence[Polyhedron]]


class PolyhedraDisplay(PlaneDisplay):
    """Labelled polyhedra and rows in a plane, each class in a colour and with a marker.

    For answers that are not a single polyhedron: unions of several, `OC1`, whose leaves share out
    the plane, and `Polyceptron` with more than two classes, whose polyhedra may overlap and leave
    places to none. Each polyhedron has its outline; but for trees, where there are few faces they
    have numbers such as 1.0: the first polyhedron, its face 0.

    Make one by `from_estimator`, `from_polyhedra` or `from_predictions`; its parameters are
    theirs, as arrays.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    regions_ : dict of label to list of matplotlib Polygon
        The parts that the window shows.
    points_ : dict of label to matplotlib PathCollection
    mistakes_ : matplotlib PathCollection or None
    numbers_ : dict of str to matplotlib Annotation
        The number of each face that bounds what is seen, where there are few.
    text_ : dict of str to str
        These faces in words, as in `PolyhedronDisplay`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from polyceptron import OC1
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.plots import PolyhedraDisplay
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = OC1(random_state=0).fit(X, y)
    >>> display = PolyhedraDisplay.from_estimator(model, X, y)
    >>> sorted(display.regions_)
    [-1, 1]
    """

    def __init__(
        self,
        polyhedra: Labelled,
        X: Floats | None,
        y: NDArray[Any] | None,
        *,
        plane: Plane,
        predicted: NDArray[Any] | None = None,
        otherwise: Any = None,
        numbered: bool = True,
    ) -> None:
        self.polyhedra = _unions(polyhedra)
        self.pieces = [p for union in self.polyhedra.values() for p in union]
        self.X, self.y, self.plane, self.predicted = X, y, plane, predicted
        self.otherwise, self.numbered = otherwise, numbered

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, **how: Any) -> Self:
        """Draw what a fitted learner has learned.

        Parameters
        ----------
        estimator : fitted learner or Rule
        X, y, **how
            As in `from_polyhedra`: `plane`, `at`, `limits`, `ax`.
        """
        rule = as_rule(estimator, "estimator")
        predicted = None if X is None or y is None else rule.predict(X)
        otherwise = None if rule.otherwise is None else rule.labels[rule.otherwise]
        return cls.from_polyhedra(
            rule.polyhedra, X, y, predicted=predicted, otherwise=otherwise,
            numbered=not rule.is_partition, **how,
        )  # fmt: skip

    @classmethod
    def from_polyhedra(
        cls,
        polyhedra: Labelled,
        X: Any = None,
        y: Any = None,
        *,
        predicted: Any = None,
        otherwise: Any = None,
        numbered: bool = True,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
        limits: Limits | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw labelled polyhedra.

        Parameters
        ----------
        polyhedra : mapping of label to a Polyhedron or a sequence of them
        X : array-like or data frame of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
        predicted : array-like of shape (n_samples,), default=None
        otherwise : label, default=None
            The answer where no polyhedron is.
        numbered : bool, default=True
            Whether faces have numbers, if there are at most 12.
        plane, at, limits, ax
            As in `PolyhedronDisplay`.
        """
        every = [p for union in _unions(polyhedra).values() for p in union]
        (rows, labels, answers), chosen = checked(every, X, y, predicted, plane, at)
        display = cls(
            polyhedra, rows, labels, plane=chosen, predicted=answers, otherwise=otherwise,
            numbered=numbered,
        )  # fmt: skip
        return display.plot(ax=ax, limits=limits)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, X: Any, polyhedra: Labelled, **how: Any
    ) -> Self:
        """Draw labels, with rings around the rows that are predicted otherwise.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
        X, polyhedra, **how
            As in `from_polyhedra`.
        """
        return cls.from_polyhedra(polyhedra, X, y_true, predicted=y_pred, **how)

    # --- the parts of the picture -----------------------------------------------------

    def _size(self) -> tuple[float, float]:
        return 8.6, 4.8

    def _look_of(self, label: Any) -> tuple[str, str]:
        known = list(self.polyhedra)
        if self.y is not None:
            known += [other for other in np.unique(self.y).tolist() if other not in self.polyhedra]
        return style.INK, paint.MARKERS[known.index(label) % len(paint.MARKERS)]

    def _draw_polyhedra(self, limits: Limits) -> None:
        self.regions_: dict[Any, list[Any]] = {}
        views: list[Slice] = []
        for k, (label, union) in enumerate(self.polyhedra.items()):
            here = [cut(self.plane.lines(p), limits) for p in union]
            shown = [corners for view in here if len(corners := view.polygon()) >= 3]
            self.regions_[label] = [paint.patch(self.ax_, corners, k) for corners in shown]
            views += here
        self._faces: dict[str, tuple[Slice, int]] = {}
        self.text_: dict[str, str] = {}
        if not self.numbered or sum(p.n_faces for p in self.pieces) > LISTED:
            return
        names = names_of(self.pieces[0], 18)
        for number, (polyhedron, view) in enumerate(zip(self.pieces, views, strict=True), 1):
            texts = self.plane.in_words(polyhedron, names)
            for k in range(polyhedron.n_faces):
                if view.edge(k) is not None:
                    self._faces[f"{number}.{k}"] = view, k
                    self.text_[f"{number}.{k}"] = texts[k]

    def _draw_numbers(self) -> None:
        self.numbers_ = paint.numbers(self.ax_, self._faces) if self._faces else {}

    def _entries(self) -> list[tuple[Any, str]]:
        entries: list[tuple[Any, str]] = []
        for k, (label, regions) in enumerate(self.regions_.items()):
            n = len(self.polyhedra[label])
            seen = "" if len(regions) == n else f" ({len(regions) or 'none'} in view)"
            of = "region" if n == 1 else f"{n} regions"
            entries.append((paint.swatch(k), f"{of} of {style.shorten(label)}{seen}"))
        if self.otherwise is not None:
            entries.append((paint.nothing(), f"elsewhere {style.shorten(self.otherwise)}"))
        if self.y is not None:
            entries += [(points, f"class {style.shorten(k)}") for k, points in self.points_.items()]
        entries += self._entry_of_mistakes("predicted otherwise")
        if self.text_ and self.columns is None:
            entries.append((paint.nothing(), "faces, and what they depend on most:"))
        entries += [(paint.number_in_legend(k), in_lines(text)) for k, text in self.text_.items()]
        return entries


def _unions(polyhedra: Labelled) -> dict[Any, list[Polyhedron]]:
    return {
        label: [some] if isinstance(some, Polyhedron) else list(some)
        for label, some in polyhedra.items()
    }

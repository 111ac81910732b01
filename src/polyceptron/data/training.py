"""What a learner learns from: the rows of a source, checked once and seen in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import ArrayBlocks, Blocks, count_threads
from polyceptron.data.scaling import Coordinates, Ends, block_ends, identity
from polyceptron.data.source import Source, SourceError, View
from polyceptron.utils.checks import as_real
from polyceptron.utils.types import Floats

LARGEST_TOTAL = 1e303
"""Sums of weights times scores stay below the largest number, about 1.8e308."""

Scaling = Callable[[Blocks, Ends, bool], Coordinates]
"""Chooses coordinates from rows in user units, the ends of their columns, and whether columns
may be centred, which those of sparse rows may not."""


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Rows in the coordinates of learning, and the way back.

    ``source`` has them in user units, and ``view`` makes ``data`` of them. ``inside`` is the place
    of the class inside among the classes.
    """

    source: Source
    view: View
    data: Blocks
    classes: NDArray[Any]
    inside: int
    total_weight: float
    n_threads: int

    @classmethod
    def of(
        cls,
        source: Source,
        *,
        inside: int,
        scaling: Scaling,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> TrainingData:
        """All rows of a source: every class has some. They are looked through once or twice."""
        d, n_threads = source.n_features, count_threads(n_jobs, source.n_samples)
        view = View(identity(d), None)
        data = source.blocks(view, n_threads)
        ends = data.reduce(partial(block_ends, d, n_classes=len(source.classes)))
        if ends.bad is not None:
            raise SourceError(f"{source.where(*ends.bad)}: a value that is not a finite number")
        totals = ends.weights
        if class_weight is not None:
            by_class = class_weights(class_weight, totals, source.classes)
            view = view._replace(class_weight=by_class)
            data = source.blocks(view, n_threads)
            with np.errstate(over="ignore"):
                totals = totals * by_class
        check_total(float(totals.sum()))
        if not totals.all():
            label = source.classes.tolist()[int(totals.argmin())]
            without = f"leave class {label!r} without weight: every row of it weighs zero"
            raise ValueError(f"sample_weight and class_weight {without}")
        view = view._replace(coordinates=scaling(data, ends, not source.is_sparse), inside=inside)
        data = source.blocks(view, n_threads)
        return cls(source, view, data, source.classes, inside, float(totals.sum()), n_threads)

    @classmethod
    def continued(
        cls,
        source: Source,
        *,
        inside: int,
        coordinates: Coordinates | None,
        scaling: Scaling,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> TrainingData:
        """The next rows of a stream, which need not have all classes, nor be any.

        ``coordinates`` are those of the rows before; None if these are the first.
        """
        if isinstance(class_weight, str) and class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once, so partial_fit cannot use it: "
                "give a dict of label to weight"
            )
        d, n_threads = source.n_features, count_threads(n_jobs, source.n_samples)
        view = View(identity(d), inside)
        if class_weight is not None:
            by_class = class_weights(class_weight, np.ones(len(source.classes)), source.classes)
            view = view._replace(class_weight=by_class)
        if coordinates is None:
            data = source.blocks(view, n_threads)
            coordinates = scaling(data, data.reduce(partial(block_ends, d)), not source.is_sparse)
        view = view._replace(coordinates=coordinates)
        data = source.blocks(view, n_threads)
        changed = source.n_samples and not coordinates.is_identity
        if changed and data.reduce(partial(block_ends, d)).bad is not None:
            raise ValueError("X is too large for the scaling that the first rows gave")
        return cls(source, view, data, source.classes, inside, float("nan"), n_threads)

    @property
    def coordinates(self) -> Coordinates:
        return self.view.coordinates

    @property
    def arrays(self) -> ArrayBlocks:
        """The rows, which are in memory."""
        assert isinstance(self.data, ArrayBlocks)
        return self.data

    def take(self, rows: NDArray[np.int64]) -> ArrayBlocks:
        """These rows, whose numbers must rise, in memory."""
        block = self.view.block(0, *self.source.take(rows), own=True)
        d = self.source.n_features
        return ArrayBlocks(block.X, block.y, block.weight, d, n_threads=self.n_threads)

    def with_inside(self, inside: int) -> TrainingData:
        """The same rows with another class inside."""
        if inside == self.inside:
            return self
        view = self.view._replace(inside=inside)
        data = self.source.blocks(view, self.n_threads)
        return replace(self, view=view, data=data, inside=inside)

    def one_against_rest(self, inside: int) -> TrainingData:
        """One class inside, and all others outside as if they were one: classes False and True."""
        classes = np.array([False, True])
        return replace(self.with_inside(inside), classes=classes, inside=1)


def class_weights(class_weight: Any, totals: Floats, classes: NDArray[Any]) -> Floats:
    """The weight of each class, from the parameter and the weight of its rows."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, 1e-300)))
    if not isinstance(class_weight, dict):
        kinds = "None, 'balanced' or a dict of label to weight"
        raise ValueError(f"class_weight must be {kinds}, got {class_weight!r}")
    labels = classes.tolist()
    for label in class_weight:
        if label not in labels:
            unknown = f"the label {label!r}, which is not in y; the labels are {labels!r}"
            raise ValueError(f"class_weight names {unknown}")
    return np.array([as_real(class_weight.get(label, 1.0), "class_weight") for label in labels])


def check_total(total: float) -> None:
    """Refuse weights whose sum is near the largest number."""
    if not total <= LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight and class_weight must not add up to more than {LARGEST_TOTAL:g}, "
            f"got {total:g}: scale them down"
        )

"""What a learner needs of rows that may be anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import Block, Blocks, KernelRows, frozen
from polyceptron.data.encoding import Encoding
from polyceptron.data.scaling import Coordinates
from polyceptron.utils.types import Floats

Codes = NDArray[np.integer[Any]]
"""For every row the place of its label among the classes."""


class SourceError(ValueError):
    """Rows that cannot be learned from; says which file and row."""


class View(NamedTuple):
    """How the rows of a source become those of a learner. It can be pickled.

    ``inside`` is the place of the class inside among the classes; ``class_weight`` is empty where
    every class weighs 1.
    """

    coordinates: Coordinates
    inside: int
    class_weight: Floats = np.empty(0)

    def block(
        self, number: int, X: KernelRows, codes: Codes, weight: Floats, *, own: bool = False
    ) -> Block:
        """A block of a source's rows; with ``own`` dense ones may be written over."""
        X = self.coordinates.transform(X, out=X if own and not isinstance(X, tuple) else None)
        y = np.where(codes == self.inside, np.int8(1), np.int8(-1))
        if self.class_weight.size:
            of_class = self.class_weight[codes]
            weight = weight * of_class if weight.size else of_class
        X = X if isinstance(X, tuple) else frozen(X)
        return Block(number, X, frozen(y), frozen(weight))


class LabelledRows(NamedTuple):
    """Some rows of a source: values, places of labels, weights (empty where each weighs 1)."""

    X: KernelRows
    codes: Codes
    weight: Floats


class Source(ABC):
    """Labelled rows in blocks of a fixed order, wherever they are.

    A source is a context: what it holds while it is learned from is let go at the end.
    """

    n_samples: int
    n_features: int
    starts: NDArray[np.int64]
    """The first row of each block."""
    classes: NDArray[Any]
    """The labels, sorted."""
    is_sparse: bool = False
    """Whether blocks have CSR rows."""
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None
    """How the columns of a table became features, where some were text."""
    target: str | None = None
    """What the labels are called."""
    n_left_out: int = 0
    """Rows that were left out for missing values."""

    def __repr__(self) -> str:
        labels = ", ".join(map(repr, self.classes.tolist()[:5]))
        size = f"{self.n_samples} rows x {self.n_features} features"
        return f"<{type(self).__name__}: {size}, classes {labels}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of what was held for learning."""

    @property
    def n_values(self) -> int:
        """Numbers that the rows hold."""
        return self.n_samples * self.n_features

    @abstractmethod
    def blocks(self, view: View, n_threads: int = 1) -> Blocks:
        """The rows as a learner sees them."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        """These rows, whose numbers must rise, in memory."""

    def where(self, number: int, row: int) -> str:
        """Name a row of a block for people: the file, if there is one, and the row in it."""
        return f"block {number}, row {row}"

"""What a learner needs of rows that may be anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks, frozen
from polyceptron.data.encoding import Encoding
from polyceptron.data.scaling import Coordinates
from polyceptron.utils.types import Floats

Codes = NDArray[np.integer[Any]]
"""For every row the place of its label among the classes."""


class SourceError(ValueError):
    """Rows that cannot be learned from; says which file and row."""


class View(NamedTuple):
    """How the rows of a source become those of a learner. It can be pickled.

    Parameters
    ----------
    coordinates : Coordinates
        Those of learning.
    inside : int
        The place of the class inside among the classes.
    class_weight : array of shape (n_classes,), or empty where every class weighs 1
    """

    coordinates: Coordinates
    inside: int
    class_weight: Floats = np.empty(0)

    def block(
        self, number: int, X: NDArray[Any], codes: Codes, weight: Floats, *, own: bool = False
    ) -> Block:
        """A block of a source's rows; with ``own`` they may be written over."""
        if not self.coordinates.is_identity:
            scaled = X if own else np.empty(X.shape, X.dtype)
            kernels.map_columns(frozen(X), self.coordinates.scale, self.coordinates.shift, scaled)
            X = scaled
        y = np.where(codes == self.inside, np.int8(1), np.int8(-1))
        if self.class_weight.size:
            of_class = self.class_weight[codes]
            weight = weight * of_class if weight.size else of_class
        return Block(number, frozen(X), frozen(y), frozen(weight))


class Rows(NamedTuple):
    """Some rows of a source: values, places of labels, weights (empty where each weighs 1)."""

    X: NDArray[Any]
    codes: Codes
    weight: Floats


class Source(ABC):
    """Labelled rows in blocks of a fixed order, wherever they are.

    Attributes
    ----------
    n_samples, n_features : int
    starts : ndarray of int64
        The first row of each block.
    classes : ndarray
        The labels, sorted.
    feature_names : tuple of str or None
    encoding : Encoding or None
        How the columns of a table became features, where some were text.
    target : str or None
        What the labels are called.
    n_left_out : int
        Rows that were left out for missing values.
    """

    n_samples: int
    n_features: int
    starts: NDArray[np.int64]
    classes: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None
    target: str | None = None
    n_left_out: int = 0

    def __repr__(self) -> str:
        labels = ", ".join(map(repr, self.classes.tolist()[:5]))
        size = f"{self.n_samples} rows x {self.n_features} features"
        return f"<{type(self).__name__}: {size}, classes {labels}>"

    @abstractmethod
    def blocks(self, view: View, n_threads: int = 1) -> Blocks:
        """The rows as a learner sees them."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> Rows:
        """These rows, whose numbers must rise, in memory."""

    def where(self, number: int, row: int) -> str:
        """Name a row of a block for people: the file, if there is one, and the row in it."""
        return f"block {number}, row {row}"

"""What a learner needs of rows that may be anywhere, and arrays in memory as such."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import (
    ArrayBlocks,
    Block,
    Blocks,
    KernelRows,
    canonical,
    frozen,
    kernel_rows,
    rows_of_blocks,
)
from polyceptron.data.encoding import Column, Encoding
from polyceptron.data.scaling import Coordinates
from polyceptron.utils.checks import as_floats, as_label_array
from polyceptron.utils.types import Floats

Codes = NDArray[np.integer[Any]]
"""For every row the place of its label among the classes."""


LabelKind = Literal["written", "int", "bool", "float", "str"]
"""What labels are; those of a file of text are written."""


class SourceError(ValueError):
    """Rows that cannot be learned from; says which file and row."""


class SourceWarning(UserWarning):
    """What was guessed of a file, and how to choose the other way."""


class RowFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the rows of tables beside the numbers; a cache keeps it with them."""

    target: str  # what the labels are called
    kind: LabelKind
    labels: list[bool | int | float | str]  # the sorted classes
    columns: tuple[Column, ...]  # how columns became features
    is_plain: bool  # whether features are the columns as they are
    is_named: bool  # whether columns have names
    firsts: list[int]  # the first row of each table
    n_left_out: int  # rows that were left out for missing values
    unnamed: tuple[str, ...]  # columns that were left out as they have no name
    notes: tuple[str, ...]  # what was guessed of the files

    @property
    def classes(self) -> NDArray[Any]:
        """The labels as an array of their type."""
        types: dict[str, Any] = {"bool": np.bool_, "float": np.float64}
        if self.kind == "int" and max(self.labels) > np.iinfo(np.int64).max:  # type: ignore[operator]
            types["int"] = np.uint64
        return np.array(self.labels, dtype=types.get(self.kind))


class View(NamedTuple):
    """How the rows of a source become those of a learner. It can be pickled.

    ``inside`` is the place of the class inside among the classes; with None the labels of blocks
    are these places. ``class_weight`` is empty where every class weighs 1.
    """

    coordinates: Coordinates
    inside: int | None
    class_weight: Floats = np.empty(0)

    def block(
        self, number: int, X: KernelRows, codes: Codes, weight: Floats, *, own: bool = False
    ) -> Block:
        """A block of a source's rows; with ``own`` dense ones may be written over."""
        X = self.coordinates.transform(X, out=X if own and not isinstance(X, tuple) else None)
        y: Any = codes
        if self.inside is not None:
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


def take_from_blocks(
    read: Callable[[int], tuple[Any, Codes, Floats]],
    numbers: NDArray[np.int64],
    within: NDArray[np.int64],
) -> LabelledRows:
    """Some rows, by the numbers of their blocks, which rise, and their places in these."""
    parts: list[Any] = []
    for number in np.unique(numbers).tolist():
        X, codes, weight = read(number)
        at = within[numbers == number]
        parts.append((X[at], codes[at], weight[at] if weight.size else weight))
    return LabelledRows(*map(np.concatenate, zip(*parts, strict=True)))


class Source(ABC):
    """Labelled rows in blocks of a fixed order, wherever they are.

    ``starts`` are the first rows of blocks, ``classes`` the labels, sorted, which are called
    ``target``. ``encoding`` says how the columns of a table became features, where some were text;
    ``n_left_out`` counts rows without some value, and columns are ``unnamed`` that are left out as
    they have no name; ``notes`` say what was guessed of files. Blocks have CSR rows where
    ``is_sparse``.
    A source is a context: what it holds while it is learned from is let go at the end.
    """

    n_samples: int
    n_features: int
    starts: NDArray[np.int64]
    classes: NDArray[Any]
    is_sparse: bool = False
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None
    target: str | None = None
    n_left_out: int = 0
    unnamed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def take_facts(self, facts: RowFacts) -> None:
        """Say what is known of the tables that the rows came from."""
        names = (name for column in facts.columns for name in column.feature_names)
        self.feature_names = tuple(names) if facts.is_named else None
        self.encoding = None if facts.is_plain else Encoding(facts.columns)
        self.target, self.n_left_out = facts.target, facts.n_left_out
        self.unnamed, self.notes = facts.unnamed, facts.notes

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


class ArraySource(Source):
    """Rows in memory, or in a memory map: an array, which may be one of float32, or a CSR matrix.

    A row of weight 0 is no row. ``classes`` are all labels, sorted, where these rows need not have
    all.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        classes: Any = None,
        feature_names: Any = None,
        block_rows: int | None = None,
    ) -> None:
        self.is_sparse = bool(sparse.issparse(X))
        self.X: Any = canonical(X.tocsr()) if self.is_sparse else _as_dense_floats(X)
        if self.X.ndim != 2:
            raise ValueError(f"X must be 2-D, one row a sample; got shape {self.X.shape}")
        if classes is None:
            try:
                labels, self.codes = np.unique(np.asarray(y), return_inverse=True)
            except TypeError as error:
                what = f"labels of one type, and none that is missing ({error})"
                raise ValueError(f"y must hold {what}: leave such rows out") from None
        else:
            labels, self.codes = np.asarray(classes), np.searchsorted(classes, y)
        self.classes = as_label_array(labels)
        self._weight: Floats = np.empty(0) if weight is None else as_floats(weight, "weight")
        self.n_samples, self.n_features = self.X.shape
        for name, array in [("y", self.codes), ("weight", self._weight)]:
            if array.size and array.shape != (self.n_samples,):
                raise ValueError(f"{name} must have {self.n_samples} items; got {array.shape}")
        wrong = ~((self._weight >= 0) & (self._weight < np.inf))
        if wrong.any():
            found = f"row {wrong.argmax()} is {self._weight[wrong.argmax()]}"
            raise ValueError(f"weight must be at least 0, and finite; {found}")
        if not self._weight.all():
            rows = np.flatnonzero(self._weight)
            self.X, self.codes, self._weight = self.X[rows], self.codes[rows], self._weight[rows]
            self.n_samples = len(rows)
        names = feature_names if feature_names is not None else getattr(X, "columns", None)
        self.feature_names = None if names is None else tuple(map(str, names))
        self._block_rows = block_rows or rows_of_blocks(self.n_features, is_sparse=self.is_sparse)
        self.starts = np.arange(0, self.n_samples, self._block_rows)

    @property
    def y(self) -> NDArray[Any]:
        """The label of every row."""
        labels: NDArray[Any] = self.classes[self.codes]
        return labels

    @property
    def weight(self) -> Floats | None:
        """The weight of every row; None where each weighs 1."""
        return self._weight if self._weight.size else None

    @property
    def n_values(self) -> int:
        return int(self.X.nnz if self.is_sparse else self.X.size)

    def blocks(self, view: View, n_threads: int = 1) -> ArrayBlocks:
        all_rows = view.block(0, kernel_rows(self.X), self.codes, self._weight)
        X, y, weight = all_rows.X, all_rows.y, all_rows.weight
        d, size = self.n_features, self._block_rows
        return ArrayBlocks(X, y, weight, d, n_threads=n_threads, block_rows=size)

    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        weight = self._weight[rows] if self._weight.size else self._weight
        X = self.X[rows]
        return LabelledRows(kernel_rows(X) if self.is_sparse else X, self.codes[rows], weight)

    def where(self, number: int, row: int) -> str:
        return f"row {number * self._block_rows + row}"


def _as_dense_floats(X: Any) -> NDArray[Any]:
    kept = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    return np.ascontiguousarray(X if kept else as_floats(X, "X"))

"""The reader of LIBSVM's sparse text: a label, then index:value for what is not zero."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers._base import TARGET, Job, Reader
from polyceptron.readers._source import Source
from polyceptron.readers._split import Block
from polyceptron.readers._table import ReaderError, Table, as_number, brief

_LINE = re.compile(
    rb"[ \t]*[^ \t:#,;]+(?:[ \t]+qid:[0-9]+)?(?:[ \t]+[0-9]+:[^ \t:]+)+[ \t]*(?:#.*)?\r?"
)
_BLOCK = 1 << 20
_DENSE = 0.25
"""From this share of values that are not zero on, columns are kept dense."""
_MOST_FEATURES = 10_000_000


def looks_like_libsvm(head: bytes) -> bool:
    r"""Whether the first lines are a label and pairs index:value.

    Examples
    --------
    >>> looks_like_libsvm(b"+1 1:0.5 3:2\n-1 2:1\n"), looks_like_libsvm(b"a,b\n1,2\n")
    (True, False)
    """
    lines = [line for line in head.split(b"\n")[:20] if line.strip()]
    return bool(lines) and _LINE.fullmatch(lines[0]) is not None


class LibsvmReader(Reader):
    """Features are called x1, x2, ... by their index, and the label `target`."""

    target = TARGET
    is_sparse = True

    def __init__(self, source: Source, *, expect: Collection[str] = ()) -> None:
        super().__init__(source)
        # A sparse file leaves out what is zero: any index there may be, is.
        self.names = (TARGET, *(name for name in expect if _index(name) is not None))

    def _blocks(self) -> Iterator[Block]:
        left, line = b"", 1
        while more := self.source.read(_BLOCK):
            data = left + more
            end = data.rfind(b"\n") + 1
            left = data[end:]
            if end:
                n_lines = data.count(b"\n", 0, end)
                yield Block(data[:end], line, n_lines)
                line += n_lines
        if left:
            yield Block(left, line, 1)

    def jobs(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Job]:
        del texts  # the label is text anyway, all else are numbers
        places: dict[int, int] = {}
        for place, name in enumerate(name for name in numbers if name != TARGET):
            index = _index(name)
            if index is None:
                raise ReaderError(f"{self.name}: a LIBSVM file has no column {name!r}")
            places[index] = place
        names = [name for name in numbers if name != TARGET]
        for block in self._blocks():
            yield partial(self._parse, block, names, places)

    def _parse(self, block: Block, names: Sequence[str], places: dict[int, int]) -> Table:
        from scipy.sparse import csr_matrix

        labels, lines, indptr, indices, data = _read(block, self.name)
        known = [j for j, index in enumerate(indices) if index in places]
        columns = np.array([places[indices[j]] for j in known], dtype=np.int64)
        counts = np.searchsorted(np.array(known, dtype=np.int64), indptr)
        values = np.array(data)[known]
        shape = (len(labels), len(names))
        matrix = csr_matrix((values, columns, counts), shape=shape)
        return _table(self.name, labels, lines, matrix, names)

    def read(self, names: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> Table:
        from scipy.sparse import csr_matrix, vstack

        del texts  # the label is text anyway, all else are numbers
        parts = [_read(block, self.name) for block in self._blocks()]
        indices = [index for part in parts for index in part[3]]
        if not parts or not sum(len(part[0]) for part in parts):
            raise ReaderError(f"{self.name} is empty")
        first, last = min(indices, default=1), max(indices, default=1)
        base = 0 if first == 0 else 1
        all_names = [f"x{j}" for j in range(base, last + 1)]
        self.names = (TARGET, *all_names)
        matrix = vstack(
            [
                csr_matrix(
                    (data, np.array(columns, dtype=np.int64) - base, indptr),
                    shape=(len(labels), len(all_names)),
                )
                for labels, _, indptr, columns, data in parts
            ],
            format="csr",
        )
        labels = [label for part in parts for label in part[0]]
        lines = [line for part in parts for line in part[1]]
        if names is not None:
            kept = [j for j, name in enumerate(all_names) if name in set(names)]
            matrix, all_names = matrix[:, kept], [all_names[j] for j in kept]
        return _table(self.name, labels, lines, matrix, all_names)


def _table(
    source: str, labels: list[str], lines: list[int], matrix: Any, names: Sequence[str]
) -> Table:
    target: NDArray[Any] = np.empty(len(labels), dtype=object)
    target[:] = labels
    columns: dict[str, NDArray[Any]] = {TARGET: target}
    at = np.array(lines, dtype=np.int64)
    if matrix.nnz >= _DENSE * max(1, matrix.shape[0] * matrix.shape[1]):
        dense = matrix.toarray()
        columns.update({name: dense[:, j] for j, name in enumerate(names)})
        return Table(source, columns, len(labels), at)
    return Table(source, columns, len(labels), at, 0, matrix, tuple(names))


def _index(name: str) -> int | None:
    return int(name[1:]) if re.fullmatch(r"x(?:0|[1-9][0-9]{0,8})", name) else None


def _read(
    block: Block, source: str
) -> tuple[list[str], list[int], list[int], list[int], list[float]]:
    """Return labels, lines, and the parts of a CSR matrix with the file's own indices."""
    labels: list[str] = []
    lines: list[int] = []
    indptr, indices, data = [0], [], []
    for line, raw in enumerate(block.data.split(b"\n"), block.line):
        fields = raw.partition(b"#")[0].decode("utf-8", "replace").split()
        if not fields:
            continue
        where = f"{source}, line {line}"
        labels.append(_label(fields[0], where))
        lines.append(line)
        before = -1
        for field in fields[1:]:
            index, value = _pair(field, where)
            if index is None:
                continue
            if index <= before:
                raise ReaderError(f"{where}: index {index} after {before}; they must increase")
            before = index
            indices.append(index)
            data.append(value)
        indptr.append(len(indices))
    return labels, lines, indptr, indices, data


def _label(text: str, where: str) -> str:
    value = as_number(text)
    if value is None:
        raise ReaderError(f"{where}: the label {brief(text)} is not a number")
    return str(int(value)) if value.is_integer() else repr(value)


def _pair(text: str, where: str) -> tuple[int | None, float]:
    index, colon, value = text.partition(":")
    if index == "qid":
        return None, 0.0
    number = as_number(value)
    if not colon or not (index.isascii() and index.isdigit()) or number is None:
        raise ReaderError(f"{where}: {brief(text)} is not index:value")
    if len(index) > 9 or int(index) > _MOST_FEATURES:
        raise ReaderError(f"{where}: index {brief(index)} is more than {_MOST_FEATURES}")
    return int(index), number

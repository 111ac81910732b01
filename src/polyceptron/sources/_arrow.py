"""Parquet and Arrow's own files (Feather) as sources of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.source import SourceError
from polyceptron.readers._base import text_of
from polyceptron.sources._tables import (
    TEXT,
    Coded,
    Kind,
    Piece,
    TableFile,
    Wanted,
    one_line,
    rows_of_piece,
)

_BUFFER = 1 << 20
"""Bytes of a column that are read at once, so that a row group need not fit into memory."""


class ArrowTable(TableFile):
    """Columns with types of Arrow.

    Parameters
    ----------
    path : Path
    file : str or file object
    """

    format: str

    def __init__(self, path: Path, file: Any) -> None:
        self.name = str(path)
        try:
            import pyarrow as pa
        except ImportError:
            raise SourceError(
                f"{path} is a file of {self.format}, which needs pyarrow: "
                "pip install 'polyceptron[parquet]'"
            ) from None
        self._errors = (pa.ArrowException, OSError, ValueError, KeyError, IndexError)
        try:
            self._schema = self._begin(file)
            self.names = tuple(self._schema.names)
        except self._errors as error:
            raise self._damaged(error) from None
        self.refuse_twice()

    @abstractmethod
    def _begin(self, file: Any) -> Any:
        """Open the file and return its schema."""

    @abstractmethod
    def _batches(self, names: list[str], size: int) -> Iterator[tuple[Any, str, float]]:
        """Batches, where each is, and the share of the file that was read."""

    def _damaged(self, error: BaseException, place: str = "") -> SourceError:
        text = f"{self.name}{place}: the file of {self.format} is damaged ({one_line(error)})"
        return SourceError(text)

    def kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        return {name: self._kind(name) for name in names}

    def _kind(self, name: str) -> Kind:
        import pyarrow.types as pt

        kind = self._schema.field(name).type
        if pt.is_null(kind):
            return None
        if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind):
            numbers: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
            return numbers
        if pt.is_decimal(kind):
            return np.dtype(np.float64)
        if _label_kind(kind) or pt.is_dictionary(kind):
            return TEXT
        raise SourceError(
            f"{self.name}, column {name!r}: a column of {kind} is neither numbers nor text; "
            "leave it out (drop)"
        )

    def label_kind(self, name: str) -> str:
        kind = self._schema.field(name).type
        found = _label_kind(kind)
        if not found:
            raise SourceError(f"{self.name}, column {name!r}: a column of {kind} holds no classes")
        return found

    def pieces(self, wanted: Wanted) -> Iterator[tuple[Piece, float]]:
        first, names = 0, wanted.names
        batches = self._batches(names, rows_of_piece(len(names)))
        place, share = "", 0.0
        while True:
            try:
                batch, place, share = next(batches, (None, "", 1.0))
                if batch is None:
                    break
                piece = self._piece(batch, wanted, first)
            except SourceError:
                raise
            except self._errors as error:
                raise self._damaged(error, place) from None
            yield piece, share
            first += len(batch)
        if not first:
            raise SourceError(f"{self.name} has no rows")

    def _piece(self, batch: Any, wanted: Wanted, first: int) -> Piece:
        columns = {name: batch.column(batch.schema.names.index(name)) for name in wanted.names}
        labels = None
        if wanted.target is not None:
            labels = self._coded(wanted.target, columns)
        texts = {}
        for name in wanted.texts:
            codes, values = self._coded(name, columns)
            texts[name] = codes, [text_of(value) for value in values]
        numbers = {name: _numbers(columns[name]) for name in wanted.numbers}
        return Piece(len(batch), numbers, texts, labels, self.place(first))

    def _coded(self, name: str, columns: dict[str, Any]) -> Coded:
        import pyarrow.types as pt

        column = columns[name]
        column.validate(full=True)  # text with wrong offsets would be read from anywhere
        if pt.is_dictionary(column.type):
            column = column.dictionary_decode()
        found = column.dictionary_encode()
        values = [None if value != value else value for value in found.dictionary.to_pylist()]
        codes = found.indices.to_numpy(zero_copy_only=False)
        if found.indices.null_count:  # they came as NaN
            codes = np.nan_to_num(codes, nan=len(values)).astype(np.int64)
        return codes, [*values, None]


def _label_kind(kind: Any) -> str:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        kind = kind.value_type
    if pt.is_boolean(kind):
        return "bool"
    if pt.is_integer(kind):
        return "int"
    if pt.is_floating(kind):
        return "float"
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    return "str" if text else ""


def _numbers(column: Any) -> NDArray[Any]:
    import pyarrow.types as pt

    plain = pt.is_integer(column.type) or pt.is_floating(column.type)
    if not (plain and column.null_count == 0):
        # Not safely: whole numbers beyond 2**53 are rounded, as text would be.
        column = column.cast("float64", safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


class ParquetTable(ArrowTable):
    """Parquet, by row group."""

    format = "Parquet"

    def _begin(self, file: Any) -> Any:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(
            file, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        )
        self.n_rows = self._file.metadata.num_rows
        return self._file.schema_arrow

    def _batches(self, names: list[str], size: int) -> Iterator[tuple[Any, str, float]]:
        first = 0
        for group in range(self._file.metadata.num_row_groups):
            n_rows, read = self._file.metadata.row_group(group).num_rows, 0
            place = f", row group {group} (from row {first})"
            batches = self._file.iter_batches(
                batch_size=size, row_groups=[group], columns=names, use_threads=False
            )
            while True:
                try:
                    batch = next(batches, None)
                except self._errors as error:
                    raise self._damaged(error, place) from None
                if batch is None:
                    break
                read += len(batch)
                yield batch, place, (first + read) / max(1, self._file.metadata.num_rows)
            if read != n_rows:
                wrong = f"{read} rows where there should be {n_rows}"
                raise self._damaged(ValueError(wrong), place)
            first += n_rows

    def close(self) -> None:
        self._file.close(force=True)


class IpcTable(ArrowTable):
    """Arrow IPC, the format of files (Feather) or of streams."""

    format = "Arrow"

    def _begin(self, file: Any) -> Any:
        import pyarrow as pa

        self._handle = pa.OSFile(file) if isinstance(file, str) else pa.PythonFile(file, mode="r")
        self._is_file = self._handle.read(6) == b"ARROW1"
        return self._reader(None).schema

    def _reader(self, fields: list[int] | None) -> Any:
        import pyarrow as pa

        self._handle.seek(0)
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        open_ = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return open_(self._handle, options=options)

    def _batches(self, names: list[str], size: int) -> Iterator[tuple[Any, str, float]]:
        first, number = 0, 0
        reader = self._reader([self._schema.names.index(name) for name in names])
        while True:
            place = f", record batch {number} (from row {first})"
            try:
                if self._is_file and number == reader.num_record_batches:
                    return
                batch = reader.get_batch(number) if self._is_file else reader.read_next_batch()
            except StopIteration:
                return
            except self._errors as error:
                raise self._damaged(error, place) from None
            share = self._share(reader, number)
            for start in range(0, len(batch), size):
                yield batch.slice(start, size), place, share
            first, number = first + len(batch), number + 1

    def _share(self, reader: Any, number: int) -> float:
        if self._is_file:
            return float((number + 1) / reader.num_record_batches)
        return float(self._handle.tell() / max(1, self._handle.size()))

    def close(self) -> None:
        self._handle.close()

"""Which reader a file needs: told by what is in it, not by what it is called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from polyceptron.readers._base import Reader
from polyceptron.readers._libsvm import LibsvmReader, looks_like_libsvm
from polyceptron.readers._source import Source
from polyceptron.readers._table import ReaderError, Table
from polyceptron.readers._text import TextReader

__all__ = ["Reader", "open_table", "read_table"]


def open_table(
    path: str | Path, *, header: bool | None = None, expect: Collection[str] = ()
) -> Reader:
    """Open a table: delimited text, LIBSVM, Parquet or .npz, also inside gzip.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    header : bool or None
        Whether delimited text begins with the names of the columns. None finds out: it does
        if its first record holds no number.
    expect : collection of str
        Columns that will be asked for. A first record with all of them is a header.

    Returns
    -------
    Reader
    """
    source = Source(path)
    try:
        return _choose(source, header, expect)
    except BaseException:
        source.__exit__(None, None, None)
        raise


def _choose(source: Source, header: bool | None, expect: Collection[str]) -> Reader:
    head = source.head()
    if head.startswith(b"PAR1"):
        from polyceptron.readers._binary import ParquetReader

        return ParquetReader(source)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        from polyceptron.readers._binary import NpzReader

        return NpzReader(source)
    if head.startswith((b"\x93NUMPY", b"ARROW1")):
        kind = ".npy" if head.startswith(b"\x93") else "Arrow"
        raise ReaderError(
            f"{source.name}: {kind}, which only `fit --out-of-core` and `open_blocks` read"
        )
    if header is None and looks_like_libsvm(head):
        return LibsvmReader(source, expect=expect)
    return TextReader(source, header=header, expect=expect)


def read_table(
    path: str | Path,
    names: Sequence[str] | None = None,
    *,
    header: bool | None = None,
    texts: Collection[str] = (),
) -> Table:
    r"""Return a whole table.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    names : sequence of str, optional
        The columns to read; all of them by default.
    header : bool or None
        As in `open_table`.
    texts : collection of str
        Columns to read as text whatever they hold.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pets.csv"
    ...     _ = path.write_text("age;kind\n3;cat\n?;dog\n")
    ...     table = read_table(path)
    >>> dict(table)
    {'age': array([ 3., nan]), 'kind': array(['cat', 'dog'], dtype=object)}
    """
    with open_table(path, header=header) as reader:
        return reader.read(names, texts=texts)

"""`open_blocks`: rows from files of any size, and from tables in memory."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from polyceptron.data import cache
from polyceptron.data.array_tables import ArraysTable, StoredArray
from polyceptron.data.arrow_tables import is_frame, open_frame
from polyceptron.data.columns import WAYS, Request, Tables
from polyceptron.data.convert import Conversion, HeldRows, Progress
from polyceptron.data.dates import with_dates
from polyceptron.data.encoding import MAX_CATEGORIES
from polyceptron.data.files import ArrayFile, ArrayWriter, FileSource
from polyceptron.data.guesses import FileOptions
from polyceptron.data.source import ArraySource, Source, SourceError, SourceWarning
from polyceptron.data.streams import naming, one_line
from polyceptron.data.tables import TARGET, Table, open_table
from polyceptron.data.written_dates import DATE_ORDERS

PathLike = str | os.PathLike[str]
Names = str | int | Sequence[str | int]


def open_blocks(
    path: Any,
    target: Any = None,
    *,
    features: Names | None = None,
    drop: Names = (),
    weight: Any = None,
    categories: Names = (),
    missing: str | Mapping[str | None, str] | None = None,
    dtype: Any = None,
    cache_dir: PathLike | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    dates: str = "days",
    max_categories: int = MAX_CATEGORIES,
    thousands: bool | None = None,
    date_order: str | None = None,
    keep_identifiers: bool = False,
    max_expanded: int | None = None,
    progress: Progress | None = None,
) -> Source:
    r"""Open labelled rows that need not fit into memory, for `fit_blocks`.

    Files are converted once into arrays on disk, and found again as long as they are the same. A
    single matrix in a file .npy with its labels elsewhere is read where it is. Tables in memory
    stay there.

    Parameters
    ----------
    path : path, list of paths, table, or pair of arrays
        A file, a directory, a glob (files in the order of their names), or a list of files (in
        this order). Parquet, Arrow (Feather), delimited text, JSON (lines, or a list of objects),
        workbooks (.xlsx), .npz and .npy, told by what is in them, also inside gzip, bzip2,
        Zstandard or LZ4. Or a table in memory: of pandas, polars or pyarrow, a relation of DuckDB,
        or anything else that gives a stream of Arrow. A tuple of two arrays is X and y in memory.
    target : str, int, path or array, optional
        The column of labels: its name, or its number, from the end -1. For files .npy it may also
        be another such file, or an array. Files .npz with X and y say it themselves.
    features, drop, categories : list of str, optional
        Learn from these columns only; leave these out; take these for categories although they
        hold numbers. Columns of text are categories: one feature, 0 or 1, for each value; of
        two values one feature, that of the second. Booleans are text, "false" and "true".
    weight : str, int or array, optional
        The column of weights, not negative; for arrays in memory, an array. A row of weight 0 is
        no row.
    missing : {None, "error", "drop", "median", "indicator"} or dict of these by column
        None and "error" make a missing value an error; "drop" leaves such rows out; "median" fills
        numbers with the median of their column and text with its most frequent value; "indicator"
        does so too, and has a feature more where there are gaps, such as ``age is missing``. Rows
        without a label are left out by all but errors. A dict has None for the columns it does not
        name.
    dtype : {None, "float32", "float64"}
        Of the rows; None is that of a data frame of these columns: float32 if numpy says so of
        their types, else float64.
    cache_dir : path, optional
        Where converted rows are kept: by default in the folder that the environment variable
        ``POLYCEPTRON_CACHE`` names, or in the user's own folder for caches.
    header : bool, optional
        Whether text begins with the names of the columns; by default the first lines tell.
    decimal : {None, ".", ","}
        The decimal sign of text; by default the first lines tell.
    encoding : str, optional
        That of text, such as "cp1252"; by default UTF-8, or what the first bytes tell if they are
        not that. Of a guess you are warned.
    sheet : str, optional
        That of a workbook; by default the first.
    dates : {"days", "parts"}
        Dates become days since 1970-01-01, or month, weekday (0 is Monday) and hour: features
        such as ``month(start)``.
    thousands : bool, optional
        Whether numbers of text may have separators of thousands; by default those of columns that
        have them wherever numbers are large enough.
    date_order : {None, "mdy", "dmy"}
        That of dates with slashes, where it cannot be told from the first lines.
    max_categories : int
        Of a column of text with more values, so many have a feature, the most frequent; the others
        count as none of them.
    keep_identifiers : bool
        Learn also from columns that tell rows apart: whole numbers that are all different and rise
        from row to row, or are called like one. They are left out otherwise, with a warning, unless
        `features` names them.
    max_expanded : int, optional
        Bytes that a compressed file may expand to; by default 200 times its size, but at least
        1 GiB.
    progress : callable, optional
        Called with bytes that are done and all bytes while files are converted.

    Raises
    ------
    SourceError
        A ValueError that names the file, the row (counted from 0; in text the line) and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from polyceptron import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pets.csv"
    ...     _ = path.write_text("age,colour,kind\n3,red,cat\n8,grey,dog\n5,grey,cat\n")
    ...     source = open_blocks(path, "kind", cache_dir=folder)
    ...     source.take(np.array([0, 2])).X
    array([[3., 1.],
           [5., 0.]])
    >>> source.n_samples, source.feature_names, source.classes.tolist()
    (3, ('age', 'colour=red'), ['cat', 'dog'])
    """
    if isinstance(path, tuple) and len(path) == 2 and not all(map(_is_path, path)):
        given = {"target": target, "features": features, "drop": drop, "categories": categories}
        given |= {"missing": missing, "dtype": dtype, "cache_dir": cache_dir, "header": header}
        given |= {"decimal": decimal, "encoding": encoding, "sheet": sheet}
        given |= {"thousands": thousands, "date_order": date_order, "max_expanded": max_expanded}
        return _from_arrays(path, weight, given)
    request = Request(
        target=None,
        features=None if features is None else _as_names(features),
        drop=_as_names(drop),
        weight=_as_name(weight, "weight"),
        categories=_as_names(categories),
        missing=_as_ways(missing),
        dtype=_as_dtype(dtype),
        max_categories=max_categories,
        keep_identifiers=keep_identifiers,
        file=_said(header, decimal, encoding, sheet, dates, thousands, date_order, max_expanded),
    )
    _refuse_lazy(path)
    if is_frame(path):
        asked = request._replace(target=_as_name(target, "target"))
        source: Source = held_rows(with_dates(open_frame(path), dates, ()), asked)
    else:
        source = open_files(path, target, request, cache_dir, progress)
    for note in source.notes:
        warnings.warn(note, SourceWarning, stacklevel=2)
    return source


def _refuse_lazy(path: Any) -> None:
    if hasattr(path, "collect") and not is_frame(path):
        raise SourceError(f"a {type(path).__name__} has no rows yet: give path.collect()")


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _from_arrays(pair: Any, weight: Any, given: dict[str, Any]) -> ArraySource:
    """X and y as they are; nothing else may be given."""
    for name, value in given.items():
        if value is not None and np.size(value):
            raise ValueError(f"{name} is for files; a pair of arrays is taken as it is")
    X, y = pair
    return ArraySource(X, y, weight)


def held_rows(table: Table, request: Request) -> ArraySource:
    """The rows of one table, in memory."""
    return Conversion(Tables([table.name], [0], lambda *_: table), request, HeldRows).run().source()


def open_files(
    path: Any,
    target: Any,
    request: Request,
    cache_dir: PathLike | None = None,
    progress: Progress | None = None,
) -> FileSource:
    """Open the rows of files, converted if that has not been done."""
    paths = files_of(path)
    tables, request = find_tables(paths, target, request)
    entry = _entry(path, paths, tables, request, cache_dir)
    description = entry.find()
    if description is None:
        in_place = tables.labels is not None and len(paths) == 1 and _is_ready(paths[0], request)
        before = [cache.size_and_time(file) for file in entry.paths]
        with entry.new() as folder:
            new = partial(ArrayWriter, folder)
            found = Conversion(tables, request, new, in_place=in_place, progress=progress).run()
            written: list[Any] = [rows for rows in found[:3] if isinstance(rows, ArrayWriter)]
            if not isinstance(found.X, ArrayWriter | None):
                what = "rows of LIBSVM are sparse, and are read in memory only"
                raise SourceError(f"{paths[0]}: {what}")
            for rows in written:
                rows.finish()
            description = cache.Description(
                version=cache.VERSION,
                request=entry.request,
                files=cache.stamps_of(entry.paths, before),
                folder=folder.name,
                arrays={rows.path.name: cache.Stamp.of(rows.path) for rows in written},
                facts=found.facts,
            )
            description = entry.keep(description)
    return _source(entry.folder / description.folder, description, paths)


def find_tables(
    paths: Sequence[Path], target: Any, request: Request, name: str | None = None
) -> tuple[Tables, Request]:
    """Files, which errors call `name`, as tables; and what to ask of them."""
    labels = _labels(paths[0], target)

    def opener(number: int, expect: Any, first: int) -> Table:
        path = paths[number]
        try:
            table = open_table(path, request.file, expect=expect, name=name)
        except OSError as error:
            if error.filename is not None and Path(error.filename) != path:
                raise
            raise SourceError(f"{path}: {error.strerror or error}") from error
        if labels is not None:
            _add_labels(table, labels, first)
        return table

    sizes = [path.stat().st_size for path in paths]
    asked = TARGET if labels is not None else _as_name(target, request.option("target"))
    expect = () if asked is None or labels is not None else (asked,)
    tables = Tables([name or str(path) for path in paths], sizes, opener, labels, expect)
    return tables, request._replace(target=asked)


def _add_labels(table: Table, labels: Any, first: int) -> None:
    try:
        if not isinstance(table, ArraysTable) or table.is_named:
            what = "target is an array, and the file is no matrix of numpy"
            raise SourceError(f"{table.name}: {what}")
        table.add_labels(labels, first)
    except BaseException:
        table.close()
        raise


def _entry(
    path: Any,
    files: Sequence[Path],
    tables: Tables,
    request: Request,
    cache_dir: PathLike | None,
) -> cache.Entry:
    """Where the cache has the rows that are asked for of these files, if it has them."""
    asked = request._replace(is_command=False)._asdict() | {"path": _shown(path), "labels": None}
    if isinstance(tables.labels, ArrayFile):
        asked["labels"] = _shown(tables.labels.path)
        files = [*files, tables.labels.path]
    elif tables.labels is not None:
        array = np.ascontiguousarray(tables.labels)
        asked["labels"] = [array.dtype.str, list(array.shape), cache.digest(array.tobytes())]
    # The files of a directory may become others: that is no other entry.
    digits = cache.entry_key([asked, _shown(files)])
    return cache.Entry(cache.cache_root(cache_dir), cache.entry_key(asked), digits, list(files))


def _source(folder: Path, found: cache.Description, paths: Sequence[Path]) -> FileSource:
    written, facts = found.arrays, found.facts
    source = FileSource(
        ArrayFile(folder / "X.npy" if "X.npy" in written else paths[0]),
        ArrayFile(folder / "codes.npy"),
        facts.classes,
        weight=ArrayFile(folder / "weight.npy") if "weight.npy" in written else None,
        origins=list(zip(map(str, paths), facts.firsts, strict=True)),
    )
    source.take_facts(facts)
    return source


def _is_ready(path: Path, request: Request) -> bool:
    """Whether rows can be read from the file itself."""
    chosen = request.features or request.drop or request.categories or request.weight
    if chosen or not _is_npy(path) or request.fills:
        return False
    with path.open("rb") as file:
        X = StoredArray(str(path), file)
    ready = X.dtype in (np.float32, np.float64) and X.dtype.isnative and not X.by_column
    return ready and len(X.shape) == 2 and request.dtype in (None, X.dtype.name)


def files_of(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """The files of a path, a directory, a glob or a list, in an order that is always the same.

    In a directory, names that begin with a point or an underscore are passed over.
    """
    if not isinstance(path, str | os.PathLike | list | tuple) or path == "":
        kinds = "a file, a folder, a pattern, a list or a table"
        raise SourceError(f"path must be {kinds}; got {path!r:.60}")
    none = "path is an empty list; name at least one file"
    if not isinstance(path, str | os.PathLike):
        found = [Path(one) for one in path]
    elif Path(path).is_dir():
        found = sorted(f for f in Path(path).iterdir() if f.is_file() and f.name[0] not in "._")
        inner = Path(path) / "**" / "*.parquet"
        none = f"{path}: a directory without files; a glob such as '{inner}' looks into its folders"
    elif not Path(path).exists() and glob.has_magic(str(path)):
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
        found = [file for file in found if file.is_file()]
        none = f"{path}: no file fits this pattern"
    else:
        found = [Path(path)]
    if not found:
        raise SourceError(none)
    for one in found:
        if not one.is_file():
            what = "not a file" if one.exists() else "No such file or directory"
            raise SourceError(f"{one}: {what}")
    return found


def _labels(first: Path, target: Any) -> Any:
    """Labels that are no column of the files: an array, or another file."""
    if target is None or isinstance(target, int | np.integer):
        return None
    if isinstance(target, str | os.PathLike):
        path = Path(target)
        if isinstance(target, str) and not (path.suffix == ".npy" and _is_npy(first)):
            return None
        if path.exists() and not path.is_file():  # nobody may ever write into a pipe
            raise SourceError(f"{path}: not a file")
        if not _is_npy(path):
            raise SourceError(f"{path}: target must be a file .npy")
        return ArrayFile(path)
    array = np.asarray(target)
    if array.ndim != 1:
        raise SourceError(
            "target must be the name or number of a column, a file .npy, or an array of one "
            f"dimension; got shape {array.shape}"
        )
    if array.dtype.kind != "O":
        return array
    try:
        labels = pa.array(array, from_pandas=True)
    except pa.ArrowException as error:
        raise SourceError(f"target must be labels of one type: {one_line(error)}") from None
    if labels.null_count:
        row = int(np.asarray(labels.is_null()).argmax())
        raise SourceError(f"target: row {row} is missing")
    return np.array(labels.to_pylist())


def _is_npy(path: Path) -> bool:
    with naming(path), path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _shown(path: Any) -> Any:
    if not isinstance(path, str | os.PathLike):
        return [_shown(one) for one in path]
    return str(Path(path).absolute())


def _as_names(names: Names) -> tuple[str, ...]:
    return (str(names),) if isinstance(names, str | int) else tuple(map(str, names))


def _as_ways(missing: Any) -> dict[str, str]:
    """What is done about what is missing, by column; "" are the others."""
    if missing is None or isinstance(missing, str):
        missing = {None: missing or "error"}
    for way in missing.values():
        if way not in WAYS:
            raise SourceError(f"missing must be None or one of {', '.join(WAYS)}; got {way!r}")
    return {"" if name is None else str(name): way for name, way in missing.items()}


def _as_name(name: Any, what: str) -> str | None:
    if name is None:
        return None
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise SourceError(f"{what} must be the name or number of a column; got {name!r:.60}")
    return str(name)


def _said(
    header: bool | None,
    decimal: str | None,
    encoding: str | None,
    sheet: str | None,
    dates: str,
    thousands: bool | None,
    date_order: str | None,
    max_expanded: int | None,
) -> FileOptions:
    if decimal not in (None, ".", ","):
        raise SourceError(f"decimal must be None, '.' or ','; got {decimal!r}")
    if dates not in ("days", "parts"):
        raise SourceError(f"dates must be 'days' or 'parts'; got {dates!r}")
    if date_order not in (None, *DATE_ORDERS):
        raise SourceError(f"date_order must be None, 'mdy' or 'dmy'; got {date_order!r:.60}")
    if max_expanded is not None and max_expanded < 1:
        raise SourceError(f"max_expanded must be a number of bytes, or None; got {max_expanded!r}")
    return FileOptions(
        header, decimal, encoding, sheet, None, dates, thousands, date_order, max_expanded
    )


def _as_dtype(dtype: Any) -> str | None:
    with suppress(TypeError):
        if dtype is None or np.dtype(dtype) in (np.float32, np.float64):
            return None if dtype is None else str(np.dtype(dtype).name)
    raise SourceError(f"dtype must be None, 'float32' or 'float64'; got {dtype!r}")

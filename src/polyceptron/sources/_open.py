"""`open_blocks`: rows from files of any size."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.arrays import ArraySource
from polyceptron.data.encoding import Encoding, is_missing
from polyceptron.data.source import Source, SourceError
from polyceptron.readers._base import TARGET
from polyceptron.sources._arguments import Names, as_dtype, as_missing, as_name, as_names
from polyceptron.sources._cache import SUFFIX, VERSION, Converted, Entry
from polyceptron.sources._convert import Conversion, Progress
from polyceptron.sources._files import ArrayFile, FileSource
from polyceptron.sources._formats import Tables, is_npy
from polyceptron.sources._numpy import Held, Rows, Stored
from polyceptron.sources._paths import PathLike, files_of
from polyceptron.sources._plan import Request
from polyceptron.sources._stamps import Stamping
from polyceptron.sources._vocabulary import as_classes


def open_blocks(
    path: PathLike | Sequence[PathLike] | tuple[Any, Any],
    target: Any = None,
    *,
    features: Names | None = None,
    drop: Names = (),
    weight: Any = None,
    categories: Names = (),
    missing: str | None = None,
    dtype: Any = None,
    cache_dir: PathLike | None = None,
    header: bool | None = None,
    progress: Progress | None = None,
) -> Source:
    r"""Open labelled rows that need not fit into memory, for `fit_blocks`.

    The files are converted once into arrays on disk, and found again as long as they are the same.
    A single matrix in a file .npy with its labels elsewhere is read where it is.

    Parameters
    ----------
    path : path, list of paths, or pair of arrays
        A file, a directory, a glob (files in the order of their names), or a list of files (in
        this order). Parquet, Arrow (Feather), delimited text, .npz and .npy, told by what is in
        them, also inside gzip. A tuple of two arrays is X and y in memory.
    target : str, int, path or array, optional
        The column of labels: its name, or its number, from the end -1. For files .npy it may also
        be another such file, or an array. Files .npz with X and y say it themselves.
    features, drop, categories : list of str, optional
        Learn from these columns only; leave these out; take these for categories although they
        hold numbers. Columns of text are categories: one feature, 0 or 1, for each value.
    weight : str, int or array, optional
        The column of weights, above zero; for arrays in memory, an array.
    missing : {None, "drop"}
        None makes a missing value an error; "drop" leaves such rows out.
    dtype : {None, "float32", "float64"}
        Of the rows; None is that of a data frame of these columns: float32 if numpy says so of
        their types, else float64.
    cache_dir : path, optional
        Where converted rows are kept: by default beside the data, in a folder of the same name
        that ends in ``.polyceptron-cache``.
    header : bool, optional
        Whether text begins with the names of the columns. By default it does if there is no
        number on its first line.
    progress : callable, optional
        Called with bytes that are done and all bytes while files are converted.

    Returns
    -------
    Source

    Raises
    ------
    SourceError, ReaderError
        They are of the kind ValueError, and name the file, the row (counted from 0; in text the
        line) and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from polyceptron import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pets.csv"
    ...     _ = path.write_text("age,colour,kind\n3,red,cat\n8,grey,dog\n5,grey,cat\n")
    ...     source = open_blocks(path, "kind")
    ...     source.take(np.array([0, 2])).X
    array([[3., 0., 1.],
           [5., 1., 0.]])
    >>> source.n_samples, source.feature_names, source.classes.tolist()
    (3, ('age', 'colour=grey', 'colour=red'), ['cat', 'dog'])
    """
    if isinstance(path, tuple) and len(path) == 2 and not _are_paths(path):
        given = {"target": target, "features": features, "drop": drop, "categories": categories}
        given |= {"missing": missing, "dtype": dtype, "cache_dir": cache_dir, "header": header}
        for name, value in given.items():
            if value is not None and np.size(value):
                raise ValueError(f"{name} is for files; a pair of arrays is taken as it is")
        return ArraySource(path[0], path[1], weight)
    paths = files_of(path)
    labels, label_path = _labels(paths[0], target)
    request = Request(
        target=TARGET if labels is not None else as_name(target, "target"),
        features=None if features is None else as_names(features),
        drop=as_names(drop),
        weight=as_name(weight, "weight"),
        categories=as_names(categories),
        missing=as_missing(missing),
        dtype=as_dtype(dtype),
        header=header,
    )
    files = [*paths, *([] if label_path is None else [label_path])]
    base = Path(path) if isinstance(path, str | os.PathLike) else paths[0]
    base = (base if base.is_dir() else paths[0]).absolute()
    anchor = base.parent if cache_dir is None else None
    root = base.with_name(base.name + SUFFIX) if cache_dir is None else Path(cache_dir)
    asked = request._asdict() | {
        "path": _shown(path, anchor),
        "labels": _identity(labels, label_path, anchor),
    }
    asked = json.loads(json.dumps(asked))
    key = hashlib.blake2b(json.dumps([VERSION, asked]).encode(), digest_size=8).hexdigest()
    # The files of a directory may become others: that is no other entry.
    entry = Entry(root / key, asked | {"files": _shown(files, anchor)}, files)
    converted = entry.find()
    if converted is None:
        tables = Tables(paths, header=header, labels=labels)
        converted = _convert(entry, tables, request, files, progress)
    return _source(entry.folder / converted.folder, converted, paths)


def _convert(
    entry: Entry,
    tables: Tables,
    request: Request,
    files: Sequence[Path],
    progress: Progress | None,
) -> Converted:
    named = not is_npy(tables.paths[0])
    with Stamping(files) as stamping, entry.new() as folder:
        conversion = Conversion(
            tables,
            request,
            folder,
            in_place=_is_ready(tables, request),
            named=named,
            progress=progress,
        )
        converted = conversion.run()
        return entry.keep(stamping.result(), converted)


def _source(folder: Path, converted: Converted, paths: Sequence[Path]) -> FileSource:
    written = converted.sizes
    source = FileSource(
        ArrayFile.of_npy(folder / "X.npy" if "X.npy" in written else paths[0]),
        ArrayFile.of_npy(folder / "codes.npy"),
        as_classes(converted.kind, converted.labels),
        weight=ArrayFile.of_npy(folder / "weight.npy") if "weight.npy" in written else None,
        feature_names=None if converted.feature_names is None else tuple(converted.feature_names),
        encoding=None if converted.encoding is None else Encoding.from_json(converted.encoding),
        origins=list(zip(map(str, paths), converted.firsts, strict=True)),
    )
    source.target, source.n_left_out = converted.target, converted.n_left_out
    return source


def _is_ready(tables: Tables, request: Request) -> bool:
    """Whether rows can be read from the file itself."""
    if tables.labels is None or len(tables.paths) > 1 or not is_npy(tables.paths[0]):
        return False
    if request.features or request.drop or request.categories or request.weight:
        return False
    X = Stored(tables.paths[0])
    ready = X.dtype in (np.float32, np.float64) and X.dtype.isnative and not X.by_column
    return ready and len(X.shape) == 2 and request.dtype in (None, X.dtype.name)


def _labels(first: Path, target: Any) -> tuple[Rows | None, Path | None]:
    """Labels that are no column of the files: an array, or another file."""
    if target is None or isinstance(target, int | np.integer):
        return None, None
    if isinstance(target, str | os.PathLike):
        path = Path(target)
        if isinstance(target, str) and not (path.suffix == ".npy" and is_npy(first)):
            return None, None
        if not is_npy(path):
            raise SourceError(f"{path}: target must be a file .npy")
        return Stored(path), path
    array = np.asarray(target)
    if array.ndim != 1:
        raise SourceError(
            "target must be the name or number of a column, a file .npy, or an array of one "
            f"dimension; got shape {array.shape}"
        )
    gaps = is_missing(array)
    if array.dtype.kind == "O" and gaps.any():
        raise SourceError(f"target: row {int(gaps.argmax())} is missing")
    return Held(np.array(array.tolist()) if array.dtype.kind == "O" else array), None


def _identity(labels: Rows | None, path: Path | None, anchor: Path | None) -> Any:
    if path is not None:
        return _shown(path, anchor)
    if not isinstance(labels, Held):
        return None
    array: NDArray[Any] = np.ascontiguousarray(labels.array)
    digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
    return [array.dtype.str, list(array.shape), digest]


def _shown(path: Any, anchor: Path | None) -> Any:
    """Paths as they are the same from wherever they are seen."""
    if not isinstance(path, str | os.PathLike):
        return [_shown(one, anchor) for one in path]
    whole = str(Path(path).absolute())
    return whole if anchor is None else os.path.relpath(whole, anchor)


def _are_paths(pair: tuple[Any, Any]) -> bool:
    return all(isinstance(one, str | os.PathLike) for one in pair)

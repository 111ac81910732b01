"""From tables to arrays on disk: once, piece by piece, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.encoding import Column, Encoding
from polyceptron.data.source import SourceError
from polyceptron.readers._table import NotANumberError
from polyceptron.sources._cache import Converted
from polyceptron.sources._formats import Tables
from polyceptron.sources._plan import Plan, Request, make_plan
from polyceptron.sources._tables import Piece, Wanted
from polyceptron.sources._vocabulary import Categories, Classes, Kept
from polyceptron.sources._writer import RowsWriter

Progress = Callable[[int, int], None]


class Conversion:
    """Writes the rows, the places of labels and the weights of tables into a folder.

    Parameters
    ----------
    tables : Tables
    request : Request
    folder : Path
    in_place : bool
        Whether the rows are those of a file .npy already, if none is left out.
    named : bool
        Whether columns have names.
    progress : callable, optional
    """

    def __init__(
        self,
        tables: Tables,
        request: Request,
        folder: Path,
        *,
        in_place: bool,
        named: bool,
        progress: Progress | None,
    ) -> None:
        self._tables, self._request, self._folder = tables, request, folder
        self._in_place, self._named, self._progress = in_place, named, progress
        self._doubts: dict[str, NotANumberError] = {}
        self._sizes = [path.stat().st_size for path in tables.paths]
        self._passes = 0
        name = str(tables.paths[0])
        self._source = name if len(self._sizes) == 1 else f"{name} and {len(self._sizes) - 1} more"

    def run(self) -> Converted:
        """Convert all, and say what there is."""
        plan = make_plan(self._tables, self._request, self._folder)
        while True:
            try:
                columns = self._columns(plan)
                return self._write(plan, columns)
            except _NotInPlaceError:
                self._in_place = False
            except NotANumberError as error:
                if error.column in plan.texts or error.column not in plan.features:
                    raise
                # What the beginning said of this column does not hold.
                self._doubts[error.column] = error
                texts = {*plan.texts, error.column}
                plan = plan._replace(
                    texts=tuple(name for name in plan.features if name in texts),
                    dtype=np.dtype(self._request.dtype or np.float64),
                )

    def _pieces(self, wanted: Wanted, expected: int) -> Iterator[tuple[int, Piece]]:
        total, before = sum(self._sizes), self._passes * sum(self._sizes)
        self._passes += 1
        expected = max(expected, self._passes)
        for number, size in enumerate(self._sizes):
            with self._tables.open(number, self._folder) as file:
                for piece, share in file.pieces(wanted):
                    yield number, piece
                    if self._progress is not None:
                        self._progress(before + int(share * size), expected * total)
            before += size

    def _columns(self, plan: Plan) -> list[Column]:
        """How columns become features; the categories of text are known when all was read."""
        if not plan.texts:
            return [Column(name, "number") for name in plan.features]
        found = {
            name: Categories(
                name,
                self._source,
                self._doubts.get(name),
                plan.label_kind == "written" and name not in plan.codes,
            )
            for name in plan.texts
        }
        # What is in rows that will be left out does not count.
        wanted = plan.wanted if self._request.missing == "drop" else Wanted((), plan.texts)
        for _, piece in self._pieces(wanted, 2):
            kept = _kept(piece, plan, self._request.missing)
            for categories in found.values():
                categories.add(piece, kept)
        return [
            found[name].column() if name in found else Column(name, "number")
            for name in plan.features
        ]

    def _write(self, plan: Plan, columns: list[Column]) -> Converted:
        try:
            encoding = Encoding(columns)
        except ValueError as error:
            raise SourceError(f"{self._source}: {error}") from None
        classes = Classes(plan.label_kind, f"{self._source}, column {plan.target!r}")
        firsts: list[int] = []
        n_read = 0
        with ExitStack() as stack:
            X = None
            if not self._in_place:
                width = (len(encoding.feature_names),)
                X = stack.enter_context(RowsWriter(self._folder / "X.npy", plan.dtype, width))
            codes = stack.enter_context(RowsWriter(self._folder / "codes.npy", np.int8))
            weight = None
            if plan.weight is not None:
                path = self._folder / "weight.npy"
                weight = stack.enter_context(RowsWriter(path, np.float64))
            for number, piece in self._pieces(plan.wanted, 2 if plan.texts else 1):
                firsts += [codes.n_rows] * (number + 1 - len(firsts))
                kept = _kept(piece, plan, self._request.missing)
                n_read += piece.n_rows
                if X is not None:
                    X.append(_taken(_rows(piece, encoding, plan.dtype), kept))
                elif kept is not None:
                    raise _NotInPlaceError
                if weight is not None:
                    weight.append(_weights(piece, plan.weight, kept))
                assert piece.labels is not None
                codes.append(classes.codes(piece.labels, kept))
            labels, places = classes.sorted()
            codes.replace(places)
            sizes = {w.path.name: w.finish() for w in (X, codes, weight) if w is not None}
        return Converted(
            folder=self._folder.name,
            sizes=sizes,
            target=plan.target,
            kind=plan.label_kind,
            labels=labels,
            feature_names=list(encoding.feature_names) if self._named else None,
            encoding=encoding.to_json() if plan.texts else None,
            firsts=firsts,
            n_left_out=n_read - codes.n_rows,
        )


class _NotInPlaceError(Exception):
    """Rows have to be left out, so that the file cannot be read as it is."""


def _kept(piece: Piece, plan: Plan, missing: str | None) -> Kept:
    """Which rows have no gap, or None if none has; an infinite number is an error."""
    gaps: dict[str, NDArray[np.bool_]] = {}
    for name, values in piece.numbers.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            infinite = np.isinf(values)
            if infinite.any():
                row = int(infinite.argmax())
                where = piece.where(row, name)
                raise SourceError(f"{where}: {values[row]} is not a finite number")
            gaps[name] = np.isnan(values)
    labels = {} if piece.labels is None else {plan.target: piece.labels}
    for name, (codes, found) in {**piece.texts, **labels}.items():
        if None in found:
            rows = np.array([value is None for value in found])[codes]
            if rows.any():
                gaps[name] = rows
    if not gaps:
        return None
    if missing is None:
        row, name = min((int(rows.argmax()), name) for name, rows in gaps.items())
        raise SourceError(
            f"{piece.where(row, name)}: a missing value (missing drop leaves such rows out)"
        )
    kept: NDArray[np.bool_] = ~np.logical_or.reduce(list(gaps.values()))
    return kept


def _taken(rows: NDArray[Any], kept: Kept) -> NDArray[Any]:
    return rows if kept is None else rows[kept]


def _rows(piece: Piece, encoding: Encoding, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The features of every row; those of rows with a gap mean nothing."""
    X = np.zeros((piece.n_rows, len(encoding.feature_names)), dtype)
    at = 0
    for column in encoding.columns:
        if column.kind == "number":
            _set_numbers(X[:, at], piece, column.name)
        else:
            codes, values = piece.texts[column.name]
            places = {value: j for j, value in enumerate(column.categories)}
            place = np.array([places.get(value, 0) for value in values])
            X[np.arange(piece.n_rows), at + place[codes]] = 1.0
        at += len(column.feature_names)
    return X


def _set_numbers(into: NDArray[Any], piece: Piece, name: str) -> None:
    values = piece.numbers[name]
    with np.errstate(over="ignore"):
        into[:] = values
    if into.dtype.itemsize < 8 and values.dtype != into.dtype and np.isinf(into).any():
        row = int(np.isinf(into).argmax())
        raise SourceError(f"{piece.where(row, name)}: {values[row]} is beyond {into.dtype}")


def _weights(piece: Piece, name: str | None, kept: Kept) -> NDArray[Any]:
    assert name is not None
    weights = piece.numbers[name]
    if (weights <= 0).any():
        row = int((weights <= 0).argmax())
        raise SourceError(
            f"{piece.where(row, name)}: a weight must be above 0; it is {weights[row]}"
        )
    return _taken(weights, kept)

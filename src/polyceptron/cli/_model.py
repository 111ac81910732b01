"""A model file together with rows for it: columns matched by name, answers with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.readers import Reader, Table
    from polyceptron.rule import Decision, Rule

model_argument = click.argument("model", type=click.Path(dir_okay=False))
data_argument = click.argument("data", type=click.Path(dir_okay=False, allow_dash=True))


class Loaded:
    """A model from a file.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str) -> None:
        from polyceptron.model_file import read_model

        if path == "-":
            raise click.UsageError("MODEL must be a file; only DATA can be standard input.")
        self.path = path
        self._unseen: Counter[str] = Counter()
        self._counting = Lock()
        self.estimator, self.encoding, self.summary = read_model(Path(path))
        names = getattr(self.estimator, "feature_names_in_", None)
        self.names: list[str] | None = None if names is None else list(names)
        self.rule: Rule = self.estimator.rule_.renamed(self.names)

    @property
    def target(self) -> str | None:
        """The column of labels that it was learned from."""
        target = self.summary.get("target")
        return target if isinstance(target, str) else None

    def open(
        self, data: str, header: bool | None, more: Sequence[str] = ()
    ) -> tuple[Reader, Encoding]:
        """Open a file with rows for this model; columns `more` are none of its features."""
        from polyceptron.data.encoding import missing_columns
        from polyceptron.readers import ReaderError, open_table

        known = self.encoding
        reader = open_table(data, header=header, expect=known.names if known else self.names or ())
        try:
            encoding = known or self._by_place(reader, more)
            there = set(reader.names)
            missing = [name for name in encoding.names if name not in there]
            if missing:
                text = missing_columns(missing, reader.names)
                layout = getattr(reader, "layout", None)
                guessed = header is None and layout is not None and not layout.has_header
                hint = " (the file seems to have no header; --header says it has)" * guessed
                raise ReaderError(f"{reader.name}: {text}{hint}")
        except BaseException:
            reader.__exit__(None, None, None)
            raise
        return reader, encoding

    def pieces(
        self, data: str, header: bool | None, more: Sequence[str] = ()
    ) -> Iterator[tuple[Table, Any]]:
        """Give the rows of a file piece by piece: the table, with columns `more` as text, and X."""
        reader, encoding = self.open(data, header, more)
        with reader:
            lacking = [name for name in more if name not in reader.names]
            if lacking:
                from polyceptron.data.encoding import missing_columns
                from polyceptron.readers import ReaderError

                raise ReaderError(f"{reader.name}: {missing_columns(lacking, reader.names)}")
            numbers, texts = kinds(encoding)
            texts += [name for name in more if name not in texts]
            for table in reader.chunks([name for name in numbers if name not in texts], texts):
                yield table, self.encode(table, encoding)
        self.note_unseen()

    def _by_place(self, reader: Reader, more: Sequence[str]) -> Encoding:
        """Take columns by name if the model has names but no encoding, else by place."""
        from polyceptron.data.encoding import Column, Encoding
        from polyceptron.readers import ReaderError

        if self.names is not None:
            return Encoding([Column(name, "number") for name in self.names])
        n = int(self.estimator.n_features_in_)
        others = {self.target, reader.target, *more}
        names = [name for name in reader.names if name not in others]
        if len(names) != n:
            raise ReaderError(
                f"{reader.name}: {len(names)} columns for a model of {n} without names"
            )
        return Encoding([Column(name, "number") for name in names])

    def encode(self, table: Table, encoding: Encoding) -> Any:
        """Return the rows of a table the way the estimator takes them."""
        if table.matrix is not None:
            return table.matrix
        try:
            X = encoding.transform(table)
        except ValueError:
            _refuse_gaps(table, encoding)  # which says where
            raise
        unseen = encoding.unseen(X)
        if unseen:
            with self._counting:
                self._unseen.update(unseen)
        return X

    def note_unseen(self) -> None:
        """Say on stderr how many values of text so far were new to the model."""
        from polyceptron.cli._tables import note, shown

        for name, n in self._unseen.items():
            rows = f"{n} row{'s have' if n > 1 else ' has'} a value"
            note(f"{shown(name)}: {rows} that the model never saw, and is none of its categories")

    def check_target(self, target: str) -> None:
        """Refuse a column of classes that is a feature."""
        if target in (self.encoding.names if self.encoding is not None else self.names or ()):
            raise click.UsageError(f"--target {target!r} is a feature of the model, not its class.")

    def classes_in(self, table: Table, target: str) -> list[int]:
        """Return the place of the class of every row; numbers are the same however written."""
        from polyceptron.cli._tables import shown
        from polyceptron.readers import ReaderError
        from polyceptron.readers._table import as_number

        classes = self.estimator.classes_.tolist()
        places = {str(label): j for j, label in enumerate(classes)}
        values = {float(x): j for j, x in enumerate(classes) if isinstance(x, int | float)}
        found = []
        for i, text in enumerate(table[target]):
            j = places.get(text)
            number = as_number(text) if j is None and text is not None else None
            if number is not None:
                j = values.get(number)
            if j is None:
                what = "a missing class, not" if text is None else f"{text!r} is not"
                listed = ", ".join(map(shown, classes))
                raise ReaderError(f"{table.where(i, target)}: {what} one of the classes {listed}")
            found.append(j)
        return found

    def answer(self, X: Any, *, explain: bool = False) -> Decision:
        """Return classes and scores, and with `explain` what decided."""
        return self.rule.decide(X, faces=explain)


def kinds(encoding: Encoding) -> tuple[list[str], list[str]]:
    """Return the names of an encoding's numbers, and of its categories."""
    numbers = [column.name for column in encoding.columns if column.kind == "number"]
    return numbers, [column.name for column in encoding.columns if column.kind != "number"]


def _refuse_gaps(table: Table, encoding: Encoding) -> None:
    import numpy as np

    from polyceptron.data.encoding import is_missing
    from polyceptron.readers import ReaderError

    for column in encoding.columns:
        if column.fill is None:
            gaps = is_missing(table[column.name])
            if gaps.any():
                where = table.where(int(np.flatnonzero(gaps)[0]), column.name)
                raise ReaderError(
                    f"{where}: a missing value, which this model cannot fill "
                    "(fit --missing median makes one that can)"
                )

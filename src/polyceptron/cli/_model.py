"""A model file together with rows for it: columns matched by name, answers with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import click

from polyceptron.cli._lazy import encoding as encodings
from polyceptron.cli._lazy import np, tables
from polyceptron.cli._lazy import source as sources
from polyceptron.cli._terminal import note, shown

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.tables import Batch, Table


class Loaded:
    """A model from a file."""

    def __init__(self, path: str) -> None:
        from polyceptron.model_file import read_rule

        if path == "-":
            raise click.UsageError("MODEL must be a file; only DATA can be standard input.")
        self.path = path
        self._unseen: Counter[str] = Counter()
        self._counting = Lock()
        self.rule, self.encoding, self.summary, self.learner = read_rule(Path(path))
        names = self.rule.feature_names
        self.names: list[str] | None = None if names is None else list(names)

    @property
    def target(self) -> str | None:
        """The column of labels that it was learned from."""
        target = self.summary.get("target")
        return target if isinstance(target, str) else None

    @property
    def feature_columns(self) -> Sequence[str]:
        """The columns that it reads, if it knows their names."""
        return self.encoding.names if self.encoding is not None else self.names or ()

    def label_column(self, target: str | None) -> str:
        """The column with the classes: the one that is asked for, or learned from."""
        target = target or self.target
        if target is None:
            needed = "--target is needed: the model does not say which column it was."
            raise click.UsageError(needed)
        if target in self.feature_columns:
            raise click.UsageError(f"--target {target!r} is a feature of the model, not its class.")
        return target

    @contextmanager
    def open(
        self, data: str, file: FileOptions, more: Sequence[str] = ()
    ) -> Iterator[tuple[Table, Encoding]]:
        """Open a file with rows for this model; columns `more` are none of its features.

        At the end it is said on stderr how many values of text were new to the model.
        """
        with tables.open_table(data, file, expect=self.feature_columns) as table:
            encoding = self.encoding or self._by_place(table, more)
            there = set(table.names)
            missing = [name for name in encoding.names if name not in there]
            missing = missing or [name for name in more if name not in there]
            if missing:
                text = encodings.missing_columns(missing, table.names)
                hint = " (the file seems to have no header; --header says it has)"
                guessed = file.header is None and not table.has_header
                raise sources.SourceError(f"{table.name}: {text}{hint if guessed else ''}")
            for one in table.notes:
                note(one)
            yield table, encoding
        for name, n in self._unseen.items():
            rows = f"{n} row{'s have' if n > 1 else ' has'} a value"
            note(f"{shown(name)}: {rows} that the model never saw, and is none of its categories")

    def pieces(
        self, data: str, file: FileOptions, more: Sequence[str] = (), *, skip: bool = False
    ) -> Iterator[tuple[Batch, Any]]:
        """Give the rows of a file batch by batch: all columns, those of `more` too, and X.

        Gaps that the model cannot fill are an error, or with `skip` NaN.
        """
        with self.open(data, file, more) as (table, encoding):
            numbers, texts = encoding.kinds
            texts += [name for name in more if name not in texts]
            for batch in table.batches([name for name in numbers if name not in texts], texts):
                yield batch, self.encode(batch, encoding, skip=skip)

    def _by_place(self, table: Table, more: Sequence[str]) -> Encoding:
        """Take columns by name if the model has names but no encoding, else by place."""
        others, n = {self.target, table.target, *more}, self.rule.n_features
        names = self.names or [name for name in table.names if name not in others]
        if len(names) != n:
            raise sources.SourceError(
                f"{table.name}: {len(names)} columns for a model of {n} without names"
            )
        numbers = [encodings.Column(name, "number") for name in names]
        return cast("Encoding", encodings.Encoding(numbers))

    def encode(self, batch: Batch, encoding: Encoding, *, skip: bool = False) -> Any:
        """Return the rows of a batch the way the estimator takes them; NaN are gaps to `skip`."""
        X = batch.features(encoding, skip=skip)
        unseen = batch.unseen(encoding)
        if unseen:
            with self._counting:
                self._unseen.update(unseen)
        return X

    def classes_in(self, batch: Batch, target: str) -> list[int]:
        """Return the place of the class of every row; numbers are the same however written."""
        classes = self.rule.labels
        # Of one class against all others, whatever else there is are the others.
        others = [
            j
            for j, one in enumerate(classes)
            if len(classes) == 2 and one == rest_of(classes[1 - j])
        ]
        rest = others[0] if others else -1
        codes, texts = batch.texts(target)
        found = places_of_labels(texts, classes)
        found = [
            rest if own is None and text is not None else own
            for text, own in zip(texts, found, strict=True)
        ]
        place = np.array([-1 if own is None else own for own in found])[codes]
        if (place < 0).any():
            row = int((place < 0).argmax())
            text = texts[int(codes[row])]
            what = "a missing class, not" if text is None else f"{text!r} is not"
            listed = ", ".join(map(shown, classes))
            raise sources.SourceError(
                f"{batch.where(row, target)}: {what} one of the classes {listed}"
            )
        return place.tolist()  # type: ignore[no-any-return]


def places_of_labels(texts: Sequence[str | None], labels: Sequence[Any]) -> list[int | None]:
    """The place of the label that is written so; numbers are the same however written."""
    from polyceptron.data.guesses import as_number

    places: dict[Any, int] = {str(label): j for j, label in enumerate(labels)}
    numbers = {float(one): j for j, one in enumerate(labels) if isinstance(one, int | float)}

    def place(text: str | None) -> int | None:
        if text is None or text in places:
            return places.get(text)
        number = as_number(text.strip())
        return None if number is None else numbers.get(number)

    return [place(text) for text in texts]


def find_label(option: str, text: str, labels: Sequence[Any]) -> Any:
    """The label that is written so in an option."""
    (place,) = places_of_labels([text], labels)
    if place is None:
        known = ", ".join(map(str, labels))
        raise click.UsageError(f"{option} must be one of {known}; got {text!r}")
    return labels[place]


def rest_of(label: Any) -> str:
    """What all other classes are called together."""
    return f"not {label}"

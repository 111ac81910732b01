"""`polyceptron predict`: answers for a file of any length, in constant memory."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._lazy import columns, np, text
from polyceptron.cli._model import Loaded
from polyceptron.cli._options import (
    columns_option,
    data_argument,
    file_options,
    model_argument,
    out_option,
)
from polyceptron.cli._out import check_free, writing
from polyceptron.cli._terminal import note

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.tables import Batch

Safe = Callable[[str], str] | None
"""What makes text safe for whom it is written to."""


@click.command(short_help="Answer the rows of a file.")
@model_argument
@data_argument
@click.option("--proba", is_flag=True, help="Say how probable each class is.")
@click.option("--explain", is_flag=True, help="Say which face decided, and its slack.")
@click.option(
    "--missing",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="A missing value that the model cannot fill is an error, or such a row has no answer.",
)
@click.option(
    "--safe-csv",
    is_flag=True,
    help="Put an apostrophe before text that a spreadsheet would take for a formula, and escapes "
    "for what cannot be printed; a terminal gets these in any case.",
)
@columns_option("--keep", "Columns of DATA to write beside the answers.")
@out_option("The answers, as CSV", "-")
@file_options
def predict(
    model: str,
    data: str,
    proba: bool,
    explain: bool,
    missing: str,
    safe_csv: bool,
    keep: Sequence[str],
    output: str,
    force: bool,
    file: FileOptions,
) -> None:
    """Answer each row of DATA, in order: a CSV with the columns prediction and score.

    Columns are found by name; others are ignored. The score is above zero for the second class
    in order, below for the first; with more than two classes it is the log-odds of the answer,
    and with a tree its share. --proba adds a column P(class) for each class. --explain adds the
    face that decided, counted from 0 as `show` does, and its slack: how much is left until its
    inequality fails, or how much it is missed by; and the piece that the face is of, where `show`
    numbers those.
    """
    check_free(output, force, model, data)
    os.environ["POLYCEPTRON_QUIET"] = "1"

    from polyceptron.data.tables import NoRowsError, in_order

    loaded = Loaded(model)
    if proba and not loaded.rule.has_probabilities:
        raise click.UsageError(
            f"--proba needs a model with probabilities, and {model} gives scores only; fit -l "
            "polyceptron, spla1, spla2 or oc1 makes one"
        )
    with (
        loaded.open(data, file) as (table, encoding),
        writing(output) as out,
        suppress(NoRowsError),  # no rows, no answers
    ):
        wanted = columns.listed(keep, table.names)
        kept = [columns.column_of(name, table.names, table.name) for name in wanted]
        piece = ["piece"] if loaded.rule.which(0) else []
        chances = [f"P({label})" for label in loaded.rule.labels] if proba else []
        heads = ["prediction", "score", *chances, *([*piece, "face", "slack"] if explain else [])]
        safe = None
        if safe_csv or (output == "-" and sys.stdout.isatty()):
            safe = partial(text.safe_cell, formulas=safe_csv)
        heads = [*heads, *kept]
        out.write(_csv_line(heads if safe is None else list(map(safe, heads))))
        numbers, texts = encoding.kinds
        texts += [name for name in kept if name not in {*numbers, *texts}]
        work = partial(_answers, loaded, encoding, chances, explain, missing == "skip", kept, safe)
        n_skipped = 0
        tasks = (partial(work, job) for job in table.jobs(numbers, texts))
        for lines, n in in_order(tasks, ahead=1):
            out.write(lines)
            n_skipped += n
    if n_skipped:
        note(
            f"{n_skipped} row{'s have' if n_skipped > 1 else ' has'} a missing value and no answer"
        )


def _csv_line(fields: Sequence[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue().encode()


def _answers(
    loaded: Loaded,
    encoding: Encoding,
    chances: Sequence[str],
    explain: bool,
    skip: bool,
    kept: Sequence[str],
    safe: Safe,
    job: Callable[[], Batch],
) -> tuple[Any, int]:
    """Answer the rows of a batch, as lines of CSV; and how many have no answer."""
    import pyarrow as pa

    batch = job()
    X, gaps = loaded.encode(batch, encoding, skip=skip), None
    if skip and batch.matrix is None:
        gaps = np.isnan(X).any(axis=1)
        X = np.where(gaps[:, None], 0.0, X)  # any number: what it answers is not shown
    answers = loaded.rule.decide(X, faces=explain, probabilities=bool(chances))
    shown: dict[str, Any] = {"score": answers.score}
    if answers.probabilities is not None:
        shown |= dict(zip(chances, answers.probabilities.T, strict=True))
    if answers.face is not None:  # a row that nothing decides has no face
        if loaded.rule.which(0):
            shown["piece"] = answers.piece + 1
        shown["face"] = pa.array(answers.face, mask=answers.face < 0)
        shown["slack"] = answers.slack
    place, n_gaps = answers.place, 0 if gaps is None else int(gaps.sum())
    if gaps is not None and n_gaps:
        answered = pa.array(~gaps)
        place = _of_answered(answered, place)
        shown = {name: _of_answered(answered, values) for name, values in shown.items()}
    shown |= {name: _safe_column(batch.column(name), safe) for name in kept}
    labels = loaded.rule.labels if safe is None else [safe(str(one)) for one in loaded.rule.labels]
    return lines_of(labels, place, shown), n_gaps


def _safe_column(column: Any, safe: Safe) -> Any:
    """A column whose text has been made safe."""
    from polyceptron.data.tables import is_text

    if safe is None or not is_text(column.type):
        return column
    import pyarrow as pa

    found = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    texts = [None if one is None else safe(one) for one in found.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(found.indices)


def _of_answered(answered: Any, values: Any) -> Any:
    """Values of rows that have an answer."""
    import pyarrow.compute as pc

    return pc.if_else(answered, _array(values), None)


def lines_of(labels: list[Any], place: Any, columns: dict[str, Any]) -> Any:
    r"""Return a label and numbers of each row as lines of CSV.

    Examples
    --------
    >>> import numpy as np
    >>> lines_of(["no", "yes"], np.array([1, 0]), {"score": np.array([0.5, -2.0])}).to_pybytes()
    b'yes,0.5\nno,-2\n'
    """
    import pyarrow as pa
    import pyarrow.csv

    from polyceptron.data.tables import is_number

    texts = list(map(str, labels))
    plain = all(text and text == text.strip() and not set(text) & set(',"\r\n') for text in texts)
    # Numbers need no quotes, and quotes take time.
    numbers = all(not isinstance(one, pa.Array) or is_number(one.type) for one in columns.values())
    style = "none" if plain and numbers else "needed"
    arrays = [_text_array(texts).take(_array(place)), *map(_array, columns.values())]
    arrays = [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in arrays]
    out = pa.BufferOutputStream()
    options = pa.csv.WriteOptions(include_header=False, quoting_style=style, batch_size=1 << 16)
    pa.csv.write_csv(pa.Table.from_arrays(arrays, ["prediction", *columns]), out, options)
    return out.getvalue()


def _array(values: Any) -> Any:
    """Numbers as an array of Arrow; `pyarrow.array` would import pandas, for 0.3 s."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _text_array(texts: list[str]) -> Any:
    import pyarrow as pa

    data = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = pa.py_buffer(ends), pa.py_buffer(b"".join(data))
    return pa.StringArray.from_buffers(len(texts), *buffers)

"""`polyceptron predict`: answers for a file of any length, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._lazy import np
from polyceptron.cli._model import Loaded
from polyceptron.cli._options import data_argument, file_options, model_argument, out_option
from polyceptron.cli._out import check_free, writing

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.tables import Batch


@click.command(short_help="Answer the rows of a file.")
@model_argument
@data_argument
@click.option("--explain", is_flag=True, help="Say which face decided, and its slack.")
@out_option("The answers, as CSV", "-")
@file_options
def predict(
    model: str, data: str, explain: bool, output: str, force: bool, file: FileOptions
) -> None:
    """Answer each row of DATA, in order: a CSV with the columns prediction and score.

    Columns are found by name; others are ignored. The score is above zero for the second class
    in order, below for the first; with more than two classes it is the log-odds of the answer,
    and with a tree its share. --explain adds the face that decided, counted from 0 as `show`
    does, and its slack: how much is left until its inequality fails, or how much it is missed by;
    and the piece that the face is of, where `show` numbers those.
    """
    check_free(output, force, model, data)
    os.environ["POLYCEPTRON_QUIET"] = "1"

    from polyceptron.data.tables import NoRowsError, in_order

    loaded = Loaded(model)
    with (
        loaded.open(data, file) as (table, encoding),
        writing(output) as out,
        suppress(NoRowsError),  # no rows, no answers
    ):
        piece = b",piece" if loaded.rule.which(0) else b""
        out.write(b"prediction,score" + (piece + b",face,slack") * explain + b"\n")
        work = partial(_answers, loaded, encoding, explain)
        tasks = (partial(work, job) for job in table.jobs(*encoding.kinds))
        for lines in in_order(tasks):
            out.write(lines)


def _answers(loaded: Loaded, encoding: Encoding, explain: bool, job: Callable[[], Batch]) -> Any:
    """Answer the rows of a batch, as lines of CSV."""
    import pyarrow as pa

    answers = loaded.rule.decide(loaded.encode(job(), encoding), faces=explain)
    columns: dict[str, Any] = {"score": answers.score}
    if answers.face is not None:  # a row that nothing decides has no face
        if loaded.rule.which(0):
            columns["piece"] = answers.piece + 1
        columns["face"] = pa.array(answers.face, mask=answers.face < 0)
        columns["slack"] = answers.slack
    return lines_of(loaded.rule.labels, answers.place, columns)


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

    texts = list(map(str, labels))
    plain = all(text and text == text.strip() and not set(text) & set(',"\r\n') for text in texts)
    style = "none" if plain else "needed"
    arrays = [_text_array(texts).take(_array(place)), *map(_array, columns.values())]
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

"""`polyceptron predict`: answers for a file of any length, in constant memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli import _options
from polyceptron.cli._data import header_option
from polyceptron.cli._model import data_argument, model_argument
from polyceptron.cli._out import check_free, force_option, out_option, writing

if TYPE_CHECKING:
    from polyceptron.cli._model import Loaded
    from polyceptron.data.encoding import Encoding


@click.command(short_help="Answer the rows of a file.")
@model_argument
@data_argument
@click.option("--explain", is_flag=True, help="Say which face decided, and its slack.")
@out_option("The answers, as CSV", default="-")
@force_option
@header_option
def predict(
    model: str, data: str, explain: bool, output: str, force: bool, header: bool | None
) -> None:
    """Answer each row of DATA, in order: a CSV with the columns prediction and score.

    Columns are found by name; others are ignored. The score is above zero for the second class
    in order, below for the first; with more than two classes it is the log-odds of the answer,
    and with a tree its share. --explain adds the face that decided, counted from 0 as `show`
    does, and its slack: how much is left until its inequality fails, or how much it is missed by.
    """
    check_free(output, force, model, data)
    os.environ["POLYCEPTRON_QUIET"] = "1"

    from polyceptron.cli._format import Formatter
    from polyceptron.cli._model import Loaded, kinds
    from polyceptron.readers._table import NoRowsError
    from polyceptron.readers._threads import in_order

    with _without_pandas():
        loaded = Loaded(model)
    reader, encoding = loaded.open(data, header)
    form = Formatter(loaded.estimator.classes_.tolist(), explain)
    with reader, writing(output) as file, suppress(NoRowsError):  # no rows, no answers
        file.write(form.header)
        jobs = reader.jobs(*kinds(encoding))
        tasks = (_work(job, loaded, encoding, explain, form) for job in jobs)
        for piece in in_order(tasks, _options.cores()):
            file.write(piece)
    loaded.note_unseen()


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Keep scikit-learn from loading pandas, which is of no use here: 60 MB, and 0.4 s."""
    hidden = _options.standalone and not {"pandas", "sklearn"} & set(sys.modules)
    if hidden:
        sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hidden:
            del sys.modules["pandas"]


def _work(
    job: Callable[[], Any], loaded: Loaded, encoding: Encoding, explain: bool, form: Any
) -> Callable[[], bytes]:
    def work() -> bytes:
        answers = loaded.answer(loaded.encode(job(), encoding), explain=explain)
        written: bytes = form(answers)
        return written

    return work

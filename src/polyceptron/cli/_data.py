"""A file as rows to learn from: which column is the class, what the others hold."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from polyceptron.data.columns import Request
    from polyceptron.data.encoding import Encoding


class Training(NamedTuple):
    """Rows and labels, and how they came to be."""

    X: Any
    y: Any
    encoding: Encoding | None  # none where the columns have no names
    target: str
    n_left_out: int  # rows that were left out for missing values


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what to learn from."""
    for option in reversed(
        [
            click.argument("data", type=click.Path(allow_dash=True)),
            click.option(
                "--target",
                "-t",
                metavar="COLUMN",
                help="The column with the classes: its name, or its number, from the end -1. "
                "LIBSVM and .npz files say it themselves; for .npy, a file .npy of labels.",
            ),
            click.option(
                "--features",
                metavar="A,B",
                multiple=True,
                help="Learn from these columns only.",
            ),
            click.option("--drop", metavar="A,B", multiple=True, help="Leave these columns out."),
            click.option(
                "--categories",
                metavar="A,B",
                multiple=True,
                help="Columns of numbers that are codes: one feature for each value.",
            ),
            click.option(
                "--missing",
                type=click.Choice(["drop", "median"]),
                help="Leave out rows with missing values, or fill them with the median (text: the "
                "most frequent value). By default they are an error.",
            ),
            header_option,
        ]
    ):
        command = option(command)
    return command


header_option = click.option(
    "--header/--no-header",
    default=None,
    help="Whether text begins with the names of columns; by default it does if there is no "
    "number on its first line.",
)


@contextmanager
def asking(
    features: Sequence[str],
    drop: Sequence[str],
    categories: Sequence[str],
    missing: str | None,
    header: bool | None,
) -> Iterator[Request]:
    """What the options ask for; errors about them are those of the command line."""
    from polyceptron.data.columns import Request, RequestError

    try:
        yield Request(
            features=tuple(features) or None,
            drop=tuple(drop),
            categories=tuple(categories),
            missing=missing,
            header=header,
            is_command=True,
        )
    except RequestError as error:
        raise click.UsageError(str(error)) from error


def load_training(data: str, *, target: str | None, **options: Any) -> Training:
    """Read a file, and make rows of numbers and labels of it."""
    from polyceptron.data.open import read_files

    with asking(**options) as request, _again(data) as (path, name):
        found = read_files(path, target, request, name)
    note_unnamed(found.unnamed)
    X = found.X if found.is_sparse else found.X.array()
    encoding = found.encoding if found.is_named else None
    return Training(X, found.y, encoding, found.target, found.n_left_out)


@contextmanager
def _again(data: str) -> Iterator[tuple[str, str | None]]:
    """A file that can be read more than once, and what to call it."""
    if data != "-":
        yield data, None
        return
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        copy.flush()
        yield copy.name, "standard input"


def note_unnamed(names: Sequence[str]) -> None:
    """Say which columns were left out."""
    from polyceptron.cli._tables import note

    if names:
        note(f"left out, as without a name: {', '.join(names)} (--features takes them in)")

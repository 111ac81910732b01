"""A file as rows to learn from: which column is the class, what the others hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.readers import Reader, Table


class Training(NamedTuple):
    """Rows and labels, and how they came to be."""

    X: Any
    y: Any
    encoding: Encoding
    target: str
    n_left_out: int
    """Rows that were left out for missing values."""


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
                "LIBSVM and .npz files say it themselves.",
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


def load_training(
    data: str,
    *,
    target: str | None,
    features: Sequence[str],
    drop: Sequence[str],
    categories: Sequence[str],
    missing: str | None,
    header: bool | None,
) -> Training:
    """Read a file, and make rows of numbers and labels of it."""
    from polyceptron.readers import open_table
    from polyceptron.readers._table import NotANumberError
    from polyceptron.sources._columns import column_of, listed

    with open_table(data, header=header) as reader:
        chosen = _target(reader, target)
        if reader.is_sparse:  # which columns there are is known when all is read
            table = reader.read()
            columns = _features(reader, chosen, features, drop)
        else:
            columns = _features(reader, chosen, features, drop)
            try:
                texts = [chosen, *listed(categories, columns)]
                table = reader.read([*columns, chosen], texts=texts)
            except NotANumberError as error:
                raise click.ClickException(
                    f"{error}: mend it, or use --drop or --categories for the column"
                ) from error
    if table.matrix is None:
        table = table.select([*columns, chosen])
    table, n_left_out = _without_gaps(table, chosen, missing)
    y = _labels(table, chosen)
    codes = [column_of(name, columns, table.source) for name in listed(categories, columns)]
    encoding = _encoding(table, columns, missing == "median", codes)
    X = table.matrix[:, _places(table, columns)] if table.matrix is not None else None
    X = encoding.transform(table) if X is None else X
    return Training(X, y, encoding, chosen, n_left_out)


def _places(table: Table, columns: Sequence[str]) -> list[int]:
    places = {name: j for j, name in enumerate(table.sparse_names)}
    return [places[name] for name in columns]


def _target(reader: Reader, target: str | None) -> str:
    from polyceptron.sources._columns import column_of

    if target is not None:
        return column_of(target, reader.names, reader.name)
    if reader.target is None:
        listed = ", ".join(map(repr, reader.names[:10])) + (
            ", ..." if len(reader.names) > 10 else ""
        )
        raise click.UsageError(f"--target is needed: which of {listed} is the class?")
    return reader.target


def _features(
    reader: Reader, target: str, features: Sequence[str], drop: Sequence[str]
) -> list[str]:
    from polyceptron.cli._tables import note
    from polyceptron.sources._columns import column_of, listed

    names = reader.names
    wanted = [column_of(name, names, reader.name) for name in listed(features, names)]
    dropped = {column_of(name, names, reader.name) for name in listed(drop, names)}
    if target in wanted:
        raise click.UsageError(f"--features names the target, {target!r}")
    if target in dropped:
        raise click.UsageError(f"--drop names the target, {target!r}")
    if wanted:
        columns = [name for name in dict.fromkeys(wanted) if name not in dropped]
    else:
        columns = [name for name in names if name not in {target, *dropped, *reader.unnamed}]
        unnamed = [name for name in names if name in reader.unnamed and name not in dropped]
        if unnamed:
            note(f"left out, as without a name: {', '.join(unnamed)} (--features takes them in)")
    if not columns:
        raise click.ClickException(f"{reader.name}: no column is left to learn from")
    return columns


def _without_gaps(table: Table, target: str, missing: str | None) -> tuple[Table, int]:
    import numpy as np

    from polyceptron.data.encoding import is_missing
    from polyceptron.readers import ReaderError

    gaps = {name: is_missing(values) for name, values in table.columns.items()}
    with_gaps = {name: rows for name, rows in gaps.items() if rows.any()}
    if missing is None and with_gaps:
        counts = ", ".join(f"{name!r} ({int(rows.sum())})" for name, rows in with_gaps.items())
        name, rows = next(iter(with_gaps.items()))
        first = table.where(int(np.flatnonzero(rows)[0]), name)
        raise ReaderError(
            f"{first}: a missing value, the first of those in {counts}; "
            "--missing drop leaves such rows out, --missing median fills them"
        )
    # Labels are not made up.
    left_out = gaps[target].copy()
    if missing == "drop":
        left_out |= np.logical_or.reduce(list(gaps.values()))
    if left_out.all():
        raise ReaderError(f"{table.source}: every row has a missing value")
    n = int(left_out.sum())
    return (table.take(np.flatnonzero(~left_out)) if n else table), n


def _labels(table: Table, target: str) -> Any:
    import numpy as np

    from polyceptron.readers import ReaderError
    from polyceptron.sources._columns import MAX_CLASSES, as_labels

    texts = [str(text) for text in table[target]]
    classes = set(texts)
    where = f"{table.source}, column {target!r}"
    if len(classes) < 2:
        raise ReaderError(f"{where}: two classes are needed; all rows are {texts[0]!r}")
    if len(classes) > MAX_CLASSES:
        raise ReaderError(
            f"{where}: {len(classes)} different values in {len(texts)} rows are no classes "
            f"(at most {MAX_CLASSES})"
        )
    return np.array(as_labels(texts))


def _encoding(
    table: Table, columns: Sequence[str], fill: bool, categories: Sequence[str]
) -> Encoding:
    from polyceptron.data.encoding import Column, Encoding
    from polyceptron.readers import ReaderError

    if table.matrix is not None:
        return Encoding([Column(name, "number") for name in columns])
    try:
        return Encoding.learn(table.select(columns), fill=fill, categories=categories)
    except ValueError as error:
        hint = " (--drop)" if "too many categories" in str(error) else ""
        raise ReaderError(f"{table.source}: {error}{hint}") from None

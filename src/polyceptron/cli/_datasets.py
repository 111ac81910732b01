"""`polyceptron datasets`: the paper's sets as files."""

from __future__ import annotations

import csv
import io

import click

import polyceptron
from polyceptron.cli._options import out_option
from polyceptron.cli._out import check_free, write
from polyceptron.cli._terminal import table

_NAMES = {
    "dataset1": ("make_dataset1", "1000 x 10, made: 3 inequalities"),
    "dataset2": ("make_dataset2", "1000 x 20, made: 4 inequalities"),
    "ionosphere": ("load_ionosphere", "351 x 34, radar returns"),
    "breast-cancer": ("load_breast_cancer", "683 x 9, cells of breast tumours"),
}


@click.command(short_help="List the paper's data sets, or write one to a file.")
@click.argument("name", required=False, type=click.Choice(list(_NAMES)), metavar="[NAME]")
@out_option("A CSV", "-")
def datasets(name: str | None, output: str, force: bool) -> None:
    """List the paper's data sets, or write the one called NAME as CSV, with the column `class`."""
    if name is None:
        rows = [[key, about] for key, (_, about) in _NAMES.items()]
        click.echo(table(["name", "rows x columns"], rows, "<<"))
        return
    check_free(output, force)
    bunch = getattr(polyceptron.datasets, _NAMES[name][0])()
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*bunch.feature_names, "class"])
    for row, label in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True):
        values = [int(value) if value.is_integer() else repr(value) for value in row]
        lines.writerow([*values, bunch.target_names[int(label > 0)]])
    write(output, out.getvalue())

"""`polyceptron show`: what is in a model file."""

from __future__ import annotations

import click

from polyceptron.cli._learning import show_faces
from polyceptron.cli._model import Loaded
from polyceptron.cli._options import model_argument
from polyceptron.cli._terminal import percent, section, shown, table


@click.command(short_help="Show the inequalities of a model.")
@model_argument
def show(model: str) -> None:
    """Show what a model file holds: the classes, the inequalities, how it was learned."""
    loaded = Loaded(model)
    summary = loaded.summary
    click.echo(f"Learner: {type(loaded.estimator).__name__}")
    click.echo(f"Classes: {', '.join(map(shown, loaded.rule.labels))}")
    if loaded.target is not None:
        click.echo(f"Target: {shown(loaded.target)}")
    if isinstance(summary.get("rows"), int):
        click.echo(f"Rows learned from: {summary['rows']}")
    shares = summary.get("accuracy")
    for name, share in shares.items() if isinstance(shares, dict) else ():
        if isinstance(share, float):
            click.echo(f"Accuracy, {shown(name)}: {percent(share)}")
    show_faces(loaded.rule)
    columns = loaded.encoding.columns if loaded.encoding is not None else ()
    if any(column.kind == "category" or column.fill is not None for column in columns):
        rows = [
            [shown(c.name), c.kind, ", ".join(map(shown, c.categories)), c.fill] for c in columns
        ]
        rows = [["" if cell is None else cell for cell in row] for row in rows]
        section("Columns", table(["column", "kind", "categories", "if missing"], rows, "<<<<"))

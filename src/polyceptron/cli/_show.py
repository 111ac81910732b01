"""`polyceptron show` and `polyceptron evaluate`."""

from __future__ import annotations

import click

from polyceptron.cli._data import header_option
from polyceptron.cli._lazy import metrics, np
from polyceptron.cli._model import Loaded, data_argument, model_argument
from polyceptron.cli._scores import confusion, show_faces
from polyceptron.cli._tables import percent, section, shown, table


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


@click.command(short_help="Say how well a model answers a file.")
@model_argument
@data_argument
@click.option("--target", "-t", metavar="COLUMN", help="The column with the classes.")
@header_option
def evaluate(model: str, data: str, target: str | None, header: bool | None) -> None:
    """Compare a model's answers with the classes in DATA."""
    loaded = Loaded(model)
    target = target or loaded.target
    if target is None:
        raise click.UsageError("--target is needed: the model does not say which column it was.")
    loaded.check_target(target)
    classes = loaded.rule.classes
    truth: list[int] = []
    answers = []
    for rows, X in loaded.pieces(data, header, [target]):
        truth += loaded.classes_in(rows, target)
        answers.append(loaded.rule.decide(X).place)
    found, right = np.concatenate(answers), np.array(truth)
    hits = int((found == right).sum())
    click.echo(f"Accuracy: {percent(hits / len(right))} ({hits} of {len(right)} rows)")
    section("Answers", confusion(classes[right], classes[found], classes))
    precision, recall, _, n = metrics.precision_recall_fscore_support(
        right, found, labels=range(len(classes)), zero_division=0
    )
    shares = zip(
        map(shown, classes.tolist()), n, map(percent, precision), map(percent, recall), strict=True
    )
    section("Classes", table(["class", "rows", "precision", "recall"], shares))

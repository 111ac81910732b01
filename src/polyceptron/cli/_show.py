"""`polyceptron show` and `polyceptron evaluate`."""

from __future__ import annotations

import click

from polyceptron.cli._data import header_option
from polyceptron.cli._model import data_argument, model_argument
from polyceptron.cli._tables import percent, section, shown, table


@click.command(short_help="Show the inequalities of a model.")
@model_argument
def show(model: str) -> None:
    """Show what a model file holds: the classes, the inequalities, how it was learned."""
    from polyceptron.cli._model import Loaded
    from polyceptron.cli._scores import show_faces

    loaded = Loaded(model)
    summary = loaded.summary
    labels = [shown(label) for label in loaded.rule.labels]
    click.echo(f"Learner: {type(loaded.estimator).__name__}")
    click.echo(f"Classes: {', '.join(labels)}")
    if loaded.target is not None:
        click.echo(f"Target: {shown(loaded.target)}")
    if isinstance(summary.get("rows"), int):
        click.echo(f"Rows learned from: {summary['rows']}")
    shares = summary.get("accuracy")
    for name, share in shares.items() if isinstance(shares, dict) else ():
        if isinstance(share, float):
            click.echo(f"Accuracy, {shown(name)}: {percent(share)}")
    show_faces(loaded.rule)
    if loaded.encoding is not None:
        rows = [
            [
                shown(c.name),
                c.kind,
                ", ".join(map(shown, c.categories)),
                "" if c.fill is None else c.fill,
            ]
            for c in loaded.encoding.columns
        ]
        if any(row[1] == "category" or row[3] != "" for row in rows):
            section("Columns", table(["column", "kind", "categories", "if missing"], rows, left=4))


@click.command(short_help="Say how well a model answers a file.")
@model_argument
@data_argument
@click.option("--target", "-t", metavar="COLUMN", help="The column with the classes.")
@header_option
def evaluate(model: str, data: str, target: str | None, header: bool | None) -> None:
    """Compare a model's answers with the classes in DATA."""
    import numpy as np

    from polyceptron.cli._model import Loaded
    from polyceptron.cli._scores import confusion

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
    share = float(np.mean(found == right))
    click.echo(f"Accuracy: {percent(share)} ({int((found == right).sum())} of {len(right)} rows)")
    section("Answers", confusion(classes[right], classes[found], classes))
    rows_of_classes = []
    for j, label in enumerate(classes.tolist()):
        n_found, n_right = int((found == j).sum()), int((right == j).sum())
        hit = int(((found == j) & (right == j)).sum())
        shares = [percent(hit / max(1, n)) for n in (n_found, n_right)]
        rows_of_classes.append([shown(label), n_right, *shares])
    section("Classes", table(["class", "rows", "precision", "recall"], rows_of_classes))

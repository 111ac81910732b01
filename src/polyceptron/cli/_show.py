"""`polyceptron show` and `plot`: a model in words, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import polyceptron
from polyceptron.cli._explain import find_row
from polyceptron.cli._lazy import np, source, tables
from polyceptron.cli._learning import show_faces, show_paths
from polyceptron.cli._model import Loaded
from polyceptron.cli._options import file_options, model_argument, out_option
from polyceptron.cli._out import check_free
from polyceptron.cli._terminal import Waiting, note, percent, section, shown, table
from polyceptron.learners.registry import title_of_learner
from polyceptron.utils.lazy import need

if TYPE_CHECKING:
    from polyceptron.data.guesses import FileOptions

_ENDS = (".png", ".svg", ".pdf", ".html")
_MOST = 20_000
"""Rows in a picture; more would be a blot."""


@click.command(short_help="Show the inequalities of a model.")
@model_argument
@click.option("--path", is_flag=True, help="Also what --max-terms tried, those of few terms first.")
def show(model: str, path: bool) -> None:
    """Show what a model file holds: the classes, the inequalities, how it was learned."""
    loaded = Loaded(model)
    tried = _path_of(model) if path else None
    summary = loaded.summary
    click.echo(f"Learner: {title_of_learner(loaded.learner)}")
    click.echo(f"Classes: {', '.join(map(shown, loaded.rule.labels))}")
    if loaded.target is not None:
        click.echo(f"Target: {shown(loaded.target)}")
    if isinstance(summary.get("rows"), int):
        click.echo(f"Rows learned from: {summary['rows']}")
    shares = summary.get("accuracy")
    for name, share in shares.items() if isinstance(shares, dict) else ():
        if isinstance(share, float):
            click.echo(f"Accuracy, {shown(name)}: {percent(share)}")
    digits = summary.get("digits")
    show_faces(
        loaded.rule,
        digits=digits if digits in range(1, 18) else None,
        encoding=loaded.encoding,
    )
    if loaded.rule.edits:
        section("Edits", "\n".join(f"{one.when} {one}" for one in loaded.rule.edits))
    if tried is not None:
        show_paths(tried)
    if loaded.rule.locked:
        names = loaded.rule.edit().addresses.items()
        held = [shown(name) for name, at in names if at in loaded.rule.locked]
        click.echo(f"\nLocked: {', '.join(held)}")
    columns = loaded.encoding.columns if loaded.encoding is not None else ()
    if any(c.kind != "number" or c.categories or c.fill is not None for c in columns):
        rows = [
            [
                shown(c.name),
                c.kind,
                ", ".join(map(shown, c.categories)),
                "" if c.fill is None else shown(c.fill),
            ]
            for c in columns
        ]
        section("Columns", table(["column", "kind", "categories", "if missing"], rows, "<<<<"))


def _path_of(model: str) -> dict[str, list[Any]]:
    """What was tried to learn this model with few terms."""
    from polyceptron.model_file import read_model

    path: dict[str, list[Any]] | None = read_model(Path(model)).estimator._remembered("path_")
    if path is None:
        raise click.UsageError(f"--path: {model} was learned without --max-terms and the like.")
    return path


@click.command(short_help="Draw a model.")
@model_argument
@click.argument("data", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--row", type=click.IntRange(1), metavar="N", help="Draw why this row is answered so."
)
@click.option("--path", is_flag=True, help="Draw what --max-terms tried: accuracy against terms.")
@out_option("A picture: its name ends in .png, .svg, .pdf or .html")
@file_options
def plot(
    model: str,
    data: str | None,
    row: int | None,
    path: bool,
    output: str,
    force: bool,
    file: FileOptions,
) -> None:
    """Draw a model: what decides where, and the weight of each column; with DATA also its rows."""
    if not output.lower().endswith(_ENDS):
        raise click.BadParameter(
            f"{output!r} must end in .png, .svg, .pdf or .html", param_hint="-o"
        )
    if row is not None and data is None:
        raise click.UsageError("--row needs DATA.")
    if path and data is not None:
        raise click.UsageError("--path takes no DATA: the model file has what was tried.")
    check_free(output, force, model, data)
    loaded = None if path else Loaded(model)
    need("matplotlib", "plot", "plot")
    plots = polyceptron.plots
    if loaded is None:
        plots.save(plots.plot_paths(_path_of(model)), output)
    elif row is not None and data is not None:
        _, x, medians, spreads = find_row(loaded, data, file, row)
        reference = None if medians is None else np.array([medians])
        made = plots.WaterfallDisplay.from_estimator(loaded.rule, x, reference, spreads=spreads)
        plots.save(made, output)
    else:
        X, y = (None, None) if data is None else _first_rows(loaded, data, file)
        with Waiting("Drawing"):
            plots.save(plots.plot_model(loaded.rule, X, y), output)
    click.echo(f"Picture: {output}")


def _first_rows(loaded: Loaded, data: str, file: FileOptions) -> tuple[Any, Any]:
    """The first rows of a file, with their labels if it has them."""
    target, more = loaded.target, []
    if data != "-" and target is not None:
        with tables.open_table(data, file, expect=loaded.feature_columns) as reader:
            more = [target] if target in reader.names else []
    parts, n = [], 0
    labels: list[int] = []
    for batch, X in loaded.pieces(data, file, more):
        parts.append(X.toarray() if hasattr(X, "toarray") else X)
        far = np.flatnonzero(np.abs(parts[-1]).max(axis=1) > polyceptron.plots.LARGEST)
        if far.size:
            where = batch.where(int(far[0]), None)
            raise source.SourceError(f"{where}: a number that is too large to draw")
        labels += loaded.classes_in(batch, more[0]) if more else []
        n += batch.n_rows
        if n > _MOST:
            note(f"the first {_MOST} rows are drawn")
            break
    X = np.concatenate(parts)[:_MOST]
    return X, loaded.rule.classes[labels[:_MOST]] if labels else None

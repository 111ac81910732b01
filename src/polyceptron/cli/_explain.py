"""`polyceptron explain`: why a row is answered as it is, and what would change that."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

import polyceptron
from polyceptron.cli._lazy import columns, np, source, text
from polyceptron.cli._model import Loaded
from polyceptron.cli._options import (
    bounds_option,
    column_bounds,
    columns_option,
    data_argument,
    feature_places,
    file_options,
    model_argument,
)
from polyceptron.cli._terminal import section, shown, table

if TYPE_CHECKING:
    from polyceptron.data.guesses import FileOptions

_MOST = 12
"""Features in the table of contributions; the others are one line."""


@click.command(short_help="Explain the answer for one row.")
@model_argument
@data_argument
@click.option(
    "--row",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="The row, counted from 1 after the header.",
)
@columns_option(
    "--freeze", "Columns that a change must leave alone; those of more than two texts always are."
)
@bounds_option("Where a change must keep a column")
@columns_option("--integers", "Columns that must change to whole numbers.")
@file_options
def explain(model: str, data: str, row: int, file: FileOptions, **asked: Sequence[str]) -> None:
    """Explain the answer for row N of DATA.

    Which faces it fails, and by how much; what each column adds to the face that decides; how
    far the row is from another answer, and the smallest change that leads there: `predict`
    answers the values shown so. Where the model knows the spreads of its columns, as one of
    `fit` does, changes are weighed by them, and columns that never varied are left alone.
    """
    loaded = Loaded(model)
    rule, explanations = loaded.rule, polyceptron.explain
    place, x, medians, spreads = find_row(loaded, data, file, row)
    limits = _limits(loaded, spreads, **asked)
    decision = rule.decide(x[None, :])
    answer, number, change = rule.labels[int(decision.place[0])], int(decision.piece[0]), None
    judge, place_inside, _ = rule.pieces[number]
    try:  # All before anything is said: it may fail.
        faces = explanations.rejected_by(judge, x)
        why = explanations.contributions(judge, x, medians)
        if not rule.is_most_probable:
            radius = explanations.robustness(rule, x, weights=limits["weights"])
            change = radius, explanations.counterfactual(rule, x, **limits)
    except explanations.ExplainError as error:
        raise click.ClickException(f"{place}: {error}") from error
    click.echo(f"Row {row} ({place}): {shown(answer)}")
    _say_faces(faces, shown(rule.labels[place_inside]) + rule.which(number))
    _say_contributions(why, x, np.zeros(len(x)) if spreads is None else spreads)
    _say_change(rule, change, spreads is not None)


def find_row(loaded: Loaded, data: str, file: FileOptions, row: int) -> tuple[str, Any, Any, Any]:
    """Return where a row is and what it holds, without reading on; and what is usual there.

    That is the medians and spreads of the columns, if the model's summary has them. A row whose
    margins are no numbers is refused.
    """
    before = 0
    for rows, X in loaded.pieces(data, file):
        if row <= before + rows.n_rows:
            one = X[row - 1 - before]
            x = one.toarray().ravel() if hasattr(one, "toarray") else one
            place = rows.where(row - 1 - before, None)
            break
        before += rows.n_rows
    else:
        name = "standard input" if data == "-" else data
        raise source.SourceError(f"{name}: there is no row {row}; it has {before}")
    known = loaded.summary.get("columns")
    usual = known if isinstance(known, dict) else {}
    medians, spreads = (_numbers(usual.get(key), len(x)) for key in ("median", "spread"))
    against = np.zeros(len(x)) if medians is None else medians
    for polyhedron, *_ in loaded.rule.pieces:
        with np.errstate(over="ignore", invalid="ignore"):
            found = polyhedron.W * (x - against), polyhedron.margins(np.stack([x, against]))
        if not all(np.isfinite(array).all() for array in found):
            raise click.ClickException(f"{place}: its numbers are too large to explain")
    return place, x, medians, spreads


def _numbers(values: Any, n: int) -> Any:
    """An array of n numbers, or None if they are anything else."""
    with suppress(TypeError, ValueError):
        array = np.array(values, dtype=float)
        return array if array.shape == (n,) and np.isfinite(array).all() else None
    return None


def _limits(
    loaded: Loaded,
    spreads: Any,
    *,
    freeze: Sequence[str],
    bounds: Sequence[str],
    integers: Sequence[str],
) -> dict[str, Any]:
    """What a change has to keep to, and what it costs."""
    names, texts, flags, held = loaded.rule.names, list[str](), dict[str, int](), set[int]()
    for column, start, stop in loaded.encoding.places() if loaded.encoding is not None else ():
        if column.kind == "category":  # never changes: a red that is half blue says nothing
            texts.append(column.name)
            held |= set(range(start, stop))
        elif column.kind == "binary":
            flags[column.name] = start
    held |= set(feature_places("--freeze", freeze, names, [*texts, *flags]))
    held |= {flags[name] for name in columns.listed(freeze, [*names, *flags]) if name in flags}
    within, whole, weights = (
        column_bounds(bounds, names),
        feature_places("--integers", integers, names),
        None,
    )
    whole += [j for j in flags.values() if j not in whole]
    within |= {j: (0.0, 1.0) for j in flags.values() if j not in within}
    if spreads is not None:
        held |= set(np.flatnonzero(spreads == 0).tolist()) - ({*within, *whole} - {*flags.values()})
        weights = np.where(spreads > 0, spreads, 1.0) ** -2.0
    return {"bounds": within, "integers": whole, "weights": weights, "frozen": sorted(held)}


def _say_faces(faces: Sequence[Any], name: str) -> None:
    rejecting, n = sum(face.rejects for face in faces), len(faces)
    title = f"Inside of {name}: {'its face holds' if n == 1 else f'all {n} faces hold'}"
    if rejecting:
        title = f"Outside of {name}: {rejecting} of {n} faces fail"
    states = "holds", "fails"
    rows = [
        [f.face, states[f.rejects], f"{f.slack:.4g}", f"{f.distance:.4g}", f.inequality]
        for f in faces
    ]
    section(title, table(["face", "", "slack", "distance", "inequality"], rows, "<<>><"))


def _say_contributions(why: Any, x: Any, spreads: Any) -> None:
    value = dict(zip(why.values, x.tolist(), strict=True))
    spread = dict(zip(why.values, spreads.tolist(), strict=True))
    order = sorted(why.values, key=lambda name: -abs(why.values[name]))
    rows = []
    for n in order[:_MOST]:
        pair = [text.number_text(one, spread[n]) for one in (value[n], why.reference[n])]
        rows.append([text.quoted(n), *pair, f"{why.values[n]:+.4g}"])
    if len(order) > _MOST:
        rest = sum(why.values[name] for name in order[_MOST:])
        rows.append([f"{len(order) - _MOST} others", "", "", f"{rest:+.4g}"])
    title = f"Face {why.face} decides: {why.base:.4g} and what columns add are {why.slack:.4g}"
    section(title, table(["column", "value", "against", "adds"], rows))


def _say_change(rule: polyceptron.Rule, change: tuple[float, Any] | None, weighed: bool) -> None:
    if change is None:
        click.echo(
            "\nThe answer is the class that its polyhedron makes most probable, so what would "
            "change it is not known."
        )
        return
    radius, found = change
    unit = ", each column counted in its spreads" if weighed else ""
    click.echo(f"\nThe answer is the same within a distance of {radius:.4g}{unit}.")
    if not found.feasible:
        click.echo(f"\nNo change leads to another answer: {found.reason}.")
        return
    changes = [[text.quoted(name), *values] for name, values in found.shown.items()]
    (piece,) = rule.decide(found.x[None, :]).piece  # need not be the one shown above
    reached = rule.labels[rule.pieces[piece].place] == found.after
    title = f"Smallest change to {shown(found.after)}{rule.which(piece) if reached else ''}"
    section(title, table(["column", "now", "changed"], changes))

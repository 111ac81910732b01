"""`polyceptron explain`: why a row is answered as it is, and what would change that."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

import polyceptron
from polyceptron.cli._lazy import np, source, text
from polyceptron.cli._model import Loaded, find_label
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
    from polyceptron.data.encoding import Column
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.tables import Batch

_PROGRAMS = 2_000
"""To solve at most by default: some seconds. A change that needs more is said to be approximate."""
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
@click.option("--target", metavar="LABEL", help="The answer that a change is to reach; else any.")
@click.option(
    "--at-most", type=click.IntRange(1), metavar="N", help="Columns that may change at most."
)
@click.option(
    "--programs",
    type=click.IntRange(1),
    metavar="N",
    default=_PROGRAMS,
    show_default=True,
    help="How long to look for the smallest change: programs to solve.",
)
@columns_option("--freeze", "Columns that a change must leave alone.")
@bounds_option("Where a change must keep a column, whatever was seen of it")
@columns_option("--integers", "Columns that must change to whole numbers.")
@file_options
def explain(
    model: str,
    data: str,
    row: int,
    file: FileOptions,
    target: str | None,
    at_most: int | None,
    programs: int,
    **asked: Sequence[str],
) -> None:
    """Explain the answer for row N of DATA.

    Which faces it fails, and by how much; what each column adds to the face that decides; how
    far the row is from another answer, and the smallest change that leads there: `predict`
    answers the values shown so. Where the model knows what its columns are like, as one of `fit`
    does, changes are weighed by their spreads and stay within what was seen: between the lowest
    and the highest value, whole where all values were, categories among those known.
    """
    loaded = Loaded(model)
    rule, explanations = loaded.rule, polyceptron.explain
    place, x, medians, spreads = find_row(loaded, data, file, row)
    limits = _limits_of_change(loaded, x, spreads, **asked)
    decision = rule.decide(x[None, :])
    answer, number = rule.labels[int(decision.place[0])], int(decision.piece[0])
    wanted = None if target is None else find_label("--target", target, rule.labels)
    judge, place_inside, _ = rule.pieces[number]
    try:  # All before anything is said: it may fail.
        faces = explanations.rejected_by(judge, x)
        why = explanations.contributions(judge, x, medians)
        radius = explanations.robustness(rule, x, weights=limits["weights"])
        change = None
        if wanted is None or wanted != answer:
            change = explanations.counterfactual(
                rule, x, target=wanted, max_changes=at_most, max_nodes=programs, **limits
            )
    except explanations.ExplainError as error:
        raise click.ClickException(f"{place}: {error}") from error
    click.echo(f"Row {row} ({place}): {shown(answer)}{_conflicting_claims(rule, x)}")
    texts = polyceptron.rule.texts_of_faces(judge, loaded.encoding)
    _say_faces(faces, texts, shown(rule.labels[place_inside]) + rule.which(number))
    _say_contributions(why, x, np.zeros(len(x)) if spreads is None else spreads)
    unit = "" if spreads is None else ", each column counted in its spreads"
    click.echo(f"\nThe answer is the same within a distance of {radius:.4g}{unit}.")
    if change is None:
        click.echo(f"\nThe answer is {shown(answer)} already.")
    else:
        _say_change(loaded, x, change, programs)


def _conflicting_claims(rule: polyceptron.Rule, x: Any) -> str:
    """Which rules hold, where the answer is the most probable class of none or of several."""
    if not rule.is_most_probable:
        return ""
    inside = np.flatnonzero(rule.scores(x[None, :])[0] >= 0)
    held = sorted({rule.pieces[p].place for p in inside.tolist()})
    if len(held) == 1:
        return ""
    names = " and ".join(shown(rule.labels[place]) for place in held)
    which = f"the rules of {names} hold" if held else "no rule holds"
    return f", the most probable class: {which}"


def find_row(loaded: Loaded, data: str, file: FileOptions, row: int) -> tuple[str, Any, Any, Any]:
    """Return where a row is and what it holds, without reading on; and what is usual there.

    That is the medians and spreads of the columns, if the model's summary has them. A row whose
    margins are no numbers is refused.
    """
    before = 0
    for rows, X in loaded.pieces(data, file, skip=True):
        if row <= before + rows.n_rows:
            one = X[row - 1 - before]
            x = one.toarray().ravel() if hasattr(one, "toarray") else one
            place = rows.where(row - 1 - before, None)
            _refuse_gaps(loaded, rows, row - 1 - before, x)
            break
        before += rows.n_rows
    else:
        name = "standard input" if data == "-" else data
        raise source.SourceError(f"{name}: there is no row {row}; it has {before}")
    known = loaded.summary.get("columns")
    usual = known if isinstance(known, dict) else {}
    medians, spreads = (_array_of_numbers(usual.get(key), len(x)) for key in ("median", "spread"))
    against = np.zeros(len(x)) if medians is None else medians
    for polyhedron, *_ in loaded.rule.pieces:
        with np.errstate(over="ignore", invalid="ignore"):
            found = polyhedron.W * (x - against), polyhedron.margins(np.stack([x, against]))
        if not all(np.isfinite(array).all() for array in found):
            raise click.ClickException(f"{place}: its numbers are too large to explain")
    return place, x, medians, spreads


def _refuse_gaps(loaded: Loaded, rows: Batch, row: int, x: Any) -> None:
    """Refuse a row with a gap that the model cannot fill; those of other rows do not count."""
    if rows.matrix is not None or loaded.encoding is None:
        return
    for column, start, stop in loaded.encoding.places():
        if np.isnan(x[start:stop]).any():
            raise source.SourceError(
                f"{rows.where(row, column.name)}: a missing value, which this model cannot fill "
                "(fit --missing median makes one that can)"
            )


def _array_of_numbers(values: Any, n: int) -> Any:
    """An array of n numbers, or None if they are anything else."""
    with suppress(TypeError, ValueError):
        array = np.array(values, dtype=float)
        return array if array.shape == (n,) and np.isfinite(array).all() else None
    return None


def _limits_of_change(
    loaded: Loaded,
    x: Any,
    spreads: Any,
    *,
    freeze: Sequence[str],
    bounds: Sequence[str],
    integers: Sequence[str],
) -> dict[str, Any]:
    """What a change has to keep to, and what it costs."""
    places = list(loaded.encoding.places()) if loaded.encoding is not None else []
    names, spans = loaded.rule.names, {c.name: range(a, b) for c, a, b in places if c.is_text}
    held = set(feature_places("--freeze", freeze, names, spans))
    held |= {start for column, start, _ in places if column.kind == "missing"}
    within, whole = column_bounds(bounds, names), feature_places("--integers", integers, names)
    weights = None
    if spreads is not None:
        held |= set(np.flatnonzero(spreads == 0).tolist()) - {*within, *whole}
        weights = np.where(spreads > 0, spreads, 1.0) ** -2.0
    limits = {"bounds": within, "integers": whole, "weights": weights, "frozen": sorted(held)}
    return limits | {"domain": _domain(loaded, len(x))}


def _domain(loaded: Loaded, n: int) -> Any:
    """What was seen of the columns; of a file that does not say, what follows from their kinds."""
    Domain = polyceptron.explain.Domain
    known = loaded.summary.get("columns")
    usual = known if isinstance(known, dict) else {}
    seen = [_array_of_numbers(usual.get(key), n) for key in ("lowest", "highest", "whole")]
    own = None if loaded.encoding is None else Domain.of_columns(loaded.encoding)
    if any(one is None for one in seen):
        return own
    low, high, whole = seen
    if own is not None:
        low, high = np.maximum(low, own.lower), np.minimum(high, own.upper)
        whole = whole.astype(bool) | own.whole
    ends = tuple(low.tolist()), tuple(high.tolist())
    return Domain(*ends, tuple(whole.astype(bool).tolist()), () if own is None else own.categories)


def _say_faces(faces: Sequence[Any], texts: Sequence[str], name: str) -> None:
    rejecting, n = sum(face.rejects for face in faces), len(faces)
    title = f"Inside of {name}: {'its face holds' if n == 1 else f'all {n} faces hold'}"
    if rejecting:
        title = f"Outside of {name}: {rejecting} of {n} faces fail"
    states = "holds", "fails"
    rows = [
        [f.face, states[f.rejects], f"{f.slack:.4g}", f"{f.distance:.4g}", text]
        for f, text in zip(faces, texts, strict=True)
    ]
    section(
        title, table(["face", "", "slack", "distance in raw units", "inequality"], rows, "<<>><")
    )


def _say_contributions(why: Any, x: Any, spreads: Any) -> None:
    value = dict(zip(why.values, x.tolist(), strict=True))
    spread = dict(zip(why.values, spreads.tolist(), strict=True))
    counting = [name for name in why.values if why.values[name]]
    order = sorted(counting, key=lambda name: -abs(why.values[name]))
    rows = []
    for n in order[:_MOST]:
        pair = [text.number_text(one, spread[n]) for one in (value[n], why.reference[n])]
        rows.append([text.quoted(n), *pair, f"{why.values[n]:+.4g}"])
    if len(order) > _MOST:
        rest = sum(why.values[name] for name in order[_MOST:])
        rows.append([f"{len(order) - _MOST} others", "", "", f"{rest:+.4g}"])
    title = f"Face {why.face} decides: {why.base:.4g} and what columns add are {why.slack:.4g}"
    section(title, table(["column", "value", "against", "adds"], rows))


def _say_change(loaded: Loaded, x: Any, found: Any, programs: int) -> None:
    rule = loaded.rule
    longer = f"--programs {10 * programs} looks longer"
    if not found.feasible and not found.exact:
        click.echo(
            f"\nNo change was found within the search of {programs:,} programs, which is no proof "
            f"that there is none: {longer}, and --bounds and --freeze leave less to look through."
        )
        return
    if not found.feasible:
        click.echo(f"\nNo change leads to another answer: {found.reason}.")
        return
    changes = [[text.quoted(name), *pair] for name, pair in _changes(loaded, x, found).items()]
    (piece,) = rule.decide(found.x[None, :]).piece  # need not be the one shown above
    reached = rule.labels[rule.pieces[piece].place] == found.after
    smallest = "Smallest change" if found.exact else "A small change (approximate: not all tried)"
    title = f"{smallest} to {shown(found.after)}{rule.which(piece) if reached else ''}"
    section(title, table(["column", "now", "changed"], changes))
    if not found.exact:
        click.echo(f"{longer}.")


def _changes(loaded: Loaded, x: Any, found: Any) -> dict[str, tuple[str, str]]:
    """The old and the new value of every column that changes; of text, its categories."""
    changes = dict(found.shown)
    for column, start, stop in loaded.encoding.places() if loaded.encoding is not None else ():
        if column.is_text and (found.x[start:stop] != x[start:stop]).any():
            for name in column.feature_names:
                changes.pop(name, None)
            old, new = (_category(column, row[start:stop]) for row in (x, found.x))
            changes[column.name] = (old, new)
    return changes


def _category(column: Column, features: Any) -> str:
    """The value of a column of text that these features stand for."""
    if column.kind == "binary":
        return shown(column.categories[int(features[0])])
    return shown(column.categories[int(features.argmax())]) if features.any() else "another"

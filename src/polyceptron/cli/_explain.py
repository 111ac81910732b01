"""`polyceptron explain`: why a row is answered as it is, and what would change that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._data import header_option
from polyceptron.cli._model import data_argument, model_argument
from polyceptron.cli._scores import piece_of
from polyceptron.cli._tables import section, shown, table

if TYPE_CHECKING:
    from polyceptron.cli._model import Loaded
    from polyceptron.rule import Rule

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
@click.option(
    "--freeze",
    metavar="A,B",
    multiple=True,
    help="Columns that a change must leave alone; text columns always are.",
)
@click.option(
    "--bounds",
    metavar="A=LOW:HIGH",
    multiple=True,
    help="Where a change must keep a column; either end may be left out.",
)
@click.option(
    "--integers", metavar="A,B", multiple=True, help="Columns that must change to whole numbers."
)
@header_option
def explain(
    model: str,
    data: str,
    row: int,
    freeze: Sequence[str],
    bounds: Sequence[str],
    integers: Sequence[str],
    header: bool | None,
) -> None:
    """Explain the answer for row N of DATA.

    Which faces it fails, and by how much; what each column adds to the face that decides; how
    far the row is from another answer, and the smallest change that leads there: `predict`
    answers the values shown so. Where the model knows the spreads of its columns, as one of
    `fit` does, changes are weighed by them, and columns that never varied are left alone.
    """
    from polyceptron import explain as explanations
    from polyceptron.cli._model import Loaded

    loaded = Loaded(model)
    rule = loaded.rule
    place, x = find_row(loaded, data, header, row)
    medians, spreads = typical(loaded, len(x))
    limits = _limits(loaded, freeze, bounds, integers, spreads)
    decision = rule.decide(x[None, :])
    answer = rule.labels[int(decision.place[0])]
    judge: Any = rule
    if rule.is_most_probable:  # its own polyhedron says why it is so probable
        judge = rule.pieces[int(decision.piece[0])].polyhedron
    # All before anything is said: it may fail.
    refuse_huge(rule, x, medians, place)
    try:
        faces = explanations.rejected_by(judge, x)
        why = explanations.contributions(judge, x, medians) if faces else None
        change = None
        if not rule.is_most_probable:
            radius = explanations.robustness(rule, x, weights=limits.get("weights"))
            change = radius, explanations.counterfactual(rule, x, **limits)
        label, number = answer, 1
        if not rule.is_most_probable:
            label, number, *_ = explanations.membership(rule, x)
            number += 1
    except explanations.ExplainError as error:
        raise click.ClickException(f"{place}: {error}") from error
    click.echo(f"Row {row} ({place}): {shown(answer)}")
    _say_faces(faces, shown(label) + piece_of(rule, number))
    if why is not None:
        _say_contributions(why, x)
    _say_change(change, spreads is not None)


def refuse_huge(rule: Rule, x: Any, medians: Any, place: str) -> None:
    """Refuse a row whose margins are no numbers."""
    import numpy as np

    rows = x[None, :] if medians is None else np.stack([x, medians])
    with np.errstate(over="ignore", invalid="ignore"):
        terms = [abs(piece.polyhedron.W * (rows[0] - rows[-1])) for piece in rule.pieces]
        values = [piece.polyhedron.margins(rows) for piece in rule.pieces]
    if not all(np.isfinite(array).all() for array in (*terms, *values)):
        raise click.ClickException(f"{place}: its numbers are too large to explain")


def _limits(
    loaded: Loaded,
    freeze: Sequence[str],
    bounds: Sequence[str],
    integers: Sequence[str],
    spreads: Any,
) -> dict[str, Any]:
    """What a change has to keep to, and what it costs."""
    import numpy as np

    from polyceptron.data.columns import listed

    names = loaded.rule.names
    places = {name: j for j, name in enumerate(names)}
    columns = loaded.encoding.columns if loaded.encoding is not None else ()
    texts = [column.name for column in columns if column.kind == "category"]
    # Features of text columns never change: a red that is half blue says nothing.
    kinds = [column.kind for column in columns for _ in column.feature_names]
    held = {j for j, kind in enumerate(kinds) if kind == "category"}
    asked = [name for name in listed(freeze, [*names, *texts]) if name not in texts]
    held |= set(_places(asked, places, "--freeze"))
    limits: dict[str, Any] = {
        "bounds": _bounds(bounds, places),
        "integers": _places(listed(integers, names), places, "--integers"),
    }
    if spreads is not None:
        named = {*limits["bounds"], *limits["integers"]}
        held |= {j for j, spread in enumerate(spreads) if spread == 0 and j not in named}
        limits["weights"] = np.where(spreads > 0, spreads, 1.0) ** -2.0
    return limits | {"frozen": sorted(held)}


def _say_change(change: tuple[float, Any] | None, weighed: bool) -> None:
    from polyceptron.utils.text import quoted

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
    changes = [[quoted(name), old, new] for name, (old, new) in found.shown.items()]
    body = table(["column", "now", "changed"], changes)
    section(f"Smallest change to {shown(found.after)}", body)


def find_row(loaded: Loaded, data: str, header: bool | None, row: int) -> tuple[str, Any]:
    """Return where a row is and what it holds, without reading on."""
    from polyceptron.data.source import SourceError

    before = 0
    for rows, X in loaded.pieces(data, header):
        if row <= before + rows.n_rows:
            one = X[row - 1 - before]
            x = one.toarray().ravel() if hasattr(one, "toarray") else one
            return rows.where(row - 1 - before, None), x
        before += rows.n_rows
    name = "standard input" if data == "-" else data
    raise SourceError(f"{name}: there is no row {row}; it has {before}")


def typical(loaded: Loaded, n: int) -> tuple[Any, Any]:
    """Return the medians and spreads of the columns, if the model's summary has them."""
    import numpy as np

    columns = loaded.summary.get("columns")
    found = []
    for key in ("median", "spread"):
        values = columns.get(key) if isinstance(columns, dict) else None
        numbers = isinstance(values, list) and all(isinstance(v, int | float) for v in values)
        array = np.array(values, dtype=float) if numbers else np.empty(0)
        found.append(array if array.shape == (n,) and np.isfinite(array).all() else None)
    return found[0], found[1]


def _say_faces(faces: Sequence[Any], name: str) -> None:
    rejecting = sum(face.rejects for face in faces)
    n = len(faces)
    if not rejecting:
        title = f"Inside of {name}: {'its face holds' if n == 1 else f'all {n} faces hold'}"
    else:
        title = f"Outside of {name}: {rejecting} of {n} faces fail"
    rows = [
        [
            face.face,
            "fails" if face.rejects else "holds",
            f"{face.slack:.4g}",
            f"{face.distance:.4g}",
        ]
        for face in faces
    ]
    lines = table(["face", "", "slack", "distance"], rows, left=2).splitlines()
    texts = ["inequality", *(face.inequality for face in faces)]
    section(title, "\n".join(f"{a}  {b}" for a, b in zip(lines, texts, strict=True)))


def _say_contributions(why: Any, x: Any) -> None:
    from polyceptron.utils.text import quoted

    value = dict(zip(why.values, x.tolist(), strict=True))
    order = sorted(why.values, key=lambda name: -abs(why.values[name]))
    rows = [
        [quoted(n), f"{value[n]:.6g}", f"{why.reference[n]:.6g}", f"{why.values[n]:+.4g}"]
        for n in order[:_MOST]
    ]
    if len(order) > _MOST:
        rest = sum(why.values[name] for name in order[_MOST:])
        rows.append([f"{len(order) - _MOST} others", "", "", f"{rest:+.4g}"])
    title = f"Face {why.face} decides: {why.base:.4g} and what columns add are {why.slack:.4g}"
    section(title, table(["column", "value", "against", "adds"], rows))


def _places(names: Sequence[str], places: dict[str, int], option: str) -> list[int]:
    from polyceptron.data.encoding import missing_columns

    for name in names:
        if name not in places:
            raise click.ClickException(f"{option}: {missing_columns([name], list(places))}")
    return [places[name] for name in names]


def _bounds(texts: Sequence[str], places: dict[str, int]) -> dict[int, tuple[Any, Any]]:
    bounds: dict[int, tuple[Any, Any]] = {}
    for text in texts:
        name, _, span = text.rpartition("=")
        low, colon, high = span.partition(":")
        try:
            ends = [float(end) if end.strip() else None for end in (low, high)]
        except ValueError:
            colon = ""
        if not colon or not name or not all(e is None or math.isfinite(e) for e in ends):
            raise click.BadParameter(
                f"{text!r} is not COLUMN=LOW:HIGH, for example age=18:99", param_hint="--bounds"
            )
        lower, upper = ends
        if lower is not None and upper is not None and lower > upper:
            raise click.BadParameter(
                f"{text!r}: the lower end is above the upper one", param_hint="--bounds"
            )
        bounds[_places([name], places, "--bounds")[0]] = (lower, upper)
    return bounds

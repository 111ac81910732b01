"""`polyceptron explain`: why a row is answered as it is, and what would change that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._data import header_option
from polyceptron.cli._model import data_argument, model_argument
from polyceptron.cli._tables import section, shown, table

if TYPE_CHECKING:
    from polyceptron.cli._model import Loaded

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
    import numpy as np

    from polyceptron import explain as explanations
    from polyceptron.cli._model import Loaded
    from polyceptron.data.columns import listed

    loaded = Loaded(model)
    place, x = find_row(loaded, data, header, row)
    answer = loaded.estimator.classes_.tolist()[int(loaded.answer(x[None, :]).place[0])]
    polyhedron, label = _polyhedron_of(loaded, answer, x)
    names = polyhedron.feature_names or tuple(f"x{j}" for j in range(len(x)))
    places = {name: j for j, name in enumerate(names)}
    asked = listed(freeze, [*names, *_texts(loaded)])
    medians, spreads = typical(loaded, len(x))
    held = {*_frozen(loaded), *_places(_numbers(loaded, asked), places, "--freeze")}
    limits: dict[str, Any] = {
        "bounds": _bounds(bounds, places),
        "integers": _places(listed(integers, names), places, "--integers"),
    }
    if spreads is not None:
        named = {*limits["bounds"], *limits["integers"]}
        held |= {j for j, spread in enumerate(spreads) if spread == 0 and j not in named}
        limits["weights"] = np.where(spreads > 0, spreads, 1.0) ** -2.0
    limits["frozen"] = sorted(held)
    # All before anything is said: it may fail.
    try:
        faces = explanations.rejected_by(polyhedron, x)
        why = contributions_of(polyhedron, x, medians, place)
        change = _change(loaded, polyhedron, names, x, limits)
    except explanations.ExplainError as error:
        raise click.ClickException(f"{place}: {error}") from error
    click.echo(f"Row {row} ({place}): {shown(answer)}")
    _say_faces(faces, label)
    _say_contributions(why, names, x)
    _say_change(loaded, change, label, spreads is not None)


def contributions_of(polyhedron: Any, x: Any, medians: Any, place: str) -> Any:
    """Return what each column adds, unless that is no number."""
    from polyceptron.explain import contributions

    why = contributions(polyhedron, x, medians)
    if not all(map(math.isfinite, [why.slack, why.base, *why.values.values()])):
        raise click.ClickException(f"{place}: its numbers are too large to explain")
    return why


def _change(
    loaded: Loaded, polyhedron: Any, names: Sequence[str], x: Any, limits: dict[str, Any]
) -> tuple[float, Any] | None:
    """How far the row is from another answer, and the smallest change; None if not known."""
    import numpy as np

    from polyceptron.explain import counterfactual, robustness

    subject: Any = loaded.estimator
    if hasattr(subject, "estimators_"):
        return None
    if hasattr(subject, "polyhedron_"):
        subject = polyhedron
    else:  # a tree, which has its names from here
        subject.feature_names_in_ = np.array(names, dtype=object)
    radius = robustness(subject, x, weights=limits.get("weights"))
    return radius, counterfactual(subject, x, **limits)


def _say_change(
    loaded: Loaded, change: tuple[float, Any] | None, label: Any, weighed: bool
) -> None:
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
    after = _other(loaded, found.after, label)
    section(f"Smallest change to {after}", table(["column", "now", "changed"], changes))


def _other(loaded: Loaded, after: Any, label: Any) -> str:
    """The label that an answer of `explain` about a polyhedron stands for."""
    if not hasattr(loaded.estimator, "polyhedron_"):
        return shown(after)
    labels = loaded.estimator.classes_.tolist()
    return shown(label if after == "inside" else next(c for c in labels if c != label))


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


def _polyhedron_of(loaded: Loaded, answer: Any, x: Any) -> tuple[Any, Any]:
    """The polyhedron that the row is judged by: the only one, its class's, or its leaf's."""
    own = [(part, label) for label, part in loaded.polyhedra if label == answer]
    if hasattr(loaded.estimator, "polyhedron_"):
        return loaded.polyhedra[0][1], loaded.polyhedra[0][0]
    return next((pair for pair in own if pair[0].contains(x[None, :])[0]), own[0])


def _say_faces(faces: Sequence[Any], label: Any) -> None:
    rejecting = sum(face.rejects for face in faces)
    n = len(faces)
    if not rejecting:
        title = f"Inside of {shown(label)}: {'its face holds' if n == 1 else f'all {n} faces hold'}"
    else:
        title = f"Outside of {shown(label)}: {rejecting} of {n} faces fail"
    rows = [
        [
            str(face.face),
            "fails" if face.rejects else "holds",
            f"{face.slack:.4g}",
            f"{face.distance:.4g}",
        ]
        for face in faces
    ]
    lines = table(["face", "", "slack", "distance"], rows, left=2).splitlines()
    texts = ["inequality", *(face.inequality for face in faces)]
    section(title, "\n".join(f"{a}  {b}" for a, b in zip(lines, texts, strict=True)))


def _say_contributions(why: Any, names: Sequence[str], x: Any) -> None:
    from polyceptron.utils.text import quoted

    order = sorted(why.values, key=lambda name: -abs(why.values[name]))
    value = dict(zip(names, x.tolist(), strict=True))
    rows = [
        [
            quoted(name),
            f"{value[name]:.6g}",
            f"{why.reference[name]:.6g}",
            f"{why.values[name]:+.4g}",
        ]
        for name in order[:_MOST]
    ]
    if len(order) > _MOST:
        rest = sum(why.values[name] for name in order[_MOST:])
        rows.append([f"{len(order) - _MOST} others", "", "", f"{rest:+.4g}"])
    body = table(["column", "value", "against", "adds"], rows)
    section(
        f"Face {why.face} decides: {why.base:.4g} and what columns add are {why.slack:.4g}", body
    )


def _frozen(loaded: Loaded) -> list[int]:
    """The features of text columns: a red that is half blue says nothing."""
    if loaded.encoding is None:
        return []
    kinds = [c.kind for c in loaded.encoding.columns for _ in c.feature_names]
    return [j for j, kind in enumerate(kinds) if kind == "category"]


def _texts(loaded: Loaded) -> list[str]:
    """The names of text columns."""
    columns = loaded.encoding.columns if loaded.encoding is not None else ()
    return [column.name for column in columns if column.kind == "category"]


def _numbers(loaded: Loaded, names: Sequence[str]) -> list[str]:
    """Names without those of text columns, which never change anyway."""
    texts = _texts(loaded)
    return [name for name in names if name not in texts]


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

"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._lazy import columns, encoding, np
from polyceptron.cli._terminal import note, shown
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding


def all_of(*options: Callable[..., Any]) -> Callable[..., Any]:
    """One decorator of several."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def columns_option(name: str, about: str, metavar: str = "A,B") -> Callable[..., Any]:
    """An option that names columns, and may be given again."""
    return click.option(name, metavar=metavar, multiple=True, help=about)


def bounds_option(about: str) -> Callable[..., Any]:
    """--bounds, which `column_bounds` reads."""
    return columns_option("--bounds", f"{about}; either end may be left out.", "A=LOW:HIGH")


def feature_places(
    option: str,
    values: Sequence[str],
    names: Sequence[str],
    texts: Mapping[str, Sequence[int]] | None = None,
) -> list[int]:
    """The places of the features that an option names; columns of text have several."""
    texts = texts or {}
    known = [*names, *texts]
    found = columns.listed(values, known)
    missing = [name for name in found if name not in known]
    if missing:
        raise click.ClickException(f"{option}: {encoding.missing_columns(missing, names)}")
    places = [[names.index(name)] if name in names else texts[name] for name in found]
    return [place for several in places for place in several]


def column_bounds(texts: Sequence[str], names: Sequence[str]) -> dict[int, tuple[Any, Any]]:
    """What --bounds says, by the places of the features."""
    bounds: dict[int, tuple[Any, Any]] = {}
    for one in texts:
        name, _, span = one.rpartition("=")
        low, colon, high = span.partition(":")
        try:
            lower, upper = float(low.strip() or "-inf"), float(high.strip() or "inf")
        except ValueError:
            colon = ""
        if not colon or not name or math.isnan(lower) or math.isnan(upper):
            raise click.BadParameter(
                f"{one!r} is not COLUMN=LOW:HIGH, for example age=18:99", param_hint="--bounds"
            )
        if lower > upper:
            raise click.BadParameter(
                f"{one!r}: the lower end is above the upper one", param_hint="--bounds"
            )
        bounds |= dict.fromkeys(feature_places("--bounds", [name], names), (lower, upper))
    return bounds


def names_option(name: str, about: str, kind: Callable[..., Any] = click.STRING) -> Any:
    """An option that names things, with commas between them; None if it is not given."""

    def names(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> Any:
        found = [name.strip() for part in value for name in part.split(",") if name.strip()]
        if value and not found:
            raise click.BadParameter("names nothing")
        return [kind(name, param, ctx) for name in found] or None

    return click.option(name, metavar="NAMES", multiple=True, callback=names, help=about)


def out_option(what: str, default: str | None = None) -> Callable[..., Any]:
    """-o of a command that writes `what`, and --force; without a default it must be given."""
    given: dict[str, Any] = {"default": default, "show_default": True} if default else {}
    about = f"{what} (- is standard output)."
    return all_of(
        click.option("-o", "--output", metavar="FILE", required=not default, help=about, **given),
        click.option("--force", is_flag=True, help="Write over a file that is there."),
    )


def missing_ways(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """What --missing says: a way by column, "" for those that are not named."""
    from polyceptron.data.columns import WAYS

    del ctx, param
    found: dict[str, str] = {}
    for text in values:
        name, sign, way = text.rpartition("=")
        if way not in WAYS or bool(sign) != bool(name):
            ways = ", ".join(WAYS)
            raise click.BadParameter(f"{text!r} is not one of {ways}, nor COLUMN= and one of them")
        if name in found:
            raise click.BadParameter(f"{name or 'what is not named'} is there twice")
        found[name] = way
    return found


class LearnerName(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The name of a learner that there is, also one that a package adds."""

    name = "learner"

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return f"[{'|'.join(registry.known_names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in registry.known_names() and value not in registry.learner_names():
            known = ", ".join(map(repr, registry.learner_names()))
            self.fail(f"{value!r} is not one of {known}.", param, ctx)
        return str(value)


def as_bytes(size: str) -> int:
    """A number of bytes, such as 1.5GB or 800M."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?", size.strip().lower())
    if found is None or float(found[1]) == 0:
        raise click.BadParameter(f"{size!r} is not a size such as 1.5GB or 800M.")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))


def count_or(words: Mapping[str, str | None], most: int = 10_000) -> Callable[[str], Any]:
    """A reader of a number from 1, or of one of these words, each of which stands for a value."""

    def read(value: str) -> int | str | None:
        if value in words:
            return words[value]
        if not (value.isdecimal() and 1 <= int(value) <= most):
            known = ", ".join(words)
            raise click.BadParameter(f"{value!r} is not {known} or a number from 1 to {most}.")
        return int(value)

    return read


model_argument = click.argument("model", type=click.Path(dir_okay=False))
data_argument = click.argument(
    "data", required=False, type=click.Path(dir_okay=False, allow_dash=True)
)
_FILE = all_of(
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether text begins with the names of columns; by default its first lines tell.",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="The decimal sign of text; by default the first lines tell.",
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Of text, such as cp1252; by default UTF-8, and what the first bytes tell if they "
        "are not that.",
    ),
    click.option(
        "--thousands/--no-thousands",
        default=None,
        help="Whether numbers of text may be written like 1,234.5 (1.234,5); by default the first "
        "lines tell.",
    ),
    click.option(
        "--date-order",
        type=click.Choice(["mdy", "dmy"]),
        help="Of dates such as 01/02/2024: the month or the day first; by default the first lines "
        "tell.",
    ),
    click.option("--sheet", metavar="NAME", help="Of a workbook; by default the first."),
    click.option(
        "--max-expanded",
        type=as_bytes,
        metavar="SIZE",
        help="What a compressed file may expand to; by default 200 times its size, at least 1 GiB.",
    ),
    click.option(
        "--sql",
        metavar="QUERY",
        help="Rows that DuckDB finds instead of DATA, such as \"SELECT * FROM 'rows.csv'\".",
    ),
)


def _needs_data() -> bool:
    """Whether there is nothing to do without DATA: not so for what it is an option of."""
    return click.get_current_context().command.name not in ("plot", "edit")


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a file does not say of itself: options that a command gets together, as `file`."""

    @wraps(command)
    def together(**given: Any) -> Any:
        from polyceptron.data.guesses import FileOptions

        said = {name: given.pop(name, None) for name in FileOptions._fields}
        if "data" in given and said["sql"] is not None:
            if given["data"] not in (None, "-"):
                raise click.UsageError("--sql says where the rows are: leave DATA out.")
            given["data"] = "-"
        elif given.get("data", "-") is None and _needs_data():
            raise click.UsageError("Missing argument 'DATA'.")
        return command(**given, file=FileOptions(**said))

    decorated: Callable[..., Any] = _FILE(together)
    return decorated


target_option = click.option(
    "--target", "-t", metavar="COLUMN", help="The column with the classes."
)
training_options = all_of(
    click.argument("data", required=False, type=click.Path(allow_dash=True)),
    click.option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The column with the classes: its name, or its number, from the end -1. "
        "LIBSVM and .npz files say it themselves; for .npy, a file .npy of labels.",
    ),
    click.option(
        "--weight-column", "weight", metavar="COLUMN", help="The column of weights of the rows."
    ),
    columns_option("--features", "Learn from these columns only."),
    columns_option("--drop", "Leave these columns out."),
    columns_option(
        "--categories", "Columns of numbers that are codes: one feature for each value."
    ),
    click.option(
        "--missing",
        metavar="WAY|COLUMN=WAY",
        multiple=True,
        callback=missing_ways,
        help="Of missing values: drop leaves such rows out, median fills them (text: by the most "
        "frequent value), indicator has a feature for them besides, error refuses them; of all "
        "columns, or of one. By default they are an error.",
    ),
    click.option(
        "--keep-identifiers",
        is_flag=True,
        help="Learn also from columns of numbers that tell rows apart; else they are left out.",
    ),
    click.option(
        "--max-categories",
        type=click.IntRange(1),
        default=100,
        show_default=True,
        metavar="N",
        help="Of a column of text, so many values have a feature: the most frequent.",
    ),
    click.option(
        "--dates",
        type=click.Choice(["days", "parts"]),
        default="days",
        show_default=True,
        help="Dates become days since 1970-01-01, or month, weekday (0 is Monday) and hour.",
    ),
    file_options,
)
CLASS_WEIGHTS = ("balanced", "class_weights", "costs")
"""What of the next options weighs classes."""
learning_options = all_of(
    click.option(
        "-k",
        type=click.IntRange(1, 10_000),
        metavar="K",
        help="How many inequalities; by default the learner's choice.",
    ),
    click.option("--inside", metavar="LABEL", help="The class to describe."),
    click.option("--balanced", is_flag=True, help="Weigh rows so that every class counts as much."),
    click.option(
        "--class-weight",
        "class_weights",
        metavar="LABEL=W",
        multiple=True,
        help="What a row of a class counts; 1 by default.",
    ),
    click.option(
        "--cost",
        "costs",
        metavar="missed=C|false=C",
        multiple=True,
        help="What it costs to miss a row of the class --inside, or to take another row for one.",
    ),
)


digits_option = click.option(
    "--digits",
    type=count_or({"auto": "auto", "none": None}, 17),
    default="auto",
    show_default=True,
    metavar="N",
    help="Significant digits of coefficients, at most; auto takes the fewest that cost nothing, "
    "none leaves them as they were learned.",
)
union_options = all_of(
    click.option(
        "--polyhedra",
        "n_polyhedra",
        type=count_or({"auto": "auto"}),
        metavar="N|auto",
        help="How many polyhedra the class inside may be the union of; by default the learner's "
        "choice.",
    ),
    click.option(
        "--max-faces",
        type=count_or({"auto": "auto"}),
        metavar="N|auto",
        help="Most inequalities of all polyhedra of a class together; auto is 16, and more "
        "where held-out rows clearly ask for more.",
    ),
)
knowledge_options = all_of(
    click.option(
        "--max-terms",
        type=count_or({"auto": "auto"}),
        metavar="N|auto",
        help="Most terms of an inequality; auto takes the fewest of all that cost little.",
    ),
    columns_option("--monotone", "The class inside gets no less likely as A rises.", "A=+1"),
    click.option(
        "--face",
        "faces",
        metavar="TEXT",
        multiple=True,
        help="An inequality that is part of the rule, such as '2*age - bmi >= 14'; the rest is "
        "learned around it. Of three classes 'high: age >= 40', and so --monotone.",
    ),
    columns_option("--together", "Columns that may stand in one inequality; others may not."),
    click.option(
        "--must-contain",
        metavar="FILE",
        multiple=True,
        help="Rows that have to be inside, with the columns of DATA. Of three classes "
        "'high: FILE'.",
    ),
)


def knowledge(
    rows: Any,
    monotone: Sequence[str],
    faces: Sequence[str],
    together: Sequence[str],
    must_contain: Sequence[str],
) -> dict[str, Any]:
    """What is known of the features of these rows, as parameters of a learner."""
    names = list(rows.feature_names or (f"x{j}" for j in range(rows.n_features)))
    columns = () if rows.encoding is None else rows.encoding.places()
    of_texts = {one.name: range(a, b) for one, a, b in columns if one.name not in names}
    found: dict[str, Any] = {}
    if monotone:
        signs = partial(_signs, of_texts=of_texts)
        found["monotonic_cst"] = _by_class("--monotone", monotone, rows, names, signs)
    if faces:
        read = partial(_parsed_faces, encoding=rows.encoding)
        found["fixed_faces"] = _by_class("--face", faces, rows, names, read)
    if together:
        found["features_of_faces"] = [
            feature_places("--together", [one], names, of_texts) for one in together
        ]
    if must_contain:
        own = partial(_rows_like, rows)
        found["must_contain"] = _by_class("--must-contain", must_contain, rows, names, own)
    if found:  # learners are given no names, and so their errors have none
        from polyceptron.learners.polyceptron.knowledge import NAMES, plain_by_class

        given = dict.fromkeys(NAMES) | found
        plain_by_class(given, rows.classes.tolist(), rows.n_features, names)
    return found


def _by_class(
    option: str, texts: Sequence[str], rows: Any, names: Sequence[str], read: Callable[..., Any]
) -> Any:
    """What texts say; of more than two classes each by the label that is before it."""
    labels = rows.classes.tolist()
    if len(labels) == 2:
        return read(texts, names)
    named = {str(label): label for label in labels}
    named = {name.removesuffix(".0"): label for name, label in named.items()} | named
    parts: dict[Any, list[str]] = {}
    for text in texts:
        owners = [name for name in named if text.startswith(f"{name}:")]
        if not owners:
            raise click.UsageError(
                f"{option}: there are {len(labels)} classes, so say of which this is known: "
                f"'{labels[0]}: {text}'"
            )
        owner = max(owners, key=len)
        parts.setdefault(named[owner], []).append(text[len(owner) + 1 :].strip())
    return {label: read(own, names) for label, own in parts.items()}


def _rows_like(rows: Any, files: Sequence[str], names: Sequence[str]) -> Any:
    """The rows of files, as features of the rows that are learned from."""
    from polyceptron.data.encoding import Column, Encoding
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.source import SourceError
    from polyceptron.data.tables import open_table

    known = rows.encoding or Encoding([Column(name, "number") for name in names])
    parts = []
    for file in files:
        with open_table(file, FileOptions(), expect=known.names) as table:
            missing = [name for name in known.names if name not in {*table.names}]
            if missing:
                text = encoding.missing_columns(missing, table.names)
                raise SourceError(f"--must-contain {table.name}: {text}")
            numbers, texts = known.kinds
            batches = table.batches([name for name in numbers if name not in texts], texts)
            for batch in batches:
                parts.append(batch.features(known))
                for name, n in batch.unseen(known).items():
                    what = f"{shown(name)} has values that DATA has not ({n} row{'s' * (n > 1)})"
                    note(f"--must-contain {table.name}: {what}")
    return np.concatenate(parts)


def _signs(
    texts: Sequence[str], names: Sequence[str], of_texts: Mapping[str, Sequence[int]]
) -> Any:
    signs = np.zeros(len(names))
    for one in texts:
        name, _, sign = one.rpartition("=")
        if sign.strip() not in ("+1", "1", "-1") or not name:
            form = f"{one!r} is not COLUMN=+1 or COLUMN=-1"
            raise click.BadParameter(form, param_hint="--monotone")
        places = feature_places("--monotone", [name], names, of_texts)
        if len(places) > 1 and name in of_texts:
            listed = ", ".join(names[place] for place in places[:3])
            form = f"{name} has {len(places)} values, and no order: name one of {listed}"
            raise click.BadParameter(form, param_hint="--monotone")
        if (signs[places] == -int(sign)).any():
            raise click.BadParameter(f"{name} has both signs", param_hint="--monotone")
        signs[places] = int(sign)
    return signs


def _parsed_faces(texts: Sequence[str], names: Sequence[str], encoding: Encoding | None) -> Any:
    from polyceptron.inequalities import parse_inequality

    pairs = [parse_inequality(text, names, encoding) for text in texts]
    return np.array([[*w, b] for w, b in pairs])


set_option = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Any other parameter of the learner, such as step_size=0.1.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True
)
place_options = all_of(
    click.option(
        "--out-of-core/--in-memory",
        default=None,
        help="Leave the rows on disk, or take them into memory; by default they are left "
        "there if the file is larger than a quarter of the memory.",
    ),
    click.option(
        "--memory-limit",
        type=as_bytes,
        metavar="SIZE",
        help="As if there were only so much memory, such as 2GB.",
    ),
    click.option(
        "--cache-dir",
        type=click.Path(file_okay=False),
        help="Where converted rows are kept; by default in your folder for caches.",
    ),
)

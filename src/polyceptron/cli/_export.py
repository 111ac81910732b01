"""`polyceptron export`: a model for those who do not run Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._model import model_argument
from polyceptron.cli._out import check_free, force_option, out_option, write
from polyceptron.export import FORMATS
from polyceptron.export import export as exported

if TYPE_CHECKING:
    from polyceptron.cli._model import Loaded

_BINARY = ("onnx", "scipy")


@click.command(
    short_help="Write a model as SQL, ONNX, C, JavaScript, ...",
    epilog="Formats: " + "; ".join(f"{name}, {f.description}" for name, f in FORMATS.items()) + ".",
)
@model_argument
@click.option("--to", type=click.Choice(list(FORMATS)), required=True, help="The format.")
@out_option("The file", default="-")
@click.option("--dialect", metavar="NAME", help="Of SQL, as sqlglot calls it: sqlite, duckdb, ...")
@click.option("--table", metavar="NAME", help="Of SQL: the table to ask.")
@click.option(
    "--kind",
    type=click.Choice(["select", "where", "case"]),
    help="Of SQL: a query, a condition for rows inside, or an expression.",
)
@click.option(
    "--name", metavar="NAME", help="What the answer, the function or the model is called."
)
@click.option(
    "--option",
    "options",
    metavar="KEY=VALUE",
    multiple=True,
    help="Another option of the format, such as digits=5 of latex.",
)
@click.option(
    "--class",
    "label",
    metavar="LABEL",
    help="Of a model of more than two classes: the one whose polyhedron is written.",
)
@force_option
def export(
    model: str,
    to: str,
    output: str,
    options: Sequence[str],
    label: str | None,
    force: bool,
    **given: str | None,
) -> None:
    """Write a model in another format."""
    check_free(output, force, model)

    from polyceptron.cli._model import Loaded
    from polyceptron.export import ExportOptionError

    loaded = Loaded(model)
    what, answers = _chosen(loaded, label)
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    chosen |= dict(_option(text) for text in options)
    try:
        content = exported(what, to, encoding=loaded.encoding, **answers, **chosen)
    except ExportOptionError as error:
        raise click.UsageError(str(error)) from error
    if to in _BINARY and output == "-" and sys.stdout.isatty():
        raise click.ClickException(f"{to} is not text: -o says which file to write")
    if isinstance(content, str) and not content.endswith("\n"):
        content += "\n"
    write(output, content)


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--option")
    if value in ("true", "false", "none"):
        return key, {"true": True, "false": False, "none": None}[value]
    try:
        return key, int(value)
    except ValueError:
        return key, value


def _chosen(loaded: Loaded, label: str | None) -> tuple[Any, dict[str, Any]]:
    """What to write, and the answers inside and outside of it."""
    rule = loaded.rule
    if rule.is_partition:
        raise click.ClickException(
            f"{loaded.path}: a tree has a polyhedron for each leaf, and is not exported"
        )
    if rule.otherwise is not None:
        if label is not None:
            raise click.UsageError("--class is for models of more than two classes.")
        if len(rule.pieces) > 1:
            return rule, {}
        polyhedron, place, _ = rule.pieces[0]
        answers = {"inside": rule.labels[place], "outside": rule.labels[rule.otherwise]}
        return polyhedron, answers
    known = {str(one): union[0] for one, union in rule.polyhedra.items()}
    if label not in known:
        raise click.ClickException(
            f"{loaded.path}: a model of {len(rule.labels)} classes has a polyhedron for each; "
            f"--class says which: {', '.join(known)}"
        )
    return known[label], {"inside": label, "outside": f"not {label}"}

"""`polyceptron export`: a model for those who do not run Python."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

import polyceptron
from polyceptron.cli._model import Loaded, find_label, rest_of
from polyceptron.cli._options import bounds_option, column_bounds, model_argument, out_option
from polyceptron.cli._out import check_free, write
from polyceptron.export import FORMATS

_BINARY = ("onnx", "scipy")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@click.command(
    short_help="Write a model as SQL, ONNX, C, JavaScript, ...",
    epilog="Formats: " + "; ".join(f"{name}, {f.description}" for name, f in FORMATS.items()) + ".",
)
@model_argument
@click.option("--to", type=click.Choice(list(FORMATS)), required=True, help="The format.")
@out_option("The file", "-")
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
    help="Of a tree or a model of more than two classes: this one against all others.",
)
@bounds_option("Of LP: the values that a column may have, which a union needs")
def export(
    model: str,
    to: str,
    output: str,
    force: bool,
    options: Sequence[str],
    label: str | None,
    bounds: Sequence[str],
    **given: str | None,
) -> None:
    """Write a model in another format."""
    check_free(output, force, model)
    loaded = Loaded(model)
    rule = loaded.rule if label is None else _of_class(loaded.rule, label)
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    chosen |= dict(_option(text) for text in options)
    if bounds:
        chosen["bounds"] = _of_texts(loaded) | column_bounds(bounds, rule.names)
    try:
        content = polyceptron.export.export(rule, to, encoding=loaded.encoding, **chosen)
    except polyceptron.export.ExportOptionError as error:
        raise click.UsageError(str(error)) from error
    except polyceptron.export.ExportError as error:
        several = len(rule.polyhedra) > 1
        hint = f" (--class says which: {', '.join(map(str, rule.polyhedra))})" if several else ""
        hint = " (--bounds A=LOW:HIGH)" if "need bounds" in str(error) else hint
        raise click.ClickException(f"{error}{hint}") from error
    if to in _BINARY and output == "-" and sys.stdout.isatty():
        raise click.ClickException(f"{to} is not text: -o says which file to write")
    if isinstance(content, str):
        if output == "-" and sys.stdout.isatty() and _CONTROLS.search(content):
            what = "names or labels have characters that a terminal would obey"
            raise click.ClickException(f"{what}: -o says which file to write")
        content += "" if content.endswith("\n") else "\n"
    write(output, content)


def _of_texts(loaded: Loaded) -> dict[int, tuple[float, float]]:
    """The bounds of the features that columns of text became: from 0 to 1."""
    places = loaded.encoding.places() if loaded.encoding is not None else ()
    spans = [
        range(start, stop)
        for column, start, stop in places
        if column.kind != "number" or column.categories
    ]
    return {j: (0.0, 1.0) for span in spans for j in span}


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--option")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    with suppress(ValueError):
        return key, words[value] if value in words else int(value)
    return key, value


def _of_class(rule: polyceptron.Rule, label: str) -> polyceptron.Rule:
    """The rule of one class of several against all others."""
    known = rule.polyhedra
    if len(known) == 1:
        raise click.UsageError("--class is for models of more than two classes, and for trees.")
    union = known[find_label("--class", label, list(known))]
    return polyceptron.Rule.inside([label, rest_of(label)], 0, *union)

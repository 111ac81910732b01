"""The command line `polyceptron`. Modules here import what is heavy inside their commands."""

from __future__ import annotations

import sys
from typing import Any

import click

from polyceptron.cli._cache import cache
from polyceptron.cli._datasets import datasets
from polyceptron.cli._edit import edit
from polyceptron.cli._evaluate import compare, evaluate
from polyceptron.cli._explain import explain
from polyceptron.cli._export import export
from polyceptron.cli._fit import fit
from polyceptron.cli._lazy import text
from polyceptron.cli._paper import reproduce, study
from polyceptron.cli._predict import predict
from polyceptron.cli._show import plot, show


class _Commands(click.Group):
    """Errors are one line on stderr and exit code 1; --debug shows where they come from."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # it is None where it was closed
                sys.stdout.flush()  # a reader that has gone away is noticed here, not at exit
            return result
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError) as error:
            if error.__cause__ is not None and ctx.params.get("debug"):
                raise error.__cause__  # noqa: B904
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise click.ClickException(text.printable(_in_one_line(error))) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used, not by the alphabet."""
        del ctx
        return list(self.commands)


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    known = isinstance(error, ValueError | ImportError | OSError) and text
    if known or type(error).__module__.startswith("polyceptron"):
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="polyceptron", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def app(debug: bool) -> None:
    """Learn a class as a polyhedron: a few linear inequalities that people can read."""
    del debug  # the group itself reads it


for command in (
    fit, show, predict, explain, plot, export, evaluate, edit, compare, datasets, cache,
    reproduce, study,
):  # fmt: skip
    app.add_command(command)


def main() -> None:
    """Run the command line."""
    app(prog_name="polyceptron")

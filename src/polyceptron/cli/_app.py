"""The group of commands, and how errors reach the user."""

from __future__ import annotations

from typing import Any

import click

from polyceptron.cli._reproduce import reproduce
from polyceptron.cli._study import study


class _Commands(click.Group):
    """Errors are one line on stderr and exit code 1; --debug shows where they come from."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise click.ClickException(_in_one_line(error)) from error


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    known = isinstance(error, ValueError | ImportError | OSError) and text
    return (
        text
        if known or type(error).__module__.startswith("polyceptron")
        else (f"{type(error).__name__}: {text} (--debug shows where)")
    )


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="polyceptron", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def app(debug: bool) -> None:
    """Learn a class as a polyhedron: a few linear inequalities that people can read."""
    del debug  # the group itself reads it


app.add_command(reproduce)
app.add_command(study)

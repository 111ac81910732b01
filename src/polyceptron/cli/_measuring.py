"""What the commands that measure for a while share: options, progress, and how Ctrl-C ends."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._options import cores

if TYPE_CHECKING:
    from polyceptron.cli._progress import Progress

_OPTIONS = (
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("polyceptron-report"),
        show_default=True,
        help="Folder for results and report.",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1),
        default=cores,
        show_default="the cores there are",
        help="Processes; each fit has one thread. Times are steadiest with 1.",
    ),
    click.option("--resume", is_flag=True, help="Go on with the results in the folder."),
    click.option("--overwrite", is_flag=True, help="Start anew in the folder."),
)


def measuring(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that measure for a while and write into a folder."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def resumable(
    what: str, command: str, arguments: list[str], files: list[str], options: dict[str, Any]
) -> Iterator[Progress]:
    """Measure in this block; Ctrl-C says what is kept in `files`, and the command to go on with.

    What is missing or contradictory is said before an hour of measuring, not after.
    """
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other.")
    from importlib.util import find_spec

    missing = [name for name in ("matplotlib", "jinja2", "highspy") if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"{', '.join(missing)} is needed for this command; "
            'pip install "polyceptron[report]" installs it'
        )
    os.environ["POLYCEPTRON_QUIET"] = "1"  # the bar is on the line that the notice would take

    from polyceptron.cli._progress import Progress
    from polyceptron.paper.results_log import read_results

    progress, out, seed = Progress(what), options["out"], options["seed"]
    try:
        yield progress
    except KeyboardInterrupt:  # the bar may be a result behind what is written
        written = [out / name for name in files if (out / name).exists()]
        kept = sum(len(read_results(path, dict)[1]) for path in written)
        words = ["polyceptron", *command.split(), "--resume", "--out", str(out), *arguments]
        words += ["--seed", str(seed)] if seed else []
        click.echo(
            f"\nInterrupted; {kept} of {progress.total} results are kept. Go on with\n"
            f"  {shlex.join(words)}",
            err=True,
        )
        raise click.exceptions.Exit(130) from None

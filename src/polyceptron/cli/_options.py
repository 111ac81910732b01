"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

standalone = False
"""Whether this process is the command line's own."""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measuring(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that measure for a while and write into a folder."""
    for option in reversed(
        [
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
        ]
    ):
        command = option(command)
    return command


def check_resume(resume: bool, overwrite: bool) -> None:
    """Refuse both at once."""
    if resume and overwrite:
        raise click.UsageError("--resume and --overwrite exclude each other.")


def need_report_parts() -> None:
    """Say what is missing before an hour of measuring, not after."""
    from importlib.util import find_spec

    missing = [name for name in ("matplotlib", "jinja2", "highspy") if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"{', '.join(missing)} is needed for this command; "
            'pip install "polyceptron[report]" installs it'
        )

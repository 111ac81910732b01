"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True
)
number_option = click.option(
    "-k",
    type=click.IntRange(1, 10_000),
    metavar="K",
    help="How many inequalities; by default the learner's choice.",
)
inside_option = click.option("--inside", metavar="LABEL", help="The class to describe.")


def columns_option(name: str, about: str, metavar: str = "A,B") -> Callable[..., Any]:
    """An option that names columns, and may be given again."""
    return click.option(name, metavar=metavar, multiple=True, help=about)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

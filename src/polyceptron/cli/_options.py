"""Options that several commands share."""

from __future__ import annotations

import os

import click

seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True
)
inside_option = click.option("--inside", metavar="LABEL", help="The class to describe.")


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

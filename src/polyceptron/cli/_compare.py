"""`polyceptron compare`: all learners on one file."""

from __future__ import annotations

import time
from typing import Any

import click

from polyceptron.cli._data import load_training, training_options
from polyceptron.cli._fit import inside_option, seed_option
from polyceptron.cli._learners import LEARNERS, make
from polyceptron.cli._tables import note, table


@click.command(short_help="Cross-validate all learners on a file.")
@training_options
@click.option(
    "--learners",
    metavar="NAMES",
    help=f"Some of {', '.join(LEARNERS)}; by default all that can learn the classes.",
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(1, 10_000),
    metavar="K",
    help="How many inequalities; by default each learner's choice.",
)
@inside_option
@click.option("--cv", type=click.IntRange(2, 1000), default=5, show_default=True, metavar="N")
@seed_option
def compare(
    learners: str | None, k: int | None, inside: str | None, cv: int, seed: int, **what: Any
) -> None:
    """Cross-validate every learner on the same folds of DATA, and print a table."""
    names = _chosen(learners)
    training = load_training(**what)

    import numpy as np

    from polyceptron.cli import _scores

    classes = np.unique(training.y)
    rows = []
    for name in names:
        if len(classes) > 2 and not LEARNERS[name].many and learners is None:
            note(f"{name} learns two classes, and is left out")
            continue
        one = LEARNERS[name]
        model = make(
            name,
            classes,
            k=k if one.number else None,
            inside=inside if name != "oc1" else None,
            seed=seed,
        )
        begun = time.perf_counter()
        X, y = training.X, training.y
        try:
            score = _scores.cross_validated(model, X, y, cv, seed, name)
        except ImportError as error:
            note(f"{name} is left out: {error}")
            continue
        seconds = (time.perf_counter() - begun) / cv
        spread = 100 * (score.spread or 0.0)
        rows.append(
            (
                score.accuracy,
                [name, f"{100 * score.accuracy:.2f}", f"{spread:.2f}", f"{seconds:.2f}"],
            )
        )
    rows.sort(key=lambda row: -row[0])
    click.echo(f"{cv}-fold cross-validation of {len(training.y)} rows, best first\n")
    click.echo(table(["learner", "accuracy %", "±", "s a fit"], [row for _, row in rows]))


def _chosen(learners: str | None) -> list[str]:
    if learners is None:
        return list(LEARNERS)
    names = [name.strip() for name in learners.split(",") if name.strip()]
    unknown = [name for name in names if name not in LEARNERS]
    if unknown or not names:
        raise click.BadParameter(
            f"{', '.join(map(repr, unknown)) or 'nothing'} is not among {', '.join(LEARNERS)}",
            param_hint="--learners",
        )
    return names

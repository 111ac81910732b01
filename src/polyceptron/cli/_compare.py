"""`polyceptron compare`: all learners on one file."""

from __future__ import annotations

import time
from typing import Any

import click

from polyceptron.cli._data import load_training, training_options
from polyceptron.cli._lazy import np
from polyceptron.cli._learners import make
from polyceptron.cli._options import inside_option, number_option, seed_option
from polyceptron.cli._scores import cross_validated
from polyceptron.cli._tables import note, table
from polyceptron.learners import registry


@click.command(short_help="Cross-validate all learners on a file.")
@training_options
@click.option(
    "--learners",
    metavar="NAMES",
    help=f"Some of {', '.join(registry.known_names())}; by default all that can learn the classes.",
)
@number_option
@inside_option
@click.option("--cv", type=click.IntRange(2, 1000), default=5, show_default=True, metavar="N")
@seed_option
def compare(
    learners: str | None, k: int | None, inside: str | None, cv: int, seed: int, **what: Any
) -> None:
    """Cross-validate every learner on the same folds of DATA, and print a table."""
    names = _chosen(learners)
    training = load_training(**what)
    classes = np.unique(training.y)
    rows = []
    for name in names:
        learner = registry.find_learner(name)
        if len(classes) > 2 and not registry.learns_many_classes(learner) and learners is None:
            note(f"{name} learns two classes, and is left out")
            continue
        number = k if registry.number_parameter(learner) else None
        label = inside if "inside" in registry.parameters_of(learner) else None
        model = make(name, classes, k=number, inside=label, seed=seed)
        begun = time.perf_counter()
        try:
            score = cross_validated(model, training.X, training.y, cv, seed, name)
        except ImportError as error:
            note(f"{name} is left out: {error}")
            continue
        seconds = (time.perf_counter() - begun) / cv
        rows.append((score.accuracy, name, score.spread or 0.0, seconds))
    rows.sort(key=lambda row: -row[0])
    cells = [[name, f"{100 * a:.2f}", f"{100 * b:.2f}", f"{s:.2f}"] for a, name, b, s in rows]
    click.echo(f"{cv}-fold cross-validation of {len(training.y)} rows, best first\n")
    click.echo(table(["learner", "accuracy %", "±", "s a fit"], cells))


def _chosen(learners: str | None) -> list[str]:
    known = registry.learner_names()
    if learners is None:
        return known
    names = [name.strip() for name in learners.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise click.BadParameter(
            f"{', '.join(map(repr, unknown)) or 'nothing'} is not among {', '.join(known)}",
            param_hint="--learners",
        )
    return names

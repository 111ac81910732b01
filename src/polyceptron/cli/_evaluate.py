"""`polyceptron evaluate` and `compare`: how well models answer."""

from __future__ import annotations

import time
from typing import Any

import click

from polyceptron.cli import _learning, _options
from polyceptron.cli._data import read_rows
from polyceptron.cli._lazy import np
from polyceptron.cli._model import Loaded
from polyceptron.cli._terminal import note, percent, section, shown, table
from polyceptron.learners import registry


@click.command(short_help="Say how well a model answers a file.")
@_options.model_argument
@_options.data_argument
@click.option("--target", "-t", metavar="COLUMN", help="The column with the classes.")
@_options.header_option
def evaluate(model: str, data: str, target: str | None, header: bool | None) -> None:
    """Compare a model's answers with the classes in DATA."""
    loaded = Loaded(model)
    target = target or loaded.target
    if target is None:
        raise click.UsageError("--target is needed: the model does not say which column it was.")
    if target in loaded.feature_columns:
        raise click.UsageError(f"--target {target!r} is a feature of the model, not its class.")
    rule = loaded.rule
    counts: Any = sum(
        _learning.confusion(rule, X, loaded.classes_in(rows, target))
        for rows, X in loaded.pieces(data, header, [target])
    )
    right, n = counts.diagonal(), counts.sum(axis=1)
    click.echo(
        f"Accuracy: {percent(_learning.share_right(counts))} ({right.sum()} of {n.sum()} rows)"
    )
    _learning.show_counts("Answers", counts, rule.classes)
    found = np.maximum(counts.sum(axis=0), 1)
    shares = zip(map(shown, rule.labels), n, right / found, right / np.maximum(n, 1), strict=True)
    cells = [[label, rows, percent(p), percent(r)] for label, rows, p, r in shares]
    section("Classes", table(["class", "rows", "precision", "recall"], cells))


@click.command(short_help="Cross-validate all learners on a file.")
@_options.training_options
@_options.names_option(
    "--learners",
    f"Some of {', '.join(registry.known_names())}; by default all that can learn the classes.",
    _options.LearnerName(),
)
@_options.learning_options
@click.option("--cv", type=click.IntRange(2, 1000), default=5, show_default=True, metavar="N")
@_options.seed_option
def compare(
    learners: list[str] | None, k: int | None, inside: str | None, cv: int, seed: int, **what: Any
) -> None:
    """Cross-validate every learner on the same folds of DATA, and print a table."""
    data = read_rows(**what)
    rows = []
    for name in learners or registry.learner_names():
        learner = registry.find_learner(name)
        if len(data.classes) > 2 and not registry.learns_many_classes(learner) and learners is None:
            note(f"{name} learns two classes, and is left out")
            continue
        number = k if registry.number_parameter(learner) else None
        label = inside if "inside" in registry.parameters_of(learner) else None
        model = _learning.make(name, data.classes, k=number, inside=label, seed=seed)
        begun = time.perf_counter()
        try:
            score = _learning.cross_validated(model, data, cv, seed, name)
        except ImportError as error:
            note(f"{name} is left out: {error}")
            continue
        seconds = (time.perf_counter() - begun) / cv
        rows.append((score.accuracy, name, score.spread or 0.0, seconds))
    rows.sort(key=lambda row: -row[0])
    cells = [[name, f"{100 * a:.2f}", f"{100 * b:.2f}", f"{s:.2f}"] for a, name, b, s in rows]
    click.echo(f"{cv}-fold cross-validation of {data.n_samples} rows, best first\n")
    click.echo(table(["learner", "accuracy %", "±", "s a fit"], cells))

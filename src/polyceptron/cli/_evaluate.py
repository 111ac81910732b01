"""`polyceptron evaluate` and `compare`: how well models answer."""

from __future__ import annotations

import time
from typing import Any

import click

from polyceptron.cli import _options
from polyceptron.cli._data import read_rows
from polyceptron.cli._lazy import metrics, np
from polyceptron.cli._learning import cross_validated, make, show_counts
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
    classes, places = loaded.rule.classes, range(len(loaded.rule.classes))
    truth: list[int] = []
    answers = []
    for rows, X in loaded.pieces(data, header, [target]):
        truth += loaded.classes_in(rows, target)
        answers.append(loaded.rule.decide(X).place)
    found, right = np.concatenate(answers), np.array(truth)
    hits = int((found == right).sum())
    click.echo(f"Accuracy: {percent(hits / len(right))} ({hits} of {len(right)} rows)")
    show_counts("Answers", metrics.confusion_matrix(right, found, labels=places), classes)
    precision, recall, _, n = metrics.precision_recall_fscore_support(
        right, found, labels=places, zero_division=0
    )
    shares = zip(
        map(shown, classes.tolist()), n, map(percent, precision), map(percent, recall), strict=True
    )
    section("Classes", table(["class", "rows", "precision", "recall"], shares))


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
        model = make(name, data.classes, k=number, inside=label, seed=seed)
        begun = time.perf_counter()
        try:
            score = cross_validated(model, data, cv, seed, name)
        except ImportError as error:
            note(f"{name} is left out: {error}")
            continue
        seconds = (time.perf_counter() - begun) / cv
        rows.append((score.accuracy, name, score.spread or 0.0, seconds))
    rows.sort(key=lambda row: -row[0])
    cells = [[name, f"{100 * a:.2f}", f"{100 * b:.2f}", f"{s:.2f}"] for a, name, b, s in rows]
    click.echo(f"{cv}-fold cross-validation of {data.n_samples} rows, best first\n")
    click.echo(table(["learner", "accuracy %", "±", "s a fit"], cells))

"""`polyceptron evaluate` and `compare`: how well models answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli import _learning, _options
from polyceptron.cli._data import read_rows
from polyceptron.cli._lazy import np
from polyceptron.cli._model import Loaded
from polyceptron.cli._terminal import note, percent, table
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.guesses import FileOptions

_MOST_SVM_ROWS = 20_000
"""An SVM takes time that grows faster than the square of the rows."""


@click.command(short_help="Say how well a model answers a file.")
@_options.model_argument
@_options.data_argument
@_options.target_option
@_options.file_options
def evaluate(model: str, data: str, target: str | None, file: FileOptions) -> None:
    """Compare a model's answers with the classes in DATA."""
    from polyceptron.verdict import Tally, Verdict

    loaded = Loaded(model)
    target = loaded.label_column(target)
    rule = loaded.rule
    tallies = (
        Tally.of(rule, X, np.array(loaded.classes_in(rows, target)))
        for rows, X in loaded.pieces(data, file, [target])
    )
    verdict = Verdict.of(rule, reduce(add, tallies))
    n, right = verdict.rows, sum(line[j] for j, line in enumerate(verdict.answers))
    click.echo(f"Accuracy: {percent(verdict.accuracy)} ({right} of {n} rows)")
    _learning.show_verdict(verdict)


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
def compare(learners: list[str] | None, cv: int, seed: int, **what: Any) -> None:
    """Cross-validate every learner on the same folds of DATA, and print a table.

    Beside them are those to beat: the most frequent class, logistic regression, a support vector
    machine with an RBF kernel (of at most 20,000 rows), and a decision tree, as scikit-learn has
    them by default, the regression and the machine on standardised columns.
    """
    options = {name: what.pop(name) for name in ("k", "inside")}
    counts = {name: what.pop(name) for name in _options.CLASS_WEIGHTS}
    data = read_rows(**what, later=True)
    weight = _learning.class_weight(data.classes, inside=options["inside"], **counts)
    options["class_weight"] = weight
    models = _learners(learners, data, options, seed)
    rows = []
    for name, model in [*models, *_baselines(data, weight, seed)]:
        try:
            score = _learning.cross_validated(model, data, cv, seed, name)
        except ImportError as error:
            note(f"{name} is left out: {error}")
            continue
        recalls = score.counts.diagonal() / score.counts.sum(axis=1)
        rows.append((score.accuracy, name, score.spread or 0.0, recalls.mean(), score.seconds))
    rows.sort(key=lambda row: -row[0])
    cells = [
        [name, *(f"{100 * x:.2f}" for x in (a, b, c)), f"{s:.2f}"] for a, name, b, c, s in rows
    ]
    click.echo(f"{cv}-fold cross-validation of {data.n_samples} rows, best first\n")
    click.echo(table(["learner", "accuracy %", "±", "balanced %", "s a fit"], cells))


def _learners(
    names: list[str] | None, data: Any, options: dict[str, Any], seed: int
) -> Iterator[tuple[str, Any]]:
    """Those that were asked for, or all that can learn these classes."""
    for name in names or registry.learner_names():
        learner = registry.find_learner(name)
        if len(data.classes) > 2 and not registry.learns_many_classes(learner) and names is None:
            note(f"{name} learns two classes, and is left out")
            continue
        known = dict(options)
        if not registry.number_parameter(learner):
            known["k"] = None
        if "inside" not in registry.parameters_of(learner):
            known["inside"] = None
        yield name, _learning.make(name, data.classes, **known, seed=seed)


def _baselines(data: Any, class_weight: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """What a learner should beat, with the same weights of classes."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    scaler = StandardScaler(with_mean=not data.is_sparse)
    weight = {"class_weight": class_weight}
    yield "(most frequent class)", DummyClassifier()
    logistic = LogisticRegression(max_iter=1000, **weight)
    yield "(logistic regression)", make_pipeline(scaler, logistic)
    if data.n_samples > _MOST_SVM_ROWS:
        note(f"an RBF-SVM is left out, as there are more than {_MOST_SVM_ROWS} rows")
    else:
        yield "(RBF-SVM)", make_pipeline(scaler, SVC(**weight))
    yield "(decision tree)", DecisionTreeClassifier(random_state=seed, **weight)

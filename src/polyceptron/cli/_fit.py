"""`polyceptron fit`: from a file of rows to a model file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._data import load_training, training_options
from polyceptron.cli._learners import LEARNERS, make
from polyceptron.cli._out import check_free, force_option, out_option, write
from polyceptron.cli._tables import note, percent, section, shown

if TYPE_CHECKING:
    from polyceptron.cli._data import Training
    from polyceptron.cli._scores import Score

_MOST_COLUMNS = 1000

seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True
)
inside_option = click.option("--inside", metavar="LABEL", help="The class to describe.")


@click.command(short_help="Learn a model from a file of rows.")
@training_options
@click.option(
    "--learner",
    "-l",
    type=click.Choice(list(LEARNERS)),
    default="polyceptron",
    show_default=True,
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(1, 10_000),
    metavar="K",
    help="How many inequalities; by default the learner's choice.",
)
@inside_option
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Learn from the other rows, and say how this share is answered.",
)
@click.option(
    "--cv",
    type=click.IntRange(2, 1000),
    metavar="N",
    help="Cross-validate in N folds; the model learns from all rows.",
)
@seed_option
@out_option("The model file", required=True)
@force_option
def fit(
    learner: str,
    k: int | None,
    inside: str | None,
    test_size: float | None,
    cv: int | None,
    seed: int,
    output: str,
    force: bool,
    **what: Any,
) -> None:
    """Learn a class as a few inequalities from the rows of DATA, and write them to a model file.

    DATA is CSV with any delimiter, TSV, Parquet, LIBSVM or .npz, also inside gzip; - is standard
    input. Columns of text become one feature for each value. With -o - the model goes to standard
    output, and all else that is printed to standard error.
    """
    if test_size is not None and cv is not None:
        raise click.UsageError("--test-size and --cv exclude each other.")
    check_free(output, force)
    training = load_training(**what)
    if output == "-":
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            with redirect_stdout(sys.stderr):
                _fit(training, learner, k, inside, test_size, cv, seed, path)
            write(output, path.read_bytes())
        return
    _fit(training, learner, k, inside, test_size, cv, seed, Path(output))
    click.echo(f"\nModel: {output}")


def _fit(
    training: Training,
    learner: str,
    k: int | None,
    inside: str | None,
    test_size: float | None,
    cv: int | None,
    seed: int,
    path: Path,
) -> None:
    import numpy as np

    from polyceptron.cli import _scores
    from polyceptron.cli._model import polyhedra_of
    from polyceptron.cli._waiting import Waiting

    X, y = training.X, training.y
    classes, counts = np.unique(y, return_counts=True)
    estimator = make(learner, classes, k=k, inside=inside, seed=seed)
    _say_data(training, classes, counts)
    score: Score | None = None
    if test_size is not None:
        score, learned = _scores.held_out(estimator, X, y, test_size, seed)
        X, y = X[learned], y[learned]
    else:
        if cv is not None:
            score = _scores.cross_validated(estimator, X, y, cv, seed)
        with Waiting("Learning"):
            estimator.fit(X, y)
    answers = estimator.predict(X)
    share = float(np.mean(answers == y))
    # Before it is shown: who reads may have gone away.
    _save(estimator, training, X, y, {"training": share} | _as_dict(score), path)
    _say_accuracy(score, share, len(y))
    section(
        f"Answers ({score.what if score else 'rows learned from'})",
        _scores.confusion(*((score.y, score.answers) if score else (y, answers)), classes),
    )
    _scores.show_faces(estimator, polyhedra_of(estimator), X, y)


def _as_dict(score: Score | None) -> dict[str, float]:
    return {} if score is None else {score.what: score.accuracy}


def _save(
    estimator: Any, training: Training, X: Any, y: Any, accuracy: dict[str, float], path: Path
) -> None:
    import numpy as np

    from polyceptron.model_file import save_model

    # Names are not given to fit, as it takes them from data frames only.
    estimator.feature_names_in_ = np.array(training.encoding.feature_names, dtype=object)
    labels, counts = np.unique(y, return_counts=True)
    summary = {
        "target": training.target,
        "rows": len(y),
        "classes": dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True)),
        "accuracy": accuracy,
        **_typical(X),
    }
    save_model(estimator, path, encoding=training.encoding, summary=summary)


def _typical(X: Any) -> dict[str, Any]:
    """What is usual in each column, for explanations; sparse rows are too wide for it."""
    import numpy as np

    if not isinstance(X, np.ndarray) or X.shape[1] > _MOST_COLUMNS:
        return {}
    with np.errstate(over="ignore", invalid="ignore"):
        medians, spreads = np.median(X, axis=0), X.std(axis=0)
    if not (np.isfinite(medians).all() and np.isfinite(spreads).all()):
        return {}
    return {"columns": {"median": medians.tolist(), "spread": spreads.tolist()}}


def _say_data(training: Training, classes: Any, counts: Any) -> None:
    listed = ", ".join(
        f"{shown(label)} {count}" for label, count in zip(classes.tolist(), counts, strict=True)
    )
    if training.n_left_out:
        note(f"{training.n_left_out} rows left out for missing values")
    n = len(training.encoding.feature_names)
    click.echo(f"Rows: {len(training.y)} ({listed}), {n} feature{'s' if n > 1 else ''}")


def _say_accuracy(score: Score | None, training: float, n: int) -> None:
    if score is None:
        click.echo(
            f"Accuracy: {percent(training)} of the {n} rows learned from "
            "(--cv 10 tells that of new rows)"
        )
        return
    spread = "" if score.spread is None else f" ± {100 * score.spread:.2f}"
    click.echo(
        f"Accuracy: {percent(score.accuracy)}{spread} ({score.what}), "
        f"{percent(training)} ({n} rows learned from)"
    )

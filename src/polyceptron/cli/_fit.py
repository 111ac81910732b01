"""`polyceptron fit`: from a file of rows to a model file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

import polyceptron
from polyceptron.cli import _out_of_core, _scores
from polyceptron.cli._data import Training, load_training, training_options
from polyceptron.cli._lazy import np
from polyceptron.cli._learners import LearnerName, make
from polyceptron.cli._options import inside_option, number_option, seed_option
from polyceptron.cli._out import check_free, force_option, out_option, write
from polyceptron.cli._progress import Waiting
from polyceptron.cli._tables import note, percent, section, shown
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.source import Source

_MOST_COLUMNS = 1000
"""Of which a model file says what is usual in them."""


@click.command(short_help="Learn a model from a file of rows.")
@training_options
@click.option("--learner", "-l", type=LearnerName(), default="polyceptron", show_default=True)
@number_option
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
@_out_of_core.out_of_core_options
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with a fit that was stopped: what it knew is in OUTPUT.checkpoint.",
)
@out_option("The model file", required=True)
@force_option
def fit(
    learner: str,
    k: int | None,
    inside: str | None,
    test_size: float | None,
    cv: int | None,
    seed: int,
    out_of_core: bool | None,
    memory_limit: int | None,
    cache_dir: str | None,
    resume: bool,
    output: str,
    force: bool,
    **what: Any,
) -> None:
    """Learn a class as a few inequalities from the rows of DATA, and write them to a model file.

    DATA is CSV with any delimiter, TSV, Parquet, Arrow, LIBSVM, .npz or .npy, also inside gzip,
    bzip2, Zstandard or LZ4; or a folder of such files, or a pattern such as 'rows-*.parquet', in
    quotes; - is standard input. Columns of text become one feature for each value. With -o - the
    model goes to standard output, and all else that is printed to standard error.

    Rows that do not fit into memory stay on disk (--out-of-core), as do those of several files.
    """
    if test_size is not None and cv is not None:
        raise click.UsageError("--test-size and --cv exclude each other.")
    check_free(output, force, what["data"])
    if resume and "checkpoint" not in registry.parameters_of(registry.find_learner(learner)):
        raise click.UsageError(f"--learner {learner} writes no checkpoint; leave out --resume.")
    checkpoint = _checkpoint(output, resume, force)
    learn = partial(make, learner, k=k, inside=inside, seed=seed)
    work: partial[None]
    if _out_of_core.is_out_of_core(what["data"], out_of_core, memory_limit):
        _out_of_core.refuse_options(learner, test_size, cv)
        source = _out_of_core.open_source(**what, cache_dir=cache_dir)
        work = partial(_fit_source, source, learn, checkpoint)
    else:
        work = partial(_fit, load_training(**what), learn, checkpoint, test_size, cv, seed)
    if output == "-":
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            with redirect_stdout(sys.stderr):
                work(path)
            write(output, path.read_bytes())
        return
    try:
        work(Path(output))
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            note(f"{checkpoint} has what is known so far; --resume goes on from there")
        raise
    click.echo(f"\nModel: {output}")


def _checkpoint(output: str, resume: bool, force: bool) -> Path | None:
    """The file to go on from, and to write to."""
    if output == "-":
        if resume:
            raise click.UsageError("--resume needs a model file: its checkpoint is beside it.")
        return None
    path = Path(f"{output}.checkpoint")
    if resume and not path.exists():
        note(f"there is no {path} to go on from, so the fit begins anew")
    elif path.exists() and not resume:
        if not force:
            raise click.ClickException(
                f"{path}: a fit was stopped; --resume goes on with it, --force begins anew"
            )
        path.unlink()
    return path


def with_checkpoint(estimator: Any, path: Path | None) -> Any:
    """Return the same learner, so that a kill costs no more than half a minute."""
    if path is not None and "checkpoint" in estimator.get_params():
        # It is needed until the model is written.
        estimator.set_params(checkpoint=polyceptron.Checkpoint(path, keep=True))
    return estimator


def _fit_source(source: Source, learn: partial[Any], checkpoint: Path | None, path: Path) -> None:
    """Fit rows that stay on disk."""
    classes = source.classes
    if len(classes) > 2:
        raise click.ClickException(
            f"out of core there are two classes; here are {len(classes)}: --in-memory learns more"
        )
    estimator = with_checkpoint(learn(classes), checkpoint)
    with Waiting("Learning"):
        estimator.fit_blocks(source)
    answers, rejected = _out_of_core.tally(estimator, source)
    counts, share = answers.sum(axis=1), float(answers.trace() / answers.sum())
    some, accuracy = _out_of_core.some_rows(source), {"training": share}
    summary = _summary(source.target, classes, counts, accuracy, some)
    _save(estimator, _out_of_core.encoding_of(source), summary, path, checkpoint)
    _say_data(classes, counts, source.n_features, source.n_left_out)
    _say_accuracy(None, share, source.n_samples, out_of_core=True)
    section("Answers (rows learned from)", _scores.confusion_table(answers, classes.tolist()))
    _scores.show_faces(_named(estimator), counts_of_faces=rejected.tolist())


def _fit(
    training: Training,
    learn: partial[Any],
    checkpoint: Path | None,
    test_size: float | None,
    cv: int | None,
    seed: int,
    path: Path,
) -> None:
    X, y = training.X, training.y
    classes, counts = np.unique(y, return_counts=True)
    estimator = learn(classes)
    with suppress(BrokenPipeError):  # who reads may have gone away; the model is written first
        _say_data(classes, counts, X.shape[1], training.n_left_out)
    score: _scores.Score | None = None
    if test_size is not None:
        with_checkpoint(estimator, checkpoint)
        score, learned = _scores.held_out(estimator, X, y, test_size, seed)
        X, y = X[learned], y[learned]
    else:
        if cv is not None:
            score = _scores.cross_validated(estimator, X, y, cv, seed)
        with Waiting("Learning"):
            with_checkpoint(estimator, checkpoint).fit(X, y)
    answers = estimator.predict(X)
    share = float(np.mean(answers == y))
    if training.encoding is not None:
        # Names are not given to fit, as it takes them from data frames only.
        estimator.feature_names_in_ = np.array(training.encoding.feature_names, dtype=object)
    counts = np.unique(y, return_counts=True)[1]
    accuracy = {"training": share} | ({} if score is None else {score.what: score.accuracy})
    summary = _summary(training.target, classes, counts, accuracy, X)
    _save(estimator, training.encoding, summary, path, checkpoint)
    _say_accuracy(score, share, len(y))
    told = (
        ("rows learned from", y, answers) if score is None else (score.what, score.y, score.answers)
    )
    section(f"Answers ({told[0]})", _scores.confusion(told[1], told[2], classes))
    _scores.show_faces(_named(estimator), X, y)


def _named(estimator: Any) -> polyceptron.Rule:
    rule: polyceptron.Rule = estimator.rule_
    return rule.renamed(getattr(estimator, "feature_names_in_", None))


def _save(
    estimator: Any, encoding: Any, summary: dict[str, Any], path: Path, checkpoint: Path | None
) -> None:
    polyceptron.save_model(estimator, path, encoding=encoding, summary=summary)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)


def _summary(
    target: str | None, classes: Any, counts: Any, accuracy: dict[str, float], X: Any
) -> dict[str, Any]:
    """What a model file says of the rows that were learned from; X are all of them, or many."""
    summary = {
        "target": target,
        "rows": int(counts.sum()),
        "classes": dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
        "accuracy": accuracy,
    }
    if not isinstance(X, np.ndarray) or X.shape[1] > _MOST_COLUMNS:
        return summary  # too wide to say, for explanations, what is usual in each column
    with np.errstate(over="ignore", invalid="ignore"):
        medians, spreads = np.median(X, axis=0), X.std(axis=0)
    if np.isfinite(medians).all() and np.isfinite(spreads).all():
        summary["columns"] = {"median": medians.tolist(), "spread": spreads.tolist()}
    return summary


def _say_data(classes: Any, counts: Any, n_features: int, n_left_out: int) -> None:
    pairs = zip(map(shown, classes.tolist()), counts, strict=True)
    listed = ", ".join(f"{label} {count}" for label, count in pairs)
    if n_left_out:
        note(f"{n_left_out} row{'s' if n_left_out > 1 else ''} left out for missing values")
    features = f"{n_features} feature{'s' if n_features > 1 else ''}"
    click.echo(f"Rows: {sum(counts)} ({listed}), {features}")


def _say_accuracy(
    score: _scores.Score | None, training: float, n: int, *, out_of_core: bool = False
) -> None:
    if score is None:
        hint = "" if out_of_core else " (--cv 10 tells that of new rows)"
        click.echo(f"Accuracy: {percent(training)} of the {n} rows learned from{hint}")
        return
    spread = "" if score.spread is None else f" ± {100 * score.spread:.2f}"
    click.echo(
        f"Accuracy: {percent(score.accuracy)}{spread} ({score.what}), "
        f"{percent(training)} ({n} rows learned from)"
    )

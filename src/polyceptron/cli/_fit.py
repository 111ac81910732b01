"""`polyceptron fit`: from a file of rows to a model file."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

import polyceptron
from polyceptron.cli import _learning, _options
from polyceptron.cli._data import is_out_of_core, open_rows, read_rows
from polyceptron.cli._lazy import np
from polyceptron.cli._out import check_free, write
from polyceptron.cli._terminal import Waiting, note, percent, shown
from polyceptron.learners import registry

_MOST_COLUMNS = 1000
"""Of which a model file says what is usual in them."""
_TYPICAL_ROWS = 100_000
"""That tell what is usual, where the rows are on disk."""


@click.command(short_help="Learn a model from a file of rows.")
@_options.training_options
@click.option(
    "--learner", "-l", type=_options.LearnerName(), default="polyceptron", show_default=True
)
@_options.learning_options
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
@_options.seed_option
@_options.place_options
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with a fit that was stopped: what it knew is in OUTPUT.checkpoint.",
)
@_options.out_option("The model file")
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
    learn = partial(_learning.make, learner, k=k, inside=inside, seed=seed)
    work: partial[None]
    if is_out_of_core(what["data"], out_of_core, memory_limit):
        _refuse_options(learner, test_size, cv)
        work = partial(_fit_on_disk, open_rows(**what, cache_dir=cache_dir), learn, checkpoint)
    else:
        work = partial(_fit_in_memory, read_rows(**what), learn, checkpoint, test_size, cv, seed)
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


def _refuse_options(learner: str, test_size: float | None, cv: int | None) -> None:
    """Refuse what needs the rows in memory."""
    names = registry.learner_names()
    able = [name for name in names if hasattr(registry.find_learner(name), "fit_blocks")]
    if learner not in able:
        raise click.UsageError(
            f"--learner {learner} needs the rows in memory; these do not: {', '.join(able)}"
        )
    if test_size is not None or cv is not None:
        raise click.UsageError(
            "--test-size and --cv need the rows in memory; `evaluate` tells how a model answers "
            "another file."
        )


class _Fitted(NamedTuple):
    """A learner that has learned, and what is known of the rows that it learned from."""

    estimator: Any
    encoding: Any
    target: str | None
    counts: Any  # their tally
    X: Any  # all of them, or many
    score: _learning.Score | None = None

    @property
    def answers(self) -> Any:
        """The confusion matrix of these rows."""
        return self.counts[:, : len(self.counts)]

    @property
    def share(self) -> float:
        """Of these rows, those that are answered right."""
        return float(self.answers.trace() / self.answers.sum())


def _fit_on_disk(source: Any, learn: partial[Any], checkpoint: Path | None, path: Path) -> None:
    from polyceptron.data.blocks import count_threads
    from polyceptron.data.scaling import identity
    from polyceptron.data.source import View

    classes, n = source.classes, source.n_samples
    if len(classes) > 2:
        raise click.ClickException(
            f"out of core there are two classes; here are {len(classes)}: --in-memory learns more"
        )
    estimator = with_checkpoint(learn(classes), checkpoint)
    with Waiting("Learning"):
        estimator.fit_blocks(source)
    view = View(identity(source.n_features), inside=1)
    counts = source.blocks(view, count_threads(None, n)).reduce(
        lambda block: _learning.tally(estimator.rule_, block.X, (block.y > 0).astype(int))
    )
    some = np.unique(np.linspace(0, n - 1, min(n, _TYPICAL_ROWS)).astype(np.int64))
    encoding = source.encoding or _plain_encoding(source)
    fitted = _Fitted(estimator, encoding, source.target, counts, source.take(some).X)
    _save(fitted, path, checkpoint)
    _say_data(classes, fitted.answers.sum(axis=1), source.n_features, source.n_left_out)
    _say_model(fitted, "")


def _plain_encoding(source: Any) -> Any:
    """Columns as they are, if they have names."""
    from polyceptron.data.encoding import Column, Encoding

    names = source.feature_names
    return None if names is None else Encoding([Column(name, "number") for name in names])


def _fit_in_memory(
    rows: Any,
    learn: partial[Any],
    checkpoint: Path | None,
    test_size: float | None,
    cv: int | None,
    seed: int,
    path: Path,
) -> None:
    X, y = rows.X, rows.y
    classes, places = np.unique(y, return_inverse=True)
    estimator = learn(classes)
    with suppress(BrokenPipeError):  # who reads may have gone away; the model is written first
        _say_data(classes, np.bincount(places), X.shape[1], rows.n_left_out)
    score: _learning.Score | None = None
    if test_size is not None:
        with_checkpoint(estimator, checkpoint)
        score, learned = _learning.held_out(estimator, X, y, test_size, seed)
        X, places = X[learned], places[learned]
    else:
        if cv is not None:
            score = _learning.cross_validated(estimator, X, y, cv, seed)
        with Waiting("Learning"):
            with_checkpoint(estimator, checkpoint).fit(X, y)
    encoding = None if rows.feature_names is None else rows.encoding or _plain_encoding(rows)
    if encoding is not None:
        # Names are not given to fit, as it takes them from data frames only.
        estimator.feature_names_in_ = np.array(encoding.feature_names, dtype=object)
    counts = _learning.tally(estimator.rule_, X, places)
    fitted = _Fitted(estimator, encoding, rows.target, counts, X, score)
    _save(fitted, path, checkpoint)
    _say_model(fitted, " (--cv 10 tells that of new rows)")


def _save(fitted: _Fitted, path: Path, checkpoint: Path | None) -> None:
    """Write the model, and what is known of the rows; then no checkpoint is needed."""
    X, score, counts = fitted.X, fitted.score, fitted.answers.sum(axis=1)
    labels = map(str, fitted.estimator.rule_.labels)
    accuracy = {"training": fitted.share}
    summary: dict[str, Any] = {
        "target": fitted.target,
        "rows": int(counts.sum()),
        "classes": dict(zip(labels, counts.tolist(), strict=True)),
        "accuracy": accuracy | ({} if score is None else {score.what: score.accuracy}),
    }
    # Too wide, it is too much to say, for explanations, what is usual in each column.
    if isinstance(X, np.ndarray) and X.shape[1] <= _MOST_COLUMNS:
        with np.errstate(over="ignore", invalid="ignore"):
            medians, spreads = np.median(X, axis=0), X.std(axis=0)
        if np.isfinite(medians).all() and np.isfinite(spreads).all():
            summary["columns"] = {"median": medians.tolist(), "spread": spreads.tolist()}
    polyceptron.save_model(fitted.estimator, path, encoding=fitted.encoding, summary=summary)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)


def _say_data(classes: Any, counts: Any, n_features: int, n_left_out: int) -> None:
    pairs = zip(map(shown, classes.tolist()), counts, strict=True)
    listed = ", ".join(f"{label} {count}" for label, count in pairs)
    if n_left_out:
        note(f"{n_left_out} row{'s' if n_left_out > 1 else ''} left out for missing values")
    features = f"{n_features} feature{'s' if n_features > 1 else ''}"
    click.echo(f"Rows: {sum(counts)} ({listed}), {features}")


def _say_model(fitted: _Fitted, hint: str) -> None:
    score, n, training = fitted.score, fitted.answers.sum(), percent(fitted.share)
    rule = fitted.estimator.rule_
    if score is None:
        click.echo(f"Accuracy: {training} of the {n} rows learned from{hint}")
        _learning.show_counts("Answers (rows learned from)", fitted.answers, rule.classes)
    else:
        spread = "" if score.spread is None else f" ± {100 * score.spread:.2f}"
        new = f"{percent(score.accuracy)}{spread} ({score.what})"
        click.echo(f"Accuracy: {new}, {training} ({n} rows learned from)")
        _learning.show_answers(f"Answers ({score.what})", score.y, score.answers, rule.classes)
    names = getattr(fitted.estimator, "feature_names_in_", None)
    _learning.show_faces(rule.renamed(names), fitted.counts)

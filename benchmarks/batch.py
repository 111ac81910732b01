"""One step of the batch learner, and prediction, against reading the rows once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.data import Case, polyhedral
from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import check_yardstick, in_turns, read_in_streams, read_once
from polyceptron import Polyhedron, kernels
from polyceptron.optim.criterion import gradient
from polyceptron.scoring import least_margins

TWO_PERCENT = 0.04
"""How far off hyperplanes are that get two rows of a hundred wrong."""


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
    case = polyhedral(sizes.rows(2_000_000), 20, 4, off=TWO_PERCENT)
    _check_same_gradient(case)
    y, inside = case.y.astype(float), Polyhedron(case.W, case.b)
    sides = _sides(case) | {
        "read in four streams": read_in_streams(case.X),
        "predict": lambda: least_margins(case.X, case.W, case.b, n_jobs=1),
        "predict, two threads": lambda: least_margins(case.X, case.W, case.b, n_jobs=2),
        "decision": lambda: inside.decision(case.X),
        "numpy step": lambda: numpy_step(case.X, y, case.W, case.b),
    }
    t = _times(sides, sizes)
    note = f"{case.share_of_mistakes():.1%} mistakes"
    yield _over(t, "batch step ÷ reading X once", "step", "read", Bar("<=", 1.6), note)
    yield _two_threads(t, "batch step", "step", "reading X once", Bar("<=", 0.9))
    yield _over(t, "batch step ÷ numpy masks", "step", "numpy step", Bar("<=", 0.30))
    yield _over(t, "predict ÷ reading X once", "predict", "read", Bar("<=", 1.2))
    yield _two_threads(t, "predict", "predict", "reading X once", None)
    name = "polyhedron.decision (two threads) ÷ reading X once"
    yield _over(t, name, "decision", "read", Bar("<=", 1.3))
    yield _over(t, "batch step ÷ reading X in four streams at once", "step", "read in four streams")


def _sides(case: Case) -> dict[str, Any]:
    return {
        "read": read_once(case.X),
        "numpy sum": case.X.sum,
        "step": _step(case),
        "step, two threads": _step(case, 2),
    }


def _times(sides: dict[str, Any], sizes: Sizes) -> dict[str, float]:
    if _cores() < 2:
        sides = {name: side for name, side in sides.items() if "two threads" not in name}
    t = in_turns(sides, sizes.rounds(9))
    check_yardstick(t)
    return t


def _over(t, name, side, other, bar=None, note="") -> Measurement:
    return Measurement(name, t[side] / t[other], bar, {side: t[side], other: t[other]}, note)


def _two_threads(
    t: dict[str, float], what: str, side: str, yardstick: str, bar: Bar | None
) -> Measurement:
    name, side = f"{what}, two threads ÷ {yardstick}", f"{side}, two threads"
    if side not in t:
        return Measurement(name, None, bar, note="needs two cores")
    return _over(t, name, side, "read", bar)


@benchmark
def shapes(sizes: Sizes) -> Iterator[Measurement]:
    """Float32, and wide rows for information."""
    case = polyhedral(sizes.rows(2_000_000), 20, 4, off=TWO_PERCENT).as_float32()
    t, yardstick = _times(_sides(case), sizes), "reading float32 X once"
    note = f"{case.share_of_mistakes():.1%} mistakes"
    yield _over(t, f"float32 batch step ÷ {yardstick}", "step", "read", Bar("<=", 2.2), note)
    yield _two_threads(t, "float32 batch step", "step", yardstick, Bar("<=", 1.2))
    case = polyhedral(sizes.rows(200_000), 200, 8)
    t = _times(_sides(case), sizes)
    note = f"{case.share_of_mistakes():.1%} mistakes"
    yield _over(t, "batch step with d=200, K=8 ÷ reading X once", "step", "read", None, note)


@benchmark
def likelihood(sizes: Sizes) -> Iterator[Measurement]:
    """Log-likelihood and gradient of one polyhedron, 3,200 rows x 16, four faces, two ways."""
    case, noise = polyhedral(3200, 16, 4), 1e-4
    X, none = kernels.pack_rows(case.X), np.empty(0)
    flat, ends = np.append(np.column_stack([case.W, case.b]), -np.inf), np.array([4])

    def ours():
        return kernels.union_part(X, case.y, none, none, flat, ends)

    def numpy():
        return numpy_likelihood(case.X, case.y > 0, case.W, case.b, noise)

    value, G, g = numpy()
    np.testing.assert_allclose(ours()[-1], value, rtol=1e-9)
    np.testing.assert_allclose(ours()[:-2], np.column_stack([G, g]).ravel(), rtol=1e-6, atol=1e-6)
    t = in_turns({"ours": ours, "numpy": numpy}, sizes.rounds(300))
    name = "likelihood and gradient, one piece of 4 faces, 3,200 x 16 ÷ numpy with expit"
    note = f"{1e6 * t['ours']:.0f} µs and {1e6 * t['numpy']:.0f} µs"
    yield _over(t, name, "ours", "numpy", Bar("<=", 0.35), note)


def numpy_likelihood(X, inside, W, b, noise):
    """The likelihood of a product of logistics with wrong labels as one writes it with numpy."""
    each = expit(X @ W.T + b)
    p = each.prod(axis=1)
    likely = noise + (1 - 2 * noise) * np.where(inside, p, 1 - p)
    c = np.where(inside, 1 - 2 * noise, 2 * noise - 1) * p / likely
    slopes = c[:, None] * (1 - each)
    return np.log(likely).sum(), slopes.T @ X, slopes.sum(axis=0)

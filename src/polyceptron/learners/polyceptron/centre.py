"""The centre of what online runs agree on: their hyperplanes matched, then averaged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, map_in_order
from polyceptron.optim.planes import Planes
from polyceptron.utils.types import Floats


class Centre(NamedTuple):
    """Rows [w_k, b_k] of a matched mean, passes of the longest run, and how many runs converged."""

    theta: Floats
    n_passes: int
    n_converged: int


def centre(data: ArrayBlocks, K: int, margin: float, seeds: list[int], n_passes: int) -> Centre:
    """The matched mean of online runs, one for each seed.

    Every run has its own start and order of rows. Where it makes no update any more its last
    hyperplanes count, else their mean over the last three quarters of the passes. Runs count
    alike: each is scaled to norm one.
    """
    runs = map_in_order(
        lambda seed: online_run(data, K, margin, seed, n_passes), seeds, data.n_threads
    )
    mean = matched_mean([_unit(theta) for theta, _, _ in runs])
    return Centre(mean, max(run[1] for run in runs), sum(run[2] for run in runs))


def online_run(
    data: ArrayBlocks, K: int, margin: float, seed: int, n_passes: int
) -> tuple[Floats, int, bool]:
    """Rows [w_k, b_k] after one run, its passes, and whether it converged.

    The rows are the last ones where it converged, else a mean.
    """
    n, d = data.n_samples, data.n_features
    start = np.random.default_rng(seed).standard_normal((K, d)) if K > 1 else np.zeros((1, d))
    panel, bias, _ = Planes.of(start, np.zeros(K)).copy()
    order = np.empty(n, np.int64)
    U, u, seen = np.zeros((K, d)), np.zeros(K), 0
    for number in range(n_passes):
        if number == n_passes // 4:
            U[:], u[:], seen = 0.0, 0.0, 0
        kernels.shuffle(order, np.uint64((seed << 32) + number))
        _, updates = kernels.online_pass(
            data.X, data.y, data.weight, order, panel, bias, K, 1.0, 1.0, margin, U, u, seen
        )
        seen += n
        if updates == 0:
            return np.column_stack(kernels.from_panels(panel, bias, K)), number + 1, True
    W, b = kernels.from_panels(panel, bias, K)
    return np.column_stack([W - U / seen, b - u / seen]), n_passes, False


def matched_mean(runs: list[Floats]) -> Floats:
    """Mean of runs whose hyperplanes come in any order: each is matched to the sum before it."""
    total = runs[0].copy()
    for run in runs[1:]:
        _, columns = linear_sum_assignment(total @ run.T, maximize=True)
        total += run[columns]
    return total / len(runs)


def _unit(theta: Floats) -> Floats:
    norm = float(np.linalg.norm(theta))
    return theta / norm if norm > 0 else theta

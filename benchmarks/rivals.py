"""Whole fits of the paper's rivals, beside the ratios that the paper prints."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from sklearn.exceptions import ConvergenceWarning

from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import in_turns
from polyceptron import OC1, PCSLP, SPLA1, BatchPolyceptron
from polyceptron.datasets import paper_datasets

PAPER = {"step_size": 0.1, "tol": 50, "margin": 0, "n_init": 1, "standardize": False}
PRINTED = {  # seconds of Table 1: batch Polyceptron, SPLA1, PC-SLP, OC1
    "Dataset 1": (0.03, 0.25, 27.70, 6.65),
    "Dataset 2": (0.23, 0.35, 189.91, 10.01),
    "Ionosphere": (0.04, 0.18, 45.31, 2.4),
    "Breast-Cancer": (0.08, 0.12, 22.86, 1.52),
}
SECONDS = {"SPLA1": 0.1, "PCSLP": 0.3, "OC1": 1.0}
"""What a fit on Dataset 1 may take; an absolute time, which depends on the machine."""
SEEDS = range(3)


def _fits(X, y, K: int) -> dict:
    models = {
        "BatchPolyceptron": lambda seed: BatchPolyceptron(K, random_state=seed, **PAPER),
        "SPLA1": lambda seed: SPLA1(K, n_init=5, random_state=seed),
        "PCSLP": lambda seed: PCSLP(K, random_state=seed),
        "OC1": lambda seed: OC1(n_restarts=20, random_state=seed),
    }
    return {
        name: lambda make=make: [make(seed).fit(X, y) for seed in SEEDS]
        for name, make in models.items()
    }


@benchmark
def rivals(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` on the paper's sets: SPLA1 with 5 starts, PC-SLP, OC1 with 20 restarts."""
    for name, bunch in paper_datasets().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            t = in_turns(_fits(bunch.data, bunch.target, bunch.n_hyperplanes), sizes.rounds(3))
        batch, *printed = PRINTED[name]
        for rival, seconds in zip(SECONDS, printed, strict=True):
            ours = t[rival] / len(SEEDS)
            yield Measurement(
                f"whole fit on {name}: {rival} ÷ BatchPolyceptron at the paper's settings",
                t[rival] / t["BatchPolyceptron"],
                None,
                {rival: ours, "BatchPolyceptron": t["BatchPolyceptron"] / len(SEEDS)},
                f"{1e3 * ours:.0f} ms; the paper's ratio is {seconds / batch:.0f}",
            )
            if name == "Dataset 1":
                yield Measurement(
                    f"seconds of a whole fit on {name}: {rival}",
                    ours,
                    Bar("<=", SECONDS[rival]),
                    {rival: ours},
                )

"""Passes of the online learner against scikit-learn's Perceptron."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron

from benchmarks.data import polyhedral, sparse_rows
from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import in_turns
from polyceptron import OnlinePolyceptron

FEW, MANY = 1, 11
"""A pass is the difference of fits with so many passes: what else a fit does cancels."""

PLAIN = {
    "shuffle": False,
    "pocket": False,
    "average": False,
    "n_init": 1,
    "margin": 0.0,
    "standardize": False,
}

Fit = Callable[[int], object]


def _sklearn(X, y) -> Fit:
    return lambda passes: Perceptron(shuffle=False, tol=None, max_iter=passes).fit(X, y)


def _ours(X, y, K: int) -> Fit:
    """The paper's algorithm from one start: nothing but passes grows with their number."""

    def fit(passes: int) -> OnlinePolyceptron:
        model = OnlinePolyceptron(K, max_iter=passes, random_state=0, **PLAIN).fit(X, y)
        if model.n_iter_ != passes:
            raise RuntimeError(f"finished after {model.n_iter_} of {passes} passes")
        return model

    return fit


def _pass_seconds(fits: dict[str, Fit], sizes: Sizes) -> dict[str, float]:
    sides = {}
    for name, fit in fits.items():
        sides[name, FEW] = lambda fit=fit: fit(FEW)
        sides[name, MANY] = lambda fit=fit: fit(MANY)
    # Fits of a second are sure to be interrupted: by the clock of the process.
    t = in_turns(sides, sizes.rounds(5), time.process_time)
    return {name: (t[name, MANY] - t[name, FEW]) / (MANY - FEW) for name in fits}


def _faster(name: str, t: dict[str, float], side: str, bar: Bar, n: int) -> Measurement:
    """How many times the rows a second of scikit-learn."""
    if min(t.values()) <= 0:
        return Measurement(name, None, bar, note="more passes took less time: the machine is busy")
    rates = {s: n / t[s] / 1e6 for s in (side, "sklearn Perceptron")}
    note = ", ".join(f"{s} {rate:.1f} M rows/s" for s, rate in rates.items())
    return Measurement(
        name, t["sklearn Perceptron"] / t[side], bar, {f"pass, {s}": t[s] for s in rates}, note
    )


@benchmark
def online(sizes: Sizes) -> Iterator[Measurement]:
    """Dense rows, d=20: K=1 on labels of one hyperplane, K=4 on labels of a polyhedron."""
    n = sizes.rows(2_000_000)
    case, single = polyhedral(n, 20, 4), polyhedral(n, 20, 1)
    np.testing.assert_array_equal(case.X, single.X)
    X = case.X
    fits = {
        "sklearn Perceptron": _sklearn(X, single.y),
        "K=1": _ours(X, single.y, 1),
        "K=4": _ours(X, case.y, 4),
    }
    _check_same_perceptron(X[:1000], single.y[:1000])
    t = _pass_seconds(fits, sizes)
    peer = "sklearn Perceptron"
    yield _faster(f"online rows/s, K=1 ÷ {peer}", t, "K=1", Bar(">=", 3.0), n)
    yield _faster(f"online rows/s, K=4 ÷ {peer} (K=1)", t, "K=4", Bar(">=", 3.0), n)


@benchmark
def csr(sizes: Sizes) -> Iterator[Measurement]:
    """CSR rows, 10,000 columns, 50 stored values a row."""
    n = sizes.rows(100_000)
    X, y = sparse_rows(n, 10_000, 50)
    fits = {"sklearn Perceptron": _sklearn(X, y), "K=1": _ours(X, y, 1)}
    t = _pass_seconds(fits, sizes)
    yield _faster("CSR online rows/s, K=1 ÷ sklearn Perceptron", t, "K=1", Bar(">=", 2.0), n)


def _check_same_perceptron(X, y) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs, ours = _sklearn(X, y)(3), _ours(X, y, 1)(3)
    np.testing.assert_array_equal(theirs.coef_, ours.coef_)

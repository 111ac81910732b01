"""The Convex Polytope Machine, a peer in no package index: our own reading of its paper.

Kantchelian, Tschantz, Huang, Bartlett, Joseph and Tygar, "Large-Margin Convex Polytope Machine",
NIPS 2014. One class is inside of an intersection of half-spaces. A row outside needs one
hyperplane that claims it, w_k . x >= 1; a row inside needs all of them below -1. With hinges:

    lambda / 2 sum_k |w_k|^2 + 1/n sum_outside (1 - max_k w_k . x)_+
                             + 1/n sum_inside sum_k (1 + w_k . x)_+

by stochastic subgradients with steps 1 / (lambda t). A row outside is given to its best
hyperplane, unless the rows outside would then be spread too unevenly: the entropy of their
assignment is kept above a bound, so that no hyperplane is left without rows early on.

Written from that description, not taken from the authors' program, from which it may differ in
details. Ours are: the bias is the weight of a column of ones and penalised like the others,
lambda is 1 / (C n), steps begin at t = n, the bound on entropy holds for the first half of the
passes, and the answer is the mean of the weights over the second half.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.two_classes import TwoClassPeer


class ConvexPolytopeMachine(TwoClassPeer):
    """The Convex Polytope Machine for two classes, as the module says.

    Parameters
    ----------
    n_hyperplanes : int
        The paper's K.
    C : float
        What a hinge costs beside |w|^2 / 2: greater is less of a penalty.
    inside : label
        The class inside of the polytope; None is the greater label.
    entropy : float
        From 0, any assignment will do, to 1, all hyperplanes are given as many rows: the bound,
        as a share of log K.
    epochs : int
        Passes over the rows, each in an order of its own.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_, intercept_ : ndarrays
        Of the hyperplanes; inside is where all ``coef_ @ x + intercept_`` are at most 0.
    n_hyperplanes_ : int
    """

    def __init__(
        self,
        n_hyperplanes: int = 2,
        *,
        C: float = 1.0,
        inside: Any = None,
        entropy: float = 0.9,
        epochs: int = 200,
        random_state: Any = None,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.C = C
        self.inside = inside
        self.entropy = entropy
        self.epochs = epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        X, is_inside = self._rows_of_two(X, y)
        K = self.n_hyperplanes
        rng = np.random.RandomState(self.random_state)
        start = rng.standard_normal((K, X.shape[1] + 1)) / np.sqrt(X.shape[1] + 1)
        rows = np.column_stack([X, np.ones(len(X))])
        seed = rng.randint(2**31 - 1)
        least = self.entropy * np.log(K)
        W = descend(rows, ~is_inside, start, 1.0 / (self.C * len(X)), least, self.epochs, seed)
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()
        self.n_hyperplanes_ = K
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Positive for ``classes_[1]``."""
        X = self._rows_to_answer(X)
        outside: NDArray[np.float64] = (X @ self.coef_.T + self.intercept_).max(axis=1)
        return outside if self.inside_ == self.classes_[0] else -outside

    def predict(self, X: Any) -> NDArray[Any]:
        decided = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(decided > 0).astype(int)]
        return labels


@njit(cache=True)
def descend(X, is_outside, start, penalty, least_entropy, epochs, seed):
    """The mean of the weights over the second half of the passes."""
    np.random.seed(seed)  # noqa: NPY002 - Numba's own generator
    n, K = len(X), len(start)
    W, total, scores = start.copy(), np.zeros(start.shape), np.empty(K)
    given, counts = np.full(n, -1), np.zeros(K)  # rows outside given to hyperplanes
    first = epochs // 2  # pass of the second half
    for epoch in range(epochs):
        bound = least_entropy if epoch < first else 0.0
        for place, i in enumerate(np.random.permutation(n)):  # noqa: NPY002
            t = (epoch + 1) * n + place + 1
            rate = 1.0 / (penalty * t)
            for k in range(K):
                scores[k] = score_and_shrink(W[k], X[i], 1.0 - 1.0 / t)
            if is_outside[i]:
                if given[i] >= 0:
                    counts[given[i]] -= 1
                k = given[i] = choose(scores, counts, bound)
                counts[k] += 1
                if scores[k] < 1.0:
                    add(W[k], rate, X[i])
            else:
                for k in range(K):
                    if scores[k] > -1.0:
                        add(W[k], -rate, X[i])
            if epoch >= first:
                total += W
    return total / (n * (epochs - first))


@njit(cache=True, fastmath=True)
def score_and_shrink(w, x, factor):
    score = 0.0
    for j in range(len(w)):
        score += w[j] * x[j]
        w[j] *= factor
    return score


@njit(cache=True)
def add(w, factor, x):
    for j in range(len(w)):
        w[j] += factor * x[j]


@njit(cache=True)
def choose(scores, counts, least_entropy):
    """The best hyperplane of those that leave the entropy above the bound, or else raise it."""
    best = np.argmax(scores)
    if least_entropy <= 0.0 or entropy_with(counts, best) >= least_entropy:
        return best
    now = entropy_with(counts, -1)
    found = -1
    for k in range(len(scores)):
        if (found < 0 or scores[k] > scores[found]) and entropy_with(counts, k) >= now:
            found = k
    return found if found >= 0 else best


@njit(cache=True)
def entropy_with(counts, k):
    """The entropy of an assignment with one more row given to k; -1 is none."""
    total = counts.sum() + (k >= 0)
    entropy = 0.0
    for m in range(len(counts)):
        count = counts[m] + (m == k)
        if count > 0:
            entropy -= count / total * np.log(count / total)
    return entropy

"""Batch Polyceptron: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyceptron import kernels
from polyceptron.data.blocks import Blocks
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import FitsBlocks
from polyceptron.learners._iterated import IteratedClassifier, share_docs
from polyceptron.learners._parameters import check_flag
from polyceptron.optim import criterion, solver
from polyceptron.optim.checkpoint import StateArrays
from polyceptron.optim.criterion import Pruning
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.utils.checks import as_count, as_real

_TOO_SOON = 50
"""Iterations before which a run does not settle: the first ones shake too much to judge by."""


class BatchState(NamedTuple):
    """Hyperplanes in the coordinates of learning, and what saves work on them.

    ``mistakes`` are those of the hyperplanes once a step has counted them; ``tail`` has the
    hyperplanes since those with the least count, which was ``fewest``.
    """

    planes: Planes
    unit: float
    pruning: Pruning
    mistakes: float
    fewest: float
    tail: tuple[Planes, ...]


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class BatchPolyceptron(IteratedClassifier, FitsBlocks):
    """Learn a polyhedron by gradient descent on the Polyceptron criterion.

    The criterion sums ``margin - y h(x)`` over the rows where it is positive, with
    h(x) = min_k (w_k . x + b_k) and y = +1 for the inside class, -1 for the other.
    Every row belongs to the hyperplane that is least for it; each hyperplane takes a
    step along the gradient of its own rows; then the rows are shared out anew
    (Manwani & Sastry, *Polyceptron: A Polyhedral Learning Algorithm*, Algorithm 1).

    ``BatchPolyceptron(step_size=0.1, tol=50, margin=0, n_init=1, standardize=False)``
    is the paper's algorithm with the errata of docs/errata.md. The other defaults were
    chosen by cross-validation on the paper's four sets; see docs/design.md.

    Parameters
    ----------
    step_size : float, default=0.5
        The paper's eta. Beside the start, only its ratio to `margin` matters.
    tol : float or None, default=None
        The paper's gamma: stop when the norms of the K gradients add up to less, and
        keep the last hyperplanes. With None, stop when the training rows short of the
        margin, those on the wrong side counted twice, have not become fewer for
        `n_iter_no_change` iterations, and keep the best hyperplanes seen, or a mean: see
        `average`.
    max_iter : int, default=1000
        Most iterations of one start. A run that gets there ends as if it had settled,
        and warns.
    n_iter_no_change : int, default=10
        See `tol`; not used where `tol` is a number. No run settles before iteration 50.
    inner_steps : int, default=1
        Gradient steps before the rows are shared out anew.
    margin : float, default=20.0
        Rows count until they are on their side by this much: h(x) > margin inside,
        h(x) < -margin outside. 0 is the paper's.
    average : bool, default=True
        Of a run that ends without `tol`, take the mean of the hyperplanes since those with
        the least such count, if it makes no more mistakes than the best.
    prune : bool or "auto", default="auto"
        Pass over rows that provably cannot have become mistakes. It changes the speed,
        never the result; "auto" does it where it pays.
    {parameters}

    Attributes
    ----------
    history_ : dict of str to ndarray of shape (n_iter_,)
        "criterion", "mistakes" and "short" (the weights of the rows on the wrong side, and
        of those not on their side by the margin) and "gradient_norm" before each
        iteration of that run.
    {attributes}

    See Also
    --------
    OnlinePolyceptron : Learns row by row, also from a stream.

    Examples
    --------
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = BatchPolyceptron(n_hyperplanes=3, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    step_size: float = 0.5
    tol: float | None = None
    max_iter: int = 1000
    n_iter_no_change: int = 10
    inner_steps: int = 1
    margin: float = 20.0
    average: bool = True
    prune: bool | str = "auto"
    checkpoint: Any = None

    @property
    def _advice(self) -> str:
        if self.tol is None:
            return "Raise max_iter, or lower n_iter_no_change."
        scale = "" if self.standardize else ", scale the columns (standardize=True)"
        return f"Raise max_iter or tol{scale}, or use tol=None."

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.step_size, "step_size", positive=True)
        if self.tol is not None:
            as_real(self.tol, "tol")
        as_count(self.n_iter_no_change, "n_iter_no_change")
        as_count(self.inner_steps, "inner_steps")
        as_real(self.margin, "margin")
        check_flag("average", self.average)
        check_flag("prune", self.prune, "auto")

    def _stopping(self) -> solver.Stopping:
        patience = self.n_iter_no_change if self.tol is None else None
        return solver.Stopping(self.max_iter, patience, at_least=_TOO_SOON)

    def _start(self, training: TrainingData, seed: int) -> BatchState:
        planes = self._first_planes(training, seed)
        pruning = Pruning(training.data, self.prune)
        return BatchState(planes, training.coordinates.bias_unit, pruning, math.inf, math.inf, ())

    def _step(self, data: Blocks, state: BatchState) -> solver.Step[BatchState]:
        planes, unit, pruning, _, fewest, tail = state
        margin = float(self.margin) * unit * unit
        here = criterion.gradient(data, planes, margin, pruning)
        value, mistakes, counted, _ = here.totals.tolist()
        norm = kernels.gradient_norms(here.G, here.g, unit) / unit
        finished = counted == 0 or (self.tol is not None and norm < self.tol)
        count = counted + mistakes  # a row on the wrong side counts twice
        fewest, tail = (count, (planes,)) if count < fewest else (fewest, (*tail, planes))
        others = unit, pruning, mistakes, fewest, tail
        state = following = BatchState(planes, *others)
        if not finished:
            following = BatchState(self._descend(data, planes, here, margin, unit), *others)
        measures = {"criterion": value / unit / unit, "mistakes": mistakes, "short": counted}
        measures["gradient_norm"] = norm
        return solver.Step(state, following, solver.Rank(count, value), measures, finished)

    def _conclude(self, data: Blocks, best: BatchState, last: BatchState) -> BatchState:
        if not self.average or self.tol is not None:
            return best
        W, b = zip(*(planes.arrays() for planes in last.tail), strict=True)
        mean = last._replace(planes=Planes.of(np.mean(W, axis=0), np.mean(b, axis=0)))
        return mean if self._rank(data, mean).mistakes <= best.mistakes else best

    def _descend(
        self, data: Blocks, planes: Planes, here: Gradient, margin: float, unit: float
    ) -> Planes:
        """`inner_steps` gradient steps, the sets S_k fixed as they are here."""
        moved = planes.descend(here, float(self.step_size), unit)
        if self.inner_steps > 1:
            sets = criterion.Sets(planes, data)
            for _ in range(self.inner_steps - 1):
                there = criterion.gradient_in_sets(data, moved, margin, sets)
                moved = moved.descend(there, float(self.step_size), unit)
        return moved

    _grows = frozenset({"W", "b"})

    def _pack(self, state: BatchState) -> StateArrays:
        W, b = zip(*(planes.arrays() for planes in (state.planes, *state.tail)), strict=True)
        numbers = [state.unit, state.mistakes, state.fewest]
        return {"W": np.array(W), "b": np.array(b), "numbers": np.array(numbers)}

    def _unpack(self, data: Blocks, record: StateArrays) -> BatchState:
        both = zip(record["W"], record["b"], strict=True)
        planes, *tail = (Planes.of(W, b) for W, b in both)
        unit, mistakes, fewest = record["numbers"].tolist()
        return BatchState(planes, unit, Pruning(data, self.prune), mistakes, fewest, tuple(tail))

    def _answer(self, state: BatchState) -> Planes:
        return state.planes

    def _rank(self, data: Blocks, state: BatchState) -> solver.Rank:
        margin = float(self.margin) * state.unit * state.unit
        return solver.rank_planes(data, state.planes, margin)

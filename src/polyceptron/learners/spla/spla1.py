"""SPLA1: a polyhedron by logistic likelihood, its number of hyperplanes given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize

from polyceptron import kernels
from polyceptron.calibration import Logistic
from polyceptron.data.blocks import Block, Blocks
from polyceptron.data.scaling import Coordinates, Ends
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import FitsBlocks, ProbabilisticClassifier
from polyceptron.learners._iterated import IteratedClassifier, RunFitted, share_docs
from polyceptron.learners.documents import Measure
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import StateArrays
from polyceptron.optim.criterion import Sets
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.utils.blas import ONE_BLAS_THREAD
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.types import Floats

_HALVINGS = 10
"""How often a step that lowers the log-likelihood is halved before the run ends."""


class LogisticState(NamedTuple):
    """Hyperplanes in the coordinates of learning, and the log-likelihood there.

    ``theta`` has the rows [w_k, b_k], ``value`` is the log-likelihood less
    ``penalty / 2 * sum |w_k|^2``: what is maximised.
    """

    theta: Floats
    penalty: float
    value: float
    log_likelihood: float
    mistakes: float
    sets: Sets

    @property
    def planes(self) -> Planes:
        return Planes.of_rows(self.theta)


class LogisticFitted(RunFitted):
    """What a model file keeps of a likelihood."""

    objective: Measure
    log_likelihood: Measure


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticClassifier(ProbabilisticClassifier, IteratedClassifier):
    """What SPLA1 and SPLA2 share: P(y | x) = 1 / (1 + exp(-y h(x)))."""

    C: float = 5.0
    inner_steps: int = 5
    tol: float = 1e-3
    max_iter: int = 200
    n_init: int = 5
    checkpoint: Any = None

    _link = Logistic()
    _Fitted: ClassVar[Any] = LogisticFitted
    _advice = "Raise max_iter or tol, or lower C."

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.C, "C", positive=True)
        as_count(self.inner_steps, "inner_steps")
        as_real(self.tol, "tol")

    def _stopping(self) -> solver.Stopping:
        return solver.Stopping(self.max_iter)

    def _choose_coordinates(self, data: Blocks, ends: Ends, centred: bool) -> Coordinates:
        # A logistic score is no mere sign: the constant feature stays 1 however large the rows.
        return replace(super()._choose_coordinates(data, ends, centred), bias_unit=1.0)

    def _start(self, training: TrainingData, seed: int) -> LogisticState:
        return self._at(training, self._first_planes(training, seed).rows())

    def _at(self, training: TrainingData, theta: Floats) -> LogisticState:
        """A start at these hyperplanes, which are in the coordinates of learning."""
        # C is about standardised columns, or about those of the user: all have one scale then.
        unit = 1.0 if self.standardize else float(training.coordinates.scale[0])
        return _evaluated_likelihood(training.data, theta, unit * unit / float(self.C))

    def _step(self, data: Blocks, state: LogisticState) -> solver.Step[LogisticState]:
        """Share the rows out, move each hyperplane for its own; back if the objective fell.

        A row inside that changes hands has a lower score than its old hyperplane gives it, so
        what rises for fixed sets can fall when they are renewed. Near where it started the step
        rises all the same, as the gradients of both are equal there.
        """
        towards = _maximised(data, state, self.inner_steps)
        following = state
        for halving in range(_HALVINGS + 1):
            share = 0.5**halving
            theta = (1.0 - share) * state.theta + share * towards
            candidate = _evaluated_likelihood(data, theta, state.penalty)
            if candidate.value > state.value:
                following = candidate
                break
        gain = following.value - state.value
        measures = {"objective": following.value, "log_likelihood": following.log_likelihood}
        measures["mistakes"] = following.mistakes
        finished = not gain > self.tol * abs(following.value)
        return solver.Step(following, following, None, measures, finished)

    def _rank(self, data: Blocks, state: LogisticState) -> solver.Rank:  # noqa: ARG002
        return solver.Rank(state.mistakes, -state.value)

    def _pack(self, state: LogisticState) -> StateArrays:
        return {"theta": state.theta, "numbers": np.array(state[1:5])}

    def _unpack(self, data: Blocks, record: StateArrays) -> LogisticState:
        theta = record["theta"]
        penalty, value, plain, mistakes = record["numbers"].tolist()
        sets = Sets(Planes.of_rows(theta), data)
        return LogisticState(theta, penalty, value, plain, mistakes, sets)

    def _answer(self, state: LogisticState) -> Planes:
        W, b = state.theta[:, :-1].copy(), state.theta[:, -1]
        flat = ~W.any(axis=1)
        W[flat, 0] = np.finfo(float).tiny  # a face needs a normal; the probability stays
        return Planes.of(W, b)

    def _report(self, run: solver.Run[LogisticState]) -> Iterator[str]:
        self.objective_, self.log_likelihood_ = run.state.value, run.state.log_likelihood
        return super()._report(run)


# --- the log-likelihood, which adds up over blocks of rows ----------------------------------


def _by_set(sets: Sets, block: Block) -> Floats:
    """Log-likelihood and mistakes of a block, a row for each S_k, which are found by the way."""
    assigned, found = np.empty(block.n_samples, np.int32), np.zeros((sets.planes.K, 2))
    kernels.likelihood_block(block.X, block.y, block.weight, *sets.planes, assigned, found)
    sets.keep(block, assigned)
    return found


def share_out(data: Blocks, planes: Planes) -> tuple[Floats, Sets]:
    """Log-likelihood and mistakes of the rows of each S_k, and these sets."""
    sets = Sets(planes, data)
    return data.reduce(partial(_by_set, sets)), sets


def in_sets(planes: Planes, n_features: int, sets: Sets, block: Block) -> Gradient:
    """Log-likelihood of a block and its gradient, with the sets S_k held fixed."""
    panel, bias, K = planes
    part = Gradient.zero(K, n_features, 1)
    part.totals[0] = kernels.logistic_block(
        block.X, block.y, block.weight, panel, bias, sets.of(block), part.G, part.g
    )
    return part


def _evaluated_likelihood(data: Blocks, theta: Floats, penalty: float) -> LogisticState:
    totals, sets = share_out(data, Planes.of_rows(theta))
    W = theta[:, :-1]
    plain, mistakes = (float(column.sum()) for column in totals.T)
    value = plain - 0.5 * penalty * float((W * W).sum())
    return LogisticState(theta, penalty, value, plain, mistakes, sets)


def _maximised(data: Blocks, state: LogisticState, n_steps: int) -> Floats:
    """Hyperplanes after L-BFGS steps for fixed sets, from this state.

    Given the sets the hyperplanes do not depend on each other, so one run serves all.
    """
    shape, penalty = state.theta.shape, state.penalty
    scale = max(abs(state.value), np.finfo(float).tiny)  # scipy's tolerances are about 1

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(shape)
        planes = Planes.of_rows(theta)
        here = data.reduce(partial(in_sets, planes, data.n_features, state.sets))
        W = theta[:, :-1]
        value = float(here.totals[0]) - 0.5 * penalty * (W * W).sum()
        slope = np.empty(shape)
        slope[:, :-1] = here.G - penalty * W
        slope[:, -1] = here.g
        return -value / scale, slope.ravel() / -scale

    options = {"maxiter": n_steps, "ftol": 1e-12, "gtol": 0.0}
    with ONE_BLAS_THREAD:
        found = minimize(loss, state.theta.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(shape))


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class SPLA1(LogisticClassifier, FitsBlocks):
    """Learn a polyhedron by the likelihood of a logistic model of h(x).

    The probability of the inside class is ``1 / (1 + exp(-h(x)))`` with
    h(x) = min_k (w_k . x + b_k). Every row belongs to the hyperplane that is least for it;
    each hyperplane takes a few L-BFGS steps up the logistic likelihood of its own rows;
    then the rows are shared out anew, until the likelihood stops rising (Manwani & Sastry,
    *Learning Polyhedral Classifiers Using Logistic Function*, 2010). What rises is the
    log-likelihood less a penalty; a step after which that would have fallen for all rows is
    halved until it rises.

    With ``n_hyperplanes=1`` this is logistic regression. The defaults were chosen by
    cross-validation on the four sets of the Polyceptron paper; see docs/errata.md.

    Parameters
    ----------
    C : float, default=5.0
        Inverse strength of the penalty, as in scikit-learn: the likelihood is maximised
        less ``sum_k |w_k|^2 / (2 C)``. With `standardize` the weights of standardised
        columns are meant. Biases are free.
    inner_steps : int, default=5
        L-BFGS steps before the rows are shared out anew.
    tol : float, default=1e-3
        Stop when sharing out and stepping raised the objective by no more than this part
        of it.
    max_iter : int, default=200
        Most times that the rows of one start are shared out. A run that gets there warns.
    n_init : int, default=5
        Random starts. The one with the fewest mistakes on the training rows is kept, of
        equals the one with the greatest objective.
    {parameters}

    Attributes
    ----------
    objective_ : float
        What was maximised: ``log_likelihood_`` less the penalty.
    log_likelihood_ : float
        The weighted log-likelihood of the training rows, without the penalty:
        ``-log_loss(..., normalize=False)``.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "objective", which never falls, "log_likelihood", which may, where the penalty falls
        by more, and "mistakes" after each iteration of that run.
    {attributes}

    See Also
    --------
    SPLA2 : Finds the number of hyperplanes itself.
    BatchPolyceptron : The same rows and hyperplanes, by a perceptron's criterion.

    Examples
    --------
    >>> from polyceptron import SPLA1
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = SPLA1(n_hyperplanes=3, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.03, 0.97],
           [0.02, 0.98]])
    """

"""PC-SLP: polyhedral separability through successive linear programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from polyceptron.data.blocks import ArrayBlocks, Blocks
from polyceptron.data.scaling import Coordinates, Ends, spread_near_one, standardized
from polyceptron.data.training import TrainingData
from polyceptron.learners._iterated import IteratedClassifier, RunFitted, share_docs
from polyceptron.learners.documents import Count, Measure
from polyceptron.learners.pcslp.programs import MergedRows, SeparationLP
from polyceptron.optim import criterion, solver
from polyceptron.optim.checkpoint import StateArrays
from polyceptron.optim.planes import Planes
from polyceptron.scoring import least_margins
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats, Indices

_TIE = 1e-9
"""Scores that differ by no more, relative to 1 or to their size, are taken as equal."""
_LLOYD_STEPS = 100


class PCSLPState(NamedTuple):
    """Hyperplanes in the coordinates of learning, and what is known of them.

    ``scores`` are those of the outside rows; ``held`` is the choice of responsible
    hyperplanes for which these are an optimum, None for a start. Of a run that a checkpoint has
    there is no program: it is at its end.
    """

    planes: Planes
    objective: float
    scores: Floats
    held: Indices | None
    lp: SeparationLP | None
    start: int
    n_iter: int


class LPFitted(RunFitted):
    """What a model file keeps of linear programs."""

    objective: Measure
    n_lps: Count


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class PCSLP(IteratedClassifier):
    """Learn a polyhedron by successive linear programs (PC-SLP).

    With A the rows inside, B those outside and h(x) = min_k (w_k . x + b_k), the error
    function is the mean of max(0, 1 - h(a)) over A plus the mean of max(0, 1 + h(b)) over B.
    Its first part is convex. The second becomes so when each row of B is given a hyperplane
    that is responsible for it, the least one; then the whole is a linear program, whose
    optimum is where the rows of B are given out anew, until the error no longer falls
    (A. Astorino and M. Gaudioso, *Polyhedral separability through successive LP*, 2002).

    The programs are solved by HiGHS, each from the basis of the one before. It comes with
    ``pip install polyceptron[lp]``. docs/errata.md lists what the paper leaves open.

    Parameters
    ----------
    max_iter : int, default=100
        Most rounds of one start. A run that gets there keeps its last hyperplanes, which
        are its best, and warns.
    tol : float, default=1e-6
        A run ends when a round lowers the error function by no more.
    max_ties : int, default=8
        Most programs of one round. Where hyperplanes tie at being least for an outside row
        (and the row counts: h(b) >= -1), any of them may be held responsible. These choices
        are tried one after the other until one lowers the error, the least number first;
        if there are more than `max_ties`, a sample of them.
    time_limit : float or None, default=None
        Seconds for one linear program. One that takes longer ends `fit` with an LPError.
    init : "random" or array-like of shape (n_hyperplanes, n_features + 1), default="random"
        Where to start: the outside rows shared out by K-means, from random seeds
        (k-means++), or by the least of hyperplanes given as rows [w_k, b_k] in the units
        of X.
    n_init : int, default=3
        Random starts. The one with the fewest mistakes on the training rows is kept, and of
        several such that with the least error.
    standardize : bool, default=True
        Share out the outside rows at the start on columns of zero mean and unit spread. The
        linear programs do not depend on the units of X.
    class_weight : dict, "balanced" or None, default=None
        Factors of the two means in the error function. As means they are balanced, so
        "balanced" is the same as None.
    n_jobs : int or None, default=None
        Threads for predicting on large data; -1 is all cores, None is one or what
        `joblib.parallel_config` says.
    checkpoint : path, Checkpoint or None, default=None
        A file that a fit which was killed goes on from, after its last whole start.
    {parameters}

    Attributes
    ----------
    objective_ : float
        The error function at the answer.
    n_lps_ : int
        Linear programs solved, in all starts.
    n_iter_ : int
        Rounds of the run that was kept.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "objective", which never rises, and "mistakes" after each round of that run, and the
        linear programs of the round, "lps".
    {attributes}

    See Also
    --------
    BatchPolyceptron : Gradient descent on a similar error function; faster on many rows.

    Examples
    --------
    >>> from polyceptron import PCSLP
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = PCSLP(n_hyperplanes=3, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    tol: float = 1e-6
    max_ties: int = 8
    time_limit: float | None = None
    checkpoint: Any = None

    _Fitted = LPFitted
    _packs_steps = False  # in the middle, programs depend on the bases of those before them
    _kept = "the last hyperplanes, which are the best of that run"
    _advice = "Raise max_iter or tol."

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.tol, "tol")
        as_count(self.max_ties, "max_ties")
        if self.time_limit is not None:
            as_real(self.time_limit, "time_limit", positive=True)
        need("highspy", "PCSLP", "lp")

    def _stopping(self) -> solver.Stopping:
        return solver.Stopping(self.max_iter)

    def _choose_coordinates(self, data: Blocks, ends: Ends, centred: bool) -> Coordinates:
        # The error function is the same in all coordinates, and HiGHS wants numbers near 1.
        choose = standardized if self.standardize else spread_near_one
        return choose(data, ends, centred=centred)

    def _starts(self, training: TrainingData, seeds: list[int]) -> Iterator[PCSLPState]:
        rows = self._classes(training)
        for number, seed in enumerate(seeds, 1):
            planes = self._first_planes(training, seed)
            if isinstance(self.init, str) and not self._is_warm:
                planes = self._clustered(training, rows, seed)
            # Each start has a model of its own: none depends on the bases of those before it.
            lp = SeparationLP(rows, self.n_hyperplanes, self.time_limit)
            yield _evaluated_planes(planes, None, lp, number, 0)

    def _start(self, training: TrainingData, seed: int) -> PCSLPState:
        return next(self._starts(training, [seed]))

    def _classes(self, training: TrainingData) -> MergedRows:
        factors = [1.0, 1.0]
        if isinstance(self.class_weight, dict):
            labels = training.classes.tolist()
            factors = [float(self.class_weight.get(label, 1.0)) for label in labels]
        return _merged(training.arrays, factors[training.inside], factors[1 - training.inside])

    def _clustered(self, training: TrainingData, rows: MergedRows, seed: int) -> Planes:
        """Hyperplanes that share out the outside rows by the nearest of K centres."""
        scale = training.coordinates.scale
        # In the units of X, but for a common factor, if so asked.
        stretch = np.ones_like(scale) if self.standardize else scale.min() / scale
        stretched = rows.outside @ sparse.diags(stretch)
        C = _cluster(stretched, rows.outside_cost, self.n_hyperplanes, np.random.default_rng(seed))
        W, b = _nearest(C)
        return Planes.of(W * stretch, b)

    def _step(self, data: Blocks, state: PCSLPState) -> solver.Step[PCSLPState]:
        """One round: the first choice of responsible hyperplanes that lowers the error."""
        lp, found, n_lps = state.lp, state, 0
        assert lp is not None
        if state.objective > self.tol:
            for number, responsible in enumerate(self._choices(state)):
                if state.held is not None and np.array_equal(responsible, state.held):
                    continue  # these hyperplanes are its optimum
                n_lps += 1
                round_ = f"start {state.start}, iteration {state.n_iter + 1}"
                planes = Planes.of(*lp.solve(responsible, f"{round_}, tie choice {number + 1}"))
                candidate = _evaluated_planes(
                    planes, responsible, lp, state.start, state.n_iter + 1
                )
                if candidate.objective < state.objective - self.tol:
                    found = candidate
                    break
        finished = found is state or found.objective <= self.tol
        if found is state:
            found = self._or_constant(data, state)
        mistakes = criterion.count_mistakes(data, found.planes)
        measures = {"objective": found.objective, "mistakes": mistakes, "lps": float(n_lps)}
        return solver.Step(found, found, None, measures, finished)

    def _or_constant(self, data: Blocks, state: PCSLPState) -> PCSLPState:
        """Put all rows on one side where that is as good as this state and mistakes fewer.

        The error function weighs the classes alike, so where the rows tell nothing, w = 0, it
        does not care which side that is.
        """
        assert state.lp is not None
        best, fewest = state, criterion.count_mistakes(data, state.planes)
        K, d = state.planes.K, data.n_features
        for bias in (1.0, -1.0):
            planes = Planes.of(np.zeros((K, d)), np.full(K, bias))
            other = _evaluated_planes(planes, state.held, state.lp, state.start, state.n_iter + 1)
            mistakes = criterion.count_mistakes(data, other.planes)
            if other.objective <= state.objective * (1 + _TIE) and mistakes < fewest:
                # Not above the state's by rounding.
                best = other._replace(objective=min(other.objective, state.objective))
                fewest = mistakes
        return best

    def _choices(self, state: PCSLPState) -> Iterator[Indices]:
        """Who may be responsible: the least number for each row, then the other choices."""
        least = state.scores.min(axis=1, keepdims=True)
        slack = _TIE * np.maximum(1.0, np.abs(least))
        tied = state.scores <= least + slack
        first = np.asarray(tied.argmax(axis=1), np.intp)
        yield first
        rows = np.flatnonzero((tied.sum(axis=1) > 1) & (least >= -1 - slack)[:, 0])
        options = [np.flatnonzero(tied[row]) for row in rows]
        for other in _others(options, self.max_ties, seed=(state.start, state.n_iter)):
            choice = first.copy()
            choice[rows] = other
            yield choice

    def _rank(self, data: Blocks, state: PCSLPState) -> solver.Rank:
        # No start is better than one that ends at zero, but for rounding.
        objective = state.objective if state.objective > self.tol else 0.0
        return solver.Rank(criterion.count_mistakes(data, state.planes), objective)

    def _answer(self, state: PCSLPState) -> Planes:
        return state.planes

    def _report(self, run: solver.Run[PCSLPState]) -> Iterator[str]:
        self.objective_, self.n_lps_ = run.state.objective, int(run.totals["lps"])
        return super()._report(run)

    def _pack(self, state: PCSLPState) -> StateArrays:
        W, b = state.planes.arrays()
        return {"W": W, "b": b, "numbers": np.array([state.objective, state.start, state.n_iter])}

    def _unpack(self, data: Blocks, record: StateArrays) -> PCSLPState:
        del data
        objective, start, n_iter = record["numbers"].tolist()
        planes, none = Planes.of(record["W"], record["b"]), np.empty((0, 0))
        return PCSLPState(planes, objective, none, None, None, int(start), int(n_iter))


def _others(options: list[Indices], limit: int, seed: tuple[int, int]) -> Iterator[tuple[int, ...]]:
    """One of each of the options, in all ways but the first.

    With the first there are at most `limit`: if all are more, a sample of different ones.
    """
    if math.prod(map(len, options)) <= limit:
        yield from itertools.islice(itertools.product(*options), 1, None)
        return
    rng = np.random.default_rng(seed)
    seen = {tuple(int(of_row[0]) for of_row in options)}
    while len(seen) < limit:
        choice = tuple(int(rng.choice(of_row)) for of_row in options)
        if choice not in seen:
            seen.add(choice)
            yield choice


def _evaluated_planes(
    planes: Planes, held: Indices | None, lp: SeparationLP, start: int, n_iter: int
) -> PCSLPState:
    W, b = planes.arrays()
    scores = _scores_of_hyperplanes(lp.rows.outside, W, b)
    value = lp.rows.objective(_scores_of_hyperplanes(lp.rows.inside, W, b), scores)
    return PCSLPState(planes, value, scores, held, lp, start, n_iter)


def _scores_of_hyperplanes(rows: Any, W: Floats, b: Floats) -> Floats:
    """w_k . x + b_k of every row and hyperplane, to the bit as in prediction."""
    each = [least_margins(rows, W[k : k + 1], b[k : k + 1], 1)[0] for k in range(len(b))]
    return np.column_stack(each)


def _merged(data: ArrayBlocks, *factors: float) -> MergedRows:
    """The rows of each class as CSR, sorted, equal ones merged.

    So neither the order of rows nor their kind of storage matters, and a row of weight 2 is
    two rows. The costs of a class add up to its factor, inside first.
    """
    X = sparse.csr_matrix(data.matrix, dtype=np.float64, copy=True)
    X.eliminate_zeros()
    weight = data.weights
    sides = []
    for sign, factor in zip((1, -1), factors, strict=True):
        numbers = np.flatnonzero(data.y == sign)
        of_row: dict[Any, list[int]] = {}
        for n in numbers.tolist():
            place = slice(X.indptr[n], X.indptr[n + 1])
            key = (tuple(X.indices[place].tolist()), tuple(X.data[place].tolist()))
            of_row.setdefault(key, []).append(n)
        groups = [of_row[key] for key in sorted(of_row)]
        share = weight / weight[numbers].max()
        cost = np.array([share[group].sum() for group in groups])
        sides.append((X[[group[0] for group in groups]], factor * cost / cost.sum()))
    (inside, inside_cost), (outside, outside_cost) = sides
    return MergedRows(inside, outside, inside_cost, outside_cost)


def _cluster(rows: Any, cost: Floats, K: int, rng: np.random.Generator) -> Floats:
    """K centres of the rows by Lloyd's algorithm from k-means++ seeds."""
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    C = np.empty((0, rows.shape[1]))
    distance = np.ones(rows.shape[0])
    for _ in range(K):
        until = np.cumsum(cost * distance)
        chosen = np.searchsorted(until, rng.random() * until[-1], side="right")
        C = np.vstack([C, rows[min(chosen, rows.shape[0] - 1)].toarray()])
        distance = np.maximum(squares + _scores_of_hyperplanes(rows, *_nearest(C)).min(axis=1), 0.0)
    sets = np.full(rows.shape[0], -1)
    for _ in range(_LLOYD_STEPS):
        before, sets = sets, _scores_of_hyperplanes(rows, *_nearest(C)).argmin(axis=1)
        if np.array_equal(sets, before):
            break
        members = sparse.csr_matrix((cost, (sets, np.arange(len(sets)))), (K, len(sets)))
        totals = np.asarray(members.sum(axis=1))
        C = np.where(totals > 0, (members @ rows).toarray() / np.maximum(totals, 1e-300), C)
    return C


def _nearest(C: Floats) -> tuple[Floats, Floats]:
    """Hyperplanes of which the least is that of the nearest centre: |x - c|^2 - |x|^2."""
    return -2.0 * C, (C * C).sum(axis=1)

"""PolyhedralSVM: K linear support vector machines trained together, joined by "and"."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples

from polyceptron.data.blocks import ArrayBlocks, Blocks
from polyceptron.data.scaling import Coordinates, Ends, standardized
from polyceptron.data.training import TrainingData
from polyceptron.learners import _parameters
from polyceptron.learners._iterated import IteratedClassifier, RunFitted, share_docs
from polyceptron.learners.documents import Measure
from polyceptron.learners.polyhedral_svm.hinge import fit_hinge
from polyceptron.optim import criterion, solver
from polyceptron.optim.checkpoint import StateArrays
from polyceptron.optim.planes import Planes
from polyceptron.utils.blas import ONE_BLAS_THREAD
from polyceptron.utils.checks import as_real
from polyceptron.utils.types import Floats, Indices

_LARGEST_PRODUCT = 1e50
"""A product of hinge losses counts as no more: nothing of it is lost but overflows."""
_LEAST_RANGE = 1e-30
"""Of columns brought to a largest absolute value of 1; below they count as constant."""


class MarginRows(NamedTuple):
    """The different rows, dense, with the sum of their costs.

    ``y`` is +1 inside and -1 outside, ``group`` the face that an outside row is known to belong
    to, else -1.
    """

    X: Floats
    y: Floats
    cost: Floats
    group: Indices


class MarginState(NamedTuple):
    """Hyperplanes in the coordinates of learning: ``theta`` has the rows [w_k, b_k]."""

    theta: Floats
    objective: float
    rows: MarginRows

    @property
    def planes(self) -> Planes:
        return Planes.of_rows(self.theta)


class MarginFitted(RunFitted):
    """What a model file keeps of an objective."""

    objective: Measure


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class PolyhedralSVM(IteratedClassifier):
    """Learn a polyhedron as linear support vector machines that are trained jointly.

    Each of the K machines is a face; a row is inside if all of them say so. With the hinge loss
    of a face, e_k = max(0, 1 - y (w_k . x + b_k)), a row inside costs the greatest of its e_k, as
    every face has to accept it, and a row outside the least, as one face that rejects it is
    enough. What is minimised is ``sum_k |w_k|^2 / 2 + C * (the cost of all rows)``. One face
    after the other is made the best while the others stay, a convex quadratic program, until the
    objective no longer falls (M. M. Dundar, M. Wolf, S. Lakare, M. Salganicoff and V. C. Raykar,
    *Polyhedral classifier for target detection. A case study: colorectal cancer*, 2008).

    Where it is known of rows outside which face should reject them, because the class outside
    has subclasses, `groups` of `fit` says so. With ``n_hyperplanes=1`` it is the linear support
    vector machine. docs/errata.md lists what is open in the paper. Rows are held dense.

    Parameters
    ----------
    C : float, default=10.0
        What a row costs against the penalty, as in scikit-learn. With `standardize` the
        weights of standardised columns are penalised.
    outside_loss : {"least", "product"}, default="least"
        What a row outside costs that is in no group: the least of its hinge losses, or their
        product. The product counts rows that several faces accept many times over; it is meant
        for few such rows beside `groups`.
    max_iter : int, default=100
        Most rounds over the faces. A run that gets there warns.
    tol : float, default=1e-3
        A run ends when a round lowers the objective by no more than this part of it.
    init : "random" or array-like of shape (n_hyperplanes, n_features + 1), default="random"
        Where to start: each face as the machine for the rows inside against its group; faces
        without one share out the other rows outside by K-means, from random seeds. Or rows
        [w_k, b_k] in the units of X.
    n_init : int, default=3
        Random starts. The one with the fewest mistakes on the training rows is kept, and of
        several such that with the least objective.
    standardize : bool, default=True
        Learn on columns of zero mean and unit spread (sparse columns are only scaled).
        Otherwise all are scaled alike, such that the widest has a spread near 1.
    {parameters}

    Attributes
    ----------
    objective_ : float
        What was minimised, at the answer.
    n_iter_ : int
        Rounds of the run that was kept.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "objective", which never rises, and "mistakes" after each round of that run.
    {attributes}

    See Also
    --------
    PCSLP : The same losses as means without a penalty, all faces at once.
    sklearn.svm.LinearSVC : One hyperplane.

    Examples
    --------
    >>> from polyceptron import PolyhedralSVM
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = PolyhedralSVM(n_hyperplanes=3, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True

    Two kinds of rows outside, to the left and above; the first face is for those to the left:

    >>> X = [[0, 0], [1, 0], [0, 1], [-3, 0], [-3, 1], [0, 4], [1, 4]]
    >>> y = [1, 1, 1, -1, -1, -1, -1]
    >>> groups = [-1, -1, -1, 0, 0, 1, 1]
    >>> model = PolyhedralSVM(n_hyperplanes=2).fit(X, y, groups=groups)
    >>> model.polyhedron_.active_face(X[3:])
    array([0, 0, 1, 1])
    """

    C: float = 10.0
    outside_loss: str = "least"
    tol: float = 1e-3
    checkpoint: Any = None

    _Fitted: ClassVar[Any] = MarginFitted
    _advice = "Raise max_iter or tol, or lower C."
    _groups: ClassVar[Indices | None] = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows and their labels. If anything goes wrong the estimator is left as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. A row of weight 0 is no row.
        groups : array-like of shape (n_samples,), default=None
            For rows outside the number of the face, from 0, that should reject them, or -1
            where that is not known. What it says of rows inside does not matter.
        """
        self._check_parameters()
        with self._all_or_nothing(), self._source(X, y, sample_weight) as source:
            self.__dict__["_groups"] = self._known_groups(groups, X, sample_weight)
            for reason in chain(self._learn(source), self._judge(source)):
                warnings.warn(reason, ConvergenceWarning, stacklevel=2)
            del self.__dict__["_groups"]
        return self

    def _known_groups(self, groups: Any, X: Any, sample_weight: Any) -> Indices | None:
        """The group of each row that has weight; None if none is known."""
        if groups is None:
            return None
        found, n_rows = np.asarray(groups), _num_samples(X)
        if found.shape != (n_rows,):
            raise ValueError(f"groups must have {n_rows} items, one a row; got {found.shape}")
        numbers = np.arange(-1, self.n_hyperplanes)
        wrong = ~np.isin(found, numbers)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"groups must be numbers of faces from 0 to {numbers[-1]}, or -1 where no face is "
                f"known; got {found.tolist()[row]!r} in row {row}"
            )
        weight = np.asarray(1.0 if sample_weight is None else sample_weight)
        known: Indices = found[np.broadcast_to(weight != 0, n_rows)].astype(np.intp)
        return known

    def _other_facts(self) -> dict[str, Any]:
        return super()._other_facts() | {"groups": self._groups}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.C, "C", positive=True)
        as_real(self.tol, "tol")
        _parameters.check_word("outside_loss", self.outside_loss, ("least", "product"))

    def _stopping(self) -> solver.Stopping:
        return solver.Stopping(self.max_iter)

    def _choose_coordinates(self, data: Blocks, ends: Ends, centred: bool) -> Coordinates:
        if self.standardize:
            return standardized(data, ends, centred=centred)
        # A power of two, from ranges: sparse and float32 rows have the same.
        largest = np.maximum(ends.greatest, -ends.least).max(initial=0.0)
        unit = np.ldexp(1.0, -np.clip(np.frexp(largest)[1], -900, 900))
        widest = (ends.greatest * unit - ends.least * unit).max(initial=0.0)
        if widest > _LEAST_RANGE:
            unit *= 2.0 ** np.frexp(3.0 / widest)[1]
        return Coordinates(np.full(data.n_features, unit), np.zeros(data.n_features))

    # --- where a run starts -------------------------------------------------------------

    def _starts(self, training: TrainingData, seeds: list[int]) -> Iterator[MarginState]:
        rows = self._rows(training.data)
        for seed in seeds:
            theta = self._first_planes(training, seed).rows()
            if isinstance(self.init, str) and not self._is_warm:
                theta = self._first_machines(rows, seed)
            yield self._at(theta, rows)

    def _start(self, training: TrainingData, seed: int) -> MarginState:
        return next(self._starts(training, [seed]))

    def _rows(self, data: Blocks) -> MarginRows:
        """Equal rows as one, sorted: their order does not matter, nor how they are stored."""
        assert isinstance(data, ArrayBlocks)
        dense = data.matrix.toarray() if sparse.issparse(data.matrix) else data.matrix
        groups = np.full(data.n_samples, -1) if self._groups is None else self._groups
        keys = np.column_stack([data.y, np.where(data.y > 0, -1, groups), dense])
        keys, place = np.unique(keys.astype(np.float64), axis=0, return_inverse=True)
        cost = float(self.C) * np.bincount(place, data.weights).astype(np.float64)
        y, group, X = keys[:, 0], keys[:, 1], keys[:, 2:]
        return MarginRows(np.ascontiguousarray(X), y.copy(), cost, group.astype(np.intp))

    def _first_machines(self, rows: MarginRows, seed: int) -> Floats:
        """For each face the rows inside against its group."""
        group = _shared_out(rows, self.n_hyperplanes, seed)
        one = np.ones(len(rows.y))
        machines = [
            fit_hinge(rows.X, rows.y, one, rows.cost * ((rows.y > 0) | (group == k)))
            for k in range(self.n_hyperplanes)
        ]
        return np.array(machines)

    # --- one round over the faces -------------------------------------------------------

    def _step(self, data: Blocks, state: MarginState) -> solver.Step[MarginState]:
        following = state
        with ONE_BLAS_THREAD:
            for k in range(self.n_hyperplanes):
                theta = following.theta.copy()
                margins, shares = face_rows(theta, k, state.rows, self.outside_loss)
                theta[k] = fit_hinge(state.rows.X, state.rows.y, margins, state.rows.cost * shares)
                candidate = self._at(theta, state.rows)
                if candidate.objective < following.objective:
                    following = candidate
        gain = state.objective - following.objective
        mistakes = criterion.count_mistakes(data, following.planes)
        measures = {"objective": following.objective, "mistakes": mistakes}
        finished = not gain > self.tol * state.objective
        return solver.Step(following, following, None, measures, finished)

    def _at(self, theta: Floats, rows: MarginRows) -> MarginState:
        losses = row_losses(theta, rows, self.outside_loss)
        penalty = float((theta[:, :-1] ** 2).sum()) / 2
        return MarginState(theta, penalty + float(rows.cost @ losses), rows)

    def _rank(self, data: Blocks, state: MarginState) -> solver.Rank:
        return solver.Rank(criterion.count_mistakes(data, state.planes), state.objective)

    def _answer(self, state: MarginState) -> Planes:
        W, b = state.theta[:, :-1].copy(), state.theta[:, -1]
        W[~W.any(axis=1), 0] = np.finfo(float).tiny  # a face needs a normal; what it costs stays
        return Planes.of(W, b)

    def _report(self, run: solver.Run[MarginState]) -> Iterator[str]:
        self.objective_ = run.state.objective
        return super()._report(run)

    def _pack(self, state: MarginState) -> StateArrays:
        return {"theta": state.theta}

    def _unpack(self, data: Blocks, record: StateArrays) -> MarginState:
        return self._at(record["theta"], self._rows(data))


def signed_losses(theta: Floats, rows: MarginRows) -> Floats:
    """1 - y (w_k . x + b_k) of every row and face: the hinge loss is what is above 0 of it."""
    scores = rows.X @ theta[:, :-1].T + theta[:, -1]
    return np.asarray(1.0 - rows.y[:, None] * scores)


def row_losses(theta: Floats, rows: MarginRows, outside_loss: str) -> Floats:
    """What each row costs."""
    losses = np.maximum(signed_losses(theta, rows), 0.0)
    outside = losses.min(axis=1) if outside_loss == "least" else _product(losses)
    of_group = losses[np.arange(len(losses)), rows.group]
    return np.where(rows.y > 0, losses.max(axis=1), np.where(rows.group < 0, outside, of_group))


def face_rows(theta: Floats, k: int, rows: MarginRows, outside_loss: str) -> tuple[Floats, Floats]:
    """The margin of every row and its share of its cost, where face k moves and no other.

    A row inside that costs m by the other faces costs more than that once the score of this one
    is below 1 - m. A row outside costs the hinge loss of this face times the product of the others.
    Of the least it costs nothing here if another face rejects it; else its hinge loss if this face
    comes nearest to that, which is no less than what it will cost.
    """
    signed = signed_losses(theta, rows)
    others = np.maximum(np.delete(signed, k, axis=1), 0.0)
    margins = np.where(rows.y > 0, 1.0 - others.max(axis=1, initial=0.0), 1.0)
    if outside_loss == "least":
        shares = (signed.argmin(axis=1) == k) & (others.min(axis=1, initial=np.inf) > 0)
    else:
        shares = _product(others)
    shares = np.where(rows.group < 0, shares, rows.group == k)
    return margins, np.where(rows.y > 0, 1.0, shares)


def _product(losses: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(losses.prod(axis=1), _LARGEST_PRODUCT))


def _shared_out(rows: MarginRows, K: int, seed: int) -> NDArray[np.intp]:
    """The group of every row: faces that have none share out the other rows outside."""
    from sklearn.cluster import KMeans

    group = rows.group.copy()
    free = np.setdiff1d(np.arange(K), group)
    open_ = np.flatnonzero((rows.y < 0) & (group < 0))
    if free.size and open_.size:
        kmeans = KMeans(min(free.size, open_.size), n_init=1, random_state=seed)
        with warnings.catch_warnings():  # of rows that hardly differ, for fewer clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            kmeans.fit(rows.X[open_], sample_weight=rows.cost[open_])
        group[open_] = free[kmeans.labels_]
    return group

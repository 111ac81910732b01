"""The programs of discrete SVMs, solved by HiGHS: linear ones of a face, mixed-integer ones.

A face wants s (w . x + b) >= 1 of rows x with signs s. With hinges instead of counts the best face
is that of a linear program, which is solved through its dual::

    maximise   sum_i p_i                                  over 0 <= p_i <= u_i
    such that  |sum_i p_i s_i x_ij| <= penalty for every column j,   sum_i p_i s_i = 0

whose multipliers are w and b. The bound u_i is what a row costs, 0 for one that is given up and
infinity for one that must be met. So one model serves all faces: only bounds change.

In the mixed-integer programs a row that may be given up has a 0/1 variable t:
s (w . x + b) >= 1 - M t. The M are proved, not guessed. No answer worth having has |w|_1 above R,
the objective in hand divided by the penalty. Some row is tight at the face, or it could shrink.
Scores of two rows are no farther apart than R times their distance in the maximum norm, so
M = 2 + R max_x' |x - x'| is enough.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats, Indices

Mask = NDArray[np.bool_]

MET = 1 - 1e-7
"""Scores from here on count as 1: what HiGHS leaves short is less."""
_TOLERANCES = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_MIP_OPTIONS = {"mip_feasibility_tolerance": 1e-9, "mip_rel_gap": 1e-7, "mip_abs_gap": 1e-9}
_PIVOTS = 50
"""Most pivots of a linear program for each row and column of it."""


class SignedRows(NamedTuple):
    """The different rows, their signs (1 inside, -1 outside), and costs that add up to one.

    Columns are moved so that their middle is 0; `middle` is what was subtracted.
    """

    X: Floats
    sign: Floats
    cost: Floats
    middle: Floats

    @classmethod
    def of(cls, data: ArrayBlocks) -> SignedRows:
        X = data.matrix.toarray() if sparse.issparse(data.matrix) else data.matrix
        signed = np.column_stack([-data.y, X]).astype(np.float64) + 0.0
        rows, which = np.unique(signed, axis=0, return_inverse=True)
        share = data.weights / data.weights.max()
        cost = np.bincount(which.ravel(), share, len(rows))
        middle = (rows[:, 1:].min(axis=0) + rows[:, 1:].max(axis=0)) / 2
        return cls(rows[:, 1:] - middle, -rows[:, 0], cost / cost.sum(), middle)

    def margins(self, theta: Floats) -> Floats:
        """s (w_k . x + b_k) of every row and face, given as rows [w_k, b_k]."""
        return np.asarray((self.X @ theta[:, :-1].T + theta[:, -1]) * self.sign[:, None])

    def met(self, theta: Floats) -> Mask:
        """Which rows are right: inside of all faces, or cut off by one, with a margin of 1."""
        right = self.margins(theta) >= MET
        return np.where(self.sign > 0, right.all(axis=1), right.any(axis=1))

    def objective(self, theta: Floats, penalty: float) -> float:
        wrong = float(self.cost[~self.met(theta)].sum())
        return wrong + penalty * float(np.abs(theta[:, :-1]).sum())


class Deadline:
    """When a fit has to be done; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = np.inf if seconds is None else time.monotonic() + seconds
        self.missed = False

    def passed(self) -> bool:
        """Whether there is no time left, which `missed` keeps."""
        self.missed = self.missed or time.monotonic() >= self._end
        return self.missed

    def left(self) -> float:
        """Seconds that are left, at least a thousandth."""
        return max(self._end - time.monotonic(), 1e-3)


class FaceLP:
    """The linear program above for fixed rows, whose bounds change from call to call."""

    def __init__(self, rows: SignedRows, penalty: float) -> None:
        self._rows, self._unit = rows, float(rows.cost.max())
        n, d = rows.X.shape
        self._highspy = need("highspy", "DiscreteSVM", "lp")
        self._highs = quiet_highs(self._highspy)
        self._highs.setOptionValue("simplex_iteration_limit", _PIVOTS * (n + d))
        # Columns have unit spread already; scaled once more they take a quarter longer.
        self._highs.setOptionValue("simplex_scale_strategy", 0)
        A = sparse.csr_matrix(np.column_stack([rows.X, np.ones(n)]) * rows.sign[:, None])
        # Costs near 1: HiGHS has absolute tolerances.
        sides = np.append(np.full(d, penalty / self._unit), 0.0)
        none = np.empty(0, np.int32)
        self._highs.addRows(d + 1, -sides, sides, 0, np.zeros(d + 1, np.int32), none, np.empty(0))
        starts, places = A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32)
        self._highs.addCols(n, -np.ones(n), np.zeros(n), np.zeros(n), A.nnz, starts, places, A.data)

    def solve(self, priced: Mask, required: Mask | None = None) -> Floats | None:
        """[w, b] where these rows are priced and those required; None if HiGHS fails."""
        n = len(priced)
        upper = np.where(priced, self._rows.cost / self._unit, 0.0)
        if required is not None:
            upper[required] = np.inf
        self._highs.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), upper)
        optimal = self._highspy.HighsModelStatus.kOptimal
        for presolve in ("off", "on"):  # from the last basis, then with all care
            self._highs.setOptionValue("presolve", presolve)
            self._highs.run()
            if self._highs.getModelStatus() == optimal:
                return -np.array(self._highs.getSolution().row_dual)
            self._highs.clearSolver()
        return None


def quiet_highs(highspy: Any) -> Any:
    """A model of HiGHS, exact to nine digits, that prints nothing and has one thread."""
    highs = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **_TOLERANCES, **_MIP_OPTIONS}.items():
        highs.setOptionValue(name, value)
    return highs


class MixedProgram:
    """A mixed-integer program that grows row by row: minimise cost . x over bounds and rows."""

    def __init__(self, cost: Floats, lower: Floats, upper: Floats, is_integer: Mask) -> None:
        self.cost, self.lower, self.upper, self.is_integer = cost, lower, upper, is_integer
        self._blocks: list[tuple[Any, Floats, Floats]] = []

    def add(self, A: Any, lower: Any, upper: Any) -> None:
        """Rows lower <= A x <= upper, of a matrix or of blocks next to each other."""
        block = sparse.csr_matrix(A)
        sides = (
            np.broadcast_to(np.asarray(side, float), block.shape[0]) for side in (lower, upper)
        )
        self._blocks.append((block, *sides))

    def solve(
        self, highspy: Any, start: Floats | None = None, seconds: float = np.inf, nodes: int = 10**9
    ) -> MixedAnswer:
        A = sparse.vstack([block for block, _, _ in self._blocks], format="csr")
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = A.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self.cost, self.lower, self.upper
        lp.row_lower_ = np.concatenate([lower for _, lower, _ in self._blocks])
        lp.row_upper_ = np.concatenate([upper for _, _, upper in self._blocks])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [kinds[int(whole)] for whole in self.is_integer]
        highs = quiet_highs(highspy)
        highs.setOptionValue("time_limit", float(seconds))
        highs.setOptionValue("mip_max_nodes", int(min(nodes, 2**31 - 1)))
        highs.passModel(lp)
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = start.tolist()
            highs.setSolution(solution)
        highs.run()
        return MixedAnswer.of(highs, highspy.HighsModelStatus)


class MixedAnswer(NamedTuple):
    """What HiGHS found: the best x, if any, a proved bound, and whether there is no x at all."""

    x: Floats | None
    bound: float
    infeasible: bool

    @classmethod
    def of(cls, highs: Any, statuses: Any) -> MixedAnswer:
        info, status = highs.getInfo(), highs.getModelStatus()
        found = info.primal_solution_status == 2 and status != statuses.kInfeasible
        x = np.array(highs.getSolution().col_value) if found else None
        return cls(x, float(info.mip_dual_bound), status == statuses.kInfeasible)


def _reach(rows: SignedRows, which: Any, norm: float) -> Floats:
    """The M of rows at a face with |w|_1 <= norm."""
    far = cdist(rows.X[which], rows.X, "chebyshev").max(axis=1)
    return np.asarray(2.0 + norm * far)


def best_face(
    rows: SignedRows,
    theta: Floats,
    required: Indices,
    free: Indices,
    penalty: float,
    deadline: Deadline,
    nodes: int,
) -> Floats | None:
    """One face [w, b] that meets the rows required, and of those that are free as many as pay.

    It is no worse than ``theta``, which meets the rows required; None if nothing was found.
    """
    highspy = need("highspy", "DiscreteSVM", "lp")
    d, n = rows.X.shape[1], len(free)
    missed = (rows.margins(theta[None])[free, 0] < MET).astype(float)
    value = float(rows.cost[free] @ missed) + penalty * float(np.abs(theta[:-1]).sum())
    unit, norm = float(rows.cost.max()), value / penalty
    cost = np.concatenate([np.full(2 * d, penalty), [0.0], rows.cost[free]]) / unit
    lower = np.concatenate([np.zeros(2 * d), [-np.inf], np.zeros(n)])
    upper = np.concatenate([np.full(2 * d, norm), [np.inf], np.ones(n)])
    program = MixedProgram(cost, lower, upper, np.arange(2 * d + 1 + n) > 2 * d)
    for which, M in ((required, None), (free, _reach(rows, free, norm))):
        signed = np.column_stack([rows.X[which], -rows.X[which], np.ones(len(which))])
        own = sparse.diags(M) if M is not None else sparse.csr_matrix((len(which), n))
        program.add(sparse.hstack([signed * rows.sign[which, None], own]), 1.0, np.inf)
    w = theta[:-1]
    start = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0), theta[-1:], missed])
    found = program.solve(highspy, start, deadline.left(), nodes)
    if found.x is None:
        return None
    return np.append(found.x[:d] - found.x[d : 2 * d], found.x[2 * d])


class Shared(NamedTuple):
    """Who is responsible: inside rows that are met, and which face cuts off which outside row."""

    kept: Mask
    cut: Mask
    bound: float


def best_sharing(
    rows: SignedRows, theta: Floats, penalty: float, deadline: Deadline, nodes: int
) -> Shared | None:
    """All faces at once, by one program, from faces in hand; None if HiGHS finds nothing.

    The faces are interchangeable. So of the first K - 1 outside rows, the j-th may be cut off by
    the first j only.
    """
    highspy, (K, d) = need("highspy", "DiscreteSVM", "lp"), (len(theta), rows.X.shape[1])
    inside, outside = np.flatnonzero(rows.sign > 0), np.flatnonzero(rows.sign < 0)
    n, a, c = len(rows.X), len(inside), len(outside)
    norm, unit = rows.objective(theta, penalty) / penalty, float(rows.cost.max())
    w_ends, b_ends = 2 * K * d, 2 * K * d + K
    cost = (
        np.concatenate([np.full(w_ends, penalty), np.zeros(K), rows.cost, np.zeros(K * c)]) / unit
    )
    lower, upper = np.zeros(len(cost)), np.ones(len(cost))
    upper[:w_ends], lower[w_ends:b_ends], upper[w_ends:b_ends] = norm, -np.inf, np.inf
    not_yet = np.arange(c) < np.arange(K)[:, None]
    upper[b_ends + n :] = ~(not_yet & (np.arange(c) < K - 1)).ravel()
    program = MixedProgram(cost, lower, upper, np.arange(len(cost)) >= b_ends)
    M_in, M_out = _reach(rows, inside, norm), _reach(rows, outside, norm)
    for k in range(K):
        face = np.zeros((1, K))
        face[0, k] = 1.0
        W_in, W_out = (sparse.kron(face, rows.X[which]) for which in (inside, outside))
        b_in, b_out = np.ones((a, 1)) * face, np.ones((c, 1)) * face
        given_up = sparse.csr_matrix((M_in, (np.arange(a), inside)), (a, n))
        program.add(
            sparse.hstack([W_in, -W_in, b_in, given_up, sparse.csr_matrix((a, K * c))]), 1, np.inf
        )
        cut = sparse.kron(face, sparse.diags(M_out))
        program.add(
            sparse.hstack([W_out, -W_out, b_out, sparse.csr_matrix((c, n)), cut]),
            -np.inf,
            M_out - 1,
        )
    somebody = sparse.hstack([sparse.eye(c)] * K)
    given_up = sparse.csr_matrix((np.ones(c), (np.arange(c), outside)), (c, n))
    program.add(sparse.hstack([sparse.csr_matrix((c, b_ends)), given_up, somebody]), 1, np.inf)
    found = program.solve(highspy, _as_start(rows, theta), deadline.left(), nodes)
    if found.x is None:
        return None
    kept = found.x[b_ends : b_ends + n] < 0.5
    cut_by = np.zeros((n, K), bool)
    cut_by[outside] = found.x[b_ends + n :].reshape(K, c).T > 0.5
    return Shared(kept & (rows.sign > 0), cut_by & kept[:, None], found.bound * unit)


def _as_start(rows: SignedRows, theta: Floats) -> Floats:
    """Faces in hand as a solution, numbered as the program wants them."""
    K, outside = len(theta), np.flatnonzero(rows.sign < 0)
    cuts = rows.margins(theta)[outside] >= MET
    order: list[int] = []
    for row in cuts[: K - 1]:
        able = np.flatnonzero(row)
        if able.size and not set(able.tolist()) & set(order):
            order.append(int(able[0]))
    order += [k for k in range(K) if k not in order]
    ordered, cuts = theta[order], cuts[:, order]
    cuts[: K - 1] &= np.arange(K) <= np.arange(len(cuts))[: K - 1, None]
    W = ordered[:, :-1].ravel()
    wrong = ~rows.met(ordered)
    parts = [np.maximum(W, 0), np.maximum(-W, 0), ordered[:, -1], wrong, cuts.T.ravel()]
    return np.concatenate(parts).astype(float)

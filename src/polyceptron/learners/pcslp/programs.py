"""The linear programs of PC-SLP: one HiGHS model, changed in place from one to the next.

With r(b) the hyperplane held responsible for the outside row b, the program is::

    minimise   sum_A c_a u_a + sum_B c_b v_b            over w_1, ..., w_K, u >= 0, v >= 0
    such that  u_a >= 1 - w_k . a   for every k,        v_b >= 1 + w_r(b) . b

(rows have a constant 1 appended). It is solved through its dual::

    maximise   sum p_ak + sum q_bk                      over 0 <= p_ak,  0 <= q_bk <= c_b [k = r(b)]
    such that  sum_a p_ak a = sum_b q_bk b  for every k,    sum_k p_ak <= c_a  for every a

whose multipliers are the hyperplanes. Another choice of r changes nothing there but upper
bounds, so the last basis stays dual feasible and the dual simplex method goes on from it. The
constraints of the last kind are needed only for rows inside that several hyperplanes cut off
at once; they start as p_ak <= c_a, and the few that matter are added when they are violated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats

_SLACK = 1e-9
"""A sum over the hyperplanes may be above its bound by this share of it."""
_QUICK = {"presolve": "off", "simplex_scale_strategy": 0}
"""From the basis of the program before, on rows that are scaled already: a fifth less work."""
_CAREFUL = {"presolve": "on", "simplex_scale_strategy": 2}
"""From the beginning, with all that HiGHS does against bad numbers."""
_FAR = 100
"""A column whose values are all so many times its range from zero is moved there."""
_PIVOTS = 20
"""Most pivots for each row and column. Usual is less than one; without a limit, columns that are
nearly multiples of each other may keep HiGHS busy for ever."""


class LPError(RuntimeError):
    """A linear program that HiGHS did not solve: out of time, or for numerical reasons.

    Examples
    --------
    >>> from polyceptron import PCSLP, LPError
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> try:
    ...     PCSLP(n_hyperplanes=3, time_limit=1e-9, random_state=0).fit(X, y)
    ... except LPError:
    ...     print("raise time_limit")
    raise time_limit
    """


class MergedRows(NamedTuple):
    """The rows of the two classes as CSR matrices of float64, and their costs above zero."""

    inside: Any
    outside: Any
    inside_cost: Floats
    outside_cost: Floats

    def objective(self, scores_inside: Floats, scores_outside: Floats) -> float:
        """The error function, from the scores of every row and hyperplane."""
        u = np.maximum(1.0 - scores_inside.min(axis=1), 0.0)
        v = np.maximum(1.0 + scores_outside.min(axis=1), 0.0)
        return float(self.inside_cost @ u + self.outside_cost @ v)


class SeparationLP:
    """The program above for fixed rows and any choice of responsible hyperplanes.

    Rows vary about as much as standardised columns do; the time limit is in seconds for one
    program.
    """

    def __init__(
        self, rows: MergedRows, n_hyperplanes: int, time_limit: float | None = None
    ) -> None:
        self.rows, self._K, self._d = rows, n_hyperplanes, rows.inside.shape[1]
        self._n_inside, self._n_outside = rows.inside.shape[0], rows.outside.shape[0]
        # Bounds near 1, whatever the number of rows: HiGHS has absolute tolerances.
        unit = max(rows.inside_cost.max(), rows.outside_cost.max())
        self._inside_cost, self._outside_cost = rows.inside_cost / unit, rows.outside_cost / unit
        self._time_limit = time_limit
        self._responsible = np.zeros(self._n_outside, np.int64)
        self._bounded = np.zeros(self._n_inside, bool)
        self._offset = _far_from_zero(rows)
        self._highspy = need("highspy", "PCSLP", "lp")
        self._highs = self._highspy.Highs()
        self._fill()

    def solve(self, responsible: NDArray[np.integer[Any]], which: str) -> tuple[Floats, Floats]:
        """W and b of an optimum for these responsible hyperplanes, one for each outside row.

        Raises an LPError if there is no such answer; ``which`` says in it which program it was.
        """
        self._hold(responsible)
        if self._time_limit is not None:  # HiGHS counts from the first program on
            self._set({"time_limit": self._highs.getRunTime() + self._time_limit})
        while True:
            self._run(which)
            solution = self._highs.getSolution()
            violated = self._violated(solution)
            if not violated.size:
                break
            self._bound(violated)
        theta = -np.array(solution.row_dual[: self._K * (self._d + 1)])
        theta = theta.reshape(self._K, self._d + 1)
        W = theta[:, :-1].copy()
        return W, theta[:, -1] - W @ self._offset

    # --- the model --------------------------------------------------------------------

    def _fill(self) -> None:
        """Give HiGHS a column for each row and hyperplane: p by hyperplane, then q."""
        columns = self._with_constant(self.rows.inside), -self._with_constant(self.rows.outside)
        blocks = [sparse.block_diag([rows] * self._K, format="csr") for rows in columns]
        A = sparse.vstack(blocks, format="csr")
        options = {"output_flag": False, "small_matrix_value": 1e-12}
        options["simplex_iteration_limit"] = _PIVOTS * sum(A.shape)
        self._set(options | _QUICK)
        q_upper = np.zeros((self._K, self._n_outside))
        q_upper[self._responsible, np.arange(self._n_outside)] = self._outside_cost
        upper = np.concatenate([np.tile(self._inside_cost, self._K), q_upper.ravel()])
        n, m = A.shape
        zero, none, no = np.zeros(m), np.empty(0, np.int32), np.empty(0)
        self._tell("addRows", m, zero, zero, 0, zero.astype(np.int32), none, no)
        starts, rows = A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32)
        self._tell("addCols", n, -np.ones(n), np.zeros(n), upper, A.nnz, starts, rows, A.data)

    def _with_constant(self, rows: Any) -> Any:
        """These rows minus the offset, which has zeros for columns with any zero, and a 1."""
        data = rows.data - self._offset[rows.indices]
        moved = sparse.csr_matrix((data, rows.indices, rows.indptr), rows.shape)
        return sparse.hstack([moved, np.ones((rows.shape[0], 1))], format="csr")

    def _hold(self, responsible: NDArray[np.integer[Any]]) -> None:
        """Open the columns of the hyperplanes now responsible, close those of before."""
        rows = np.flatnonzero(responsible != self._responsible)
        if not rows.size:
            return
        first = self._K * self._n_inside
        close = first + self._responsible[rows] * self._n_outside + rows
        open_ = first + responsible[rows] * self._n_outside + rows
        columns = np.concatenate([close, open_]).astype(np.int32)
        upper = np.concatenate([np.zeros(rows.size), self._outside_cost[rows]])
        order, n = np.argsort(columns), columns.size
        self._tell("changeColsBounds", n, columns[order], np.zeros(n), upper[order])
        self._responsible = np.array(responsible, np.int64)

    def _violated(self, solution: Any) -> NDArray[np.intp]:
        """Inside rows whose multipliers add up to more than they may."""
        p = np.array(solution.col_value[: self._K * self._n_inside])
        total = p.reshape(self._K, self._n_inside).sum(axis=0)
        too_much = total > self._inside_cost * (1 + _SLACK) + _SLACK
        return np.flatnonzero(too_much & ~self._bounded)

    def _bound(self, rows: NDArray[np.intp]) -> None:
        """Add sum_k p_ak <= c_a for these inside rows."""
        n, K = rows.size, self._K
        columns = (rows[:, None] + self._n_inside * np.arange(K)).ravel().astype(np.int32)
        lower, upper = np.full(n, -np.inf), self._inside_cost[rows]
        starts = np.arange(0, n * K, K, dtype=np.int32)
        self._tell("addRows", n, lower, upper, n * K, starts, columns, np.ones(n * K))
        self._bounded[rows] = True

    def _run(self, which: str) -> None:
        self._highs.run()
        status, statuses = self._highs.getModelStatus(), self._highspy.HighsModelStatus
        if status not in (statuses.kOptimal, statuses.kTimeLimit):
            self._highs.clearSolver()
            self._set(_CAREFUL)
            self._highs.run()
            self._set(_QUICK)
            status = self._highs.getModelStatus()
        if status != statuses.kOptimal:
            says = repr(self._highs.modelStatusToString(status))
            limit = "" if self._time_limit is None else f" (time_limit={self._time_limit!r})"
            raise LPError(
                f"PCSLP: the linear program of {which} was not solved: HiGHS says {says}{limit}"
            )

    def _set(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            self._tell("setOptionValue", name, value)

    def _tell(self, method: str, *values: Any) -> None:
        if getattr(self._highs, method)(*values) == self._highspy.HighsStatus.kError:
            raise LPError(f"PCSLP: HiGHS refused {method}({', '.join(map(str, values)):.60})")


def _far_from_zero(rows: MergedRows) -> Floats:
    """What to subtract of each column: one of its values if it varies little beside its size.

    Such columns are nearly multiples of the constant 1. They have no zeros to be filled.
    """
    columns = sparse.vstack([rows.inside, rows.outside], format="csc")
    low, high = (part.toarray().ravel() for part in (columns.min(axis=0), columns.max(axis=0)))
    far = np.minimum(np.abs(low), np.abs(high)) > _FAR * (high - low)
    return np.where(far, low, 0.0)

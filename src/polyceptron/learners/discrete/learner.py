"""Discrete SVM: a polyhedron whose training mistakes are counted, by mixed-integer programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from polyceptron.data.blocks import Blocks
from polyceptron.data.scaling import Coordinates, Ends, spread_near_one, standardized
from polyceptron.data.training import TrainingData
from polyceptron.learners._iterated import IteratedClassifier, RunFitted, share_docs
from polyceptron.learners.discrete.faces import FaceSearch
from polyceptron.learners.discrete.programs import Deadline, FaceLP, SignedRows
from polyceptron.learners.documents import Measure
from polyceptron.optim import criterion, solver
from polyceptron.optim.planes import Planes
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats


class CountedState(NamedTuple):
    """Hyperplanes, what is known of their objective, and what they are sought with.

    ``theta`` are the same as rows [w_k, b_k] for the columns of the search.
    """

    planes: Planes
    objective: float
    bound: float
    theta: Floats
    search: FaceSearch

    @classmethod
    def of(cls, theta: Floats, search: FaceSearch, bound: float = 0.0) -> CountedState:
        planes = Planes.of_rows(_moved(theta, -search.rows.middle))
        return cls(planes, search.objective(theta), bound, theta, search)


class CountedFitted(RunFitted):
    """What a model file keeps of mixed-integer programs."""

    objective: Measure
    bound: Measure
    gap: Measure
    timed_out: bool


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class DiscreteSVM(IteratedClassifier):
    """Learn a polyhedron by counting mistakes: a discrete SVM with several hyperplanes.

    Minimised is the share of rows that are wrong plus `penalty` times the sum of |w_kj|. A row is
    wrong if it is not right with a margin of 1: inside, w_k . x + b_k >= 1 for every k; outside,
    w_k . x + b_k <= -1 for one k at least. Each row has a 0/1 variable that says so, where an SVM
    has a hinge, so a row far on the wrong side costs no more than another
    (C. Orsenigo and C. Vercellis, *Accurately learning from few examples with a polyhedral
    classifier*, 2007; docs/errata.md has what is open and our choices).

    The faces are chosen one after the other, round by round, while the others stay: by linear
    programs that give up rows far on the wrong side, then by a mixed-integer program in which the
    rows nearest to the margin count as 0 or 1. Up to `max_exact` rows, one program for all faces
    follows, which proves how good the answer is. HiGHS solves them; it comes with
    ``pip install polyceptron[lp]``.

    Parameters
    ----------
    penalty : float, default=0.001
        What a unit of |w| costs, in shares of the rows; columns have unit spread. Small sets, and
        noisy ones, want more.
    max_iter : int, default=20
        Most rounds. A run that gets there keeps its last hyperplanes, its best, and warns.
    tol : float, default=0.01
        A round that lowers the objective by a smaller share of it is the last.
    max_exact : int, default=40
        Up to so many different rows one program for all faces follows; 0 for never.
    max_nodes : int, default=2000
        Most nodes of branch and bound for that program; a 40th of it for each of those for a single
        face; 0 for linear programs only. Unlike `time_limit` it gives the same model on every
        machine.
    time_limit : float or None, default=60
        Seconds for the whole fit. One that takes longer ends with the best it has, and warns.
    n_init : int, default=5
        Random starts: the outside rows shared out by random hyperplanes, then again by those that
        linear programs find for these shares, until that gains nothing. The rounds begin with the
        least objective.
    standardize : bool, default=True
        Columns have unit spread while |w| is measured, and the random start is through the mean.
        If False they are scaled by powers of two only.
    {parameters}

    Attributes
    ----------
    objective_ : float
        The objective at the answer.
    bound_ : float
        No polyhedron of so many faces has a lower one; 0 where nothing was proved.
    gap_ : float
        (objective_ - bound_) / objective_: 0 for a proved optimum, 1 where nothing was proved.
    timed_out_ : bool
        Whether `time_limit` ended the fit.
    n_iter_ : int
        Rounds of the run that was kept.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "objective", which never rises, and "mistakes" after each round of that run.
    {attributes}

    See Also
    --------
    PCSLP : Hinges instead of counts; faster.
    exact_separation : Whether so many faces can separate the rows without a mistake.

    Examples
    --------
    >>> import numpy as np
    >>> from polyceptron import DiscreteSVM
    >>> X = np.array([[1.0], [2], [3], [4], [5], [6], [7], [8]])
    >>> y = [0, 0, 1, 1, 1, 0, 0, 1]  # the last of them far off
    >>> model = DiscreteSVM(n_hyperplanes=2, random_state=0).fit(X, y)
    >>> model.predict(X).tolist(), model.gap_ < 1e-6
    ([0, 0, 1, 1, 1, 0, 0, 0], True)
    """

    penalty: float = 0.001
    max_iter: int = 20
    tol: float = 0.01
    max_exact: int = 40
    max_nodes: int = 2000
    time_limit: float | None = 60.0
    n_init: int = 5

    _Fitted = CountedFitted
    _kept = "the last hyperplanes, which are the best of that run"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.penalty, "penalty", positive=True)
        as_real(self.tol, "tol")
        as_count(self.max_exact, "max_exact", 0)
        as_count(self.max_nodes, "max_nodes", 0)
        if self.time_limit is not None:
            as_real(self.time_limit, "time_limit", positive=True)
        need("highspy", "DiscreteSVM", "lp")

    def _stopping(self) -> solver.Stopping:
        return solver.Stopping(self.max_iter)

    def _choose_coordinates(self, data: Blocks, ends: Ends, centred: bool) -> Coordinates:
        # HiGHS wants numbers near 1.
        choose = standardized if self.standardize else spread_near_one
        return choose(data, ends, centred=centred)

    def _starts(self, training: TrainingData, seeds: list[int]) -> Iterator[CountedState]:
        rows = SignedRows.of(training.arrays)
        lp, deadline = FaceLP(rows, self.penalty), Deadline(self.time_limit)
        search = FaceSearch(rows, self.penalty, lp, deadline, self.max_nodes)
        given = [_moved(self._first_planes(training, seed).rows(), rows.middle) for seed in seeds]
        theta = min(map(search.shared_out, given), key=search.objective)
        yield CountedState.of(theta, search)

    def _start(self, training: TrainingData, seed: int) -> CountedState:
        return next(self._starts(training, [seed]))

    def _step(self, data: Blocks, state: CountedState) -> solver.Step[CountedState]:
        """One round over the faces by hinges, else by counting; at the end all of them at once."""
        search, theta, bound = state.search, state.theta, 0.0
        for counting in (False, True)[: 1 + bool(self.max_nodes)]:
            theta = search.round(theta, counting)
            least = search.objective(theta)
            finished = least >= state.objective * (1 - self.tol) or search.deadline.passed()
            if not finished:
                break
        exact = self.max_nodes and len(search.rows.X) <= self.max_exact
        if finished and exact and not search.deadline.passed():
            theta, bound = search.proved(theta)
        found = CountedState.of(theta, search, bound)
        mistakes = criterion.count_mistakes(data, found.planes)
        measures = {"objective": found.objective, "mistakes": mistakes}
        return solver.Step(found, found, None, measures, finished)

    def _rank(self, data: Blocks, state: CountedState) -> solver.Rank:
        del data
        return solver.Rank(state.objective, 0.0)

    def _answer(self, state: CountedState) -> Planes:
        return state.planes

    def _report(self, run: solver.Run[CountedState]) -> Iterator[str]:
        state = run.state
        self.objective_, self.bound_ = state.objective, state.bound
        self.gap_ = 1 - state.bound / state.objective if state.objective > 0 else 0.0
        self.timed_out_ = state.search.deadline.missed
        yield from super()._report(run)
        if self.timed_out_:
            self.converged_ = False
            yield (
                f"DiscreteSVM was ended by time_limit={self.time_limit!r} with the best "
                f"hyperplanes until then (gap {self.gap_:.3g}). Raise time_limit, or lower "
                "max_exact or max_nodes."
            )


def _moved(theta: Floats, by: Floats) -> Floats:
    """Faces [w, b] of x as faces of x - by."""
    moved = theta.copy()
    moved[:, -1] += theta[:, :-1] @ by
    return moved

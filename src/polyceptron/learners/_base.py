"""What the learners of one polyhedron share: the door, the way out, and prediction."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from polyceptron import solve
from polyceptron._checks import refuse_text
from polyceptron._rows import canonical
from polyceptron._types import Floats
from polyceptron.blocks import ArrayBlocks, Blocks, count_threads, kernel_rows
from polyceptron.criterion import Planes, decide
from polyceptron.learners._parameters import (
    check_flag,
    check_init,
    check_inside,
    check_known_labels,
    check_n_jobs,
    check_seed,
    check_two_classes,
    check_verbose,
    check_weights,
    check_whole,
)
from polyceptron.polyhedron import Polyhedron
from polyceptron.scaling import Coordinates, standardized, within_range


@dataclass(frozen=True, slots=True)
class Problem:
    """Validated rows in the coordinates of learning, and the way back."""

    data: ArrayBlocks
    coordinates: Coordinates
    classes: NDArray[Any]
    inside: int


class PolyhedralClassifier(ClassifierMixin, BaseEstimator):
    """Base of the learners of a single polyhedron.

    A learner says where a run starts (``_start``), what a step is (``_step``), how good a
    state is (``_rank``), when to stop (``_stopping``) and which hyperplanes a state stands
    for (``_answer``). This class does the rest of scikit-learn's contract.
    """

    # Parameters that every such learner has; the learners' __init__ set them.
    n_hyperplanes: int
    init: Any
    n_init: int
    standardize: bool
    inside: Any
    class_weight: Any
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    max_iter: int

    @property
    def _kept(self) -> str:
        """What a run that did not converge ends with."""
        return "the best hyperplanes seen"

    def _conclude(self, data: Blocks, best: Any, last: Any) -> Any:
        """What a run ends with that is not finished, from its best state and its last."""
        del data, last
        return best

    @property
    def _advice(self) -> str:
        """What to change where a run did not converge."""
        return "Raise max_iter."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the polyhedron of the inside class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. A row of weight 0 is no row.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong it is left as it was.
        """
        self._check_parameters()
        with self._all_or_nothing():
            problem = self._problem(X, y, sample_weight)
            run = solve.run(
                self,
                problem.data,
                (self._start(problem, seed) for seed in self._seeds()),
                self._stopping(),
                solve.Progress(self.verbose, type(self).__name__),
            )
            self._publish(problem, self._answer(run.state))
            self._keep(run.state)
            self._report(run)
        return self

    # --- what a learner adds ------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole("n_hyperplanes", self.n_hyperplanes)
        check_whole("max_iter", self.max_iter)
        check_whole("n_init", self.n_init)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_flag("standardize", self.standardize)
        check_flag("warm_start", self.warm_start)

    @abstractmethod
    def _stopping(self) -> solve.Stopping: ...
    @abstractmethod
    def _start(self, problem: Problem, seed: int) -> Any: ...
    @abstractmethod
    def _step(self, data: Blocks, state: Any) -> solve.Step[Any]: ...
    @abstractmethod
    def _rank(self, data: Blocks, state: Any) -> solve.Rank: ...
    @abstractmethod
    def _answer(self, state: Any) -> Planes: ...

    def _keep(self, state: Any) -> None:
        """Keep what a later call goes on from; nothing by default."""

    # --- the door ---------------------------------------------------------------------

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, fresh: bool = True
    ) -> Problem:
        """Validate rows, labels and weights.

        ``classes`` are given where these rows need not have them all, which is a stream;
        ``fresh=False`` goes on with the columns, classes and coordinates of before.
        """
        X, y = self._validated(X, y, reset=fresh)
        stream = classes is not None
        if stream:
            check_known_labels(y, classes)
        else:
            classes = check_two_classes(y)
        inside = self._choose_inside(classes)
        if not fresh and inside != self._inside:
            raise ValueError(f"inside={self.inside!r} is not the class inside so far")
        weight = check_weights(sample_weight, self.class_weight, X, y, classes, stream=stream)
        if weight.size and not weight.all():  # a row of zero weight is no row
            rows = np.flatnonzero(weight)
            X, y, weight = X[rows], y[rows], weight[rows]
        if stream and fresh and X.shape[0] == 0:
            raise ValueError("sample_weight and class_weight leave the first call no row")
        if not stream and X.shape[0] < self._rows_needed():
            raise ValueError(
                f"n_hyperplanes={self.n_hyperplanes} is more than the rows with weight: "
                f"n_samples={X.shape[0]}"
            )
        coordinates = self._choose_coordinates(X, weight) if fresh else self._coordinates
        signs = np.where(y == classes[inside], 1, -1).astype(np.int8)
        scaled = coordinates.transform(X)
        if not fresh and not np.isfinite(scaled.data if sparse.issparse(X) else scaled).all():
            raise ValueError("X is too large for the scaling that the first rows gave")
        data = ArrayBlocks(
            kernel_rows(scaled),
            signs,
            weight,
            X.shape[1],
            n_threads=count_threads(self.n_jobs, X.shape[0]),
        )
        return Problem(data, coordinates, classes, inside)

    def _validated(self, *arrays: Any, reset: bool) -> Any:
        refuse_text(arrays[0], "X")
        with np.errstate(over="ignore", invalid="ignore"):  # its test for finiteness sums up
            valid = validate_data(
                self,
                *arrays,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                reset=reset,
            )
        X, *rest = valid if len(arrays) > 1 else (valid,)
        X = canonical(X) if sparse.issparse(X) else X
        return (X, *rest) if rest else X

    def _choose_inside(self, classes: NDArray[Any]) -> int:
        """The place of the class inside among the two classes."""
        return check_inside(self.inside, classes)

    def _rows_needed(self) -> int:
        return self.n_hyperplanes

    def _choose_coordinates(self, X: Any, weight: Floats) -> Coordinates:
        return standardized(X, weight) if self.standardize else within_range(X)

    def _first_planes(self, problem: Problem, seed: int) -> Planes:
        """Where a run starts, in the coordinates of learning."""
        K, d, coordinates = self.n_hyperplanes, problem.data.n_features, problem.coordinates
        given = check_init(self.init, (K, d + 1))
        if self.warm_start and hasattr(self, "polyhedron_"):
            self._check_warm_start(problem)
            start = coordinates.from_user(self.coef_, self.intercept_, self._exponent)
        elif given is not None:
            start = coordinates.from_user(given[:, :-1], given[:, -1])
        elif K == 1:  # no symmetry to break: the perceptron's own start
            start = np.zeros((1, d)), np.zeros(1)
        else:
            W = np.random.default_rng(seed).standard_normal((K, d))
            start = W * coordinates.bias_unit, np.zeros(K)
        if not all(np.isfinite(part).all() for part in start):
            name = "init" if given is not None else "warm_start=True"
            raise ValueError(f"{name}: that start is beyond the range of numbers on these columns")
        return Planes.of(*start)

    def _check_warm_start(self, problem: Problem) -> None:
        before = (*self.coef_.shape, self.classes_.tolist(), self._inside)
        now = (
            self.n_hyperplanes,
            problem.data.n_features,
            problem.classes.tolist(),
            problem.inside,
        )
        if before != now:
            raise ValueError(
                "warm_start=True needs the same n_hyperplanes, features, labels and class inside "
                f"as before: had {before}, now {now}"
            )

    def _seeds(self) -> list[int]:
        """One seed for each start; a given start needs only one."""
        random = check_seed(self.random_state)
        given = not isinstance(self.init, str) or (self.warm_start and hasattr(self, "polyhedron_"))
        n_init = 1 if given else self.n_init
        return [int(seed) for seed in random.randint(0, 2**31 - 1, size=n_init)]

    # --- the way out ------------------------------------------------------------------

    def _publish(self, problem: Problem, planes: Planes) -> None:
        """Set the fitted attributes that describe the polyhedron."""
        W, b = planes.arrays()
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ValueError(
                "the hyperplanes grew beyond the largest number: scale the columns of X, "
                "sample_weight or class_weight down"
            )
        W, b, self._exponent = problem.coordinates.to_user(W, b)
        W, b = _real_faces(W, b)
        names = getattr(self, "feature_names_in_", None)
        self.polyhedron_ = Polyhedron(W, b, None if names is None else names.tolist())
        self.coef_, self.intercept_ = self.polyhedron_.W, self.polyhedron_.b
        self.classes_ = problem.classes
        self._inside = problem.inside
        self.inside_ = problem.classes[problem.inside]
        self._coordinates = problem.coordinates

    def _report(self, run: solve.Run[Any]) -> None:
        """Set the fitted attributes that describe the run, and warn if it was cut short."""
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.history_ = run.history
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} "
                f"iterations; it ends with {self._kept}. {self._advice}",
                ConvergenceWarning,
                stacklevel=3,
            )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong inside leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    # --- prediction -------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Signed score of every row, positive for ``classes_[1]``.

        It is h(x) = min_k (w_k . x + b_k) where ``classes_[1]`` is inside, which is the
        default, and -h(x) where ``classes_[0]`` is: scikit-learn's scorers count on the
        sign. ``polyhedron_.decision(X)`` is always h(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        h = self._h(X)
        return h if self._inside == 1 else -h

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of every row: the inside class where every inequality holds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        is_inside = self._h(X) >= 0
        labels: NDArray[Any] = self.classes_[np.where(is_inside, self._inside, 1 - self._inside)]
        return labels

    def _h(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        h, finite = decide(X, self.polyhedron_.W, self.polyhedron_.b, self.n_jobs)
        return h if finite else self.polyhedron_.decision(X)  # which mends overflow


def _real_faces(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Give a normal to hyperplanes that ended without one.

    Such a face, [0, b_k], accepts every row or none. It becomes one along the first
    column that says the same for all numbers a float can hold but the very largest.
    """
    flat = ~W.any(axis=1)
    if flat.any():
        W, b = W.copy(), b.copy()
        W[flat, 0] = np.finfo(float).tiny
        b[flat] = np.where(b[flat] >= 0, 1.0, -1.0)
    return W, b

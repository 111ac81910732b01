"""What the learners of one polyhedron share: the door, the way out, and prediction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from polyceptron.calibration import Link
from polyceptron.data.blocks import ArrayBlocks, Blocks, count_threads, kernel_rows
from polyceptron.data.scaling import Coordinates, Ends, EndsOf, standardized, within_range
from polyceptron.learners._parameters import (
    check_inside,
    check_known_labels,
    check_two_classes,
    check_weights,
)
from polyceptron.learners.documents import Document, Documented, Exponent, ModelFileError
from polyceptron.optim.checkpoint import (
    NO_JOURNAL,
    Journal,
    as_checkpoint,
    described,
    digest_of,
    fingerprint,
)
from polyceptron.optim.planes import Planes
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule
from polyceptron.scoring import canonical
from polyceptron.utils.checks import refuse_text
from polyceptron.utils.types import Floats

_MOOT = {"checkpoint", "n_jobs", "prune", "random_state", "verbose"}
"""Parameters that change no result, or of which the journal itself keeps account."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Validated rows in the coordinates of learning, and the way back."""

    data: Blocks
    coordinates: Coordinates
    classes: NDArray[Any]
    inside: int

    @property
    def arrays(self) -> ArrayBlocks:
        """The rows, which are in memory."""
        assert isinstance(self.data, ArrayBlocks)
        return self.data


class PolyhedronFitted(Document):
    """What a model file keeps of a polyhedron beside its rule."""

    exponent: Exponent


class PolyhedralClassifier(Documented, ClassifierMixin, BaseEstimator):
    """Base of the learners of a single polyhedron: how rows come in, and answers go out."""

    # Parameters that every such learner has; the learners' __init__ set them.
    n_hyperplanes: int
    standardize: bool
    inside: Any
    class_weight: Any
    random_state: Any
    n_jobs: int | None
    verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

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
        signs = np.where(y == classes[inside], 1, -1).astype(np.int8)
        n, d = X.shape
        n_threads = count_threads(self.n_jobs, n)
        coordinates = self._coordinates if not fresh else None
        if coordinates is None:
            data = ArrayBlocks(kernel_rows(X), signs, weight, d, n_threads=n_threads)
            ends = data.reduce(EndsOf(d))
            coordinates = self._choose_coordinates(data, ends, centred=not sparse.issparse(X))
        scaled = coordinates.transform(X)
        if not fresh and not np.isfinite(scaled.data if sparse.issparse(X) else scaled).all():
            raise ValueError("X is too large for the scaling that the first rows gave")
        data = ArrayBlocks(kernel_rows(scaled), signs, weight, d, n_threads=n_threads)
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

    def _choose_coordinates(self, data: Blocks, ends: Ends, *, centred: bool) -> Coordinates:
        """Those to learn in, of rows in user units whose columns have these ends."""
        return standardized(data, ends, centred=centred) if self.standardize else within_range(ends)

    # --- what a killed fit goes on from -------------------------------------------------

    checkpoint: Any = None

    def _journal(
        self, data: Blocks, inside: Any = None, coordinates: Coordinates | None = None
    ) -> Journal:
        """The journal of a fit to these rows, with what it has of before."""
        checkpoint = as_checkpoint(self.checkpoint)
        if checkpoint is None:
            return NO_JOURNAL
        values = {
            name: value for name, value in self.get_params(deep=False).items() if name not in _MOOT
        }
        identity = {"learner": type(self).__name__}
        identity |= {name: described(value) for name, value in values.items()}
        if isinstance(self.random_state, Integral):
            identity["random_state"] = described(self.random_state)
        if getattr(self, "warm_start", False) and hasattr(self, "coef_"):
            identity["the start"] = described(np.column_stack([self.coef_, self.intercept_]))
        identity["inside"] = described(inside)
        identity["data"] = fingerprint(data)
        if coordinates is not None:  # rows in other units may be the same in those of learning
            numbers = [*coordinates.scale, *coordinates.shift, coordinates.bias_unit]
            identity["data"] += f"-{digest_of(np.array(numbers))}"
        return Journal(checkpoint, identity)

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
        polyhedron = Polyhedron(W, b, None if names is None else names.tolist())
        self._coordinates = problem.coordinates
        self.classes_ = problem.classes
        self._set_rule(polyhedron, problem.inside)

    _link: Link | None = None
    """How scores become probabilities, where that is the same for all fits."""

    def _set_rule(self, polyhedron: Polyhedron, inside: int, link: Link | None = None) -> None:
        """Set the fitted attributes that follow from the polyhedron and the class inside."""
        self._inside, self.inside_ = inside, self.classes_[inside]
        self.polyhedron_ = polyhedron
        self.coef_, self.intercept_ = polyhedron.W, polyhedron.b
        self.rule_ = Rule.inside(self.classes_, inside, polyhedron, link=link or self._link)

    # --- model files ------------------------------------------------------------------

    _Fitted: ClassVar[Any] = PolyhedronFitted
    _apart: ClassVar[tuple[str, ...]] = ("exponent",)

    def _fitted(self) -> dict[str, Any]:
        return super()._fitted() | {"exponent": self._exponent}

    def _restore(self, rule: Rule, fitted: Any) -> None:
        if len(rule.classes) != 2:
            problem = f"must be two for {type(self).__name__}; got {len(rule.classes)}"
            raise ModelFileError(problem, "rule.classes.labels")
        piece = rule.pieces[0]
        link = rule.links[piece.place] if rule.links else None
        self._set_rule(piece.polyhedron, piece.place, link)
        self._exponent = fitted.exponent
        self._set_attributes(fitted)
        self._check_restored(rule)

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
        check_is_fitted(self)
        return self.rule_.decision_function(self._validated(X, reset=False), self.n_jobs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of every row: the inside class where every inequality holds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.rule_.predict(self._validated(X, reset=False), self.n_jobs)


class ProbabilisticClassifier(PolyhedralClassifier):
    """Base of the learners whose rule has probabilities."""

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.rule_.predict_proba(self._validated(X, reset=False), self.n_jobs)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, exact where that has become 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.rule_.predict_log_proba(self._validated(X, reset=False), self.n_jobs)


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

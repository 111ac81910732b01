"""What the learners share: how rows come in, how a rule goes out, and prediction."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from polyceptron.calibration import Link
from polyceptron.data.blocks import Blocks
from polyceptron.data.scaling import Coordinates, Ends, standardized, within_range
from polyceptron.data.source import ArraySource, Source
from polyceptron.data.training import TrainingData
from polyceptron.learners import _parameters
from polyceptron.learners.documents import Document, Documented, Exponent, ModelFileError
from polyceptron.optim import checkpoint as checkpoints
from polyceptron.optim.planes import Planes
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule
from polyceptron.scoring import check_finite_rows
from polyceptron.utils.checks import refuse_text
from polyceptron.utils.types import Floats
from polyceptron.verdict import Verdict, VerdictWarning, judge

_CHANGE_NOTHING = {"checkpoint", "n_jobs", "prune", "verbose"}
"""Parameters that change no result."""


class RuleClassifier(Documented, ClassifierMixin, BaseEstimator):
    """Base of all learners: rows become a source, a source becomes training data, then a rule.

    A learner defines ``_learn``, which reads a source and sets the fitted attributes.
    """

    # Parameters that every learner has; the learners' __init__ set them.
    class_weight: Any
    random_state: Any
    verbose: int
    n_jobs: int | None = 1

    rule_: Rule
    verdict_: Verdict
    _rows_are: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr",
        "dtype": [np.float64, np.float32],
    }
    """What rows may be, as scikit-learn's validation asks."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels. If anything goes wrong the estimator is left as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            A Dask array or DataFrame stays where it is, with learners that have `fit_blocks`.
        y : array-like of shape (n_samples,)
            Two labels; any number of them with `Polyceptron` and `OC1`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. A row of weight 0 is no row.
        """
        self._check_parameters()
        with self._all_or_nothing(), self._source(X, y, sample_weight) as source:
            for reason in chain(self._learn(source), self._judge(source)):
                warnings.warn(reason, ConvergenceWarning, stacklevel=2)
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that are wrong whatever the rows are."""

    @abstractmethod
    def _learn(self, source: Source) -> Iterator[str]:
        """Learn from these rows, and yield what the caller is to be warned of.

        The public method warns, so that warnings point at the line that called it.
        """

    def _judge(self, source: Source) -> Iterator[str | Warning]:
        """See how well the rows are answered, and yield what the caller is warned of besides."""
        self.verdict_ = judge(self, source, self.n_jobs, "rows learned from")
        if self.verdict_.warning is not None:
            yield VerdictWarning(self.verdict_.warning)

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

    def _html_repr(self) -> str:
        """What scikit-learn shows in notebooks, and below it the rule and the verdict."""
        diagram: str = super()._html_repr()
        if not hasattr(self, "rule_"):
            return diagram
        if not hasattr(self, "verdict_"):  # of a model file whose rule was edited
            return diagram + self.rule_.to_html()
        remarks = self.verdict_.remarks
        figures = str(self.verdict_).splitlines()
        return diagram + self.rule_.to_html(remarks, figures[: len(figures) - len(remarks)])

    # --- how rows come in -----------------------------------------------------------------

    def _source(
        self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, reset: bool = True
    ) -> Source:
        """Rows, labels and weights as a source, validated.

        ``classes`` are given where these rows need not have them all.
        """
        if is_dask(X):
            if not isinstance(self, FitsBlocks):
                name = type(self).__name__
                raise TypeError(f"{name} learns from rows in memory: give X.compute(), y.compute()")
            from polyceptron.distributed import source_of

            return source_of(X, y, sample_weight)
        X, y = self._validated(X, y, reset=reset)
        if y.dtype.kind == "O":  # which need not even have an order
            _parameters.check_class_labels(y)
        weight = _parameters.check_sample_weight(sample_weight, X, some=classes is None)
        if classes is None:
            classes = np.unique(y)
        else:
            _parameters.check_known_labels(y, classes)
        names = getattr(self, "feature_names_in_", None)
        return ArraySource(X, y, weight, classes=classes, feature_names=names)

    def _validated(self, *arrays: Any, reset: bool, **checks: Any) -> Any:
        refuse_text(arrays[0], "X")
        with np.errstate(over="ignore", invalid="ignore"):  # its test for finiteness sums up
            try:
                how = {**self._rows_are, "order": "C", "reset": reset, **checks}
                return validate_data(self, *arrays, **how)
            except ValueError as error:
                if "Input X contains" in str(error):
                    self._name_what_is_not_finite(arrays[0])
                raise

    def _name_what_is_not_finite(self, X: Any) -> None:
        """Raise a ValueError with the row and the column, which scikit-learn does not say."""
        rows = check_array(X, **self._rows_are, ensure_all_finite=False)
        columns = getattr(X, "columns", None)
        check_finite_rows(rows, None if columns is None else list(columns))

    def _take_columns(self, source: Source) -> None:
        """Set what scikit-learn knows of the columns."""
        self.n_features_in_ = source.n_features
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @property
    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else names.tolist()

    # --- prediction -----------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of every row; lazy for a Dask collection.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
        """
        return self._answered("predict", X)  # type: ignore[no-any-return]

    def _answered(self, method: str, X: Any) -> Any:
        """What the rule says of rows."""
        check_is_fitted(self)
        if is_dask(X):
            from polyceptron.distributed import lazy

            return lazy(getattr(self, method), X)
        # What is not finite shows in the scores: a search for it would read all rows once more.
        rows = self._validated(X, reset=False, ensure_all_finite=False)
        try:
            return getattr(self.rule_, method)(rows, self.n_jobs)
        except ValueError:
            self._name_what_is_not_finite(X)
            raise


class PolyhedronFitted(Document):
    """What a model file keeps of a polyhedron beside its rule."""

    exponent: Exponent


class PolyhedralClassifier(RuleClassifier):
    """Base of the learners of a single polyhedron."""

    # Parameters that every such learner has besides.
    n_hyperplanes: int
    standardize: bool
    inside: Any
    checkpoint: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    # --- training data --------------------------------------------------------------------

    def _training_options(self, source: Source) -> dict[str, Any]:
        """How `TrainingData.of` is to see the rows of a source, which are checked here."""
        self._take_columns(source)
        _parameters.check_class_labels(source.classes)
        self._check_classes(source.classes)
        if source.n_samples < self._rows_needed():
            raise ValueError(
                f"n_hyperplanes={self.n_hyperplanes} is more than the rows with weight: "
                f"n_samples={source.n_samples}"
            )
        return {
            "inside": self._choose_inside(source.classes),
            "scaling": self._choose_coordinates,
            "class_weight": self.class_weight,
            "n_jobs": self.n_jobs,
        }

    def _check_classes(self, classes: NDArray[Any]) -> None:
        _parameters.check_two_classes(classes)

    def _choose_inside(self, classes: NDArray[Any]) -> int:
        """The place of the class inside among the two classes."""
        return _parameters.check_inside(self.inside, classes)

    def _rows_needed(self) -> int:
        return self.n_hyperplanes

    def _choose_coordinates(self, data: Blocks, ends: Ends, centred: bool) -> Coordinates:
        """Those to learn in, of rows in user units whose columns have these ends."""
        return standardized(data, ends, centred=centred) if self.standardize else within_range(ends)

    # --- what a killed fit goes on from ---------------------------------------------------

    def _journal(self, training: TrainingData) -> checkpoints.FitJournal:
        """The journal of a fit to these rows, with what it has of before."""
        file = checkpoints.as_checkpoint(self.checkpoint)
        if file is None:
            return checkpoints.NO_JOURNAL
        facts = self.get_params(deep=False)
        if not isinstance(self.random_state, Integral):
            del facts["random_state"]
        facts = {name: value for name, value in facts.items() if name not in _CHANGE_NOTHING}
        facts |= self._other_facts() | {"classes": training.classes}
        identity = {"learner": type(self).__name__}
        identity |= {name: checkpoints.described(value) for name, value in facts.items()}
        places = [training.inside] if len(training.classes) == 2 else range(len(training.classes))
        coordinates = training.coordinates  # rows in other units may be the same in those
        numbers = [*coordinates.scale, *coordinates.shift, coordinates.bias_unit]
        digests = [checkpoints.fingerprint(training.with_inside(place).data) for place in places]
        identity["data"] = "-".join([*digests, checkpoints.digest_of(np.array(numbers))])
        return checkpoints.FitJournal(file, identity)

    def _other_facts(self) -> dict[str, Any]:
        """What decides a fit besides parameters and rows, by name."""
        if getattr(self, "warm_start", False) and hasattr(self, "coef_"):
            return {"the start": np.column_stack([self.coef_, self.intercept_])}
        return {}

    # --- how answers go out ---------------------------------------------------------------

    def _polyhedra(
        self, training: TrainingData, pieces: Sequence[Floats]
    ) -> tuple[list[Polyhedron], int]:
        """Pieces of rows [w_k, b_k] in user units, and the exponent of `Coordinates.to_user`."""
        theta = np.concatenate(pieces)
        if not np.isfinite(theta).all():
            raise ValueError(
                "the hyperplanes grew beyond the largest number: scale the columns of X, "
                "sample_weight or class_weight down"
            )
        W, b, exponent = training.coordinates.to_user(theta[:, :-1].copy(), theta[:, -1].copy())
        ends = np.cumsum([len(piece) for piece in pieces])[:-1]
        parts = zip(np.split(W, ends), np.split(b, ends), strict=True)
        return [Polyhedron(*_real_faces(*part), self._names) for part in parts], exponent

    def _publish(self, training: TrainingData, planes: Planes) -> None:
        """Set the fitted attributes that describe the polyhedron."""
        (polyhedron,), self._exponent = self._polyhedra(training, [planes.rows()])
        self._coordinates = training.coordinates
        self.classes_ = training.classes
        self._set_rule(polyhedron, training.inside)

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

    # --- prediction -------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Signed score of every row, positive for ``classes_[1]``; lazy for a Dask collection.

        It is h(x) = min_k (w_k . x + b_k) where ``classes_[1]`` is inside, which is the
        default, and -h(x) where ``classes_[0]`` is: scikit-learn's scorers count on the
        sign. ``polyhedron_.decision(X)`` is always h(x). Of more than two classes it is the
        log-odds of each by its own polyhedron, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
        """
        return self._answered("decision_function", X)  # type: ignore[no-any-return]


class FitsBlocks(PolyhedralClassifier):
    """A learner whose every look at the rows is a sum over blocks."""

    def fit_blocks(self, source: Source) -> Self:
        """Learn from rows that need not be in memory: the model of `fit`, to the last bit.

        Parameters
        ----------
        source : Source
            Such as `polyceptron.open_blocks` gives.
        """
        self._check_parameters()
        if not isinstance(source, Source):
            raise TypeError(
                "source must be a Source, such as polyceptron.open_blocks gives; "
                f"got {type(source).__name__}"
            )
        with self._all_or_nothing():
            for reason in chain(self._learn(source), self._judge(source)):
                warnings.warn(reason, ConvergenceWarning, stacklevel=2)
        return self


class ProbabilisticClassifier(RuleClassifier):
    """Base of the learners whose rule has probabilities."""

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, a column each as in ``classes_``, for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            The answer is lazy for a Dask collection.
        """
        return self._answered("predict_proba", X)  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, exact where that has become 0; it takes the same rows."""
        return self._answered("predict_log_proba", X)  # type: ignore[no-any-return]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or frame; Dask itself is not imported."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


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

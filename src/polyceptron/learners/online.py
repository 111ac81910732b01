"""Online Polyceptron: Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import Blocks
from polyceptron.data.scaling import Coordinates
from polyceptron.data.training import TrainingData
from polyceptron.data.visits import visits
from polyceptron.learners import _parameters, documents
from polyceptron.learners._base import FitsBlocks
from polyceptron.learners._iterated import IteratedClassifier, RunFitted, share_docs
from polyceptron.learners.documents import Document, Finite, ModelFileError, Positive
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import StateArrays
from polyceptron.optim.planes import Planes
from polyceptron.rule import Rule
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.types import Floats


class OnlineState(NamedTuple):
    """Where the online learner stands after some rows, in the coordinates of learning.

    ``U / n_seen`` is what the mean hyperplanes lack of the present ones.
    """

    planes: Planes
    answer: Planes
    unit: float
    seed: int
    n_passes: int
    n_seen: int
    U: Floats
    u: Floats

    @property
    def order(self) -> int:
        """The seed of the order of rows in the next pass."""
        return (self.seed << 32) + self.n_passes

    def answered(self) -> OnlineState:
        """The answer is the mean of the hyperplanes after each row seen, or the present ones."""
        if len(self.U) == 0 or self.n_seen == 0:
            return self._replace(answer=self.planes)
        W, b = self.planes.arrays()
        mean = Planes.of(W - self.U / self.n_seen, b - self.u / self.n_seen)
        return self._replace(answer=mean)


class Stream(Document):
    """Where `partial_fit` goes on: the coordinates of learning, and the hyperplanes there."""

    scale: list[Positive]
    shift: list[Finite]
    bias_unit: Positive
    W: list[list[Finite]]
    b: list[Finite]
    seed: Annotated[int, Meta(ge=0, le=2**31)]
    n_passes: Annotated[int, Meta(ge=0, le=2**32 - 1)]
    n_seen: Annotated[int, Meta(ge=0, le=2**53)]
    U: list[list[Finite]] | None
    u: list[Finite] | None


class StreamFitted(RunFitted):
    """What a model file keeps of an online run."""

    stream: Stream


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class OnlinePolyceptron(IteratedClassifier, FitsBlocks):
    """Learn a polyhedron row by row, as the perceptron does.

    A row on the wrong side moves the hyperplane that is least for it:
    ``w_r += step_size * y * [x, 1]``; a row on its own side moves nothing (Manwani &
    Sastry, *Polyceptron: A Polyhedral Learning Algorithm*, Algorithm 2). With
    ``n_hyperplanes=1`` and ``shuffle=False`` this is the classical perceptron: on dense
    float64 rows its coefficients equal those of scikit-learn's to the last bit.

    The defaults were chosen by cross-validation on the paper's four sets; see
    docs/design.md.

    Parameters
    ----------
    step_size : float, default=1.0
        Length of a step. It matters only relative to the start and to `margin`.
    max_iter : int, default=300
        Most passes over the rows of one start. The learner stops before that after a
        pass in which no row counted.
    n_iter_no_change : int, default=50
        With `pocket`, also stop after this many passes without fewer mistakes.
    margin : float, default=0.0
        Rows count until they are on their side by more than this: y h(x) > margin.
    shuffle : bool, default=True
        Take the rows in a new random order in each pass. False is the paper's order,
        the given one, in which the learner may go round in circles.
    average : bool, default=False
        Answer with the mean of the hyperplanes after each row rather than the last.
        Better where the classes overlap.
    pocket : bool or "auto", default="auto"
        After each pass count the mistakes on all training rows, and answer with the best
        hyperplanes (Gallant's pocket algorithm). False answers with the last, as the
        paper does. "auto" is the same as `shuffle`.
    standardize : bool, default=False
        Learn on columns of zero mean and unit spread (sparse columns are only scaled).
        The answer is in the units of X all the same. `partial_fit` takes mean and spread
        from the rows of its first call.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn: a row moves its hyperplane by
        `step_size` times its weight.
    n_jobs : int or None, default=None
        Threads for counting mistakes and predicting on large data; -1 is all cores, None is one or
        what `joblib.parallel_config` says.
        Passes are sequential, and the result does not depend on it.
    {parameters}

    Attributes
    ----------
    n_iter_ : int
        Passes of the run that was kept, and calls of `partial_fit`.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "mistakes" (how many rows were on the wrong side when they were met) and "updates"
        of each pass of that run. After `partial_fit`, of its last call only.
    {attributes}

    See Also
    --------
    BatchPolyceptron : Sums over all rows before each step.

    Examples
    --------
    >>> from polyceptron import OnlinePolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = OnlinePolyceptron(n_hyperplanes=3, random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0

    From a stream:

    >>> model = OnlinePolyceptron(n_hyperplanes=3, random_state=0)
    >>> for start in range(0, 1000, 100):
    ...     rows = slice(start, start + 100)
    ...     model = model.partial_fit(X[rows], y[rows], classes=[-1, 1])
    >>> model.n_iter_
    10
    """

    step_size: float = 1.0
    max_iter: int = 300
    n_iter_no_change: int = 50
    margin: float = 0.0
    shuffle: bool = True
    average: bool = False
    pocket: bool | str = "auto"
    standardize: bool = False
    checkpoint: Any = None

    @property
    def _advice(self) -> str:
        advice = "Raise max_iter, or n_hyperplanes if so few may not separate the classes"
        return f"{advice}." if self.average else f"{advice}; average=True helps where none do."

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take these rows once, in the given order.

        After `fit` it goes on from the hyperplanes that `fit` answered with, and with
        ``average=True`` a new mean begins there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (2,), default=None
            Both labels; needed on the first call, since its rows may be of one class.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        self._check_parameters()
        with self._all_or_nothing():
            first = not hasattr(self, "polyhedron_")
            if not first and self.rule_.edits:
                raise ValueError(
                    "this model was edited by hand, and partial_fit would go on from before that: "
                    "use fit, or the model as it was learned"
                )
            training = self._continued(X, y, sample_weight, self._stream_classes(classes, first))
            if first:
                (seed,) = self._seeds(_parameters.check_seed(self.random_state))[:1]
                self._state, self.n_iter_ = self._start(training, seed), 0
            elif self.n_hyperplanes != self._state.planes.K:
                raise ValueError(
                    f"n_hyperplanes={self.n_hyperplanes}, but partial_fit goes on with "
                    f"{self._state.planes.K}; use fit for another number"
                )
            if self.average != bool(len(self._state.U)):
                self._state = self._with_new_mean(self._state)
            self._state, measures = self._pass(training.data, self._state, shuffle=False)
            self._publish(training, self._state.answer)
            self.__dict__.pop("verdict_", None)  # that of other hyperplanes
            self.n_iter_ += 1
            self.converged_ = measures["updates"] == 0
            self.history_ = {name: np.array([value]) for name, value in measures.items()}
        return self

    def _continued(self, X: Any, y: Any, sample_weight: Any, labels: Any) -> TrainingData:
        """These rows as the next of a stream: labels and coordinates are those of before."""
        first = not hasattr(self, "polyhedron_")
        if isinstance(self.class_weight, dict) and 0 in self.class_weight.values():
            away = [label for label, weight in self.class_weight.items() if weight == 0]
            given = 1.0 if sample_weight is None else np.asarray(sample_weight)
            sample_weight = np.where(np.isin(y, away), 0.0, given)  # they are no rows
        source = self._source(X, y, sample_weight, classes=labels, reset=first)
        inside = self._choose_inside(labels)
        if first and source.n_samples == 0:
            raise ValueError("sample_weight and class_weight leave the first call no row")
        if not first and inside != self._inside:
            raise ValueError(f"inside={self.inside!r} is not the class inside so far")
        return TrainingData.continued(
            source,
            inside=inside,
            coordinates=None if first else self._coordinates,
            scaling=self._choose_coordinates,
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
        )

    def _stream_classes(self, classes: Any, first: bool) -> NDArray[Any]:
        if classes is None and first:
            raise ValueError("classes must be given on the first call of partial_fit: both labels")
        given: NDArray[Any] = self.classes_ if classes is None else np.unique(classes)
        _parameters.check_two_classes(given)
        if first:
            _parameters.check_class_labels(np.asarray(classes))
        elif not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={given.tolist()!r} is not the same as on the first call of "
                f"partial_fit: {self.classes_.tolist()!r}"
            )
        return given

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_real(self.step_size, "step_size", positive=True)
        as_count(self.n_iter_no_change, "n_iter_no_change")
        as_real(self.margin, "margin")
        _parameters.check_flag("shuffle", self.shuffle)
        _parameters.check_flag("average", self.average)
        _parameters.check_flag("pocket", self.pocket, "auto")

    def _stopping(self) -> solver.Stopping:
        return solver.Stopping(self.max_iter, self.n_iter_no_change)

    def _start(self, training: TrainingData, seed: int) -> OnlineState:
        planes = self._first_planes(training, seed)
        none = np.empty((0, 0)), np.empty(0)
        state = OnlineState(planes, planes, training.coordinates.bias_unit, seed, 0, 0, *none)
        return self._with_new_mean(state)

    def _with_new_mean(self, state: OnlineState) -> OnlineState:
        K, d = state.planes.arrays()[0].shape if self.average else (0, 0)
        return state._replace(n_seen=0, U=np.zeros((K, d)), u=np.zeros(K))

    def _step(self, data: Blocks, state: OnlineState) -> solver.Step[OnlineState]:
        state, measures = self._pass(data, state, shuffle=self.shuffle)
        finished = measures["updates"] == 0
        rank = self._rank(data, state) if self._pockets else None
        if finished and rank is not None and rank.mistakes > 0:
            # The mean is not there yet, but these hyperplanes make no mistake.
            state = state._replace(answer=state.planes)
            rank = self._rank(data, state)
        return solver.Step(state, state, rank, measures, finished)

    @property
    def _pockets(self) -> bool:
        return bool(self.shuffle if self.pocket == "auto" else self.pocket)

    @property
    def _kept(self) -> str:
        if self._pockets:
            return super()._kept
        return "the mean of all hyperplanes" if self.average else "the last hyperplanes"

    def _pass(
        self, data: Blocks, state: OnlineState, shuffle: bool
    ) -> tuple[OnlineState, dict[str, float]]:
        """All rows once. The state given is left as it is."""
        planes, U, u = state.planes.copy(), state.U.copy(), state.u.copy()
        unit, step = state.unit, float(self.step_size)
        mistakes = updates = 0
        seen = state.n_seen
        for X, y, weight, order in visits(data, state.order if shuffle else None):
            found = kernels.online_pass(
                X, y, weight, order, planes.panel, planes.bias, planes.K,
                step, step * unit * unit, float(self.margin) * unit * unit,
                U, u, seen,
            )  # fmt: skip
            mistakes, updates = mistakes + found[0], updates + found[1]
            seen += y.shape[0]
        n_passes = state.n_passes + 1
        state = state._replace(planes=planes, n_passes=n_passes, n_seen=seen, U=U, u=u)
        return state.answered(), {"mistakes": float(mistakes), "updates": float(updates)}

    def _pack(self, state: OnlineState) -> StateArrays:
        W, b = zip(state.planes.arrays(), state.answer.arrays(), strict=True)
        whole = np.array([state.seed, state.n_passes, state.n_seen], np.int64)
        arrays = {"W": np.array(W), "b": np.array(b), "unit": np.array(state.unit)}
        return arrays | {"whole": whole, "U": state.U, "u": state.u}

    def _unpack(self, data: Blocks, record: StateArrays) -> OnlineState:
        del data
        planes, answer = map(Planes.of, record["W"], record["b"])
        unit, (seed, n_passes, n_seen) = float(record["unit"]), record["whole"].tolist()
        U, u = record["U"], record["u"]
        return OnlineState(planes, answer, unit, seed, n_passes, n_seen, U, u)

    # --- model files ------------------------------------------------------------------

    _Fitted = StreamFitted
    _apart = ("exponent", "stream")

    def _fitted(self) -> dict[str, Any]:
        state = self._state
        W, b = state.planes.arrays()
        U, u = (state.U, state.u) if len(state.u) else (None, None)
        counts = {"seed": state.seed, "n_passes": state.n_passes, "n_seen": state.n_seen}
        stream = asdict(self._coordinates) | {"W": W, "b": b, "U": U, "u": u} | counts
        return super()._fitted() | {"stream": stream}

    def _restore(self, rule: Rule, fitted: Any) -> None:
        super()._restore(rule, fitted)
        (K, d), of, where = self.coef_.shape, fitted.stream, f"{documents.FITTED}.stream"
        K = len(of.W) if rule.edits else K  # a face may have been dropped by hand
        if np.frexp(of.bias_unit)[0] != 0.5:
            raise ModelFileError("must be a power of two", f"{where}.bias_unit")
        if (of.U is None) != (of.u is None):
            raise ModelFileError("must both be null, or neither", f"{where}.U and {where}.u")

        def array(name: str, *shape: int) -> Floats:
            values = getattr(of, name)
            empty = np.zeros([0] * len(shape))
            return empty if values is None else documents.array(values, shape, f"{where}.{name}")

        self._coordinates = Coordinates(array("scale", d), array("shift", d), of.bias_unit)
        planes, U, u = Planes.of(array("W", K, d), array("b", K)), array("U", K, d), array("u", K)
        counts = of.seed, of.n_passes, of.n_seen
        self._state = OnlineState(planes, planes, of.bias_unit, *counts, U, u).answered()

    def _answer(self, state: OnlineState) -> Planes:
        return state.answer

    def _report(self, run: solver.Run[OnlineState]) -> Iterator[str]:
        # `partial_fit` goes on at the answer, with a new mean.
        self._state = self._with_new_mean(run.state._replace(planes=run.state.answer))
        return super()._report(run)

    def _rank(self, data: Blocks, state: OnlineState) -> solver.Rank:
        margin = float(self.margin) * state.unit * state.unit
        return solver.rank_planes(data, state.answer, margin)

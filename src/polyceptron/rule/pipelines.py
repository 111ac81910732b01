"""Pipelines of scikit-learn that end in a learner, as a rule on the columns that they are given.

Steps that are linear are multiplied into the faces. Categories become features by name, and what an
imputer fills stands in the rule's `Encoding`, as of tables that are read from files. Sums run in
extended precision and are rounded once: answers may differ only for rows that are on a face but for
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.encoding import Column, Encoding, as_text
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule

_Wide = NDArray[np.longdouble]


def _wide(values: Any) -> _Wide:
    return np.asarray(values, np.longdouble)


@dataclass(frozen=True)
class _LinearColumn:
    """A column between steps: a sum of features of the rule, by name, and a constant."""

    weights: dict[str, Any]
    constant: Any = 0.0


@dataclass(frozen=True)
class _InputColumn:
    """A column as the pipeline is given it, but for gaps that are filled."""

    name: str
    fill: Any = None


_AnyColumn = _InputColumn | _LinearColumn


def fold_pipeline(pipeline: Any, rule: Rule, error: type[Exception] = ValueError) -> Rule:
    """Return the rule of a fitted pipeline, given that of its last step.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
    rule : Rule
    error : type of exception
        What is raised where a step cannot be folded.
    """
    steps = [step for _, step in pipeline.steps[:-1]]
    known = next((one for one in pipeline.steps if hasattr(one[1], "n_features_in_")), None)
    first = known[1] if known else pipeline
    given = getattr(first, "feature_names_in_", None)
    names = [f"x{j}" for j in range(first.n_features_in_)] if given is None else [*map(str, given)]
    fold = _Fold(names, error)
    columns: Sequence[_AnyColumn] = [_InputColumn(name) for name in names]
    for step in steps:
        columns = fold.through(step, columns)
    return fold.finished(rule, fold.linear(columns), is_named=given is not None)


@dataclass
class _Fold:
    """What the steps of a pipeline do to columns; ``used`` are those of the table.

    Where some of the table are ``left_out``, they need not be numbers.
    """

    names: list[str]
    error: type[Exception]
    used: dict[str, Column] = field(default_factory=dict)
    left_out: bool = False

    def refuse(self, what: str) -> Exception:
        """The error that says what cannot be part of a rule."""
        return self.error(
            f"a pipeline cannot be read as inequalities of its own columns with {what}. Scalers, "
            "PCA, TruncatedSVD, selection of columns, SimpleImputer, OneHotEncoder and "
            "OrdinalEncoder can, also in a ColumnTransformer or FeatureUnion. Else give its last "
            "step, and rows as that sees them"
        )

    def through(self, step: Any, columns: Sequence[_AnyColumn]) -> Sequence[_AnyColumn]:
        """The columns after a step."""
        name = type(step).__name__
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return columns
        if not type(step).__module__.startswith("sklearn."):
            raise self.refuse(name)
        if hasattr(step, "get_support"):
            return [columns[j] for j in step.get_support(indices=True)]
        if name in _SCALERS:
            return self._scaled(step, self.linear(columns))
        if name in _ROTATIONS:
            return self._rotated(step, self.linear(columns))
        if name not in _OTHERS:
            raise self.refuse(name)
        return _OTHERS[name](self, step, columns)

    def linear(self, columns: Iterable[_AnyColumn]) -> list[_LinearColumn]:
        """Columns as sums of features: those of the table are such a feature each."""
        return [one if isinstance(one, _LinearColumn) else self._feature(one) for one in columns]

    def _feature(self, column: _InputColumn) -> _LinearColumn:
        self.use(Column(column.name, "number", fill=column.fill))
        return _LinearColumn({column.name: np.longdouble(1)})

    def use(self, column: Column) -> None:
        """Note how a column of the table is read: in one way."""
        if self.used.setdefault(column.name, column) != column:
            raise self.refuse(f"the column {column.name!r:.60} read in two ways")

    def _scaled(self, step: Any, columns: list[_LinearColumn]) -> list[_LinearColumn]:
        if getattr(step, "clip", False):
            raise self.refuse(f"{type(step).__name__}(clip=True)")
        n, scale = len(columns), getattr(step, "scale_", None)
        factors = _wide(np.ones(n) if scale is None else scale)
        if hasattr(step, "min_"):  # x * scale + min
            addends = _wide(step.min_)
        else:  # (x - centre) / scale
            centre = step.mean_ if getattr(step, "with_mean", False) else None
            centre = getattr(step, "center_", centre)
            factors = 1 / factors
            addends = -_wide(np.zeros(n) if centre is None else centre) * factors
        parts = zip(columns, factors, addends, strict=True)
        return [_combined([one], [factor], addend) for one, factor, addend in parts]

    def _rotated(self, step: Any, columns: list[_LinearColumn]) -> list[_LinearColumn]:
        matrix = _wide(step.components_)
        centre = _wide(getattr(step, "mean_", np.zeros(len(columns))))
        if getattr(step, "whiten", False):
            spreads = np.sqrt(step.explained_variance_)
            matrix = matrix / np.maximum(spreads, np.finfo(spreads.dtype).eps)[:, None]
        return [_combined(columns, row, -(row * centre).sum()) for row in matrix]

    def imputed(self, step: Any, columns: Sequence[_AnyColumn]) -> list[_AnyColumn]:
        """Columns of the table, their gaps filled."""
        if step.add_indicator:
            raise self.refuse("SimpleImputer(add_indicator=True)")
        if step.missing_values is not None and step.missing_values == step.missing_values:
            raise self.refuse(f"SimpleImputer(missing_values={step.missing_values!r:.60})")
        found: list[_AnyColumn] = []
        for column, fill in zip(columns, step.statistics_.tolist(), strict=True):
            if not isinstance(column, _InputColumn):
                raise self.refuse("SimpleImputer after a step that computes: put it first")
            if fill is not None and fill == fill:  # else it was empty, and is left out
                found.append(replace(column, fill=fill if column.fill is None else column.fill))
        return found

    def one_hot(self, step: Any, columns: Sequence[_AnyColumn]) -> list[_AnyColumn]:
        """A feature for each category."""
        found: list[_AnyColumn] = []
        dropped = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
        for read, out in zip(self._categories(step, columns), dropped, strict=True):
            kept = [name for k, name in enumerate(read.feature_names) if k != out]
            found += [_LinearColumn({name: np.longdouble(1)}) for name in kept]
        return found

    def ordinal(self, step: Any, columns: Sequence[_AnyColumn]) -> list[_AnyColumn]:
        """The number of each category: a sum over their features; others have none."""
        other = step.unknown_value if step.handle_unknown == "use_encoded_value" else 0
        if other != other:
            raise self.refuse("OrdinalEncoder(unknown_value=nan)")
        found: list[_AnyColumn] = []
        for read in self._categories(step, columns):
            codes = {name: np.longdouble(k - other) for k, name in enumerate(read.feature_names)}
            found.append(_LinearColumn(codes, np.longdouble(other)))
        return found

    def _categories(self, step: Any, columns: Sequence[_AnyColumn]) -> Iterator[Column]:
        """How an encoder reads columns of the table."""
        name = type(step).__name__
        rare = getattr(step, "infrequent_categories_", [None] * len(columns))
        for j, column in enumerate(columns):
            if not isinstance(column, _InputColumn):
                raise self.refuse(f"{name} after a step that computes")
            if rare[j] is not None:
                raise self.refuse(f"{name} with infrequent categories")
            values = step.categories_[j].tolist()
            if any(value is None or value != value for value in values):
                raise self.refuse(f"{name} of gaps: fill them by SimpleImputer before it")
            texts = tuple(as_text(value) for value in values)
            fill = None if column.fill is None else as_text(column.fill)
            read = Column(column.name, "category", texts, fill)
            self.use(read)
            yield read

    def split(self, step: Any, columns: Sequence[_AnyColumn]) -> list[_AnyColumn]:
        """A ColumnTransformer: each part through its own step."""
        if step.transformer_weights:
            raise self.refuse("transformer_weights")
        names = [*map(str, getattr(step, "feature_names_in_", range(len(columns))))]
        found: list[_AnyColumn] = []
        for _, part, which in step.transformers_:
            if not (isinstance(part, str) and part == "drop"):
                places = _places_of_columns(which, names)
                found += self.through(part, [columns[j] for j in places])
            self.left_out |= isinstance(part, str) and part == "drop"
        return found

    def joined(self, step: Any, columns: Sequence[_AnyColumn]) -> list[_AnyColumn]:
        """A FeatureUnion: all columns through each step, side by side."""
        if step.transformer_weights:
            raise self.refuse("transformer_weights")
        steps = [
            one for _, one in step.transformer_list if not isinstance(one, str) or one != "drop"
        ]
        return [column for one in steps for column in self.through(one, columns)]

    def nested(self, step: Any, columns: Sequence[_AnyColumn]) -> Sequence[_AnyColumn]:
        """A pipeline of steps."""
        for _, one in step.steps:
            columns = self.through(one, columns)
        return columns

    def unchanged(self, step: Any, columns: Sequence[_AnyColumn]) -> Sequence[_AnyColumn]:
        """A FunctionTransformer, which "passthrough" becomes."""
        if step.func is not None:
            raise self.refuse("FunctionTransformer of a function")
        return columns

    def finished(self, rule: Rule, columns: list[_LinearColumn], *, is_named: bool) -> Rule:
        """The rule on the columns of the table."""
        plain = all(one == Column(one.name, "number") for one in self.used.values())
        read = [self.used[name] for name in self.names if name in self.used]
        left_out = is_named and self.left_out and len(read) < len(self.names)
        encoding = None if plain and not left_out else Encoding(read)
        features = self.names if encoding is None else [*encoding.feature_names]
        place = {name: j for j, name in enumerate(features)}
        A = np.zeros((len(columns), len(features)), np.longdouble)
        for i, column in enumerate(columns):
            for name, weight in column.weights.items():
                A[i, place[name]] += weight
        c = _wide([column.constant for column in columns])
        names = features if is_named or features != self.names else None
        pieces = (
            one._replace(polyhedron=_folded(one.polyhedron, A, c, names)) for one in rule.pieces
        )
        return replace(rule, pieces=tuple(pieces), encoding=encoding, edits=())


def _combined(columns: Sequence[_LinearColumn], row: Any, constant: Any) -> _LinearColumn:
    """The sum of columns times the numbers of a row, and a constant."""
    weights: dict[str, Any] = {}
    for column, factor in zip(columns, row, strict=True):
        constant = constant + factor * column.constant
        for name, weight in column.weights.items():
            weights[name] = weights.get(name, 0) + factor * weight
    return _LinearColumn(weights, constant)


def _folded(P: Polyhedron, A: _Wide, c: _Wide, names: Any) -> Polyhedron:
    W = _wide(P.W)
    return Polyhedron((W @ A).astype(float), (W @ c + P.b).astype(float), names)


def _places_of_columns(which: Any, names: Sequence[str]) -> list[int]:
    """The places that a ColumnTransformer names in one of its ways."""
    if isinstance(which, slice):
        ends = which.start, which.stop
        start, stop = (names.index(end) if isinstance(end, str) else end for end in ends)
        stop = stop + 1 if isinstance(which.stop, str) else stop  # names include the last
        return list(range(len(names)))[start : stop : which.step]
    listed = [which] if isinstance(which, str | int) else list(which)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return np.flatnonzero(listed).tolist()
    places = (names.index(one) if isinstance(one, str) else int(one) for one in listed)
    return [j if j >= 0 else len(names) + j for j in places]


_SCALERS = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")
_ROTATIONS = ("PCA", "IncrementalPCA", "TruncatedSVD")
_OTHERS: dict[str, Callable[[_Fold, Any, Sequence[_AnyColumn]], Sequence[_AnyColumn]]] = {
    "ColumnTransformer": _Fold.split,
    "FeatureUnion": _Fold.joined,
    "FunctionTransformer": _Fold.unchanged,
    "OneHotEncoder": _Fold.one_hot,
    "OrdinalEncoder": _Fold.ordinal,
    "Pipeline": _Fold.nested,
    "SimpleImputer": _Fold.imputed,
}

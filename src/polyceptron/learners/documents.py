"""What a learner keeps in a model file beside its rule: typed, and declared next to the learner.

A learner names a `Document`, a struct of msgspec, in ``_Fitted``. By default its fields are the
fitted attributes without their underscore, so most learners write nothing else.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta

from polyceptron.utils.types import Floats

if TYPE_CHECKING:
    from polyceptron.rule import Rule

FITTED = "learner.fitted"
"""Where in a model file the document of a learner is."""
_LARGEST = sys.float_info.max
_BEYOND_JSON = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}

Finite = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
"""A number as float64, neither NaN nor infinite."""
Positive = Annotated[float, Meta(gt=0, le=_LARGEST)]
NotNegative = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=_LARGEST)]
"""A number that stays whole if it is."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Exponent = Annotated[int, Meta(ge=-10_000, le=10_000)]
"""A power of two that hyperplanes were scaled by; float64 has some 2,100."""
Measure = Finite | Literal["Infinity", "-Infinity", "NaN"]
"""A measurement, which may be one that JSON has no number for."""
History = Annotated[dict[str, list[Measure]], Meta(max_length=100)]


class ModelFileError(ValueError):
    """A model file that cannot be used, and which part of it is wrong.

    Attributes
    ----------
    problem, field, file : str
        What is wrong; where in the document, such as ``rule.W[3][0]``, empty for all of it; and the
        name of the file, empty for a document that is in none.

    Examples
    --------
    >>> print(ModelFileError("must be true or false; got 1", "learner.fitted.converged", "m.json"))
    m.json: learner.fitted.converged must be true or false; got 1
    """

    def __init__(self, problem: str, field: str = "", file: str = "") -> None:
        super().__init__(problem, field, file)  # all of them, so that it can be pickled
        self.problem, self.field, self.file = problem, field, file

    def __str__(self) -> str:
        text = f"{self.field} {self.problem}" if self.field else self.problem
        return f"{self.file}: {text}" if self.file else text


class Document(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Base of the parts of a model file: fields of fixed names and types, and no others."""


class Documented:
    """A learner that can be written to a model file, and be restored from it."""

    rule_: Rule
    classes_: Any
    n_features_in_: int
    _Fitted: ClassVar[Any] = Document
    """The fields of a model file that are this learner's own."""
    _apart: ClassVar[tuple[str, ...]] = ()
    """Those of them that are no fitted attribute: `_fitted` and `_restore` see to them."""

    _parameters_since: ClassVar[dict[str, Any]] = {}
    """Parameters that files of the same version may lack, and what these were learned with."""

    def _remembered(self, name: str) -> Any:
        """A fitted attribute that not every fit has, such as ``path_``; None without it."""
        return vars(self).get(name)

    def _fitted(self) -> dict[str, Any]:
        """The values of ``_Fitted``: arrays may be arrays, and measurements not finite."""
        names = [name for name in self._Fitted.__struct_fields__ if name not in self._apart]
        return {name: getattr(self, f"{name}_") for name in names}

    def _restore(self, rule: Rule, fitted: Any) -> None:
        """Set the fitted attributes. ``classes_`` and what scikit-learn knows of columns are set.

        A rule or values that no fit of this learner gives are a `ModelFileError`.
        """
        self.rule_ = rule
        self._set_attributes(fitted)

    def _set_attributes(self, fitted: Any) -> None:
        """Lists of measurements become arrays, in histories as well."""
        for name in (name for name in self._Fitted.__struct_fields__ if name not in self._apart):
            value = getattr(fitted, name)
            if isinstance(value, dict):
                value = {key: measures(values) for key, values in value.items()}
                if len(set(map(len, value.values()))) > 1:
                    raise ModelFileError("must have arrays of one length", f"{FITTED}.{name}")
            elif isinstance(value, list):
                value = measures(value)
            elif isinstance(value, str):
                value = _BEYOND_JSON.get(value, value)
            setattr(self, f"{name}_", value)

    def _check_restored(self, rule: Rule) -> None:
        """Refuse a file whose rule is not the one that follows from its other fields."""
        if self.rule_ != rule:
            raise ModelFileError(
                f"is not one that {type(self).__name__} gives with {FITTED} as it is", "rule"
            )


def measures(values: list[Any]) -> Floats:
    """Measurements as an array; those that JSON has no number for are there by name."""
    return np.array([_BEYOND_JSON.get(one, one) for one in values], dtype=np.float64)


def array(values: list[Any], shape: tuple[int, ...], field: str) -> Floats:
    """Numbers, or rows of them, as an array of this shape."""
    if len(values) != shape[0]:
        what = "rows" if len(shape) > 1 else "numbers"
        problem = f"must be an array of {shape[0]:,} {what}; got {len(values):,}"
        raise ModelFileError(problem, field)
    rows = values if len(shape) > 1 else []
    for number, row in enumerate(rows):
        array(row, shape[1:], f"{field}[{number}]")
    return np.array(values, dtype=np.float64).reshape(shape)

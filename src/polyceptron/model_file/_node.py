"""A value of a document together with its place there: every check can name what is wrong."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

import numpy as np

from polyceptron.model_file._error import ModelFileError
from polyceptron.model_file._json import MAX_DEPTH, brief
from polyceptron.utils.types import Floats

BEYOND_JSON = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
"""How measurements that are no finite numbers are written. Coefficients may not be such."""
_WHOLE = -(2**63), 2**64 - 1


class Node(NamedTuple):
    """A value and where it is, as in ``learner.W[3]``."""

    value: Any
    where: str = ""

    def refuse(self, must: str) -> NoReturn:
        raise ModelFileError(f"{must}; got {brief(self.value)}", self.where)

    # --- containers ---------------------------------------------------------------------

    def record(self, *names: str) -> dict[str, Node]:
        """The fields of an object that has just these, in this order whatever that of the file."""
        fields = self.fields()
        for name in names:
            if name not in fields:
                raise ModelFileError("is missing", self._below(name))
        for name, field in fields.items():
            if name not in names:
                raise ModelFileError("is not a field that is known", field.where)
        return {name: fields[name] for name in names}

    def fields(self) -> dict[str, Node]:
        """The fields of an object, whatever they are called."""
        if type(self.value) is not dict:
            self.refuse("must be an object")
        return {name: Node(value, self._below(name)) for name, value in self.value.items()}

    def items(self, length: int | None = None) -> list[Node]:
        """The items of an array, of this many if given."""
        if type(self.value) is not list:
            self.refuse("must be an array")
        if length is not None and len(self.value) != length:
            self.refuse(f"must be an array of {length:,}")
        return [Node(value, f"{self.where}[{i}]") for i, value in enumerate(self.value)]

    def _below(self, name: str) -> str:
        if not name.isidentifier():
            return f"{self.where}[{brief(name)}]"
        return f"{self.where}.{name}" if self.where else name

    # --- single values ------------------------------------------------------------------

    @property
    def is_null(self) -> bool:
        return self.value is None

    def text(self) -> str:
        if type(self.value) is not str:
            self.refuse("must be text")
        return str(self.value)

    def flag(self) -> bool:
        if type(self.value) is not bool:
            self.refuse("must be true or false")
        return bool(self.value)

    def whole(self, low: int = 0, high: int = 2**63 - 1) -> int:
        if type(self.value) is not int or not low <= self.value <= high:
            self.refuse(f"must be a whole number from {low} to {high}")
        return int(self.value)

    def number(self, low: float = -math.inf, high: float = math.inf) -> int | float:
        """A finite number within these bounds, which remains an int if it is one."""
        value: int | float = self.value
        if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
            bounds = "" if math.isinf(low) else f" from {low:g}"
            bounds += "" if math.isinf(high) else f" to {high:g}"
            self.refuse(f"must be a finite number{bounds}")
        return value

    def measurement(self) -> float:
        """A number, or the name of one that is not finite."""
        if type(self.value) is str and self.value in BEYOND_JSON:
            return BEYOND_JSON[self.value]
        if type(self.value) not in (int, float) or not math.isfinite(self.value):
            self.refuse(
                f"must be a finite number or one of {', '.join(map(json.dumps, BEYOND_JSON))}"
            )
        return float(self.value)

    # --- arrays of numbers --------------------------------------------------------------

    def vector(self, length: int | None = None) -> Floats:
        """Finite numbers as float64."""
        if type(self.value) is not list or (length is not None and len(self.value) != length):
            self.refuse(f"must be an array of {'' if length is None else f'{length:,} '}numbers")
        if set(map(type, self.value)) <= {int, float}:
            array = np.array(self.value, dtype=np.float64)
            if np.isfinite(array).all():
                return array
        for item in self.items():
            item.number()
        raise AssertionError("not all are finite, but each is")

    def matrix(self, rows: int | None = None, columns: int | None = None) -> Floats:
        """Rows of one length, at least one of each."""
        found = [item.vector(columns) for item in self.items(rows)]
        if not found or not found[0].size:
            self.refuse("must have at least one row and one column")
        for item, row in zip(self.items(), found, strict=True):
            if len(row) != len(found[0]):
                item.refuse(f"must be an array of {len(found[0]):,} numbers, as the first row is")
        return np.array(found)

    # --- values whose form is free ------------------------------------------------------

    def free(self, depth: int = MAX_DEPTH) -> Any:
        """Any JSON, of finite numbers and not too deep."""
        if type(self.value) in (dict, list):
            if depth == 0:
                raise ModelFileError(f"is nested more than {MAX_DEPTH} levels deep", self.where)
            parts = self.fields().values() if type(self.value) is dict else self.items()
            for part in parts:
                part.free(depth - 1)
        elif type(self.value) is int:
            self.whole(*_WHOLE)
        elif type(self.value) is float:
            self.number()
        elif type(self.value) not in (str, bool, type(None)):
            self.refuse("must be JSON")
        return self.value

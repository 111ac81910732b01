"""Encoding: columns of a table become numbers, and the way there and back through JSON."""

import contextlib
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from polyceptron import open_blocks
from polyceptron.data.encoding import (
    Column,
    Encoding,
    as_text,
    is_missing,
    missing_columns,
)

AGE = Column("age", "number")
COLOUR = Column("colour", "category", ("blue", "red"))


class TestEncoding:
    def test_it_is_a_value(self):
        encoding = Encoding([AGE, COLOUR])
        assert encoding == Encoding([AGE, COLOUR])
        assert hash(encoding) == hash(Encoding((AGE, COLOUR)))
        with pytest.raises(AttributeError):
            encoding.columns = ()

    @pytest.mark.parametrize(
        "table",
        [
            {"age": [1, 2.5], "colour": ["red", "green"]},
            {"age": np.array([1, 2.5]), "colour": np.array(["red", "green"])},
            pd.DataFrame({"colour": ["red", "green"], "age": [1, 2.5], "more": [0, 0]}),
            pl.DataFrame({"colour": ["red", "green"], "age": [1.0, 2.5]}),
        ],
        ids=["lists", "arrays", "pandas", "polars"],
    )
    def test_transform(self, table):
        X = Encoding([AGE, COLOUR]).transform(table)
        assert X.dtype == np.float64
        np.testing.assert_array_equal(X, [[1, 0, 1], [2.5, 0, 0]])

    def test_fills(self):
        encoding = Encoding([replace(AGE, fill=7.0), replace(COLOUR, fill="blue")])
        X = encoding.transform({"age": [None, np.nan, 1], "colour": [None, "red", float("nan")]})
        np.testing.assert_array_equal(X, [[7, 1, 0], [7, 0, 1], [1, 1, 0]])

    def test_pandas_na(self):
        frame = pd.DataFrame({"age": pd.array([1, pd.NA], dtype="Int64")})
        X = Encoding([replace(AGE, fill=7.0)]).transform(frame)
        np.testing.assert_array_equal(X, [[1], [7]])

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"age": [1.0, None, None], "colour": ["red"] * 3}, "'age' has 2 missing values, the"),
            ({"age": [1.0], "colour": [None]}, "'colour' has 1 missing value, the first in row 0"),
            ({"age": [1.0]}, "column 'colour' is missing; there is 'age'"),
            ({"age": [1.0], "Colour ": ["red"]}, r"\(is it 'Colour '\?\)"),
            ({"age": [1.0, 2.0], "colour": ["red"]}, "of one length"),
            ({"age": ["x"], "colour": ["red"]}, "column 'age' must hold real numbers"),
            ({"age": [np.inf], "colour": ["red"]}, "'age' must be finite; row 0 is inf"),
        ],
    )
    def test_wrong_tables(self, table, message):
        with pytest.raises(ValueError, match=message):
            Encoding([AGE, COLOUR]).transform(table)

    def test_no_rows(self):
        assert Encoding([AGE, COLOUR]).transform({"age": [], "colour": []}).shape == (0, 3)

    def test_whole_numbers_as_categories(self):
        code = Encoding([Column("code", "category", ("1", "2"))])
        for values in ([1, 2], [1.0, 2.0], ["1", "2"], np.array([1, 2])):
            np.testing.assert_array_equal(code.transform({"code": values}), np.eye(2))


class TestLearned:
    """That of a table, as `open_blocks` finds it."""

    def test_kinds_and_codes(self):
        table = {"a": [1, 2, None], "b": ["x", None, "y"], "c": [True, False, True]}
        table |= {"code": [3, 1, 3], "class": [0, 1, 1]}
        found = open_blocks(pa.table(table), "class", categories="code", missing="median")
        assert found.encoding == Encoding(
            [
                Column("a", "number", fill=1.5),
                Column("b", "category", ("x", "y"), "x"),
                Column("c", "number", fill=1.0),
                Column("code", "category", ("1", "3"), "3"),
            ]
        )

    def test_nothing_to_fill_with(self):
        numbers = pa.table({"a": pa.array([None, None], "float64"), "class": [0, 1]})
        with pytest.raises(ValueError, match="'a' has no value to fill its gaps with"):
            open_blocks(numbers, "class", missing="median")
        with pytest.raises(ValueError, match="column 'a' has no value"):
            open_blocks(numbers, "class", categories="a")


class TestJSON:
    @given(
        st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True),
        st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True),
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    )
    def test_round_trip(self, names, categories, fill):
        columns = [Column(name, "number", fill=fill) for name in names]
        columns.append(Column(" a category", "category", tuple(categories), categories[0]))
        try:
            encoding = Encoding(columns)
        except ValueError:  # a name that a feature of the category has
            return
        assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ({}, "columns must be array; got object"),
            ([], "at least one column"),
            ([3], r"columns\[0\] must be object; got int"),
            ([{"kind": "number"}], r"columns\[0\] has no required field name"),
            ([{"name": "a"}], r"columns\[0\] has no required field kind"),
            ([{"name": 3, "kind": "number"}], r"columns\[0\].name must be str; got int"),
            ([{"name": "a", "kind": "x"}], r"columns\[0\].kind must be one of"),
            ([{"name": "a", "kind": "number", "x": 1}], r"columns\[0\] has an unknown field x"),
            ([{"name": "a", "kind": "number", "fill": "x"}], "fill must be a finite number"),
            ([{"name": "a", "kind": "number", "fill": True}], "fill must be float"),
            ([{"name": "a", "kind": "number", "fill": 10**400}], "fill must be a finite number"),
            ([{"name": "a", "kind": "number", "categories": ["x"]}], "must be empty for a number"),
            ([{"name": "a", "kind": "category"}], "categories must be a list of text"),
            ([{"name": "a", "kind": "category", "categories": "xy"}], "categories must be array"),
            ([{"name": "a", "kind": "category", "categories": [1]}], r"categories\[0\] must be"),
            ([{"name": "a", "kind": "category", "categories": ["x", "x"]}], "'x' is there twice"),
            (
                [{"name": "a", "kind": "category", "categories": ["x"], "fill": "y"}],
                "fill must be one of its categories; got 'y'",
            ),
            ([{"name": "a", "kind": "number"}] * 2, "'a' is there twice"),
            (
                [
                    {"name": "a=x", "kind": "number"},
                    {"name": "a", "kind": "category", "categories": ["x"]},
                ],
                "'a=x' is there twice",
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, value, message):
        with pytest.raises(ValueError, match=message):
            Encoding.from_json(value)

    junk = st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "kind", "categories", "fill", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )

    @given(junk)
    def test_junk_is_a_value_error(self, value):
        with contextlib.suppress(ValueError):
            Encoding.from_json(value)


class TestSmallParts:
    def test_missing_columns(self):
        many = [f"c{i}" for i in range(30)]
        assert missing_columns(many, many[:1]).count("and 20 more") == 1
        assert "and 20 more" in missing_columns(["zzz", "yyy"], many)
        assert missing_columns(["a"], []) == "column 'a' is missing; there is no column"

        assert missing_columns(["diagnosys"], ["diagnosis", "age"]).endswith("(is it 'diagnosis'?)")

    def test_is_missing(self):
        assert is_missing(np.array([1, 2])).tolist() == [False, False]
        assert is_missing(["nan", None]).tolist() == [False, True]

    def test_as_text(self):
        assert as_text(True) == "True"
        assert as_text(1e300) == str(int(1e300))

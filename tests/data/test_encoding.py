"""Encoding: columns of a table become numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from msgspec.structs import replace

from polyceptron import open_blocks
from polyceptron.data.encoding import (
    Column,
    Encoding,
    as_text,
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
            pa.table({"colour": ["red", "green"], "age": [1.0, 2.5], "more": [0, 0]}),
        ],
        ids=["lists", "arrays", "pandas", "polars", "arrow"],
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
            ({"age": [1.0, None], "colour": ["red"] * 2}, "row 1, column 'age': a missing value"),
            ({"age": [1.0], "colour": [None]}, "row 0, column 'colour': a missing value"),
            ({"age": [1.0]}, "column 'colour' is missing; there is 'age'"),
            ({"age": [1.0], "Colour ": ["red"]}, r"\(is it 'Colour '\?\)"),
            (pa.table({"age": [1.0]}), "column 'colour' is missing; there is 'age'"),
            ({"age": [1.0, 2.0], "colour": ["red"]}, "expected length 2 but got length 1"),
            ({"age": ["x"], "colour": ["red"]}, "row 0, column 'age': 'x' is not a number"),
            ({"age": [np.inf], "colour": ["red"]}, "row 0, column 'age': inf is not a finite"),
            ({"age": [], "colour": []}, "dict has no rows"),
        ],
    )
    def test_wrong_tables(self, table, message):
        with pytest.raises(ValueError, match=message):
            Encoding([AGE, COLOUR]).transform(table)

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
                Column("b", "binary", ("x", "y"), "x"),
                Column("c", "binary", ("false", "true"), "true"),
                Column("code", "binary", ("1", "3"), "3"),
            ]
        )

    def test_nothing_to_fill_with(self):
        numbers = pa.table({"a": pa.array([None, None], "float64"), "class": [0, 1]})
        with pytest.raises(ValueError, match="'a' has no value to fill its gaps with"):
            open_blocks(numbers, "class", missing="median")
        with pytest.raises(ValueError, match="column 'a' has no value"):
            open_blocks(numbers, "class", categories="a")


class TestColumn:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"kind": "number", "fill": "x"}, "fill must be a finite number"),
            ({"kind": "number", "fill": np.inf}, "fill must be a finite number"),
            ({"kind": "number", "categories": ("x",)}, "or 0 and 1 for a number"),
            ({"kind": "missing", "categories": ("0", "1")}, "must be those of text"),
            ({"kind": "missing", "fill": 1.0}, "fill must be None for what is missing"),
            ({"kind": "category"}, "categories must be a list of text"),
            ({"kind": "category", "categories": ("x", "x")}, "'x' is there twice"),
            ({"kind": "category", "categories": ("x",), "fill": "y"}, "fill must be one of its"),
        ],
    )
    def test_what_is_wrong_is_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            Column("a", **given)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ([], "at least one column"),
            ([AGE, AGE], "'age' is there twice"),
            ([COLOUR, Column("colour=red", "number")], "'colour=red' is there twice"),
        ],
    )
    def test_columns_have_different_names(self, columns, message):
        with pytest.raises(ValueError, match=message):
            Encoding(columns)


class TestTwoValues:
    """One feature, 1 for the second value; true and false are the same however written."""

    FLAGS = Encoding([Column("ill", "binary", ("false", "true"), "true")])

    def test_one_feature(self):
        sex = Encoding([Column("sex", "binary", ("female", "male"))])
        assert sex.feature_names == ("sex=male",)
        found = sex.transform({"sex": ["male", "female", "other"]})
        assert found.tolist() == [[1], [0], [0]]

    @pytest.mark.parametrize(
        "values", [[True, False, None], ["True", "FALSE", None], ["true", "false", None]]
    )
    def test_booleans_and_text_are_the_same(self, values):
        assert self.FLAGS.transform({"ill": values}).tolist() == [[1], [0], [1]]

    def test_learned(self):
        for values in ([True, True, False], ["True", "true", "FALSE"], [True] * 3, ["true"] * 3):
            table = pa.table({"ill": values, "class": [0, 1, 1]})
            found = open_blocks(table, "class", missing="median")
            assert found.encoding == self.FLAGS

    def test_old_models_know_text_with_capitals(self):
        old = Encoding([Column("ill", "category", ("False", "True"))])
        assert old.transform({"ill": [True, False]}).tolist() == [[0, 1], [1, 0]]

    def test_two_are_needed(self):
        with pytest.raises(ValueError, match="categories must be two; got 3"):
            Column("a", "binary", ("x", "y", "z"))


class TestSmallParts:
    def test_missing_columns(self):
        many = [f"c{i}" for i in range(30)]
        assert missing_columns(many, many[:1]).count("and 20 more") == 1
        assert "and 20 more" in missing_columns(["zzz", "yyy"], many)
        assert missing_columns(["a"], []) == "column 'a' is missing; there is no column"

        assert missing_columns(["diagnosys"], ["diagnosis", "age"]).endswith("(is it 'diagnosis'?)")

    def test_as_text(self):
        assert as_text(True) == "True"
        assert as_text(1e300) == str(int(1e300))

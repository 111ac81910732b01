"""Inequalities are read as they are printed, to the last bit, and as people write them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_names import HOSTILE
from polyceptron import Polyhedron
from polyceptron.data.encoding import Column, Encoding
from polyceptron.inequalities import MAX_CHARACTERS, equation, parse_inequality
from polyceptron.utils.text import inequality, printed_face

NAMES = ["age", "bmi", "mean radius", "x0"]


@pytest.mark.parametrize(
    ("text", "w", "b"),
    [
        ("2*age - bmi >= 14", [2, -1, 0, 0], -14),
        ("age <= 47", [-1, 0, 0, 0], 47),
        ("14 <= 2*age", [2, 0, 0, 0], -14),
        ("  -age+.5 * bmi>=-1.5e-3 ", [-1, 0.5, 0, 0], 1.5e-3),
        ('"mean radius" + 3 ≥ 2*x0 - 4E2', [0, 0, 1, -2], 403),
        ("age + age >= bmi - age", [3, -1, 0, 0], 0),
        ('"age" ≤ 0', [-1, 0, 0, 0], 0),
    ],
)
def test_what_people_write(text, w, b):
    found = parse_inequality(text, NAMES)
    np.testing.assert_array_equal(found[0], w)
    assert found[1] == b
    assert not np.signbit(np.append(found[0], found[1])[np.append(w, b) == 0]).any()


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4).filter(any),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.text(max_size=4), min_size=4, max_size=4, unique=True),
)
def test_what_is_printed_is_read_back(w, b, names):
    read, offset = parse_inequality(inequality(np.array(w), b, names), names)
    printed, printed_offset, _ = printed_face(np.array(w), b)
    np.testing.assert_array_equal(read, printed)
    assert offset == printed_offset


def test_hostile_names():
    names = [*HOSTILE, "a.b", "x·y", "2nd", "nan", "a=b", '\\"', "\\n", "\U000e0001"]
    W = np.random.default_rng(0).standard_normal((3, len(names)))
    one = Polyhedron(W, [0.0, 1.0, -2e-30], names)
    for k, line in enumerate(str(one).splitlines()):
        w, b = parse_inequality(line, names)
        np.testing.assert_array_equal(w, one.W[k])
        assert b == one.b[k]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("age > 3", "> must be >= or <=, as a row on a face is inside"),
        ("age == 3", "== must be >= or <="),
        ("age", "neither >= nor <="),
        ("", "it breaks off"),
        ("age >=", "it breaks off"),
        (">= 3", "cannot read '>= 3'"),
        ("1 <= age <= 3", "<= after <=: of two inequalities make two faces"),
        ("2age >= 3", r"write 2\*age"),
        ("2*(age) >= 3", r"column '\(age\)' is missing \(is it 'age'\?\)"),
        ("age bmi >= 3", "cannot read 'bmi >= 3'"),
        ("2* >= 3", r"cannot read '2\* >= 3'"),
        ("age*2 >= 3", r"cannot read '\*2 >= 3'"),
        ("age -- 2 >= 3", "cannot read '-- 2 >= 3'"),
        ('"age >= 3', "cannot read '\"age >= 3'"),
        ("Age >= 3", r"column 'Age' is missing \(is it 'age'\?\)"),
        ("mean radius >= 3", "column 'mean' is missing"),
        ("age >= nan", "column 'nan' is missing"),
        ("1e999*age >= 1", "larger than float64"),
        ("age - age >= 1", "no column is left"),
        ("__import__('os') >= 1", "is missing"),
        (14, "must be text"),
        ("age" + " " * MAX_CHARACTERS, "1,000,003 characters"),
    ],
)
def test_what_cannot_be_read(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_inequality(text, NAMES)


class TestTwoValues:
    """A column of two values alone is one of them, in text and read back."""

    ENCODING = Encoding(
        [
            Column("age", "number"),
            Column("smoker", "number", ("0", "1")),
            Column("sees well", "binary", ("not at all", "yes")),
        ]
    )

    @pytest.mark.parametrize(
        ("w", "b", "text"),
        [
            ([0, 3, 0], -0.7, "smoker = 1"),
            ([0, -3, 0], 0.7, "smoker = 0"),
            ([0, 0, 0.25], -0.25, '"sees well" = yes'),
            ([0, 0, -2], 1.5, '"sees well" = "not at all"'),
        ],
    )
    def test_there_and_back(self, w, b, text):
        assert equation(np.array(w), b, self.ENCODING) == text
        read = parse_inequality(text, self.ENCODING.feature_names, self.ENCODING)
        for x in ([30, 0, 0], [30, 0, 1], [30, 1, 0], [30, 1, 1]):
            assert (np.dot(read[0], x) + read[1] >= 0) == (np.dot(w, x) + b >= 0)

    @pytest.mark.parametrize(("w", "b"), [([1, 0, 0], -1), ([0, 1, 1], -1), ([0, 1, 0], 0)])
    def test_others_are_inequalities(self, w, b):
        assert equation(np.array(w), b, self.ENCODING) is None
        assert equation(np.array([0, 1, 0]), -0.5, None) is None

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("age = 1", "columns of categories; those are 'smoker', 'sees well'; others have >="),
            ("smoker = 2", 'smoker is "0" or "1"'),
            ('"sees well" = no', 'sees well is "not at all" or yes'),
        ],
    )
    def test_what_cannot_be_read(self, text, problem):
        with pytest.raises(ValueError, match=problem):
            parse_inequality(text, self.ENCODING.feature_names, self.ENCODING)


def test_one_of_several_values():
    """A category is written as a value of its column, or by the quoted name of its feature."""
    colours = Column("colour", "category", ("blue", "dark red", "grey"))
    encoding = Encoding([Column("age", "number"), colours])
    names = encoding.feature_names
    for text in ('colour = "dark red"', '"colour=dark red" >= 0.5'):
        w, b = parse_inequality(text, names, encoding)
        assert (w.tolist(), b) == ([0, 0, 1, 0], -0.5)
    with pytest.raises(ValueError, match='colour is blue or "dark red" or grey'):
        parse_inequality("colour = red", names, encoding)
    with pytest.raises(ValueError, match='; write "colour=blue", in quotes'):
        parse_inequality("age + colour=blue >= 1", names, encoding)


@pytest.mark.parametrize(
    "text",
    ["9" * 4000 + "age >= 1", "2\x1b[2Jage >= 1", "1e999*age - 1e999*age >= 1", "2\ud800 >= 1"],
)
def test_errors_are_one_short_line_without_a_warning(text):
    with pytest.raises(ValueError, match="cannot be used") as error:
        parse_inequality(text, ["age"])
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500

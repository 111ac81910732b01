"""Inequalities as text: the shortest numbers that are read back, and signs as people write them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common import every_learner, fit, quick, square
from polyceptron import Polyhedron
from polyceptron.utils.text import inequality, printed_face, printed_faces, short_number
from printed_rules import read_pieces, read_polyhedron

NAMES = ["a", "b", "c"]


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-24)  # between two decimals that are equally near
def test_numbers_are_read_back(value):
    assert float(short_number(value)) == value


@pytest.mark.parametrize(
    ("w", "b", "text"),
    [
        ([1, 0, 0], -47, "a >= 47"),
        ([-8, 0, 0], 376, "a <= 47"),
        ([-1, 0, 0], -3, "a <= -3"),
        ([1, 0, 0], 3, "a >= -3"),
        ([-1, 2, 0], -4, "2*b - a >= 4"),
        ([1, -1, 0], 3, "b - a <= 3"),
        ([-2, -1, 3], 5, "2*a + b - 3*c <= 5"),
        ([1, 5000, 0], -1440, "5000*b + a >= 1440"),
        ([0.5, 0.25, 0], -3, "2*a + b >= 12"),
        ([4e9, 1, 0], 0, "4e+9*a + b >= 0"),
    ],
)
def test_form(w, b, text):
    assert inequality(np.array(w, dtype=float), b, NAMES) == text


@settings(max_examples=50)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=6).filter(any),
    st.integers(-99_999, 99_999),
    st.integers(-60, 60),
)
def test_powers_of_two_are_left_out(whole, c, e):
    w, b = np.ldexp(np.array(whole, dtype=float), e), float(np.ldexp(c / 100, e))
    shown, offset, exponent = printed_face(w, b)
    assert (np.ldexp(shown, exponent) == w).all()
    assert np.ldexp(offset, exponent) == b
    assert len(inequality(w, b, [f"x{j}" for j in range(len(w))])) < 9 * len(w) + 15


def test_long_numbers_stay():
    w = np.random.default_rng(0).standard_normal((5, 3))
    W, _, exponents = printed_faces(w, w[:, 0])
    np.testing.assert_array_equal(W, w)
    assert not exponents.any()


def far_rows(seed):
    """Kelvin and pascal: the means are large beside the spreads."""
    X, y = square(200, 2, seed)
    return X * [2.0, 30.0] + [300.0, 101_325.0], y


@every_learner
def test_text_of_every_learner_is_the_model(learner):
    for seed in range(3):
        X, y = far_rows(seed)
        rule = fit(quick(learner), X, y).rule_
        pieces = read_pieces(str(rule), rule.names)
        held = np.column_stack([piece.contains(X) for piece in pieces])
        np.testing.assert_array_equal(held, rule.scores(X) >= 0)


@every_learner
def test_few_digits_keep_the_answers(learner):
    X, y = far_rows(0)
    rule = fit(quick(learner), X, y).rule_
    digits = rule.digits_for(X)
    assert rule.agreement(X, digits) == len(X)
    if digits is not None and len(rule.pieces) == 1:
        text = rule.pieces[0].polyhedron.to_text(digits)
        np.testing.assert_array_equal(
            read_polyhedron(text, rule.names).contains(X), rule.pieces[0].polyhedron.contains(X)
        )


def test_three_digits_were_not_the_model():
    """What this is all for: far from zero, three digits say something else."""
    X = np.random.default_rng(0).normal([300, 101_325], [2, 30], (500, 2))
    one = Polyhedron([[0.512345, -0.0312345]], [0.0312345 * 101_325 - 0.512345 * 300])
    assert (one.rounded(3).contains(X) != one.contains(X)).mean() > 0.3
    assert (read_polyhedron(str(one), ["x0", "x1"]).contains(X) == one.contains(X)).all()

"""Polyhedron: a value that checks what it is given and answers the same however it is asked."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from polyceptron import Polyhedron
from polyceptron.data import blocks
from polyceptron.scoring import rows_for_kernels
from polyceptron.utils.text import printed_faces
from printed_rules import read_polyhedron

SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 1, 1], ["age", "bmi"])


# Of ordinary size: products of tiny numbers lose their digits.
NUMBERS = st.floats(-100, 100).map(lambda v: 0.0 if abs(v) < 1e-6 else v)


@st.composite
def polyhedra(draw, elements=NUMBERS):
    K, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    W = draw(arrays(float, (K, d), elements=elements))
    assume(W.any(axis=1).all())
    b = draw(arrays(float, K, elements=elements))
    return Polyhedron(W, b)


@st.composite
def polyhedra_and_rows(draw, elements=NUMBERS):
    polyhedron = draw(polyhedra(elements))
    n = draw(st.integers(0, 20))
    return polyhedron, draw(arrays(float, (n, polyhedron.n_features), elements=elements))


class TestConstruction:
    def test_copies_and_freezes(self):
        W, b = np.array([[1.0, 2.0]], dtype=np.float32, order="F"), np.array([3])
        p = Polyhedron(W, b)
        W[:] = 9
        assert p.W.tolist() == [[1, 2]]
        assert (p.n_faces, p.n_features, p.feature_names) == (1, 2, None)
        names = Polyhedron([[1, 2]], [0], np.array(["a", "b"])).feature_names
        assert [type(name) for name in names] == [str, str]
        for array in (p.W, p.b):
            assert array.dtype == np.float64
            assert array.flags.c_contiguous
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(FrozenInstanceError):
            p.W = W
        with pytest.raises((AttributeError, TypeError)):
            p.colour = "red"

    @pytest.mark.parametrize(
        ("W", "b", "message"),
        [
            ([1, 2], [0], r"W must be 2-D.*got shape \(2,\)"),
            (np.empty((0, 2)), [], r"at least one face.*got shape \(0, 2\)"),
            (np.empty((2, 0)), [0, 0], r"one feature; got shape \(2, 0\)"),
            ([[1, 2]], [0, 1], r"b must hold one offset a face, shape \(1,\); got shape \(2,\)"),
            ([[1, 2]], 0, r"b must hold one offset a face, shape \(1,\); got shape \(\)"),
            ([[1, 2], [3, np.nan]], [0, 0], "W must be finite; row 1, column 1 is nan"),
            ([[1, -np.inf], [3, 4]], [0, 0], "W must be finite; row 0, column 1 is -inf"),
            ([[1, 2], [3, 4]], [0, np.inf], "b must be finite; row 1 is inf"),
            ([[1, 2], [0, 0]], [0, -7], r"row 1 is all zero \(b\[1\] is -7.0\)"),
            ([[1, 2], [-0.0, 0]], [0, 1], "row 1 is all zero"),
            ([["1", "2"]], [0], "W must hold real numbers; got text"),
            ([[1j, 2]], [0], r"W must hold real numbers \(found complex128\)"),
            ([[1, 2], [3]], [0, 0], "W must hold real numbers"),
            ([[1, None]], [0], "W must be finite; row 0, column 1 is nan"),
            ([[1, 2]], ["x"], "b must hold real numbers"),
        ],
    )
    def test_bad_faces(self, W, b, message):
        with pytest.raises(ValueError, match=message):
            Polyhedron(W, b)

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ("ab", "got the string 'ab'"),
            (["a"], "one name a column, 2; got 1"),
            (["a", 1], "must be strings; item 1 is 1"),
            (["a", None], "must be strings; item 1 is None"),
            (["a", "a"], "must be different; items 0 and 1 are both 'a'"),
        ],
    )
    def test_bad_names(self, names, message):
        with pytest.raises(ValueError, match=message):
            Polyhedron([[1, 2]], [0], names)


class TestAnswers:
    X = np.array([[0.5, 0.25], [2.0, 0.5], [0.0, 0.0], [0.5, -3.0]])

    def test_margins(self):
        expected = [[0.5, 0.25, 0.5, 0.75], [2, 0.5, -1, 0.5], [0, 0, 1, 1], [0.5, -3, 0.5, 4]]
        np.testing.assert_array_equal(SQUARE.margins(self.X), expected)

    def test_decision_contains_active_face(self):
        np.testing.assert_array_equal(SQUARE.decision(self.X), [0.25, -1, 0, -3])
        np.testing.assert_array_equal(SQUARE.contains(self.X), [True, False, True, False])
        np.testing.assert_array_equal(SQUARE.active_face(self.X), [1, 2, 0, 1])

    @pytest.mark.parametrize(
        "convert",
        [
            np.ndarray.tolist,
            np.asfortranarray,
            lambda X: np.repeat(X, 2, axis=0)[::2],
            lambda X: X.astype(object),
            lambda X: X.astype(np.float32),
            lambda X: pd.DataFrame(X, columns=["age", "bmi"]),
            lambda X: pd.DataFrame(X, columns=["other", "names"]),
            pd.DataFrame,
            lambda X: pd.DataFrame(X, columns=["age", "bmi"]).astype("Float64"),
            lambda X: pl.DataFrame(X, schema=["age", "bmi"]),
            sp.csr_matrix,
            sp.csc_matrix,
            sp.coo_array,
            lambda X: sp.csr_array(X.astype(np.float32)),
        ],
    )
    def test_kinds_of_rows(self, convert):
        np.testing.assert_array_equal(SQUARE.margins(convert(self.X)), SQUARE.margins(self.X))

    def test_integers_and_booleans(self):
        np.testing.assert_array_equal(SQUARE.decision([[1, 0]]), [0])
        np.testing.assert_array_equal(SQUARE.decision(np.array([[True, False]])), [0])
        np.testing.assert_array_equal(SQUARE.decision(sp.csr_array([[1, 0]])), [0])

    def test_sparse_duplicates_add_up_and_stay(self):
        data, places = np.array([1.0, 2.0]), np.zeros(2, np.int32)
        by_row = sp.csr_array((data, places, np.array([0, 2], np.int32)), shape=(1, 2))
        by_column = sp.csc_array((data, places, np.array([0, 2, 2], np.int32)), shape=(1, 2))
        for X in (by_row, by_column):
            np.testing.assert_array_equal(SQUARE.margins(X), SQUARE.margins([[3.0, 0.0]]))
            assert X.nnz == 2

    @settings(max_examples=25)
    @given(polyhedra_and_rows(), st.data())
    def test_batch_size_does_not_matter(self, case, data):
        polyhedron, X = case
        whole = polyhedron.margins(X)
        cut = data.draw(st.integers(0, len(X)))
        parts = np.concatenate([polyhedron.margins(X[:cut]), polyhedron.margins(X[cut:])])
        assert whole.tobytes() == parts.tobytes()
        np.testing.assert_array_equal(polyhedron.margins(sp.csr_array(X)), whole)

    @settings(max_examples=25)
    @given(polyhedra_and_rows())
    def test_against_matrix_product(self, case):
        polyhedron, X = case
        expected = X @ polyhedron.W.T + polyhedron.b
        np.testing.assert_allclose(polyhedron.margins(X), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(polyhedron.contains(X), polyhedron.decision(X) >= 0)


class TestBadRows:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([1.0, 2.0], r"X must be 2-D.*got shape \(2,\).*X\.reshape\(1, -1\)"),
            (1.0, r"X must be 2-D.*got shape \(\)"),
            (np.zeros((2, 2, 2)), "X must be 2-D"),
            ([[1.0, 2.0, 3.0]], "X has 3 columns, but the polyhedron has 2 features"),
            (sp.csr_array((2, 3)), "X has 3 columns"),
            ([[0, 0], [1, np.nan]], "X must be finite; row 1, column 'bmi' is nan"),
            ([[0, 0], [-np.inf, 1]], "X must be finite; row 1, column 'age' is -inf"),
            (sp.csr_array([[0, 0], [0, np.nan]]), "X must be finite; row 1, column 'bmi' is nan"),
            (sp.csc_array([[0, 0], [np.inf, 1]]), "X must be finite; row 1, column 'age' is inf"),
            (pd.DataFrame({"age": [1.0], "bmi": [np.nan]}), "row 0, column 'bmi' is nan"),
            (pl.DataFrame({"age": [1.0], "bmi": [None]}), "row 0, column 'bmi' is nan"),
            ([["a", "b"]], "X must hold real numbers"),
            ([["1", "2"]], "X must hold real numbers"),
            ([[1j, 2]], "X must hold real numbers"),
            (sp.csr_array([[1j, 2]]), "X must hold real numbers"),
            ([[1, 2], [3]], "X must hold real numbers"),
            (pd.DataFrame({"bmi": [1], "age": [2]}), "column 0 is 'bmi', expected 'age'"),
            (pl.DataFrame({"bmi": [1], "age": [2]}), "column 0 is 'bmi', expected 'age'"),
            (pd.DataFrame({"x": [1], "age": [2]}), "column 1 is 'age', expected 'bmi'"),
        ],
    )
    def test_message(self, X, message):
        for ask in (SQUARE.margins, SQUARE.distance):
            with pytest.raises(ValueError, match=message):
                ask(X)


class TestManyRows:
    def rows(self):
        return np.random.default_rng(0).standard_normal((100_001, 3)).astype(np.float32)

    def test_float32_rows_are_read_as_they_are(self):
        X, p = self.rows(), Polyhedron([[1, 2, 3], [0.1, -1, 0.7]], [0.3, 0])
        assert rows_for_kernels(X, 3) is X
        for ask in (p.decision, p.margins, p.distance, p.contains, p.active_face):
            np.testing.assert_array_equal(ask(X), ask(X.astype(float)))

    def test_two_threads_and_the_same_bits(self, monkeypatch):
        used, map_in_order = [], blocks.map_in_order

        def noting(function, items, n_threads):
            used.append((n_threads, len(items)))
            return map_in_order(function, items, n_threads)

        monkeypatch.setattr(blocks, "map_in_order", noting)
        X, p = self.rows().astype(float), Polyhedron([[1, 2, 3], [0.1, -1, 0.7]], [0.3, 0])
        for ask in (p.decision, p.margins):
            used.clear()
            whole = ask(X)
            assert used == [(2, 4)]
            parts = [ask(X[start : start + 60_000]) for start in (0, 60_000)]
            assert used[1:] == [(1, 1)] * 2
            np.testing.assert_array_equal(whole, np.concatenate(parts))

    def test_overflow_of_float32_rows(self):
        p = Polyhedron([[1e300, -1e300, 0]], [0])
        X = np.array([[3e38, 3e38, 1], [3e38, 2e38, 1], [2e38, 3e38, 1]], np.float32)
        np.testing.assert_array_equal(p.decision(X), p.decision(X.astype(float)))
        np.testing.assert_array_equal(p.decision(X), [0, np.inf, -np.inf])


class TestExtremes:
    @pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324, 1.7e308])
    def test_distance_and_normalized(self, size):
        p = Polyhedron([[size, size], [0, -size]], [0, 0])
        np.testing.assert_allclose(p.distance([[3, 4]]), [[7 / np.sqrt(2), -4]])
        np.testing.assert_allclose(p.normalized().W, [[np.sqrt(0.5)] * 2, [0, -1]])

    def test_face_beyond_float64(self):
        p = Polyhedron([[1], [1e-300]], [0, -1e300])
        assert p.distance([[0]]).tolist() == [[0, -np.inf]]
        with pytest.raises(ValueError, match="face 1 is further from the origin"):
            p.normalized()
        assert p.equals(Polyhedron([[2], [2e-300]], [0, -2e300]))

    def test_overflow_keeps_the_sign(self):
        p = Polyhedron([[1e300, -1e300], [-2e300, 1e300], [1, 0]], [0, 0, 0])
        X = np.array([[1e300, 2e300], [3e300, 1e300], [1e300, 1e300]])
        expected = [[-np.inf, 0, 1e300], [np.inf, -np.inf, 3e300], [0, -np.inf, 1e300]]
        np.testing.assert_array_equal(p.margins(X), expected)
        np.testing.assert_array_equal(p.margins(sp.csr_array(X)), expected)

    def test_overflow_of_partial_sums_only(self):
        p = Polyhedron([[1.0, 1.0, -1.0]], [0])
        assert p.decision([[1.5e308, 1.5e308, 1.6e308]]).tolist() == [1.4e308]

    @settings(max_examples=25)
    @given(polyhedra_and_rows(), st.integers(-900, 900))
    def test_scaling_by_a_power_of_two_changes_no_distance(self, case, exponent):
        polyhedron, X = case
        scaled = Polyhedron(np.ldexp(polyhedron.W, exponent), np.ldexp(polyhedron.b, exponent))
        np.testing.assert_array_equal(scaled.distance(X), polyhedron.distance(X))


class TestTransforms:
    @settings(max_examples=25)
    @given(polyhedra_and_rows())
    def test_normalized_keeps_membership(self, case):
        polyhedron, X = case
        unit = polyhedron.normalized()
        np.testing.assert_allclose(np.linalg.norm(unit.W, axis=1), 1)
        sure = (np.abs(polyhedron.distance(X)) > 1e-9).all(axis=1)
        np.testing.assert_array_equal(unit.contains(X)[sure], polyhedron.contains(X)[sure])
        np.testing.assert_allclose(unit.margins(X), polyhedron.distance(X), rtol=1e-9, atol=1e-9)
        assert unit.equals(polyhedron)

    @settings(max_examples=25)
    @given(polyhedra_and_rows(), st.data())
    def test_pullback(self, case, data):
        polyhedron, X = case
        d = polyhedron.n_features
        scale = data.draw(arrays(float, d, elements=NUMBERS.filter(bool)))
        shift = data.draw(arrays(float, d, elements=NUMBERS))
        back = polyhedron.pullback(scale, shift)
        expected = polyhedron.margins(scale * X + shift)
        # Either side may cancel: errors are measured against the size of what was added up.
        size = (np.abs(scale * X) + np.abs(shift)) @ np.abs(polyhedron.W).T + np.abs(polyhedron.b)
        assert (np.abs(back.margins(X) - expected) <= 1e-12 * size).all()

    @settings(max_examples=25)
    @given(polyhedra_and_rows(st.integers(-8, 8).map(float)), st.integers(-3, 3))
    def test_pullback_is_exact_where_arithmetic_is(self, case, exponent):
        polyhedron, X = case
        scale, shift = 2.0**exponent, 3.0
        back = polyhedron.pullback(scale, shift)
        np.testing.assert_array_equal(back.margins(X), polyhedron.margins(scale * X + shift))
        assert back.pullback(1 / scale, -shift / scale) == polyhedron

    @pytest.mark.parametrize(
        ("scale", "shift", "message"),
        [
            ([1, 0], 0, r"scale must not be zero; scale\[1\] is 0.0"),
            (0, 0, r"scale must not be zero; scale\[0\]"),
            ([1, np.nan], 0, r"scale must be finite; scale\[1\] is nan"),
            (1, [np.inf, 0], r"shift must be finite; shift\[0\] is inf"),
            ([1, 2, 3], 0, r"scale must be a number or have one number a column, shape \(2,\)"),
            (1, [[1, 2]], r"shift must be a number.*got shape \(1, 2\)"),
            ("1", 0, "scale must hold real numbers"),
        ],
    )
    def test_pullback_bad(self, scale, shift, message):
        with pytest.raises(ValueError, match=message):
            SQUARE.pullback(scale, shift)

    def test_pullback_out_of_range(self):
        with pytest.raises(ValueError, match="W must be finite; row 0, column 0 is inf"):
            Polyhedron([[1e300]], [0]).pullback(1e300, 0)
        with pytest.raises(ValueError, match="row 0 is all zero"):
            Polyhedron([[1e-300]], [0]).pullback(1e-300, 0)


class TestEquality:
    def test_exact(self):
        same = Polyhedron(SQUARE.W, SQUARE.b, ["age", "bmi"])
        assert same == SQUARE
        assert hash(same) == hash(SQUARE)
        assert Polyhedron(SQUARE.W, SQUARE.b) != SQUARE
        assert Polyhedron(SQUARE.W, SQUARE.b, ["bmi", "age"]) != SQUARE
        assert Polyhedron(SQUARE.W * 2, SQUARE.b * 2, ["age", "bmi"]) != SQUARE
        assert SQUARE != "a square"

    def test_negative_zero_is_zero(self):
        plus, minus = Polyhedron([[0.0, 1]], [0.0]), Polyhedron([[-0.0, 1]], [-0.0])
        assert plus == minus
        assert hash(plus) == hash(minus)

    @settings(max_examples=25)
    @given(polyhedra(), st.data())
    def test_equals_up_to_factors_and_order(self, polyhedron, data):
        K = polyhedron.n_faces
        factors = data.draw(arrays(float, K, elements=st.floats(1e-3, 1e3)))
        order = data.draw(st.permutations(range(K)))
        scaled = Polyhedron(polyhedron.W * factors[:, None], polyhedron.b * factors)
        turned = Polyhedron(scaled.W[order], scaled.b[order])
        assert polyhedron.equals(scaled)
        assert polyhedron.equals(turned, any_order=True)
        assert turned.equals(polyhedron, any_order=True)

    def test_equals_tells_apart(self):
        p = Polyhedron([[1, 0], [0, 1]], [0, 1])
        assert not p.equals(Polyhedron([[-1, 0], [0, 1]], [0, 1]))
        assert not p.equals(Polyhedron([[1, 0]], [0]))
        assert not p.equals(Polyhedron([[1, 0], [0, 1]], [0, 1 + 1e-6]))
        assert p.equals(Polyhedron([[1, 0], [0, 1]], [0, 1 + 1e-6]), rtol=1e-5)
        assert p.equals(Polyhedron([[1, 0], [0, 1]], [1e-6, 1]), atol=1e-5)
        # Two faces here, one of them twice there.
        assert not p.equals(Polyhedron([[1, 0], [1, 0]], [0, 0]), any_order=True)

    def test_equals_and_names(self):
        bare = Polyhedron(SQUARE.W, SQUARE.b)
        assert SQUARE.equals(bare)
        assert bare.equals(SQUARE)
        assert not SQUARE.equals(Polyhedron(SQUARE.W, SQUARE.b, ["bmi", "age"]))

    @pytest.mark.parametrize(
        "travel", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
    )
    def test_copies_are_equal_and_frozen(self, travel):
        there = travel(SQUARE)
        assert there == SQUARE
        assert there.W.tobytes() == SQUARE.W.tobytes()
        assert not there.W.flags.writeable
        assert not there.b.flags.writeable


class TestText:
    def test_example(self):
        p = Polyhedron([[0.8300001, -1.2049]], [-12.4], ["age", "bmi"])
        assert str(p) == "0.8300001*age - 1.2049*bmi >= 12.4"
        assert p.to_text(digits=5) == "0.83*age - 1.2049*bmi >= 12.4"
        assert p.to_text(digits=2) == "0.83*age - 1.2*bmi >= 12"

    def test_zeros_ones_and_signs(self):
        p = Polyhedron([[-1, 0, 1, -0.0, -2], [0, 0, 0, 0.5, 0]], [0.0, 1e-7])
        assert str(p) == "2*x4 + x0 - x2 <= 0\nx3 >= -2e-7"
        assert str(Polyhedron([[1]], [-0.0])) == "x0 >= 0"
        p = Polyhedron([[0.9999, -1.0001]], [0])
        assert p.to_text(3) == "x0 - x1 >= 0"
        assert str(p) == "0.9999*x0 - 1.0001*x1 >= 0"

    def test_repr_is_short(self):
        assert repr(SQUARE) == "Polyhedron(n_faces=4, n_features=2)"

    @pytest.mark.parametrize("digits", [0, -1, 2.5, True, "3"])
    def test_bad_digits(self, digits):
        with pytest.raises(ValueError, match="digits must be a whole number of at least 1"):
            SQUARE.to_text(digits=digits)

    @pytest.mark.parametrize(
        ("name", "printed"),
        [
            ("Petal.Length", "Petal.Length"),
            ("größe", "größe"),
            ("mean radius", '"mean radius"'),
            ("a + b", '"a + b"'),
            ("2x", '"2x"'),
            ("", '""'),
            ('say "hi"', r'"say \"hi\""'),
            ("a\nb >= 3", r'"a\nb >= 3"'),
            ("tab\tand\x00", r'"tab\tand\x00"'),
            ("line\u2028sep", r'"line\u2028sep"'),
            ("right\u202eleft", r'"right\u202eleft"'),
            ("\ud800", r'"\ud800"'),
        ],
    )
    def test_odd_names(self, name, printed):
        assert str(Polyhedron([[3]], [0], [name])) == f"3*{printed} >= 0"

    @settings(max_examples=25)
    @given(polyhedra(), st.data())
    def test_text_can_be_read_back(self, polyhedron, data):
        d = polyhedron.n_features
        names = data.draw(st.lists(st.text(), min_size=d, max_size=d, unique=True))
        named = Polyhedron(polyhedron.W, polyhedron.b, names)
        assert read_polyhedron(str(named), names) == named.printed
        _, _, exponents = printed_faces(named.W, named.b)
        assert (np.ldexp(named.printed.W, exponents[:, None]) == named.W).all()
        assert (np.ldexp(named.printed.b, exponents) == named.b).all()
        assert read_polyhedron(named.to_text(3), names).equals(named.rounded(3))

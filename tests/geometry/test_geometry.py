"""Geometry: balls are inside, projections are nearest, and answers do not depend on units."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls

from polyceptron import Polyhedron, geometry
from polyceptron.geometry import (
    GeometryError,
    bounding_box,
    chebyshev_ball,
    distance,
    is_bounded,
    is_empty,
    project,
    redundant_faces,
    sample,
    vertices,
    volume,
    without_redundant,
)
from polyceptron.rule import Rule, as_rule

SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 1, 1], ["age", "bmi"])
CORNER = Polyhedron([[1, 0], [0, 1]], [0, 0], ["age", "bmi"])
EMPTY = Polyhedron([[1, 0], [0, 1], [-1, 0]], [-2, 0, 1])
FLAT = Polyhedron([[1, 1], [-1, -1], [1, 0], [-1, 0]], [-1, 1, 0, 1])
ALL_OF_SPACE = Polyhedron([[np.finfo(float).tiny, 0]], [1])

# Small whole numbers meet in degenerate ways: parallel, repeated and touching faces.
WHOLE = st.integers(-3, 3).map(float)
REAL = st.floats(-10, 10).map(lambda v: 0.0 if abs(v) < 1e-3 else v)


@st.composite
def polyhedra(draw, elements=None, most=8):
    elements = draw(st.sampled_from([WHOLE, REAL])) if elements is None else elements
    K, d = draw(st.integers(1, most)), draw(st.integers(1, 5))
    W = draw(arrays(float, (K, d), elements=elements))
    assume(W.any(axis=1).all())
    scales = 10.0 ** draw(arrays(float, K, elements=st.integers(-8, 8).map(float)))
    return Polyhedron(W * scales[:, None], draw(arrays(float, K, elements=elements)) * scales)


@st.composite
def polytopes(draw):
    """Bounded, with an inside: a box about some point, cut by faces that leave the point inside."""
    d, K = draw(st.integers(1, 4)), draw(st.integers(0, 6))
    centre = draw(arrays(float, d, elements=REAL))
    half = draw(arrays(float, d, elements=st.floats(0.5, 5)))
    W = draw(arrays(float, (K, d), elements=REAL))
    W = W[np.abs(W).max(axis=1, initial=0) > 0.1]
    depth = draw(arrays(float, K, elements=st.floats(0.1, 5)))[: len(W)]
    b = depth * np.linalg.norm(W, axis=1) - W @ centre
    eye = np.eye(d)
    box = np.concatenate([half - centre, half + centre])
    return Polyhedron(np.vstack([eye, -eye, W]), np.concatenate([box, b]))


def random_polyhedron(rng):
    d, K = rng.integers(1, 9), rng.integers(1, 9)
    W = rng.standard_normal((K, d))
    return Polyhedron(W, rng.exponential(size=K) - W @ (5 * rng.standard_normal(d)))


@settings(max_examples=12)
@given(polytopes(), st.integers(0, 2**32 - 1))
def test_answers_about_a_polytope_agree(P, seed):
    V = vertices(P)
    far = P.distance(V)
    assert (far >= -1e-9).all()
    # A vertex is on as many faces as there are features, and so many are on a face that is needed.
    assert ((np.abs(far) < 1e-8).sum(axis=1) >= P.n_features).all()
    fewer = without_redundant(P)
    assert ((np.abs(fewer.distance(V)) < 1e-6).sum(axis=0) >= P.n_features).all()
    assert redundant_faces(fewer).size == 0
    np.testing.assert_allclose(bounding_box(P), [V.min(axis=0), V.max(axis=0)], atol=1e-8)
    X = np.random.default_rng(seed).uniform(-15, 15, (500, P.n_features))
    assert P.distance(X).min(axis=1).max() <= chebyshev_ball(P).radius + 1e-9
    inside = sample(P, 100, random_state=seed)
    assert inside.shape == (100, P.n_features)
    assert P.contains(inside).all()


class TestProject:
    @settings(max_examples=10)
    @given(polyhedra(), st.data())
    def test_is_inside_and_optimal(self, P, data):
        assume(not is_empty(P))
        d = P.n_features
        x = data.draw(arrays(float, d, elements=REAL))
        weights = data.draw(arrays(float, d, elements=st.floats(0.01, 100)))
        new = project(P, x, weights)
        scale = 1 + np.abs(new).max() + np.abs(x).max()
        assert P.distance([new]).min() >= -1e-9 * scale
        assert_nearest(P, x, new, weights, scale)
        way = np.sqrt(weights) * (new - x)
        far = distance(P, x, weights)
        assert far == pytest.approx(np.linalg.norm(way), rel=1e-9, abs=1e-9)
        assert far == 0 or not P.contains([x])[0]

    @pytest.mark.parametrize("size", [1e-100, 1.0, 1e6, 1e100])
    def test_rows_are_inside_whatever_the_units(self, size):
        rng = np.random.default_rng(0)
        for _ in range(4):
            P = random_polyhedron(rng)
            units = 10.0 ** rng.uniform(-3, 3, P.n_features) * size
            scaled = Polyhedron(P.W / units, P.b)
            X = 10 * rng.standard_normal((5, P.n_features))
            new = project(scaled, X * units, 1 / units**2 if 1e-50 < size < 1e50 else None)
            assert scaled.contains(new).all()
            if 1e-50 < size < 1e50:
                np.testing.assert_allclose(new / units, project(P, X), atol=1e-9)

    def test_rows_inside_stay(self):
        X = np.array([[0.5, 0.5], [1, 1], [0, 0.3]])
        np.testing.assert_array_equal(project(SQUARE, X), X)
        assert project(SQUARE, np.empty((0, 2))).shape == (0, 2)

    def test_a_row_or_rows(self):
        assert project(SQUARE, [3, 0.5]).tolist() == [1, 0.5]
        frame = pd.DataFrame({"age": [3.0], "bmi": [-1.0]})
        assert project(SQUARE, frame).tolist() == [[1, 0]]

    def test_faces_at_very_different_distances(self):
        far = Polyhedron([[1e-9, 0], [0, 1e9], [-1, -1]], [1e9, 0, 1e-6])
        np.testing.assert_allclose(project(far, [1, -1]), [1e-6, 0], atol=1e-14)

    def test_a_sharp_wedge(self):
        # Two faces that meet at a ten-millionth of a right angle, far from the row.
        slope = 1e-7
        P = Polyhedron([[slope, 1], [slope, -1]], [-1, -1])
        np.testing.assert_allclose(project(P, [0, 0]), [1 / slope, 0], rtol=1e-9, atol=1e-6)

    def test_far_from_the_origin_and_flat(self):
        P = Polyhedron([[1, 1], [-1, -1], [1, -1]], [-2e9, 2e9 + 1e-3, 1])
        new = project(P, [1e9, 1e9 - 7])
        assert P.contains([new])[0]
        np.testing.assert_allclose(project(FLAT, [2, 2]), [0.5, 0.5])

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match=r"weights must be above 0; weights\[1\] is 0.0"):
            project(SQUARE, [3, 3], [1, 0])
        with pytest.raises(ValueError, match="X must be finite; row 0, column 'bmi' is nan"):
            project(SQUARE, [3, np.nan])
        with pytest.raises(ValueError, match="3 columns"):
            project(SQUARE, [3, 3, 3])


def assert_nearest(P, x, new, weights, scale):
    """By Kuhn and Tucker: the way there is a sum of the normals of the faces that hold it."""
    unit = P.normalized()
    tight = unit.distance([new])[0] < 1e-7 * scale
    way = weights * (new - x)
    normals = unit.W[tight].T
    rest = nnls(normals, way)[1] if tight.any() else np.linalg.norm(way)
    assert rest <= 1e-7 * (1 + np.linalg.norm(way)) * scale


class TestDistance:
    def test_single_and_weighted(self):
        assert distance(SQUARE, [4, 5]) == pytest.approx(5)
        assert distance(SQUARE, [4, 0.5], [4, 1]) == pytest.approx(6)

    def test_of_the_empty_set(self):
        assert distance(EMPTY, [[0, 0], [5, 5]]).tolist() == [math.inf, math.inf]

    def test_huge(self):
        assert distance(Polyhedron([[1e-300]], [-1]), [0]) == pytest.approx(1e300)
        assert distance(ALL_OF_SPACE, [1e10, 0]) == 0


class TestBall:
    @settings(max_examples=15)
    @given(polyhedra())
    def test_is_inside(self, P):
        assume(not is_empty(P))
        centre, radius = chebyshev_ball(P)
        nearest = P.distance([centre])[0].min()
        scale = 1 + np.abs(centre).max()
        if np.isfinite(radius):
            assert nearest >= radius - 1e-9 * scale
        else:
            assert nearest >= -1e-9 * scale

    @pytest.mark.parametrize(("size", "place"), [(1e-200, 0), (1e-9, 1e3), (1, 0), (1e200, 1e3)])
    def test_of_triangles_of_every_size(self, size, place):
        # Sides of 3, 4 and 5: a radius of 1.
        P = Polyhedron([[1, 0], [0, 1], [-4, -3]], [-place, -place, 7 * place + 12])
        centre, radius = chebyshev_ball(P.pullback(1 / size, 0))
        assert radius / size == pytest.approx(1, rel=1e-9)
        np.testing.assert_allclose(centre / size, [place + 1, place + 1], rtol=1e-9)

    def test_small_and_far_away(self):
        P = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [-1e9, 1e9, 1e9 + 1e-3, -1e9 + 1e-3])
        assert chebyshev_ball(P).radius == pytest.approx(5e-4, rel=1e-3)

    def test_far_faces_do_not_disturb(self):
        P = Polyhedron([[1, 0], [0, 1], [-1, -1], [1, 0], [1, 3]], [0, 0, 1, 1e15, 1e30])
        assert chebyshev_ball(P).radius == pytest.approx(1 / (2 + math.sqrt(2)), rel=1e-9)

    def test_wide_beyond_all_measure(self):
        centre, radius = chebyshev_ball(CORNER)
        assert radius == math.inf
        assert CORNER.contains([centre])[0]
        assert chebyshev_ball(ALL_OF_SPACE).radius == math.inf

    def test_strip_and_flat(self):
        ball = chebyshev_ball(Polyhedron([[1, 1], [-1, -1]], [0, 2]))
        assert ball.radius == pytest.approx(1 / math.sqrt(2))
        assert ball.centre.sum() == pytest.approx(1)
        assert chebyshev_ball(FLAT).radius == pytest.approx(0, abs=1e-12)


class TestEmptyAndBounded:
    def test_what_excludes_each_other(self):
        for question in (chebyshev_ball, bounding_box, lambda P: project(P, [0, 0])):
            with pytest.raises(GeometryError, match="empty: faces 0 and 2 exclude each other"):
                question(EMPTY)

    def test_examples(self):
        for P, empty, bounded in [
            (SQUARE, False, True),
            (CORNER, False, False),
            (EMPTY, True, True),
            (FLAT, False, True),
            (ALL_OF_SPACE, False, False),
            (Polyhedron([[1, 1], [-1, -1]], [0, 1]), False, False),
            (Polyhedron([[1.0]], [0]), False, False),
            (Polyhedron([[1.0], [-1.0]], [0, 0]), False, True),
        ]:
            assert is_empty(P) is empty
            assert is_bounded(P) is bounded

    @settings(max_examples=10)
    @given(polyhedra(WHOLE), st.integers(-100, 100), st.data())
    def test_units_do_not_matter(self, P, exponent, data):
        units = 2.0 ** data.draw(
            arrays(float, P.n_features, elements=st.integers(-30, 30).map(float))
        )
        scaled = P.pullback(units * 2.0**exponent, 0)
        assert is_empty(scaled) == is_empty(P)
        assert is_bounded(scaled) == is_bounded(P)

    @settings(max_examples=10)
    @given(polyhedra())
    def test_as_the_box_says(self, P):
        assume(not is_empty(P))
        assert is_bounded(P) == np.isfinite(bounding_box(P)).all()

    def test_a_thin_wedge_is_unbounded(self):
        assert not is_bounded(Polyhedron([[1e-6, 1], [1e-6, -1]], [0, 0]))
        assert is_bounded(Polyhedron([[-1e-6, 1], [-1e-6, -1], [1, 0]], [0, 0, 0]))


class TestBoundingBox:
    def test_without_limits(self):
        lower, upper = bounding_box(CORNER)
        assert lower.tolist() == [0, 0]
        assert upper.tolist() == [math.inf, math.inf]

    def test_a_corner_that_rounding_moves(self):
        # The least third feature is at the corner nearest to the origin, up to rounding.
        P = Polyhedron([[0, 0, 1], [0, 1, 1], [1, -1, -1]], [0, -1, 0])
        lower, upper = bounding_box(P)
        np.testing.assert_allclose(lower, [1, -np.inf, 0], atol=1e-12)
        assert (upper == np.inf).all()

    def test_exact_at_mixed_units(self):
        lower, upper = [1e9, -1e-9, 3.0], [1e9 + 1, 1e-9, 4.0]
        eye = np.eye(3)
        P = Polyhedron(np.vstack([eye, -eye]), [*np.negative(lower), *upper])
        np.testing.assert_allclose(bounding_box(P), [lower, upper], rtol=1e-15)


class TestRedundancy:
    @settings(max_examples=10)
    @given(polyhedra(), st.integers(0, 2**32 - 1))
    def test_changes_nothing(self, P, seed):
        fewer = without_redundant(P)
        rng = np.random.default_rng(seed)
        X = np.vstack(
            [rng.uniform(-20, 20, (300, P.n_features)), rng.normal(0, 2, (300, P.n_features))]
        )
        clear = np.abs(P.distance(X)).min(axis=1) > 1e-5
        np.testing.assert_array_equal(P.contains(X)[clear], fewer.contains(X)[clear])

    def test_of_equal_faces_the_first_is_kept(self):
        P = Polyhedron([[1, 0], [2, 0], [0, 1], [1e-9, 0]], [1, 2, 0, 1e-9])
        assert redundant_faces(P).tolist() == [1, 3]

    def test_touching(self):
        # The last face touches the corner of the others, and cuts nothing off.
        assert redundant_faces(Polyhedron([[1, 0], [0, 1], [1, 1]], [0, 0, 0])).tolist() == [2]

    def test_sums_of_faces(self):
        rng = np.random.default_rng(0)
        for _ in range(3):
            W, b = rng.standard_normal((3, 5)), rng.standard_normal(3)
            shares = rng.exponential(size=(4, 3))
            P = Polyhedron(np.vstack([W, shares @ W]), np.append(b, shares @ b))
            assert redundant_faces(P).tolist() == [3, 4, 5, 6]

    def test_in_a_box(self):
        P = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 10])
        assert redundant_faces(P, box=(1, 2)).tolist() == [0, 1, 2]
        assert redundant_faces(P, box=([-1, 1], [2, 20])).tolist() == [1]
        assert without_redundant(P, box=(1, 2)).n_faces == 1
        assert redundant_faces(P, box=(-np.inf, np.inf)).size == 0

    def test_far_away_but_needed(self):
        P = Polyhedron([[0, 1], [0, -1], [-1, 0]], [0, 1, 1e9])
        assert redundant_faces(P).size == 0

    def test_of_an_empty_set_a_conflict_is_kept(self):
        P = Polyhedron([[0, 1], [1, 0], [-1, 0], [0, -1]], [0, -2, 1, 1])
        assert redundant_faces(P).tolist() == [0, 3]
        assert is_empty(without_redundant(P))

    @pytest.mark.parametrize(
        ("box", "message"),
        [
            (3, "box must be a pair"),
            ((1, 2, 3), r"box must be a pair.*got \(1, 2, 3\)"),
            (([1, 2, 3], 5), r"box\[0\].*shape \(2,\); got shape \(3,\)"),
            ((1, 0), "column 0 has 1.0 and 0.0"),
            ((0, np.nan), "column 0 has 0.0 and nan"),
        ],
    )
    def test_bad_boxes(self, box, message):
        with pytest.raises(ValueError, match=message):
            redundant_faces(SQUARE, box)


class TestVertices:
    def test_where_many_faces_meet(self):
        octahedron = Polyhedron(
            [[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], np.ones(8)
        )
        V = vertices(octahedron)
        assert V.shape == (6, 3)
        np.testing.assert_allclose(np.abs(V).sum(axis=1), 1)
        assert volume(octahedron) == pytest.approx(4 / 3)

    def test_segment(self):
        assert vertices(Polyhedron([[2], [-1], [-1]], [4, 3, 5])).tolist() == [[-2], [3]]

    @pytest.mark.parametrize("question", [vertices, volume])
    def test_refusals(self, question):
        for P, message in [
            (CORNER, "unbounded, 'age' has no limit"),
            (EMPTY, "empty"),
            (Polyhedron(np.ones((1, 9)), [1]), "9 features, and more than 8"),
        ]:
            with pytest.raises(GeometryError, match=message):
                question(P)
        with pytest.raises(GeometryError, match="vertices: the polyhedron is flat"):
            vertices(FLAT)


class TestVolume:
    @given(st.integers(1, 6), st.data())
    @settings(max_examples=10)
    def test_of_boxes(self, d, data):
        lower = data.draw(arrays(float, d, elements=st.floats(-5, 5)))
        sides = 10.0 ** data.draw(arrays(float, d, elements=st.floats(-3, 3)))
        eye = np.eye(d)
        P = Polyhedron(np.vstack([eye, -eye]), np.concatenate([-lower, lower + sides]))
        assert volume(P) == pytest.approx(np.prod(sides), rel=1e-6)

    @pytest.mark.parametrize("d", [1, 2, 5, 8])
    def test_of_simplices(self, d):
        corners = np.random.default_rng(d).standard_normal((d + 1, d))
        edges = corners[1:] - corners[0]
        # Barycentric coordinates are at least zero.
        inverse = np.linalg.inv(edges.T)
        W = np.vstack([inverse, -inverse.sum(axis=0)])
        b = np.append(np.zeros(d), 1.0) - W @ corners[0]
        expected = abs(np.linalg.det(edges)) / math.factorial(d)
        assert volume(Polyhedron(W, b)) == pytest.approx(expected, rel=1e-6)
        assert len(vertices(Polyhedron(W, b))) == d + 1

    def test_in_huge_and_tiny_units_and_flat(self):
        assert volume(SQUARE.pullback([1e-200, 1e200], 0)) == pytest.approx(1)
        assert volume(FLAT) == 0


class TestSample:
    def test_is_even(self):
        # In a triangle each barycentric coordinate has mean 1/3 and variance 1/18.
        triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 1])
        skew = triangle.pullback([1, 1e-6], [0, 0])
        X = sample(skew, 10_000, random_state=0) * [1, 1e-6]
        np.testing.assert_allclose(X.mean(axis=0), 1 / 3, atol=0.01)
        np.testing.assert_allclose(X.var(axis=0), 1 / 18, atol=0.003)

    def test_thin_in_no_feature_of_its_own(self):
        thin = Polyhedron([[1, 1], [-1, -1], [1, -1], [-1, 1]], [0, 1e-4, 0, 1])
        X = sample(thin, 3000, random_state=1)
        along, across = X[:, 1] - X[:, 0], (X.sum(axis=1)) * 1e4
        for values in (along, across):
            assert np.mean(np.abs(values)) == pytest.approx(0.5, abs=0.03)
            assert values.var() == pytest.approx(1 / 12, abs=0.01)

    def test_in_a_box(self):
        X = sample(CORNER, 100, random_state=0, box=([-5, -5], [1, 2]))
        assert CORNER.contains(X).all()
        assert (X <= [1, 2]).all()

    def test_seeds(self):
        np.testing.assert_array_equal(
            sample(SQUARE, 5, random_state=3), sample(SQUARE, 5, np.random.default_rng(3))
        )
        assert sample(SQUARE, 0).shape == (0, 2)

    def test_many_features(self):
        eye = np.eye(20)
        X = sample(Polyhedron(np.vstack([eye, -eye]), np.ones(40)), 400, random_state=0)
        assert np.abs(X.mean()) < 0.05
        assert X.var() == pytest.approx(1 / 3, abs=0.03)

    @pytest.mark.parametrize(
        ("P", "message"), [(CORNER, "give a box"), (EMPTY, "empty"), (FLAT, "flat")]
    )
    def test_refusals(self, P, message):
        with pytest.raises(GeometryError, match=message):
            sample(P, 3)

    def test_a_box_beside_the_set(self):
        with pytest.raises(GeometryError, match="empty: face 0 and the box exclude each other"):
            sample(CORNER, 3, box=(-2, -1))


def test_of_models():
    one = as_rule(SQUARE)
    assert volume(one) == volume(polyhedron=one) == volume(SQUARE)
    assert distance(one, [2.0, 0.5], weights=[4, 1]) == 2.0
    with pytest.raises(GeometryError, match="the model has 2 polyhedra: ask one of them"):
        volume(Rule.inside([0, 1], 1, SQUARE, SQUARE))


@pytest.mark.parametrize("name", sorted(set(geometry.__all__) - {"Ball", "GeometryError"}))
def test_what_is_no_model_is_refused(name):
    with pytest.raises(TypeError, match=r"polyhedron must be a fitted learner .* or a Polyhedron"):
        getattr(geometry, name)(np.eye(2))

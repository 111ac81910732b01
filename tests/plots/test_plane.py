"""Which plane is shown, and where rows are seen in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path

from polyceptron import Polyhedron
from polyceptron.plots import PolyhedronDisplay
from polyceptron.plots._plane import cut, of_columns

CUBE = Polyhedron(np.concatenate([np.eye(3), -np.eye(3)]), np.ones(6))
WINDOW = ((-2.0, 2.0), (-2.0, 2.0))
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])


@pytest.mark.parametrize("plane", ["pca", "faces"])
def test_margins_in_the_plane_are_those_of_its_points(cancer, plane):
    learned, bunch = cancer
    display = PolyhedronDisplay.from_estimator(learned, bunch.data, bunch.target, plane=plane)
    points = np.random.default_rng(0).normal(size=(20, 2))
    there = display.plane.origin + points @ display.plane.axes
    lines = display.plane.lines(learned.polyhedron_)
    flat = np.column_stack([points, np.ones(20)]) @ lines.T
    np.testing.assert_allclose(flat, learned.polyhedron_.margins(there), rtol=1e-9, atol=1e-9)
    # A point of the plane is seen where it is.
    np.testing.assert_allclose(display.plane.of_rows(there), points, atol=1e-9)
    assert display.columns is None


def test_pca_is_that_of_scikit_learn(cancer):
    learned, bunch = cancer
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    Z = StandardScaler().fit_transform(bunch.data)
    pca = PCA(2).fit(Z)
    display = PolyhedronDisplay.from_estimator(learned, bunch.data, plane="pca")
    offsets = display.points_[None].get_offsets()
    expected = pca.transform(Z)
    expected = expected * np.sign(np.sum(expected * (offsets - offsets.mean(axis=0)), axis=0))
    np.testing.assert_allclose(
        offsets - offsets.mean(axis=0), expected - expected.mean(axis=0), atol=1e-8
    )
    share = pca.explained_variance_ratio_[0]
    assert f"first principal component ({share:.0%}" in display.ax_.get_xlabel()


def test_plane_of_two_faces_shows_every_row_on_its_side(cancer):
    learned, bunch = cancer
    display = PolyhedronDisplay.from_estimator(learned, bunch.data, plane="faces")
    seen = np.asarray(display.points_[None].get_offsets())
    flat = np.column_stack([seen, np.ones(len(seen))]) @ display.plane.lines(learned.polyhedron_).T
    margins = learned.polyhedron_.margins(bunch.data)
    np.testing.assert_allclose(flat, margins, rtol=1e-7, atol=1e-7 * np.abs(margins).max())


@pytest.mark.parametrize(("K", "shape"), [(1, (1, 3)), (5, (2, 6)), (1, (50, 40))])
@pytest.mark.parametrize("plane", ["pca", "faces"])
def test_planes_of_few_rows_and_many_columns(K, shape, plane):
    random = np.random.default_rng(0)
    polyhedron = Polyhedron(random.normal(size=(K, shape[1])), random.normal(size=K))
    X = random.normal(size=shape)
    X[:, -1] = 7.0  # constant
    display = PolyhedronDisplay.from_polyhedron(polyhedron, X, plane=plane, regions="faces")
    Z = display.plane.axes / display.plane.spread
    np.testing.assert_allclose(Z @ Z.T, np.eye(2), atol=1e-9)


def test_at_may_be_a_row_and_is_shown(cancer):
    learned, bunch = cancer
    display = PolyhedronDisplay.from_estimator(learned, bunch.data, at=3)
    np.testing.assert_array_equal(display.at, bunch.data.to_numpy()[3])
    assert display.ax_.get_title(loc="left").startswith("Slice at cell_shape…niformity = ")


@pytest.mark.parametrize(
    ("W", "b", "points"),
    [
        ([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[0, 0], [1, 0], [0, 1]]),
        ([[1, 2], [-1, 2]], [0.3, 0.1], [[-0.1, -0.1]]),  # unbounded
        ([[1, 0], [-1, 0]], [-100, 101], [[100, 0], [101, 0]]),  # nothing meets
        ([[1, 0], [-1, 0]], [-1, -1], [[-1, 0], [1, 0]]),  # empty
        ([[1, 1]], [-100], [[100, 0], [0, 100]]),
        ([[1e9, 0], [0, 1e-9], [-1e9, -1e-9]], [0, 0, 1], [[0, 0], [1e-9, 0], [0, 1e9]]),
        ([[1.0]], [-100], [[100.0]]),
        ([[1.0], [-1.0]], [-3.0, 4.0], [[3.0], [4.0]]),
    ],
)
def test_window_without_rows_shows_the_corners(W, b, points):
    display = PolyhedronDisplay.from_polyhedron(Polyhedron(W, b))
    (left, right), (low, high) = display.ax_.get_xlim(), display.ax_.get_ylim()
    for point in points:
        assert left < point[0] < right
        assert len(point) == 1 or low < point[1] < high
    assert set(display.faces_) == set(range(len(b)))


def test_slice_is_where_the_polyhedron_is(cancer):
    model, bunch = cancer
    display = PolyhedronDisplay.from_estimator(
        model, bunch.data, bunch.target, plane=("bare_nuclei", 0)
    )
    assert display.columns == (5, 0)
    assert display.ax_.get_xlabel() == "bare_nuclei"
    assert display.ax_.get_title(loc="left").startswith("Slice at cell_size_uniformity")
    middle = display.at.copy()
    middle[[5, 0]] = display.region_.get_xy()[:-1].mean(axis=0)
    assert model.polyhedron_.decision([middle])[0] > 0


def test_slice_through_a_given_point():
    with pytest.raises(ValueError, match="at or X must be given: a slice of 3 columns"):
        PolyhedronDisplay.from_polyhedron(CUBE)
    inside = PolyhedronDisplay.from_polyhedron(CUBE, at=[0, 0, 0.9])
    assert inside.region_ is not None
    assert inside.text_[2] == "holds everywhere here"
    outside = PolyhedronDisplay.from_polyhedron(CUBE, at=[0, 0, 1.1])
    assert outside.region_ is None
    assert outside.text_[5] == "holds nowhere here"


def test_default_slice_is_at_the_medians_or_else_where_the_inside_is():
    X = np.random.default_rng(0).exponential(0.1, size=(51, 3))
    display = PolyhedronDisplay.from_polyhedron(CUBE, X)
    np.testing.assert_array_equal(display.at, np.median(X, axis=0))
    X = np.concatenate([np.zeros((1, 3)), np.full((9, 3), 5.0)])
    display = PolyhedronDisplay.from_polyhedron(CUBE, X)
    np.testing.assert_array_equal(display.at, np.zeros(3))
    assert display.region_ is not None


def test_slices_have_text_columns_at_their_commonest_value():
    random = np.random.default_rng(0)
    values = np.eye(3)[random.choice(3, size=300, p=[0.5, 0.3, 0.2])]
    X = np.hstack([random.normal(size=(300, 2)), values, values])
    names = ["age", "dose", *(f"{column}={value}" for column in "ab" for value in "xyz")]
    display = PolyhedronDisplay.from_polyhedron(Polyhedron(np.ones((1, 8)), [0], names), X)
    np.testing.assert_array_equal(display.at[:2], np.median(X[:, :2], axis=0))
    np.testing.assert_array_equal(display.at[2:], [1, 0, 0, 1, 0, 0])
    assert display.ax_.get_title(loc="left") == "Slice at a=x = 1, b=x = 1, a=y = 0 and 3 more"


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_slice_does_not_depend_on_units(scale):
    far = SQUARE.pullback([1 / scale, 1.0], 0.0)
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(far)
    view = cut(lines, ((-2 * scale, 2 * scale), (-2.0, 2.0)))
    corners = view.polygon() / [scale, 1.0]
    assert {tuple(c) for c in corners.round(9)} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) if len(corners) >= 3 else 0.0


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_cells_share_out_the_window_by_the_deciding_face(seed, K):
    random = np.random.default_rng(seed)
    polyhedron = Polyhedron(random.normal(size=(K, 2)), random.normal(size=K))
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(polyhedron)
    view = cut(lines, WINDOW)
    held = sum(area(view.cell(k, inside=True)) for k in range(K))
    rejected = sum(area(view.cell(k, inside=False)) for k in range(K))
    assert held + rejected == pytest.approx(16.0)
    assert held == pytest.approx(area(view.polygon()), abs=1e-9)
    cells = {k: view.cell(k) for k in range(K)}
    assert sum(map(area, cells.values())) == pytest.approx(16.0)
    points = random.uniform(-2, 2, (200, 2))
    margins = np.sort(polyhedron.margins(points), axis=1)
    clear = np.ones(200, bool) if K == 1 else margins[:, 1] - margins[:, 0] > 1e-6
    deciding = polyhedron.active_face(points)
    if held:
        seen = Path(view.polygon()).contains_points(points)
        clear_inside = np.abs(margins[:, 0]) > 1e-6
        np.testing.assert_array_equal(seen[clear_inside], (margins[:, 0] >= 0)[clear_inside])
    for k, corners in cells.items():
        if len(corners) >= 3:
            inside = Path(corners).contains_points(points)
            np.testing.assert_array_equal(inside[clear], (deciding == k)[clear])
        else:
            assert not (deciding == k)[clear].any()

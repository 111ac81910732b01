"""Which face decides where, and in which plane it is shown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyceptron import OC1, BatchPolyceptron, Polyceptron, Polyhedron
from polyceptron.datasets import load_breast_cancer, make_polyhedron
from polyceptron.plots import PolyhedraDisplay, PolyhedronDisplay
from polyceptron.plots import _plane as planes
from polyceptron.plots import _style as style
from polyceptron.plots._slice import cut

plt = pytest.importorskip("matplotlib.pyplot")
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.path import Path  # noqa: E402

WINDOW = ((-2.0, 2.0), (-2.0, 2.0))
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])


@pytest.fixture(autouse=True)
def agg():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) if len(corners) >= 3 else 0.0


def corners_of(patch):
    return patch.get_xy()[:-1]


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# --- the regions of the faces ---------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_cells_share_out_the_window_by_the_deciding_face(seed, K):
    random = np.random.default_rng(seed)
    polyhedron = Polyhedron(random.normal(size=(K, 2)), random.normal(size=K))
    lines = planes.of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(polyhedron)
    view = cut(lines, WINDOW)
    cells = {k: view.cell(k) for k in range(K)}
    assert sum(map(area, cells.values())) == pytest.approx(16.0)
    points = random.uniform(-2, 2, (200, 2))
    margins = np.sort(polyhedron.margins(points), axis=1)
    clear = np.ones(200, bool) if K == 1 else margins[:, 1] - margins[:, 0] > 1e-6
    deciding = polyhedron.active_face(points)
    for k, corners in cells.items():
        if len(corners) >= 3:
            inside = Path(corners).contains_points(points)
            np.testing.assert_array_equal(inside[clear], (deciding == k)[clear])
        else:
            assert not (deciding == k)[clear].any()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_cells_are_parted_into_held_and_rejected(seed, K):
    random = np.random.default_rng(seed)
    polyhedron = Polyhedron(random.normal(size=(K, 2)), random.normal(size=K))
    view = cut(planes.of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(polyhedron), WINDOW)
    held = sum(area(view.cell(k, inside=True)) for k in range(K))
    rejected = sum(area(view.cell(k, inside=False)) for k in range(K))
    assert held + rejected == pytest.approx(16.0)
    assert held == pytest.approx(area(view.polygon()), abs=1e-9)


def test_cells_have_the_colours_of_their_faces():
    display = PolyhedronDisplay.from_polyhedron(SQUARE, limits=WINDOW, regions="faces")
    assert set(display.cells_) == {0, 1, 2, 3}
    assert display.region_ is None
    for k, patch in display.cells_.items():
        pale, full = np.array(patch.get_facecolor()[:3]), np.array(to_rgb(style.look(k).colour))
        np.testing.assert_allclose(pale, 1 - 0.14 * (1 - full), atol=1e-6)
        middle = corners_of(patch).mean(axis=0)
        assert SQUARE.active_face([middle]) == [k]


def test_looks_are_all_different():
    looks = {(style.look(k).colour, style.look(k).hatch) for k in range(49)}
    assert len(looks) == 49


def test_equal_faces_are_one_region():
    twice = Polyhedron([[1, 0], [1, 0], [-1, 0]], [1, 1, 1])
    display = PolyhedronDisplay.from_polyhedron(twice, limits=WINDOW, regions="faces")
    assert set(display.cells_) == {0, 2}


def test_a_region_whose_face_is_out_of_view_has_its_number():
    window = ((2.0, 4.0), (2.0, 4.0))
    display = PolyhedronDisplay.from_polyhedron(SQUARE, limits=window, regions="faces")
    assert set(display.cells_) == set(display.numbers_) == {2, 3}
    assert "nothing here is inside" in texts(display)


def test_rows_have_no_colours_of_faces():
    X, y, truth = make_polyhedron(100, 2, 4, random_state=0)
    display = PolyhedronDisplay.from_polyhedron(truth, X, y, regions="faces")
    shown = {tuple(points.get_facecolor()[0, :3]) for points in display.points_.values()}
    faces = {to_rgb(style.look(k).colour) for k in range(7)}
    assert not shown & faces


@pytest.mark.parametrize("K", [4, 10, 30])
def test_numbers_do_not_cover_each_other(K):
    X, y, truth = make_polyhedron(100, 2, K, random_state=3)
    display = PolyhedronDisplay.from_polyhedron(truth, X, y, regions="faces")
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    boxes = [n.get_window_extent(renderer) for n in display.numbers_.values()]
    centres = np.array([[(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2] for b in boxes])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(len(boxes), 1)]
    assert gaps.min() > 14 * display.figure_.dpi / 72


def test_many_faces_are_not_all_listed():
    X, y, truth = make_polyhedron(100, 2, 15, random_state=3)
    assert "and 3 more faces" in texts(PolyhedronDisplay.from_polyhedron(truth, X, y))


# --- without rows ------------------------------------------------------------------------------


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


def test_slice_without_rows_needs_a_point():
    cube = Polyhedron(np.concatenate([np.eye(3), -np.eye(3)]), np.ones(6))
    with pytest.raises(ValueError, match="at or X must be given: a slice of 3 columns"):
        PolyhedronDisplay.from_polyhedron(cube)
    assert PolyhedronDisplay.from_polyhedron(cube, at=[0, 0, 0.5]).region_ is not None


def test_one_class_and_one_row():
    one = PolyhedronDisplay.from_polyhedron(SQUARE, [[0.2, 0.3]], ["good"])
    assert texts(one)[0] == "class good (inside)"
    outside = PolyhedronDisplay.from_polyhedron(SQUARE, [[3.0, 3.0]] * 3, [0] * 3, inside=1)
    assert texts(outside)[:2] == ["class 0 (outside)", "nothing here is inside"]


# --- one column --------------------------------------------------------------------------------


def test_one_column_is_a_line():
    interval = Polyhedron([[2], [-1]], [2, 1], ["age"])
    X = np.linspace(-3, 3, 40)[:, None]
    y = np.where(interval.contains(X), "in", "out")
    display = PolyhedronDisplay.from_polyhedron(interval, X, y, inside="in", regions="faces")
    assert display.ax_.get_xlabel() == "age"
    assert display.ax_.get_yticks().size == 0
    np.testing.assert_allclose(display.faces_[0].get_xdata(), -1)
    np.testing.assert_array_equal(display.points_["in"].get_offsets()[:, 0], X[y == "in", 0])
    heights = {k: points.get_offsets()[:, 1] for k, points in display.points_.items()}
    assert heights["in"].max() < heights["out"].min()
    assert display.text_[0] == "2*age ≥ -2"


# --- planes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def learned(cancer):
    return BatchPolyceptron(2, random_state=0).fit(cancer.data, cancer.target)


@pytest.mark.parametrize("plane", ["pca", "faces"])
def test_margins_in_the_plane_are_those_of_its_points(learned, cancer, plane):
    display = PolyhedronDisplay.from_estimator(learned, cancer.data, cancer.target, plane=plane)
    points = np.random.default_rng(0).normal(size=(20, 2))
    there = display.plane.origin + points @ display.plane.axes
    lines = display.plane.lines(learned.polyhedron_)
    flat = np.column_stack([points, np.ones(20)]) @ lines.T
    np.testing.assert_allclose(flat, learned.polyhedron_.margins(there), rtol=1e-9, atol=1e-9)
    # A point of the plane is seen where it is.
    np.testing.assert_allclose(display.plane.of_rows(there), points, atol=1e-9)
    assert display.columns is None


def test_pca_is_that_of_scikit_learn(learned, cancer):
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    Z = StandardScaler().fit_transform(cancer.data)
    pca = PCA(2).fit(Z)
    display = PolyhedronDisplay.from_estimator(learned, cancer.data, plane="pca")
    offsets = display.points_[0.0].get_offsets()
    expected = pca.transform(Z)
    expected = expected * np.sign(np.sum(expected * (offsets - offsets.mean(axis=0)), axis=0))
    np.testing.assert_allclose(
        offsets - offsets.mean(axis=0), expected - expected.mean(axis=0), atol=1e-8
    )
    share = pca.explained_variance_ratio_[0]
    assert f"first principal component ({share:.0%}" in display.ax_.get_xlabel()


def test_plane_of_two_faces_shows_every_row_on_its_side(learned, cancer):
    display = PolyhedronDisplay.from_estimator(learned, cancer.data, plane="faces")
    seen = np.asarray(display.points_[0.0].get_offsets())
    flat = np.column_stack([seen, np.ones(len(seen))]) @ display.plane.lines(learned.polyhedron_).T
    margins = learned.polyhedron_.margins(cancer.data)
    np.testing.assert_allclose(flat, margins, rtol=1e-7, atol=1e-7 * np.abs(margins).max())


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 3), (2, 6), (50, 3), (50, 40)])
@pytest.mark.parametrize("plane", ["pca", "faces"])
def test_planes_of_few_rows_and_many_columns(K, shape, plane):
    random = np.random.default_rng(0)
    polyhedron = Polyhedron(random.normal(size=(K, shape[1])), random.normal(size=K))
    X = random.normal(size=shape)
    X[:, -1] = 7.0  # constant
    display = PolyhedronDisplay.from_polyhedron(polyhedron, X, plane=plane, regions="faces")
    Z = display.plane.axes / display.plane.spread
    np.testing.assert_allclose(Z @ Z.T, np.eye(2), atol=1e-9)


def test_at_may_be_a_row_and_is_shown(learned, cancer):
    display = PolyhedronDisplay.from_estimator(learned, cancer.data, at=3)
    np.testing.assert_array_equal(display.at, cancer.data.to_numpy()[3])
    assert display.ax_.get_title(loc="left").startswith("Slice at cell_shape…niformity = ")


def test_default_point_is_the_medians():
    cube = Polyhedron(np.concatenate([np.eye(3), -np.eye(3)]), np.ones(6))
    X = np.random.default_rng(0).exponential(0.1, size=(51, 3))
    display = PolyhedronDisplay.from_polyhedron(cube, X)
    np.testing.assert_array_equal(display.at, np.median(X, axis=0))


# --- several polyhedra --------------------------------------------------------------------------


def test_leaves_of_a_tree_share_out_the_window():
    X, y, _ = make_polyhedron(300, 2, 5, balance=0.4, random_state=3)
    model = OC1(random_state=0).fit(X, y)
    display = PolyhedraDisplay.from_estimator(model, X, y, limits=WINDOW)
    regions = [corners_of(p) for some in display.regions_.values() for p in some]
    assert sum(map(area, regions)) == pytest.approx(16.0)
    wrong = int((model.predict(X) != y).sum())
    rings = 0 if display.mistakes_ is None else len(display.mistakes_.get_offsets())
    assert rings == wrong
    for label, patches in display.regions_.items():
        for patch in patches:
            assert model.predict([corners_of(patch).mean(axis=0)]) == [label]


def test_one_polyhedron_for_each_of_three_classes():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    X, y = iris.data.iloc[:, 2:], iris.target_names[iris.target]
    model = Polyceptron(1, margin=20, penalty=None, random_state=0).fit(X, y)
    display = PolyhedraDisplay.from_estimator(model, X, y)
    assert list(display.regions_) == ["setosa", "versicolor", "virginica"]
    looks = [(p[0].get_facecolor(), p[0].get_hatch()) for p in display.regions_.values()]
    assert len(set(looks)) == 3
    assert display.ax_.get_ylabel() == "petal width (cm)"
    assert "class setosa" in texts(display)


def test_a_tree_without_a_test_is_everywhere():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = OC1(random_state=0, max_depth=1, min_samples_split=100).fit(X, np.arange(20) % 2)
    display = PolyhedraDisplay.from_estimator(model, X, limits=WINDOW)
    (patches,) = [p for p in display.regions_.values() if p]
    assert area(corners_of(patches[0])) == pytest.approx(16.0)


# --- predictions that are known already --------------------------------------------------------


def test_rows_predicted_otherwise_are_ringed():
    X, y = np.array([[0.0, 0.0], [3.0, 0.0], [0.5, 0.5]]), np.array(["in", "out", "in"])
    display = PolyhedronDisplay.from_predictions(
        y, ["in", "in", "in"], X=X, polyhedron=SQUARE, inside="in", regions="faces"
    )
    assert display.mistakes_.get_offsets().tolist() == [[3.0, 0.0]]
    assert "1 of 3 predicted otherwise" in texts(display)
    several = PolyhedraDisplay.from_predictions(
        y, ["out", "out", "in"], X=X, polyhedra={"in": SQUARE}
    )
    assert several.mistakes_.get_offsets().tolist() == [[0.0, 0.0]]
    with pytest.raises(ValueError, match="y must be 3 labels"):
        PolyhedronDisplay.from_predictions(y, ["in"], X=X, polyhedron=SQUARE)


def test_many_classes_are_in_order_and_told_apart():
    labels = list(range(1, 13))
    bands = {k: Polyhedron([[1, 0], [-1, 0]], [-k, k + 1]) for k in labels}
    X = np.column_stack([np.add(labels, 0.5), np.zeros(12)])
    display = PolyhedraDisplay.from_polyhedra(bands, X, labels)
    assert texts(display)[12:] == [f"class {k}" for k in labels]
    looks = {(patch.get_facecolor(), patch.get_hatch()) for [patch] in display.regions_.values()}
    assert len(looks) == 12
    shapes = {points.get_paths()[0].vertices.tobytes() for points in display.points_.values()}
    assert len(shapes) == 12

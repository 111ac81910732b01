"""Heat maps, by what is in them."""

import numpy as np
import pytest

from polyceptron import Polyhedron
from polyceptron.plots import FaceHeatmapDisplay, PolyhedronDisplay

TRIANGLE = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_heat_map_shows_weights_per_spread(cancer):
    model, bunch = cancer
    display = FaceHeatmapDisplay.from_estimator(model, bunch.data)
    expected = model.coef_ * bunch.data.to_numpy().std(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(display.image_.get_array(), expected.T)
    assert ticks(display.ax_.yaxis) == list(bunch.data.columns)
    assert ticks(display.ax_.xaxis) == ["0", "1"]
    factors = np.geomspace(1e-6, 1e6, 9)  # other units
    scaled = Polyhedron(model.coef_ / factors, model.intercept_)
    there = FaceHeatmapDisplay.from_polyhedron(scaled, bunch.data.to_numpy() * factors)
    np.testing.assert_allclose(there.weights, display.weights)


def test_signs_are_written_and_zero_is_white():
    display = FaceHeatmapDisplay.from_polyhedron(TRIANGLE)
    assert {k: t.get_text() for k, t in display.cells_.items()} == {
        (0, 0): "+1.00", (0, 1): "0", (1, 0): "0", (1, 1): "+1.00",
        (2, 0): "\N{MINUS SIGN}0.45", (2, 1): "\N{MINUS SIGN}0.89",
    }  # fmt: skip
    least, most = display.image_.get_clim()
    assert least == -most


def test_only_signs_where_cells_are_narrow_and_nothing_where_they_are_tiny():
    random = np.random.default_rng(0)
    some = FaceHeatmapDisplay.from_polyhedron(Polyhedron(random.normal(size=(30, 12)), np.ones(30)))
    assert {t.get_text() for t in some.cells_.values()} == {"", "+", "\N{MINUS SIGN}"}
    many = Polyhedron(random.normal(size=(120, 12)), np.ones(120))
    assert not FaceHeatmapDisplay.from_polyhedron(many).cells_


def test_the_columns_with_the_largest_weights_are_shown():
    W = np.full((2, 50), 0.01)
    W[0, 7] = W[1, 33] = -1.0
    display = FaceHeatmapDisplay.from_polyhedron(Polyhedron(W, [0, 0]), max_features=2)
    assert display.columns_.tolist() == [7, 33]
    assert ticks(display.ax_.yaxis) == ["x7", "x33"]
    assert display.ax_.get_title(loc="left") == "the 2 of 50 columns with the largest weights"
    with pytest.raises(ValueError, match="max_features must be a whole number"):
        FaceHeatmapDisplay.from_polyhedron(TRIANGLE, max_features=0)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_heat_map_of_extreme_normals(size):
    display = FaceHeatmapDisplay.from_polyhedron(Polyhedron([[3 * size, -4 * size]], [0]))
    np.testing.assert_allclose(display.weights, [[0.6, -0.8]])


def test_heat_map_of_several_classes_and_of_a_union(iris, union):
    model, X, _ = iris
    display = FaceHeatmapDisplay.from_estimator(model, X)
    names = [name.replace("\n", " ") for name in ticks(display.ax_.xaxis)]
    assert names == ["setosa 1.0", "versicolor 2.0", "virginica 3.0"]
    plane = PolyhedronDisplay.from_estimator(model, X)
    assert [name.split()[1] for name in names] == [*plane.text_]  # the other half of a picture
    display = FaceHeatmapDisplay.from_estimator(union)
    assert ", ".join(ticks(display.ax_.xaxis)) == "1.0, 1.1, 1.2, 1.3, 2.0, 2.1, 2.2, 3.0, 3.1"
    np.testing.assert_allclose(display.weights[6], -np.sqrt([0.5, 0.5]))


def test_heat_map_of_a_tree_has_each_test_once(tree):
    model, X, _ = tree
    display = FaceHeatmapDisplay.from_estimator(model, X)
    assert len(display.weights) == len(model.rule_.pieces) - 1
    assert display.ax_.get_xlabel() == "test of the tree"

"""The picture that suits a model."""

import io

import numpy as np
import pytest

from polyceptron import OC1, OnlinePolyceptron, Polyhedron
from polyceptron.calibration import Logistic
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import PolyhedronDisplay, plot_model
from polyceptron.plots._model import clearest_plane
from polyceptron.rule import Piece, Rule

plt = pytest.importorskip("matplotlib.pyplot")

ROWS, LABELS, _ = make_polyhedron(60, 2, 3, random_state=0)


def drawn(figure):
    figure.savefig(io.BytesIO())
    return figure


def test_two_columns_are_drawn_as_a_region():
    model = OnlinePolyceptron(3, random_state=0).fit(ROWS, LABELS)
    figure = drawn(plot_model(model, ROWS, LABELS, feature_names=["age", "dose"]))
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "dose")
    assert len(drawn(plot_model(model)).axes) == 1
    (ax,) = drawn(plot_model(Polyhedron([[1]], [0]), ROWS[:, :1], LABELS)).axes
    assert ax.get_xlabel() == "x0"
    assert not plt.get_fignums()  # nothing is left in pyplot


def test_more_columns_are_a_plane_and_weights_or_weights(cancer):
    model, bunch = cancer
    X, y = bunch.data, bunch.target
    plane = [ax for ax in drawn(plot_model(model, X, y)).axes if "principal" in ax.get_xlabel()]
    assert len(plane) == 1
    weights = drawn(plot_model(model)).axes[0]
    assert [t.get_text() for t in weights.get_yticklabels()] == list(X.columns)


def mixed_rows():
    """Two numbers, and two text columns that go together: the PCA plane is all theirs."""
    random = np.random.default_rng(0)
    values = random.choice(3, size=300, p=[0.5, 0.3, 0.2])
    numbers = random.normal(size=(300, 2)) * [10, 2] + [40, 5]
    names = ["age", "dose", *(f"{column}={value}" for column in "ab" for value in "xyz")]
    return np.hstack([numbers, np.eye(3)[values], np.eye(3)[values]]), names


def test_faces_are_in_view_with_text_columns():
    X, names = mixed_rows()
    W = np.zeros((2, 8))
    W[0, 0], W[1, 1], W[1, 2] = -1, -1, 0.1
    polyhedron = Polyhedron(W, [45, 6], names)
    assert not PolyhedronDisplay.from_polyhedron(polyhedron, X, plane="pca").faces_
    plane = clearest_plane([polyhedron], X)
    shown = PolyhedronDisplay.from_polyhedron(polyhedron, X, plane=plane)
    assert set(shown.faces_) == {0, 1}
    assert shown.region_ is not None
    labels = {ax.get_xlabel() for ax in drawn(plot_model(polyhedron, X)).axes}
    assert shown.ax_.get_xlabel() in labels


def test_leaves_are_in_view_with_text_columns():
    X, _ = mixed_rows()
    y = (X[:, 0] < 45) & (X[:, 1] < 6) & (X[:, 3] == 0)
    model = OC1(random_state=0).fit(X, y)
    plane = clearest_plane([piece.polyhedron for piece in model.rule_.pieces], X)
    display = PolyhedronDisplay.from_estimator(model, X, y, plane=plane)
    assert all(display.regions_[label] for label in (False, True))


def test_trees_and_several_classes(cancer):
    from sklearn.datasets import load_iris

    iris, (_, bunch) = load_iris(), cancer
    eye = np.concatenate([np.eye(4), -np.eye(4)])
    pieces = [
        Piece(Polyhedron(eye, np.concatenate([-row + 1, row + 1])), place)
        for row, place in zip(iris.data[[0, 70, 120, 130]], (0, 1, 2, 2), strict=True)
    ]
    tree = OC1(random_state=0, max_depth=3).fit(bunch.data, bunch.target)
    rule = Rule([0, 1, 2], pieces, otherwise=0)
    for model, X, y in ((tree, bunch.data, bunch.target), (rule, iris.data, iris.target)):
        figure = drawn(plot_model(model, X, y))
        legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
        assert " of " in legends[0].get_texts()[0].get_text()
        plot_model(model)


def several_classes(n, n_rows):
    """A square each, in a row, the first few thousand characters of whose names are alike."""
    eye = np.concatenate([np.eye(2), -np.eye(2)])
    squares = [Polyhedron(eye, [0.5 - k, 0.5, 0.5 + k, 0.5]) for k in range(n)]
    names = [f"{'a long name ' * 5}{k:02}" for k in range(n)]
    rule = Rule(names, [Piece(one, k) for k, one in enumerate(squares)], links=[Logistic()] * n)
    rng = np.random.default_rng(0)
    places = np.arange(n_rows) % n
    X = np.column_stack([places, np.zeros(n_rows)]) + rng.uniform(-0.6, 0.6, (n_rows, 2))
    return rule, X, np.array(names)[places]


@pytest.mark.parametrize(
    ("n", "n_rows", "panels"), [(3, 200, 0), (3, 2500, 3), (5, 1, 5), (10, 300, 10), (14, 300, 12)]
)
def test_many_classes_have_a_picture_each(n, n_rows, panels):
    rule, X, y = several_classes(n, n_rows)
    figure = drawn(plot_model(rule, X, y))
    shown = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len(shown) == panels
    if not panels:
        return
    missed = [int(ax.get_title(loc="left").split("\n")[2].split()[0]) for ax in shown]
    told = rule.predict(X) != y
    assert sum(missed) == sum(told[y == label].sum() for label in rule.labels[:panels])
    for k, ax in enumerate(shown):
        pale, dark = ax.collections[:2]
        own = y == rule.labels[k]
        assert np.allclose(dark.get_offsets(), X[own])
        assert np.allclose(pale.get_offsets(), X[~own])
    assert ("The 12 largest of 14 classes" in figure.get_suptitle()) == (n == 14)


def test_many_rows_of_two_classes_differ_in_colour():
    X = np.random.default_rng(0).normal(size=(2500, 2))
    y = X[:, 0] > 1
    figure = drawn(plot_model(Polyhedron([[1, 0]], [-1]), X, y))
    outside, inside = figure.axes[0].collections[:2]
    assert not np.allclose(outside.get_facecolor()[0, :3], inside.get_facecolor()[0, :3])
    samples = figure.axes[0].get_legend().legend_handles[:2]
    assert all(sample.get_sizes()[0] >= 20 for sample in samples)


def test_plot_model_wrong_arguments():
    with pytest.raises(
        ValueError, match="model must be a fitted learner of polyceptron, a Rule or a Polyhedron"
    ):
        plot_model("model.json")
    with pytest.raises(ValueError, match="y must be 60 labels"):
        plot_model(OnlinePolyceptron(3, random_state=0).fit(ROWS, LABELS), ROWS, LABELS[:5])

"""What the tests of pictures share: a quiet backend, small figures, models that are fitted once."""

import pytest

from polyceptron import OC1, BatchPolyceptron, Polyceptron, Polyhedron
from polyceptron.datasets import load_breast_cancer, make_polyhedron
from polyceptron.rule import Piece, Rule

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def agg():
    plt.switch_backend("Agg")
    plt.close("all")  # of tests elsewhere
    with plt.rc_context({"figure.dpi": 50, "savefig.dpi": 50}):
        yield
    plt.close("all")


@pytest.fixture(scope="session")
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    return BatchPolyceptron(2, n_init=1, random_state=0).fit(bunch.data, bunch.target), bunch


@pytest.fixture(scope="session")
def iris():
    """A model of three classes, by two columns, and its rows."""
    from sklearn.datasets import load_iris

    bunch = load_iris(as_frame=True)
    X, y = bunch.data.iloc[::3, 2:], bunch.target_names[bunch.target[::3]]
    return Polyceptron(1, margin=20, penalty=None, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="session")
def tree():
    X, y, _ = make_polyhedron(300, 2, 5, balance=0.4, random_state=3)
    return OC1(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="session")
def union():
    """Three pieces of one class, made by hand: a square, a triangle beside it, and a strip."""
    square = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 1, 1], ["age", "dose"])
    triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [-2, 0, 4], ["age", "dose"])
    strip = Polyhedron([[0, 1], [0, -1]], [-3, 3.5], ["age", "dose"])
    return Rule(["no", "yes"], [Piece(p, 1) for p in (square, triangle, strip)], otherwise=0)

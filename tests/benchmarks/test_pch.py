"""PCH of the benchmarks: a peer must be able to learn."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from sklearn.base import clone

from common import square


@pytest.fixture
def pch(benchmark):
    return benchmark("pch")


@pytest.fixture
def machine(pch):
    return pch.ProjectionConvexHull(4, rounds=5, random_state=0)


def test_it_learns_a_square(machine):
    X, y = square(600)
    machine.fit(X[:300], y[:300])
    assert machine.score(X[:300], y[:300]) == 1
    assert machine.score(X[300:], y[300:]) > 0.95
    assert machine.coef_.shape == (4, 2)
    inside = (X @ machine.coef_.T + machine.intercept_ >= 0).all(axis=1)
    assert (machine.predict(X) == inside).all()


def test_it_learns_half_spaces(benchmark, machine):
    X, y = benchmark("shapes").half_spaces(6000, 4, np.random.default_rng(0))
    machine.set_params(n_hyperplanes=15, rounds=8).fit(X[:3000], y[:3000])
    assert machine.predict(X[:3000])[y[:3000]].all()  # no row inside is lost
    assert machine.score(X[:3000], y[:3000]) > 0.99
    assert machine.score(X[3000:], y[3000:]) > 0.97
    assert np.linalg.norm(machine.coef_, axis=1) == pytest.approx(1)


def test_the_inside_may_be_either_class(machine):
    X, y = square()
    names = np.where(y == 1, "in", "out")
    turned = clone(machine).set_params(inside="in").fit(X, names)  # "out" is the greater label
    assert (turned.predict(X) == np.where(machine.fit(X, y).predict(X) == 1, "in", "out")).all()
    assert ((turned.decision_function(X) > 0) == (turned.predict(X) == "out")).all()


def test_the_seed_decides(machine):
    X, y = square()
    first = machine.fit(X, y).coef_
    assert (clone(machine).fit(X, y).coef_ == first).all()
    assert not np.array_equal(clone(machine).set_params(random_state=1).fit(X, y).coef_, first)


def test_faces_of_no_use_are_left_out(machine):
    X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    y = X @ [0.6, 0.8] > 0.1
    machine.set_params(n_hyperplanes=6).fit(X, y)
    assert machine.score(X, y) == 1
    assert machine.n_hyperplanes_ == len(machine.coef_) < 6


def test_an_intruder_that_is_a_row_inside(machine):
    X, y = square()
    X, y = np.vstack([X, X[y == 1][:1]]), np.append(y, 0)
    machine.fit(X, y)
    assert machine.predict(X)[y == 1].all()
    assert np.isfinite(machine.coef_).all()


def test_the_nearest_point_of_a_hull(pch):
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    found = pch.nearest_in_hull(corners, np.zeros(2), np.random.RandomState(0))
    assert found == pytest.approx([0.5, 0.5], abs=0.02)


@pytest.fixture
def band():
    """Rows, scores, how many are inside, and the direction of the face they touch."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    w = np.array([0.6, 0.0, 0.8])
    X[:100] += np.outer(np.maximum(0.1 - X[:100] @ w, 0.0), w)
    return X, X @ w - 0.1, 100, w


def test_weights_have_their_sums(pch, band):
    a, _ = pch.weigh(*band, np.zeros(200), 4.0, 1e-4)
    y, p, qy = pch.sigmoids(*band[1:3], 4.0)
    for factor, total in ((y, 0), (1.0, 2), (p, 1), (qy, 0)):
        assert (a * factor).sum() == pytest.approx(total, abs=1e-9)


def test_the_slope_is_that_of_the_criterion(pch, band):
    X, _, m, w = band
    a, slope = pch.weigh(*band, np.zeros(200), 4.0, 1e-4)

    def criterion(w):
        y, p, _ = pch.sigmoids(X @ (w / np.linalg.norm(w)) - 0.1, m, 4.0)
        return ((a * y) @ p) ** 2

    expected = [(criterion(w + e) - criterion(w - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    assert slope == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_falling_weights_are_the_nearest(pch):
    random = np.random.default_rng(0)
    a, order = random.random(50), random.permutation(50)
    expected = isotonic_regression(a[order], increasing=False).x
    pch.fall(a, order)
    assert a[order] == pytest.approx(expected)


def test_bad_labels(machine):
    X, y = square()
    with pytest.raises(ValueError, match="two classes"):
        machine.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="inside must be one of"):
        machine.set_params(inside=7).fit(X, y)


@pytest.mark.parametrize(("name", "value"), [
    ("n_hyperplanes", 0), ("n_hyperplanes", 2.5), ("rounds", 0), ("steps", -1),
    ("steepness", 0.0), ("band", -0.1), ("step_size", np.nan), ("weight_step", "much"),
])  # fmt: skip
def test_bad_parameters(machine, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        machine.set_params(**{name: value}).fit(*square())


@pytest.mark.parametrize("known", [None, 3])
def test_as_a_contender(benchmark, known):
    contenders = benchmark("contenders")
    made = contenders.make("pch", contenders.Problem(2, known, 0))
    grid = {name.rpartition("__")[2] for name in made.grid}
    assert grid == {"band", "inside"} | ({"n_hyperplanes"} if known is None else set())
    assert known is None or made.model[-1].n_hyperplanes == known
    made.model.set_params(**{name: values[0] for name, values in made.grid.items()})

"""The Convex Polytope Machine of the benchmarks: a peer must be able to learn."""

import numpy as np
import pytest
from sklearn.base import clone

from common import square


@pytest.fixture
def machine(benchmark):
    return benchmark("cpm").ConvexPolytopeMachine(4, C=100.0, epochs=100, random_state=0)


def test_it_learns_a_square(machine):
    X, y = square(600)
    machine.fit(X[:300], y[:300])
    assert machine.score(X[:300], y[:300]) > 0.98
    assert machine.score(X[300:], y[300:]) > 0.95
    assert machine.coef_.shape == (4, 2)
    inside = (X @ machine.coef_.T + machine.intercept_ <= 0).all(axis=1)
    assert (machine.predict(X) == inside).all()


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
    assert (clone(machine).set_params(random_state=1).fit(X, y).coef_ != first).any()


def test_one_hyperplane_is_a_linear_machine(machine):
    X, _ = square()
    y = np.where(X @ [1.0, 2.0] > 0.3, 1, -1)
    assert machine.set_params(n_hyperplanes=1).fit(X, y).score(X, y) > 0.98


@pytest.mark.parametrize(("counts", "bound", "chosen"), [
    ([5, 5, 0], 0.0, 0),  # no bound: the best
    ([5, 5, 0], 0.9, 2),  # only a row for the last raises the entropy
    ([3, 3, 3], 0.9, 0),  # even after one more
])  # fmt: skip
def test_the_bound_on_entropy_gives_rows_to_idle_hyperplanes(benchmark, counts, bound, chosen):
    scores = np.array([2.0, 1.0, -3.0])
    found = benchmark("cpm").choose(scores, np.array(counts, dtype=float), bound * np.log(3))
    assert found == chosen


def test_bad_labels(machine):
    X, y = square()
    with pytest.raises(ValueError, match="two classes"):
        machine.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="inside must be one of"):
        machine.set_params(inside=7).fit(X, y)


@pytest.mark.parametrize("known", [None, 3])
def test_as_a_contender(benchmark, known):
    contenders = benchmark("contenders")
    made = contenders.make("cpm", contenders.Problem(2, known, 0))
    grid = {name.rpartition("__")[2] for name in made.grid}
    assert grid == {"C", "inside"} | ({"n_hyperplanes"} if known is None else set())
    assert known is None or made.model[-1].n_hyperplanes == known
    made.model.set_params(**{name: values[0] for name, values in made.grid.items()})

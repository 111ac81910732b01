"""The shipped cycles: separable rows on which the learner itself never converges."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from polyceptron import OnlinePolyceptron
from polyceptron.datasets import load_cycle
from polyceptron.paper.convergence import exact
from polyceptron.paper.convergence.exact import shipped_cycle

VARIANTS = {"smallest": {}, "no ties": {"ties": False}, "trap": {"trap": True}}


def learn(bunch, max_iter, **options):
    model = OnlinePolyceptron(
        2, init=bunch.start, n_init=1, standardize=False, pocket=False, max_iter=max_iter, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(bunch.data, bunch.target)


@pytest.mark.parametrize("variant", VARIANTS)
class TestCycle:
    def test_learner_comes_back(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        model = learn(bunch, 50 * bunch.cycle_length, shuffle=False)
        first = learn(bunch, bunch.cycle_length, shuffle=False).history_["updates"]
        np.testing.assert_array_equal(model.history_["updates"], np.tile(first, 50))
        assert not model.converged_
        assert (model.history_["updates"] > 0).all()
        # Never all rows right: at no end of a pass, in the paper's own stopping rule.
        assert (learn(bunch, 1, shuffle=False).predict(bunch.data) != bunch.target).any()

    def test_is_separable_and_goes_round_as_the_search_says(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        inside = bunch.polyhedron.contains(bunch.data)
        np.testing.assert_array_equal(inside, bunch.target == 1)
        assert bunch.polyhedron.n_faces == bunch.n_hyperplanes == len(bunch.start)
        found = exact.follow(*shipped_cycle(variant)[:2])
        assert found == (bunch.cycle_length, variant == "smallest")
        assert "3 points" in bunch.DESCR

    def test_shuffled(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        converged = [
            learn(bunch, 100, shuffle=True, random_state=seed).converged_ for seed in range(20)
        ]
        chain = exact.explore(*shipped_cycle(variant)[:2], passes=True)
        if variant == "smallest":
            assert 0 < chain.p_never < 1
            assert 0 < sum(converged) < 20
        else:
            assert chain.p_never == (variant == "trap")
            assert set(converged) == {variant == "no ties"}

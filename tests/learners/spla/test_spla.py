"""SPLA1 and SPLA2: a likelihood that never falls, K found."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_info, threadpool_limits

import naive
from common import fit
from polyceptron.data.blocks import ArrayBlocks, frozen, kernel_rows
from polyceptron.datasets import load_breast_cancer, make_dataset1, make_dataset2
from polyceptron.learners.spla import spla1, spla2
from polyceptron.learners.spla.spla1 import SPLA1
from polyceptron.learners.spla.spla2 import SPLA2
from polyceptron.optim import solver
from polyceptron.optim.planes import Planes
from polyceptron.utils.blas import ONE_BLAS_THREAD

LEARNERS = [SPLA1, SPLA2]
learners = pytest.mark.parametrize("learner", LEARNERS)


# --- data ---------------------------------------------------------------------------------


def square(n=300, d=2, seed=0, noise=0.05):
    """Inside a box about the middle of d columns and outside of it, some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    y = (np.abs(X).max(axis=1) < 2 * 0.5 ** (1 / d)).astype(int)
    return X, np.where(rng.random(n) < noise, 1 - y, y)


def linear(n=600, d=5, seed=0):
    """Labels drawn from a logistic model with one hyperplane."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = 3 * (X @ rng.standard_normal(d)) + 0.5
    return X, (score + rng.logistic(size=n) > 0).astype(int)


X_SQUARE, Y_SQUARE = square()


def quick(learner, **parameters):
    own = {"n_hyperplanes": 3} if learner is SPLA1 else {"max_hyperplanes": 4}
    return learner(**(own | {"n_init": 2, "random_state": 0} | parameters))


def case(K, d, n, size=1.0):
    rng = np.random.default_rng([K, d, n])
    X = rng.standard_normal((n, d)).astype(np.float32).astype(float)  # the same in float32
    X[rng.random((n, d)) < 0.3] = 0
    y = frozen(rng.choice([-1, 1], n).astype(np.int8))
    W, b = size * rng.standard_normal((K, d)), size * rng.standard_normal(K)
    return X, y, frozen(rng.random(n) + 0.5), W, b


def test_statistics_add_up_in_block_order():
    X, y, weight, W, b = case(3, 4, 301)
    planes = Planes.of(W, b)
    totals = []
    for n_threads in (1, 2):
        data = ArrayBlocks(kernel_rows(X), y, weight, 4, n_threads=n_threads, block_rows=37)
        found, sets = spla1.share_out(data, planes)
        here = data.reduce(partial(spla1.in_sets, planes, 4, sets))
        assigned = np.concatenate([sets.of(block) for block in data])
        totals.append([found, here.totals, here.G, here.g, assigned])
        assert here.totals[0] == pytest.approx(found[:, 0].sum(), rel=1e-13)
    for one, other in zip(*totals, strict=True):
        np.testing.assert_array_equal(one, other)
    assigned, by_set = naive.likelihood_block(X, y, weight, W, b)
    np.testing.assert_array_equal(totals[0][-1], assigned)
    np.testing.assert_allclose(totals[0][0], by_set, rtol=1e-12)
    assert found[:, 1].sum() == pytest.approx(by_set[:, 1].sum())


# --- the log-likelihood ---------------------------------------------------------------------


def objective(model, X, y, weight=None):
    """What is said to be maximised, from the fitted model alone."""
    weight = np.ones(len(y)) if weight is None else weight
    sign = np.where(y == model.inside_, 1, -1)
    spread = X.std(axis=0) if model.standardize else np.ones(X.shape[1])
    penalty = ((model.coef_ * spread) ** 2).sum() / (2 * model.C)
    return weight @ log_expit(sign * model.polyhedron_.decision(X)) - penalty


class TestLogLikelihood:
    @learners
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("inside", [0, 1])
    def test_is_what_it_is_said_to_be(self, learner, standardize, inside):
        X = X_SQUARE * [1, 3] + [2, -1]
        model = quick(learner, standardize=standardize, inside=inside, C=2.5)
        fit(model, X, Y_SQUARE)
        assert model.objective_ == pytest.approx(objective(model, X, Y_SQUARE), rel=1e-9)
        loss = log_loss(Y_SQUARE, model.predict_proba(X), normalize=False)
        assert model.log_likelihood_ == pytest.approx(-loss, rel=1e-9)
        assert model.log_likelihood_ > model.objective_
        for name in ("objective", "log_likelihood"):
            assert model.history_[name][-1] == getattr(model, f"{name}_")
            assert len(model.history_[name]) == model.n_iter_
        mistakes = (model.predict(X) != Y_SQUARE).sum()
        assert model.history_["mistakes"][-1] == mistakes

    @given(
        seed=st.integers(0, 10_000),
        K=st.integers(1, 6),
        d=st.integers(1, 5),
        C=st.sampled_from([0.01, 1.0, 1e4]),
        inner_steps=st.sampled_from([1, 5, 20]),
        whole=st.booleans(),
    )
    @settings(max_examples=10)
    def test_never_falls(self, seed, K, d, C, inner_steps, whole):
        """Random labels, rows that tie, any strength of penalty."""
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (40, d)).astype(float) if whole else rng.standard_normal((40, d))
        y = rng.permutation(np.arange(40) % 2)
        model = SPLA1(K, C=C, inner_steps=inner_steps, tol=0, max_iter=12, n_init=1)
        fit(model.set_params(random_state=seed), X, y)
        values = model.history_["objective"]
        assert (np.diff(values) >= 0).all()
        assert model.n_iter_ == len(values)
        assert (np.diff(values)[:-1] > 0).all()  # only the last step may gain nothing

    def test_steps_that_would_lower_it_are_taken_back(self, monkeypatch):
        """They exist: without the halving this run would fall."""
        X, y = load_breast_cancer(return_X_y=True)
        model = SPLA1(2, inner_steps=20, n_init=1, tol=0, max_iter=20, random_state=0)
        evaluated = []
        original = spla1._evaluated_likelihood

        def spy(*arguments):
            evaluated.append(original(*arguments))
            return evaluated[-1]

        monkeypatch.setattr(spla1, "_evaluated_likelihood", spy)
        fit(model, X, y)
        values = [state.value for state in evaluated]
        assert (np.diff(values) < 0).any()
        assert (np.diff(model.history_["objective"]) >= 0).all()

    def test_best_start_has_the_fewest_mistakes(self):
        X, y = make_dataset2(random_state=0, return_X_y=True)
        scores = [
            SPLA1(4, n_init=n_init, random_state=0).fit(X, y).score(X, y) for n_init in (1, 2, 4)
        ]
        assert scores == sorted(scores)
        assert scores[-1] > scores[0]

    def test_tol(self):
        rough, fine = (
            quick(SPLA1, n_init=1, tol=tol).fit(X_SQUARE, Y_SQUARE) for tol in (1e-2, 1e-6)
        )
        assert rough.n_iter_ < fine.n_iter_
        values = fine.history_["objective"]
        n = rough.n_iter_
        np.testing.assert_array_equal(values[:n], rough.history_["objective"])
        gains = np.diff(values) / np.abs(values[1:])
        assert (gains[: n - 2] > 1e-2).all()
        assert gains[n - 2] <= 1e-2

    @pytest.mark.parametrize("C", [0.1, 10.0])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_one_hyperplane_is_logistic_regression(self, C, weighted):
        X, y = linear()
        weight = np.random.default_rng(0).random(600) if weighted else None
        model = SPLA1(1, C=C, tol=1e-13, inner_steps=50, standardize=False)
        model.fit(X, y, sample_weight=weight)
        other = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-4)
        np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-4)
        np.testing.assert_allclose(
            model.predict_proba(X), other.predict_proba(X), rtol=1e-3, atol=1e-7
        )

    def test_rank_is_by_mistakes_then_likelihood(self):
        worst, better, best = (
            SPLA1()._rank(
                None, spla1.LogisticState(np.zeros((1, 2)), 1.0, value, value, mistakes, [])
            )
            for value, mistakes in [(-1.0, 5.0), (-3.0, 0.0), (-2.0, 0.0)]
        )
        assert best < better < worst
        assert best > solver.Rank(0.0, 0.0)  # never so good that other starts are left out


# --- probabilities --------------------------------------------------------------------------


@learners
class TestProbabilities:
    @pytest.mark.parametrize("inside", [0, 1])
    def test_agree_with_everything(self, learner, inside):
        labels = ["no", "yes"]
        y = np.array(labels)[Y_SQUARE]
        model = fit(quick(learner, inside=labels[inside]), X_SQUARE, y)
        P = model.predict_proba(X_SQUARE)
        assert P.shape == (300, 2)
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X_SQUARE))
        score = model.decision_function(X_SQUARE)
        np.testing.assert_allclose(P[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-12)
        h = model.polyhedron_.decision(X_SQUARE)
        np.testing.assert_allclose(P[:, inside], 1 / (1 + np.exp(-h)), rtol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X_SQUARE)), P, rtol=1e-12)

    def test_constant_rows_have_the_shares_of_the_classes(self, learner):
        X, y = np.ones((40, 2)), np.arange(40) % 4 == 0
        for standardize in (True, False):
            model = fit(quick(learner, standardize=standardize, tol=1e-9), X, y)
            share = 0.25
            np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, atol=0.02)

    def test_calibrated_on_its_own_model(self, learner):
        X, y = linear(2000)
        own = {"n_hyperplanes": 1} if learner is SPLA1 else {"max_hyperplanes": 1}
        P = learner(**own, random_state=0).fit(X, y).predict_proba(X)[:, 1]
        for low in np.arange(0, 1, 0.2):
            rows = np.abs(P - low - 0.1) < 0.1
            assert abs(P[rows].mean() - y[rows].mean()) < 0.05


# --- the learners ---------------------------------------------------------------------------


def test_blas_gets_its_threads_back():
    """However many threads are in there: the first limits, the last lifts the limit."""

    def n_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = n_threads()
        fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        with ONE_BLAS_THREAD:
            assert set(n_threads()) == {1}
            fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
            assert set(n_threads()) == {1}
        assert n_threads() == before


def test_weights_are_repetitions():
    """Equal but for rounding, which the steps make larger."""
    weight = np.random.default_rng(0).integers(1, 4, 300)
    once = quick(SPLA1).fit(X_SQUARE, Y_SQUARE, sample_weight=weight)
    rows = np.repeat(np.arange(300), weight)
    often = quick(SPLA1).fit(X_SQUARE[rows], Y_SQUARE[rows])
    np.testing.assert_allclose(once.coef_, often.coef_, rtol=1e-6)
    assert once.log_likelihood_ == pytest.approx(often.log_likelihood_, rel=1e-9)


# --- bad input ------------------------------------------------------------------------------


def test_nothing_to_hold_out():
    with pytest.raises(ValueError, match=r"validation_fraction=0.2 .*n_samples=2"):
        SPLA2().fit([[0.0], [1.0]], [0, 1])


# --- how many hyperplanes -------------------------------------------------------------------


def held_out(X, y, fraction, weight=None):
    weight = np.empty(0) if weight is None else weight
    data = ArrayBlocks(kernel_rows(X), y.astype(np.int8), weight, X.shape[1])
    model, random = SPLA2(validation_fraction=fraction), np.random.RandomState(0)
    return model._held_out(data, spla2._groups_of_equal_rows(data), random)


class TestHowMany:
    def test_one_for_a_linear_model(self):
        learners = [SPLA2(4, n_init=2, random_state=seed) for seed in range(3)]
        found = [one.fit(*linear(seed=s)).n_hyperplanes_ for s, one in enumerate(learners)]
        assert np.median(found) == 1
        assert max(found) <= 2

    @pytest.mark.parametrize(
        ("make", "least", "most", "score"),
        [(make_dataset1, 2, 4, 0.96), (make_dataset2, 3, 5, 0.9)],
    )
    def test_about_as_many_as_the_set_has(self, make, least, most, score):
        found = []
        for seed in range(3):
            X, y = make(random_state=seed, return_X_y=True)
            model = SPLA2(6, n_init=2, random_state=seed).fit(X[:800], y[:800])
            found.append((model.n_hyperplanes_, model.score(X[800:], y[800:])))
        numbers, scores = np.array(found).T
        assert least <= np.median(numbers) <= most
        assert scores.mean() > score

    def test_scores(self):
        patience = 1
        X, y = make_dataset2(random_state=0, return_X_y=True)
        model = SPLA2(20, random_state=1, n_hyperplanes_no_change=patience).fit(X, y)
        scores, K = model.validation_scores_, model.n_hyperplanes_
        best = scores.argmax() + 1
        assert best >= K
        assert len(scores) == best + patience  # so many more were tried, and were no better
        assert (scores < 0).all()
        assert model.coef_.shape == (K, X.shape[1])

    def test_the_least_number_within_a_standard_error(self):
        """Of the difference, over the held-out rows; equal rows are one row, with weights."""
        rng = np.random.default_rng(0)
        weight = rng.integers(1, 4, 50).astype(float)
        held_out = spla2.HeldOut(None, None, weight)
        best, noise = -rng.random(50), rng.standard_normal(50)
        for loss in np.linspace(0, 0.5, 30):
            values = best + noise - loss
            gain = best - values
            mean = (weight * gain).sum() / weight.sum()
            error = np.sqrt((weight**2 * (gain - mean) ** 2).sum()) / weight.sum()
            assert held_out.mean(gain) == pytest.approx(mean)
            assert held_out.as_good(values, best) == (mean <= error)
        assert held_out.as_good(best, best)
        assert not held_out.as_good(np.full(50, -np.inf), best)

    def test_a_box_is_found_although_its_first_faces_gain_nothing(self):
        X = np.random.default_rng(0).uniform(-2, 2, (200, 3))
        y = (np.abs(X).max(axis=1) < 1.5).astype(int)
        model = SPLA2(random_state=0).fit(X, y)
        assert model.n_hyperplanes_ >= 4
        assert model.score(X, y) > 0.85

    def test_most(self):
        X, y = make_dataset2(random_state=0, return_X_y=True)
        message = r"SPLA2 found max_hyperplanes=2 best.* Raise max_hyperplanes"
        with pytest.warns(ConvergenceWarning, match=message) as caught:
            model = SPLA2(max_hyperplanes=2, random_state=1).fit(X, y)
        assert [warning.filename for warning in caught] == [__file__]
        assert model.n_hyperplanes_ == len(model.validation_scores_) == 2
        assert model.converged_

    def test_runs_of_the_search_warn_once(self, monkeypatch):
        """Two of them were cut short here, the last one of all was not."""
        original = solver.run
        calls = []

        def run(*arguments):
            calls.append(None)
            return replace(original(*arguments), converged=len(calls) not in (2, 3))

        monkeypatch.setattr(solver, "run", run)
        message = r"SPLA2 searched .*max_iter=200 iterations \(n_hyperplanes 2, 3\). Raise"
        with pytest.warns(ConvergenceWarning, match=message) as caught:
            model = quick(SPLA2, max_hyperplanes=8).fit(X_SQUARE, Y_SQUARE)
        assert len(caught) == 1
        assert model.converged_

    def test_verbose_tells_the_search_from_the_last_fit(self, capsys):
        model = fit(quick(SPLA2, verbose=1), X_SQUARE, Y_SQUARE)
        said, K = capsys.readouterr().out, model.n_hyperplanes_
        for number, score in enumerate(model.validation_scores_, 1):
            name = f"SPLA2, search, {number} hyperplane{'s' if number > 1 else ''}: "
            assert f"{name}start 1 finished after" in said
            assert f"{name}held-out log-likelihood {score:.6g} a row" in said
        assert f"SPLA2, all rows, {K} hyperplanes: start 1 finished after" in said
        assert "1 hyperplanes" not in said

    def test_no_more_than_rows_to_learn_from(self):
        X, y = np.array([[0.0], [1], [2]]), [0, 1, 0]
        assert fit(SPLA2(random_state=0), X, y).n_hyperplanes_ <= 2

    @pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5, 0.999])
    def test_held_out_rows_are_stratified(self, fraction):
        y = np.where(np.arange(200) < 40, 1, -1)
        held = held_out(np.random.default_rng(0).normal(size=(200, 2)), y, fraction)
        counts = [held[y == sign].sum() for sign in (1, -1)]
        assert counts == [min(max(round(n * fraction), 1), n - 1) for n in (40, 160)]

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_equal_rows_are_held_out_together(self, kind):
        rng = np.random.default_rng(0)
        of_row = np.repeat(np.arange(60), rng.integers(1, 6, 60))
        X, y = rng.integers(0, 4, (60, 3))[of_row].astype(float), np.where(of_row % 2, 1, -1)
        held = held_out(kind(X), y, 0.3)
        for sign in (-1, 1):
            _, groups = np.unique(X[y == sign], axis=0, return_inverse=True)
            both = np.bincount(groups[held[y == sign]], minlength=groups.max() + 1)
            assert set(both / np.bincount(groups)) == {0, 1}
            assert held[y == sign].mean() == pytest.approx(0.3, abs=0.05)

    def test_held_out_share_is_by_weight(self):
        X, y = np.arange(100.0)[:, None], np.where(np.arange(100) % 2, 1, -1)
        weight = np.random.default_rng(0).integers(1, 9, 100).astype(float)
        held = held_out(X, y, 0.2, weight)
        for sign in (-1, 1):
            of_class = weight * (y == sign)
            assert of_class @ held == pytest.approx(0.2 * of_class.sum(), abs=4)

    def test_a_copy_in_every_class_can_still_be_held_out(self):
        held = held_out(np.ones((8, 2)), np.array([1, -1] * 4), 0.2)
        assert held.sum() == 2

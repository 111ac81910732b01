"""BatchPolyceptron against a loop-only run of Algorithm 1, and what the paper says of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from common import assert_equal_models, fit
from polyceptron import BatchPolyceptron, kernels
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.optim.criterion import Sets, gradient_in_sets
from polyceptron.optim.planes import Planes

PAPER = {"step_size": 0.1, "tol": 50, "margin": 0, "n_init": 1, "standardize": False}


def whole_rows(n=60, d=3, seed=0):
    """Whole numbers: with a step of a power of two every sum is exact in any order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n, d)).astype(float)
    y = np.where((np.abs(X).max(axis=1) <= 3) ^ (rng.random(n) < 0.1), 1, -1)
    return X, y


def whole_start(K, d=3, seed=0):
    return np.random.default_rng(seed + 100).integers(-8, 9, (K, d + 1)).astype(float)


def assert_run(model, W, b, history):
    np.testing.assert_array_equal(model.coef_, W)
    np.testing.assert_array_equal(model.intercept_, b)
    assert model.n_iter_ == len(history)
    np.testing.assert_array_equal(model.history_["criterion"], history[:, 0])
    np.testing.assert_array_equal(model.history_["mistakes"], history[:, 1])
    np.testing.assert_allclose(model.history_["gradient_norm"], history[:, 2], rtol=1e-14)
    np.testing.assert_array_equal(model.history_["short"], history[:, 3])


def counts(history):
    """Rows that count, those on the wrong side twice."""
    return history[:, 3] + history[:, 1]


def best_of(history):
    """The iteration of the least count, then the least criterion, the earliest."""
    ranks = list(zip(counts(history), history[:, 0], strict=True))
    return ranks.index(min(ranks))


class TestAlgorithm1:
    @pytest.mark.parametrize(("K", "seed"), [(1, 1), (2, 1), (3, 0), (5, 0)])
    def test_stops_below_tol_and_keeps_the_last_hyperplanes(self, K, seed):
        X, y = whole_rows(seed=seed)
        init = whole_start(K, seed=seed)
        run = {"step": 0.125, "max_iter": 200}
        *_, history = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], tol=0, **run)
        tol = np.nextafter(history[:, 2].min(), np.inf)  # reached late, and only once
        W, b, history = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], tol=tol, **run)
        assert 50 < len(history) < 200
        model = paper(K, init=init, max_iter=200, step_size=0.125, tol=tol).fit(X, y)
        assert model.converged_
        assert_run(model, W, b, history)
        # At tol itself it goes on: the norms must add up to less.
        model = fit(paper(K, init=init, max_iter=200, step_size=0.125, tol=history[-1, 2]), X, y)
        assert model.n_iter_ == 200

    @pytest.mark.parametrize(("K", "inner_steps"), [(1, 2), (2, 1), (3, 5), (5, 2)])
    def test_sixty_iterations_and_the_best_of_them(self, K, inner_steps):
        X, y = whole_rows(seed=K)
        init = whole_start(K, seed=K)
        W, b = init[:, :-1], init[:, -1]
        options = {"step": 0.125, "tol": 0, "inner_steps": inner_steps}
        *_, history = naive.algorithm_1(X, y, W, b, max_iter=60, **options)
        assert len(history) == 60
        W, b, _ = naive.algorithm_1(X, y, W, b, max_iter=best_of(history) + 1, **options)
        model = paper(K, init=init, max_iter=60, step_size=0.125, tol=0, inner_steps=inner_steps)
        fit(model, X, y)
        assert not model.converged_
        assert_run(model, W, b, history)

    @pytest.mark.parametrize("margin", [0.5, 3.0])
    def test_margin_and_weights(self, margin):
        X, y = whole_rows(seed=7)
        weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
        init = whole_start(3)
        run = {"step": 0.125, "tol": 0, "margin": margin, "weight": weight}
        *_, history = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], max_iter=60, **run)
        W, b, _ = naive.algorithm_1(
            X, y, init[:, :-1], init[:, -1], max_iter=best_of(history) + 1, **run
        )
        model = paper(3, init=init, max_iter=60, step_size=0.125, tol=0, margin=margin)
        assert_run(fit(model, X, y, sample_weight=weight), W, b, history)

    def test_paper_settings_on_real_numbers(self):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((200, 4))
        y = np.where((X @ rng.standard_normal((4, 3)) + 1).min(axis=1) >= 0, 1, -1)
        model = paper(3, random_state=5, max_iter=500).fit(X, y)
        start = paper(3, random_state=5, tol=1e9).fit(X, y)  # finished before its first step
        assert start.n_iter_ == 1
        assert not start.intercept_.any()
        W, b, history = naive.algorithm_1(X, y, start.coef_, start.intercept_)
        assert len(history) == model.n_iter_ > 1
        np.testing.assert_allclose(model.coef_, W, rtol=1e-10)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-10)
        np.testing.assert_allclose(model.history_["gradient_norm"], history[:, 2], rtol=1e-10)
        assert model.history_["gradient_norm"][-1] < 50

    def test_one_hyperplane_starts_at_zero(self):
        X, y = whole_rows()
        start = paper(1, tol=1e9).fit(X, y)
        # All rows count at h = 0; those outside are mistakes.
        assert start.history_["mistakes"].tolist() == [(y == -1).sum()]
        assert start.history_["criterion"].tolist() == [0]

    def test_no_row_counts_any_more(self):
        """Done, whatever tol says: there is no gradient left."""
        X, y = np.array([[1.0], [2], [-1], [-2]]), np.array([1, 1, -1, -1])
        model = paper(1, tol=0, max_iter=100).fit(X, y)
        assert model.converged_
        assert model.n_iter_ < 10
        assert model.history_["gradient_norm"][-1] == 0
        assert model.score(X, y) == 1


def paper(K, **others):
    """The paper's algorithm, but for what is said."""
    return BatchPolyceptron(K, **(PAPER | others))


class TestMeaning:
    def test_history_is_of_the_hyperplanes_before_each_step(self):
        X, y = whole_rows()
        init = whole_start(3)
        model = fit(paper(3, init=init, max_iter=5, tol=0), X, y)
        G, g, totals = naive.batch_block(X, y, np.ones(60), init[:, :-1], init[:, -1], 0)
        assert model.history_["criterion"][0] == totals[0]
        assert model.history_["mistakes"][0] == totals[1]
        assert model.history_["gradient_norm"][0] == pytest.approx(naive.gradient_norms(G, g))
        assert set(model.history_) == {"criterion", "mistakes", "short", "gradient_norm"}
        assert all(values.shape == (5,) for values in model.history_.values())

    def test_answer_has_the_mistakes_of_its_best_iteration(self):
        X, y = whole_rows()
        model = fit(paper(3, tol=0, max_iter=50, random_state=0), X, y)
        assert (model.predict(X) != y).sum() == model.history_["mistakes"].min()

    @pytest.mark.parametrize(("margin", "counts"), [(0.999, 0), (1.0, 4), (1.5, 4), (2.0, 8)])
    def test_rows_count_up_to_the_margin(self, margin, counts):
        """y h <= margin counts: a row at the margin itself does."""
        X, y = (
            np.array([[1.0], [1], [-1], [-1], [2], [2], [-2], [-2]]),
            np.array([1, 1, -1, -1] * 2),
        )
        model = fit(paper(1, init=[[1, 0]], margin=margin, max_iter=1), X, y)
        sums = {0: 0, 4: 4, 8: 12}
        assert model.history_["gradient_norm"].tolist() == [sums[counts]]
        criterion = np.maximum(margin - y * X[:, 0], 0).sum()
        assert model.history_["criterion"].tolist() == [pytest.approx(criterion)]
        assert model.history_["mistakes"].tolist() == [0]

    def test_a_row_at_zero(self):
        """h = 0 is inside: it counts for both classes, and is a mistake of the outer one only."""
        X, y = np.zeros((3, 1)), np.array([1, -1, -1])
        model = fit(paper(1, init=[[1, 0]], max_iter=1), X, y)
        assert model.history_["mistakes"].tolist() == [2]
        assert model.history_["gradient_norm"].tolist() == [1]

    def test_ties_go_to_the_first_hyperplane(self):
        X, y = whole_rows()
        init = np.tile(whole_start(1), (3, 1))
        best = fit(paper(3, init=init, tol=0, max_iter=2, step_size=0.125), X, y)
        W, _, history = naive.algorithm_1(
            X, y, init[:, :-1], init[:, -1], step=0.125, tol=0, max_iter=2
        )
        np.testing.assert_array_equal(best.history_["criterion"], history[:, 0])
        assert (W[0] != W[1]).any()
        np.testing.assert_array_equal(W[1], W[2])

    def test_weights_are_repeated_rows(self):
        X, y = whole_rows()
        times = np.random.default_rng(0).integers(0, 4, 60)
        options = {"init": whole_start(3), "tol": 0, "max_iter": 60, "step_size": 0.125}
        weighted = fit(paper(3, **options), X, y, sample_weight=times)
        repeated = fit(paper(3, **options), np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
        for name, values in weighted.history_.items():
            np.testing.assert_allclose(values, repeated.history_[name], rtol=1e-14)

    @pytest.mark.parametrize("n_iter_no_change", [1, 15])
    def test_without_tol_stops_when_the_count_does_not_fall(self, n_iter_no_change):
        X, y = whole_rows()
        init = whole_start(3)
        run = {"step": 0.125, "tol": 0}
        *_, history = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], max_iter=300, **run)
        n_iter = settled(counts(history), n_iter_no_change, at_least=50)
        assert n_iter < 300
        best = best_of(history[:n_iter])
        W, b, _ = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], max_iter=best + 1, **run)
        model = paper(
            3,
            init=init,
            tol=None,
            average=False,
            n_iter_no_change=n_iter_no_change,
            max_iter=300,
            step_size=0.125,
        ).fit(X, y)
        assert model.converged_
        assert_run(model, W, b, history[:n_iter])

    def test_the_mean_since_the_best_if_it_makes_no_more_mistakes(self):
        X, y = whole_rows()
        n_iter_no_change = 4
        took_mean = []
        for seed in range(8):
            init = whole_start(3) + seed
            run = {"step": 0.125, "tol": 0, "margin": 1.0}
            *_, history = naive.algorithm_1(X, y, init[:, :-1], init[:, -1], max_iter=300, **run)
            n_iter = settled(counts(history), n_iter_no_change, at_least=50)
            assert n_iter < 300
            fewest = int(counts(history)[:n_iter].argmin())
            seen = [(init[:, :-1], init[:, -1])]
            while len(seen) < n_iter:
                seen.append(naive.algorithm_1(X, y, *seen[-1], max_iter=2, **run)[:2])
            W, b = (np.mean([pair[i] for pair in seen[fewest:]], axis=0) for i in (0, 1))
            best = best_of(history[:n_iter])
            mistakes = np.sum(((X @ W.T + b).min(axis=1) >= 0) != (y > 0))
            took_mean.append(mistakes <= history[best, 1])
            if not took_mean[-1]:
                W, b = seen[best]
            options = {"tol": None, "n_iter_no_change": n_iter_no_change, "margin": 1.0}
            model = paper(3, init=init, max_iter=300, step_size=0.125, **options).fit(X, y)
            np.testing.assert_allclose(model.coef_, W, rtol=1e-12)
            np.testing.assert_allclose(model.intercept_, b, rtol=1e-12, atol=1e-12)
        assert {True, False} <= set(took_mean)

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_pruning_changes_nothing(self, kind):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((5000, 4))
        y = np.where((X @ rng.standard_normal((4, 3)) + 1).min(axis=1) >= 0, 1, -1)
        options = {"random_state": 0, "tol": 0, "max_iter": 60, "step_size": 1e-4}
        plain, *others = (
            fit(paper(3, prune=prune, **options), kind(X), y) for prune in (False, True, "auto")
        )
        for other in others:
            assert_equal_models(plain, other)


def settled(mistakes, patience, at_least):
    """After how many iterations the fewest mistakes are `patience` iterations old, not too soon."""
    fewest, since = np.inf, 0
    for n_iter, value in enumerate(mistakes, 1):
        fewest, since = (value, 0) if value < fewest else (fewest, since + 1)
        if since >= patience and n_iter >= at_least:
            return n_iter
    raise AssertionError("never")


# --- properties -------------------------------------------------------------------------

WHOLE = st.integers(-5, 5).map(float)


@st.composite
def problems(draw, max_rows=12, max_K=4):
    n, d = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    K = draw(st.integers(1, max_K))
    X = draw(arrays(float, (n, d), elements=WHOLE))
    y = draw(arrays(np.int8, n, elements=st.sampled_from([-1, 1])))
    init = draw(arrays(float, (K, d + 1), elements=WHOLE))
    margin = draw(st.sampled_from([0.0, 1.0]))
    return X, y, init[:, :-1].copy(), init[:, -1].copy(), margin


def longest_step(X, y, W, b, margin, sets, G, g):
    """A step, a power of two, in which no row changes side of the margin in its own set."""
    step = 1.0
    for x, y_i, k in zip(X, y, sets, strict=True):
        room = y_i * (x @ W[k] + b[k]) - margin
        change = y_i * (x @ G[k] + g[k])
        if change * room < 0:
            step = min(step, 0.5 * abs(room / change))
    return 2.0 ** np.floor(np.log2(step))


class TestPaperClaim:
    """With the sets S_k fixed, a small step does not raise the criterion.

    f_k is convex and piecewise linear, so this holds where f_k has a gradient, that is where no
    row of S_k has y h equal to the margin; there it falls by exactly step * |gradient|^2 until
    the first row changes side. At a kink a sum over rows that count is one subgradient of many,
    and minus a subgradient may point uphill: see test_not_at_a_kink.
    """

    @given(problems(), st.integers(1, 4))
    @settings(max_examples=80)
    def test_inner_steps_go_downhill(self, problem, n_steps):
        X, y, W, b, margin = problem
        n, ones = len(y), np.ones(len(y))
        data = ArrayBlocks(kernel_rows(X), y, np.empty(0), X.shape[1])
        planes = Planes.of(W, b)
        sets = Sets(planes, data)
        (assigned,) = (sets.of(block) for block in data)
        assume(all(y[i] * s != margin for i, s in enumerate(naive.decide(X, W, b))))
        here = gradient_in_sets(data, planes, margin, sets)
        step = longest_step(X, y, W, b, margin, assigned, here.G, here.g) / n_steps
        before = naive.frozen_criterion(X, y, ones, W, b, margin, assigned)
        for _ in range(n_steps):
            here = gradient_in_sets(data, planes, margin, sets)
            panel, bias = kernels.descend(planes.panel, planes.bias, here.G, here.g, step, step)
            planes = Planes(panel, bias, planes.K)
            after = naive.frozen_criterion(X, y, ones, *planes.arrays(), margin, assigned)
            fall = [step * (G @ G + c * c) for G, c in zip(here.G, here.g, strict=True)]
            np.testing.assert_allclose(np.subtract(before, after), fall, rtol=1e-9, atol=1e-9)
            assert sum(after) <= sum(before) + 1e-9 * n
            before = after

    @given(problems(max_K=1))
    @settings(max_examples=50)
    def test_fit_goes_downhill_with_one_hyperplane(self, problem):
        """S_1 is always all rows, so the learner itself must keep the claim."""
        X, y, W, b, margin = problem
        assume(len(set(y)) == 2)
        sets = np.zeros(len(y), int)
        assume(all(y[i] * s != margin for i, s in enumerate(naive.decide(X, W, b))))
        G, g, _ = naive.batch_block(X, y, np.ones(len(y)), W, b, margin)
        assume(G.any() or g.any())
        step = longest_step(X, y, W, b, margin, sets, G, g) / 4
        init = np.column_stack([W, b])
        model = fit(paper(1, init=init, margin=margin, tol=0, step_size=step, max_iter=5), X, y)
        falls = -np.diff(model.history_["criterion"])
        np.testing.assert_allclose(falls, step * (G[0] @ G[0] + g[0] ** 2), rtol=1e-9)

    def test_not_at_a_kink(self):
        """Two rows are right by nothing: the criterion is 0, and a step along G raises it."""
        X, y = np.array([[1.0, 0], [-9, 0], [0, -100]]), np.array([1, 1, -1])
        model = fit(paper(1, init=[[0, 1, 0]], tol=0, step_size=0.125, max_iter=2), X, y)
        # G is [-8, 0] and g is 2: the first row goes to -6 steps.
        assert model.history_["criterion"].tolist() == [0, 0.75]


class TestThreads:
    @given(
        problems(max_rows=40),
        st.integers(1, 9),
        st.sampled_from([0.1, 0.3]),
        st.booleans(),
        st.sampled_from([False, True]),
    )
    @settings(max_examples=30)
    def test_same_bits_on_one_or_two(self, problem, block_rows, step, standardize, prune):
        """Row order and block size being equal; sums of thirds, whose order would show."""
        X, y, W, b, margin = problem
        assume(len(set(y)) == 2)
        assume(len(W) <= len(y))
        init = np.column_stack([W, b])
        options = {"init": init, "step_size": step, "margin": margin}
        options |= {"standardize": standardize, "prune": prune}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("polyceptron.data.blocks.ROWS_WORTH_THREADS", 1)
            patch.setitem(ArrayBlocks.__init__.__kwdefaults__, "block_rows", block_rows)
            one, two = (
                fit(paper(len(W), n_jobs=n_jobs, tol=0, max_iter=8, **options), X / 3, y)
                for n_jobs in (1, 2)
            )
        assert_equal_models(one, two)

"""OnlinePolyceptron against the perceptron, a loop-only run of Algorithm 2, and as a stream."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron

import naive
from common import fit, snapshot
from polyceptron import OnlinePolyceptron, kernels
from polyceptron.datasets import load_breast_cancer, make_dataset1


def paper(K=3, **others):
    """Algorithm 2 as printed, with our errata."""
    settings = {"shuffle": False, "pocket": False, "n_init": 1, "standardize": False, "margin": 0}
    return OnlinePolyceptron(K, **({"random_state": 0} | settings | others))


def assert_same_hyperplanes(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


def whole_rows(n=60, d=3, seed=0, wrong=0.1):
    """Whole numbers: every sum is exact in any order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n, d)).astype(float)
    y = np.where((np.abs(X).max(axis=1) <= 3) ^ (rng.random(n) < wrong), 1, -1)
    return X, y


def whole_start(K, d=3, seed=0):
    return np.random.default_rng(seed + 100).integers(-8, 9, (K, d + 1)).astype(float)


# --- the perceptron -------------------------------------------------------------------


def perceptron_sets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    side = np.where(X @ rng.standard_normal(5) > 0.3, 1, 0)
    yield "separable", X, side
    yield "not separable", X, np.where(rng.random(300) < 0.2, 1 - side, side)
    order = np.argsort(side)
    yield "outside first", X[order], side[order]
    yield "inside first", X[order[::-1]], side[order[::-1]]
    yield "one column", X[:, :1], side
    yield "zeros among the rows", X * (rng.random(X.shape) < 0.5), side
    yield "far from zero", X * 100 + 1000, side
    cancer, label = load_breast_cancer(return_X_y=True)
    yield "breast cancer", cancer, label
    yield "breast cancer in float32", cancer.astype(np.float32), label
    yield "breast cancer, labels turned", cancer, -label.astype(int)
    yield "words", X, np.array(["no", "yes"])[side]


PERCEPTRON_SETS = [pytest.param(X, y, id=name) for name, X, y in perceptron_sets()]


@pytest.mark.parametrize(("X", "y"), PERCEPTRON_SETS)
def test_one_hyperplane_is_the_perceptron(X, y):
    """With everything else at its default, equal to the last bit."""
    model = fit(OnlinePolyceptron(n_hyperplanes=1, shuffle=False, max_iter=20), X, y)
    peer = fit(Perceptron(shuffle=False, tol=None, max_iter=20), X, y)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    np.testing.assert_array_equal(model.intercept_, peer.intercept_)
    np.testing.assert_array_equal(model.classes_, peer.classes_)
    on_a_face = peer.decision_function(X) == 0  # inside for us, outside there
    np.testing.assert_array_equal(model.predict(X)[~on_a_face], peer.predict(X)[~on_a_face])


def test_weights_are_the_perceptrons():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    class_weight = dict(zip(np.unique(y).tolist(), [1.0, 3.0], strict=True))
    options = {"shuffle": False, "max_iter": 5, "class_weight": class_weight}
    model = fit(OnlinePolyceptron(1, **options), X, y, sample_weight=weight)
    peer = Perceptron(tol=None, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    np.testing.assert_array_equal(model.intercept_, peer.intercept_)


# --- Algorithm 2 ----------------------------------------------------------------------


class TestAlgorithm2:
    @pytest.mark.parametrize(("K", "margin"), [(1, 2), (2, 0), (3, 2), (5, 0)])
    def test_equals_the_naive_run(self, K, margin):
        X, y = whole_rows(seed=K)
        init = whole_start(K, seed=K)
        W, b, history = naive.algorithm_2(
            X, y, init[:, :-1], init[:, -1], step=0.5, max_iter=60, margin=margin
        )
        model = fit(paper(K, init=init, step_size=0.5, max_iter=60, margin=margin), X, y)
        np.testing.assert_array_equal(model.coef_, W)
        np.testing.assert_array_equal(model.intercept_, b)
        np.testing.assert_array_equal(model.history_["mistakes"], history[:, 0])
        np.testing.assert_array_equal(model.history_["updates"], history[:, 1])
        assert model.n_iter_ == len(history) == 60

    def test_stops_after_a_pass_without_mistakes(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        X, y = X[:100], y[:100]
        model = paper(3, random_state=3, max_iter=3000).fit(X, y)
        assert model.converged_
        mistakes = model.history_["mistakes"]
        assert len(mistakes) == model.n_iter_ < 3000
        assert mistakes[-1] == 0
        assert (model.history_["updates"][:-1] > 0).all()
        assert model.score(X, y) == 1

    def test_not_converged(self):
        X, y = whole_rows(wrong=0.3)
        with pytest.warns(ConvergenceWarning, match=r"max_iter=4 .*average=True"):
            model = paper(2, max_iter=4).fit(X, y)
        assert not model.converged_
        assert model.n_iter_ == 4

    def test_a_row_at_zero_moves_the_hyperplane(self):
        """As in the perceptron, y h = 0 counts; it is a mistake only of the outer class."""
        for y, moved in ([1, -1], [1, 1, 1]), ([-1, 1], [1, -1, -1]):
            X = np.array([[0.0, 1], [5 * y[1], 0]])  # the second row is right in any case
            model = fit(paper(1, init=[[1, 0, 0]], max_iter=1), X, y)
            assert [*model.coef_[0], *model.intercept_] == moved
            assert model.history_["updates"].tolist() == [1]
            assert model.history_["mistakes"].tolist() == [y[0] == -1]


class TestShuffle:
    def test_passes_use_different_orders(self, monkeypatch):
        orders, shuffle = [], kernels.shuffle

        def watched(order, seed):
            shuffle(order, seed)
            orders.append(tuple(order))

        monkeypatch.setattr(kernels, "shuffle", watched)
        X, y = whole_rows()
        fit(paper(2, shuffle=True, max_iter=5, n_init=2), X, y)
        assert len(orders) == 10
        assert len(set(orders)) == 10
        assert all(sorted(order) == list(range(60)) for order in orders)

    def test_stream_is_never_shuffled(self):
        X, y = whole_rows()
        one, other = (
            paper(2, shuffle=shuffle).partial_fit(X, y, classes=[-1, 1])
            for shuffle in (True, False)
        )
        assert_same_hyperplanes(one, other)


class TestPocket:
    X, Y = whole_rows(n=200, wrong=0.2)

    def test_keeps_the_best_pass(self):
        """The same passes with and without a pocket: the best of them, and the last."""
        options = {"init": whole_start(3), "max_iter": 20, "n_iter_no_change": 1000}
        scores = []
        for max_iter in range(1, 21):
            last = fit(paper(3, **(options | {"max_iter": max_iter})), self.X, self.Y)
            scores.append(last.score(self.X, self.Y))
        best = fit(paper(3, pocket=True, **options), self.X, self.Y)
        assert best.score(self.X, self.Y) == max(scores) > scores[-1]
        assert best.n_iter_ == 20

    def test_auto_is_as_shuffle(self):
        for shuffle in (True, False):
            options = {"shuffle": shuffle, "max_iter": 20}
            auto, plain = (
                fit(paper(3, pocket=pocket, **options), self.X, self.Y)
                for pocket in ("auto", shuffle)
            )
            assert_same_hyperplanes(auto, plain)

    def test_stops_when_settled(self):
        model = paper(3, pocket=True, n_iter_no_change=5, max_iter=1000).fit(self.X, self.Y)
        assert model.converged_
        assert 5 < model.n_iter_ < 1000
        assert model.history_["updates"][-1] > 0

    def test_weighted_mistakes_count(self):
        """The heavy class has no mistakes if that can be had."""
        model = fit(
            paper(3, shuffle=True, pocket=True, class_weight={1: 1000, -1: 1}, max_iter=100),
            self.X, self.Y,
        )  # fmt: skip
        assert (model.predict(self.X[self.Y == 1]) == 1).all()


class TestAverage:
    @pytest.mark.parametrize("K", [1, 3])
    def test_is_the_mean_of_the_hyperplanes_after_each_row(self, K):
        X, y = whole_rows()
        init = whole_start(K)
        W, b, *_ = naive.online_pass(
            X, y, np.ones(60), range(60), init[:, :-1], init[:, -1], 1, 1, 0, average=True
        )
        model = fit(paper(K, init=init, average=True, max_iter=1), X, y)
        np.testing.assert_allclose(model.coef_, W, rtol=1e-12)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-12, atol=1e-12)
        stream = paper(K, init=init, average=True).partial_fit(X, y, classes=[-1, 1])
        assert_same_hyperplanes(stream, model)

    def test_weights_and_shuffle(self):
        X, y = whole_rows()
        init = whole_start(3)
        weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
        W, b, *_ = naive.online_pass(
            X, y, weight, range(60), init[:, :-1], init[:, -1], 1, 1, 0, average=True
        )
        model = fit(paper(3, init=init, average=True, max_iter=1), X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, W, rtol=1e-12)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-12, atol=1e-12)

    def test_separable_rows_end_without_mistakes(self):
        """With a pocket the answer has none, even while the mean still has."""
        X, y = make_dataset1(random_state=0, return_X_y=True)
        options = {"shuffle": True, "average": True, "n_iter_no_change": 1000, "max_iter": 1000}
        model = paper(3, pocket=True, **options).fit(X, y)
        assert model.history_["updates"][-1] == 0
        assert model.score(X, y) == 1


# --- streams --------------------------------------------------------------------------


class TestPartialFit:
    X, Y = whole_rows(n=200)

    def stream(self, model, *edges, kind=np.asarray):
        for rows in np.split(np.arange(len(self.Y)), edges):
            model.partial_fit(kind(self.X[rows]), self.Y[rows], classes=[-1, 1])
        return model

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    @pytest.mark.parametrize("edges", [(1, 2, 3), (7, 50, 51, 199)])
    def test_chunks_are_all_rows_at_once(self, edges, kind):
        whole, parts = self.stream(paper()), self.stream(paper(), *edges, kind=kind)
        assert_same_hyperplanes(whole, parts)
        assert parts.n_iter_ == len(edges) + 1

    @pytest.mark.parametrize("weight", [None, np.arange(200) % 3])
    def test_a_class_of_no_weight_is_not_there(self, weight):
        found = paper(average=True, class_weight={-1: 0.0})
        found.partial_fit(self.X, self.Y, classes=[-1, 1], sample_weight=weight)
        kept = self.Y == 1
        expected = paper(average=True).partial_fit(
            self.X[kept],
            self.Y[kept],
            classes=[-1, 1],
            sample_weight=None if weight is None else weight[kept],
        )
        assert_same_hyperplanes(found, expected)

    def test_equals_the_naive_pass(self):
        init = whole_start(3)
        W, b, mistakes, updates = naive.online_pass(
            self.X, self.Y, np.ones(200), range(200), init[:, :-1], init[:, -1], 1, 1, 0
        )
        model = self.stream(paper(init=init))
        np.testing.assert_array_equal(model.coef_, W)
        np.testing.assert_array_equal(model.intercept_, b)
        assert model.history_["mistakes"].tolist() == [mistakes]
        assert model.history_["updates"].tolist() == [updates]

    def test_history_does_not_grow(self):
        model = self.stream(paper())
        size = len(pickle.dumps(model))
        for _ in range(50):
            self.stream(model)
        assert len(pickle.dumps(model)) < size + 100
        assert model.n_iter_ == 51
        assert {len(values) for values in model.history_.values()} == {1}

    def test_goes_on_after_fit_at_its_answer(self):
        """Also where the answer is a mean or comes out of the pocket."""
        for settings in ({"average": True}, {"pocket": True}):
            model = fit(paper(max_iter=3, **settings), self.X, self.Y)
            init = np.column_stack([model.coef_, model.intercept_])
            expected = self.stream(paper(init=init, **settings))
            assert_same_hyperplanes(model.partial_fit(self.X, self.Y), expected)

    def test_standardized_by_the_first_rows(self):
        X = self.X * [100, 1, 0.01] + [3, 0, 0]
        model = paper(standardize=True).partial_fit(X[:50], self.Y[:50], classes=[-1, 1])
        mean, spread = X[:50].mean(axis=0), X[:50].std(axis=0)
        plain = paper().partial_fit((X[:50] - mean) / spread, self.Y[:50], classes=[-1, 1])
        for rows in (slice(50, 90), slice(90, 200)):
            model.partial_fit(X[rows], self.Y[rows])
            plain.partial_fit((X[rows] - mean) / spread, self.Y[rows])
        np.testing.assert_allclose(model.coef_, plain.coef_ / spread, rtol=1e-9)
        np.testing.assert_allclose(
            model.decision_function(X), plain.decision_function((X - mean) / spread), rtol=1e-6
        )

    def test_fit_forgets_the_stream(self):
        model = self.stream(paper(max_iter=2))
        assert_same_hyperplanes(fit(model, self.X, self.Y), fit(paper(max_iter=2), self.X, self.Y))
        assert model.n_iter_ == 2

    def test_zero_weights_are_no_rows(self):
        weight = np.arange(200) % 3
        model = paper().partial_fit(self.X, self.Y, classes=[-1, 1], sample_weight=weight)
        kept = weight > 0
        expected = paper().partial_fit(
            self.X[kept], self.Y[kept], classes=[-1, 1], sample_weight=weight[kept]
        )
        assert_same_hyperplanes(model, expected)

    def test_weights_of_classes(self):
        weights = {-1: 2.0, 1: 4.0}
        model = self.stream(paper(class_weight=weights), 30, 31)
        by_row = np.where(self.Y == 1, 4.0, 2.0)
        expected = paper().partial_fit(self.X, self.Y, classes=[-1, 1], sample_weight=by_row)
        assert_same_hyperplanes(model, expected)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"X": X[:, :2]}, "X has 2 features, but OnlinePolyceptron is expecting 3"),
            ({"y": np.full(200, 5)}, r"y has the label .*5.*classes \[-1, 1\]"),
            ({"y": np.where(Y == 1, "a", "b")}, r"y has the label .*'a'.*classes \[-1, 1\]"),
            ({"y": Y[:5]}, r"inconsistent.*\[200, 5\]"),
            ({"classes": [-1, 2]}, r"classes=\[-1, 2\] .*\[-1, 1\]"),
            ({"classes": [-1, 0, 1]}, "3 classes"),
            ({"classes": [1]}, r"1 class.*\[1\]"),
            ({"X": np.where(X == 4, np.nan, X)}, "NaN"),
            ({"X": sp.csr_matrix(np.where(X == 4, np.inf, X))}, "infinity"),
            ({"sample_weight": np.full(200, -1.0)}, "sample_weight.*-1.0"),
            ({"sample_weight": np.ones(3)}, r"sample_weight.*\(3,\)"),
        ],
    )  # fmt: skip
    def test_bad_chunk_changes_nothing(self, arguments, message):
        chunk = {"X": self.X, "y": self.Y} | arguments
        for model in (self.stream(paper()), fit(paper(max_iter=2), self.X, self.Y)):
            before = snapshot(model)
            with pytest.raises(ValueError, match=message):
                model.partial_fit(**chunk)
            assert snapshot(model) == before

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_hyperplanes": 2}, "n_hyperplanes=2.* 3"),
            ({"class_weight": "balanced"}, "class_weight='balanced'"),
            ({"class_weight": {7: 1}}, "class_weight .*7"),
            ({"inside": 7}, "inside .*7"),
            ({"step_size": -1}, "step_size .*-1"),
        ],
    )
    def test_bad_parameters_change_nothing(self, parameters, message):
        model = self.stream(paper()).set_params(**parameters)
        before = snapshot(model)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(self.X, self.Y)
        assert snapshot(model) == before

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "classes must be given on the first call"),
            ({"classes": [-1]}, r"1 class"),
            ({"classes": [-1, 5]}, r"y has the label .*1.*\[-1, 5\]"),
        ],
    )
    def test_bad_first_call_leaves_it_unfitted(self, arguments, message):
        model = paper()
        with pytest.raises(ValueError, match=message):
            model.partial_fit(self.X, self.Y, **arguments)
        assert vars(model).keys() == model.get_params().keys()
        self.stream(model)  # and a good call is a first call

    def test_survives_pickling(self):
        model = self.stream(paper(average=True))
        other = pickle.loads(pickle.dumps(model))
        for stream in (model, other):
            stream.partial_fit(self.X[::-1], self.Y[::-1])
        assert_same_hyperplanes(model, other)

    def test_given_rows_are_not_kept(self):
        """A model of a stream is as small as its hyperplanes."""
        X = np.tile(self.X, (50, 1))
        model = paper().partial_fit(X, np.tile(self.Y, 50), classes=[-1, 1])
        assert len(pickle.dumps(model)) < 10_000

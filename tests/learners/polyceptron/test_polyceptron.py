"""Polyceptron as an estimator: what it promises on data of all kinds."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler

from common import array_blocks, snapshot, square
from polyceptron import Checkpoint, Polyceptron, Polyhedron
from polyceptron.datasets import make_polyhedron
from polyceptron.learners.polyceptron import hyperplanes, selection
from polyceptron.learners.polyceptron import two_classes as module
from polyceptron.learners.polyceptron.hyperplanes import min_scores
from polyceptron.learners.polyceptron.selection import stratified_rows

FAST = {"n_init": 3, "max_iter": 50}
GIVEN = {"n_hyperplanes": 3, "margin": 20, "penalty": None, "n_init": 2, "max_iter": 20}


def fast(**parameters):
    return Polyceptron(**(FAST | {"random_state": 0} | parameters))


def given(**parameters):
    return Polyceptron(**(GIVEN | {"random_state": 0} | parameters))


def three(n=150, seed=0):
    """Three boxes side by side."""
    X = np.random.default_rng(seed).uniform(-3, 3, (n, 2))
    return X, np.digitize(X[:, 0], [-1, 1])


def assert_same(one, other):
    """To the last bit; pickles hold what is computed when it is first asked for."""
    assert snapshot(one) == snapshot(other)


# --- rows that can be parted ---------------------------------------------------------


class TestSeparable:
    def instance(self, seed):
        """Rows that a few faces part, and others of the same class."""
        random = np.random.default_rng([14, seed])
        d, K, n = (int(random.integers(*ends)) for ends in ((2, 4), (2, 4), (20, 60)))
        X, y, _ = make_polyhedron(n + 1000, d, K, margin=0.01, random_state=random)
        return K, X[:n], y[:n], X[n:], y[n:]

    def test_faces_that_are_given_part_small_sets(self, monkeypatch):
        """39 of 40 without a mistake, 29 where nothing is parted; and fresh rows gain by it."""
        sets = [self.instance(seed) for seed in range(40)]
        models = [Polyceptron(K, random_state=0).fit(X, y) for K, X, y, _, _ in sets]
        monkeypatch.setattr(module, "parting", lambda *_: None)
        before = [Polyceptron(K, random_state=0).fit(X, y) for K, X, y, _, _ in sets]
        assert sum(m.score(one[1], one[2]) == 1 for m, one in zip(models, sets, strict=True)) >= 37
        scores = [
            [m.score(one[3], one[4]) for m, one in zip(some, sets, strict=True)]
            for some in (models, before)
        ]
        assert np.mean(scores[0]) > np.mean(scores[1])

    def test_what_was_chosen_is_said(self):
        model, X, y = self.parted()
        assert (model.margin_, model.penalty_, model.sampled_) == (0.0, 1e-4, False)
        table = model.selection_
        (place,) = np.flatnonzero(table["chosen"])
        assert table["margin"][place] == 0.0
        assert model.score(X, y) == 1

    def test_not_with_a_strength_that_is_given(self):
        model, X, y = self.parted(penalty=1e-3)
        assert model.penalty_ == 1e-3
        assert model.score(X, y) < 1

    def test_not_where_held_out_rows_speak_against_it(self, monkeypatch):
        monkeypatch.setattr(module, "CLEARLY", -100.0)
        monkeypatch.setattr(selection, "CLEARLY", 2.0)
        model, X, y = self.parted()
        assert model.margin_ == 20.0
        assert model.score(X, y) < 1

    def test_a_fit_that_parted_its_rows_goes_on_from_its_checkpoint(self, tmp_path):
        kept = Checkpoint(tmp_path / "c", 0.0, keep=True)
        model, _, _ = self.parted(checkpoint=kept)
        again, _, _ = self.parted(checkpoint=kept)
        np.testing.assert_array_equal(again.coef_, model.coef_)

    def parted(self, **parameters):
        """A set that the likelihood alone does not part."""
        K, X, y, _, _ = self.instance(5)
        return Polyceptron(K, random_state=0, **parameters).fit(X, y), X, y


# --- small and odd data ---------------------------------------------------------------


class TestSmallData:
    def test_a_class_of_one_row(self):
        X, _ = square(30)
        y = np.zeros(30, int)
        y[7] = 1
        model = fast().fit(X, y)
        assert model.score(X, y) >= 0.96
        assert np.isfinite(model.predict_log_proba(X)).all()

    def test_two_rows(self):
        model = fast().fit([[0.0], [1.0]], ["a", "b"])
        assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
        assert model.n_hyperplanes_ == 1

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    @pytest.mark.parametrize("share", [0.3, 0.7])
    def test_constant_columns_only(self, share, kind):
        """Nothing to learn from: the greater class, with a probability below one."""
        y = (np.arange(100) < 100 * share).astype(int)
        model = fast().fit(kind(np.full((100, 3), 7.0)), y)
        assert model.score(np.full((100, 3), 7.0), y) == pytest.approx(0.7)
        p = model.predict_proba(np.full((1, 3), 7.0)).max()
        assert 0.5 <= p < 0.95

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("value", [-0.1, 1e9])
    def test_a_constant_column_is_no_column(self, value, standardize, kind):
        """To the last bit, wherever it is; rows that differ in it get the same answer.

        But means of dense columns are sums in an order that depends on how many there are.
        """
        exact = not standardize or kind is not np.asarray
        same = {"rtol": 0.0, "atol": 0.0} if exact else {"rtol": 1e-3, "atol": 1e-3}
        X, y = square(100)
        parameters = GIVEN | {"penalty": 1e-3, "sampled": True, "standardize": standardize}
        without = fast(**parameters).fit(kind(X), y)
        more, other = (np.insert(X, [0, 1, 2], one, axis=1) for one in (value, value + 7))
        model = fast(**parameters).fit(kind(more), y)
        np.testing.assert_array_equal(model.coef_[:, [0, 2, 4]], 0.0)
        np.testing.assert_allclose(model.coef_[:, [1, 3]], without.coef_, **same)
        np.testing.assert_allclose(model.intercept_, without.intercept_, **same)
        assert model.selection_ == without.selection_
        expected = without.predict_proba(kind(X))
        for rows in (more, other):
            np.testing.assert_allclose(model.predict_proba(kind(rows)), expected, **same)
        assert model.coef_.shape == (model.n_hyperplanes_, 5)
        assert model.polyhedron_.W.shape == model.coef_.shape

    def test_one_column(self):
        x = np.linspace(-2, 2, 200)
        y = (np.abs(x) < 1).astype(int)
        model = fast().fit(x[:, None], y)
        assert model.score(x[:, None], y) >= 0.97
        assert model.n_hyperplanes_ == 2

    def test_more_columns_than_rows(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((40, 300))
        y = (X[:, :30].sum(axis=1) > 0).astype(int)
        assert fast().fit(X, y).score(X, y) > 0.95

    @pytest.mark.parametrize("size", [1e-200, 1e200])
    @pytest.mark.parametrize("standardize", [True, False])
    def test_extreme_units(self, size, standardize):
        X, y = square(100)
        model = given(standardize=standardize).fit(X * size, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict_log_proba(X * size)).all()


class TestShapes:
    def test_linear_data_gives_one_face(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 3))
        y = (X @ [1.0, -2, 0.5] > 0.3).astype(int)
        model = Polyceptron(random_state=0).fit(X[:300], y[:300])
        assert model.n_hyperplanes_ == 1
        assert model.coef_.shape == (1, 3)
        assert model.score(X[300:], y[300:]) > 0.95

    @pytest.mark.parametrize("labels", [(0, 1), (1, 0)])
    def test_the_class_in_the_box_is_inside(self, labels):
        X, y = square(500, seed=1)
        y = np.take(labels, y)
        model = fast().fit(X[:300], y[:300])
        assert model.inside_ == labels[1]
        assert 3 <= model.n_hyperplanes_ <= 5
        assert model.score(X[300:], y[300:]) > 0.95

    def test_a_class_of_one_row_in_a_hundred(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((1000, 2))
        y = (X[:, 0] > np.quantile(X[:, 0], 0.99)).astype(int)
        model = fast().fit(X, y)
        assert model.score(X, y) > 0.997
        balanced = fast(class_weight="balanced").fit(X, y)
        assert balanced.score(X[y == 1], y[y == 1]) > 0.9

    def test_a_circle(self):
        """Of about half of the rows, the lesser label inside, on fresh rows."""
        X = np.random.default_rng(0).uniform(-1, 1, (12_000, 2))
        y = (np.linalg.norm(X, axis=1) > 0.75).astype(int)
        model = Polyceptron(random_state=0).fit(X[:2000], y[:2000])
        assert model.inside_ == 0
        assert model.n_hyperplanes_ >= 6
        assert model.score(X[2000:], y[2000:]) > 0.97

    def test_a_class_of_five_rows_in_a_thousand_of_many(self):
        """About 100 of 20,000 rows: of the 4,000 that choices are made with, 20 by chance."""
        X = np.random.default_rng(0).uniform(-1, 1, (40_000, 2))
        size = np.abs(X - 0.3).max(axis=1)
        y = (size < np.quantile(size, 0.005)).astype(int)
        model = fast().fit(X[:20_000], y[:20_000])
        found, label = model.predict(X[20_000:]), y[20_000:]
        assert found[label == 1].mean() > 0.7  # of the class is found
        assert label[found == 1].mean() > 0.5  # of what is found is of the class
        assert (found == label).mean() > 0.996
        p = model.predict_proba(X[20_000:])[:, 1]
        assert 0.002 < p.mean() < 0.012  # as rare as it is

    def test_a_fifth_of_the_labels_flipped(self):
        X, y = square(2000)
        wrong = np.random.default_rng(0).random(1000) < 0.2
        model = fast().fit(X[:1000], np.where(wrong, 1 - y[:1000], y[:1000]))
        assert model.score(X[1000:], y[1000:]) > 0.9
        p = model.predict_proba(X[1000:]).max(axis=1)
        assert 0.7 < p.mean() < 0.9

    def test_labels_by_chance(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((600, 5)), rng.integers(0, 2, 600)
        model = fast().fit(X[:300], y[:300])
        assert model.predict_proba(X[300:]).max(axis=1).mean() < 0.75


# --- kinds of input ------------------------------------------------------------------------


class TestInput:
    def test_sparse_rows_everything_automatic(self):
        X, y = square(300)
        X = sp.csr_matrix(MaxAbsScaler().fit_transform(X))
        model = fast().fit(X[:200], y[:200])
        assert model.score(X[200:], y[200:]) > 0.9
        assert model.score(X[200:].toarray(), y[200:]) > 0.9

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_names_reach_the_polyhedra(self, frame, n_classes):
        X, y = three()
        y = np.minimum(y, n_classes - 1)
        model = given().fit(frame({"age": X[:, 0], "bmi": X[:, 1]}), y)
        assert model.feature_names_in_.tolist() == ["age", "bmi"]
        assert len(model.polyhedra_) == (1 if n_classes == 2 else 3)
        for one in model.polyhedra_.values():
            assert one.feature_names == ("age", "bmi")
        if n_classes == 2:
            assert model.polyhedron_ is model.polyhedra_[model.inside_]
        given().fit(X, y).predict(X)

    def test_a_factor_of_all_weights_does_not_show(self):
        X, y = square(100)
        weight = np.random.default_rng(0).integers(1, 4, 100).astype(float)
        models = [given().fit(X, y, factor * weight) for factor in (1.0, 4.0, 2.0**-600)]
        for model in models[1:]:
            np.testing.assert_array_equal(model.coef_, models[0].coef_)
            np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))
        equal, none = given().fit(X, y, np.full(100, 7.0)), given().fit(X, y)
        np.testing.assert_allclose(equal.coef_, none.coef_, rtol=1e-9)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_class_weight_is_sample_weight(self, n_classes):
        X, y = three()
        y = np.minimum(y, n_classes - 1)
        one = given(class_weight={0: 4.0}).fit(X, y)
        other = given().fit(X, y, np.where(y == 0, 4.0, 1.0))
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert (one.predict_proba(X) != given().fit(X, y).predict_proba(X)).any()


# --- more than two classes -----------------------------------------------------------------


class TestClasses:
    def test_a_real_set(self):
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        model = fast().fit(X[train], y[train])
        assert model.score(X[test], y[test]) >= 0.92
        assert list(model.polyhedra_) == [0, 1, 2]

    def test_predict_is_the_most_probable(self):
        X, y = three()
        names = np.array(["low", "middle", "top"])
        model = given().fit(X, names[y])
        p, odds = model.predict_proba(X), model.decision_function(X)
        assert model.classes_.tolist() == names.tolist()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X), names[p.argmax(axis=1)])
        np.testing.assert_array_equal(p.argmax(axis=1), odds.argmax(axis=1))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
        assert np.isfinite(odds).all()
        assert model.score(X, names[y]) > 0.8
        assert all(isinstance(one, Polyhedron) for one in model.polyhedra_.values())

    @pytest.mark.parametrize("names", [["low", "middle", "top"], [3, 5, 9]])
    def test_what_was_chosen_for_each(self, names):
        X, y = three()
        model = given(margin="auto", penalty=1e-3).fit(X, np.array(names)[y])
        labels = model.classes_.tolist()
        assert list(model.polyhedra_) == labels
        assert [type(label) for label in model.polyhedra_] == [type(labels[0])] * 3
        for name, kind in (
            ("n_hyperplanes_", int),
            ("margin_", float),
            ("penalty_", float),
            ("sampled_", bool),
        ):
            found = getattr(model, name)
            assert list(found) == labels
            assert {type(one) for one in found.values()} == {kind}
            assert list(found.values()) == [getattr(one, name) for one in model.estimators_]
        table = pd.DataFrame(model.selection_)
        assert list(table) == [
            "class", "n_hyperplanes", "margin", "penalty", "sampled", "n_polyhedra", "accuracy",
            "chosen",
        ]  # fmt: skip
        assert table["class"].drop_duplicates().tolist() == labels
        for label, one in zip(labels, model.estimators_, strict=True):
            assert len(model.polyhedra_[label].b) == model.n_hyperplanes_[label]
            part = table[table["class"] == label].reset_index(drop=True)
            own = pd.DataFrame(one.selection_)
            assert set(own["inside"]) == {True}
            pd.testing.assert_frame_equal(part.drop(columns="class"), own.drop(columns="inside"))
            row = part[part["chosen"]]
            assert row["sampled"].tolist() == [model.sampled_[label]]
            assert row["margin"].tolist() == [model.margin_[label]]

    @pytest.mark.parametrize("names", [["a", "b"], [False, True]])
    def test_labels_of_two_are_plain_values(self, names):
        X, y = square(60)
        names = np.array(names)
        model = given().fit(X, names[y])
        assert [type(label) for label in model.polyhedra_] == [type(names.tolist()[0])]
        assert {type(one) for one in model.selection_["inside"]} == {type(names.tolist()[0])}
        assert set(model.selection_["inside"]) == set(names.tolist())
        assert model.polyhedron_ is model.polyhedra_[model.inside_]

    def test_inside_is_one_of_the_labels_and_not_used(self):
        X, y = three()
        found = given(inside=y[0]).fit(X, y)
        np.testing.assert_array_equal(found.predict_proba(X), given().fit(X, y).predict_proba(X))
        with pytest.raises(ValueError, match="inside must be one of the labels"):
            given(inside="no such label").fit(X, y)

    def test_a_label_called_auto(self):
        """`inside="auto"` still means either; the other label can be asked for."""
        X, y = square(200)
        for names in (["auto", "x"], ["x", "auto"]):
            labels = np.array(names)[y]
            model = given().fit(X, labels)
            assert set(model.selection_["inside"]) == {"auto", "x"}
            assert given(inside="x").fit(X, labels).inside_ == "x"


# --- faces that are not needed ---------------------------------------------------------------


class TestNeeded:
    def rows(self, X):
        return array_blocks(X, np.ones(len(X)))

    @pytest.mark.parametrize("seed", range(10))
    def test_duplicates_and_slack_faces_go(self, seed):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        theta = rng.standard_normal((int(rng.integers(1, 5)), d + 1))
        twins = theta * rng.uniform(0.5, 2, (len(theta), 1))
        slack = theta.copy()
        slack[:, -1] += rng.uniform(0.1, 1, len(theta))
        many = rng.permutation(np.concatenate([theta, twins, slack]))
        rows = self.rows(rng.standard_normal((200, d)))
        kept = hyperplanes.needed(rows, many)
        assert 1 <= len(kept) <= len(theta)
        np.testing.assert_array_equal(min_scores(rows, kept) >= 0, min_scores(rows, many) >= 0)

    def test_a_face_that_rejects_no_row_goes(self):
        rows = self.rows(np.random.default_rng(0).uniform(-1, 1, (100, 2)))
        theta = np.array([[1.0, 0, 0.5], [0, 1, 5], [0, -1, 0.5]])
        np.testing.assert_array_equal(hyperplanes.needed(rows, theta), theta[[0, 2]])

    def test_nothing_inside(self):
        """Two faces are enough to reject everything."""
        rows = self.rows(np.random.default_rng(0).uniform(-1, 1, (100, 2)))
        theta = np.array([[1.0, 0, -0.5], [-1, 0, -0.5], [0, 1, 0], [0, -1, 0]])
        kept = hyperplanes.needed(rows, theta)
        assert len(kept) <= 2
        assert (min_scores(rows, kept) < 0).all()

    @pytest.mark.parametrize("seed", range(2))
    def test_a_fit_drops_without_a_change(self, seed, monkeypatch):
        X, y = square(300, seed=seed)
        few = given(n_hyperplanes=12, random_state=seed).fit(X, y)
        monkeypatch.setattr(module, "needed", lambda _, theta: theta)
        all_of_them = given(n_hyperplanes=12, random_state=seed).fit(X, y)
        assert few.n_hyperplanes_ < all_of_them.n_hyperplanes_ == 12
        np.testing.assert_array_equal(few.predict(X), all_of_them.predict(X))


# --- the offset, and the rows that choices are made with ------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_no_offset_makes_fewer_mistakes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    h = rng.integers(-4, 5, n).astype(float)  # with ties
    is_inside, weight = rng.random(n) < 0.5, rng.integers(1, 4, n).astype(float)
    found = weight @ ((h >= hyperplanes.best_cut(h, is_inside, weight)) != is_inside)
    assert found == min(weight @ ((h >= cut) != is_inside) for cut in np.arange(-5.5, 6))


class TestEvenCut:
    """Where both classes are as likely, by a logistic function of the scores."""

    def test_is_that_of_logistic_regression_near_the_best_cut(self):
        rng = np.random.default_rng(0)
        h, weight = rng.normal(3, 2, 500), rng.integers(1, 4, 500).astype(float)
        is_inside = h + 2 * rng.normal(size=500) > 2
        away = np.abs(h - hyperplanes.best_cut(h, is_inside, weight))
        near = away <= np.quantile(away, 0.3)
        peer = LogisticRegression(C=1e9, tol=1e-8)
        peer.fit(h[near, None], is_inside[near], weight[near])
        even = -peer.intercept_[0] / peer.coef_[0, 0]
        assert hyperplanes.even_cut(h, is_inside, weight) == pytest.approx(even, abs=1e-3)

    def test_makes_fewer_mistakes_on_other_rows(self):
        rng, more = np.random.default_rng(0), []
        for _ in range(300):
            h = rng.normal(size=500)
            is_inside = rng.random(500) < 1 / (1 + np.exp(-h))
            how = h, is_inside, np.ones(500)
            cuts = [cut(*how) for cut in (hyperplanes.best_cut, hyperplanes.even_cut)]
            more.append(abs(cuts[0]) - abs(cuts[1]))  # zero is right
        assert np.mean(more) > 3 * np.std(more) / np.sqrt(len(more))

    def test_rows_without_weight_are_no_rows(self):
        rng = np.random.default_rng(0)
        h = rng.normal(size=300)
        how = h, h + rng.normal(size=300) > 0, np.ones(300)
        far = np.full(300, 9.0), np.zeros(300, bool), np.zeros(300)
        more = map(np.append, how, far)
        assert hyperplanes.even_cut(*more) == pytest.approx(hyperplanes.even_cut(*how))

    def test_few_mistakes_do_not_tell(self):
        rng = np.random.default_rng(0)
        h = rng.normal(size=300)
        is_inside = h + 0.1 * rng.normal(size=300) > 0
        how = h, is_inside, np.ones(300)
        assert hyperplanes.even_cut(*how) == hyperplanes.best_cut(*how)

    def test_gives_up_on_the_contrary(self):
        rng = np.random.default_rng(0)
        h = rng.normal(size=300)
        how = h, h + rng.normal(size=300) < 0, np.ones(300)
        assert hyperplanes.even_cut(*how) == hyperplanes.best_cut(*how)


class TestSome:
    """A part of many rows: a rare class gets more of them, each for less."""

    def some(self, n_few, n=10_000, weight=None, sign=1):
        y = np.where(np.arange(n) < n_few, sign, -sign)
        rows = array_blocks(np.arange(n, dtype=float)[:, None], y, weight)
        return stratified_rows(rows, 1000, np.random.RandomState(0))

    @pytest.mark.parametrize("sign", [-1, 1])
    @pytest.mark.parametrize(
        ("n_few", "taken"), [(1, 1), (7, 7), (50, 50), (200, 50), (500, 50), (2000, 200)]
    )
    def test_rows_and_shares(self, n_few, taken, sign):
        some = self.some(n_few, sign=sign)
        places = some.X[:, 0].astype(int)
        assert (np.diff(places) > 0).all()  # in their order, none twice
        np.testing.assert_array_equal(some.y == sign, places < n_few)
        few = some.y == sign
        assert few.sum() == taken
        assert (~few).sum() == pytest.approx(1000 * (1 - n_few / 10_000), abs=1)
        assert some.weight[few].sum() / some.weight.sum() == pytest.approx(n_few / 10_000, rel=2e-3)
        assert some.weight.mean() == pytest.approx(1.0)
        for part in (few, ~few):
            assert len(set(some.weight[part])) == 1

    @pytest.mark.parametrize("n_few", [50, 200, 2000])
    def test_weights_are_kept(self, n_few):
        """A class of weight 10 has the share of weight that it has of all rows."""
        weight = np.where(np.arange(10_000) < n_few, 10.0, 1.0)
        some = self.some(n_few, weight=weight)
        expected = weight[:n_few].sum() / weight.sum()
        assert some.weight[some.y > 0].sum() / some.weight.sum() == pytest.approx(
            expected, rel=2e-3
        )


# --- the estimator ---------------------------------------------------------------------------


class TestEstimator:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_same_seed_same_model(self, n_classes, monkeypatch):
        monkeypatch.setattr("polyceptron.data.blocks.ROWS_WORTH_THREADS", 50)
        X, y = three()
        y = np.minimum(y, n_classes - 1)
        quick = {"n_init": 2, "max_iter": 10, "max_faces": 6}
        if n_classes == 3:
            quick |= {"n_hyperplanes": 2, "penalty": 1e-3}
        models = [fast(**quick, n_jobs=n).fit(X, y) for n in (1, 1, 2)]
        for model in models[1:]:
            np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))
            for label, one in model.polyhedra_.items():
                np.testing.assert_array_equal(one.W, models[0].polyhedra_[label].W)
                np.testing.assert_array_equal(one.b, models[0].polyhedra_[label].b)
        assert_same(models[0], models[1])

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_pickle_and_clone(self, n_classes):
        X, y = three()
        y = np.minimum(y, n_classes - 1)
        model = given().fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        fresh = clone(model)
        assert not hasattr(fresh, "classes_")
        assert_same(fresh.fit(X, y), model)

    def test_refits_leave_nothing_behind(self):
        X, y = three()
        two = np.minimum(y, 1)
        model = given()
        for labels in (y, two, y):
            assert_same(model.fit(X, labels), given().fit(X, labels))
        for name in ("polyhedron_", "inside_", "coef_", "intercept_"):
            assert not hasattr(model, name)
        names = "n_hyperplanes_", "margin_", "penalty_", "sampled_"
        assert all(isinstance(getattr(model, name), dict) for name in names)
        assert not hasattr(model.fit(X, two), "estimators_")
        assert not any(isinstance(getattr(model, name), dict) for name in names)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_fit_that_fails_changes_nothing(self, n_classes, monkeypatch):
        X, y = three()
        model = given().fit(X, np.minimum(y, n_classes - 1))
        before = snapshot(model)
        monkeypatch.setattr(module, "needed", lambda *_: 1 / 0)
        for labels in (y, np.minimum(y, 1)):
            with pytest.raises(ZeroDivisionError):
                model.fit(X * 2, labels)
            assert snapshot(model) == before

    def test_verbose(self, capsys):
        X, y = square(60)
        given().fit(X, y)
        assert capsys.readouterr().out == ""
        given(verbose=1).fit(X, np.array(["out", "in"])[y])
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("Polyceptron: ") for line in lines)
        assert all("%" in line for line in lines[:2])
        assert "inside='in', n_hyperplanes=3, margin=20, penalty=None: " in lines[0]
        assert "inside='out'" in lines[1]
        assert lines[2] == "Polyceptron: the best of these is fitted to 60 rows"

    def test_verbose_says_which_class(self, capsys):
        X, y = three()
        given(verbose=1).fit(X, np.array(["low", "middle", "top"])[y])
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 9
        for name, line in zip(["low", "middle", "top"], lines[::3], strict=True):
            assert line == f"Polyceptron: class '{name}' against the rest"
        assert all("inside=True, n_hyperplanes=3, " in line for line in lines[1::3])
        assert set(lines[2::3]) == {"Polyceptron: the best of these is fitted to 150 rows"}


def test_the_class_inside_must_be_there_with_three_classes():
    X, y = np.arange(12.0).reshape(6, 2), ["a", "a", "b", "b", "c", "c"]
    with pytest.raises(ValueError, match=r"inside must be one of the labels \['a', 'b', 'c'\]"):
        Polyceptron(inside="nonsense").fit(X, y)

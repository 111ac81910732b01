"""Unions of polyhedra: the parts of the fit, and what the learner makes of them."""

import copy

import numpy as np
import pytest
from scipy import sparse

from polyceptron import Polyceptron, load_model, save_model
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.datasets import make_dataset1
from polyceptron.learners.polyceptron.union import (
    Union,
    ascend,
    first_union,
    hardened,
    penalised_loss,
    settled,
    soft_loss,
    soft_scores,
    thinned,
)
from polyceptron.rule import Rule


def chessboard(n, d=2, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1).astype(np.int8)


def blocks(X, y, weight=None):
    weight = np.empty(0) if weight is None else weight
    return ArrayBlocks(kernel_rows(X), y, weight, X.shape[1])


def two_fields():
    """The chessboard as it is: x, y >= 0 or x, y <= 0."""
    theta = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
    return Union(theta, (2, 2))


class TestUnion:
    def test_pieces(self):
        union = Union(np.arange(18.0).reshape(6, 3), (1, 3, 2))
        assert [len(piece) for piece in union.pieces()] == [1, 3, 2]
        assert union.places() == [[0], [1, 2, 3], [4, 5]]
        fewer = union.without({0, 2})
        assert fewer.sizes == (2, 2)
        np.testing.assert_array_equal(fewer.theta, union.theta[[1, 3, 4, 5]])

    def test_scores_are_the_best_of_the_least(self):
        X, y = chessboard(50)
        h = two_fields().scores(blocks(X, y))
        expected = [max(min(a, b), min(-a, -b)) for a, b in X]
        np.testing.assert_array_equal(h, expected)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_soft_scores(self, kind):
        X, y = chessboard(20)
        union = two_fields()
        S = X @ union.theta[:, :-1].T + union.theta[:, -1]
        q = 1 / (1 + np.exp(-S))
        p = 1 - (1 - q[:, 0] * q[:, 1]) * (1 - q[:, 2] * q[:, 3])
        data = blocks(kind(X), y)
        np.testing.assert_allclose(soft_scores(data, union), np.log(p / (1 - p)), rtol=1e-12)
        side = 1e-4 + (1 - 2e-4) * np.where(y > 0, p, 1 - p)
        assert soft_loss(data, union) == pytest.approx(-np.log(side).sum())


class TestFit:
    def test_steps_never_lose(self):
        data = blocks(*chessboard(300))
        theta = 0.1 * np.random.default_rng(0).standard_normal((9, 3))
        union = Union(theta, (3, 3, 3))
        losses = [
            penalised_loss(data, 0.1, ascend(data, union, 0.1, n_steps)) for n_steps in (0, 5, 50)
        ]
        assert losses == sorted(losses, reverse=True)
        assert losses[2] < 0.5 * losses[0]

    def test_thinned_down_to_one(self):
        data = blocks(*chessboard(300))
        union = first_union(data, 0.1, 3, 4, 0, 1, 60)
        path = list(thinned(data, union, 0.1, 8, 10))
        faces = [one.n_faces for one in path]
        assert faces[0] <= 8
        assert faces == sorted(faces, reverse=True)
        assert faces[-1] == 1
        assert all(sum(one.sizes) == one.n_faces and min(one.sizes) > 0 for one in path)

    def test_a_face_of_no_use_goes_first(self):
        data = blocks(*chessboard(500))
        idle = np.vstack([20 * two_fields().theta, [[0.01, 0.01, 30.0]]])
        first = next(one for one in thinned(data, Union(idle, (2, 3)), 0.1, 4, 0))
        assert first.sizes == (2, 2)
        np.testing.assert_allclose(first.theta, 20 * two_fields().theta, atol=0.6)

    def test_a_needed_face_does_not_go_along_with_an_idle_one(self):
        X, y = chessboard(1500)
        fields = two_fields()
        idle = np.vstack([fields.theta, [[0, 0, 30], [0, 0, 31]]])
        union = Union(20 * idle[[0, 1, 4, 2, 3, 5]], (3, 3))
        # Two are over, so more than one may go at a time: the two that do nothing.
        found = next(thinned(blocks(X, y), union, 0.01, 4, 0))
        np.testing.assert_array_equal(found.theta, 20 * fields.theta)

        # There is room for two, but any second one is needed.
        theta, sizes = np.vstack([fields.theta, [[0, 0, 30]] * 6]), (2, 8)
        found = next(thinned(blocks(X, y), Union(20 * theta, sizes), 0.01, 4, 0))
        np.testing.assert_array_equal(found.theta, 20 * fields.theta)

    def test_hardened_and_settled(self):
        X, y = chessboard(600)
        data = blocks(X, y)
        union = ascend(data, first_union(data, 0.01, 3, 3, 1, 2, 60), 0.01, 100)
        found = settled(data, hardened(data, union, 0.01, 100))
        h = found.scores(data)
        assert np.mean((h >= 0) == (y > 0)) > 0.99
        assert np.abs(h).mean() == pytest.approx(1.0)

    def test_pieces_that_no_answer_needs_are_left_out(self):
        X, y = chessboard(500)
        theta = np.vstack([two_fields().theta, [[1.0, 1.0, -1.0]], [[1.0, 0.0, -50.0]]])
        found = settled(blocks(X[:, :2], y), Union(theta, (2, 2, 2)))
        assert found.sizes == (2, 2)

    def test_rows_by_weight_or_repeated(self):
        X, y = chessboard(120)
        weight = np.random.default_rng(1).integers(1, 4, 120).astype(float)
        again = np.repeat(np.arange(120), weight.astype(int))
        start = first_union(blocks(X, y), 0.1, 2, 2, 0, 1, 5)
        ways = blocks(X, y, weight), blocks(X[again], y[again])
        found = [ascend(data, start, 0.1, 15).theta for data in ways]
        np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-8)


@pytest.fixture(scope="module")
def model():
    X, y = chessboard(900)
    return Polyceptron(n_polyhedra=3, random_state=0).fit(X, np.where(y > 0, "black", "white"))


class TestLearner:
    def test_a_chessboard(self, model):
        X, y = chessboard(3000, seed=5)
        assert model.score(X, np.where(y > 0, "black", "white")) > 0.97
        assert model.n_polyhedra_ == 2 == len(model.rule_.pieces)
        assert len(model.coef_) == model.n_hyperplanes_ <= 16
        assert not hasattr(model, "polyhedron_")
        (pieces,) = model.polyhedra_.values()
        assert list(model.polyhedra_) == [model.inside_]
        own = Rule.inside(model.classes_, model._inside, *pieces)
        np.testing.assert_array_equal(own.predict(X), model.predict(X))

    def test_probabilities_do_not_contradict_answers(self, model):
        X, _ = chessboard(1000, seed=6)
        likelier = model.classes_[model.predict_proba(X).argmax(axis=1)]
        np.testing.assert_array_equal(likelier, model.predict(X))

    def test_saved_and_loaded(self, model, tmp_path):
        X, _ = chessboard(500, seed=7)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        for name in ("predict", "predict_proba", "decision_function"):
            np.testing.assert_array_equal(getattr(loaded, name)(X), getattr(model, name)(X))
        assert loaded.n_polyhedra_ == 2
        assert loaded.selection_ == model.selection_

    def test_automatic(self):
        X, y = chessboard(900)
        several = Polyceptron(random_state=0).fit(X, y)
        one = Polyceptron(n_polyhedra=1, random_state=0).fit(X, y)
        assert (one.n_polyhedra_, several.n_polyhedra_) == (1, 2)
        fresh = chessboard(3000, seed=5)
        assert several.score(*fresh) > 0.97 > one.score(*fresh)
        table = several.selection_
        assert [n for n, yes in zip(table["n_polyhedra"], table["chosen"], strict=True) if yes] == [
            2
        ]

    @pytest.mark.parametrize("seed", [0, 7])
    def test_an_l_of_two_pieces(self, seed):
        """Both fits once lost a face on the way from 36 to 4, and 4% of the rows."""
        random = np.random.default_rng(0)
        X = np.column_stack([random.uniform(-2, 10, 1000), random.uniform(-2, 6, 1000)])
        y = ((X[:, 0] < 2) & (X[:, 1] < 5)) | ((X[:, 1] < 0) & (X[:, 0] < 8))
        assert Polyceptron(random_state=seed).fit(X, y).score(X, y) > 0.985

    def test_five_pieces(self):
        X = np.random.default_rng(0).uniform((-2, -2), (10, 6), (6000, 2))
        centres = ((0, 0), (4, 4), (8, 0), (0, 4), (8, 4))
        y = np.any([np.abs(X - one).max(axis=1) <= 1 for one in centres], axis=0)
        model = Polyceptron(random_state=0).fit(X[:2000], y[:2000])
        assert model.n_polyhedra_ == 5
        assert model.score(X[2000:], y[2000:]) > 0.98
        few = Polyceptron(max_faces=16, random_state=0).fit(X[:2000], y[:2000])
        assert few.n_hyperplanes_ <= 16
        assert few.score(X[2000:], y[2000:]) > 0.96

    def test_five_balls_are_five_pieces(self):
        """Random starts left one out; then the other class, in six pieces, was the likelier."""
        random, n = np.random.default_rng(0), 1200
        middles = np.array([(-0.7, -0.7), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (0, 0)])
        angle, radius = random.uniform(0, 2 * np.pi, n), 0.3 * np.sqrt(random.random(n))
        balls = radius * np.array([np.cos(angle), np.sin(angle)])
        balls = middles[random.integers(5, size=n)] + balls.T
        X = random.uniform(-1, 1, (10 * n, 2))
        gap = np.linalg.norm(X[:, None] - middles, axis=2).min(axis=1) > 0.4
        X, y = np.vstack([balls, X[gap][:n]]), np.repeat([True, False], n)
        model = Polyceptron(random_state=0).fit(X, y)
        assert model.n_polyhedra_ == 5
        assert model.score(X, y) > 0.99

    def test_more_faces_than_usual_where_rows_clearly_ask(self):
        """Three balls in five columns: sixteen faces are five each."""
        random, n = np.random.default_rng(2), 2000
        middles = 0.5 * np.array([[1, 1, 1, 1, 1], [-1, -1, 1, 1, -1], [1, -1, -1, -1, 1]])
        ways = random.standard_normal((3 * n, 5))
        balls = 0.6 * ways / np.linalg.norm(ways, axis=1)[:, None]
        balls *= random.random((3 * n, 1)) ** 0.2
        balls += middles[random.integers(3, size=3 * n)]
        X = random.uniform(-1, 1, (10 * n, 5))
        X = X[np.linalg.norm(X[:, None] - middles, axis=2).min(axis=1) > 0.8][: 3 * n]
        X, y = np.vstack([balls, X]), np.repeat([True, False], 3 * n)
        rows = random.permutation(len(X))
        X, y = X[rows], y[rows]
        usual, auto = (
            Polyceptron(max_faces=most, random_state=0).fit(X[:n], y[:n]) for most in (16, "auto")
        )
        assert usual.n_hyperplanes_ <= 16 < auto.n_hyperplanes_ <= 36
        assert auto.n_polyhedra_ == 3
        assert auto.score(X[n:], y[n:]) > usual.score(X[n:], y[n:]) + 0.002

    def test_columns_that_do_harm_are_left_out(self, tmp_path):
        X, y = chessboard(1500, d=6)
        model = Polyceptron(digits=None, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.coef_[:, 2:], 0.0)
        assert model.score(*chessboard(3000, d=6, seed=1)) > 0.99
        kept = Polyceptron(digits=None, random_state=0, checkpoint=tmp_path / "c").fit(X, y)
        np.testing.assert_array_equal(kept.coef_, model.coef_)

    def test_a_ring_keeps_pieces_that_its_corners_need(self):
        """The soft union of five pieces is round enough, the rule of five is a pentagon."""
        X = np.random.default_rng([0, 1005, 2, 1]).uniform(-1, 1, (8000, 2))
        y = np.abs(np.linalg.norm(X, axis=1) - 0.7) < 0.2
        model = Polyceptron(max_faces=24, random_state=1).fit(X[:2000], y[:2000])
        assert model.n_polyhedra_ == 6
        assert model.score(X[2000:], y[2000:]) > 0.953

    def test_why_there_is_no_polyhedron(self):
        X, y = chessboard(300)
        model = Polyceptron(n_polyhedra=2, random_state=0)
        for name in ("polyhedron_", "nothing_"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
                getattr(model, name)
        model.fit(X, y)
        assert not hasattr(model, "polyhedron_")
        advice = r"the class is 2 polyhedra; see rule_ or polyhedra_, or fit with n_polyhedra=1"
        with pytest.raises(AttributeError, match=advice):
            _ = model.polyhedron_
        assert copy.deepcopy(model).rule_ == model.rule_
        model.fit(X, np.where(X[:, 0] > 0.5, 2, y))
        with pytest.raises(AttributeError, match="there are 3 classes, each with its own; see"):
            _ = model.polyhedron_

    def test_one_where_one_is_enough(self):
        X, _ = chessboard(600)
        y = (np.abs(X) < 0.6).all(axis=1)
        found = Polyceptron(random_state=0).fit(X, y)
        assert found.n_polyhedra_ == 1
        assert found.score(X, y) > 0.99

    def test_outside_of_half_spaces_is_one_polyhedron_of_the_other_class(self):
        X, _ = chessboard(600)
        y = (np.abs(X) > 0.6).any(axis=1)
        found = Polyceptron(n_polyhedra=5, n_hyperplanes=1, random_state=0).fit(X, y)
        assert (found.n_polyhedra_, bool(found.inside_)) == (1, False)
        assert found.score(X, y) > 0.97
        likelier = found.classes_[found.predict_proba(X).argmax(axis=1)]
        np.testing.assert_array_equal(likelier, found.predict(X))
        told = Polyceptron(n_polyhedra=5, n_hyperplanes=1, inside=True, random_state=0).fit(X, y)
        assert (told.n_polyhedra_, bool(told.inside_)) == (4, True)

    def test_three_classes(self, tmp_path):
        X, y = chessboard(600)
        y = np.where(y > 0, "in", np.where(X[:, 0] > 0, "a", "b"))
        found = Polyceptron(n_polyhedra=2, random_state=0).fit(X, y)
        assert found.score(X, y) > 0.97
        assert found.n_polyhedra_["in"] == 2
        assert len(found.polyhedra_["in"]) == 2
        save_model(found, tmp_path / "model.json")
        np.testing.assert_array_equal(
            load_model(tmp_path / "model.json").predict(X), found.predict(X)
        )

    @pytest.mark.parametrize("other", ["threads", "csr", "blocks"])
    def test_the_same_model(self, other):
        X, y = chessboard(400)
        make = {"n_polyhedra": 2, "standardize": False, "random_state": 0}
        first = Polyceptron(**make, n_jobs=1).fit(X, y)
        second = Polyceptron(**make, n_jobs=2)
        if other == "threads":
            second.fit(X, y)
        elif other == "csr":
            second.fit(sparse.csr_matrix(X), y)
        else:
            from polyceptron import open_blocks

            second.fit_blocks(open_blocks((X, y)))
        np.testing.assert_array_equal(second.coef_, first.coef_)
        np.testing.assert_array_equal(second.predict(X), first.predict(X))

    def test_constant_columns_stay_out(self):
        X, y = chessboard(400)
        X = np.column_stack([X, np.full(400, 7.0)])
        found = Polyceptron(n_polyhedra=2, random_state=0).fit(X, y)
        np.testing.assert_array_equal(found.coef_[:, 2], 0.0)

    def test_most_faces(self):
        X, y = chessboard(400)
        found = Polyceptron(n_polyhedra=4, max_faces=3, random_state=0).fit(X, y)
        assert found.n_hyperplanes_ <= 3

    def test_weights_have_no_unit(self):
        """Also with more rows than a union is fitted to at first."""
        X, y = chessboard(20_500)
        y = np.where(np.random.default_rng(1).random(len(y)) < 0.1, -y, y)
        fits = [
            Polyceptron(n_polyhedra=2, n_hyperplanes=2, random_state=0).fit(
                X, y, sample_weight=np.full(len(y), unit)
            )
            for unit in (1.0, 2.0**-20)
        ]
        np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6)
        assert fits[0].n_polyhedra_ == 2

    def test_many_pieces_do_not_overflow(self):
        union = Union(np.tile([[1.0, 0.0]], (20, 1)), (1,) * 20)
        data = blocks(np.array([[100.0], [-100.0]]), np.array([1, -1], np.int8))
        assert np.isfinite(soft_scores(data, union)).all()
        assert np.isfinite(soft_loss(data, union))

    def test_wide_sparse_rows(self):
        X = sparse.random(300, 5000, density=0.004, random_state=0, format="csr")
        y = (
            np.asarray(X[:, :2500].sum(axis=1)).ravel()
            > np.asarray(X[:, 2500:].sum(axis=1)).ravel()
        )
        found = Polyceptron(n_polyhedra=2, n_hyperplanes=1, random_state=0).fit(X, y)
        assert found.score(X, y) > 0.9

    def test_what_is_said(self, capsys):
        Polyceptron(n_polyhedra=2, random_state=0, verbose=1).fit(*chessboard(300))
        first, last = capsys.readouterr().out.splitlines()
        assert "n_polyhedra=" in first
        assert "of held-out rows" in first
        assert last == "Polyceptron: the best of these is fitted to 300 rows"

    @pytest.mark.parametrize("given", [{"margin": 1.0}, {"penalty": None}, {"sampled": True}])
    def test_what_speaks_of_one_is_refused_with_several(self, given):
        (name,) = given
        with pytest.raises(ValueError, match=f"{name} is for one polyhedron.*n_polyhedra=2"):
            Polyceptron(n_polyhedra=2, **given).fit(*chessboard(40))

    @pytest.mark.parametrize("name", ["n_polyhedra", "max_faces"])
    @pytest.mark.parametrize("value", [0, -1, 1.5, "many", None])
    def test_refused(self, name, value):
        with pytest.raises(ValueError, match=name):
            Polyceptron(**{name: value}).fit(*chessboard(40))


def test_many_faces():
    """Fifteen half-spaces in eight dimensions: separated, with nothing to tune."""
    random = np.random.default_rng(0)
    X, W = random.uniform(-1, 1, (12_000, 8)), random.uniform(-1, 1, (15, 8))
    inside = np.ones(len(X), bool)
    for s in (X @ W.T).T:
        inside &= s >= np.percentile(s[inside], 4)
    found = Polyceptron(random_state=0).fit(X[:6000], inside[:6000])
    assert found.score(X[6000:], inside[6000:]) > 0.985
    assert found.n_polyhedra_ == 1


def test_of_two_classes_as_likely_the_likelier_one_is_inside():
    # Few rows of noisy labels do not tell them apart for sure; by order it would be the other.
    X, y = make_dataset1(n_samples=2000, random_state=7006, return_X_y=True)
    flipped = np.random.default_rng(106).random(1000) < 0.1
    labels = np.where(flipped, -y[:1000], y[:1000])
    found = Polyceptron(n_polyhedra=1, random_state=6).fit(X[:1000], labels)
    assert found.inside_ == 1
    assert found.score(X[1000:], y[1000:]) > 0.95  # 0.84 with the other one

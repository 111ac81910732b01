"""Faces of few terms: how many they have, which are found, and how they are chosen."""

import numpy as np
import pytest

from common import assert_equal_models
from polyceptron import Checkpoint, Polyceptron, open_blocks
from polyceptron.learners.polyceptron.limited import Candidate, Tried, fewest_terms
from polyceptron.learners.polyceptron.selection import TrialOutcome

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 4))
Y = ((X[:, 0] >= -0.5) & (X[:, 1] <= 0.7) ^ (RNG.random(150) < 0.03)).astype(int)
PARAMETERS = {"max_terms": 2, "monotonic_cst": [1, -1, 0, 0]}


def learner(**parameters):
    return Polyceptron(**({"max_faces": 2, "random_state": 0, "n_jobs": 1} | parameters))


def fit(X=X, y=Y, sample_weight=None, **parameters):
    return learner(**parameters).fit(X, y, sample_weight)


def terms(model):
    """The columns of each face."""
    faces = np.concatenate([piece.polyhedron.W for piece in model.rule_.pieces])
    return [tuple(np.flatnonzero(w).tolist()) for w in faces]


def test_ground_truth():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 20))
    y = ((X[:, 0] + X[:, 1] > 0) & (X[:, 2] < 1)) | (X[:, 3] + X[:, 4] > 2)
    model = fit(X, y ^ (rng.random(2000) < 0.05), max_terms=2, max_faces=4, n_jobs=None)
    assert sorted(terms(model)) == [(0, 1), (2,), (3, 4)]
    assert model.n_polyhedra_ == 2
    assert (model.predict(X) == y).mean() > 0.97


class TestMaxTerms:
    @pytest.mark.parametrize("digits", [None, 1, "auto"])
    @pytest.mark.parametrize("most", [1, 2])
    def test_cap(self, most, digits):
        """Where all columns matter, no face has more than are allowed, nor less for nothing."""
        y = X.sum(axis=1) > 0
        model = fit(y=y, max_terms=most, digits=digits)
        assert max(map(len, terms(model))) == most
        dense = fit(y=y, max_terms=9, digits=digits)  # more than there are columns
        assert max(map(len, terms(dense))) == 4 or digits == 1
        assert dense.score(X, y) > model.score(X, y)

    def test_auto_takes_as_few_as_do(self):
        model = fit(max_terms="auto")
        assert sorted(terms(model)) == [(0,), (1,)]
        table = model.path_
        assert table["chosen"].count(True) == 1
        assert len({len(column) for column in table.values()}) == 1
        assert table["n_terms"] == sorted(table["n_terms"])
        chosen, best = table["chosen"].index(True), int(np.argmax(table["accuracy"]))
        assert table["n_terms"][chosen] <= table["n_terms"][best]
        assert table["accuracy"][best] - table["accuracy"][chosen] <= 2 * table["error"][best]

    def test_one_standard_error(self):
        def tried(n_terms, n_wrong, first=0):
            h = np.ones(100)
            h[first : first + n_wrong] = -1.0
            outcome = TrialOutcome(h, np.ones(100, bool), np.ones(100))
            return Tried(Candidate(1, 1, 1e-4, 1), n_terms, 1, 1, outcome)

        best, near, far = tried(5, 5), tried(3, 6, 10), tried(1, 20)
        assert fewest_terms([far, best, near]) is near
        assert fewest_terms([far, best]) is best

    @pytest.mark.parametrize("value", [0, 1.5, "few", True])
    def test_bad(self, value):
        with pytest.raises(ValueError, match=r"max_terms must be .*'auto'"):
            fit(max_terms=value)

    @pytest.mark.parametrize(("name", "value"), [("margin", 2.0), ("sampled", True)])
    def test_parameters_of_other_ways(self, name, value):
        with pytest.raises(ValueError, match=f"{name} .* with max_terms it must be 'auto'"):
            fit(max_terms=1, **{name: value})


class TestRows:
    def test_weight_is_how_often_a_row_is_there(self):
        """Rows of weight zero are as good as absent, whatever their label."""
        wrong = np.vstack([X, X]), np.append(Y, 1 - Y), np.repeat([1.0, 0.0], len(Y))
        assert terms(fit(*wrong, max_terms=1)) == terms(fit(max_terms=1))
        heavy = fit(max_terms=1, class_weight={0: 1, 1: 50}, inside=1)
        assert (heavy.predict(X)[Y == 1] == 1).mean() > 0.99

    def test_one_column_and_constant_ones(self):
        assert terms(fit(X[:, :1], max_terms="auto")) == [(0,)]
        constant = np.column_stack([np.full(len(X), 7.0), X[:, 0], np.zeros(len(X))])
        assert terms(fit(constant, max_terms=2)) == [(1,)]


class TestFits:
    def test_threads(self):
        one, two = (fit(n_jobs=n, **PARAMETERS) for n in (1, 2))
        assert_equal_models(one, two)
        assert one.path_ == two.path_

    def test_blocks(self, tmp_path):
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", Y)
        source = open_blocks(tmp_path / "X.npy", tmp_path / "y.npy", cache_dir=tmp_path / "cache")
        assert_equal_models(learner(**PARAMETERS).fit_blocks(source), fit(**PARAMETERS))

    def test_stopped_fits_go_on(self, tmp_path, monkeypatch):
        file = Checkpoint(tmp_path / "fit", 0.0, 1)
        with monkeypatch.context() as patch:
            patch.setattr("polyceptron.learners.polyceptron.limited.Search.fitted", _stop)
            with pytest.raises(KeyboardInterrupt):
                fit(checkpoint=file, **PARAMETERS)
        assert (tmp_path / "fit").exists()
        with pytest.raises(ValueError, match="another fit: must_contain was None"):
            fit(checkpoint=file, must_contain=X[:1], **PARAMETERS)
        with monkeypatch.context() as patch:
            trials = "polyceptron.learners.polyceptron.selection.FoldTrials.in_threads"
            patch.setattr(trials, _only_seeds)
            resumed = fit(checkpoint=file, **PARAMETERS)  # the folds are not tried again
        assert_equal_models(resumed, fit(**PARAMETERS))


def _stop(*_):
    raise KeyboardInterrupt


def _only_seeds(_, work, tasks):
    """Starts of the last fit are seeds, tasks of folds are pairs."""
    assert all(isinstance(task, int) for task in tasks)
    return [work(task) for task in tasks]

"""The paper's sets are what their descriptions say, and generators keep their promises."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyceptron import Polyhedron, datasets

LOADERS = [
    datasets.make_dataset1,
    datasets.make_dataset2,
    datasets.load_ionosphere,
    datasets.load_breast_cancer,
    datasets.load_cycle,
]
MAKERS = [datasets.make_dataset1, datasets.make_dataset2]


@pytest.mark.parametrize("load", LOADERS)
class TestEveryLoader:
    def test_bunch(self, load):
        bunch = load()
        n, d = bunch.data.shape
        assert bunch.data.dtype == np.float64
        assert bunch.data.flags.c_contiguous
        assert np.isfinite(bunch.data).all()
        assert bunch.target.shape == (n,)
        assert set(bunch.target.tolist()) == {-1, 1}
        assert len(set(bunch.feature_names)) == d
        assert bunch.target_names.shape == (2,)
        assert str(d) in bunch.DESCR
        assert bunch.n_hyperplanes >= 2

    def test_forms(self, load):
        X, y = load(return_X_y=True)
        bunch, framed = load(), load(as_frame=True)
        np.testing.assert_array_equal(X, bunch.data)
        np.testing.assert_array_equal(y, bunch.target)
        assert list(framed.data.columns) == framed.feature_names
        assert framed.target.name == "target"
        pd.testing.assert_frame_equal(framed.frame.drop(columns="target"), framed.data)
        np.testing.assert_array_equal(framed.data.to_numpy(), X)
        bunch.data[:] = 0
        bunch.feature_names.clear()
        assert load().data.any()
        assert load().feature_names


def test_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"\[pandas\]"):
        datasets.load_ionosphere(as_frame=True)


@pytest.mark.parametrize("make", MAKERS)
class TestSynthetic:
    def test_points_and_labels(self, make):
        bunch = make()
        assert bunch.data.shape == (1000, bunch.polyhedron.n_features)
        assert bunch.n_hyperplanes == bunch.polyhedron.n_faces
        assert np.abs(bunch.data).max() <= 1
        inside = (bunch.data @ bunch.polyhedron.W.T + bunch.polyhedron.b).min(axis=1) >= 0
        np.testing.assert_array_equal(bunch.target == 1, inside)
        assert list(bunch.target_names) == ["outside", "inside"]

    def test_seeded(self, make):
        again = make(50, random_state=7).data
        assert len(again) == 50
        np.testing.assert_array_equal(make(50, random_state=7).data, again)
        assert not np.array_equal(make(50, random_state=8).data, again)
        for source in (None, np.random.default_rng(0), np.random.RandomState(0)):  # it moves on
            first, second = (make(50, random_state=source).data for _ in range(2))
            assert not np.array_equal(first, second)


@pytest.mark.parametrize("bad", [0, 1.5, True, "many", None])
def test_bad_n_samples(bad):
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        datasets.make_dataset1(bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "seed"])
def test_bad_random_state(bad):
    with pytest.raises(ValueError, match="random_state must be"):
        datasets.make_dataset1(random_state=bad)


def test_dataset2_faces_as_printed():
    polyhedron = datasets.make_dataset2(1).polyhedron
    first = [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 20, 8, 7, 6, 5, 4, 3, 2, 1, 1]
    second = [-1, 2, -3, 4, -5, 6, -7, 8, -9, 15, -11, 10, -9, 8, -7, 6, -5, 4, -3, 2]
    third = [1, 0, 1, 0, 1, 0, 1, 2, 0, 8, 0, 2, 3, 0, 3, 3, 0, 4, 0, 4]
    fourth = [1, -1, 0, 0, 2, -2, 0, 0, 6, -3, 0, 0, 4, -4, 0, 0, 5, -5, 0, 0]
    assert polyhedron.W.tolist() == [first, second, third, fourth]
    assert polyhedron.b.tolist() == [20, 15, 8, 6]


def test_ionosphere_facts():
    bunch = datasets.load_ionosphere()
    X, y = bunch.data, bunch.target
    assert X.shape == (351, 34)
    assert ((y == 1).sum(), (y == -1).sum()) == (225, 126)
    assert list(bunch.target_names) == ["bad", "good"]
    assert not X[:, bunch.feature_names.index("a02")].any()
    assert len(np.unique(X, axis=0)) == 350
    np.testing.assert_array_equal(X[102], X[248])
    # The first two rows of the UCI file: good, then bad.
    np.testing.assert_array_equal(X[0, :4], [1, 0, 0.99539, -0.05889])
    assert y[:2].tolist() == [1, -1]
    assert bunch.polyhedron is None


def test_breast_cancer_facts():
    bunch = datasets.load_breast_cancer()
    X, y = bunch.data, bunch.target
    assert X.shape == (683, 9)
    assert ((y == 1).sum(), (y == -1).sum()) == (444, 239)
    assert list(bunch.target_names) == ["malignant", "benign"]
    assert len(np.unique(X, axis=0)) == 449
    _, twin, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    assert (count[twin.ravel()] > 1).sum() == 280
    assert (X.min(), X.max()) == (1, 10)
    # Malignant cells are graded higher in every respect.
    assert (X[y == -1].mean(axis=0) > X[y == 1].mean(axis=0)).all()


def test_breast_cancer_with_id():
    plain, with_id = datasets.load_breast_cancer(), datasets.load_breast_cancer(with_id=True)
    assert with_id.data.shape == (683, 10)
    assert with_id.feature_names == ["sample_code_number", *plain.feature_names]
    assert with_id.data[0, 0] == 1000025
    np.testing.assert_array_equal(with_id.data[:, 1:], plain.data)
    np.testing.assert_array_equal(with_id.target, plain.target)


def test_paper_datasets():
    sets = datasets.paper_datasets()
    for name in ("Ionosphere", "Breast-Cancer"):
        assert "CC BY 4.0" in sets[name].DESCR
        assert "https://doi.org/10.24432/" in sets[name].DESCR
    assert list(sets) == ["Dataset 1", "Dataset 2", "Ionosphere", "Breast-Cancer"]
    assert [s.n_hyperplanes for s in sets.values()] == [3, 4, 2, 2]
    assert [s.data.shape for s in sets.values()] == [(1000, 10), (1000, 20), (351, 34), (683, 9)]
    other = datasets.paper_datasets(random_state=1)
    assert not np.array_equal(sets["Dataset 1"].data, other["Dataset 1"].data)


class TestMakePolyhedron:
    @settings(max_examples=20)
    @given(st.integers(1, 300), st.integers(1, 8), st.integers(1, 6), st.floats(0.1, 0.9))
    def test_separable_and_balanced(self, n, d, K, balance):
        X, y, truth = datasets.make_polyhedron(n, d, K, balance=balance, random_state=n)
        assert X.shape == (n, d)
        assert isinstance(truth, Polyhedron)
        assert truth.W.shape == (K, d)
        assert (y == 1).sum() == round(balance * n)
        np.testing.assert_array_equal(truth.contains(X), y == 1)

    @pytest.mark.parametrize("margin", [0.0, 0.03, 0.1])
    def test_margin(self, margin):
        X, y, truth = datasets.make_polyhedron(200, 6, 3, margin=margin, random_state=1)
        assert (y * truth.decision(X) >= margin).all()
        np.testing.assert_allclose(np.linalg.norm(truth.W, axis=1), 1)

    def test_balance_is_the_share_of_the_cube(self):
        _, _, truth = datasets.make_polyhedron(10, 5, 4, balance=0.3, random_state=0)
        cube = np.random.default_rng(1).uniform(-1, 1, (20_000, 5))
        assert truth.contains(cube).mean() == pytest.approx(0.3, abs=0.02)

    def test_flip_turns_exactly_its_share(self):
        clean = datasets.make_polyhedron(200, 4, 3, random_state=3)
        noisy = datasets.make_polyhedron(200, 4, 3, flip=0.1, random_state=3)
        np.testing.assert_array_equal(clean[0], noisy[0])
        assert clean[2] == noisy[2]
        assert (clean[1] != noisy[1]).sum() == 20
        assert (clean[1][:100] == 1).sum() not in (0, 100)  # rows are shuffled

    def test_no_face_is_redundant(self):
        _, _, truth = datasets.make_polyhedron(10, 3, 6, random_state=0)
        assert truth.b[0] > 0
        touching = -truth.b[:, None] * truth.W
        distance = truth.distance(touching)
        np.testing.assert_allclose(np.diag(distance), 0, atol=1e-12)
        assert (distance[~np.eye(6, dtype=bool)] > 0).all()

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"n_features": 0}, "n_features must be a whole number of at least 1; got 0"),
            ({"n_hyperplanes": 2.0}, "n_hyperplanes must be a whole number of at least 1; got 2.0"),
            ({"margin": -0.1}, "margin must be at least 0; got -0.1"),
            ({"margin": np.inf}, "margin must be at least 0; got inf"),
            ({"flip": 1.5}, "flip must be from 0 to 1; got 1.5"),
            ({"balance": 0.0}, "balance must be between 0 and 1; got 0.0"),
            ({"balance": np.nan}, "balance must be between 0 and 1; got nan"),
        ],
    )
    def test_bad_arguments(self, bad, message):
        with pytest.raises(ValueError, match=message):
            datasets.make_polyhedron(**bad)

    def test_margin_too_wide(self):
        with pytest.raises(ValueError, match=r"margin=5.0 leaves too few points"):
            datasets.make_polyhedron(100, margin=5.0, random_state=0)

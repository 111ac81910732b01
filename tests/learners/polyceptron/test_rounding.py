"""Rounded faces: short, as good as before, and printed as they are."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from polyceptron import Polyceptron, Polyhedron, load_model, open_blocks, save_model
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.learners.polyceptron.rounding import round_faces, whole_numbers
from polyceptron.utils.text import count_digits
from printed_rules import read_pieces, where_pieces_hold

QUICK = {"n_hyperplanes": 3, "margin": 20, "penalty": None, "n_init": 2, "max_iter": 30}
KINDS = {"one": QUICK, "three": QUICK, "union": {"n_polyhedra": 2, "n_hyperplanes": 2}}


def rows_in_units(seed, kind, n=120):
    """Rows in odd units, the means far from zero, some columns yes/no; labels of a kind."""
    random = np.random.default_rng(seed)
    d = int(random.integers(2, 7))
    Z = random.standard_normal((n, d))
    h = {"one": 1 - np.abs(Z[:, :2]).max(axis=1), "union": Z[:, 0] * Z[:, 1], "three": Z[:, 0]}
    y = np.digitize(h[kind], [-0.4, 0.4] if kind == "three" else [0.0])
    unit = 10 ** random.uniform(-6, 6, d)
    far = random.choice([-1, 1], d) * 10 ** random.uniform(0, 6, d)
    yes = (random.random(n) < 0.2 + 0.6 * (y > 0)).astype(float)
    X = np.column_stack([unit * (Z + far), yes, 1 - yes]) if seed % 2 else unit * (Z + far)
    if seed % 4 == 2:  # on a grid of one decimal, where faces go through rows
        X = np.round(1.5 * Z + 5, 1)
    return (X.astype(np.float32) if seed % 5 == 4 else X), y


def check_text(rule, X):
    """The text, read by anyone in any arithmetic, puts every row where the model does."""
    for number in (float, Fraction):
        held = where_pieces_hold(str(rule), rule.names, X, number)
        np.testing.assert_array_equal(held, rule.scores(X) >= 0, number.__name__)
    return read_pieces(str(rule), list(rule.names))


@pytest.mark.parametrize(("kind", "n"), [("one", 140), ("three", 40), ("union", 20)])
def test_text_of_random_models_is_the_model(kind, n):
    longest = []
    for seed in range(n):
        X, y = rows_in_units(seed, kind)
        model = Polyceptron(**KINDS[kind], random_state=seed).fit(X, y)
        pieces = check_text(model.rule_, X)
        longest += [max(map(count_digits, w.tolist())) for piece in pieces for w in piece.W]
    assert np.median(longest) <= 2
    assert max(longest) <= 8


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_text_of_real_models_is_the_model(load):
    data = load(as_frame=True)
    model = Polyceptron(random_state=0).fit(data.data, data.target)
    plain = Polyceptron(random_state=0, digits=None).fit(data.data, data.target)
    check_text(model.rule_, data.data.to_numpy())
    check_text(plain.rule_, data.data.to_numpy())
    lost = plain.score(data.data, data.target) - model.score(data.data, data.target)
    assert lost <= 0.002


def blocks(X, y):
    return ArrayBlocks(kernel_rows(X), y.astype(np.int8), np.empty(0), X.shape[1])


class TestRoundFaces:
    def test_short_numbers_and_scale(self):
        random = np.random.default_rng(0)
        X = random.standard_normal((400, 2)) * [0.01, 300] + [0.12, 800]
        face = Polyhedron([[5013.0, 1.02]], [-1442.7])
        y = np.where(face.contains(X), 1, -1)
        (short,), factor = round_faces([face], blocks(X, y))
        assert re.fullmatch(r"5000\*x0 \+ x1 >= 14[0-9]{2}", str(short))
        assert (short.contains(X) != (y > 0)).mean() <= 0.001
        spread = X.std(axis=0)
        sizes = [np.linalg.norm(one.W * spread) for one in (face, short)]
        assert factor == pytest.approx(sizes[0] / sizes[1])
        assert 2**-0.5 <= factor <= 2**0.5

    def test_whole_columns_have_whole_thresholds(self):
        X = np.arange(20.0, 80.0)[:, None]
        (short,), _ = round_faces([Polyhedron([[0.37]], [-0.37 * 46.7])], blocks(X, X[:, 0] - 46.5))
        assert str(short) == "x0 >= 47"

    def test_mirrored_columns_are_one_term(self):
        random = np.random.default_rng(0)
        yes = random.integers(0, 2, 300).astype(float)
        X = np.column_stack([random.standard_normal(300), 1 - yes, yes])
        face = Polyhedron([[1.0, -0.5, 0.5]], [0.1], ["a", "smoker=no", "smoker=yes"])
        y = np.where(face.contains(X), 1, -1)
        (short,), _ = round_faces([face], blocks(X, y))
        assert "smoker=no" not in str(short)
        np.testing.assert_array_equal(short.contains(X), y > 0)

    def test_most_digits_whatever_they_cost(self):
        X, y = rows_in_units(0, "one", 400)
        model = Polyceptron(**QUICK, random_state=0, digits=1).fit(X, y)
        W = model.rule_.pieces[0].polyhedron.printed.W
        assert {count_digits(value) for value in W.ravel().tolist()} <= {0, 1}

    def test_faces_that_no_number_describes_stay(self):
        face = Polyhedron([[np.finfo(float).tiny, 0.0]], [-1.0])
        X = np.random.default_rng(0).standard_normal((50, 2))
        y = np.full(50, -1)
        (same,), factor = round_faces([face], blocks(X, y))
        assert same == face
        assert factor == 1


def test_whole_numbers_point_as_near_as_digits_allow():
    random = np.random.default_rng(0)
    for _ in range(30):
        w, spread = random.standard_normal((2, 5)) * 10 ** random.uniform(-3, 3, (2, 5))
        spread, angles = np.abs(spread), []
        for digits in (1, 2, 4):
            v = whole_numbers(w, spread, digits)
            assert (v == np.rint(v)).all()
            assert max(map(count_digits, v.tolist())) <= digits
            a, b = w * spread, v * spread
            angles.append(np.arccos(min(1, a @ b / np.linalg.norm(a) / np.linalg.norm(b))))
        assert angles[0] < 0.2
        assert angles[1] < 0.02
        assert angles[2] < 0.0002


def test_none_is_as_it_was_learned():
    X, y = rows_in_units(1, "one")
    plain = Polyceptron(**QUICK, random_state=0, digits=None).fit(X, y)
    model = Polyceptron(**QUICK, random_state=0).fit(X, y)
    assert not plain.polyhedron_.is_short
    assert model.polyhedron_.is_short
    assert (plain.predict(X) != model.predict(X)).mean() <= 0.01


def test_weights_sparse_rows_and_files(tmp_path):
    X, y = rows_in_units(2, "one")
    weight = np.arange(len(y)) % 3
    model = Polyceptron(**QUICK, random_state=0).fit(X, y, sample_weight=weight)
    kept = weight > 0
    same = Polyceptron(**QUICK, random_state=0).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert model.polyhedron_ == same.polyhedron_
    wide = sparse.csr_array(np.where(np.abs(X) < np.quantile(np.abs(X), 0.3), 0, X))
    check_text(Polyceptron(**QUICK, random_state=0).fit(wide, y).rule_, wide)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    source = open_blocks(tmp_path / "X.npy", tmp_path / "y.npy", cache_dir=tmp_path / "cache")
    plain = Polyceptron(**QUICK, random_state=0)
    assert plain.fit_blocks(source).rule_ == Polyceptron(**QUICK, random_state=0).fit(X, y).rule_


def test_model_file_has_the_printed_numbers(tmp_path):
    X, y = rows_in_units(4, "three")
    model = Polyceptron(**QUICK, random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.rule_ == model.rule_
    assert loaded.digits == "auto"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    text = (tmp_path / "model.json").read_text()
    for number in model.rule_.pieces[0].polyhedron.printed.W.ravel().tolist():
        assert repr(number) in text


def test_probabilities_stay_near():
    X, y = rows_in_units(6, "one", 400)
    models = [Polyceptron(random_state=0, digits=digits).fit(X, y) for digits in (None, "auto")]
    one, other = (model.predict_proba(X)[:, 1] for model in models)
    assert np.abs(one - other).mean() < 0.05


@pytest.mark.parametrize("digits", [0, -1, 1.5, "many", True])
def test_bad_digits(digits):
    with pytest.raises(ValueError, match=r"digits must be None, 'auto' or "):
        Polyceptron(digits=digits).fit([[0.0], [1.0]], [0, 1])

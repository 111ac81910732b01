"""Faces that stay while the others are learned again, and the record of it."""

import numpy as np
import pytest

from polyceptron import Polyceptron, Polyhedron, Rule, load_model, save_model
from polyceptron.learners.polyceptron.refit import kept_faces

X = np.round(np.random.default_rng(0).normal([50, 25, 3], [9, 4, 1], (150, 3)), 1)
Y = np.where((X[:, 0] >= 45) & (X[:, 1] <= 27), "yes", "no")
Y3 = np.array(["high", "low", "mid"])[np.digitize(X[:, 0], [46, 54])]
QUICK = {"max_terms": 1, "max_faces": 2, "random_state": 0}


def test_the_record_says_what_stayed_and_is_kept_in_files(tmp_path):
    model = Polyceptron(**QUICK, n_polyhedra=1, inside="yes").fit(X, Y)
    rule = model.rule_.edit().replace(1, "2*x0 - x1 >= 60", why="law").rule
    again = model.refit(X, Y, locked=[1], rule=rule, why="rows of May")
    replaced, refit = again.rule_.edits
    assert replaced.face == "1"
    assert (refit.what, refit.face, refit.after) == ("refit", "0", "2*x0 - x1 >= 60")
    assert str(refit) == "refit, but for face 0: 2*x0 - x1 >= 60 (rows of May)"
    assert again.rule_.locked == ((0, 0),)
    save_model(again, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.rule_.edits == again.rule_.edits
    once_more = loaded.refit(X, Y)
    assert [one.what for one in once_more.rule_.edits] == ["replace", "refit", "refit"]
    assert once_more.rule_ == again.rule_


def test_a_union_keeps_what_all_its_pieces_have():
    y = np.where((np.abs(X[:, 0] - 50) >= 6) & (X[:, 2] <= 4.5), "yes", "no")
    model = Polyceptron(
        max_terms=1, n_polyhedra=2, n_hyperplanes=2, inside="yes", fixed_faces="x2 <= 4.5"
    ).fit(X, y)
    assert len(model.rule_.pieces) == 2
    again = model.refit(X, y)
    assert len(again.rule_.pieces) == 2
    assert again.rule_.locked == ((0, 0), (1, 0))
    (edit,) = again.rule_.edits
    assert (edit.face, edit.after) == ("1/0, 2/0", "x2 <= 4.5")
    with pytest.raises(ValueError, match=r"face 1/1 stays in one of 2 polyhedra of 'yes'"):
        model.refit(X, y, locked=["1/1"])


def test_classes_keep_faces_each():
    model = Polyceptron(**QUICK, n_polyhedra=1, fixed_faces={"low": "x1 <= 90"}).fit(X, Y3)
    assert model.rule_.locked == ((1, 0),)
    again = model.refit(X, Y3, locked=[("high", 0)])
    first = model.polyhedra_["high"].to_text().splitlines()[0]
    (edit,) = again.rule_.edits
    assert str(edit) == f"refit, but for faces high/0, low/0: {first}; x1 <= 90"
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("locked", "problem"),
    [
        (None, "none is: name them in locked"),
        ([7], r"locked must be faces as they are printed, '0', '1'; got '7'"),
        ([True], "got 'True'"),
    ],
)
def test_which_faces(locked, problem):
    rule = Rule.inside(["no", "yes"], 1, Polyhedron([[1.0], [-1.0]], [0, 5]))
    with pytest.raises(ValueError, match=problem):
        kept_faces(rule, locked)
    for same in (1, [1], ["1"], np.array([1])):
        assert kept_faces(rule, same)[1].tolist() == [[-1, 5]]

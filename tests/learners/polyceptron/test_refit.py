"""Faces that stay while the others are learned again, and the record of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from polyceptron import OC1, Polyceptron, Polyhedron, Rule, load_model, save_model
from polyceptron.learners.polyceptron.refit import Around

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
        Around.of(rule, locked)
    for same in (1, [1], ["1"], np.array([1])):
        assert Around.of(rule, same).common(1).tolist() == [[-1, 5]]


# --- faces that stay in one piece of several ------------------------------------------------


def union(*pieces, names=None):
    """A rule of pieces that are lists of [w, b]."""
    parts = [np.array(one, float) for one in pieces]
    return Rule.inside(["no", "yes"], 1, *(Polyhedron(p[:, :-1], p[:, -1], names) for p in parts))


def rows_of_three(seed, n=90, d=2):
    """Rows, and labels with some mistakes: three corners are inside."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.uniform(-4, 4, (n, d)), 1)
    x, y = rows.T[:2]
    inside = ((x > 1) & (y > 0)) | ((x < -1) & (y > 1)) | ((x < 0) & (y < -2))
    return rows, np.where(inside ^ (rng.random(n) < 0.05), "yes", "no"), rng


def faces_of(piece):
    return {(*w, c) for w, c in zip(piece[0].W.tolist(), piece[0].b.tolist(), strict=True)}


def check_around(model, rule, locked, rows, labels, weight=None):
    """Learn again, and see what stays, what the attributes say, and that nothing is worse."""
    again = model.refit(rows, labels, weight, rule=rule, locked=locked)
    new = again.rule_
    for p in {p for p, _ in locked}:
        own = rule.pieces[p - 1][0]
        kept = {(*own.W[k].tolist(), float(own.b[k])) for q, k in locked if q == p}
        with_them = [q for q, piece in enumerate(new.pieces) if kept <= faces_of(piece)]
        assert with_them
        assert any(sum(q == r for r, _ in new.locked) == len(kept) for q in with_them)
        if len(kept) == own.n_faces:
            assert any(faces_of(new.pieces[q]) == kept for q in with_them)
    assert len(new.locked) == len(set(locked))
    before = np.average(rule.predict(rows) == labels, weights=weight)
    assert again.score(rows, labels, weight) >= before - 1e-12
    pieces = again.polyhedra_["yes"]
    assert (pieces if isinstance(pieces, list) else [pieces]) == [one[0] for one in new.pieces]
    assert again.n_polyhedra_ == len(new.pieces)
    assert again.n_hyperplanes_ == len(again.coef_) == sum(one[0].n_faces for one in new.pieces)
    assert (again.predict(rows) == new.predict(rows)).all()
    assert ((again.predict_proba(rows)[:, 1] >= 0.5) == (again.predict(rows) == "yes")).all()
    (edit,) = new.edits
    assert edit.what == "refit"
    assert edit.face.count(",") == len(new.locked) - 1
    return again


@pytest.mark.parametrize("seed", range(20))
def test_faces_stay_in_their_piece_to_the_last_bit(seed):
    rows, labels, rng = rows_of_three(seed)
    pieces = [np.round(rng.normal(size=(rng.integers(1, 4), 3)), 3) for _ in range(2 + seed % 2)]
    rule = union(*pieces)
    places = [(p + 1, k) for p, one in enumerate(pieces) for k in range(len(one))]
    if seed % 4 == 3:
        locked = [one for one in places if one[0] == 1]  # a whole piece
    else:
        locked = [places[i] for i in rng.permutation(len(places))[: 1 + seed % 4]]
    weight = rng.uniform(0.1, 3, len(rows)) if seed % 5 == 0 else None
    model = Polyceptron(max_terms=1 + seed % 2, max_faces=6, random_state=0)
    again = check_around(model, rule, locked, rows, labels, weight)
    free = [
        piece[0].W[k]
        for p, piece in enumerate(again.rule_.pieces)
        for k in range(piece[0].n_faces)
        if (p, k) not in again.rule_.locked
    ]
    assert len(free) <= 6
    assert all(np.count_nonzero(w) <= model.max_terms for w in free)


CORNERS = union([[1, 0, -2], [0, 1, 1]], [[-1, 0, 0], [0, 1, -1]], [[-1, 0, 1], [0, -1, -1]])


def test_other_faces_are_learned_again():
    rows, labels, _ = rows_of_three(1, n=300)
    model = Polyceptron(max_terms=1, random_state=0)
    again = check_around(model, CORNERS, [(1, 1), (3, 1)], rows, labels)
    assert again.score(rows, labels) > np.mean(CORNERS.predict(rows) == labels) + 0.03
    named = model.refit(rows, labels, rule=CORNERS, locked=["1/1", (3, 1)])
    assert named.rule_ == again.rule_


def test_a_piece_that_no_row_needs_goes_unless_faces_stay_in_it():
    rows, labels, _ = rows_of_three(1)
    rule = union([[1, 0, -1], [0, 1, 0]], [[1, 0, -2], [0, 1, -1]], [[1, 0, -20]])
    model = Polyceptron(max_terms=1, random_state=0)
    again = check_around(model, rule, [(1, 0), (3, 0)], rows, labels)
    assert [1, 0, -20] in [[*w, c] for w, c in zip(again.coef_, again.intercept_, strict=True)]
    labels = np.where((rows > [1, 0]).all(axis=1), "yes", "no")
    assert len(model.refit(rows, labels, rule=rule, locked=["1/0"]).rule_.pieces) == 1


def test_what_all_pieces_have_is_given_and_the_rest_stays_in_one():
    rows, labels, _ = rows_of_three(2, d=3)
    pieces = [[1, 0, 0, -1], [0, 0, -2, 7]], [[0, 0, -1, 3.5], [-1, 0, 0, 0]]
    locked = [(1, 0), (1, 1), (2, 0)]
    again = check_around(Polyceptron(max_terms=2), union(*pieces), locked, rows, labels)
    assert again.fixed_faces.tolist() == [[0, 0, -1, 3.5]]
    assert again.broken_promises(again.rule_) == []
    assert again.refit(rows, labels).rule_.locked == again.rule_.locked


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_is_known_holds_for_the_union(form):
    rows, labels, _ = rows_of_three(3, n=120)
    known = {"must_contain": [[3.0, -0.4], [-3.0, 3.0], [-4.0, -3.9]], "digits": 1}
    known |= {"features_of_faces": [[0], [1]]}
    model = Polyceptron(**known, random_state=0)
    rule = union([[1, 0, -2], [0, 1, 1]], [[-1, 0, 0], [0, 1, -1]], [[1, 1, -9], [3, -1, 12.5]])
    again = model.refit(form(rows), labels, rule=rule, locked=["1/1", "2/0"])
    assert again.rule_.locked == ((0, 0), (1, 0))
    assert again.broken_promises(again.rule_) == []
    assert (again.coef_ != 0).sum(axis=1).max() == 1  # the faces of two columns are gone
    with pytest.raises(ValueError, match="row 1 of must_contain is in no piece"):
        model.refit(
            rows, labels, rule=union([[1, 0, -2], [0, 1, 1]], [[1, 0, 0]]), locked=["1/0", "2/0"]
        )
    rising = Polyceptron(monotonic_cst=[1, 0], max_terms=1)
    with pytest.raises(ValueError, match="against monotonic_cst"):
        rising.refit(rows, labels, rule=rule, locked=["2/0"])
    again = rising.refit(rows, labels, rule=rule, locked=["1/0"])
    assert again.broken_promises(again.rule_) == []
    assert (again.coef_[:, 0] >= 0).all()


def test_dense_faces_class_weights_and_names():
    pd = pytest.importorskip("pandas")
    rows, labels, _ = rows_of_three(4, n=150)
    frame = pd.DataFrame(rows, columns=["age", "dose"])
    pieces = [[1, 0, -2], [0, 1, 1]], [[-1, 0, 0], [0, 1, -1]]
    rule, model = union(*pieces, names=["age", "dose"]), Polyceptron(class_weight="balanced")
    again = check_around(model, rule, [(2, 0)], frame, labels)
    assert again.rule_.edits[-1].after == "age <= 0"
    again = check_around(Polyceptron(2, max_faces=4), rule, [(2, 0)], frame, labels)
    assert again.n_hyperplanes_ <= 5


def test_nothing_left_to_learn():
    rows, labels, _ = rows_of_three(5)
    locked = [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]
    rule = union(*[np.column_stack([p[0].W, p[0].b]) for p in CORNERS.pieces[:2]], [[1, 0, -9]])
    again = check_around(Polyceptron(max_terms=1), rule, locked, rows, labels)
    assert again.selection_["accuracy"] == [again.score(rows, labels)]
    assert again.selection_["chosen"] == [True]


def test_one_of_three_classes_keeps_a_face_of_one_piece(tmp_path):
    rows, labels, _ = rows_of_three(6, n=200)
    labels = np.where((labels == "no") & (rows[:, 1] < 0), "low", labels)
    model = Polyceptron(max_terms=1, n_polyhedra=2, random_state=0).fit(rows, labels)
    place = model.rule_.labels.index("yes")
    second = max(p for p, one in enumerate(model.rule_.pieces) if one.place == place)
    rule = model.rule_.edit().move((second + 1, 0), by=0.3).rule
    again = model.refit(rows, labels, rule=rule, locked=[(second + 1, 0)])
    ((p, k),) = again.rule_.locked
    old, new = rule.pieces[second], again.rule_.pieces[p]
    assert new.place == place
    assert (*new[0].W[k], new[0].b[k]) == (*old[0].W[0], old[0].b[0])
    assert again.score(rows, labels) >= np.mean(rule.predict(rows) == labels)
    assert again.n_polyhedra_["yes"] == sum(one.place == place for one in again.rule_.pieces)
    save_model(again, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.rule_ == again.rule_
    assert loaded.rule_.locked == again.rule_.locked
    assert loaded.predict_proba(rows).tolist() == again.predict_proba(rows).tolist()
    with pytest.raises(ValueError, match="y must have the classes of the rule"):
        model.refit(
            rows, np.where(labels == "low", "no", labels), rule=rule, locked=[(second + 1, 0)]
        )


def test_of_three_classes_a_rule_that_answers_better_stays(tmp_path):
    rows = np.round(np.random.default_rng(0).uniform(-4, 4, (90, 2)), 1)
    labels = np.where(np.abs(rows[:, 0]) > 2, "in", np.where(rows[:, 1] > 0, "a", "b"))
    model = Polyceptron(n_polyhedra=2, max_terms=1, random_state=0).fit(rows, labels)
    assert [piece.place for piece in model.rule_.pieces] == [0, 1, 2, 2]
    poor = Polyceptron(n_polyhedra=1, max_terms=1, max_faces=1, random_state=0)
    again = poor.refit(rows, labels, rule=model.rule_, locked=["3/0"])
    assert again.rule_ == model.rule_
    assert again.rule_.locked == ((2, 0),)
    assert again.n_hyperplanes_ == model.n_hyperplanes_
    assert again.polyhedra_ == model.polyhedra_
    save_model(again, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").polyhedra_ == model.polyhedra_
    # but not where it breaks what is promised
    rising = Polyceptron(max_terms=1, monotonic_cst={"a": [0, -1]}, random_state=0)
    again = rising.refit(rows, labels, rule=model.rule_, locked=["3/0"])
    assert again.broken_promises(again.rule_) == []


def test_a_union_that_keeps_faces_of_one_piece_is_kept_in_files(tmp_path):
    rows, labels, _ = rows_of_three(7)
    again = Polyceptron(max_terms=1).refit(rows, labels, rule=CORNERS, locked=["2/1"], why="law")
    save_model(again, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.rule_ == again.rule_
    assert loaded.rule_.locked == again.rule_.locked
    assert loaded.rule_.edits == again.rule_.edits
    assert again.rule_.edits[-1].why == "law"
    assert loaded.selection_ == again.selection_
    save_model(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert loaded.refit(rows, labels).rule_.locked == again.rule_.locked


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_have_to_be_inside_are_in_one_of_the_pieces(seed):
    rows, labels, rng = rows_of_three(seed)
    far = (
        np.round(rng.uniform([1, 0], 9, (4, 2)), 1),
        np.round(rng.uniform(-9, [-1, -3], (4, 2)), 1),
    )
    rule = union([[1, 0, -1], [0, -1, 3]], [[-1, 0, 0], [0, 1, 2]])
    model = Polyceptron(max_terms=2, must_contain=np.vstack(far), random_state=0)
    again = model.refit(rows, labels, rule=rule, locked=["1/0", "2/0"])
    assert again.rule_.locked == ((0, 0), (1, 0))
    assert (again.predict(np.vstack(far)) == "yes").all()
    assert again.broken_promises(again.rule_) == []


class TestOddities:
    """Of unions in two boxes: parameters, columns and rules that are not as usual."""

    rows = np.random.default_rng(7).uniform(-3, 3, (200, 2))
    y = ((np.abs(rows - 1.5) < 1).all(axis=1) | (np.abs(rows + 1.5) < 1).all(axis=1)).astype(int)
    boxes = Rule.inside(
        [0, 1],
        1,
        *(
            Polyhedron([[1, 0], [-1, 0], [0, 1], [0, -1]], [1 - c, 1 + c, 1 - c, 1 + c])
            for c in (1.5, -1.5)
        ),
    )

    def test_a_penalty_is_no_reason_to_refuse(self):
        model = Polyceptron(max_terms=1, penalty=1e-4, inside=1, random_state=0)
        model.fit(self.rows, self.y)
        assert model.n_polyhedra_ == 2
        again = model.refit(self.rows, self.y, locked=["1/0"])
        assert again.rule_.locked == ((0, 0),)

    def test_pieces_that_nobody_needs_go(self):
        model = Polyceptron(max_terms=2, monotonic_cst=[1, 0], random_state=0)
        again = model.refit(self.rows, self.y, rule=self.boxes, locked=["1/0"])
        for p, piece in enumerate(again.rule_.pieces):
            is_locked = any(q == p for q, _ in again.rule_.locked)
            assert is_locked or piece.polyhedron.contains(self.rows).any()

    def test_a_column_that_is_constant_where_a_piece_is_learned(self):
        rows = self.rows.copy()
        rows[:, 0] = rows[:, 0] > 0
        rule = Rule.inside([0, 1], 1, Polyhedron([[-1, 0]], [0.5]), Polyhedron([[1, 0]], [-0.5]))
        model = Polyceptron(max_terms=1, features_of_faces=[[0]], random_state=0)
        y = (rows[:, 0] == 0) | (rows[:, 1] > 1)
        again = model.refit(rows, y.astype(int), rule=rule, locked=["1/0"])
        assert "x0 <= 0.5" in again.rule_.to_text()

    def test_locks_follow_their_pieces(self):
        y = np.where(self.y == 1, 1, np.where(self.rows[:, 0] > 0, 0, 2))
        model = Polyceptron(max_terms=2, max_faces=12, n_polyhedra=2, random_state=0)
        rule = model.fit(self.rows, y).rule_
        turned = replace(rule, pieces=tuple(reversed(rule.pieces)))
        (name,) = (n for n, at in turned.edit().addresses.items() if at == (0, 0))
        narrow = Polyceptron(max_terms=2, max_faces=1, n_polyhedra=2, random_state=0)
        again = narrow.refit(self.rows, y, locked=[name], rule=turned).rule_
        face, kept = turned.pieces[0].polyhedron.printed, []
        for p, k in again.locked:
            one = again.pieces[p].polyhedron.printed
            kept.append((*one.W[k].tolist(), float(one.b[k])))
        assert (*face.W[0].tolist(), float(face.b[0])) in kept

    def test_trees_are_refused(self):
        tree = OC1(random_state=0).fit(self.rows, self.y).rule_
        with pytest.raises(ValueError, match="this one is a tree"):
            Polyceptron(max_terms=2).refit(self.rows, self.y, rule=tree, locked=["0/0"])

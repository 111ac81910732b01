"""What a caller knows of a class is kept to by the final rule, whatever the rows say."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from common import assert_equal_models
from polyceptron import Polyceptron, Polyhedron, load_model, save_model
from polyceptron.explain import VerdictWarning
from polyceptron.learners.polyceptron.knowledge import NAMES as PARAMETERS
from polyceptron.learners.polyceptron.knowledge import Knowledge, _downwards, _with_rows
from polyceptron.utils.text import count_digits
from printed_rules import where_pieces_hold

NAMES = ["age", "bmi", "dose", "rate"]
X = np.random.default_rng(0).standard_normal((120, 4))
Y = ((X[:, 0] >= -0.5) & (X[:, 1] <= 0.7)).astype(int)
FRAME = pd.DataFrame(X, columns=NAMES)


def fit(X=X, y=Y, **parameters):
    given = {"max_faces": 2, "random_state": 0, "n_jobs": 1, "digits": "auto"} | parameters
    return Polyceptron(**given).fit(X, y)


def own_faces(rule, place, n_fixed=0):
    """Coefficients of the faces of a class, but for those that are given."""
    pieces = [one.polyhedron for one in rule.pieces if one.place == place]
    return np.concatenate([one.W[n_fixed:] for one in pieces])


def some_rows(X):
    rng = np.random.default_rng(1)
    far = X.mean(axis=0) + 3 * X.std(axis=0) * rng.standard_normal((200, X.shape[1]))
    return np.vstack([X, far]).astype(X.dtype)


def check_signs(model, rows, signs, spread):
    """Rows that are moved up a column do not leave the class, nor become less likely."""
    assert (np.array(signs) * own_faces(model.rule_, 1) >= 0).all()
    rng = np.random.default_rng(2)
    inside, likely = model.predict(rows) == 1, model.predict_proba(rows)[:, 1]
    for j in np.flatnonzero(signs):
        moved = rows.copy()
        moved[:, j] += (signs[j] * spread[j] * rng.exponential(size=len(rows))).astype(rows.dtype)
        assert ((model.predict(moved) == 1) >= inside).all()
        assert (model.predict_proba(moved)[:, 1] >= likely - 1e-12).all()


def check_faces(model, rows, faces):
    """In each piece, as they were but for a power of two; no row beyond them is inside."""
    given = Polyhedron(faces[:, :-1], faces[:, -1])
    assert given.contains(np.asarray(rows))[model.predict(rows) == 1].all()
    for piece in model.rule_.pieces:
        W, b = piece.polyhedron.W, piece.polyhedron.b
        for own, face in zip(np.column_stack([W, b]), faces, strict=False):
            (factor,) = set((own[face != 0] / face[face != 0]).tolist())
            assert np.frexp(factor)[0] == 0.5
            assert not own[face == 0].any()


def check_text(model, rows):
    """What is printed answers as the model does."""
    for number in (float, Fraction):
        held = where_pieces_hold(str(model.rule_), model.rule_.names, rows, number)
        np.testing.assert_array_equal(held.any(axis=1), model.predict(rows) == 1, number.__name__)


def check_all(model, X, max_terms=None, monotonic_cst=None, fixed_faces=None, **known):
    rows = some_rows(X)
    check_text(model, rows)
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(rows)), model.predict(rows))
    if monotonic_cst is not None:
        check_signs(model, rows, monotonic_cst, X.std(axis=0))
    if fixed_faces is not None:
        check_faces(model, rows, fixed_faces)
    for w in own_faces(model.rule_, 1, 0 if fixed_faces is None else len(fixed_faces)):
        used = set(np.flatnonzero(w).tolist())
        assert len(used) <= (max_terms or len(w))
        assert any(used <= set(group) for group in known.get("features_of_faces", [range(9)]))
    if "must_contain" in known:
        check_text(model, known["must_contain"])
        assert (model.predict(known["must_contain"]) == 1).all()


def random_problem(seed):
    """Rows in odd units, the means near or far, and some of what may be known of them."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((150, 4))
    h = [1 - np.abs(Z[:, :2]).max(axis=1), Z[:, 0] * Z[:, 1], Z[:, 0] + Z[:, 1] - Z[:, 2]]
    y = ((h[seed % 3] > 0) ^ (rng.random(150) < 0.05)).astype(int)
    far = rng.choice([-1, 1], 4) * 10 ** rng.uniform(0, 6 if seed % 2 else 0.1, 4)
    unit = 10 ** rng.uniform(-6, 6, 4)
    X = (unit * (Z + far)).astype(np.float32 if seed % 5 == 4 else float)
    known, asked = {}, rng.random(5) < 0.5
    signs = rng.integers(-1, 2, 4)
    if asked[0]:
        known["monotonic_cst"] = signs.tolist()
    if asked[1]:
        known["max_terms"] = int(rng.integers(1, 4))
    if asked[2]:
        known["features_of_faces"] = [[[0, 1], [2, 3]], [[0], [1], [2, 1, 3]]][seed % 2]
    inside = np.ones(150, bool)
    if asked[3]:
        W = np.round(rng.standard_normal((2, 4)), 2) * (rng.random((2, 4)) < 0.7) + [0.5, 0, 0, 0]
        W = np.where(signs * W < 0, -W, W) / unit if asked[0] else W / unit
        b = -np.quantile(X @ W.T, 0.15, axis=0)
        known["fixed_faces"] = np.column_stack([W, b])
        inside = Polyhedron(W, b).contains(X)
    if asked[4]:
        known["must_contain"] = X[np.flatnonzero(inside)[:4]]
    return X, y, known


@pytest.mark.parametrize("seed", range(30))
def test_every_promise_holds_for_random_problems(seed):
    X, y, known = random_problem(seed)
    model = fit(X, y, inside=1, digits=[None, 2, "auto"][seed % 3], **known)
    check_all(model, X, **known)


class TestSigns:
    def test_of_the_greater_label_or_of_the_inside(self):
        for y, kind, signs in ((Y, {}, 1), (1 - Y, {}, -1), (Y, {"inside": 0}, -1)):
            model = fit(y=y, monotonic_cst=[signs, 0, 0, 0], **kind)
            place = kind.get("inside", 1)
            assert model.inside_ == place
            assert (signs * own_faces(model.rule_, place)[:, 0] >= 0).all()

    @pytest.mark.parametrize("max_terms", [None, 1, 2])
    def test_against_the_rows(self, max_terms):
        """Nothing can be learned then; but it ends, and keeps to them."""
        y = (X[:, 0] + X[:, 1] + X[:, 2] + X[:, 3] < 0).astype(int)
        model = fit(y=y, monotonic_cst=[1, 1, 1, 1], max_terms=max_terms)
        check_signs(model, some_rows(X), [1, 1, 1, 1], X.std(axis=0))

    @pytest.mark.parametrize("digits", [None, 1, "auto"])
    @pytest.mark.parametrize("max_terms", [None, 2])
    @pytest.mark.parametrize("truth", [1, 2, 5])
    def test_bounds_on_coefficients(self, truth, max_terms, digits):
        """Of ratios by the ends of what is allowed as columns, and of zero by no list at all."""
        income, debt, late = np.round(1000 + 300 * X[:, :3], 1).T
        y = (income - truth * debt + 100 * X[:, 3] >= 1000 - 1000 * truth).astype(int)
        ends = np.column_stack([income - 1.5 * debt, income - 3 * debt, late])
        known = {"monotonic_cst": [1, 1, 0], "features_of_faces": [[0, 1]]}
        model = fit(ends, y, inside=1, digits=digits, max_terms=max_terms, **known)
        V = np.concatenate([one.polyhedron.printed.W for one in model.rule_.pieces])
        assert not V[:, 2].any()
        for v in V[:, :2].tolist():
            first, second = map(Fraction, v)
            of_income, of_debt = first + second, -(first * Fraction(3, 2) + second * 3)
            assert of_income * Fraction(3, 2) <= -of_debt <= of_income * 3
            assert of_income > 0
        assert model.score(ends, y) > 0.8 or truth != 2


class TestFaces:
    FACES = np.array([[1, 0, 0, 0, 0.25], [0, -3, 0, 1.5, 1]])
    KINDS = (
        ["age >= -0.25", "3*bmi <= 1 + 1.5*rate"],
        FACES,
        (FACES[:, :-1].tolist(), FACES[:, -1]),
        Polyhedron(FACES[:, :-1], FACES[:, -1]),
        Polyhedron(FACES[:, [3, 1, 2, 0]], FACES[:, -1], [NAMES[j] for j in (3, 1, 2, 0)]),
    )

    def test_all_kinds_say_the_same(self):
        first, *others = (fit(FRAME, fixed_faces=kind) for kind in self.KINDS)
        check_faces(first, pd.DataFrame(some_rows(X), columns=NAMES), self.FACES)
        assert "age >= -0.25" in str(first.rule_)
        for other in others:
            assert_equal_models(other, first)

    def test_alone_where_they_leave_nothing_to_learn(self):
        model = fit(FRAME, fixed_faces=["age >= -0.5", "bmi <= 0.7"])
        assert str(model.polyhedron_) == "age >= -0.5\nbmi <= 0.7"
        np.testing.assert_array_equal(model.predict(FRAME), Y)
        twice = fit(FRAME, fixed_faces=["age >= -0.5", "bmi <= 0.7", "4*age >= -2"])
        assert twice.rule_ == model.rule_
        one = fit(FRAME, fixed_faces="age >= 100", must_contain=[[200, 0, 0, 0]])
        assert str(one.polyhedron_) == "age >= 100"

    @pytest.mark.parametrize(
        ("known", "problem"),
        [
            ({"fixed_faces": "age >= 100"}, "leave no row of the class 1 inside"),
            ({"fixed_faces": "agee >= 1"}, "'agee' is missing .is it 'age'"),
            ({"fixed_faces": 3}, "must be inequalities such as"),
            ({"fixed_faces": [[1, 0, 0, 0, 1]]}, "array of rows"),
            ({"fixed_faces": np.ones(5)}, r"rows \[w, b\] of 5 numbers; got shape \(5,\)"),
            ({"fixed_faces": ([["a"]], [1])}, "must be numbers"),
            ({"fixed_faces": ([1, 0, 0, 0], 1)}, r"of shapes \(m, 4\) and \(m,\)"),
            ({"fixed_faces": np.full((1, 5), np.nan)}, "must be finite"),
            (
                {"fixed_faces": Polyhedron([[1, 0, 0, 0]], [0], list("abcd"))},
                "column 'a' is missing",
            ),
            ({"fixed_faces": "age <= 1", "monotonic_cst": {"age": 1}}, "'age <= 1' is against"),
            ({"fixed_faces": "age >= 1", "must_contain": X[:1] * 0}, "row 0 .*'age >= 1'"),
            ({"monotonic_cst": [1, 1]}, r"each of the 4 columns.*shape \(2,\)"),
            ({"monotonic_cst": [1, np.nan, 0, 0]}, "for 'bmi'; got nan"),
            ({"monotonic_cst": [1, [2], 0, 0]}, r"for 'bmi'; got \[2\]"),
            ({"monotonic_cst": {"doze": 1}}, "'doze' is missing .is it 'dose'"),
            ({"monotonic_cst": {4: 1}}, "names 4, which is no feature"),
            ({"features_of_faces": 3}, "list of lists"),
            ({"features_of_faces": 1}, "max_terms=1 is for faces of one column"),
            ({"features_of_faces": []}, "must have a group"),
            ({"features_of_faces": [[True]]}, "names True, which is no feature"),
            ({"features_of_faces": np.ones((1, 3))}, "must have 4 columns; got 3"),
            ({"features_of_faces": np.full((1, 4), np.nan)}, "1 or 0 in each place"),
            ({"must_contain": X[0]}, "must_contain: X must be 2-D"),
            ({"must_contain": X[:1] * np.inf}, "not a finite number"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:invalid value")
    def test_bad_input(self, known, problem):
        with pytest.raises(ValueError, match=problem):
            fit(FRAME, **known)


class TestRows:
    def test_rows_of_any_kind_are_let_in(self):
        far = np.array([[-3.0, 0, 0, 0], [0, 3, 0, 1e6]])
        frame = pd.DataFrame(far, columns=NAMES)
        kinds = {None: far, 1: far.tolist(), "auto": frame, 2: sparse.csr_matrix(far)}
        for digits, rows in kinds.items():
            model = fit(FRAME, must_contain=rows, max_terms=2, digits=digits)
            assert (model.predict(frame) == 1).all()

    def test_rows_on_a_grid_are_let_in_as_every_program_finds(self):
        """By short numbers, where the sum of a row is not what it would be without errors."""
        random = np.random.default_rng(4)
        grid = np.round(random.normal([290, 101_330, 5], [1.5, 9, 2], (200, 3)), 2)
        pieces = [Polyhedron([[0, -5 / 128, -8 / 128], [-90 / 256, -8 / 256, 0]], [0, 3270.8])]
        for row in grid:
            (piece,) = _with_rows(pieces, row[None], grid)
            text = f"  face 0: {piece}".replace("\n", "\n  face 1: ")
            for number in (float, Fraction):
                assert where_pieces_hold(text, ["x0", "x1", "x2"], row[None], number).all()
            assert max(map(count_digits, piece.printed.b.tolist())) <= 8

    def test_rows_on_a_given_face(self):
        """They are inside by the last bit alone, and stay so where the face is scaled."""
        rng, nothing = np.random.default_rng(0), dict.fromkeys(PARAMETERS)
        for a, c, x0, x1 in (rng.integers(1, 99, (300, 4)) / 100).tolist():
            face, row = np.array([[a, c, -round(a * x0 + c * x1, 6)]]), [[x0, x1]]
            if Polyhedron(face[:, :2], face[:, 2]).contains(row).all():
                known = nothing | {"fixed_faces": face, "must_contain": row}
                (piece,) = Knowledge.of(known, 2, None).held_to([], 50 * X[:, :2], None)
                assert piece.contains(row).all()

    def test_the_search_for_an_offset_ends(self):
        """Terms that cancel out have a sum far smaller than the rounding of it."""
        steps = list(itertools.islice(_downwards(1e-20), 200))
        assert steps[0] == 1e-20
        assert np.all(np.diff(steps[1:]) < 0)
        assert steps[-1] < -1e9

    def test_sparse_rows(self):
        S = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0, X))
        known = {"fixed_faces": TestFaces.FACES, "monotonic_cst": [1, -1, 0, 0]}
        known["must_contain"] = np.array([[5.0, -5, 0, 0]])
        check_all(fit(S, **known), S.toarray(), **known)

    def test_constant_columns(self):
        constant = np.column_stack([X[:, :2], np.ones(len(X)), X[:, 3]])
        known = {"features_of_faces": [[2], [0, 2], [1]], "monotonic_cst": [1, 0, 1, 0]}
        check_all(fit(constant, **known), constant, **known)
        with pytest.raises(ValueError, match="all columns of its groups are constant"):
            fit(constant, features_of_faces=[[2]])

    def test_mirrored_columns_stay_in_their_groups(self):
        yes = (X[:, 1] > 0).astype(float)
        mirrored = np.column_stack([X[:, 0], yes, 1 - yes, X[:, 3]])
        known = {"features_of_faces": [[0, 1], [2], [3]]}
        model = fit(mirrored, (X[:, 0] + 2 * yes > 1).astype(int), inside=1, **known)
        assert own_faces(model.rule_, 1)[:, 1].any()
        check_all(model, mirrored, **known)

    @pytest.mark.parametrize("n", [2, 3, 6, 10])
    def test_few(self, n):
        known = {"monotonic_cst": [1, -1, 1, 0], "must_contain": X[1:2], "max_terms": 1}
        check_all(fit(X[:n], np.arange(n) % 2, **known), X[:n], **known)


Y3 = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
KNOWN_OF_THREE = {
    "monotonic_cst": {"low": [-1, 0, 0, 0], "top": {"age": 1}},
    "fixed_faces": {"mid": "age <= 0.75"},
    "must_contain": {"top": [[3.0, 3, 3, 3]]},
    "features_of_faces": [["age"], ["bmi", "dose", "rate"]],
}


class TestClasses:
    def test_each_has_its_own(self, tmp_path):
        model = fit(FRAME, Y3, **KNOWN_OF_THREE)
        faces = [own_faces(model.rule_, place) for place in range(3)]
        assert (faces[0][:, 0] <= 0).all()
        assert (faces[2][:, 0] >= 0).all()
        assert "age <= 0.75" in str(model.rule_)
        assert all(not w[0] or not w[1:].any() for W in faces for w in W)
        assert model.polyhedra_["top"].contains([[3.0, 3, 3, 3]]).all()
        save_model(model, tmp_path / "model.json")
        again = clone(load_model(tmp_path / "model.json")).fit(FRAME, Y3)
        assert again.rule_ == model.rule_

    def test_answers_against_it_are_counted(self):
        """The answer is the most probable class, whatever is known of its polyhedra."""
        rows, y = load_iris(return_X_y=True)
        known = {"fixed_faces": {1: "x3 <= 1.3"}, "must_contain": {1: rows[y == 2][:9]}}
        known["must_contain"][1][:, 3] = 1.3
        with pytest.warns(VerdictWarning) as caught:
            model = fit(rows, y, max_terms=2, **known)
        n = ((model.predict(rows) == 1) & (rows[:, 3] > 1.3)).sum()
        assert n
        assert model.verdict_.broken == [0, n, 0]
        said = f"{n} rows learned from are answered 1 though a locked face"
        assert said in str(model.verdict_)
        assert model.rule_.locked == tuple(
            (p, 0) for p, piece in enumerate(model.rule_.pieces) if piece.place == 1
        )
        wrong = (model.predict(known["must_contain"][1]) != 1).sum()
        assert wrong
        texts = [str(one.message) for one in caught]
        assert said in texts[0]
        assert texts[1].startswith(f"{wrong} of the 9 rows of must_contain of 1")

    @pytest.mark.parametrize(
        ("known", "problem"),
        [
            ({"fixed_faces": {"mid": "age >= 100"}}, "fixed_faces leave no row of it"),
            ({"fixed_faces": {"mid": "agee >= 1"}}, "fixed_faces: the inequality 'agee >= 1'"),
            ({"fixed_faces": {"mid": "age >= 1"}, "must_contain": {"mid": X[:1] * 0}}, "row 0 of"),
            ({"fixed_faces": {"mid": "age <= 1"}, "monotonic_cst": {"mid": [1] * 4}}, "the fixed"),
        ],
    )
    def test_errors_name_the_class(self, known, problem):
        with pytest.raises(ValueError, match=f"^class 'mid': {problem}"):
            fit(FRAME, Y3, **known)

    @pytest.mark.parametrize(
        ("known", "found"),
        [
            ({"monotonic_cst": [1, 0, 0, 0]}, r"\[1, 0, 0, 0\]"),
            ({"fixed_faces": {"low": [], "goood": []}}, "'goood'"),
        ],
    )
    def test_of_which_class(self, known, found):
        problem = rf"with 3 classes, .* must be a dict from the label.*, got {found}"
        with pytest.raises(ValueError, match=problem):
            fit(FRAME, Y3, **known)


def test_files_keep_what_is_known(tmp_path):
    """As arrays, which say the same: what learns from them again is the same model."""
    known = {"monotonic_cst": {"age": 1}, "fixed_faces": "rate <= 1.5", "max_terms": 2}
    rows = sparse.csr_matrix(X[(Y == 1) & (X[:, 3] < 1)][:2])
    model = fit(FRAME, features_of_faces=[["age", 3], ["bmi"]], must_contain=rows, **known)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.monotonic_cst, [1, 0, 0, 0])
    np.testing.assert_array_equal(loaded.fixed_faces, [[0, 0, 0, -1, 1.5]])
    np.testing.assert_array_equal(loaded.features_of_faces, [[1, 0, 0, 1], [0, 1, 0, 0]])
    save_model(loaded, tmp_path / "again.json")
    for one in (clone(loaded).fit(FRAME, Y), load_model(tmp_path / "again.json")):
        assert_equal_models(one, model)
    for one in (clone(model).fit(FRAME, Y), pickle.loads(pickle.dumps(model))):
        assert_equal_models(one, model)
        assert repr(one)


def test_edits_say_which_promises_they_break():
    known = {"monotonic_cst": {"age": 1}, "fixed_faces": "bmi <= 0.9", "must_contain": X[:1] * 0}
    model = fit(FRAME, max_terms=1, n_polyhedra=1, **known)
    assert model.broken_promises(model.rule_) == []
    step = model.rule_.edit().unlock(0).replace(0, "bmi <= 0.8").replace(1, "age <= -0.1")
    assert model.broken_promises(step.rule) == [
        "face 1 of 1 makes it less likely as age rises, against monotonic_cst",
        "bmi <= 0.9, one of fixed_faces, is no face of 1",
        "1 of 1 rows of must_contain are not in 1",
    ]

"""Rules that were changed by hand: what is printed predicts, and what changes is said."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import confusion_matrix, log_loss

from common import X_SQUARE, Y_SQUARE, fit, quick
from polyceptron import OC1, Polyhedron
from polyceptron.calibration import Calibration, Side
from polyceptron.inequalities import parse_inequality
from polyceptron.rule import Piece, Rule
from polyceptron.rule.editing import Change
from printed_rules import read_pieces

NAMES = ["age", "body mass"]
BOX = Polyhedron([[1, 0], [-1, 0], [2**-9, -(2**-10)]], [-18, 65, 2**-6], NAMES)
X = np.random.default_rng(0).uniform([10, 10], [80, 90], (300, 2)).round(1)
Y = np.where((X[:, 0] > 25) & (X[:, 0] < 60) & (X[:, 1] < 70), "yes", "no")
LINK = Calibration(Side(1.0, 0.01), Side(1.0, 0.01))
ONE = Rule.inside(["no", "yes"], 1, BOX, link=LINK)
UNION = Rule.inside(["no", "yes"], 1, BOX, Polyhedron([[0, -1]], [30], NAMES))
CLASSES = Rule(
    ["a", "b", "c"], [Piece(BOX, 0), Piece(BOX, 1), Piece(BOX, 2)], links=(LINK, LINK, LINK)
)


def faces(rule):
    return [line.split(": ", 1)[1] for line in str(rule).splitlines() if line.startswith("  face")]


def assert_text_is_the_rule(rule):
    held = np.column_stack([piece.contains(X) for piece in read_pieces(str(rule), rule.names)])
    np.testing.assert_array_equal(held, rule.scores(X) >= 0)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda e: e.drop(1), ["age >= 18", '"body mass" - 2*age <= 16']),
        (lambda e: e.move(1, to=70.5), ["age >= 18", "age <= 70.5", '"body mass" - 2*age <= 16']),
        (lambda e: e.move(2, by=0.1), ["age >= 18", "age <= 65", '"body mass" - 2*age <= 16.1']),
        (
            lambda e: e.replace(0, '"body mass" - 3*age <= 14').round("2", 1),
            ['"body mass" - 3*age <= 14', "age <= 65", '"body mass" - 2*age <= 20'],
        ),
        (
            lambda e: e.replace(2, ([0, 0.25], -12.5)),
            ["age >= 18", "age <= 65", '"body mass" >= 50'],
        ),
    ],
)
def test_changes(change, after):
    step = change(ONE.edit(X, Y))
    assert faces(step.rule) == after
    assert faces(ONE) == ["age >= 18", "age <= 65", '"body mass" - 2*age <= 16']
    assert_text_is_the_rule(step.rule)
    assert step.rule.links == ONE.links
    assert [edit.what for edit in step.before.edits] == [e.what for e in step.rule.edits[:-1]]


def test_what_changes_is_counted():
    first = ONE.edit(X, Y).move(1, to=60)
    step = first.drop(2)
    for old, new, change in (
        (ONE, first.rule, first.change),
        (first.rule, step.rule, step.change),
        (ONE, step.rule, Change.between(ONE, step.rule, X, (Y == "yes").astype(int))),
    ):
        answers = old.predict(X), new.predict(X)
        np.testing.assert_array_equal(change.before, confusion_matrix(Y, answers[0]))
        np.testing.assert_array_equal(change.after, confusion_matrix(Y, answers[1]))
        np.testing.assert_array_equal(change.switched, np.flatnonzero(answers[0] != answers[1]))
        assert change.switched.size
        assert str(change).startswith(f"{change.switched.size} of 300 rows switch. ")
    thin = ONE.edit(sparse.csr_matrix(X)).move(1, to=60).change
    assert thin.before is None
    assert str(thin) == f"{thin.switched.size} of 300 rows switch."


decimals = st.decimals(-10_000, 10_000, places=3).map(lambda value: f"{value.normalize():f}")


@settings(max_examples=60)
@given(decimals, decimals, decimals, st.integers(-40, 40))
def test_a_face_says_what_was_written_and_is_as_large_as_before(a, c, right, e):
    if not float(a) or not float(c):
        return
    like = np.ldexp([3.0, -7.0], e)
    rule = Rule.inside(["no", "yes"], 1, Polyhedron([like], [0.0], NAMES))
    text = f'{a}*age + {c}*"body mass" >= {right}'.replace("+ -", "- ")
    new = rule.edit().replace(0, text).rule
    w, b = parse_inequality(faces(new)[0], NAMES)
    written = [Fraction(a), Fraction(c), -Fraction(right)]
    factor = Fraction(repr(w[0].item())) / written[0]
    assert factor > 0
    for one, asked in zip([*w.tolist(), b], written, strict=True):
        assert abs(Fraction(repr(one)) - factor * asked) <= factor * abs(asked) * Fraction(2) ** -52
    size = np.linalg.norm(new.pieces[0].polyhedron.W) / np.linalg.norm(like)
    assert 0.17 < size < 5.7  # within √2 but for what text would not leave out, such as 4*a + 4*b


def test_long_numbers_stay_as_they_are_written():
    text = '0.1234567890123456*age - 0.09876543210987654*"body mass" >= 3.0000000000000004'
    assert faces(ONE.edit().replace(0, text).rule)[0] == text
    rule = ONE.edit().replace(0, "1e-300*age >= 1e300").rule  # at the ends of the range
    assert np.isfinite(rule.pieces[0].polyhedron.b).all()


class TestLocks:
    @pytest.mark.parametrize(
        "change",
        [
            lambda e: e.drop(2),
            lambda e: e.move(2, by=1),
            lambda e: e.replace(2, "age >= 3"),
            lambda e: e.round(2, 1),
        ],
    )
    def test_a_locked_face_stays(self, change):
        locked = ONE.edit(X).lock(2, why="law")
        assert locked.change.switched.size == 0
        with pytest.raises(ValueError, match="face 2 is locked: unlock it"):
            change(locked)
        assert change(locked.unlock(2)).rule.edits[0].why == "law"

    def test_they_stay_with_their_faces(self):
        rule = pickle.loads(pickle.dumps(ONE.edit().lock(2).drop(0).rule))
        assert rule.locked == ((0, 1),)
        assert [(e.what, e.face, e.before) for e in rule.edits] == [
            ("lock", "2", '"body mass" - 2*age <= 16'),
            ("drop", "0", "age >= 18"),
        ]
        with pytest.raises(ValueError, match="face 1 is locked"):
            rule.edit().drop(1)
        with pytest.raises(ValueError, match="face 0 is not locked"):
            rule.edit().unlock(0)
        with pytest.raises(ValueError, match=r"locked has the place \(0, 9\)"):
            Rule(rule.classes, rule.pieces, 0, locked=[(0, 9)])


def test_faces_are_called_as_they_are_printed():
    assert list(ONE.edit().addresses) == ["0", "1", "2"]
    assert list(UNION.edit().addresses) == ["1/0", "1/1", "1/2", "2/0"]
    assert list(CLASSES.edit().addresses)[2:4] == ["a/2", "b/0"]
    assert faces(UNION.edit().move((2, 0), to=35).rule)[3] == '"body mass" <= 35'
    step = CLASSES.edit(X, np.array(["a", "b", "c"] * 100)).move(("b", 0), to=30)
    assert faces(step.rule)[3] == "age >= 30"
    assert_text_is_the_rule(step.rule)
    assert step.change.before.shape == (3, 3)
    assert step.change.before.sum() == step.change.after.sum() == 300


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda: ONE.edit().drop(3),
            "face must be one of '0', '1', '2', as it is printed; got '3'",
        ),
        (lambda: UNION.edit().drop(0), "must be one of '1/0', .*; got '0'"),
        (lambda: UNION.edit().drop("2/0"), "face 2/0 is the last one, .* replace it"),
        (lambda: ONE.edit().move(0), "one of by= and to="),
        (lambda: ONE.edit().move(0, by=1, to=2), "one of by= and to="),
        (lambda: ONE.edit().move(0, to=np.nan), "to must be a finite number; got nan"),
        (lambda: ONE.edit().round(0, 0), "digits must be a whole number of at least 1"),
        (lambda: ONE.edit().replace(0, "weight >= 3"), "column 'weight' is missing"),
        (lambda: ONE.edit().replace(0, "age > 3"), "> must be >= or <="),
        (lambda: ONE.edit().replace(0, ([np.nan, 1], 2)), "W must be finite"),
        (lambda: ONE.edit().replace(0, ([0, 0], 2)), "nonzero normal"),
        (lambda: ONE.edit().replace(0, ([1, 0, 3], 2)), r"w must have 2 numbers; got shape \(3,\)"),
        (
            lambda: ONE.edit().replace(0, ([[1, 0]], 2)),
            r"w must have 2 numbers; got shape \(1, 2\)",
        ),
        (lambda: ONE.edit().move(0, to=1e308).move(0, by=1e308), "b must be finite"),
        (lambda: ONE.edit(X[:0]), "at least one row"),
        (lambda: ONE.edit().replace(0, 3), r"new must be text or a pair \(w, b\); got 3"),
        (lambda: ONE.edit([[np.nan, 1]]), "X must be finite; row 0, column 'age'"),
        (lambda: ONE.edit(X, Y[:3]), r"y must have 300 labels; got shape \(3,\)"),
        (lambda: ONE.edit(X[:1], ["maybe"]), "label 'maybe', which is not among"),
        (lambda: ONE.edit(y=Y), "X must be given with y"),
        (lambda: ONE.edit().drop(0).change, r"rows are needed .*rule.edit\(X, y\)"),
        (lambda: ONE.edit(X).calibrate(), "labelled rows are needed"),
        (lambda: UNION.edit(X, Y).calibrate(), "no probabilities"),
    ],
)
def test_what_cannot_be_done(change, problem):
    with pytest.raises(ValueError, match=problem):
        change()


def test_probabilities_are_found_again_where_that_is_asked_for():
    kept = ONE.edit(X, Y).move(1, to=60).drop(2)
    step = kept.calibrate()
    assert step.change.switched.size == 0
    found, old = (log_loss(Y, one.predict_proba(X)) for one in (step.rule, kept.rule))
    assert found < old - 0.01
    labels = np.array(["a", "b", "c"] * 100)
    many = CLASSES.edit(X, labels).calibrate().rule
    assert log_loss(labels, many.predict_proba(X)) < log_loss(labels, CLASSES.predict_proba(X))


class TestTrees:
    def test_leaves_still_share_out_the_rows(self):
        rule = fit(quick(OC1), X_SQUARE, Y_SQUARE).rule_
        step = rule.edit(X_SQUARE, Y_SQUARE).replace("2/0", "x0 - x1 <= 0.25")
        assert step.rule.splits.keys() == rule.splits.keys()
        assert ((step.rule.scores(X_SQUARE) >= 0).sum(axis=1) == 1).all()
        assert step.change.switched.size
        with pytest.raises(ValueError, match="a test of a tree"):
            step.drop("2/0")
        with pytest.raises(ValueError, match="face 2/0 is locked"):
            step.lock("1/0").round("2/0", 3)
        assert step.lock("1/0").unlock("2/0").rule.locked == ()

    def test_one_leaf(self):
        rule = fit(quick(OC1, max_depth=1), X_SQUARE[:4], [0, 0, 0, 0]).rule_
        with pytest.raises(ValueError, match="one leaf and no face"):
            rule.edit().move(0, to=3)

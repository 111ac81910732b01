"""Explanations: they add up, they hold as far as they say, and counterfactuals flip the answer."""

import doctest
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from benchmarks.counterfactuals import judge, random_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from common import X_SQUARE, Y_SQUARE, every_polyhedron, fit, quick
from polyceptron import OC1, OnlinePolyceptron, Polyceptron, Polyhedron
from polyceptron.explain import (
    ExplainError,
    contributions,
    counterfactual,
    membership,
    rejected_by,
    robustness,
    rules,
    rules_table,
)
from polyceptron.geometry import is_empty
from polyceptron.rule import Piece, Rule

P = Polyhedron([[1, 0], [-3, -4]], [0, 5], ["age", "dose"])
INSIDE, OUTSIDE = [0.5, 0.5], [1.0, 3.0]
REAL = st.floats(-10, 10).map(lambda v: 0.0 if abs(v) < 1e-3 else v)


@st.composite
def polyhedra_and_row(draw):
    K, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    W = draw(arrays(float, (K, d), elements=REAL))
    assume(W.any(axis=1).all())
    return Polyhedron(W, draw(arrays(float, K, elements=REAL))), draw(
        arrays(float, d, elements=REAL)
    )


def square_frame():
    frame = pd.DataFrame(X_SQUARE, columns=["age", "body mass"])
    return frame, np.where(Y_SQUARE == 1, "benign", "malignant")


@pytest.fixture(scope="module")
def model():
    return fit(quick(OnlinePolyceptron, n_hyperplanes=4, inside="benign"), *square_frame())


@pytest.fixture(scope="module")
def tree():
    return fit(quick(OC1, n_restarts=2), *square_frame())


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2)) + 6 * np.repeat([[0, 0], [1, 0], [0, 1]], 50, axis=0)
    return fit(quick(Polyceptron), X, np.repeat(["a", "b", "c"], 50))


class TestRules:
    def test_are_those_of_the_rule(self, model, tree, three_classes):
        words = rules(model, digits=2)
        assert words == model.rule_.to_text(2)
        assert words.startswith("benign if all 4 hold:\n  face 0: ")
        assert words.endswith("\nOtherwise malignant.")
        words = rules(tree)
        assert len(re.findall("^(benign|malignant) if ", words, re.M)) == tree.n_leaves_
        assert words.endswith("the leaves of a tree.")
        assert rules(three_classes).endswith("most probable.")
        assert rules(Polyhedron([[2.0]], [1])).startswith("inside if this holds:\n")

    def test_table(self, model):
        assert rules_table(model) == model.rule_.to_columns()
        union = boxes([(0, 1)], [(2, 4)])
        assert rules_table(union)["piece"] == [0, 0, 1, 1]

    @pytest.mark.parametrize("digits", [0, 2.5, "3"])
    def test_digits(self, digits):
        with pytest.raises(ValueError, match="digits must be a whole number"):
            rules(P, digits)


class TestRows:
    @pytest.mark.parametrize(
        "row",
        [
            [1, 3],
            (1, 3.0),
            np.array([[1, 3]], dtype=np.float32),
            {"dose": 3, "age": 1},
            pd.Series({"dose": 3, "age": 1, "note": "extra"}),
            pd.DataFrame({"dose": [3], "age": [1], "note": ["extra"]}),
            pl.DataFrame({"dose": [3], "age": [1]}),
            pd.Series([1, 3]),
            pd.DataFrame([[1, 3]], columns=["a", "b"]),
            sp.csr_matrix([[1, 3]]),
        ],
        ids=lambda row: type(row).__name__,
    )
    def test_kinds(self, row):
        assert [face.slack for face in rejected_by(P, row)] == [1, -10]

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([1, 2, 3], r"one row of 2 numbers; got shape \(3,\)"),
            ([[1, 2], [3, 4]], r"one row of 2 numbers; got shape \(2, 2\)"),
            ([1, np.nan], "'dose' is nan"),
            ({"age": 1}, "no value for 'dose'"),
            ({"age": 1, "dose": "high"}, "text"),
            ({"age": 1, "dose": None}, "'dose' is nan"),
            (pd.DataFrame({"age": [1, 2], "dose": [3, 4]}), r"'age' has 2 values.*iloc\[0\]"),
            (["a", "b"], "text"),
        ],
    )
    def test_refused(self, row, message):
        with pytest.raises(ValueError, match=message):
            rejected_by(P, row)


class TestModels:
    def test_no_model(self):
        for question in (rules, rules_table, lambda thing: counterfactual(thing, [0])):
            with pytest.raises(ExplainError, match="model must be a fitted learner of polyceptron"):
                question(None)

    def test_three_classes(self, three_classes):
        for x in ([0, 0], [6, 0], [3, 3]):
            piece = membership(three_classes, x).piece
            own = three_classes.rule_.pieces[piece].polyhedron
            assert rejected_by(three_classes, x) == rejected_by(own, x)
            assert contributions(three_classes, x) == contributions(own, x)

    @pytest.mark.parametrize("question", [rejected_by, contributions, robustness, membership])
    def test_a_list_of_polyhedra_is_their_union(self, question):
        union = boxes([(0, 1), (0, 1)], [(2, 4), (0, 1)])
        rule = Rule.inside(["inside", "outside"], 0, *union)
        assert question(union, [1.8, 0.5]) == question(rule, [1.8, 0.5])
        with pytest.raises(ExplainError, match=r"model must be .* got \[\]"):
            question([], [0, 0])

    def test_tree(self, tree):
        frame, _ = square_frame()
        for _, x in frame.iloc[:8].iterrows():
            leaf = tree.rule_.pieces[membership(tree, x).piece].polyhedron
            assert rejected_by(tree, x) == rejected_by(leaf, x)
            assert contributions(tree, x) == contributions(leaf, x)
            assert not any(face.rejects for face in rejected_by(tree, x))


def boxes(*spans, names=None):
    """Boxes of (low, high) a column."""
    made = []
    for span in spans:
        low, high = np.array(span, float).T
        eye = np.eye(len(span))
        made.append(Polyhedron(np.vstack([eye, -eye]), np.concatenate([-low, high]), names))
    return made


class TestUnions:
    """Boxes that are apart, overlap and touch: answers on a grid say what is right."""

    CASES = (
        [[(0, 1), (0, 1)], [(2, 4), (0, 1)]],
        [[(0, 2), (0, 2)], [(1, 3), (1, 3)]],
        [[(0, 1), (0, 2)], [(1, 2), (0, 2)], [(2, 3), (0, 1)]],
        [[(0, 4), (1, 2)], [(1, 2), (0, 4)], [(0, 4), (0, 0.5)]],
    )

    def grid(self, rule):
        ticks = np.arange(-0.95, 5, 0.1)
        rows = np.array(list(itertools.product(ticks, ticks)))
        return rows, rule.predict(rows)

    @pytest.mark.parametrize("spans", CASES)
    @pytest.mark.parametrize("place", [0, 1])
    def test_counterfactuals_and_robustness(self, spans, place):
        rule = Rule.inside(["a", "b"], place, *boxes(*spans))
        grid, answers = self.grid(rule)
        rng = np.random.default_rng(0)
        for x in rng.uniform(-1, 5, (5, 2)):
            weights = rng.uniform(0.5, 2, 2)
            found = counterfactual(rule, x, weights=weights)
            now = rule.predict([x])[0]
            assert found.before == now
            assert found.after == rule.predict([found.x])[0] != now
            costs = np.sqrt((grid - x) ** 2 @ weights)
            best = costs[answers != now].min()
            assert found.distance <= best + 1e-9
            assert best <= found.distance + 0.1 * np.sqrt(weights.sum())
            assert robustness(rule, x, weights=weights) == pytest.approx(found.distance, abs=1e-9)

    def test_whole_numbers(self):
        rule = Rule.inside([0, 1], 1, *boxes(*self.CASES[3]))
        grid = np.array(list(itertools.product(range(-2, 7), repeat=2)), float)
        for x in np.random.default_rng(1).uniform(-1, 5, (8, 2)):
            found = counterfactual(rule, x, integers=[0, 1], bounds={0: (-2, 6), 1: (-2, 6)})
            flips = grid[rule.predict(grid) != found.before]
            best = np.sqrt(((flips - x) ** 2).sum(axis=1)).min()
            assert found.distance == pytest.approx(best)

    def test_classes_in_order(self):
        pieces = [
            Piece(one, place) for one, place in zip(boxes(*self.CASES[1]), (0, 1), strict=True)
        ]
        rule = Rule(["a", "b", "c"], pieces, otherwise=2)
        grid, answers = self.grid(rule)
        for x in np.random.default_rng(2).uniform(-1, 4, (8, 2)):
            found = counterfactual(rule, x)
            assert rule.predict([found.x])[0] == found.after != found.before
            best = np.linalg.norm(grid - x, axis=1)[answers != found.before].min()
            assert best - 0.15 <= found.distance <= best + 1e-9
            assert robustness(rule, x) == pytest.approx(found.distance, abs=1e-9)

    def test_no_way_out(self):
        halves = boxes([(0, 3)], [(2, 5)], names=["a"])
        found = counterfactual(Rule.inside([0, 1], 1, *halves), [2.5], bounds={"a": (1, 4)})
        assert not found.feasible
        assert "every way out of a piece leads into another" in found.reason
        far = counterfactual(Rule.inside([0, 1], 1, *halves), [9.0], bounds={"a": (8, None)})
        assert far.reason.startswith("face 1 of piece 1 cannot be met while a >= 8; face 1 of pi")

    def test_membership(self):
        rule = Rule.inside(["no", "yes"], 1, *boxes(*self.CASES[0]))
        assert str(membership(rule, [3, 0.5])) == "inside piece 2 of 2 ('yes')"
        found = membership(rule, [1.25, 0.5])
        assert (found.piece, found.inside, found.distance) == (0, False, 0.25)
        assert rejected_by(rule, [1.25, 0.5]) == rejected_by(rule.polyhedra["yes"][0], [1.25, 0.5])
        assert contributions(rule, [1.75, 0.5]).slack == pytest.approx(-0.25)
        assert membership(P, INSIDE).label == "inside"

    def test_the_piece_is_the_one_that_the_answer_rests_on(self):
        near, steep = Polyhedron([[-10.0]], [10.0]), Polyhedron([[1.0]], [-5.0])
        rule = Rule.inside(["no", "yes"], 1, near, steep)  # scores count in units of the faces
        assert rule.decide([[2.0]]).piece.tolist() == [1]
        assert membership(rule, [2.0]).piece == 1
        assert str(membership(rule, [2.0])).endswith(
            "rests on piece 2 of 2 ('yes'), at a distance of 3"
        )
        assert rejected_by(rule, [2.0]) == rejected_by(steep, [2.0])
        assert contributions(rule, [2.0]).slack == -3.0
        assert counterfactual(rule, [2.0]).x == pytest.approx([1.0])


class TestRejectedBy:
    @settings(max_examples=20)
    @given(polyhedra_and_row())
    def test_agrees_with_the_polyhedron(self, made):
        polyhedron, x = made
        faces = rejected_by(polyhedron, x)
        assert [face.slack for face in faces] == polyhedron.printed.margins([x])[0].tolist()
        assert [face.distance for face in faces] == polyhedron.distance([x])[0].tolist()
        assert any(face.rejects for face in faces) != polyhedron.contains([x])[0]
        assert [face.face for face in faces] == list(range(polyhedron.n_faces))


class TestContributions:
    @settings(max_examples=20)
    @given(polyhedra_and_row(), st.data())
    def test_add_up(self, made, data):
        polyhedron, x = made
        reference = data.draw(st.none() | arrays(float, len(x), elements=REAL))
        why = contributions(polyhedron, x, reference)
        assert why.slack == polyhedron.printed.margins([x])[0, polyhedron.active_face([x])[0]]
        assert why.face == polyhedron.active_face([x])[0]
        size = sum(map(abs, why.values.values())) + abs(why.base) + 1
        assert abs(why.base + sum(why.values.values()) - why.slack) <= 1e-12 * size
        if reference is None:
            assert why.base == 0

    def test_values(self):
        why = contributions(P, OUTSIDE, {"dose": 1, "age": 0})
        assert why.values == {"age": -3, "dose": -8}
        assert (why.slack, why.base, why.face) == (-10, 1, 1)
        assert why.reference == {"age": 0, "dose": 1}
        assert contributions(P, OUTSIDE, face=0).values == {"age": 1, "dose": 0}

    def test_tiny_and_huge_normals(self):
        for size in (1e-200, 1e200):
            why = contributions(Polyhedron([[3 * size, 4 * size]], [5 * size]), [1, 1])
            assert sum(why.values.values()) == pytest.approx(12 * size)

    @pytest.mark.parametrize("face", [-1, 2, 0.0, True, "0"])
    def test_bad_face(self, face):
        with pytest.raises(ValueError, match="face must be a whole number from 0 to 1"):
            contributions(P, OUTSIDE, face=face)

    def test_bad_reference(self):
        with pytest.raises(ExplainError, match="reference must be one row of 2 numbers"):
            contributions(P, OUTSIDE, [1])


class TestRobustness:
    @settings(max_examples=20)
    @given(polyhedra_and_row(), st.data(), st.integers(0, 2**32 - 1))
    def test_the_answer_holds_in_the_ball_and_no_farther(self, made, data, seed):
        polyhedron, x = made
        weights = data.draw(st.none() | arrays(float, len(x), elements=st.floats(0.01, 100)))
        radius = robustness(polyhedron, x, weights=weights)
        inside = polyhedron.contains([x])[0]
        if np.isinf(radius):
            assert is_empty(polyhedron)
            return
        ways = np.random.default_rng(seed).standard_normal((200, len(x)))
        roots = np.ones(len(x)) if weights is None else np.sqrt(weights)
        ways /= np.linalg.norm(ways * roots, axis=1)[:, None]
        # Short of it by what roundings of coordinates far from x amount to.
        near = x + (radius * (1 - 1e-9) - 1e-9) * ways
        if radius > 1e-6:
            assert (polyhedron.contains(near) == inside).all()
        nearest = counterfactual(polyhedron, x, weights=weights)
        if nearest.feasible:
            assert nearest.distance == pytest.approx(radius, rel=1e-9, abs=1e-9)
            assert nearest.distance >= radius * (1 - 1e-12) - 1e-12

    def test_names_of_weights(self):
        assert robustness(P, [0.5, -5], weights={"age": 4}) == 1.0
        with pytest.raises(ExplainError, match="weights names 'height', which is no feature"):
            robustness(P, INSIDE, weights={"height": 1})
        with pytest.raises(ValueError, match="weights must be above 0"):
            robustness(P, INSIDE, weights={"age": 0})

    def test_of_a_tree(self, tree):
        rng = np.random.default_rng(0)
        for x in rng.uniform(-2, 2, (10, 2)):
            radius = robustness(tree, x)
            ways = rng.standard_normal((300, 2))
            ways *= 0.999999 * radius / np.linalg.norm(ways, axis=1)[:, None]
            rows = pd.DataFrame(np.vstack([x, x + ways]), columns=tree.feature_names_in_)
            assert len(set(tree.predict(rows))) == 1
            assert counterfactual(tree, x).distance == pytest.approx(radius, abs=1e-9)


class TestCounterfactual:
    def test_random_cases_flip_and_are_as_near_as_a_qp_solver_gets(self):
        """As ``python -m benchmarks.counterfactuals``, which takes 10,000 of them."""
        pytest.importorskip("highspy")
        rng = np.random.default_rng(1)
        for _ in range(25):
            counts, excess, found = judge(random_case(rng))
            assert counts["flips"] == counts["keeps conditions"] == counts["found"]
            assert counts["no farther"] == counts["compared"], (excess, found)
            if not counts["HiGHS failed"]:
                assert counts["impossible"] == counts["impossible for both"], found.reason

    @every_polyhedron
    def test_flips_what_learners_predict(self, learner):
        frame, y = square_frame()
        model = fit(quick(learner), frame, y)
        rows = frame.iloc[:5]
        new = [counterfactual(model, row) for _, row in rows.iterrows()]
        changed = pd.DataFrame([found.x for found in new], columns=frame.columns)
        assert (model.predict(changed) != model.predict(rows)).all()
        assert [found.before for found in new] == model.predict(rows).tolist()
        assert [found.after for found in new] == model.predict(changed).tolist()

    def test_flips_what_a_tree_predicts(self, tree):
        frame, _ = square_frame()
        rows = frame.iloc[:8]
        new = [counterfactual(tree, row, bounds={"age": (-1.9, 1.9)}) for _, row in rows.iterrows()]
        assert all(found.feasible for found in new)
        changed = pd.DataFrame([found.x for found in new], columns=frame.columns)
        assert (tree.predict(changed) != tree.predict(rows)).all()

    def test_a_tree_without_tests(self):
        leaf = fit(quick(OC1), [[0, 1], [1, 0], [2, 2]], [1, 1, 1])
        found = counterfactual(leaf, [0, 0])
        assert not found.feasible
        assert found.reason == "the model has no other answer"
        assert robustness(leaf, [0, 0]) == np.inf

    @pytest.mark.parametrize("size", [1e-150, 1e8, 1e150])
    def test_in_every_unit(self, size):
        rng = np.random.default_rng(0)
        for _ in range(4):
            case = random_case(rng)
            scaled = case.polyhedron.pullback(1 / size, 0)
            found = counterfactual(scaled, case.x * size)
            same = counterfactual(case.polyhedron, case.x)
            assert found.feasible == same.feasible
            if found.feasible:
                assert found.distance == pytest.approx(size * same.distance, rel=1e-7)

    def test_what_it_says(self):
        found = counterfactual(P, OUTSIDE, frozen="age")
        assert found.feasible
        assert found.reason == ""
        assert (found.before, found.after) == ("outside", "inside")
        np.testing.assert_allclose(found.x, [1, 0.5])
        np.testing.assert_allclose(found.change, [0, -2.5])
        assert found.changes == {"dose": (3.0, pytest.approx(0.5))}
        assert found.distance == pytest.approx(2.5)
        assert str(found) == "'inside' instead of 'outside': dose from 3 to 0.5 (distance 2.5)"

    def test_leaves_by_the_cheapest_face_that_it_may(self):
        # The dose is cheap, so it is the dose that changes.
        found = counterfactual(P, OUTSIDE, weights={"age": 1e6})
        np.testing.assert_allclose(found.x, [1, 0.5], atol=1e-4)
        assert set(counterfactual(P, INSIDE).changes) == {"age", "dose"}
        assert counterfactual(P, INSIDE, frozen=["dose"]).x[0] < 0
        assert counterfactual(P, INSIDE, frozen=[1], bounds={0: (0, None)}).x[0] > 1

    def test_bounds_that_the_row_itself_breaks(self):
        found = counterfactual(P, [-5, 0], bounds={"age": (0.25, None)})
        np.testing.assert_allclose(found.x, [0.25, 0])

    @pytest.mark.parametrize(
        ("row", "conditions", "reason"),
        [
            (
                OUTSIDE,
                {"frozen": ["age", "dose"]},
                "face 1 cannot be met while age is 1 and dose is 3",
            ),
            (
                OUTSIDE,
                {"frozen": ["age"], "bounds": {"dose": (2, 9)}},
                "face 1 cannot be met while age is 1 and dose >= 2",
            ),
            (
                INSIDE,
                {"frozen": ["dose"], "bounds": {"age": (0, 1)}},
                (
                    "face 0 cannot be crossed while age >= 0; "
                    "face 1 cannot be crossed while dose is 0.5 and age <= 1"
                ),
            ),
            (
                [9, 9],
                {"frozen": ["age"], "bounds": {"age": (0, 5)}},
                "age is frozen at 9, outside its bounds",
            ),
            (
                [9.5, 9],
                {"frozen": ["age"], "integers": ["age"]},
                "age is frozen at 9.5, which is no whole number",
            ),
            (
                OUTSIDE,
                {"bounds": {"age": (0.2, 0.8)}, "integers": ["age"]},
                "the bounds of age hold no whole number",
            ),
        ],
    )  # fmt: skip
    def test_impossible(self, row, conditions, reason):
        found = counterfactual(P, row, **conditions)
        assert not found.feasible
        assert found.x is None
        assert found.change is None
        assert found.distance == np.inf
        assert found.after == found.before
        assert found.reason == reason
        assert str(found) == f"Impossible to leave {found.before!r}: {found.reason}"

    def test_of_an_empty_set(self):
        empty = Polyhedron([[1, 0], [0, 1], [-1, 0]], [-2, 0, 1])
        assert robustness(empty, [0, 0]) == np.inf
        found = counterfactual(empty, [0, 0])
        assert found.reason == "faces 0 and 2 cannot be met together by any row"

    def test_of_a_set_without_an_inside(self):
        # One third of a number is in no float; one half is.
        thirds = Polyhedron([[3, 0], [-3, 0]], [-1e17 - 1, 1e17 + 1])
        halves = Polyhedron([[2, 0], [-2, 0]], [-1, 1])
        assert counterfactual(halves, [0, 0]).x.tolist() == [0.5, 0]
        found = counterfactual(thirds, [0, 0])
        assert found.feasible or found.reason == "faces 0 and 1 leave no room"

    def test_on_the_boundary(self):
        found = counterfactual(P, [0, 0.5])
        assert 0 < found.distance < 1e-12
        assert found.x[0] < 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"frozen": ["height"]}, "'height', which is no feature; features are 'age', 'dose'"),
            ({"frozen": [2]}, "frozen names 2"),
            ({"frozen": [True]}, "frozen names True"),
            ({"frozen": None}, "frozen names None"),
            ({"integers": ["Age"]}, "integers names 'Age'"),
            ({"bounds": [(0, 1)]}, "bounds must be a mapping"),
            ({"bounds": {"weight": (0, 1)}}, "bounds names 'weight'"),
            ({"bounds": {"age": 3}}, r"bounds\['age'\] must be a pair"),
            ({"bounds": {"age": (3, 1)}}, r"bounds\['age'\] must have lower <= upper"),
            ({"bounds": {"age": (np.nan, 1)}}, r"bounds\['age'\] must have lower <= upper"),
            ({"bounds": {"age": ("low", 1)}}, "text"),
            ({"weights": [1, -1]}, r"weights must be above 0; weights\[1\] is -1.0"),
            ({"weights": [1, 2, 3]}, "weights must be a number or have one number a column"),
            ({"max_nodes": 0}, "max_nodes must be a whole number of at least 1"),
        ],
    )  # fmt: skip
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            counterfactual(P, OUTSIDE, **arguments)


class TestIntegers:
    def test_as_near_as_trying_all(self):
        rng = np.random.default_rng(0)
        grid = range(-4, 5)
        for _ in range(15):
            d, K = int(rng.integers(1, 4)), int(rng.integers(1, 5))
            W = rng.integers(-3, 4, (K, d)).astype(float)
            W[~W.any(axis=1), 0] = 1
            polyhedron = Polyhedron(W, rng.integers(-3, 6, K))
            x = rng.uniform(-4, 4, d)
            weights = rng.exponential(size=d) + 0.1
            points = np.array(list(itertools.product(grid, repeat=d)), float)
            flips = polyhedron.contains(points) != polyhedron.contains([x])[0]
            costs = ((points - x) ** 2 @ weights)[flips]
            found = counterfactual(
                polyhedron,
                x,
                weights=weights,
                integers=range(d),
                bounds=dict.fromkeys(range(d), (-4, 4)),
            )
            assert found.feasible == bool(flips.any())
            if found.feasible:
                assert (found.x == np.rint(found.x)).all()
                assert found.distance == pytest.approx(np.sqrt(costs.min()))

    def test_mixed_with_real_ones(self):
        rng = np.random.default_rng(1)
        for _ in range(4):
            case = random_case(rng)
            d = len(case.x)
            bounds = {0: (case.x[0] - 6, case.x[0] + 6)}
            found = counterfactual(case.polyhedron, case.x, integers=[0], bounds=bounds)
            # Each whole number by itself, as bounds that leave no choice.
            low, high = np.ceil(bounds[0][0]), np.floor(bounds[0][1])
            each = [
                counterfactual(case.polyhedron, case.x, bounds={0: (value, value)})
                for value in np.arange(low, high + 1)
            ]
            best = min(one.distance for one in each)
            assert found.distance == pytest.approx(best, rel=1e-9)
            if found.feasible:
                assert found.x[0] == np.rint(found.x[0])
                flipped = case.polyhedron.contains(np.vstack([found.x, case.x]))
                assert flipped[0] != flipped[1]
                assert found.x.shape == (d,)

    def test_whole_numbers_on_the_boundary(self):
        steps = Polyhedron([[1, 0], [-1, 0]], [-3, 5], ["visits", "age"])
        assert counterfactual(steps, [0, 0], integers=["visits"]).x.tolist() == [3, 0]
        # The boundary is inside: leaving takes the whole number after it.
        assert counterfactual(steps, [4, 0], integers=["visits"]).x.tolist() in ([2, 0], [6, 0])

    def test_none_between_two_faces(self):
        between = Polyhedron([[1], [-1]], [-0.3, 0.7], ["visits"])
        found = counterfactual(between, [5], integers=["visits"])
        assert not found.feasible
        assert "no whole numbers" in found.reason

    def test_gives_up_where_there_is_no_end(self):
        # 2 a - 2 b = 1 has no whole solution, and no bound to say so.
        stripe = Polyhedron([[2, -2], [-2, 2]], [-0.9, 1.1])
        found = counterfactual(stripe, [0.2, 0.1], integers=[0, 1], max_nodes=50)
        assert not found.feasible
        assert not found.exact
        assert (
            "none was found by 50 programs, which is no proof; a larger max_nodes looks longer"
            in found.reason
        )
        assert str(found).startswith("No change found that leaves 'outside'")


class TestDocs:
    def test_the_page_runs(self):
        page = Path(__file__).parents[2] / "docs" / "explain.md"
        outcome = doctest.testfile(str(page), module_relative=False)
        assert outcome.attempted > 15
        assert outcome.failed == 0


class TestShown:
    @settings(max_examples=20)
    @given(polyhedra_and_row())
    def test_the_values_shown_flip_the_answer(self, made):
        polyhedron, x = made
        found = counterfactual(polyhedron, x)
        assert found.shown.keys() == found.changes.keys()
        if found.feasible:
            new = x.copy()
            for name, (_, text) in found.shown.items():
                new[int(name[1:])] = float(text)
            assert polyhedron.contains([new])[0] != polyhedron.contains([x])[0]
            assert all(f" to {text}" in str(found) for _, text in found.shown.values())

    def test_few_digits(self):
        third = Polyhedron([[3.0]], [-1.0], ["a"])
        assert counterfactual(third, [0]).shown == {"a": ("0", "0.333334")}
        assert counterfactual(third, [1]).shown == {"a": ("1", "0.333333")}

    def test_old_values_have_the_digits_that_the_change_needs(self):
        face = Polyhedron([[1.0]], [-101324.0], ["p"])
        assert counterfactual(face, [101323.96]).shown == {"p": ("101323.96", "101324")}

    def test_bounds_and_whole_numbers_hold_for_what_is_shown(self):
        half = Polyhedron([[1.0]], [-1.23456789], ["a"])
        tight = counterfactual(half, [0], bounds={"a": (None, 1.2345679)})
        assert 1.23456789 <= float(tight.shown["a"][1]) <= 1.2345679
        far = Polyhedron([[1.0]], [-123456788.5], ["a"])
        assert counterfactual(far, [0], integers=["a"]).shown["a"][1] == "123456789"

    def test_a_face_that_no_number_reaches(self):
        """As learners have them where fewer faces would do."""
        for tiny in (2e-308, 1e-309):
            flat = Polyhedron([[1.0, 1.0], [tiny, 0.0]], [-1.0, 1.0], ["a", "b"])
            for weights in (None, {"a": 0.01, "b": 0.01}, {"a": 100.0, "b": 100.0}):
                found = counterfactual(flat, [0.0, 0.0], weights=weights)
                assert found.x.tolist() == pytest.approx([0.5, 0.5])

    def test_numbers_whose_distances_overflow(self):
        high = Polyhedron([[1.0, 1.0, 1.0]], [0.0])
        with np.errstate(all="raise"):
            for x in ([1.7e308] * 3, [-1.7e308] * 3):
                with pytest.raises(ExplainError, match="distances to the faces overflow"):
                    counterfactual(high, x)
                with pytest.raises(ExplainError, match="too large"):
                    robustness(high, x)

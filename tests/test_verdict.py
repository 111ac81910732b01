"""The verdict: counts that are right and add up, and words for what a new user falls into."""

import pickle
from dataclasses import replace
from functools import partial

import msgspec
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import balanced_accuracy_score, precision_recall_fscore_support

from common import every_learner, fit, quick, small_blocks, square
from polyceptron import OC1, BatchPolyceptron, OnlinePolyceptron, Polyceptron, Polyhedron, explain
from polyceptron.calibration import Logistic
from polyceptron.data.source import ArraySource
from polyceptron.rule import Piece, Rule
from polyceptron.verdict import Tally, Verdict, VerdictWarning, find_identifiers, judge

ASK = "To try: "
LOW = Polyhedron([[-1.0]], [1.0], ["dose"])
HIGH = Polyhedron([[1.0], [-1.0]], [-5.0, 9.0], ["dose"])
UNION = Rule(["fine", "harm"], [Piece(LOW, 1), Piece(HIGH, 1)], otherwise=0)


def three_rules(*thresholds):
    """Classes a, b, c where x is above these, each by its own logistic."""
    pieces = [Piece(Polyhedron([[1.0]], [-t]), j) for j, t in enumerate(thresholds)]
    return Rule(["a", "b", "c"], pieces, links=[Logistic()] * 3)


UNIONS = three_rules(6, 7, 20)
MIDDLE = Piece(Polyhedron(HIGH.W, HIGH.b), 0)
UNIONS = replace(UNIONS, pieces=(UNIONS.pieces[0], MIDDLE, *UNIONS.pieces[1:]))


def by_hand(rule, X, places, weight):
    """The counts of a tally, row by row."""
    C = len(rule.classes)
    answers, claims, broken = np.zeros((C, C)), np.zeros(3), np.zeros(C)
    contains = np.zeros((C, len(rule.pieces)))
    rejects = np.zeros((C, sum(piece.polyhedron.n_faces for piece in rule.pieces)))
    for x, place, w in zip(X, places, weight, strict=True):
        margins = [piece.polyhedron.W @ x + piece.polyhedron.b for piece in rule.pieces]
        answers[place, rule.labels.index(rule.predict([x])[0])] += w
        rejects[place] += w * (np.concatenate(margins) < 0)
        inside = [m.min() >= 0 for m in margins]
        contains[place] += w * np.array(inside)
        held = {piece.place for piece, is_in in zip(rule.pieces, inside, strict=True) if is_in}
        claims[min(len(held), 2) if rule.is_most_probable else 0] += w
        answer = rule.labels.index(rule.predict([x])[0])
        own = [p for p, piece in enumerate(rule.pieces) if piece.place == answer]
        if rule.is_most_probable and all(
            any(p == q and margins[p][k] < 0 for q, k in rule.locked) for p in own
        ):
            broken[answer] += w
    return answers, contains, rejects, claims, broken


class TestTally:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(
        "rule",
        [
            UNION,
            replace(three_rules(0.5, 3, 8), locked=((0, 0), (2, 0))),
            replace(UNIONS, locked=((0, 0), (2, 0))),
            replace(UNIONS, locked=((0, 0), (1, 1), (2, 0))),
        ],
        ids=["union", "many", "locked in one of two", "locked in both"],
    )
    def test_counts_are_those_of_plain_loops_and_add_up(self, rule, weighted):
        rng = np.random.default_rng(0)
        X, places = rng.uniform(-1, 11, (60, 1)), rng.integers(0, len(rule.classes), 60)
        weight = rng.integers(1, 5, 60).astype(float) if weighted else None
        tally = Tally.of(rule, X, places, weight)
        expected = by_hand(rule, X, places, weight if weighted else np.ones(60))
        for name, counts in zip(Tally.__slots__, expected, strict=True):
            np.testing.assert_array_equal(getattr(tally, name), counts)
        halves = [slice(0, 23), slice(23, None)]
        parts = [Tally.of(rule, X[s], places[s], weight[s] if weighted else None) for s in halves]
        for name in Tally.__slots__:
            np.testing.assert_array_equal(getattr(parts[0] + parts[1], name), getattr(tally, name))

    def test_leaves_of_a_tree_share_out_the_rows(self):
        X, y = square(200)
        model = OC1(random_state=0).fit(X, y)
        assert sum(map(sum, model.verdict_.contains)) == 200
        assert model.verdict_.rejects == ([], [])
        assert model.verdict_.empty_pieces == model.verdict_.idle_faces == []
        assert model.verdict_.accuracy == model.score(X, y)


class TestVerdict:
    def test_numbers_are_those_of_scikit_learn(self):
        rng = np.random.default_rng(1)
        X, y = rng.uniform(-1, 11, (80, 1)), rng.choice(["a", "b", "c"], 80)
        weight, rule = rng.uniform(0.1, 2, 80), three_rules(0.5, 3, 8)
        found, answers = explain.verdict(rule, X, y, weight), rule.predict(X)
        ask = {"sample_weight": weight, "zero_division": 0}
        precision, recall, *_ = precision_recall_fscore_support(y, answers, **ask)
        np.testing.assert_allclose([one.precision or 0 for one in found.classes], precision)
        np.testing.assert_allclose([one.recall for one in found.classes], recall)
        balanced = balanced_accuracy_score(y, answers, sample_weight=weight)
        assert found.balanced_accuracy == pytest.approx(balanced)
        assert found.accuracy == pytest.approx(weight[y == answers].sum() / weight.sum())
        label, share = found.majority
        assert share == pytest.approx(max(weight[y == c].sum() for c in "abc") / weight.sum())
        assert weight[y == label].sum() == pytest.approx(share * weight.sum())

    def test_pieces_and_faces_that_do_nothing(self):
        nowhere = Polyhedron([[1.0], [-1.0]], [-50.0, 60.0], ["dose"])
        rule = Rule(UNION.classes, [*UNION.pieces, Piece(nowhere, 1)], otherwise=0)
        found = explain.verdict(rule, [[0], [3], [7]], ["harm", "fine", "harm"])
        assert found.empty_pieces == [2]
        assert found.idle_faces == [(1, 1), (2, 1)]
        assert found.closed_faces == [(2, 0)]
        assert found.remarks == [
            "Piece 3 of 3 contains no row.",
            "Face 1 of piece 2 and face 1 of piece 3 reject no row.",
            "Face 0 of piece 3 holds for no row.",
            "Fewer polyhedra or inequalities would answer these rows the same.",
        ]

    def test_rows_of_no_rule_and_of_several(self):
        found = explain.verdict(three_rules(0, 3, 8), [[-1], [1], [4], [9]], ["a", "a", "b", "c"])
        assert (found.unclaimed, found.contested) == (1, 2)
        assert any("25.00% of the rows satisfy the rule of no class" in r for r in found.remarks)
        assert explain.verdict(UNION, [[0]], ["harm"]).unclaimed is None

    @pytest.mark.parametrize(("unclaimed", "contested"), [(0, 0), (1, 0), (3, 0), (0, 3)])
    def test_what_rounds_to_no_rows_is_no_remark(self, unclaimed, contested):
        answers, n = [[40_000 * (j == k) for k in range(3)] for j in range(3)], 120_000
        found = Verdict(
            labels=["a", "b", "c"], answers=answers, n_faces=[1, 1, 1], counted=n,
            contains=([0] * 3, [40_000] * 3), rejects=([80_000] * 3, [0] * 3),
            unclaimed=unclaimed * n // 100_000, contested=contested * n // 100,
        )  # fmt: skip
        there = "there the most probable class is answered."
        several = f"3.00% of the rows satisfy the rules of several: {there}"
        assert found.remarks == ([several] if contested else [])

    def test_rows_without_some_class(self):
        found = explain.verdict(UNION, [[0], [7]], ["harm", "harm"])
        fine = found.classes[0]
        assert (fine.rows, fine.precision, fine.recall) == (0, None, None)
        assert found.never_answered == []
        assert found.balanced_accuracy == 1
        assert "fine (0 rows): never answered, no rows." in str(found)

    def test_is_a_value(self):
        found = explain.verdict(UNION, [[0], [3]], ["harm", "fine"])
        with pytest.raises(AttributeError):
            found.counted = 3
        assert pickle.loads(pickle.dumps(found)) == found
        plain = found.to_dict()
        assert plain["answers"] == [[1, 0], [0, 1]]
        assert plain["accuracy"] == 1
        assert plain["classes"][1] == {"label": "harm", "rows": 1, "precision": 1.0, "recall": 1.0}
        assert plain["remarks"] == found.remarks

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"answers": [[1, 2]]}, "answers must be"),
            ({"contains": ([1], [1, 2])}, "contains must be"),
            ({"rejects": ([1], [1])}, "rejects must be"),
        ],
    )
    def test_parts_must_fit(self, wrong, message):
        good = {"labels": ["a", "b"], "answers": [[1, 0], [0, 1]], "n_faces": [2], "counted": 2}
        good |= {"contains": ([1], [1]), "rejects": ([1, 0], [0, 0])}
        assert Verdict(**good).accuracy == 1
        with pytest.raises(ValueError, match=message):
            Verdict(**good | wrong)

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="y has the label 'ill', which is not among"):
            explain.verdict(UNION, [[0], [1]], ["fine", "ill"])
        with pytest.raises(explain.ExplainError, match="y must be given"):
            explain.verdict(UNION, [[0]])
        with pytest.raises(explain.ExplainError, match="X must have rows of 1 features; got 0"):
            explain.verdict(UNION, np.empty((0, 1)), [])
        with pytest.raises(explain.ExplainError, match="model must be a fitted learner"):
            explain.verdict("rule", [[0]], ["fine"])


class TestWhatNewUsersTry:
    """The three failures that were presented as normal results."""

    def test_a_class_in_two_blobs(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal(m, 1, (n, 2)) for m, n in [(-4, 150), (4, 150), (0, 300)]])
        y = np.repeat(["ends", "middle"], 300)
        told = BatchPolyceptron(2, inside="ends", random_state=0).fit(X, y).verdict_
        assert [weak.label for weak in told.weak_classes] == ["ends"]
        assert "Of class ends only 50" in str(told)
        assert "several polyhedra" in str(told)
        assert "class_weight" not in str(told)
        union = Polyceptron(n_polyhedra=2, n_hyperplanes=1, inside="ends", random_state=0)
        assert union.fit(X, y).verdict_.weak_classes == []

    def test_one_in_a_hundred(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(0, 1, (1110, 2)), np.repeat(["yes", "no"], [10, 1100])
        X[y == "yes"] += 0.5
        with pytest.warns(VerdictWarning, match="never answers the class yes: 99.10%") as caught:
            model = OC1(random_state=0).fit(X, y)
        assert caught[0].filename == __file__
        told = model.verdict_
        assert told.never_answered == ["yes"]
        assert told.majority == ("no", 1100 / 1110)
        assert told.accuracy == 1100 / 1110
        assert told.balanced_accuracy == 0.5
        assert "Class yes is never answered, though it is 0.90% of the rows learned" in str(told)
        assert 'class_weight="balanced"' in str(told)
        assert "OC1" not in str(told)  # which it is
        balanced = OC1(class_weight="balanced", random_state=0).fit(X, y)
        assert balanced.verdict_.never_answered == []

    def test_three_classes(self):
        rng = np.random.default_rng(0)
        X = rng.normal(0, 1, (400, 2))
        y = np.where(X[:, 0] > 0, "right", "left")
        y[np.abs(X[:, 0]) < 0.05] = "mid"
        X = np.round(X)
        with pytest.warns(VerdictWarning, match="class mid:"):
            model = Polyceptron(n_polyhedra=1, n_hyperplanes=1, random_state=0).fit(X, y)
        told = model.verdict_
        assert told.never_answered == ["mid"]
        assert told.counted == 400
        assert "satisfy the rule of no class" in str(told)


class TestAdvice:
    def advice(self, model):
        """What a verdict on a model advises that has not found one rare row."""
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 0, 1])
        model.rule_ = Rule.inside([0, 1], 1, Polyhedron([[1.0]], [-9.0]))
        return judge(model, ArraySource(X, y))

    def test_all_of_it_where_nothing_was_asked_for(self):
        told = self.advice(OnlinePolyceptron())
        assert told.asked == []
        (line,) = told.to_try
        for words in ("class_weight", "several polyhedra", "OC1", "standardize=True"):
            assert words in line

    @pytest.mark.parametrize("n_polyhedra", ["auto", 1, 2])
    def test_not_what_was_asked_for(self, n_polyhedra):
        told = self.advice(Polyceptron(n_polyhedra=n_polyhedra, class_weight="balanced"))
        assert told.to_try == ["To try: another learner, such as the tree OC1 (--learner oc1)."]
        assert "To try: another learner" in told.warning

    def test_none_where_all_was_asked_for(self):
        told = self.advice(Polyceptron())
        told = msgspec.structs.replace(told, asked=[*told.asked, "tree", "class_weight"])
        assert told.to_try == []
        assert told.warning.endswith("gives 75.00%. See verdict_ for more.")


class TestLearners:
    @every_learner
    def test_each_has_that_of_its_rows(self, learner):
        X, y = square(150)
        weight = np.random.default_rng(0).integers(0, 3, 150)
        model = fit(quick(learner), X, y, sample_weight=weight)
        assert model.verdict_.what == "rows learned from"
        assert model.verdict_.accuracy == pytest.approx(model.score(X, y, weight))
        again = explain.verdict(model, X, y, weight)
        assert again.answers == model.verdict_.answers
        assert again.contains == model.verdict_.contains
        assert again.rejects == model.verdict_.rejects

    @pytest.mark.parametrize("block_rows", [16, 50, 1000])
    def test_blocks_do_not_show(self, monkeypatch, block_rows):
        X, y = square(150)
        rule = fit(quick(BatchPolyceptron), X, y).rule_
        whole = judge(rule, ArraySource(X, y))
        small_blocks(monkeypatch, block_rows)
        assert judge(rule, ArraySource(X, y)) == whole
        assert judge(rule, ArraySource(sp.csr_matrix(X), y)) == whole
        assert judge(rule, ArraySource(X, y), n_jobs=2) == whole

    def test_rows_in_blocks_have_it_too(self):
        X, y = square(150)
        one = BatchPolyceptron(2, random_state=0).fit(X, y)
        other = BatchPolyceptron(2, random_state=0).fit_blocks(ArraySource(X, y))
        assert other.verdict_ == one.verdict_
        assert explain.verdict(one, ArraySource(X, y)).answers == one.verdict_.answers

    def test_a_stream_has_none(self):
        X, y = square(150)
        model = fit(quick(OnlinePolyceptron), X, y)
        assert model.verdict_.rows == 150
        model.partial_fit(X[:20], y[:20])
        assert not hasattr(model, "verdict_")

    def test_a_warning_that_is_an_error_leaves_the_learner_as_it_was(self, recwarn):
        import warnings

        X, y = np.zeros((20, 1)), np.repeat([0, 1], [5, 15])
        X[0] = 1
        model = Polyceptron(n_polyhedra=1, n_hyperplanes=1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", VerdictWarning)
            with pytest.raises(VerdictWarning):
                model.fit(X[[1, 2, 3, 4, *range(5, 20)]], y[1:])
        assert not hasattr(model, "rule_")
        assert not recwarn


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("n", np.arange(40)),
            ("shuffled", np.random.default_rng(0).permutation(400) + 7000),
            ("rising", np.cumsum(np.random.default_rng(0).integers(1, 10**6, 40))),
            ("customer_id", np.random.default_rng(0).integers(0, 10**9, 40)),
            ("customerId", np.random.default_rng(0).integers(0, 10**9, 40)),
        ],
    )
    def test_found(self, name, values):
        other = np.random.default_rng(1).normal(size=len(values))
        X = pd.DataFrame({"u": other, name: values})
        assert find_identifiers(ArraySource(X, np.arange(len(X)) % 2)) == [name]

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("income", np.random.default_rng(0).integers(0, 10**6, 40)),
            ("paid", np.random.default_rng(0).integers(0, 10**9, 40)),
            ("age", np.random.default_rng(0).integers(18, 90, 40)),
            ("share", np.arange(40) + 0.5),
            ("row", np.arange(10)),
            ("huge", np.random.default_rng(0).uniform(-1, 1, 40) * 1.5e308),
        ],
    )
    def test_not_found(self, name, values):
        X = pd.DataFrame({name: values})
        assert find_identifiers(ArraySource(X, np.arange(len(X)) % 2)) == []

    def test_said_with_the_name_of_the_column(self):
        X, y = square(40)
        X = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "row number": np.arange(40.0)})
        told = fit(quick(BatchPolyceptron), X, y).verdict_
        assert told.identifiers == ["row number"]
        assert 'The column "row number" looks like an identifier' in str(told)


def test_a_statistic_can_travel():
    X, y = square(30)
    rule = fit(quick(BatchPolyceptron), X, y).rule_
    statistic = pickle.loads(pickle.dumps(partial(Tally.of, rule)))
    assert statistic(X, y).answers.sum() == 30

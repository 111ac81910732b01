"""Rules: whatever they are made of, they answer as plain loops over their pieces do."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import X_SQUARE, Y_SQUARE, fit, quick
from polyceptron import OC1, OnlinePolyceptron, Polyceptron, Polyhedron
from polyceptron.calibration import Calibration, Logistic, Side
from polyceptron.rule import Piece, Rule, as_rule, show_label

# Small numbers, so that many rows are on faces.
WHOLE = st.integers(-3, 3).map(float)
KINDS = ["one", "union", "classes", "links", "partition"]


@st.composite
def polyhedra(draw, d, names=None):
    W = draw(arrays(float, (draw(st.integers(1, 3)), d), elements=WHOLE))
    W[~W.any(axis=1), 0] = 1.0
    return Polyhedron(W, draw(arrays(float, len(W), elements=WHOLE)), names)


@st.composite
def made_rules(draw, kinds=KINDS, names=None):
    kind, d = draw(st.sampled_from(kinds)), 2 if names else draw(st.integers(1, 3))
    labels = draw(st.sampled_from([[0, 1, 2], ["a", "b", "c"], [-1.5, 0.5, 2.0]]))
    some = draw(st.lists(polyhedra(d, names), min_size=1, max_size=4))
    if kind in ("one", "union"):
        link = draw(st.sampled_from([None, Logistic(), Calibration(Side(2, 0.1), Side(1, 0.2), 3)]))
        some = some[:1] if kind == "one" else some
        return Rule.inside(labels[:2], draw(st.integers(0, 1)), *some, link=link)
    if kind == "links":
        links = [Calibration(Side(1.0, 0.1), Side(0.5 + j, 0.2), j) for j in range(3)]
        places = [0, 1, 2, *draw(st.lists(st.integers(0, 2), max_size=2))]
        each = [Piece(draw(polyhedra(d, names)), place) for place in places]
        return Rule(labels, each, links=links)
    pieces = [Piece(one, draw(st.integers(0, 2))) for one in some]
    if kind == "partition":
        pieces = [one._replace(shares=(0.2, 0.3, 0.5)) for one in pieces]
        return Rule(labels, pieces)
    return Rule(labels, pieces, draw(st.integers(0, 2)))


def some_rows(rule, n=25, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, (n, rule.n_features)).astype(float)


def looped(rule, x):
    """The score of every piece, the place of the answer and its piece, one number at a time."""
    h = []
    for piece in rule.pieces:
        margins = []
        for w, b in zip(piece.polyhedron.W, piece.polyhedron.b, strict=True):
            margins.append(b + sum(w[j] * x[j] for j in range(len(x))))
        h.append(min(margins))
    containing = [p for p, score in enumerate(h) if score >= 0]
    best = max(range(len(h)), key=lambda p: h[p])
    if rule.is_most_probable:
        found = []
        for place, link in enumerate(rule.links):
            own = [p for p, piece in enumerate(rule.pieces) if piece.place == place]
            p = max(own, key=lambda p: h[p])
            found.append((link.both(np.array([h[p]]))[1][0], place, p))
        _, place, piece = max(found, key=lambda one: one[0])
        return h, place, piece
    if rule.inside_place is not None:
        return h, rule.inside_place if containing else rule.otherwise, best
    piece = containing[0] if containing else best
    if not containing and rule.otherwise is not None:
        return h, rule.otherwise, piece
    return h, rule.pieces[piece].place, piece


class TestAnswers:
    @settings(max_examples=40)
    @given(made_rules())
    def test_are_those_of_loops(self, rule):
        X = some_rows(rule)
        h, places, pieces = zip(*(looped(rule, x) for x in X), strict=True)
        np.testing.assert_array_equal(rule.scores(X), h)
        decision = rule.decide(X, faces=True)
        np.testing.assert_array_equal(decision.place, places)
        np.testing.assert_array_equal(decision.piece, pieces)
        np.testing.assert_array_equal(rule.predict(X), rule.classes[list(places)])
        assert rule.predict(X).dtype == rule.classes.dtype
        for x, piece, face, slack in zip(X, pieces, decision.face, decision.slack, strict=True):
            part = rule.pieces[piece].polyhedron
            assert part.active_face([x])[0] == face
            assert part.printed.margins([x])[0, face] == slack

    @settings(max_examples=40)
    @given(made_rules())
    def test_scores_and_probabilities_of_loops(self, rule):
        X = some_rows(rule)
        h = np.array([looped(rule, x)[0] for x in X])
        by_class = np.full((len(X), len(rule.classes)), -np.inf)
        for p, piece in enumerate(rule.pieces):
            by_class[:, piece.place] = np.maximum(by_class[:, piece.place], h[:, p])
        found, decision = rule.decision_function(X), rule.decide(X)
        if rule.inside_place is not None and len(rule.classes) == 2:
            sign = 1 if rule.inside_place == 1 else -1
            np.testing.assert_array_equal(found, sign * h.max(axis=1))
            np.testing.assert_array_equal(decision.score, found)
        elif rule.links:
            each = [link.both(by_class[:, j])[1] for j, link in enumerate(rule.links)]
            odds = np.log(each) - np.log1p(-np.array(each))
            np.testing.assert_allclose(found, odds.T, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(decision.score, found.max(axis=1))
        else:
            np.testing.assert_array_equal(found, by_class)
        if not rule.has_probabilities:
            with pytest.raises(ValueError, match="has no probabilities"):
                rule.predict_proba(X)
            return
        P = rule.predict_proba(X)
        assert P.shape == (len(X), len(rule.classes))
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_allclose(rule.predict_log_proba(X), np.log(P), rtol=1e-9, atol=1e-12)
        if rule.links and rule.inside_place is None:
            np.testing.assert_array_equal(P.argmax(axis=1), decision.place)
        elif rule.links:
            right = np.where(h.max(axis=1) >= 0, rule.inside_place, rule.otherwise)
            assert (P[np.arange(len(X)), right] >= 0.5).all()

    @settings(max_examples=12)
    @given(made_rules(), st.integers(0, 12))
    def test_kinds_of_rows_and_threads(self, rule, n):
        X = some_rows(rule, n)
        expected, scored = rule.decide(X, faces=True), rule.scores(X)
        kinds = [X.astype(np.float32), sp.csr_matrix(X), np.asfortranarray(X), X.astype(int)]
        for rows in [*kinds, sp.csc_matrix(X), sp.coo_matrix(X), pd.DataFrame(X)]:
            for one, other in zip(rule.decide(rows, faces=True), expected, strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(rule.scores(rows), scored)
        np.testing.assert_array_equal(rule.predict(X, n_jobs=2), rule.classes[expected.place])

    @pytest.mark.parametrize("n_pieces", [1, 2])
    def test_threads_of_many_rows(self, n_pieces, monkeypatch):
        monkeypatch.setattr("polyceptron.data.blocks.ROWS_WORTH_THREADS", 1)
        rng = np.random.default_rng(0)
        parts = [Polyhedron(rng.normal(size=(3, 4)), [1, 1, 0]) for _ in range(n_pieces)]
        rule, X = Rule.inside(["a", "b"], 1, *parts), rng.normal(size=(140_000, 4))
        for answer in (rule.predict, rule.decision_function):
            np.testing.assert_array_equal(answer(X, n_jobs=1), answer(X, n_jobs=2))
        np.testing.assert_array_equal(rule.predict(X) == "b", rule.decision_function(X) >= 0)

    def test_sure_answers_do_not_saturate(self):
        pieces = [Piece(Polyhedron([[s]], [0.0]), j) for j, s in enumerate([40.0, 50.0, -90.0])]
        rule = Rule(list("abc"), pieces, links=[Logistic()] * 3)
        assert rule.predict([[1.0]]) == ["b"]
        np.testing.assert_allclose(rule.decision_function([[1.0]]), [[40, 50, -90]])
        below = [one._replace(polyhedron=Polyhedron([[1.0]], [-1e3 - one[1]])) for one in pieces]
        rule = Rule(list("abc"), below, links=[Logistic()] * 3)
        odds = np.exp([0, -1, -2])
        np.testing.assert_allclose(rule.predict_proba([[0.0]])[0], odds / odds.sum())

    def test_numbers_that_overflow(self):
        rng = np.random.default_rng(0)
        X = rng.choice([1e308, -1e308, 1.0, 0.0], (200, 3))
        parts = [Polyhedron(rng.normal(size=(2, 3)) * 10, rng.normal(size=2)) for _ in "123"]
        union = Rule.inside([False, True], 1, *parts)
        contained = np.any([part.contains(X) for part in parts], axis=0)
        np.testing.assert_array_equal(union.predict(X), contained)
        np.testing.assert_array_equal(union.predict(sp.csr_matrix(X)), contained)
        assert 0 < contained.sum() < 200

    @settings(max_examples=15)
    @given(made_rules(names=("age", "dose")))
    def test_names(self, rule):
        X = pd.DataFrame(some_rows(rule), columns=["age", "dose"])
        np.testing.assert_array_equal(rule.predict(X), rule.predict(X.to_numpy()))
        with pytest.raises(ValueError, match="column 0 is 'dose', expected 'age'"):
            rule.predict(X[["dose", "age"]])
        other = rule.renamed(["a", "b"])
        assert other.feature_names == other.names == ("a", "b")
        assert other.renamed(None).names == ("x0", "x1")
        np.testing.assert_array_equal(other.predict(X), rule.predict(X))

    @settings(max_examples=5)
    @given(made_rules(names=("a", "b")))
    def test_bad_rows(self, rule):
        for X, message in [
            ([[1.0, np.nan]], "row 0, column 'b' is nan"),
            ([[1.0, 2.0], [np.inf, 0]], "row 1, column 'a' is inf"),
            ([1.0, 2.0], "X must be 2-D"),
            (np.ones((2, 3)), "X has 3 columns"),
        ]:
            with pytest.raises(ValueError, match=message):
                rule.predict(X)


@pytest.fixture(scope="module")
def trees():
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (300, 3)).astype(float)
    y = (np.abs(X).sum(axis=1) % 3).astype(int)
    models = [quick(OC1, prune_share=0.0, max_depth=depth) for depth in (None, 3)]
    return [fit(model, X, np.array(["a", "b", "c"])[y]) for model in models]


class TestTrees:
    def test_rows_on_faces_go_as_the_tree_sends_them(self, trees):
        rng = np.random.default_rng(1)
        for model in trees:
            tree = model.tree_
            X = rng.integers(-4, 5, (1000, 3)).astype(float)
            # Half of them on a face, but for rounding.
            node = rng.choice(np.flatnonzero(~tree.is_leaf), len(X) // 2)
            near = X[: len(node)]
            j = np.abs(tree.W[node]).argmax(axis=1)
            i = np.arange(len(node))
            near[i, j] = 0.0
            near[i, j] = -((near * tree.W[node]).sum(axis=1) + tree.b[node]) / tree.W[node, j]
            path = model.decision_path(X)[:, tree.is_leaf]
            places = np.flatnonzero(tree.is_leaf)
            leaves = places[path.toarray().argmax(axis=1)]
            np.testing.assert_array_equal(model.predict(X), model.classes_[tree.labels[leaves]])
            shares = tree.counts[leaves] / tree.counts[leaves].sum(axis=1, keepdims=True)
            np.testing.assert_array_equal(model.predict_proba(X), shares)
            np.testing.assert_array_equal(places[model.rule_.decide(X).piece], leaves)
            np.testing.assert_array_equal(model.apply(X), leaves)
            sparse = model.rule_.predict(sp.csr_matrix(X))
            np.testing.assert_array_equal(sparse, model.predict(X))
            on_faces = (model.rule_.scores(X[:500]) == 0).any(axis=1)
            assert on_faces.sum() > 20

    def test_a_tree_is_its_pieces_in_order(self, trees):
        """Test by test, and piece by piece: the two ways to find the leaf agree."""
        for model in trees:
            rule = model.rule_
            assert len(rule.splits) == len(rule.pieces) - 1
            X = np.random.default_rng(2).integers(-4, 5, (2000, 3)).astype(float)
            first = (rule.scores(X) >= 0).argmax(axis=1)
            np.testing.assert_array_equal(rule.decide(X).piece, first)
            turned = Rule(rule.classes, rule.pieces[1:] + rule.pieces[:1])
            assert turned.splits == {}
            np.testing.assert_array_equal(
                turned.decide(X).piece, (turned.scores(X) >= 0).argmax(axis=1)
            )

    def test_a_single_leaf(self):
        model = fit(quick(OC1), [[0, 1], [1, 0], [2, 2]], [1, 1, 1])
        assert model.rule_.predict([[1e308, -1e308]]).tolist() == [1]


class TestValue:
    @settings(max_examples=20)
    @given(made_rules(), made_rules())
    def test_equal_hash_pickle(self, rule, other):
        same = Rule(rule.classes.tolist(), list(rule.pieces), rule.otherwise, list(rule.links))
        for one in (same, pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
            assert one == rule
            assert hash(one) == hash(rule)
            assert str(one) == str(rule)
            np.testing.assert_array_equal(
                one.predict(some_rows(rule)), rule.predict(some_rows(rule))
            )
        assert (rule == other) == (pickle.dumps(rule) == pickle.dumps(other))
        assert rule != "rule"

    def test_of_other_labels_or_parts(self):
        P = Polyhedron([[1.0]], [0.0])
        rules = [
            Rule.inside([0, 1], 1, P),
            Rule.inside([0, 1], 0, P),
            Rule.inside([False, True], 1, P),
            Rule.inside([0, 1], 1, P, P),
            Rule.inside([0, 1], 1, P, link=Logistic()),
            Rule([0, 1], [Piece(P, 1)]),
        ]
        assert len(set(rules)) == len(rules)

    def test_cannot_be_changed(self):
        rule = as_rule(Polyhedron([[1.0]], [0.0]))
        with pytest.raises(AttributeError):
            rule.otherwise = 0
        with pytest.raises(ValueError, match="read-only"):
            rule.classes[0] = "x"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([0, 1], []), "pieces must not be empty"),
            (([0, 1], [(Polyhedron([[1]], [0]), 2)]), "the place 2 of 2 classes"),
            (([0, 1], [(Polyhedron([[1]], [0]), 0)], 2), "otherwise is the place 2"),
            (([0, 1], [(Polyhedron([[1]], [0]), 0)], 1, [None]), "links must have 2 items"),
            (([0, 1], [(Polyhedron([[1]], [0]), 0)], None, [None, None]), "for every class"),
            (([0, 1], [(Polyhedron([[1]], [0]), 0, (1.0,))]), "a share for each class"),
            (
                ([0, 1], [(Polyhedron([[1]], [0]), 0), (Polyhedron([[1, 1]], [0]), 0)]),
                "the same features",
            ),
        ],
    )
    def test_what_is_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Rule(*arguments)


class TestText:
    low, high = Polyhedron([[-1.0]], [1.0], ["a b"]), Polyhedron([[1.0], [2.0]], [-5.0, 0], ["a b"])

    def test_of_a_union(self):
        text = str(Rule.inside(["no", "so so"], 1, self.low, self.high))
        assert text.splitlines() == [
            '"so so" if this holds (piece 1 of 2):',
            '  face 0: "a b" <= 1',
            '"so so" if all 2 hold (piece 2 of 2):',
            '  face 0: "a b" >= 5',
            '  face 1: "a b" >= 0',
            "Otherwise no.",
        ]

    def test_of_classes(self):
        links = [Logistic(), Logistic()]
        text = str(Rule([3, 4], [Piece(self.low, 0), Piece(self.high, 1)], links=links))
        assert text.splitlines()[0] == "3 if this holds:"
        assert text.splitlines()[2] == "4 if all 2 hold:"
        assert text.endswith("most probable.")
        pieces = [Piece(self.low, 0), Piece(self.high, 1), Piece(self.high, 1)]
        text = str(Rule([3, 4], pieces, links=links))
        assert text.splitlines()[2] == "4 if all 2 hold (piece 2 of 3):"

    def test_repr_and_labels(self):
        rule = Rule.inside([1, 2], 0, self.low, self.high)
        assert repr(rule) == "<Rule of 2 classes, 1 features; 1: 2 x [1, 2]>"
        assert rule.polyhedra == {1: (self.low, self.high)}
        assert [show_label(one) for one in (1, 2.5, True, "a", "a b", "1")] == [
            "1", "2.5", "True", "a", '"a b"', '"1"',
        ]  # fmt: skip

    def test_powers_of_two_of_faces_are_found_once(self, monkeypatch):
        rule = Rule.inside([1, 2], 0, self.low, self.high)
        X = np.linspace(-9, 9, 40)[:, None]
        first = rule.decide(X, faces=True)
        assert len(np.unique(first.piece)) == 2
        monkeypatch.setattr("polyceptron.rule._answers.printed_faces", lambda *_: 1 / 0)
        assert np.array_equal(rule.decide(X, faces=True).slack, first.slack)


class TestToFrame:
    @settings(max_examples=50)
    @given(made_rules())
    def test_says_what_the_text_says(self, rule):
        frame = rule.to_frame()
        W = frame[[f"w[{name}]" for name in rule.names]].to_numpy()
        sign = np.where(frame["sense"] == ">=", 1, -1)
        n = 0
        for p, piece in enumerate(rule.pieces):
            one, here = piece.polyhedron.printed, frame[frame["piece"] == p].index
            np.testing.assert_array_equal(W[here] * sign[here, None], one.W)
            np.testing.assert_array_equal(-frame["offset"][here] * sign[here], one.b)
            assert frame["text"][here].tolist() == str(piece.polyhedron).splitlines()
            assert frame["face"][here].tolist() == list(range(one.n_faces))
            assert set(frame["class"][here]) == {rule.labels[piece.place]}
            n += one.n_faces
        assert len(frame) == n

    def test_names_that_the_frame_uses_itself(self):
        table = Rule.inside([0, 1], 1, Polyhedron([[1, 2]], [3], ["offset", "face"])).to_columns(1)
        assert (table["offset"], table["w[offset]"], table["w[face]"]) == ([-3.0], [1.0], [2.0])

    def test_of_polars_and_of_nothing_else(self):
        pl = pytest.importorskip("polars")
        rule = Rule.inside(["a", "b"], 1, Polyhedron([[1 / 3]], [-2], ["dose"]))
        frame = rule.to_frame("polars", digits=2)
        assert isinstance(frame, pl.DataFrame)
        assert frame.to_dict(as_series=False) == rule.to_columns(2)
        assert frame["text"].to_list() == ["0.33*dose >= 2"]
        with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'excel'"):
            rule.to_frame("excel")


class TestAsRule:
    def test_of_models(self):
        model = fit(quick(OnlinePolyceptron), X_SQUARE, Y_SQUARE)
        assert as_rule(model) is as_rule(model.rule_) is model.rule_
        polyhedron = as_rule(model.polyhedron_)
        assert polyhedron.predict([[0.0, 0.0]]).tolist() == ["inside"]

    @pytest.mark.parametrize("thing", [None, 3, "model.json", Polyceptron, Polyhedron])
    def test_no_model(self, thing):
        with pytest.raises(TypeError, match="it must be a fitted learner of polyceptron, a Rule"):
            as_rule(thing, "it", TypeError)

    def test_not_fitted_and_pipelines(self):
        with pytest.raises(NotFittedError):
            as_rule(Polyceptron())
        with pytest.raises(NotFittedError):
            as_rule(make_pipeline(StandardScaler(), quick(OnlinePolyceptron)))

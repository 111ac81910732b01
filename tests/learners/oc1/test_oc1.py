"""OC1: its search against brute force, its pruning against all subtrees, and its promises."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

import naive_oc1 as naive
from polyceptron.datasets import load_breast_cancer, make_dataset1
from polyceptron.learners._held_out import hold_out
from polyceptron.learners.oc1 import growth
from polyceptron.learners.oc1 import kernels as oc1_kernels
from polyceptron.learners.oc1 import tree as oc1_tree
from polyceptron.learners.oc1.learner import OC1

CRITERIA = {"twoing": 0, "gini": 1, "entropy": 2}
ORDERS = ["sequential", "best", "random"]
criteria = pytest.mark.parametrize("criterion", CRITERIA)


# --- the compiled search --------------------------------------------------------------


def problem(scores, slopes, y, weights, n_classes):
    """Rows of a node, and the arrays of a search that stands at these scores."""
    y, weights = np.array(y, np.int64), np.array(weights, float)
    totals = np.bincount(y, weights, n_classes).astype(float)
    rows = oc1_kernels.NodeRows(np.ones((1, len(y))), y, weights, totals)
    work = oc1_kernels.workspace(len(y), n_classes)
    work.scores[:], work.slopes[:] = scores, slopes
    return rows, work


def random_problem(rng, n, n_classes=3, whole=False):
    draw = (lambda: rng.integers(-4, 5, n) * 1.0) if whole else (lambda: rng.normal(size=n))
    return draw(), draw(), rng.integers(0, n_classes, n), rng.integers(1, 4, n), n_classes


class TestKernels:
    @criteria
    @given(data=st.data())
    def test_quality(self, criterion, data):
        totals = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
        above = [data.draw(st.integers(0, t)) for t in totals]
        found = oc1_kernels.quality(
            CRITERIA[criterion], np.array(above, float), np.array(totals, float)
        )
        assert found == pytest.approx(naive.quality(criterion, above, totals), abs=1e-12)

    @criteria
    @pytest.mark.parametrize("whole", [False, True])
    @pytest.mark.parametrize("n", [1, 3, 10, 60])
    def test_line_search(self, criterion, n, whole):
        rng = np.random.default_rng(n)
        for _ in range(10):
            self.check_line_search(criterion, *random_problem(rng, n, whole=whole))

    def check_line_search(self, criterion, scores, slopes, y, weights, n_classes):
        rows, work = problem(scores, slopes, y, weights, n_classes)
        alpha, best = oc1_kernels.line_search(rows, work, CRITERIA[criterion])
        numbers = [np.asarray(array).tolist() for array in (scores, slopes, y, weights)]
        _, expected = naive.line_search(criterion, *numbers, n_classes)
        assert best == pytest.approx(expected, abs=1e-12)
        if expected >= 0:  # and that is what it is
            moved = np.asarray(scores) + alpha * np.asarray(slopes)
            there = naive.split_quality(criterion, moved, *numbers[2:], n_classes)
            assert there == pytest.approx(expected, abs=1e-12)

    def test_of_equal_gaps_the_widest(self):
        rows, work = problem([0, -1, -5, -6], [1, 1, 1, 1], [0, 1, 0, 1], [1] * 4, 2)
        alpha, _ = oc1_kernels.line_search(rows, work, 0)
        assert alpha in (0.5, 5.5)  # the two best, both of width 1
        rows, work = problem([0, -1, -5, -8], [1, 1, 1, 1], [0, 1, 0, 1], [1] * 4, 2)
        assert oc1_kernels.line_search(rows, work, 0)[0] == 6.5

    @pytest.mark.parametrize(
        "keys",
        [
            np.arange(500.0),
            np.zeros(300),
            1e-9 * np.arange(400)[::-1] + 1,
            np.r_[np.linspace(1, 1 + 1e-6, 300)[::-1], 1e6, -1e6],
            np.random.default_rng(0).standard_cauchy(1000),
            np.random.default_rng(1).integers(0, 5, 500),
            np.array([3.0]),
            np.array([]),
        ],
        ids=["even", "equal", "close", "crowded", "long tails", "few values", "one", "none"],
    )
    def test_sort(self, keys):
        n = len(keys)
        rows, work = problem(-keys, np.ones(n), np.zeros(n), np.ones(n), 1)
        assert oc1_kernels.sort_crossings(rows, work) == n
        np.testing.assert_array_equal(work.crossings, np.sort(keys))
        np.testing.assert_array_equal(keys[work.movers], work.crossings)
        np.testing.assert_array_equal(np.sort(work.movers), np.arange(n))

    def test_rows_that_hardly_move_never_cross(self):
        rows, work = problem([1, -1, 2, 0], [0, 1e-12, 1, 0], [0, 1, 0, 1], [1] * 4, 2)
        assert oc1_kernels.sort_crossings(rows, work) == 1
        np.testing.assert_array_equal(work.above, [1, 1])  # rows 0 and 3 stay above

    @criteria
    @pytest.mark.parametrize("order", range(3))
    def test_climbing_never_falls(self, criterion, order):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
        columns = np.ascontiguousarray(np.vstack([X.T, np.ones(80)]))  # as trees are grown from
        rows = oc1_kernels.NodeRows(columns, y, np.ones(80), np.bincount(y).astype(float))
        work = oc1_kernels.workspace(80, 3)
        how = oc1_kernels.Climb(CRITERIA[criterion], order, 3, 2)
        for _ in range(5):
            plane = rng.normal(size=4)
            before = naive.split_quality(criterion, plane @ columns, y, np.ones(80), 3)
            after = oc1_kernels.climb(rows, work, how, plane, rng)
            assert after >= before - 1e-12
            now = naive.split_quality(criterion, plane @ columns, y, np.ones(80), 3)
            assert now == pytest.approx(after, abs=1e-12)
            if how.order != 2:  # at the top no single coefficient helps
                for j in range(4):
                    args = (plane @ columns).tolist(), columns[j].tolist(), y.tolist(), [1.0] * 80
                    assert naive.line_search(criterion, *args, 3)[1] <= after + 1e-9

    @criteria
    def test_axis_split_is_that_of_a_stump(self, criterion):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
        model = OC1(criterion, n_restarts=0, max_depth=1, prune_share=0).fit(X, y)
        best = max(
            naive.line_search(criterion, column.tolist(), [1.0] * 60, y.tolist(), [1.0] * 60, 2)[1]
            for column in X.T
        )
        (counts,) = model.tree_.counts[[int(model.tree_.yes[0])]]
        found = naive.quality(criterion, counts.tolist(), np.bincount(y).tolist())
        assert found == pytest.approx(best, abs=1e-12)
        if criterion != "twoing":
            stump = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y)
            np.testing.assert_array_equal(model.predict(X), stump.predict(X))


# --- weights and rows -----------------------------------------------------------------


class TestRows:
    def test_equal_rows_are_merged(self):
        X = np.array([[1.0, 2], [0, 1], [1, 2], [1, 2], [-0.0, 1]])
        sample = growth.distinct_rows(X, np.array([0, 1, 0, 1, 1]), np.empty(0))
        np.testing.assert_array_equal(sample.X, [[0, 1], [1, 2], [1, 2]])
        np.testing.assert_array_equal(sample.y, [1, 0, 1])
        np.testing.assert_array_equal(sample.weight, [2, 2, 1])
        np.testing.assert_array_equal(sample.multiplicity, [2, 2, 1])

    @given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=50), st.randoms())
    def test_exact_weights_add_up_in_any_order(self, weights, random):
        exact = growth.exact_weights(np.array(weights)).tolist()
        assert exact == pytest.approx(weights, abs=2**-51 * sum(weights))
        total = sum(exact)
        random.shuffle(exact)
        assert sum(exact) == total
        part = exact[: len(exact) // 2]
        for weight in part:
            total -= weight
        assert total == sum(exact[len(part) :])

    @given(st.floats(0, 0.99), st.lists(st.integers(0, 2), min_size=1, max_size=60))
    def test_hold_out(self, share, labels):
        y = np.array(labels)
        held = hold_out(y, np.ones(len(y)), share, np.random.default_rng(0))
        for label in np.unique(y):
            size, n_held = (y == label).sum(), held[y == label].sum()
            assert n_held == size - 1 or abs(n_held - share * size) <= 0.5 + 1e-9

    def test_hold_out_passes_over_rows_that_are_too_heavy(self):
        weights = np.r_[90.0, np.ones(10)]
        for seed in range(10):
            held = hold_out(np.zeros(11, int), weights, 0.05, np.random.default_rng(seed))
            assert held.sum() == 5
            assert not held[0]


# --- pruning --------------------------------------------------------------------------


def random_tree(rng, n_inner, n_classes=3):
    """A tree of any shape, with whole counts that add up."""
    yes, no, counts = [], [], []

    def build(inner):
        node = len(yes)
        yes.append(-1), no.append(-1), counts.append(None)
        if inner == 0:
            counts[node] = rng.integers(0, 6, n_classes) + np.eye(n_classes, dtype=int)[0]
        else:
            left = int(rng.integers(0, inner))
            yes[node] = build(left)
            no[node] = build(inner - 1 - left)
            counts[node] = counts[yes[node]] + counts[no[node]]
        return node

    build(n_inner)
    n, inner = len(yes), np.array(yes) != -1
    W = np.where(inner[:, None], rng.normal(size=(n, 2)), 0.0)
    b = np.where(inner, rng.normal(size=n), 0.0)
    return oc1_tree.Tree(W, b, np.array(yes), np.array(no), np.array(counts, float))


def leaves_of(tree, collapsed):
    """Leaves, as nodes of the tree, once these nodes are leaves."""
    found, waiting = set(), [0]
    while waiting:
        node = waiting.pop()
        if collapsed[node] or tree.yes[node] == -1:
            found.add(node)
        else:
            waiting += [int(tree.yes[node]), int(tree.no[node])]
    return found


@pytest.mark.parametrize("seed", range(6))
class TestPruning:
    def test_sequence_is_that_of_all_subtrees(self, seed):
        """Breiman et al.: from alpha_k up to alpha_k+1 tree k is the smallest of the cheapest."""
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, int(rng.integers(0, 8)))
        steps = oc1_tree.pruning_sequence(tree, np.zeros_like(tree.counts))
        assert not steps[0].collapsed.any()
        alphas = [step.alpha for step in steps] + [steps[-1].alpha + 2]
        for step, (alpha, following) in zip(steps, pairwise(alphas), strict=True):
            assert step.n_leaves == len(leaves_of(tree, step.collapsed))
            if alpha < following:
                assert leaves_of(tree, step.collapsed) == naive.best_subtree(tree, alpha)
                between = (alpha + following) / 2
                assert leaves_of(tree, step.collapsed) == naive.best_subtree(tree, between)
        assert leaves_of(tree, steps[-1].collapsed) == {0}

    def test_held_out_mistakes(self, seed):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, int(rng.integers(0, 8)))
        X, y, weight = rng.normal(size=(50, 2)), rng.integers(0, 3, 50), rng.integers(1, 4, 50)
        held_out = tree.weigh(X, y, weight.astype(float))

        def mistakes_of(tree):
            leaves = [(node, rows) for node, rows in tree.visits(X) if tree.is_leaf[node]]
            return sum(weight[rows][y[rows] != tree.labels[node]].sum() for node, rows in leaves)

        steps = oc1_tree.pruning_sequence(tree, held_out)
        for step in steps:
            pruned = tree.without(step.collapsed)
            assert step.held_out == mistakes_of(pruned)
            assert pruned.is_leaf.sum() == step.n_leaves
        chosen = oc1_tree.prune(tree, held_out)
        least = min(step.held_out for step in steps)
        size = min(step.n_leaves for step in steps if step.held_out == least)
        assert chosen.is_leaf.sum() == size
        assert mistakes_of(chosen) == least


# --- the estimator --------------------------------------------------------------------


def oblique(n=300, seed=0):
    """Two classes on the sides of a slanting line."""
    X = np.random.default_rng(seed).uniform(-2, 2, (n, 2))
    return X, (X[:, 0] + 2 * X[:, 1] > 0.3).astype(int)


def quick(**parameters):
    return OC1(**({"n_restarts": 3, "random_state": 0} | parameters))


def same_tree(one, other):
    for name in ("W", "b", "yes", "no", "counts"):
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))


X_OK, Y_OK = oblique(40)
N = len(Y_OK)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


class TestLearning:
    @criteria
    @pytest.mark.parametrize("order", ORDERS)
    def test_one_oblique_split_suffices(self, criterion, order):
        X, y = oblique()
        model = OC1(criterion, order=order, random_state=0, prune_share=0).fit(X, y)
        assert model.n_hyperplanes_ == 1
        assert model.score(X, y) == 1
        slope = model.tree_.W[0, 1] / model.tree_.W[0, 0]
        assert slope == pytest.approx(2, abs=0.2)

    @pytest.mark.parametrize("order", ORDERS)
    def test_iris(self, order):
        names = np.array(["setosa", "versicolor", "virginica"])
        scores = cross_val_score(quick(order=order), X_IRIS, names[Y_IRIS], cv=5)
        assert scores.mean() > 0.92

    def test_better_than_axis_parallel(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        slanted = cross_val_score(quick(), X, y, cv=3).mean()
        assert slanted > cross_val_score(quick(n_restarts=0), X, y, cv=3).mean() + 0.1

    def test_exclusive_or_needs_a_split_without_gain(self):
        X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
        for restarts in (0, 3):
            model = quick(prune_share=0, n_restarts=restarts).fit(X, y)
            assert model.score(X, y) == 1

    def test_pruning_makes_smaller_trees(self):
        X, y = oblique(400)
        y = np.where(np.random.default_rng(0).random(400) < 0.2, 1 - y, y)
        assert quick().fit(X, y).n_leaves_ < quick(prune_share=0).fit(X, y).n_leaves_ / 2

    def test_limits(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        assert quick(max_depth=2, prune_share=0).fit(X, y).depth_ == 2
        model = quick(min_samples_split=300, prune_share=0).fit(X, y)
        inner = ~model.tree_.is_leaf
        assert (model.tree_.counts.sum(axis=1)[inner] >= 300).all()
        assert quick(min_samples_split=len(y) + 1).fit(X, y).n_leaves_ == 1

    def test_few_rows_are_split_by_single_columns(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        model = quick(prune_share=0, min_samples_oblique=200).fit(X[:400], y[:400])
        tests = (model.tree_.W != 0).sum(axis=1)
        sizes = model.tree_.counts.sum(axis=1)
        assert (tests[(sizes < 200) & ~model.tree_.is_leaf] == 1).all()
        assert tests[0] > 1

    @pytest.mark.parametrize("n_constants", [0, 2])
    def test_one_column_is_split_by_thresholds_without_a_search(self, n_constants):
        """No hyperplane is better there, so nothing is drawn at random."""
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=60), np.full((60, n_constants), 0.1)])
        sample = growth.distinct_rows(X, rng.integers(0, 2, 60), np.empty(0))
        before = rng.bit_generator.state
        trees = [
            growth.grow(
                sample,
                growth.GrowthRules(oc1_kernels.Climb(0, 0, n_restarts, 5), 2, np.inf, 2, 2),
                rng,
            )
            for n_restarts in (0, 20)
        ]
        assert rng.bit_generator.state == before
        for one, other in zip(*((t.W, t.b, t.yes, t.no, t.counts) for t in trees), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_one_class_is_one_leaf(self):
        model = quick().fit(X_OK, np.full(N, "only"))
        assert (model.n_leaves_, model.n_hyperplanes_, model.depth_) == (1, 0, 0)
        assert set(model.predict(X_OK)) == {"only"}
        np.testing.assert_array_equal(model.predict_proba(X_OK), np.ones((N, 1)))
        assert model.to_text().startswith("only (")
        (everything,) = model.polyhedra("only")
        assert everything.contains(np.array([[0, 0], [1e300, -1e300], [-1.79e308, 0]])).all()


class TestPrediction:
    def test_probabilities_are_those_of_the_leaf(self):
        model = quick(max_depth=1, prune_share=0).fit(X_IRIS, Y_IRIS)
        proba, leaves = model.predict_proba(X_IRIS), model.apply(X_IRIS)
        for leaf in np.unique(leaves):
            here = leaves == leaf
            expected = np.bincount(Y_IRIS[here], minlength=3) / here.sum()
            np.testing.assert_array_equal(proba[here], np.tile(expected, (here.sum(), 1)))
        np.testing.assert_array_equal(model.predict(X_IRIS), proba.argmax(axis=1))

    def test_decision_path(self):
        model = quick(prune_share=0).fit(X_IRIS, Y_IRIS)
        path, tree = model.decision_path(X_IRIS).toarray(), model.tree_
        np.testing.assert_array_equal(path[:, 0], 1)
        np.testing.assert_array_equal(path[np.arange(150), model.apply(X_IRIS)], 1)
        for node in np.flatnonzero(~tree.is_leaf):
            passed = X_IRIS @ tree.W[node] + tree.b[node] >= 0
            np.testing.assert_array_equal(path[:, tree.yes[node]], path[:, node] * passed)
            np.testing.assert_array_equal(path[:, tree.no[node]], path[:, node] * ~passed)

    def test_what_was_learned_needs_a_fit(self):
        with pytest.raises(NotFittedError):
            quick().polyhedra(1)
        with pytest.raises(NotFittedError):
            quick().to_text()


class TestPolyhedra:
    @pytest.mark.parametrize("prune_share", [0, 0.1])
    def test_they_hold_the_rows_predicted(self, prune_share):
        model = quick(prune_share=prune_share).fit(X_IRIS, Y_IRIS)
        rng = np.random.default_rng(0)
        X = np.vstack([X_IRIS, rng.uniform(-2, 10, (2000, 4))])
        inside = {
            label: sum(leaf.contains(X).astype(int) for leaf in model.polyhedra(label))
            for label in model.classes_
        }
        assert sum(len(model.polyhedra(label)) for label in model.classes_) == model.n_leaves_
        np.testing.assert_array_equal(sum(inside.values()), 1)  # no row lies on a face
        for label, count in inside.items():
            np.testing.assert_array_equal(count == 1, model.predict(X) == label)

    def test_a_row_on_a_face_is_on_both_sides_but_predicted_yes(self):
        model = quick(prune_share=0).fit([[1.0], [2.0]], [0, 1])
        on_face = [[1.5]]
        assert model.polyhedra(0)[0].contains(on_face).all()
        assert model.polyhedra(1)[0].contains(on_face).all()
        assert model.predict(on_face) == [1]

    def test_column_names(self):
        frame = pd.DataFrame(X_OK, columns=["age", "body mass"])
        model = quick(prune_share=0).fit(frame, Y_OK)
        leaf = model.polyhedra(1)[0]
        assert leaf.feature_names == ("age", "body mass")
        assert '*"body mass"' in model.to_text()
        assert quick(prune_share=0).fit(X_OK, Y_OK).polyhedra(1)[0].feature_names is None

    @pytest.mark.parametrize("label", [2, "1", None, [1]])
    def test_unknown_label(self, label):
        with pytest.raises(ValueError, match=r"label must be one of the labels \[0, 1\], got "):
            quick().fit(X_OK, Y_OK).polyhedra(label)


class TestText:
    def test_nested(self):
        X = pd.DataFrame({"dose": [1.0, 2, 3, 4], "b": 5.0})
        model = quick(prune_share=0).fit(X, ["low", "low", "high", "low"])
        assert model.to_text() == (
            "if dose >= 2.5:\n"
            "    if dose >= 3.5:\n"
            "        low (1 of 1)\n"
            "    else:\n"
            "        high (1 of 1)\n"
            "else:\n"
            "    low (2 of 2)"
        )

    @pytest.mark.parametrize(
        ("label", "shown"),
        [
            ("low", "low"),
            ("else:", '"else:"'),
            ("a\nelse:\n    b (9 of 9)", '"a\\nelse:\\n    b (9 of 9)"'),
            ('say "no"', '"say \\"no\\""'),
            ("1", '"1"'),
            ("", '""'),
            (1, "1"),
            (2.0, "2.0"),
            (True, "True"),
        ],
    )
    def test_labels_cannot_forge_lines(self, label, shown):
        y = np.array([label] * 4)
        assert quick().fit(np.zeros((4, 1)), y).to_text() == f"{shown} (4 of 4)"
        if isinstance(label, str):
            y = y.astype(object)
            assert quick().fit(np.zeros((4, 1)), y).to_text() == f"{shown} (4 of 4)"

    def test_column_names_cannot_forge_lines(self):
        names = ["a >= 1:\n    yes (1 of 1)\nelse:\n    no", "b\u2028c"]
        X = pd.DataFrame([[0.0, 0], [1, 1], [5, 1]], columns=names)
        model = quick(prune_share=0).fit(X, ["no", "else:", "no"])
        lines = model.to_text().splitlines()
        assert [line.strip().split(" ")[0] for line in lines] == [
            "if", "no", "else:", "if", '"else:"', "else:", "no",
        ]  # fmt: skip

    def test_verbose(self, capsys, monkeypatch):
        model = quick(prune_share=0)
        model.fit(X_IRIS, Y_IRIS)
        assert capsys.readouterr().out == ""
        clock = iter(range(1000))
        monkeypatch.setattr("polyceptron.learners.oc1.growth.time.monotonic", lambda: next(clock))
        model.set_params(verbose=1).fit(X_IRIS, Y_IRIS)
        first, *_, last = capsys.readouterr().out.splitlines()
        assert first == "OC1: 1 nodes, 0 of 149 distinct rows in leaves"
        n_nodes = 2 * model.n_leaves_ - 1
        assert last == f"OC1: {n_nodes} nodes, {n_nodes} after pruning"


class TestSameAnswers:
    """The tree depends on the weighted set of rows, and on the seed."""

    def test_order_of_rows(self):
        X, y = load_breast_cancer(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(y))
        same_tree(quick().fit(X[rows], y[rows]), quick().fit(X, y))

    def test_weight_two_is_two_rows(self):
        weights = np.random.default_rng(0).integers(0, 4, 150)
        one = quick().fit(X_IRIS, Y_IRIS, sample_weight=weights)
        same_tree(one, quick().fit(X_IRIS.repeat(weights, 0), Y_IRIS.repeat(weights)))

    @pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
    def test_size_of_weights(self, size):
        found = quick().fit(X_IRIS, Y_IRIS, sample_weight=np.full(150, size))
        expected = quick().fit(X_IRIS, Y_IRIS)
        np.testing.assert_array_equal(found.predict(X_IRIS), expected.predict(X_IRIS))

    @pytest.mark.parametrize("factors", [[2.0**900, 2.0**-900], [1024, 1 / 1024]])
    def test_size_of_columns(self, factors):
        X, y = oblique()
        one, other = quick().fit(X, y), quick().fit(X * factors, y)
        np.testing.assert_array_equal(one.predict(X), other.predict(X * factors))


# --- bad and extreme input ------------------------------------------------------------


def test_sparse_rows():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        quick().fit(sp.csr_matrix(X_OK), Y_OK)


X_SQUARE, Y_SQUARE = oblique(120)
EXTREME = {
    "1e300": X_SQUARE * 1e300,
    "1.7e308": X_SQUARE / np.abs(X_SQUARE).max() * 1.7e308,
    "1e150": X_SQUARE * 1e150,
    "1e-300": X_SQUARE * 1e-300,
    "1e-320": X_SQUARE * 1e-320,
    "1e300 and 1e-300": X_SQUARE * [1e300, 1e-300],
    "1e9": X_SQUARE * [1e9, 1],
    "far away": X_SQUARE + 1e9,
    "constant columns": np.column_stack([X_SQUARE, np.full(120, 0.1), np.zeros(120)]),
    "a constant of 1e300": np.column_stack([X_SQUARE, np.full(120, 1e300)]),
    "only constants": np.column_stack([np.ones(120), np.zeros(120)]),
    "one row in 1e300": np.vstack([X_SQUARE[:-1], [[1e300, -1e300]]]),
    "duplicated rows": np.repeat(X_SQUARE[::10], 10, axis=0),
    "all rows equal": np.tile(X_SQUARE[:1], (120, 1)),
    "neighbouring numbers": 1 + np.spacing(1.0) * np.arange(120)[:, None] * [1, 1],
    "greatest float32": (X_SQUARE / 2 * np.finfo(np.float32).max * 0.99).astype(np.float32),
    "denormal float32": (X_SQUARE * 1e-44).astype(np.float32),
}
LEARNABLE = ["1e300", "1.7e308", "1e150", "1e-300", "1e9", "far away", "constant columns",
             "a constant of 1e300", "1e300 and 1e-300", "greatest float32"]  # fmt: skip


class TestExtremeValues:
    @pytest.mark.parametrize("case", LEARNABLE)
    def test_learned(self, case):
        X = EXTREME[case]
        model = quick(prune_share=0).fit(X, Y_SQUARE)
        assert model.score(X, Y_SQUARE) == 1
        assert model.n_hyperplanes_ == 1

    def test_neighbouring_numbers_are_told_apart(self):
        X = EXTREME["neighbouring numbers"]
        y = np.arange(120) >= 77
        assert quick(prune_share=0).fit(X, y).score(X, y) == 1

    def test_equal_rows_with_opposite_labels(self):
        X, y = np.repeat(X_SQUARE[:20], 2, axis=0), np.tile([0, 1], 20)
        model = quick(prune_share=0).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), 0.5)
        assert set(model.predict(X)) == {0}

    def test_constant_columns_get_no_coefficient(self):
        model = quick(prune_share=0).fit(EXTREME["constant columns"], Y_SQUARE)
        assert not model.tree_.W[:, 2:].any()

    def test_a_weight_next_to_nothing(self):
        weights = np.where(Y_SQUARE == 1, 1e-40, 1.0)
        model = quick(prune_share=0).fit(X_SQUARE, Y_SQUARE, sample_weight=weights)
        assert model.score(X_SQUARE, Y_SQUARE) == 1

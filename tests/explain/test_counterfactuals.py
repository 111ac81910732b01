"""Changes to a class of several, within what was seen, of few columns: against trying all."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from common import fit, quick
from polyceptron import OnlinePolyceptron, Polyceptron, Polyhedron
from polyceptron.calibration import Calibration, Logistic, Side
from polyceptron.explain import Domain, ExplainError, counterfactual, robustness
from polyceptron.explain._rivals import even_score, lines_above
from polyceptron.rule import Piece, Rule

LINKS = [
    Calibration(Side(2.0, 0.03), Side(5.0, 1e-5)),
    Calibration(Side(0.5, 1e-5), Side(3.0, 0.1), exponent=1),
    Calibration(Side(4.5, 0.2), Side(1.0, 1e-3)),
]
NAMES = ["a", "b"]


def random_rule(seed, d=2, links=LINKS):
    """Three classes: the second is a union of two polyhedra."""
    rng = np.random.default_rng(seed)
    pieces = []
    for place in (0, 1, 1, 2):
        W = rng.normal(size=(int(rng.integers(1, 4)), d))
        centre = rng.uniform(-2, 2, d)
        pieces.append(Piece(Polyhedron(W, rng.uniform(0.2, 1.5, len(W)) - W @ centre), place))
    return Rule(["A", "B", "C"], pieces, links=links)


PAIRS = list(itertools.permutations([*LINKS, Logistic()], 2))


class TestRivals:
    @pytest.mark.parametrize(("own", "rival"), PAIRS)
    def test_even_scores_have_the_same_log_odds(self, own, rival):
        h = np.linspace(-3, 3, 61)
        u = np.array([even_score(own, rival, one) for one in h])
        here = np.isfinite(u)
        assert here.sum() > 10
        assert rival.log_odds(u[here]) == pytest.approx(own.log_odds(h[here]), rel=1e-8, abs=1e-8)
        # Where there is none, the rival never gets there.
        best = rival.log_odds(np.array([-1e3, 1e3]))
        beyond = own.log_odds(h[~here])
        assert ((beyond <= best[0] + 1e-8) | (beyond >= best[1] - 1e-8)).all()

    @pytest.mark.parametrize(("own", "rival"), PAIRS)
    def test_lines_are_above_and_near(self, own, rival):
        for low in (-2.0, -0.2, 0.0, 0.3, 1.5):
            gaps = []
            for wide in (0.2, 0.02):
                h = np.linspace(low, low + wide, 21)
                u = np.array([even_score(own, rival, one) for one in h])
                lines = lines_above(own, rival, low, low + wide)
                if not lines:
                    assert not np.isfinite(u[[0, -1]]).all()
                    break
                above = np.min([line.slope * h + line.offset for line in lines], axis=0)
                assert (above >= u - 1e-9).all()
                gaps.append((above - u).max())
            if len(gaps) == 2:
                assert gaps[1] <= gaps[0] / 5 + 1e-9


class TestMostProbable:
    GRID = np.array(list(itertools.product(np.arange(-5, 5.01, 0.05), repeat=2)))

    @pytest.mark.parametrize("links", [LINKS, [Logistic()] * 3], ids=["calibrated", "logistic"])
    def test_as_near_as_a_grid_gets(self, links):
        n_found = 0
        for seed in range(3):
            rule = random_rule(seed, links=links)
            answers = rule.predict(self.GRID)
            for x in np.random.default_rng(seed).uniform(-3, 3, (2, 2)):
                before = rule.predict([x])[0]
                for target in (None, "A", "B", "C"):
                    if target == before:
                        continue
                    box = {0: (-5, 5), 1: (-5, 5)}
                    found = counterfactual(rule, x, target=target, bounds=box, max_nodes=300)
                    there = answers != before if target is None else answers == target
                    best = np.linalg.norm(self.GRID - x, axis=1)[there].min(initial=np.inf)
                    if not found.feasible:
                        assert there.mean() < 1e-3 or "none was found" in found.reason
                        continue
                    n_found += found.exact
                    assert found.after == rule.predict([found.x])[0] != before
                    assert target in (None, found.after)
                    assert not found.exact or found.distance <= best * (1 + 1e-3) + 1e-9
                    assert best <= found.distance + 0.08 or there.mean() < 0.01
        assert n_found > 6

    def test_robustness_is_the_distance_of_the_counterfactual(self):
        rng = np.random.default_rng(0)
        for seed in range(4):
            rule = random_rule(seed, d=3)
            x = rng.uniform(-2, 2, 3)
            radius, found = robustness(rule, x), counterfactual(rule, x)
            assert radius <= found.distance <= radius * (1 + 3e-6)
            ways = rng.normal(size=(500, 3))
            near = x + 0.9999 * radius * ways / np.linalg.norm(ways, axis=1)[:, None]
            assert len(set(rule.predict(near))) == 1

    def test_what_is_not_possible(self):
        rule = random_rule(1)
        x = [0.0, 0.0]
        (before,) = rule.predict([x])
        with pytest.raises(ExplainError, match=f"the answer is '{before}' already"):
            counterfactual(rule, x, target=before)
        with pytest.raises(ExplainError, match=r"target must be one of \['A', 'B', 'C'\]; got 'D'"):
            counterfactual(rule, x, target="D")
        held = counterfactual(rule, x, frozen=[0, 1])
        assert not held.feasible
        assert held.reason

    def test_few_programs_give_some_change(self):
        rule = random_rule(2, d=4)
        x = np.zeros(4)
        found, best = counterfactual(rule, x, max_nodes=12), counterfactual(rule, x)
        assert found.feasible
        assert found.distance >= best.distance * (1 - 1e-3)
        assert rule.predict([found.x])[0] == found.after != found.before
        if not found.exact:
            assert str(found).endswith(", approximate)")

    def test_a_target_among_classes_in_order(self):
        boxes = [
            Polyhedron([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 2, 0, 2]),
            Polyhedron([[1, 0], [-1, 0], [0, 1], [0, -1]], [-1, 3, -1, 3]),
        ]
        rule = Rule(["A", "B", "C"], [Piece(box, i) for i, box in enumerate(boxes)], otherwise=2)
        for x, target, distance in (
            ([1, 1], "B", 1.0),
            ([1, 1], "C", 1.0),
            ([2.5, 2.5], "A", 0.5**0.5),
        ):
            found = counterfactual(rule, x, target=target)
            assert found.after == rule.predict([found.x])[0] == target
            assert found.distance == pytest.approx(distance)


class TestDomain:
    def test_of_rows(self):
        frame = pd.DataFrame({"age": [20.0, 30, 41], "bmi": [20.5, 30, 25], "x": [1, 0, 0]})
        domain = Domain.of(frame.assign(y=1 - frame["x"]), categories=[("x", "y")])
        assert domain == Domain(
            (20, 20.5, 0, 0), (41, 30, 1, 1), (True, False, True, True), ((2, 3),)
        )
        rows = np.arange(101.0)[:, None]
        assert Domain.of(rows, quantile=0.1) == Domain((10.0,), (90.0,), (True,))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"X": [[np.nan]]}, "X must be finite rows"),
            ({"X": [[1.0]], "quantile": 0.5}, "quantile must be"),
            ({"X": [[1.0]], "categories": [["red"]]}, "categories names 'red'"),
            ({"X": [[1.0, 2]], "categories": [[0, 1], [1]]}, "categories must be different"),
        ],
    )
    def test_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Domain.of(**arguments)
        with pytest.raises(ExplainError, match="domain must have 2 features; it has 1"):
            counterfactual(Polyhedron([[1, 0]], [0]), [1, 1], domain=Domain((0,), (1,), (True,)))

    def test_what_is_outside_already_may_stay(self):
        domain = Domain((0, 0), (10, 10), (True, False))
        found = counterfactual(Polyhedron([[0, 1]], [-5.0]), [3.5, 0], domain=domain)
        assert found.changes == {"x1": (0.0, pytest.approx(5))}
        found = counterfactual(Polyhedron([[1, 0]], [-5.0]), [3.5, 20], domain=domain)
        assert found.changes == {"x0": (3.5, 5.0)}
        found = counterfactual(Polyhedron([[1, 0]], [-12.0]), [3, 0], domain=domain)
        assert not found.feasible
        assert "x0 <= 10" in found.reason
        assert counterfactual(
            Polyhedron([[1, 0]], [-12.0]), [3, 0], domain=domain, bounds={0: (None, 20)}
        ).x.tolist() == [12, 0]

    def test_values_at_a_limit_are_exact(self):
        """Not 7e-16 of rain where none is the least."""
        rng = np.random.default_rng(0)
        n_limits = 0
        for _ in range(60):
            w = rng.normal(size=(1, 4))
            x = rng.uniform(0.1, 3, 4)
            P = Polyhedron(w, [-float(w[0] @ np.where(w[0] > 0, 2.9, 0.05))])
            found = counterfactual(P, x, domain=Domain((0,) * 4, (3,) * 4, (False,) * 4))
            assert found.feasible
            assert found.distance == pytest.approx(np.linalg.norm(found.x - x))
            rest = np.minimum(found.x, 3 - found.x)
            n_limits += (rest == 0).sum()
            assert ((rest == 0) | (rest > 1e-9)).all()
        assert n_limits > 10

    @pytest.mark.parametrize("most", [None, 1, 2])
    def test_as_near_as_trying_all(self, most):
        """Two numbers of few values and a category of three: 6 x 6 x 3 rows."""
        numbers = np.array(list(itertools.product(range(6), repeat=2)), float)
        rows = np.array([[*pair, *kind] for pair in numbers for kind in np.eye(3)])
        domain = Domain.of(rows, categories=[(2, 3, 4)])
        n_found = 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            W = rng.normal(size=(2, 3, 5)) * [1, 1, 3, 3, 3]
            parts = [
                Polyhedron(w, rng.uniform(0, 2, 3) - w[:, :2] @ rng.uniform(0, 5, 2)) for w in W
            ]
            rule = Rule.inside([0, 1], 1, *parts)
            if seed % 2:
                third = Polyhedron(rng.normal(size=(2, 5)), rng.uniform(-3, 3, 2))
                pieces = [Piece(p, i) for i, p in enumerate((*parts, third))]
                rule = Rule([0, 1, 2], pieces, links=LINKS)
            weights = rng.exponential(size=5) + 0.2
            x = rows[rng.integers(len(rows))]
            found = counterfactual(
                rule, x, weights=weights, domain=domain, max_changes=most, max_nodes=3000
            )
            changed = np.column_stack(
                [rows[:, 0] != x[0], rows[:, 1] != x[1], (rows[:, 2:] != x[2:]).any(axis=1)]
            )
            there = (rule.predict(rows) != rule.predict([x])[0]) & (
                changed.sum(axis=1) <= (most or 3)
            )
            best = np.sqrt((rows - x) ** 2 @ weights)[there].min(initial=np.inf)
            assert found.distance == pytest.approx(best, rel=1e-6), seed
            n_found += found.feasible
            if found.feasible:
                assert found.exact
                assert (rows == found.x).all(axis=1).any()
        assert n_found > 5

    @pytest.mark.parametrize("most", [1, 2])
    def test_few_columns_of_real_numbers(self, most):
        """Every subset by itself, all other columns frozen."""
        rng = np.random.default_rng(most)
        for _ in range(8):
            W = rng.normal(size=(4, 5))
            P = Polyhedron(W, -rng.uniform(0.1, 1, 4))
            x = rng.normal(size=5)
            found = counterfactual(P, x, max_changes=most)
            each = [
                counterfactual(P, x, frozen=[j for j in range(5) if j not in free])
                for free in itertools.combinations(range(5), most)
            ]
            best = min(one.distance for one in each)
            assert found.distance == pytest.approx(best)
            assert len(found.changes) <= most


def sets():
    """Three sets with whole numbers: two classes, three, and two with a category."""
    rng = np.random.default_rng(0)
    people = np.column_stack([rng.integers(18, 90, 900), rng.uniform(0, 10, 900).round(2)])
    sick = people @ [1, 5] > 80
    yield "people", people, np.where(sick, "sick", "well"), OnlinePolyceptron, ()
    iris = load_iris()
    # In millimetres, as whole numbers.
    yield "iris", (iris.data * 10).round(), iris.target_names[iris.target], Polyceptron, ()
    wine = load_wine()
    kinds = np.eye(3)[(wine.data[:, 0] > 12.5).astype(int) + (wine.data[:, 0] > 13.5)]
    X = np.column_stack([wine.data[:, [6, 9]], wine.data[:, 12], kinds])
    yield "wine", X, np.where(wine.target == 0, "one", "other"), OnlinePolyceptron, [(3, 4, 5)]


@pytest.mark.parametrize("name", ["people", "iris", "wine"])
def test_rows_of_three_sets_flip_and_stay_in_range(name):
    """Of values that were seen, each from a row of its own; the benchmark has more."""
    _, X, y, learner, categories = next(one for one in sets() if one[0] == name)
    scaled = {"standardize": True} if learner is OnlinePolyceptron else {}
    model = fit(quick(learner, **scaled), X, y)
    domain = Domain.of(X, categories=categories)
    rng = np.random.default_rng(1)
    n = {"people": 600, "iris": 60, "wine": 300}[name]
    rows = np.column_stack([rng.choice(column, n) for column in X.T])
    for category in map(list, categories):
        rows[:, category] = X[rng.integers(0, len(X), n)][:, category]
    whole, new, proved = np.array(domain.whole), [], []
    for x in rows:
        found = counterfactual(model, x, weights=1 / X.var(axis=0), domain=domain)
        assert found.feasible
        proved.append(found.exact)
        new.append(found.x)
    new = np.array(new)
    assert np.mean(proved) > 0.95  # the programs that may be solved for a row are counted
    assert (model.predict(new) != model.predict(rows)).all()
    assert ((X.min(axis=0) <= new) & (new <= X.max(axis=0))).all()
    assert (new[:, whole] == np.rint(new[:, whole])).all()
    assert whole.any()
    for category in map(list, categories):
        assert (np.sort(new[:, category], axis=1) == [0, 0, 1]).all()


@pytest.mark.parametrize("most", [1, 2])
def test_whole_numbers_of_wide_ranges(most):
    """Not all of them can be tried in pairs; what one column does alone is never farther."""
    n_found = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(5, 5)) / [1, 1, 10, 100, 1000]
        high = np.array([3, 5, 90, 1400, 9000.0])
        x = np.floor(rng.uniform(0, high))
        P = Polyhedron(W, rng.uniform(-0.5, 1.5, 5) - W @ x)
        domain = Domain((0.0,) * 5, tuple(high), (True,) * 5)
        weights = 1 / high**2
        found = counterfactual(
            P, x, weights=weights, domain=domain, max_changes=most, max_nodes=300
        )
        alone = np.inf
        for j, top in enumerate(high):
            rows = np.tile(x, (int(top) + 1, 1))
            rows[:, j] = np.arange(top + 1)
            there = P.contains(rows) != P.contains([x])
            far = np.sqrt((rows - x) ** 2 @ weights)
            alone = min(alone, far[there].min(initial=np.inf))
        if most == 1:
            assert found.exact
            assert found.distance == pytest.approx(alone)
        assert found.distance <= alone * (1 + 1e-6)
        n_found += found.feasible
    assert n_found > 4


def many_categories(seed):
    """A union over categories of 40, 25 and 60 values and ten numbers, with a row."""
    rng, sizes = np.random.default_rng(seed), (40, 25, 60)
    ends = np.cumsum((0, *sizes))
    groups = tuple(tuple(range(a, b)) for a, b in itertools.pairwise(ends.tolist()))
    parts = []
    for _ in range(3):
        W = np.hstack([1.5 * rng.normal(size=(4, ends[-1])), rng.normal(size=(4, 10))])
        parts.append(Polyhedron(W, rng.uniform(-1, 2, 4)))
    low, high = [0.0] * ends[-1] + [-2.0] * 10, [1.0] * ends[-1] + [2.0] * 10
    whole = [True] * ends[-1] + [False] * 10
    x = np.zeros(ends[-1] + 10)
    x[[rng.choice(group) for group in groups]] = 1
    x[-10:] = rng.uniform(-2, 2, 10)
    return Rule.inside(["o", "i"], 1, *parts), x, Domain(*map(tuple, (low, high, whole)), groups)


def with_other_kinds(x, categories, n):
    """The row with other values of so many categories, in all ways."""
    rows = []
    for chosen in itertools.combinations(categories, n):
        for kinds in itertools.product(*chosen):
            new = x.copy()
            new[[j for category in chosen for j in category]] = 0
            new[list(kinds)] = 1
            rows += [new] if all(x[kind] == 0 for kind in kinds) else []
    return np.array(rows)


def beyond_one_number(rule, rows, low, high):
    """The rows where one of the last ten numbers is just before or just beyond each face."""
    found = []
    for piece in rule.pieces:
        P = piece.polyhedron
        for k, j in itertools.product(range(P.n_faces), range(rows.shape[1] - 10, rows.shape[1])):
            end = rows[:, j] - P.margins(rows)[:, k] / P.W[k, j]
            for hair in (-1e-9, 1e-9):
                new = rows.copy()
                new[:, j] = end + hair
                found.append(new[(low <= new[:, j]) & (new[:, j] <= high)])
    return np.concatenate(found)


@pytest.mark.parametrize("most", [1, 2])
def test_few_columns_of_many_categories_are_exact(most):
    """Against all values of the categories, one number beyond each face, and pairs of numbers."""
    n_found = 0
    for seed in range(6):
        rule, x, domain = many_categories(seed)
        before = rule.predict([x])[0]
        found = counterfactual(rule, x, domain=domain, max_changes=most, max_nodes=2000)
        rows = [with_other_kinds(x, domain.categories, n) for n in range(most + 1)]
        rows += [beyond_one_number(rule, some, -2, 2) for some in rows[:most]]
        tried = np.concatenate(rows)
        best = np.linalg.norm(tried - x, axis=1)[rule.predict(tried) != before].min(initial=np.inf)
        numbers = range(len(x) - 10, len(x))
        for pair in itertools.combinations(numbers, 2) if most == 2 else ():
            held = [j for j in range(len(x)) if j not in pair]
            one = counterfactual(rule, x, frozen=held, bounds=dict.fromkeys(pair, (-2, 2)))
            best = min(best, one.distance)
        assert found.exact
        assert found.distance == pytest.approx(best, rel=1e-6), seed
        n_found += found.feasible
    assert n_found > 3


@pytest.mark.parametrize("most", [1, 2])
def test_one_column_that_is_enough_is_found_when_programs_run_out(most):
    """A relaxation moves along many categories at once, and a search may see no whole one."""
    n = 60
    weights = np.concatenate([np.linspace(-8, 8, n), np.full(20, 0.1)])
    P = Polyhedron(weights[None, :], [-5.0])
    d = len(weights)
    domain = Domain((0.0,) * d, (1.0,) * d, (True,) * n + (False,) * 20, (tuple(range(n)),))
    x = np.zeros(d)
    x[0] = 1.0
    found = counterfactual(P, x, domain=domain, max_changes=most, max_nodes=3)
    assert found.feasible
    assert found.x[:n].sum() == 1
    changed = np.flatnonzero(found.x != x)
    assert len(changed[changed >= n]) + (changed < n).any() <= most
    whole = Polyhedron([[1.0, 1.0]], [-3.0])
    seen = Domain((0.0, 0.0), (9.0, 9.0), (True, True), ())
    within = {0: (1.5, 8.5), 1: (0, 1)}
    found = counterfactual(whole, [2, 0], domain=seen, bounds=within, max_changes=most, max_nodes=1)
    assert found.feasible
    assert found.x[0] == np.floor(found.x[0])
    assert 1.5 <= found.x[0] <= 8.5

"""The benchmark of readable models: terms counted, budgets held, resumed without loss."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "readable.json"


@pytest.fixture(scope="module")
def readable(benchmark):
    return benchmark("readable")


@pytest.fixture(scope="module")
def rows():
    """Two columns of ten decide."""
    X = np.random.default_rng(0).standard_normal((300, 10))
    return X, np.where(X[:, 2] - X[:, 7] > 0, 1, -1)


def record(method, dataset, accuracy, budgets=("6", "9", "15", "30")):
    found = {"accuracy": accuracy, "inner": accuracy, "terms": 3, "seconds": 0.1, "setting": ""}
    where = {"method": method, "dataset": dataset, "split": 0, "seconds": 1.0}
    return {**where, "budgets": dict.fromkeys(budgets, found)}


def test_the_best_within_the_budget_is_chosen(readable):
    fits = [{"terms": t, "inner": s} for t, s in ((9, 95.0), (6, 90.0), (4, 90.0), (30, 97.0))]
    picked = [readable.chosen(fits, budget)["terms"] for budget in (4, 6, 9, 15, 30, None)]
    assert picked == [4, 4, 9, 9, 30, 30]


@pytest.mark.parametrize("refit", [False, True])
def test_l1_logistic_chooses_the_columns_that_decide(readable, rows, refit):
    model = readable.SparseLogistic(4.0, refit).fit(*rows)
    assert set(np.flatnonzero(model.coef_)) == {2, 7}
    assert readable.METHODS["L1-logistic"].terms(model) == 2
    assert model.score(*rows) > 0.95


@pytest.mark.parametrize("method", ["FIGS", "FasterRisk", "obliquetree"])
def test_rivals(readable, rows, method):
    pytest.importorskip(readable.METHODS[method].module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = readable.METHODS[method].models(0)[0].fit(*rows)
    assert model.score(*rows) > 0.7
    assert 1 <= readable.METHODS[method].terms(model) <= 6


def test_weights_of_an_oblique_tree_are_counted(readable):
    leaf = {"is_leaf": True}
    low = {"is_leaf": False, "is_oblique": False, "left": leaf, "right": leaf}
    top = {"is_leaf": False, "is_oblique": True, "weights": [1.0, 0.0, 2.0]}
    model = readable.ObliqueTree()
    model.coef_ = model._weights({**top, "left": low, "right": low})
    assert readable.METHODS["obliquetree"].terms(model) == 4


def test_ours_takes_part_as_soon_as_it_has_max_terms(readable, monkeypatch):
    class Capped:
        def __init__(self, *, max_terms, max_faces, **_):
            self.size = max_terms * max_faces

    monkeypatch.setattr(readable, "Polyceptron", Capped)
    sizes = [model.size for model in readable.METHODS["polyceptron"].models(0)]
    assert max(sizes) == 30
    assert sum(size <= 6 for size in sizes) >= 4


def test_ours_is_compared_on_what_all_were_measured_on(readable):
    ours = [record("polyceptron", name, a) for name, a in (("a", 90.0), ("b", 80.0))]
    theirs = [record("CART", name, a) for name, a in (("a", 89.0), ("b", 77.0), ("c", 10.0))]
    free = [record("EBM", name, 91.0, ("None",)) for name in "ab"]
    lines = readable.summarise([*ours, *theirs, *free])
    found = {(line["method"], line["budget"]): line for line in lines}
    assert len(found) == 9
    cart = found["CART", "6"]
    assert [cart[key] for key in ("accuracy", "ahead", "error", "sets")] == [83.0, 2.0, 1.0, 2]
    assert found["polyceptron", "30"]["accuracy"] == 85.0
    assert "+2.00 ± 1.00" in readable.table(lines)


def test_a_second_run_measures_only_what_is_missing(readable, tmp_path, monkeypatch, capsys):
    protocol = {**readable.PROTOCOL, "splits": 1, "folds": 2}
    monkeypatch.setattr(readable, "PROTOCOL", protocol)
    out = tmp_path / "readable.json"
    command = ["--sets", "wdbc", "--out", str(out), "--only"]
    readable.main([*command, "CART"])
    first = json.loads(out.read_text())["records"]
    capsys.readouterr()
    readable.main([*command, "CART", "L1-logistic"])
    found = json.loads(out.read_text())
    assert found["records"][:1] == first
    assert [r["method"] for r in found["records"]] == ["CART", "L1-logistic"]
    assert "CART wdbc" not in capsys.readouterr().err
    for one in found["records"]:
        tested = one["budgets"]
        assert all(tested[budget]["terms"] <= int(budget) for budget in tested)
        assert all(cell["accuracy"] > 85 for cell in tested.values())
    monkeypatch.setattr(readable, "PROTOCOL", {**protocol, "rows": 1000})
    with pytest.raises(SystemExit, match="another protocol"):
        readable.main([*command, "CART"])


def test_what_is_missing_says_how_to_install_it(readable, monkeypatch, capsys):
    monkeypatch.setattr(readable, "find_spec", lambda _: None)
    assert not readable.available("FIGS")
    assert not readable.available("FasterRisk")
    printed = capsys.readouterr().err
    assert ".[bench,readable]" in printed
    assert "fasterrisk==0.1.7" in printed


def test_the_results_hold_their_budgets(readable):
    found = json.loads(RESULTS.read_text())
    assert found["summary"] == readable.summarise(found["records"])
    for one in found["records"]:
        for budget, cell in one["budgets"].items():
            assert budget == "None" or cell["terms"] <= int(budget)

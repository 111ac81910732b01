"""The optimum of the mixed-integer program is that of branching on rows, and shares are counted."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("highspy")


@pytest.fixture
def exact(benchmark):
    return benchmark("exact")


def test_optima_agree(exact):
    found = exact.optima(seed=0, n_sets=2, n_rows=14)
    assert found["proved"] == found["agreed"] == 2


def test_what_is_not_least_is_found_out(exact):
    X = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    sign = np.array([-1.0, 1, 1, -1])
    rows = exact.SignedRows(X, sign, np.full(4, 0.25), np.zeros(1))
    least = 0.1 * 2 * 2  # |w| = 2 for gaps of 1, two faces, no mistake
    assert exact.no_less(rows, 2, 0.1, least - 1e-6)[0]
    assert not exact.no_less(rows, 2, 0.1, least + 1e-6)[0]


def test_separations(exact):
    learners = ["OC1, unpruned", "OnlinePolyceptron"]
    found = exact.separations(seed=0, n_instances=3, learners=learners)
    assert list(found["separated"]) == learners
    assert found["separated"]["OC1, unpruned"] == {"drawn": 3, "least": 3}
    assert sum(found["drawn"].values()) == sum(found["least"].values()) == 3


def test_some_learners_again(exact, tmp_path, monkeypatch):
    """The figures of the others stay."""
    path = tmp_path / "exact.json"
    kept = {"drawn": 1, "least": 1}
    first = {"instances": 2, "separated": {"PCSLP": kept, "OC1, unpruned": {"drawn": 0}}}
    path.write_text(json.dumps({"seed": 0, "separations": first}))
    monkeypatch.setattr(sys, "argv", ["exact", "--out", str(path), "--learners", "OC1, unpruned"])
    exact.main()
    found = json.loads(path.read_text())
    assert found["separations"]["separated"]["PCSLP"] == kept
    assert found["separations"]["separated"]["OC1, unpruned"] == {"drawn": 2, "least": 2}
    assert found["again"]["learners"] == ["OC1, unpruned"]

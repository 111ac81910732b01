"""The optimum of the mixed-integer program is that of branching on rows, and shares are counted."""

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


def test_separations(exact, monkeypatch):
    chosen = {name: exact.LEARNERS[name] for name in ("OC1, unpruned", "OnlinePolyceptron")}
    monkeypatch.setattr(exact, "LEARNERS", chosen)
    found = exact.separations(seed=0, n_instances=3)
    assert found["separated"]["OC1, unpruned"] == {"drawn": 3, "least": 3}
    assert sum(found["drawn"].values()) == sum(found["least"].values()) == 3

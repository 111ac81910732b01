"""The sets are what they say, and a shortfall is the mean lead of the rival that is best."""

import numpy as np
import pytest


@pytest.fixture
def shortfalls(benchmark):
    return benchmark("shortfalls")


def test_rows_of_every_kind(shortfalls):
    for draw, K in shortfalls.KINDS.values():
        X, y = draw(500, np.random.default_rng(0))
        assert X.shape[0] == len(y) == 500
        assert set(np.unique(y)) == {-1, 1}
        assert K >= 1


def test_labels_to_learn_from_are_flipped_and_fresh_ones_are_not(shortfalls, monkeypatch):
    class Model:
        def fit(self, *rows):
            seen.append(rows[1])
            return self

        def score(self, *rows):
            tested.append(rows[1])
            return 0.5

    seen, tested = [], []
    monkeypatch.setattr(shortfalls, "Polyceptron", lambda **_: Model())
    monkeypatch.setattr(shortfalls, "RIVALS", {"one": lambda *_: Model()})
    kind = "a half-space"
    assert shortfalls.accuracies(kind, 100, 0.0, 3) == [50.0, 50.0]
    assert shortfalls.accuracies(kind, 100, 0.1, 3) == [50.0, 50.0]
    assert (seen[0] != seen[2]).sum() == 10
    np.testing.assert_array_equal(tested[0], tested[2])
    np.testing.assert_array_equal(seen[2], seen[3])


def test_the_rival_is_the_best_in_the_mean(shortfalls, monkeypatch):
    """The third leads by 4 and by 2; the second by 5 and by -2."""
    draws = [[90.0, 95.0, 94.0, 0.0, 0.0], [90.0, 88.0, 92.0, 0.0, 0.0]]
    monkeypatch.setattr(shortfalls, "accuracies", lambda *cell: draws[cell[-1]])
    found = shortfalls.shortfall("a half-space", 60, 0.1, 2)
    assert (found["rival"], found["shortfall"], found["error"]) == ("BatchPolyceptron", 3.0, 1.0)
    assert shortfalls.as_line(found) == (
        " +3.00 ± 1.00  a half-space, 60 rows, 10% flipped: BatchPolyceptron 93.0, Polyceptron 90.0"
    )

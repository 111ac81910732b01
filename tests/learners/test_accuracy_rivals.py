"""The accuracies that the paper's rivals must reach on its four sets, 10-fold."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from polyceptron import OC1, PCSLP, SPLA1
from polyceptron.datasets import paper_datasets

NAMES = ["Dataset 1", "Dataset 2", "Ionosphere", "Breast-Cancer"]


def bars(*values):
    return pytest.mark.parametrize(("name", "bar"), list(zip(NAMES, values, strict=True)))


def accuracy(make, name, repetitions):
    """Mean in %; each repetition has new folds, a new seed, and a new draw of Datasets 1 and 2."""
    found = []
    for seed in range(repetitions):
        bunch = paper_datasets(random_state=seed)[name]
        X, y, right = bunch.data, bunch.target, 0
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            model = make(bunch.n_hyperplanes, seed).fit(X[train], y[train])
            right += int((model.predict(X[test]) == y[test]).sum())
        found.append(100 * right / len(y))
    return np.mean(found)


@bars(97.5, 94.0, 90.7, 96.25)
def test_spla1(name, bar):
    assert accuracy(lambda K, seed: SPLA1(K, random_state=seed), name, 2) >= bar


@bars(95.0, 89.0, 82.0, 95.0)
def test_pcslp(name, bar):
    pytest.importorskip("highspy")
    assert accuracy(lambda K, seed: PCSLP(K, random_state=seed), name, 1) >= bar


@bars(82.0, 66.0, 86.49, 95.5)
def test_oc1(name, bar):
    assert accuracy(lambda _, seed: OC1(random_state=seed), name, 1) >= bar

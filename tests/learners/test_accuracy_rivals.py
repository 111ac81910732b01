"""The accuracies that the paper's rivals must reach on its four sets, 10-fold."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from polyceptron import OC1, PCSLP, SPLA1
from polyceptron.datasets import paper_datasets

NAMES = ["Dataset 1", "Dataset 2", "Ionosphere", "Breast-Cancer"]


def bars(*values):
    return pytest.mark.parametrize(("name", "bar"), list(zip(NAMES, values, strict=True)))


def accuracy(make, name):
    """In %."""
    bunch = paper_datasets(random_state=0)[name]
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    found = cross_val_predict(make(bunch.n_hyperplanes), bunch.data, bunch.target, cv=folds)
    return 100 * np.mean(found == bunch.target)


@bars(97.5, 94.0, 90.7, 96.25)
def test_spla1(name, bar):
    assert accuracy(lambda K: SPLA1(K, random_state=0), name) >= bar


@bars(95.0, 89.0, 82.0, 95.0)
def test_pcslp(name, bar):
    pytest.importorskip("highspy")
    assert accuracy(lambda K: PCSLP(K, random_state=0), name) >= bar


@bars(82.0, 66.0, 86.49, 95.5)
def test_oc1(name, bar):
    assert accuracy(lambda _: OC1(random_state=0), name) >= bar

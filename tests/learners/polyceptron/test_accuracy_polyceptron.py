"""The accuracies that Polyceptron must reach, with K given and with nothing given."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1, make_dataset2, paper_datasets

MAKE = {"Dataset 1": (make_dataset1, 3), "Dataset 2": (make_dataset2, 4)}


@pytest.mark.parametrize("auto", [False, True], ids=["K given", "auto"])
@pytest.mark.parametrize(
    ("name", "flipped", "bar"),
    [
        ("Dataset 1", 0.0, 98.2),
        ("Dataset 2", 0.0, 95.5),
        ("Dataset 1", 0.1, 94.5),
        ("Dataset 2", 0.1, 89.0),
    ],
)
def test_fresh_rows(name, flipped, bar, auto):
    """Mean over 2 draws of 5,000 fresh rows after 1,000 to learn from."""
    make, K = MAKE[name]
    scores = []
    for seed in range(2):
        X, y = make(n_samples=6000, random_state=900 + seed, return_X_y=True)
        wrong = np.random.default_rng(seed).random(1000) < flipped
        labels = np.where(wrong, -y[:1000], y[:1000])
        model = Polyceptron("auto" if auto else K, random_state=seed).fit(X[:1000], labels)
        scores.append(100 * model.score(X[1000:], y[1000:]))
    assert np.mean(scores) >= bar


@pytest.mark.parametrize(("name", "bar"), [("Ionosphere", 91.0), ("Breast-Cancer", 96.5)])
def test_ten_folds(name, bar):
    bunch = paper_datasets()[name]
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    model = Polyceptron(random_state=0)
    assert 100 * cross_val_score(model, bunch.data, bunch.target, cv=folds).mean() >= bar

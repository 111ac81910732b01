"""The accuracies that the learners must reach on the paper's sets."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from polyceptron import BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import paper_datasets

BARS = {
    BatchPolyceptron: (96.5, 93.0, 90.0, 96.0),
    OnlinePolyceptron: (97.0, 95.0, 88.0, 96.0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("learner", "name", "bar"),
    [
        pytest.param(learner, name, bar, id=f"{learner.__name__}-{name}")
        for learner, bars in BARS.items()
        for name, bar in zip(paper_datasets(), bars, strict=True)
    ],
)
def test_bars(learner, name, bar):
    bunch = paper_datasets()[name]
    scores = []
    for seed in range(3):
        model = learner(bunch.n_hyperplanes, random_state=seed)
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        scores.append(cross_val_score(model, bunch.data, bunch.target, cv=folds).mean())
    assert 100 * np.mean(scores) >= bar

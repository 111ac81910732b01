"""The accuracies that the learners must reach on the paper's sets, 10-fold."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from polyceptron import OC1, PCSLP, SPLA1, BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import paper_datasets

BARS = {
    BatchPolyceptron: (96.5, 93.0, 90.0, 96.0),
    OnlinePolyceptron: (97.0, 95.0, 88.0, 96.0),
    SPLA1: (97.5, 94.0, 90.7, 96.25),
    PCSLP: (95.0, 89.0, 82.0, 95.0),
    OC1: (82.0, 66.0, 86.49, 95.5),
}
SEEDS = {BatchPolyceptron: 2, OnlinePolyceptron: 2}
QUICK = {PCSLP: {"n_init": 1}, OC1: {"n_restarts": 5}}


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
    if learner is PCSLP:
        pytest.importorskip("highspy")
    bunch = paper_datasets()[name]
    settings = {} if learner is OC1 else {"n_hyperplanes": bunch.n_hyperplanes}
    settings |= QUICK.get(learner, {})
    scores = []
    for seed in range(SEEDS.get(learner, 1)):
        model = learner(**settings, random_state=seed)
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        scores.append(cross_val_score(model, bunch.data, bunch.target, cv=folds).mean())
    assert 100 * np.mean(scores) >= bar

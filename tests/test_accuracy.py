"""The accuracies that the learners must reach on the paper's sets, as `make demo` shows them."""

import pytest

from polyceptron.datasets import paper_datasets
from polyceptron.demo import evaluate

BARS = {
    "Batch, our defaults": (96.5, 93.0, 90.0, 96.0),
    "Online, our defaults": (97.0, 95.0, 88.0, 96.0),
}


@pytest.mark.parametrize(
    ("method", "name", "bar"),
    [
        (method, name, bar)
        for method, bars in BARS.items()
        for name, bar in zip(paper_datasets(), bars, strict=True)
    ],
)
def test_bars(method, name, bar):
    result = evaluate(method, name, paper_datasets()[name], repetitions=3, seed=0)
    assert sum(result.accuracies) / 3 >= bar

"""The picture of what was tried with few terms."""

import pytest

from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1
from polyceptron.plots import PathDisplay


@pytest.fixture(scope="module")
def model():
    X, y = make_dataset1(random_state=0, return_X_y=True)
    return Polyceptron(max_terms=2, max_faces=2, random_state=0).fit(X[:200], y[:200])


def test_what_is_drawn_is_the_path(model):
    path, display = model.path_, PathDisplay.from_estimator(model)
    tried = display.ax_.lines[0]
    assert tried.get_xdata().tolist() == path["n_terms"]
    assert tried.get_ydata().tolist() == pytest.approx([100 * a for a in path["accuracy"]])
    front = display.line_.get_ydata().tolist()
    assert front == sorted(set(front))
    assert front[-1] == pytest.approx(100 * max(path["accuracy"]))
    (chosen,) = (i for i, one in enumerate(path["chosen"]) if one)
    bar = display.ax_.containers[0].lines[0]
    assert bar.get_xdata().tolist() == [path["n_terms"][chosen]]
    assert len(display.ax_.texts) == len(front)


def test_there_may_be_none():
    X, y = make_dataset1(random_state=0, return_X_y=True)
    dense = Polyceptron(1, random_state=0, n_init=1, max_iter=5).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="fit with max_terms"):
        PathDisplay.from_estimator(dense)

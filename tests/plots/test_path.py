"""The picture of what was tried with few terms."""

import pytest

from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1
from polyceptron.plots import PathDisplay, plot_paths


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
    places = [text.xy for text in display.ax_.texts]
    assert 0 < len(set(places)) == len(places) <= len(front)


def test_there_may_be_none():
    X, y = make_dataset1(random_state=0, return_X_y=True)
    dense = Polyceptron(1, random_state=0, n_init=1, max_iter=5).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="fit with max_terms"):
        PathDisplay.from_estimator(dense)


def test_words_are_not_upon_each_other():
    path = {"n_terms": [1, 2, 2.1, 30], "accuracy": [0.5, 0.9, 0.901, 0.95], "error": [0.01] * 4}
    path |= {"n_hyperplanes": [1, 2, 3, 4], "chosen": [False, False, False, True]}
    display = PathDisplay.from_predictions(path)
    assert sorted(text.get_text() for text in display.ax_.texts) == ["1 face", "3 faces", "4 faces"]


def test_each_class_has_its_own(model):
    path = {name: [*values, *values] for name, values in model.path_.items()}
    n = len(model.path_["chosen"])
    path["class"] = ["a$b$"] * n + ["c"] * n
    figure = plot_paths(path)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a$b$", "c"]
    assert len(plot_paths(model.path_).axes) == 1


def test_paths_of_classes_are_not_one(model, monkeypatch):
    several = {**model.path_, "class": ["c"] * len(model.path_["chosen"])}
    monkeypatch.setattr(model, "path_", several)
    with pytest.raises(ValueError, match="see plot_paths"):
        PathDisplay.from_estimator(model)

"""Probabilities from held-out scores."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split

from polyceptron import Polyceptron
from polyceptron.calibration import Calibration, Side, calibrate
from polyceptron.datasets import load_breast_cancer, load_ionosphere, make_dataset1, make_dataset2
from polyceptron.optim import lbfgs

PLANTED = Calibration(Side(3.0, 0.02), Side(1.0, 0.1))


def drawn(n=2000, by=PLANTED, seed=0):
    """Scores, and labels drawn by a known calibration."""
    rng = np.random.default_rng(seed)
    h = rng.standard_normal(n) * 2
    return h, rng.random(n) < by.probability(h)


def mean_loss(found, h, is_inside, weight=None):
    p = found.probability(h)
    return np.average(-np.log(np.where(is_inside, p, 1 - p)), weights=weight)


CASES = {
    "as drawn": drawn(),
    "one slope": drawn(by=Calibration(Side(2.0, 1e-5), Side(2.0, 1e-5))),
    "chance": (drawn()[0], np.arange(2000) % 2 == 0),
    "all right": (np.linspace(-3, 3, 100), np.linspace(-3, 3, 100) >= 0),
    "all wrong": (np.linspace(-3, 3, 100), np.linspace(-3, 3, 100) < 0),
    "nothing outside": (np.linspace(0, 3, 50), np.arange(50) % 5 > 0),
    "nothing inside": (-np.linspace(0.1, 3, 50), np.arange(50) % 5 == 0),
    "all zero": (np.zeros(20), np.arange(20) % 2 == 0),
    "large": (1e6 * drawn()[0], drawn()[1]),
    "small": (1e-6 * drawn()[0], drawn()[1]),
    "one row": (np.array([0.7]), np.array([True])),
}


@pytest.mark.parametrize("name", CASES)
def test_calibrate(name):
    h, is_inside = CASES[name]
    found = calibrate(h, is_inside, np.ones(len(h)))
    np.testing.assert_array_equal(found.probability(np.array([0.0, -0.0])), 0.5)
    p = found.probability(np.sort(np.append(h, np.linspace(-5, 5, 1001))))
    assert (np.diff(p) >= 0).all()
    assert ((p > 0) & (p < 1)).all()
    assert (found.probability(np.array([-1.0, -1e-3])) <= 0.5).all()
    assert (found.probability(np.array([1e-3, 1.0])) >= 0.5).all()
    # No worse than chance, but for the two rows that are added to each side.
    assert mean_loss(found, h, is_inside) < np.log(2) + 0.02
    # Weights are repetitions.
    weight = np.random.default_rng(0).integers(0, 4, len(h)) if len(h) > 1 else np.array([3])
    weighted = calibrate(h, is_inside, weight.astype(float))
    again = calibrate(np.repeat(h, weight), np.repeat(is_inside, weight), np.ones(weight.sum()))
    grid = np.linspace(-3, 3, 61) * np.abs(h).max()
    np.testing.assert_allclose(weighted.probability(grid), again.probability(grid), atol=1e-3)


def test_finds_what_was_planted():
    h, is_inside = drawn(50_000)
    found = calibrate(h, is_inside, np.ones(len(h)))
    grid = np.linspace(-6, 6, 121)
    np.testing.assert_allclose(found.probability(grid), PLANTED.probability(grid), atol=0.02)


def test_a_link_of_stretched_scores():
    link, h = Calibration(Side(2.0, 0.1), Side(0.5, 0.2)), np.linspace(-3, 3, 20)
    np.testing.assert_allclose(link.stretched(1.25).probability(h / 1.25), link.probability(h))


@pytest.mark.parametrize("exponent", [0, 40])
def test_of_the_largest_scores(exponent):
    far = PLANTED._replace(exponent=exponent).probability(np.array([-1.7e308, 1.7e308]))
    np.testing.assert_allclose(far, [0.02, 0.9])


@pytest.mark.parametrize("empty", ["outside", "inside"])
def test_an_empty_side_has_something_cautious_to_say(empty):
    h = np.linspace(0.1, 3, 50) * (1 if empty == "outside" else -1)
    found = calibrate(h, h > 0, np.ones(50))
    side = getattr(found, empty)
    assert 0.5 < side.right(np.array([3.0]))[0] < 0.99


def test_a_side_without_a_lapse_is_not_certain():
    h = np.linspace(-3, 3, 100)
    few, many = (calibrate(np.repeat(h, n), np.repeat(h > 0, n), np.ones(100 * n)) for n in (1, 9))
    one, other = few.probability(np.array([3.0]))[0], many.probability(np.array([3.0]))[0]
    assert 0.9 < one < other < 1


def test_slopes_are_those_of_the_value(monkeypatch):
    """The loss is an inner function: catch it on its way to the optimiser."""
    caught = []
    minimise = lbfgs.minimise
    monkeypatch.setattr(
        lbfgs, "minimise", lambda loss, *given: caught.append(loss) or minimise(loss, *given)
    )
    h, is_inside = drawn(300)
    calibrate(h, is_inside, np.random.default_rng(1).random(300))
    assert len(caught) == 6
    for loss, point in itertools.product(caught[::3], [(0.0, -3.0), (1.5, -1.0), (-2.0, 2.0)]):
        expected = approx_fprime(point, lambda at, loss=loss: loss(at)[0])
        np.testing.assert_allclose(loss(np.array(point))[1], expected, rtol=1e-4, atol=1e-6)


def flipped(X, y, share, seed=0):
    return X, np.where(np.random.default_rng(seed).random(len(y)) < share, y.min() + y.max() - y, y)


SETS = {
    "Dataset 1": (3, make_dataset1(n_samples=3000, random_state=5, return_X_y=True)),
    "Dataset 2": (4, make_dataset2(n_samples=3000, random_state=5, return_X_y=True)),
    "Dataset 1, 10% flipped": (
        3,
        flipped(*make_dataset1(n_samples=3000, random_state=5, return_X_y=True), 0.1),
    ),
    "Ionosphere": (2, load_ionosphere(return_X_y=True)),
    "Breast-Cancer": (2, load_breast_cancer(return_X_y=True)),
}


def test_no_worse_than_five_models_calibrated_by_sigmoids():
    """Mean of sets, and each but for chance: CalibratedClassifierCV averages five models."""
    losses = []
    for name, (K, (X, y)) in SETS.items():
        clean = name in ("Dataset 1", "Dataset 2")
        model = Polyceptron(
            K,
            margin=0.0 if clean else 20.0,
            penalty=None if clean else 1e-3,
            inside=None,
            n_init=3,
            max_iter=200 if clean else 50,
        )
        losses.append(np.mean([both_losses(model, X, y, seed) for seed in range(2)], axis=0))
        ours, others = losses[-1]
        assert ours[0] <= others[0] + 0.01, name
        assert ours[1] <= others[1] + 0.005, name
    ours, others = np.mean(losses, axis=0)
    assert (ours <= others).all()


def both_losses(model, X, y, seed):
    """Log-loss and Brier score on rows held out, of the model and of five calibrated ones."""
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=min(300, len(y) * 2 // 3), random_state=seed, stratify=y
    )
    model = clone(model).set_params(random_state=seed)
    other = CalibratedClassifierCV(model, cv=5, method="sigmoid").fit(train, y_train)
    both = [one.predict_proba(test)[:, 1] for one in (model.fit(train, y_train), other)]
    labels = y_test == model.classes_[1]
    return [(log_loss(labels, p), brier_score_loss(labels, p)) for p in both]

"""scikit-learn's checks of every learner; expected failures are listed one by one with a reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    DiscreteSVM,
    OnlinePolyceptron,
    Polyceptron,
    PolyhedralSVM,
)

ONLINE = (
    "an online update is step_size * weight * x: a row of weight 2 moves a hyperplane once by "
    "two steps, two equal rows move it twice, the second time only if it still counts"
)
FOLDS = f"{ONLINE}; and they fall into different folds"
LEAVES = (
    "it wants a class of hardly any weight given up, but leaves that are pure cost nothing, so "
    "the tree is right about its rows too; scikit-learn's own trees meet it only by "
    "min_weight_fraction_leaf, which the check sets for them"
)
WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
EXPECTED_FAILURES = {
    OnlinePolyceptron: dict.fromkeys(WEIGHTS, ONLINE),
    Polyceptron: dict.fromkeys(WEIGHTS, FOLDS),
    OC1: {"check_class_weight_classifiers": LEAVES},
}
LEARNERS = [
    BatchPolyceptron(n_init=1),
    OnlinePolyceptron(n_init=1),
    SPLA1(n_init=2),
    SPLA2(2, n_init=1),
    PCSLP(n_init=1),
    PolyhedralSVM(n_init=1),
    DiscreteSVM(2, n_init=1, max_nodes=0),
    OC1(n_restarts=5),
    Polyceptron(2, margin=20, penalty=None, n_init=1, max_iter=10),
]
pytestmark = [
    pytest.mark.usefixtures("_array_api"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture
def _array_api(monkeypatch):
    """Without this, scikit-learn skips its check of arrays of other namespaces."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(
    LEARNERS, expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model), {})
)
def test_checks(estimator, check):
    check(estimator)

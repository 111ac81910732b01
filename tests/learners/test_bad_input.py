"""Bad input, for every learner: an error that says what was wrong, and a model that stays."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from bad_input import (
    BAD_ROWS,
    DIFFERENT,
    X_OK,
    Y_OK,
    N,
    bad_parameters,
    changed,
    found_in,
)
from common import SETTINGS, every_learner, fit, quick, snapshot
from polyceptron import OC1, PCSLP, SPLA1, BatchPolyceptron, OnlinePolyceptron, Polyceptron

with_init = pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron, SPLA1, PCSLP])


@cache
def pickled(learner):
    return pickle.dumps(fit(quick(learner), X_OK, Y_OK))


def fitted(learner):
    return pickle.loads(pickled(learner))


@every_learner
@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows(learner, case):
    arguments, message = BAD_ROWS[case]
    expected = DIFFERENT.get((case, learner), (ValueError, message))
    arguments = {"X": X_OK, "y": Y_OK} | arguments
    if expected is None:
        assert fit(quick(learner), **arguments).predict(X_OK).shape == (N,)
        return
    error, message = expected
    model, fresh = fitted(learner), quick(learner)
    before = snapshot(model)
    for one in (model, fresh):
        with pytest.raises(error, match=message):
            one.fit(**arguments)
    assert snapshot(model) == before
    assert vars(fresh).keys() == fresh.get_params().keys()


@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        pytest.param(learner, name, value, id=f"{learner.__name__}-{name}-{number}")
        for number, (learner, name, value) in enumerate(bad_parameters())
    ],
)
def test_parameters(learner, name, value):
    model = fitted(learner).set_params(**{name: value})
    before = snapshot(model)
    with pytest.raises(ValueError, match=name) as error:
        model.fit(X_OK, Y_OK)
    assert found_in(value, str(error.value))
    assert snapshot(model) == before


@pytest.mark.parametrize("name", ["n_hyperplanes", "margin", "penalty", "inside"])
def test_what_may_be_auto_says_so(name):
    with pytest.raises(ValueError, match=rf"{name} must be (None, )?'auto' or .*'auot'"):
        Polyceptron(**{name: "auot"}).fit(X_OK, Y_OK)


@with_init
@pytest.mark.parametrize(
    "init", [[["a", 0, 0]] * 3, [[1j, 0, 0]] * 3, np.full((3, 3), 1j), [[1, 2, 3], [1], [2]]]
)
def test_init_of_no_numbers_is_named(learner, init):
    with pytest.raises(ValueError, match="init"):
        quick(learner, init=init).fit(X_OK, Y_OK)


@with_init
def test_warm_start_with_other_shapes(learner):
    model = fitted(learner).set_params(warm_start=True)
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"warm_start=True .*had \(3, 2, .*, now \(3, 1, "):
        model.fit(X_OK[:, :1], Y_OK)
    assert snapshot(model) == before
    with pytest.raises(ValueError, match=r"warm_start=True .*now \(2, 2, "):
        model.set_params(n_hyperplanes=2).fit(X_OK, Y_OK)


@with_init
def test_warm_start_with_another_class_inside(learner):
    model = fitted(learner).set_params(warm_start=True)
    with pytest.raises(ValueError, match=r"warm_start=True needs .* class inside as before"):
        model.set_params(inside=0).fit(X_OK, Y_OK)


@every_learner
@pytest.mark.parametrize("kind", ["lists", "objects", "frame", "array"])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_text_is_not_numbers(learner, kind, method):
    text = {
        "lists": X_OK.astype(str).tolist(),
        "objects": X_OK.astype(str).astype(object),
        "frame": pd.DataFrame(X_OK.astype(str)),
        "array": X_OK.astype(str),
    }[kind]
    model = fitted(learner)
    with pytest.raises(ValueError, match=r"X.* must hold real numbers; got .*OneHotEncoder"):
        model.fit(text, Y_OK) if method == "fit" else model.predict(text)


PREDICTIONS = ["predict", "decision_function", "predict_proba", "predict_log_proba", "apply"]


@pytest.mark.parametrize(
    ("learner", "method"),
    [(one, method) for one in SETTINGS for method in PREDICTIONS if hasattr(one, method)],
)
def test_prediction(learner, method):
    with pytest.raises(NotFittedError):
        getattr(quick(learner), method)(X_OK)
    predict = getattr(fitted(learner), method)
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2 features"):
        predict(X_OK[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        predict(changed(np.nan, 0, 0))
    with pytest.raises(ValueError, match="dates"):
        predict(np.full((3, 2), np.datetime64("2026-01-01")))


@every_learner
@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("kind", ["array", "CSR", "pandas", "polars"])
def test_what_is_not_finite_is_named(learner, kind, value):
    if kind == "CSR" and learner is OC1:
        pytest.skip("takes no sparse rows")
    rows, where = changed(value, 3, 1), f"row 3, column 1 is {value}"
    make = {"array": np.array, "CSR": sp.csr_matrix}.get(kind)
    if make is None:
        library, where = pytest.importorskip(kind), f"row 3, column 'body mass' is {value}"
        make = lambda X: library.DataFrame({"age": X[:, 0], "body mass": X[:, 1]})  # noqa: E731
    model = quick(learner)
    for question in (lambda: model.fit(make(rows), Y_OK), lambda: model.predict(make(rows))):
        with pytest.raises(ValueError, match=rf"X must be finite; {where}\. .*SimpleImputer"):
            question()
        fit(model, make(X_OK), Y_OK)


@every_learner
def test_interrupted_fit_changes_nothing(learner, monkeypatch):
    model = fitted(learner)
    before = snapshot(model)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    where = {
        OC1: "polyceptron.learners.oc1.growth.grow",
        Polyceptron: "polyceptron.learners.polyceptron.two_classes.needed",
    }
    monkeypatch.setattr(where.get(learner, "polyceptron.optim.solver.run"), interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X_OK * 2, 1 - Y_OK)
    assert snapshot(model) == before

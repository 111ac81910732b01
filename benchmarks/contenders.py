"""Who is measured by ``python -m benchmarks.accuracy``: a key, a model, and a grid or none.

To add one, write a function of a `Problem` that returns a `Contender`, and decorate it with
``@contender("key")``. On the command line a key may carry parameters that are set on the
model, ``polyceptron[n_init=3,margin=20.0]``, each a contender of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import polyceptron
from benchmarks.cpm import ConvexPolytopeMachine
from benchmarks.pch import ProjectionConvexHull


class Problem(NamedTuple):
    """What a contender may know before it sees rows."""

    n_features: int
    n_hyperplanes: int | None
    """The number of faces, where it is known: that of the truth, or the paper's."""
    seed: int


@dataclass(frozen=True)
class Contender:
    model: Any
    grid: dict[str, list[Any]] = field(default_factory=dict)
    """Tried by cross-validation inside the training rows; empty means nothing to tune."""


Maker = Callable[[Problem], Contender | None]
CONTENDERS: dict[str, Maker] = {}


def contender(key: str) -> Callable[[Maker], Maker]:
    """Add a contender; its function may return None where it cannot take part."""

    def add(maker: Maker) -> Maker:
        CONTENDERS[key] = maker
        return maker

    return add


def available() -> list[str]:
    """The keys that can be measured now: those of learners that exist."""
    tried = Problem(2, 2, 0)
    return [key for key, maker in CONTENDERS.items() if maker(tried) is not None]


def split_key(key: str) -> tuple[str, dict[str, Any]]:
    """Split ``name[a=1,b=x]`` into name and parameters; values are literals or words."""
    name, bracket, rest = key.partition("[")
    if name not in CONTENDERS or (bracket and not rest.endswith("]")):
        raise ValueError(f"{key}: no such method; there are {', '.join(CONTENDERS)}")
    return name, dict(_pair(part, key) for part in rest[:-1].split(",") if part)


def _pair(part: str, key: str) -> tuple[str, Any]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"{key}: parameters look like name[n_init=3,margin=20.0]")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def make(key: str, problem: Problem) -> Contender | None:
    """The contender of a key, on one thread, its parameters set and taken out of its grid."""
    name, given = split_key(key)
    made = CONTENDERS[name](problem)
    if made is None:
        return None
    own = {"n_jobs": 1} if "n_jobs" in made.model.get_params() else {}
    made.model.set_params(**own, **given)
    return Contender(made.model, {k: v for k, v in made.grid.items() if k not in given})


def _flagship(**parameters: Any) -> Contender | None:
    """Polyceptron, which may not be there yet."""
    cls = getattr(polyceptron, "Polyceptron", None)
    return None if cls is None else Contender(cls(**parameters))


@contender("polyceptron")
def _automatic(problem: Problem) -> Contender | None:
    return _flagship(random_state=problem.seed)


@contender("polyceptron-K")
def _given(problem: Problem) -> Contender | None:
    """The number of hyperplanes given; only where it is known."""
    if problem.n_hyperplanes is None:
        return None
    return _flagship(n_hyperplanes=problem.n_hyperplanes, random_state=problem.seed)


def _with_number(model: Any, problem: Problem) -> Contender:
    """The number given where it is known, else number and inside by cross-validation."""
    if problem.n_hyperplanes is not None:
        return Contender(model.set_params(n_hyperplanes=problem.n_hyperplanes))
    return Contender(model, {"n_hyperplanes": [1, 2, 4], "inside": [-1, 1]})


@contender("batch")
def _batch(problem: Problem) -> Contender:
    return _with_number(polyceptron.BatchPolyceptron(random_state=problem.seed), problem)


@contender("online")
def _online(problem: Problem) -> Contender:
    # Streams have no mean to start with, but real columns of all sizes need one.
    real = problem.n_hyperplanes is None
    model = polyceptron.OnlinePolyceptron(standardize=real, random_state=problem.seed)
    return _with_number(model, problem)


@contender("spla2")
def _spla2(problem: Problem) -> Contender:
    # As it is by default, the positive class inside: to try both takes many minutes.
    return Contender(polyceptron.SPLA2(random_state=problem.seed))


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


@contender("cpm")
def _cpm(problem: Problem) -> Contender:
    model = ConvexPolytopeMachine(random_state=problem.seed)
    strengths = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0]
    grid: dict[str, list[Any]] = {"C": strengths, "inside": [-1, 1]}
    if problem.n_hyperplanes is None:
        grid |= {"n_hyperplanes": [1, 2, 4, 8, 16], "C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    else:
        model.set_params(n_hyperplanes=problem.n_hyperplanes)
    own = {f"convexpolytopemachine__{name}": values for name, values in grid.items()}
    return Contender(_scaled(model), own)


@contender("pch")
def _pch(problem: Problem) -> Contender:
    # Its lengths are those of columns from -1 to 1.
    model = ProjectionConvexHull(random_state=problem.seed)
    grid: dict[str, list[Any]] = {"band": [0.03, 0.1, 0.3], "inside": [-1, 1]}
    if problem.n_hyperplanes is None:
        grid |= {"n_hyperplanes": [1, 2, 4, 8, 16], "band": [0.03, 0.3]}
    else:
        model.set_params(n_hyperplanes=problem.n_hyperplanes)
    own = {f"projectionconvexhull__{name}": values for name, values in grid.items()}
    return Contender(make_pipeline(MinMaxScaler((-1, 1)), model), own)


@contender("logistic")
def _logistic(_: Problem) -> Contender:
    model = _scaled(LogisticRegression(max_iter=2000))
    return Contender(model, {"logisticregression__C": [10.0**e for e in range(-3, 4)]})


@contender("linear-svc")
def _linear_svc(problem: Problem) -> Contender:
    model = _scaled(LinearSVC(max_iter=5000, random_state=problem.seed))
    return Contender(model, {"linearsvc__C": [10.0**e for e in range(-4, 3)]})


@contender("rbf-svm")
def _rbf_svm(problem: Problem) -> Contender:
    gammas = [float(g) for g in np.array([0.03, 0.1, 0.3, 1.0, 3.0]) / problem.n_features]
    grid = {"svc__C": [0.1, 0.3, 3.0, 30.0, 300.0], "svc__gamma": gammas}
    return Contender(_scaled(SVC()), grid)


@contender("mlp")
def _mlp(problem: Problem) -> Contender:
    # L-BFGS suits few rows better than Adam, and is many times faster there.
    model = MLPClassifier((10,), solver="lbfgs", max_iter=200, random_state=problem.seed)
    return Contender(_scaled(model), {"mlpclassifier__alpha": [0.01, 0.1, 1.0, 10.0, 30.0]})


@contender("hist-gb")
def _boosted_trees(problem: Problem) -> Contender:
    model = HistGradientBoostingClassifier(random_state=problem.seed)
    return Contender(model, {"max_leaf_nodes": [8, 31], "learning_rate": [0.03, 0.1]})


@contender("cart")
def _cart(problem: Problem) -> Contender:
    model = DecisionTreeClassifier(random_state=problem.seed)
    return Contender(model, {"ccp_alpha": [0.0, 0.001, 0.003, 0.01, 0.03]})

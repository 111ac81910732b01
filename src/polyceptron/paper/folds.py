"""One fold of one method on one set: what is run, and what it gave."""

from __future__ import annotations

import itertools
import time
import warnings
import zlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from polyceptron.datasets import paper_datasets
from polyceptron.paper.protocol import Protocol, load_protocol
from polyceptron.rule import as_rule


class FoldTask(NamedTuple):
    """One fit to measure."""

    dataset: str
    method: str
    repetition: int
    fold: int


class FoldResult(msgspec.Struct, frozen=True):
    """What a fit gave: of ``rows`` test rows so many are ``right``.

    Seconds are those of a processor.
    """

    dataset: str
    method: str
    repetition: int
    fold: int
    seed: int
    right: int
    rows: Annotated[int, msgspec.Meta(ge=1)]
    seconds: float
    tuning_seconds: float
    hyperplanes: int | None
    at: str = ""
    parameters: dict[str, Any] = {}

    def __post_init__(self) -> None:
        protocol = load_protocol()
        protocol.choose("datasets", [self.dataset])
        protocol.choose("methods", [self.method])

    @property
    def task(self) -> FoldTask:
        return FoldTask(self.dataset, self.method, self.repetition, self.fold)


def plan_folds(
    protocol: Protocol, datasets: list[str], methods: list[str], n: int
) -> list[FoldTask]:
    """All tasks of n repetitions: whole repetitions first, and all methods on one fold."""
    order = itertools.product(range(n), range(protocol.folds), datasets, methods)
    return [FoldTask(dataset, method, *place) for *place, dataset, method in order]


def seed_of(seed: int, *names: str | int) -> int:
    """A seed of its own for each name, the same on every machine."""
    parts = [zlib.crc32(name.encode()) if isinstance(name, str) else name for name in names]
    return int(np.random.SeedSequence([seed, *parts]).generate_state(1)[0] >> 1)


@lru_cache(maxsize=8)
def repetition_of(seed: int, dataset: str, repetition: int) -> tuple[Any, list[Any]]:
    """The set as drawn for one repetition, and its folds as (training, test) places."""
    protocol = load_protocol()
    drawn = paper_datasets(random_state=seed_of(seed, dataset, repetition, "draw"))
    bunch = drawn[protocol.datasets[dataset].title]
    shuffled = seed_of(seed, dataset, repetition, "folds")
    splitter = StratifiedKFold(protocol.folds, shuffle=True, random_state=shuffled)
    return bunch, list(splitter.split(bunch.data, bunch.target))


_warm: set[tuple[str, str]] = set()


def measure_fold(task: FoldTask, seed: int) -> FoldResult:
    """Tune on the training rows where there is a grid, fit on them, and count on the test rows."""
    protocol, own = load_protocol(), seed_of(seed, *task)
    method, dataset = protocol.methods[task.method], protocol.datasets[task.dataset]
    bunch, folds = repetition_of(seed, task.dataset, task.repetition)
    train, test = folds[task.fold]
    X, y = bunch.data, bunch.target
    model = method.build(dataset, own)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if (task.method, task.dataset) not in _warm:  # no compilation in the times
            clone(model).fit(X[train], y[train])
            _warm.add((task.method, task.dataset))
        started = time.process_time()  # whatever else the machine has to do
        chosen: dict[str, Any] = {}
        if method.grid:
            inner = StratifiedKFold(protocol.tuning_folds, shuffle=True, random_state=own)
            search = GridSearchCV(model, method.search_grid(), cv=inner, refit=False)
            chosen = search.fit(X[train], y[train]).best_params_
            model.set_params(**chosen)
        tuned = time.process_time()
        model.fit(X[train], y[train])
        fitted = time.process_time()
        right = int((model.predict(X[test]) == y[test]).sum())
    found = {name.rpartition("__")[2]: value for name, value in chosen.items()}
    return FoldResult(
        *task,
        seed=own,
        right=right,
        rows=len(test),
        seconds=fitted - tuned,
        tuning_seconds=tuned - started,
        hyperplanes=hyperplanes_of(model),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        parameters=method.given(dataset) | found,
    )


def hyperplanes_of(model: Any) -> int | None:
    """How many hyperplanes decide; None where that has no meaning, as for a kernel."""
    if isinstance(model, Pipeline):
        model = model[-1]
    if isinstance(model, DecisionTreeClassifier):
        return int(model.get_n_leaves()) - 1
    if isinstance(model, LogisticRegression):
        return len(model.coef_)
    try:
        rule = as_rule(model)
    except ValueError:
        return None
    if rule.is_partition:
        return len(rule.pieces) - 1
    return sum(piece.polyhedron.n_faces for piece in rule.pieces)

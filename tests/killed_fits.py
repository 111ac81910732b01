"""Fits that are killed: run as a program, since it forks.

``python killed_fits.py LEARNER WHERE FOLDER SEED KILLS`` kills fits at random moments and lets each
go on from its checkpoint, and prints as JSON how many were killed and whether every model that came
out is the one of a fit that was left alone, to the last bit.
"""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from polyceptron import (
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    Checkpoint,
    OnlinePolyceptron,
    Polyceptron,
    open_blocks,
)

LEARNERS = {
    "batch": lambda: BatchPolyceptron(3, max_iter=150, n_init=2, random_state=0),
    "online": lambda: OnlinePolyceptron(3, max_iter=40, n_init=2, average=True, random_state=0),
    "spla1": lambda: SPLA1(3, max_iter=20, n_init=2, tol=0, random_state=0),
    "spla2": lambda: SPLA2(max_hyperplanes=3, max_iter=6, n_init=1, tol=0, random_state=0),
    "polyceptron": lambda: Polyceptron(max_iter=30, n_init=3, random_state=0),
    "three classes": lambda: Polyceptron(1, max_iter=30, n_init=3, random_state=0),
}


def rows(n, n_classes):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 6)) * [1, 2, 3, 4, 5, 6] + 1
    score = ((X - 1) @ rng.standard_normal((3, 6)).T + 6).min(axis=1)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    wrong = rng.random(n) < 0.05
    return X, np.where(wrong, rng.integers(0, n_classes, n), y)


def fit(model, where, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if where == "memory":
            return model.fit(np.load(folder / "X.npy"), np.load(folder / "y.npy"))
        source = open_blocks(folder / "X.npy", folder / "y.npy", cache_dir=folder / "cache")
        return model.fit_blocks(source)


def outcome(model):
    """What has to be the same: hyperplanes and history."""
    parts = getattr(model, "estimators_", [model])
    history = getattr(model, "history_", {})
    arrays = [array for one in parts for array in (one.coef_, one.intercept_)]
    return [array.tolist() for array in [*arrays, *history.values()]]


def child(learner, where, folder):
    """Fit with a checkpoint in a process of its own, and return the process."""
    number = os.fork()
    if number == 0:
        model = LEARNERS[learner]()
        model.set_params(checkpoint=Checkpoint(folder / "fit.checkpoint", 0.0, 1))
        found = outcome(fit(model, where, folder))
        (folder / "found.json").write_text(json.dumps(found))
        os._exit(0)
    return number


def survives(number, seconds):
    """Whether a process ends by itself before it is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(number, os.WNOHANG)[0]:
            return True
        time.sleep(0.001)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return False


def main(learner, where, folder, seed, kills):
    folder = Path(folder)
    n = 2000 if isinstance(LEARNERS[learner](), Polyceptron) else 20_000
    X, y = rows(n, 3 if learner == "three classes" else 2)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    expected = outcome(fit(LEARNERS[learner](), where, folder))  # compiles, too
    begun = time.monotonic()
    assert outcome(fit(LEARNERS[learner](), where, folder)) == expected
    longest = max(0.1, 0.4 * (time.monotonic() - begun))
    rng, killed, equal, resumed = random.Random(int(seed)), 0, True, 0
    while killed < int(kills) and equal:
        while not survives(child(learner, where, folder), rng.uniform(0.02, longest)):
            killed += 1
            resumed += (folder / "fit.checkpoint").exists()
            longest *= 1.05  # each life must get somewhere
        equal = json.loads((folder / "found.json").read_text()) == expected
    left = (folder / "fit.checkpoint").exists()
    found = {"killed": killed, "resumed": resumed, "equal": equal, "left": left}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

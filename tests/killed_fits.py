"""Fits that are killed: run as a program, since it forks.

``python killed_fits.py FOLDER SEED KILLS LEARNER@WHERE ...`` kills fits at random moments and lets
each go on from its checkpoint, and prints as JSON how many were killed and whether every model that
came out is the one of a fit that was left alone, to the last bit.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

from polyceptron import (
    PCSLP,
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
    "spla2": lambda: SPLA2(max_hyperplanes=3, max_iter=3, n_init=1, tol=0, random_state=0),
    "pcslp": lambda: PCSLP(3, n_init=4, random_state=0),
    "polyceptron": lambda: Polyceptron(
        max_faces=8, inside=1, sampled=False, max_iter=20, n_init=2, random_state=0
    ),
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
        if where == "dask":
            return fit_on_cluster(model, folder)
        source = open_blocks(folder / "X.npy", folder / "y.npy", cache_dir=folder / "cache")
        return model.fit_blocks(source)


def fit_on_cluster(model, folder):
    import dask.array as da

    from distributed import Client

    X, y = (da.from_array(np.load(folder / f"{name}.npy"), chunks=-1) for name in "Xy")
    with Client((folder / "address").read_text()):
        return model.fit(X, y)


def start_cluster(folder):
    """A worker in a process of its own, which outlives those killed; the rows are one chunk.

    What its clients need is imported here, once for all that are forked.
    """
    import_module("dask.array")
    import_module("distributed")
    code = (
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False,\n"
        "                      dashboard_address=None, protocol='tcp',\n"
        "                      host='127.0.0.1') as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        input()\n"
    )
    (folder / "cluster.py").write_text(code)
    cluster = subprocess.Popen(
        [sys.executable, folder / "cluster.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    (folder / "address").write_text(cluster.stdout.readline().strip())
    return cluster


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


def kill_fits(learner, where, folder, seed, kills):
    folder.mkdir()
    small = {"spla1": 1000, "spla2": 300, "pcslp": 200, "polyceptron": 300, "three classes": 300}
    n = small.get(learner, 5000)
    X, y = rows(n, 3 if learner == "three classes" else 2)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    cluster = start_cluster(folder) if where == "dask" else None
    # What is left alone compiles, too; on a cluster threads would not outlive the fork.
    expected = outcome(fit(LEARNERS[learner](), "memory" if cluster else where, folder))
    begun = time.monotonic()
    if cluster is None:
        assert outcome(fit(LEARNERS[learner](), where, folder)) == expected
    elif not survives(child(learner, where, folder), 100):
        raise TimeoutError
    longest = max(0.1, 0.4 * (time.monotonic() - begun))
    rng, killed, equal, resumed = random.Random(int(seed)), 0, True, 0
    while (killed < int(kills) or not resumed) and equal:
        while not survives(child(learner, where, folder), rng.uniform(0.02, longest)):
            killed += 1
            resumed += (folder / "fit.checkpoint").exists()
            longest *= 1.2  # each life must get somewhere
        equal = json.loads((folder / "found.json").read_text()) == expected
    if cluster is not None:
        cluster.communicate("\n")
    left = (folder / "fit.checkpoint").exists()
    return {"killed": killed, "resumed": resumed, "equal": equal, "left": left}


def main(folder, seed, kills, *asked):
    os.fsync = lambda _: None  # a kill is no power cut
    found = {one: kill_fits(*one.split("@"), Path(folder) / one, seed, kills) for one in asked}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

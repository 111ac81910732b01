"""Golden answers: what every learner answers today, to be found again to the last bit.

``python tests/golden/record.py`` writes answers.json beside this file. With ``--check`` it computes
all again, prints what differs and exits with 1 if anything does; ``--only PATTERN`` is for some
cases (a pattern of the shell or a part of the name), ``--tolerance 1e-9`` compares numbers rather
than bits, for other machines.
"""

import argparse
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import sys
import tempfile
import warnings
from fnmatch import fnmatch
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from llvmlite.binding import get_host_cpu_name
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import polyceptron
from polyceptron import Checkpoint, datasets, open_blocks

ANSWERS = Path(__file__).with_name("answers.json")
LISTED = 12
"""Arrays of so many numbers are written down, larger ones only summed up."""
LOOPBACK = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
FEW = {"n_hyperplanes": 3, "n_init": 1}
QUICK = {
    "BatchPolyceptron": {**FEW, "max_iter": 30},
    "OnlinePolyceptron": {**FEW, "max_iter": 30},
    "SPLA1": FEW,
    "SPLA2": {"max_hyperplanes": 3, "n_init": 1},
    "PCSLP": FEW,
    "OC1": {"n_restarts": 3},
    "Polyceptron": {
        "n_hyperplanes": 3, "margin": 20, "penalty": None, "inside": None, "n_init": 2,
        "max_iter": 30,
    },
}  # fmt: skip


# --- what a redesign may call otherwise --------------------------------------------------


def hyperplanes(model):
    """All W and all b of a model, those of several polyhedra one after the other."""
    if hasattr(model, "tree_"):
        parts = [leaf for label in model.classes_ for leaf in model.polyhedra(label)]
    elif hasattr(model, "coef_"):
        return model.coef_, model.intercept_
    else:
        parts = list(model.polyhedra_.values())
    return np.vstack([part.W for part in parts]), np.concatenate([part.b for part in parts])


# --- data --------------------------------------------------------------------------------


@cache
def rows(name):
    """Rows and labels of a set."""
    match name:
        case "dataset1":
            return datasets.make_dataset1(random_state=0, return_X_y=True)
        case "dataset2":
            return datasets.make_dataset2(random_state=0, return_X_y=True)
        case "ionosphere":
            return datasets.load_ionosphere(return_X_y=True)
        case "cancer":
            return datasets.load_breast_cancer(return_X_y=True)
        case "far":
            return far_from_zero(400)
        case "large":  # threads begin at 524,288 rows
            return far_from_zero(530_000)
        case "wide":  # Polyceptron learns from a sample where there are more than 2**24 values
            X = np.random.default_rng(0).uniform(-1, 1, (17_000, 1000))
            return X, np.where(X[:, :3].sum(axis=1) < 0.5, 1, -1)
    X, _ = far_from_zero(300)
    unit = (X - [1000, -300, 7]) / [2, 30, 0.1]
    return X, np.where(unit[:, 0] > 0.2, "b", np.where(unit[:, 1] + unit[:, 2] > 0, "c", "a"))


def far_from_zero(n):
    """A box with a corner cut off, its columns in odd units; every 25th label is wrong."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 3))
    y = np.where((np.abs(X).max(axis=1) < 0.8) & (X.sum(axis=1) < 0.7), 1, -1)
    y[::25] *= -1
    return X * [2, 30, 0.1] + [1000, -300, 7], y


def weights(n):
    """Weights of rows, some of them zero."""
    return np.arange(n) % 7 / 4


# --- ways to fit: each returns the fitted model and the rows to ask it for ----------------


def dense(model, X, y, _folder):
    return model.fit(X, y), X


def float32(model, X, y, _folder):
    X = X.astype(np.float32)
    return model.fit(X, y), X


def csr(model, X, y, _folder):
    X = sparse.csr_array(np.where(np.abs(X) < np.quantile(np.abs(X), 0.2), 0, X))
    return model.fit(X, y), X


def csr_weighted(model, X, y, _folder):
    X = sparse.csr_array(X)
    return model.fit(X, y, sample_weight=weights(len(y))), X


def weighted(model, X, y, _folder):
    return model.fit(X, y, sample_weight=weights(len(y))), X


def balanced(model, X, y, _folder):
    return model.set_params(class_weight="balanced").fit(X, y), X


def warm(model, X, y, _folder):
    return model.set_params(warm_start=True).fit(X, y).fit(X, y), X


def streamed(model, X, y, _folder):
    for batch in np.array_split(np.arange(len(y)), 7):
        model.partial_fit(X[batch], y[batch], classes=np.unique(y))
    return model, X


def streamed_weighted(model, X, y, _folder):
    for batch in np.array_split(np.arange(len(y)), 7):
        given = {"classes": np.unique(y), "sample_weight": weights(len(y))[batch]}
        model.partial_fit(X[batch], y[batch], **given)
    return model, X


def fitted_then_streamed(model, X, y, _folder):
    half = len(y) // 2
    return model.fit(X[:half], y[:half]).partial_fit(X[half:], y[half:]), X


def npy(model, X, y, folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    source = open_blocks(folder / "X.npy", folder / "y.npy", cache_dir=folder / "cache")
    return model.fit_blocks(source), X


def columns(X, y):
    return {**{f"x{j}": x for j, x in enumerate(X.T)}, "weight": weights(len(y)) + 1, "label": y}


def parquet(model, X, y, folder):
    import pyarrow as pa
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns(X, y)), folder / "rows.parquet", row_group_size=150)
    return model.fit_blocks(open_blocks(folder / "rows.parquet", "label", drop=["weight"])), X


def csv(model, X, y, folder):
    table = columns(X, y)
    lines = zip(*(values.tolist() for values in table.values()), strict=True)
    text = [",".join(table), *(",".join(map(repr, line)) for line in lines), ""]
    (folder / "rows.csv").write_text("\n".join(text))
    return model.fit_blocks(open_blocks(folder / "rows.csv", "label", weight="weight")), X


def dask(model, X, y, _folder, weight=None):
    import dask.array as da

    from distributed import Client, LocalCluster

    size = 100 if len(y) < 1000 else 65_536
    lazy = [da.from_array(array, chunks=(size, -1)[: array.ndim]) for array in (X, y)]
    if weight is not None:
        lazy.append(da.from_array(weight, chunks=size))
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **LOOPBACK) as cluster,
        Client(cluster),
    ):
        return clone(model).fit(*lazy), lazy[0]


def dask_weighted(model, X, y, folder):
    return dask(model, X, y, folder, weights(len(y)))


class Stopped(BaseException):
    """Stands for a kill."""


def resumed(model, X, y, folder, fit=dense):
    """Stop when the checkpoint is to be written for the fourth time, and fit again."""
    path = folder.resolve() / "checkpoint"
    model.set_params(checkpoint=Checkpoint(path, seconds=0.0, iterations=1))
    replace, writes = os.replace, count(1)

    def replace_or_stop(source, target, **options):
        if Path(target) == path and next(writes) == 4:  # a last word after that is allowed
            raise Stopped
        replace(source, target, **options)

    try:
        with mock.patch.object(os, "replace", replace_or_stop):
            fit(clone(model), X, y, folder)
    except Stopped:
        assert path.exists()
        return fit(model, X, y, folder)
    raise AssertionError(f"{model!r} ended before it could be stopped")


def resumed_npy(model, X, y, folder):
    return resumed(model, X, y, folder, npy)


# --- cases -------------------------------------------------------------------------------


class Case(NamedTuple):
    """A learner, given by name, its rows, the way to fit, and its parameters."""

    learner: str
    rows: str
    way: object
    parameters: dict

    def answers(self):
        # The answers of `Polyceptron` were recorded before there was rounding.
        unrounded = {"digits": None} if self.learner == "Polyceptron" else {}
        given = {"random_state": 0} | unrounded | self.parameters
        model = getattr(polyceptron, self.learner)(**given)
        with (
            warnings.catch_warnings(),
            threadpool_limits(1, "blas"),  # by more threads the last bits of large sums differ
            tempfile.TemporaryDirectory() as folder,
        ):
            warnings.simplefilter("ignore")
            return answers(*self.way(model, *rows(self.rows), Path(folder)))


CASES = {}


def add(learner, name, way=dense, quick=True, **parameters):
    said = ",".join(f"{key}={value}" for key, value in parameters.items()) if quick else "defaults"
    parameters = (QUICK[learner] if quick else {}) | parameters
    title = "/".join([learner, name, way.__name__, *([said] if said else [])])
    CASES[title] = Case(learner, name, way, parameters)


for learner in QUICK:
    for name in ("dataset1", "dataset2", "ionosphere", "cancer", "far"):
        add(learner, name)
    for way in (float32, weighted, balanced):
        add(learner, "far", way)
    add(learner, "cancer", float32)
    add(learner, "far", quick=False)
    if learner != "OC1":
        for name in ("far", "ionosphere"):
            add(learner, name, csr)
        add(learner, "far", csr_weighted)
        if learner != "Polyceptron":
            if learner != "SPLA2":
                add(learner, "far", warm)
            if learner != "PCSLP":
                add(learner, "far", resumed)
            if learner != "OnlinePolyceptron":
                add(learner, "far", standardize=False)
            add(learner, "far", inside=-1)
for learner in ("BatchPolyceptron", "OnlinePolyceptron", "SPLA1", "Polyceptron"):
    for way in (npy, parquet, csv):
        add(learner, "far", way)
for learner in ("BatchPolyceptron", "SPLA1"):
    for way in (dask, dask_weighted):
        add(learner, "far", way)
    add(learner, "large", dask, max_iter=5)
# Answers of one thread, and of a fit that nobody stopped, were the same: these stand for both.
for learner in ("BatchPolyceptron", "OnlinePolyceptron", "SPLA1"):
    add(learner, "large", max_iter=5, n_jobs=2)
    add(learner, "large", resumed_npy, max_iter=5)
add("Polyceptron", "large", n_jobs=2)
add("SPLA2", "large", max_hyperplanes=2, max_iter=2, n_jobs=2)
add("Polyceptron", "large", penalty=0.01)
for penalty in (None, 0.01):
    few = {"n_hyperplanes": 1, "n_init": 1, "max_iter": 3, "margin": 0}
    add("Polyceptron", "wide", npy, penalty=penalty, **few)
for learner in ("OC1", "Polyceptron"):
    for way in (dense, weighted, balanced):
        add(learner, "three", way)
    add(learner, "three", quick=False)
add("BatchPolyceptron", "far", tol=50, margin=0, step_size=0.1, standardize=False)
add("BatchPolyceptron", "far", inner_steps=2, average=False)
add("OnlinePolyceptron", "far", shuffle=False)
add("OnlinePolyceptron", "far", average=True, margin=1.0)
for way in (streamed, streamed_weighted, fitted_then_streamed):
    add("OnlinePolyceptron", "far", way)
    add("OnlinePolyceptron", "far", way, average=True, standardize=True)
add("PCSLP", "far", resumed, n_init=5)
add("OC1", "far", criterion="gini", order="best")
add("OC1", "far", criterion="entropy", order="random", prune_share=0)
for way in (dense, resumed, npy):
    add("Polyceptron", "far", way, margin="auto", penalty="auto")
add("Polyceptron", "far", penalty=0.01, sampled=True)
add("Polyceptron", "far", csr, n_hyperplanes="auto", inside="auto")
add("Polyceptron", "three", resumed)


# --- answers -----------------------------------------------------------------------------


def answers(model, X):
    """Digest and summary of all that a model is and says, by name."""
    W, b = hyperplanes(model)
    found = {"W": numbers(W), "b": numbers(b), "classes": labels(model.classes_)}
    if hasattr(model, "n_iter_"):
        found["n_iter"] = labels([model.n_iter_])
    for name, values in getattr(model, "history_", {}).items():
        found[f"history {name}"] = numbers(values)
    for name, values in getattr(model, "selection_", {}).items():
        kind = numbers if name == "accuracy" else labels
        found[f"selection {name}"] = kind(values)
    found["predict"] = labels(model.predict(X))
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            found[method] = numbers(getattr(model, method)(X))
    return found


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def numbers(values):
    values = np.asarray(values)
    flat = np.ravel(values).astype(float)
    if len(flat) > LISTED:
        size = np.abs(flat)
        flat = np.array([flat.sum(), size.sum(), size @ size, flat[0], flat[-1]])
    return {
        "digest": digest(values.tobytes()),
        "shape": values.shape,
        "values": [float(f"{value:.12g}") for value in flat],
    }


def labels(values):
    values = list(map(str, np.asarray(values).tolist()))
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    return {"digest": digest(repr(values).encode()), "counts": counts}


def differences(expected, found, tolerance=None):
    """Names of what is not the same, and by how much; without a tolerance every bit counts."""
    for name in sorted(expected.keys() | found.keys()):
        before, now = expected.get(name), found.get(name)
        if before != now:
            gap = relative(before, now)
            if tolerance is None or not gap <= tolerance:
                yield name, gap


def relative(before, now):
    """The greatest relative difference of numbers; those near zero are held against the others."""
    if before is None or now is None or before.get("shape") != now.get("shape", ""):
        return math.inf
    one, other = np.array(before["values"]), np.array(now["values"])
    size = np.maximum(np.abs(one), np.abs(other))
    floor = max(1e-3 * size.max(initial=0.0), sys.float_info.min)
    return float((np.abs(one - other) / np.maximum(size, floor)).max(initial=0.0))


# --- the file ----------------------------------------------------------------------------


def machine():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = {
        name: importlib.metadata.version(name)
        for name in ("numpy", "scipy", "numba", "scikit-learn", "dask", "pyarrow")
    }
    # A name such as "AMD EPYC" is that of several generations, with and without AVX-512.
    cpu = f"{models[0] if models else platform.processor()} ({get_host_cpu_name()})"
    return {"cpu": cpu, "python": platform.python_version(), **versions}


def recorded():
    return json.loads(ANSWERS.read_text())["cases"]


def is_same_machine():
    """Whether answers.json was recorded on such a machine, with these versions."""
    return json.loads(ANSWERS.read_text())["machine"] == machine()


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def write(cases):
    lines = ",\n".join(f"{as_json(name)}:{as_json(cases[name])}" for name in sorted(cases))
    ANSWERS.write_text(f'{{"machine":{as_json(machine())},\n"cases":{{\n{lines}\n}}}}\n')


def check(names, tolerance):
    """Print what differs; whether nothing does."""
    expected, same = recorded(), True
    if not tolerance and not is_same_machine():
        sys.stdout.write("recorded on another machine, or with other versions\n")
    for name in names:
        found = json.loads(as_json(CASES[name].answers()))
        for quantity, gap in differences(expected.get(name, {}), found, tolerance):
            sys.stdout.write(f"{name}: {quantity} differs, by {gap:.2g}\n")
            same = False
    for name in expected.keys() - CASES.keys():
        sys.stdout.write(f"{name}: is recorded, but no case\n")
        same = False
    sys.stdout.write(f"{len(names)} cases, {'all the same' if same else 'not the same'}\n")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--tolerance", type=float)
    given = parser.parse_args()
    names = [name for name in CASES if given.only in name or fnmatch(name, given.only)]
    if given.check:
        sys.exit(not check(names, given.tolerance))
    kept = recorded() if given.only else {}
    write(kept | {name: CASES[name].answers() for name in names})


if __name__ == "__main__":
    main()

"""Measure what a Dask cluster costs an iteration, and what it gains.

    python -m benchmarks.dask_overhead [--partitions 8 64] [--iterations 60] [--most-workers 16]

Workers are processes of one thread on this machine. Medians in milliseconds go to
``docs/results/scale.json``; for each number of partitions:

- overhead: one step of BatchPolyceptron on the partitions, in memory with two threads and on two
  workers, in turns; both plain and with the pruning that rows in memory have by default;
- dask-glm: loss and gradient of its logistic regression (K = 1) as its L-BFGS
  asks for them, and a step of its gradient descent, on the same rows and workers;
- scaling: all partitions on one worker and on two (strong), half of them on one (weak);

and once:

- latency: a step on next to no rows, by the number of workers, and the processor time that client
  and scheduler, one process here, take for it;
- travels: what a step sends to a worker, and what the sums of one block are: bytes, and
  microseconds to read and add them.
"""

import argparse
import contextlib
import json
import logging
import statistics
import time
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path

import dask.array as da
import numpy as np
from distributed.protocol import pickle

from benchmarks.report import environment
from distributed import Client, LocalCluster
from polyceptron import BatchPolyceptron
from polyceptron.data.blocks import ordered_sum
from polyceptron.data.scaling import Coordinates
from polyceptron.data.source import ArraySource, View
from polyceptron.data.training import TrainingData
from polyceptron.distributed import source_of
from polyceptron.optim.criterion import gradient_of
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.utils.atomic import write_text

ROWS, COLUMNS, K = 65_536, 20, 3


def rows_of(number, rows=ROWS):
    """Rows of one partition and their labels, of which one in fifty is wrong."""
    random = np.random.default_rng(number)
    X = random.normal(size=(rows, COLUMNS))
    W = np.random.default_rng(1).normal(size=(K, COLUMNS)) / np.sqrt(COLUMNS)
    inside = (X @ W.T + 1 >= 0).all(axis=1)
    return X, np.where(random.random(rows) < 0.02, ~inside, inside).astype(np.int64)


def lazy_rows(n_partitions, rows=ROWS):
    numbers = da.arange(n_partitions, chunks=1)
    X = numbers.map_blocks(
        lambda number: rows_of(int(number[0]), rows)[0],
        chunks=((rows,) * n_partitions, (COLUMNS,)),
        new_axis=1,
        dtype=float,
        meta=np.empty((0, COLUMNS)),
    )
    y = numbers.map_blocks(
        lambda number: rows_of(int(number[0]), rows)[1],
        chunks=((rows,) * n_partitions,),
        dtype=np.int64,
        meta=np.empty(0, np.int64),
    )
    return X, y


@contextlib.contextmanager
def cluster_of(n_workers):
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(n_workers)
        yield client


def learner(prune, n_jobs=2):
    return BatchPolyceptron(K, random_state=0, prune=prune, n_jobs=n_jobs)


def stepper(source, model):
    """A function that takes one step from where the last one ended."""
    training = TrainingData.of(source, **model._training_options(source))
    state = [model._start(training, 0)]

    def step():
        state[0] = model._step(training.data, state[0]).following

    return step


def medians(sides, rounds):
    """Milliseconds of each side, in turns, after five rounds that do not count."""
    found = {name: [] for name in sides}
    for number in range(rounds + 5):
        for name, side in sides.items():
            begun = time.perf_counter()
            side()
            if number >= 5:
                found[name].append(1e3 * (time.perf_counter() - begun))
    return {name: round(statistics.median(times), 2) for name, times in found.items()}


def on_dask(client, n_partitions, rows=ROWS):
    source = source_of(*lazy_rows(n_partitions, rows), client=client)
    return stepper(source, learner(prune=False))


def overhead(client, n_partitions, rounds):
    sides = {
        "two workers": on_dask(client, n_partitions),
        "in memory": in_memory(n_partitions),
        "in memory, pruned": in_memory(n_partitions, "auto"),
    }
    found = medians(sides, rounds)
    found["above in memory"] = round(found["two workers"] - found["in memory"], 2)
    found["above pruned"] = round(found["two workers"] - found["in memory, pruned"], 2)
    return found


def rival(client, n_partitions, rounds):
    """The steps of dask-glm on the same rows and workers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dask_glm.algorithms import gradient_descent
        from dask_glm.families import Logistic
        from dask_glm.utils import scatter_array

    X, y = client.persist(lazy_rows(n_partitions))
    beta = np.full(COLUMNS, 0.01)

    def loss_and_gradient():
        there = scatter_array(beta, client)
        return da.compute(
            Logistic.pointwise_loss(there, X, y), Logistic.pointwise_gradient(there, X, y)
        )

    ours = on_dask(client, n_partitions)
    sides = {"ours": ours, "dask-glm, loss and gradient": loss_and_gradient}
    found = medians(sides, max(10, rounds // 3))
    n = 10
    descents = medians({"": partial(gradient_descent, X, y, max_iter=n, tol=0.0)}, 1)[""] / n
    found["dask-glm, step of gradient descent"] = round(descents, 2)
    for name in [name for name in found if name != "ours"]:
        found[f"{name} ÷ ours"] = round(found[name] / found["ours"], 1)
    return found


def in_memory(n_partitions, prune=False, n_jobs=2):
    parts = [rows_of(number) for number in range(n_partitions)]
    X, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return stepper(ArraySource(X, y), learner(prune, n_jobs))


def scaling(n_partitions, rounds):
    """One worker and two, in turns: the workers of the other cluster are idle meanwhile.

    Threads in memory show what the machine has to give.
    """
    with cluster_of(1) as one, cluster_of(2) as two:
        sides = {
            "1 worker, half of the rows": on_dask(one, n_partitions // 2),
            "1 worker": on_dask(one, n_partitions),
            "2 workers": on_dask(two, n_partitions),
            "in memory, 1 thread": in_memory(n_partitions, n_jobs=1),
            "in memory, 2 threads": in_memory(n_partitions),
        }
        found = medians(sides, rounds)
    half, alone, both, thread, threads = found.values()
    return found | {
        "strong: speedup": round(alone / both, 2),
        "weak: efficiency": round(half / both, 2),
        "in memory: speedup": round(thread / threads, 2),
    }


def latencies(most, rounds):
    """A step on next to no rows: its time, and the processor time of client and scheduler."""
    found, n = {}, 1
    while n <= most:
        with cluster_of(n) as client:
            step = on_dask(client, n, rows=64)
            begun = time.process_time()
            taken = medians({"": step}, rounds)[""]
            busy = 1e3 * (time.process_time() - begun) / (rounds + 5)
        found[n] = {"step": taken, "processor": round(busy, 2)}
        n *= 2
    return found


def adding(n=10_000):
    """What travels, and what it takes to add it up."""
    parts = [Gradient(np.ones((K, COLUMNS)), np.ones(K), np.ones(4)) for _ in range(n)]
    message = pickle.dumps(list(enumerate(parts)))
    begun = time.perf_counter()
    ordered_sum(pickle.loads(message))
    found = {
        "microseconds a block": round(1e6 * (time.perf_counter() - begun) / n, 1),
        "bytes a block": round(len(message) / n),
    }
    view = View(Coordinates(np.ones(COLUMNS), np.ones(COLUMNS)), 1)
    planes = Planes.of(np.ones((K, COLUMNS)), np.ones(K))
    sent = pickle.dumps((pickle.dumps(view), partial(gradient_of, planes, 1.0, COLUMNS)))
    return found | {"bytes to a worker": len(sent)}


def with_partitions(n, rounds):
    """What depends on the number of partitions."""
    with cluster_of(2) as client:
        found = {"overhead": overhead(client, n, rounds), "dask-glm": rival(client, n, rounds)}
    found["scaling"] = scaling(n, rounds)
    print(n, json.dumps(found, ensure_ascii=False), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--most-workers", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("docs/results/scale.json"))
    options = parser.parse_args()
    if options.most_workers < 2:
        parser.error("what a worker adds takes two of them: --most-workers 2")
    rounds = options.iterations
    found = {
        "environment": environment() | {name: version(name) for name in ("dask", "dask-glm")},
        "rows": ROWS, "columns": COLUMNS, "hyperplanes": K, "rounds": rounds,
        "partitions": {str(n): with_partitions(n, rounds) for n in options.partitions},
        "latency": latencies(options.most_workers, rounds),
        "travels": adding(),
    }  # fmt: skip
    write_text(options.out, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

"""Learning on a Dask cluster: the same bits wherever the rows are, and whatever is lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest
from scipy import sparse
from sklearn.base import clone

from distributed import Client, LocalCluster
from polyceptron import SPLA1, SPLA2, BatchPolyceptron, Checkpoint, OnlinePolyceptron, Polyceptron
from polyceptron.data.scaling import Coordinates, identity
from polyceptron.data.source import ArraySource, SourceError, View
from polyceptron.datasets import make_polyhedron
from polyceptron.distributed import ClusterError, _partitions, lazy, source_of
from polyceptron.optim import criterion, solver
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Piece, Rule

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # What sockets and processes of Dask leave to the collector is not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LOOPBACK = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
BLOCK = 65_536
QUICK = {"random_state": 0, "n_init": 1, "max_iter": 6}
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
"""A cluster that does not watch itself fifty times a second while it waits for the tests."""


@pytest.fixture(scope="module")
def two():
    """A client of two workers in this process, to which all goes over sockets nevertheless.

    Workers in processes of their own are those of the tests about their loss, and of the default.
    """
    with (
        dask.config.set(UNWATCHED),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **LOOPBACK) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def one():
    """A client of one worker with two threads, in this process."""
    with (
        dask.config.set(UNWATCHED),
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **LOOPBACK) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def workers_without_nanny(n):
    """A client, and the processes of its workers, which nobody starts again."""
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(n_workers=0, processes=False, **LOOPBACK))
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        processes = []
        for _ in range(n):
            process = subprocess.Popen(
                [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
        client = stack.enter_context(Client(cluster, set_as_default=False))
        client.wait_for_workers(n, timeout=60)
        yield client, processes


def noisy(n, d=3, seed=0):
    """Rows of a polyhedron in odd units, some labels wrong, and weights."""
    X, y, _ = make_polyhedron(2000, d, 3, random_state=seed)
    random = np.random.default_rng(seed)
    at = random.integers(0, len(X), n)
    X, y = X[at] + random.normal(0, 0.05, (n, d)), y[at]
    y = np.where(random.random(n) < 0.02, -y, y)
    return X * np.linspace(1, 50, d) + 7, y, random.uniform(0.5, 2, n)


def chunked(array, rows):
    return da.from_array(array, chunks=(rows, -1) if array.ndim == 2 else rows)


def same(a, b):
    assert np.array_equal(a.coef_, b.coef_)
    assert np.array_equal(a.intercept_, b.intercept_)
    assert a.history_.keys() == b.history_.keys()
    for name in a.history_:
        assert np.array_equal(a.history_[name], b.history_[name]), name


# --- the same bits -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    return noisy(2 * BLOCK + 1000)


@pytest.mark.parametrize(
    ("model", "weighted"),
    [
        (BatchPolyceptron(**QUICK), False),
        (BatchPolyceptron(**QUICK, inner_steps=2, standardize=False, tol=1.0), True),
        (BatchPolyceptron(**QUICK, class_weight="balanced", inside=-1), True),
        (SPLA1(**QUICK, class_weight={1: 2.0}), True),
        (OnlinePolyceptron(random_state=0, n_init=1, max_iter=2), False),
    ],
)
def test_dask_and_memory_give_the_same_bits(large, one, two, model, weighted):
    X, y, weight = large
    weight = weight if weighted else None
    in_memory = clone(model).fit(X, y, sample_weight=weight)
    same(in_memory, clone(model).fit_blocks(ArraySource(X, y, weight)))
    rows = [None if array is None else chunked(array, BLOCK) for array in (X, y, weight)]
    with two.as_current():
        same(in_memory, clone(model).fit(*rows))
    with source_of(*rows, client=one) as source:
        same(in_memory, clone(model).fit_blocks(source))


def test_the_flagship_learns_from_partitions_of_odd_sizes(one):
    X, y, weight = noisy(300)
    model = Polyceptron(3, margin=20, penalty=None, inside=None, n_init=2, max_iter=30)
    model.set_params(random_state=0, standardize=False)  # means depend on the blocks
    sizes = ((37, 101, 0, 162),)
    rows = (
        da.from_array(X, chunks=(*sizes, 3)),
        *(da.from_array(column, chunks=sizes) for column in (y, weight)),
    )
    with one.as_current():
        found = clone(model).fit(*rows)
        share = found.predict_proba(rows[0])
        assert share.chunks == ((37, 101, 0, 162), (2,))
        in_memory = model.fit(X, y, weight)
        assert np.array_equal(share.compute(), in_memory.predict_proba(X))
    assert np.array_equal(found.coef_, in_memory.coef_)


def test_runs_of_blocks_are_summed_on_workers(one, two):
    X, y, weight = noisy(40 * 100 - 7)
    model = BatchPolyceptron(**QUICK)
    expected = clone(model).fit_blocks(ArraySource(X, y, weight, block_rows=40))
    for client in (one, two):
        with source_of(*(chunked(array, 40) for array in (X, y, weight)), client=client) as rows:
            assert len(rows.starts) == 100
            same(expected, clone(model).fit_blocks(rows))


def test_neighbours_share_a_worker_and_persisted_rows_stay_where_they_are(two):
    X, y, _ = noisy(300)
    rows, labels, workers = chunked(X, 30), chunked(y, 30), list(two.nthreads())
    with source_of(rows, labels, client=two) as source:
        assert source._holder.tolist() == [0] * 5 + [1] * 5
    kept = [
        da.concatenate([two.persist(whole.blocks[i], workers=[workers[i % 2]]) for i in range(10)])
        for whole in (rows, labels)
    ]
    with source_of(*kept, client=two) as source:
        assert source._holder.tolist() == [0, 1] * 5
        same(
            BatchPolyceptron(**QUICK).fit_blocks(source),
            BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=30)),
        )


def test_rows_without_room_are_seen_anew_each_time(one, monkeypatch):
    X, y, _ = noisy(300)
    expected = BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=30))
    monkeypatch.setattr(_partitions, "_bytes_for_rows", lambda: 2 * 30 * 3 * 8)
    with source_of(chunked(X, 30), chunked(y, 30), client=one) as rows:
        same(BatchPolyceptron(**QUICK).fit_blocks(rows), expected)


def test_a_row_of_no_weight_is_no_row(one):
    X, y, weight = noisy(300)
    weight[::3] = 0
    kept = weight > 0
    with source_of(chunked(X, 30), chunked(y, 30), chunked(weight, 30), client=one) as rows:
        expected = ArraySource(X[kept], y[kept], weight[kept], block_rows=20)
        same(
            BatchPolyceptron(**QUICK).fit_blocks(rows),
            BatchPolyceptron(**QUICK).fit_blocks(expected),
        )


def test_blocks_and_rows_can_be_had(two):
    X, y, weight = noisy(100)
    edges = (40, 0, 35, 25)
    chunks = da.from_array(X, chunks=(edges, 3)), da.from_array(y, chunks=(edges,))
    view = View(Coordinates(np.full(3, 2.0), np.ones(3)), 1)
    with source_of(*chunks, da.from_array(weight, chunks=(edges,)), client=two) as rows:
        assert rows.starts.tolist() == [0, 40, 75]
        assert rows.where(1, 3) == "partition 2, row 3"
        taken = rows.take(np.array([1, 39, 40, 99]))
        assert np.array_equal(taken.X, X[[1, 39, 40, 99]])
        assert np.array_equal(rows.classes[taken.codes], y[[1, 39, 40, 99]])
        assert np.array_equal(taken.weight, weight[[1, 39, 40, 99]])
        blocks = list(rows.blocks(view))
    assert [block.number for block in blocks] == [0, 1, 2]
    assert np.array_equal(np.vstack([block.X for block in blocks]), X * 2 + 1)
    assert np.array_equal(np.concatenate([block.y for block in blocks]), np.sign(y))


# --- frames, predictions, estimators -------------------------------------------------------


def test_frames_keep_names_and_index(two):
    X, y, weight = noisy(600)
    names = ["age", "dose", "mass"]
    frame = pd.DataFrame(X, columns=names, index=np.arange(600) * 2)
    frame["label"], frame["w"] = np.where(y > 0, "ill", "well"), weight
    table = dd.from_pandas(frame, npartitions=4)
    with two.as_current():
        model = SPLA1(**QUICK, inside="ill").fit(table[names], table["label"], table["w"])
        assert model.feature_names_in_.tolist() == names
        assert model.polyhedron_.feature_names == tuple(names)
        answers = (
            getattr(model, method)(table[names])
            for method in ("predict", "decision_function", "predict_proba")
        )
        labels, score, share = dask.compute(*answers)
    eager = pd.Series(model.predict(frame[names]), index=frame.index)
    pd.testing.assert_series_equal(labels, eager, check_dtype=False)
    assert np.array_equal(score, model.decision_function(frame[names]))
    assert share.columns.tolist() == ["ill", "well"]
    assert np.array_equal(share, model.predict_proba(frame[names]))
    assert share.index.equals(frame.index)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["age", "w", "mass"]])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, used by Dask's reader
def test_files_are_read_partition_by_partition(one, tmp_path):
    X, y, _ = noisy(600)
    columns = {name: X[:, j % 3] for j, name in enumerate("abcdefgh")} | {"label": y}
    for number in range(6):
        part = pd.DataFrame(columns)[number * 100 : (number + 1) * 100]
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    with one.as_current():
        table = dd.read_parquet(tmp_path)
        model = BatchPolyceptron(**QUICK).fit(table[["a", "b", "c"]], table["label"])
    same(model, BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=100)))


def test_lazy_predictions_of_arrays_equal_eager_ones():
    X, y, _ = noisy(500)
    rows = da.from_array(X, chunks=(130, 2))  # columns in two chunks
    model = SPLA1(**QUICK).fit(X, y)
    boxes = [Piece(Polyhedron(np.eye(3)[:1], [-10.0 * place]), place) for place in range(3)]
    three = Rule(["a", "b", "c"], boxes)
    asked = [getattr(model, f"predict{of}") for of in ("", "_proba", "_log_proba")]
    for method in (*asked, model.decision_function, three.predict, three.decision_function):
        found, expected = lazy(method, rows), method(X)
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.chunks[0] == rows.chunks[0]
        assert np.array_equal(found.compute(scheduler="sync"), expected)
    assert isinstance(model.predict(rows), da.Array)


def test_wrong_columns_are_refused_at_once():
    X, y, _ = noisy(100)
    model = BatchPolyceptron(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        model.predict(chunked(X[:, :2], 50))
    with pytest.raises(ValueError, match="X must be a 2-D Dask array"):
        model.predict(chunked(y, 50))


def test_learners_of_rows_in_memory_say_so():
    X, y, _ = noisy(100)
    with pytest.raises(TypeError, match=r"learns from rows in memory: give X.compute\(\)"):
        SPLA2().fit(chunked(X, 50), chunked(y, 50))


def test_single_precision_is_kept(one):
    X, y, _ = noisy(400)
    X = X.astype(np.float32)
    with source_of(chunked(X, 100), chunked(y, 100), client=one) as rows:
        assert rows.take(np.arange(3)).X.dtype == np.float32
        expected = ArraySource(X, y, block_rows=100)
        same(
            BatchPolyceptron(**QUICK).fit_blocks(rows),
            BatchPolyceptron(**QUICK).fit_blocks(expected),
        )


def test_the_package_does_not_load_dask():
    code = "import polyceptron.learners, sys; print('dask' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_without_a_client_a_cluster_is_started_on_loopback():
    X, y, _ = noisy(200)
    with source_of(chunked(X, 50), chunked(y, 50)) as rows:
        me = psutil.Process()
        sockets = [
            socket
            for process in (me, *me.children(recursive=True))
            for socket in process.net_connections("inet")
            if socket.status == psutil.CONN_LISTEN
        ]
        assert {socket.laddr.ip for socket in sockets} == {"127.0.0.1"}
        model = BatchPolyceptron(**QUICK).fit_blocks(rows)
    same(model, BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=50)))
    with pytest.raises(ClusterError, match="these rows were closed"):
        model.fit_blocks(rows)


# --- lost workers --------------------------------------------------------------------------


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def killed_in_step(monkeypatch, number, process):
    """Kill a worker in a step of the next fit, while its sum is under way."""
    steps = [0]
    plain = criterion.gradient

    def gradient(data, *arguments):
        steps[0] += 1
        if steps[0] != number:
            return plain(data, *arguments)
        timer = threading.Timer(0.15, kill, [process])
        timer.start()
        slow = SimpleNamespace(
            n_features=data.n_features, resident=False, reduce=lambda s: data.reduce(slowly(s))
        )
        try:
            return plain(slow, *arguments)
        finally:
            timer.join()

    with monkeypatch.context() as patch:
        patch.setattr(criterion, "gradient", gradient)
        yield


def slowly(statistic):
    """A statistic that takes its time. Workers cannot import this file, so it is no class."""

    def slow(block):
        time.sleep(0.1)
        return statistic(block)

    return slow


def test_lost_workers_do_not_show_and_a_fit_without_any_keeps_its_checkpoint(monkeypatch, tmp_path):
    X, y, _ = noisy(700)
    source = ArraySource(X, y, block_rows=70)
    expected = BatchPolyceptron(**QUICK).fit_blocks(source)
    checkpoint = Checkpoint(tmp_path / "fit.checkpoint", iterations=1)
    model = BatchPolyceptron(**QUICK, checkpoint=checkpoint)
    with (
        workers_without_nanny(2) as (client, processes),
        source_of(chunked(X, 70), chunked(y, 70), client=client, timeout=1.0) as rows,
    ):
        with killed_in_step(monkeypatch, 3, processes[0]):
            same(BatchPolyceptron(**QUICK).fit_blocks(rows), expected)
        assert len(client.nthreads()) == 1
        with (
            killed_in_step(monkeypatch, 4, processes[1]),
            pytest.raises(ClusterError, match="no worker is left"),
        ):
            model.fit_blocks(rows)
    assert not hasattr(model, "coef_")
    assert checkpoint.path.exists()
    steps = []
    monkeypatch.setattr(solver.PrintedProgress, "on_step", lambda *at: steps.append(at[2]))
    model.set_params(verbose=1)
    same(model.fit_blocks(source), expected)  # goes on, and in memory at that
    assert steps[0] == 4


def test_a_cluster_that_is_closed_is_said_so():
    X, y, _ = noisy(100)
    with (
        LocalCluster(n_workers=1, processes=False, **LOOPBACK) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        rows = source_of(chunked(X, 50), chunked(y, 50), client=client, timeout=1.0)
    with pytest.raises(ClusterError, match="closed"):
        BatchPolyceptron(**QUICK).fit_blocks(rows)


def test_rows_that_come_out_different_are_refused():
    X, y, _ = noisy(100)
    once = _partitions.prepare(3, X, y)
    rest = [once.facts], [9], np.unique(y)
    assert list(_partitions.cut_into_blocks([once], *rest)) == [9]
    for other in (_partitions.prepare(3, X + 1, y), _partitions.prepare(3, X, y + 1)):
        with pytest.raises(SourceError, match="partition 3 came out different"):
            _partitions.cut_into_blocks([other], *rest)


# --- misuse --------------------------------------------------------------------------------


def unknown_lengths(array):
    """The same array, of which Dask does not know how long its chunks are."""
    rows = chunked(array, 50)
    rows._chunks = ((np.nan,) * len(rows.chunks[0]), *rows.chunks[1:])
    return rows


def misused():
    X, y, weight = noisy(100)
    rows, labels = chunked(X, 50), chunked(y, 50)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    gap, inf, odd, missing = X.copy(), X.copy(), weight.copy(), y.astype(float)
    gap[77, 1], inf[3, 0], odd[60], missing[51] = np.nan, np.inf, -1, np.nan
    text = frame.assign(c="x")
    sparse_rows = rows.map_blocks(sparse.csr_matrix)
    return {
        "in memory": ((X, labels), "X must be a 2-D Dask array or a Dask DataFrame; got ndarray"),
        "labels in memory": ((rows, y), "y must be a 1-D Dask array or a Dask Series"),
        "one column": ((labels, labels), "Array of shape \\(100,\\)"),
        "labels of two columns": ((rows, rows), "y must be a 1-D"),
        "too few labels": ((rows, labels[:70]), "X has 100 rows, but y has 70"),
        "other partitions": ((frame, chunked(y, 20)), "X has 2 partitions, but y has 5"),
        "other lengths": ((frame, da.from_array(y, chunks=((40, 60),))), "partition .: X has 50"),
        "unknown lengths": (
            (unknown_lengths(X), chunked(np.tile(y, 2), 100)), "partition .: X has 50 rows"),
        "NaN": ((chunked(gap, 50), labels), "partition 1, row 27: a value that is not"),
        "infinity": ((chunked(inf, 50), labels), "partition 0, row 3: a value that is not"),
        "sparse": ((sparse_rows, labels), "partition . is sparse .*toarray"),
        "text": ((text, labels), "X, column 'c', must hold real numbers"),
        "mixed names": ((frame.rename(columns={"a": 1}), labels), "all be text, or none"),
        "weight": ((rows, labels, chunked(odd, 50)), "partition 1, row 10: a weight must be"),
        "no label": ((rows, chunked(missing, 50)), "partition 1, row 1: the label is missing"),
        "no classes": ((rows, da.random.default_rng(0).random(100, chunks=50)), "two|classes"),
        "three classes": ((rows, chunked(np.arange(100) % 3, 50)), "Only binary"),
        "no rows": ((rows[:0], labels[:0]), "no rows"),
    }  # fmt: skip


@pytest.mark.parametrize("case", misused())
def test_misuse_is_named(one, case):
    arguments, message = misused()[case]
    with pytest.raises(ValueError, match=message):
        BatchPolyceptron(**QUICK).fit_blocks(source_of(*arguments, client=one))


def test_errors_of_the_work_are_those_of_the_user(one):
    X, y, _ = noisy(100)

    def spoilt(chunk):
        raise ZeroDivisionError(f"no {len(chunk)} today")

    rows = chunked(X, 50).map_blocks(spoilt, dtype=float, meta=np.empty((0, 3)))
    with pytest.raises(ZeroDivisionError, match="no 50 today"):
        source_of(rows, chunked(y, 50), client=one)
    with source_of(chunked(X, 50), chunked(y, 50), client=one) as rows:
        statistic = lambda block: 1 / (block.number - 1)  # noqa: E731
        with pytest.raises(ZeroDivisionError):
            rows.blocks(View(identity(3), 1)).reduce(statistic)
        assert rows.blocks(View(identity(3), 1)).reduce(lambda block: block.n_samples) == 100

"""Learning on a Dask cluster: the same bits wherever the rows are, and whatever is lost."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import polyceptron
from distributed import Client, LocalCluster
from polyceptron import Checkpoint
from polyceptron.data.arrays import ArraySource
from polyceptron.data.blocks import OrderedSum
from polyceptron.data.scaling import Coordinates, identity
from polyceptron.data.source import SourceError, View
from polyceptron.datasets import make_polyhedron
from polyceptron.distributed import SPLA1, BatchPolyceptron, ClusterError, DaskBlocks
from polyceptron.distributed._cluster import shared_out
from polyceptron.distributed._keeper import Keeper, in_runs
from polyceptron.learners import _iterated
from polyceptron.optim import criterion
from polyceptron.optim.criterion import GradientOf
from polyceptron.optim.planes import Planes

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # What sockets and processes of Dask leave to the collector is not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LOOPBACK = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
BLOCK = 65_536
QUICK = {"random_state": 0, "n_init": 1, "max_iter": 6}


@pytest.fixture(scope="module")
def two():
    """A client of two worker processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **LOOPBACK) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def one():
    """A client of one worker with two threads, in this process."""
    with (
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
    ("learner", "setting", "weighted"),
    [
        (BatchPolyceptron, {}, False),
        (BatchPolyceptron, {"standardize": False, "tol": 1.0}, False),
        (BatchPolyceptron, {"inner_steps": 2}, True),
        (BatchPolyceptron, {"class_weight": "balanced", "inside": -1}, True),
        (SPLA1, {}, False),
        (SPLA1, {"class_weight": {1: 2.0}, "standardize": False}, True),
    ],
)
def test_dask_in_memory_and_source_give_the_same_bits(large, one, two, learner, setting, weighted):
    X, y, weight = large
    weight = weight if weighted else None
    model = learner(**QUICK, **setting)
    plain = getattr(polyceptron, learner.__name__)(**model.get_params())
    in_memory = clone(plain).fit(X, y, sample_weight=weight)
    same(in_memory, clone(plain).fit_blocks(ArraySource(X, y, weight)))
    lazy = [None if array is None else chunked(array, BLOCK) for array in (X, y, weight)]
    with two.as_current():
        same(in_memory, clone(model).fit(*lazy))
    with DaskBlocks(*lazy, client=one) as rows:
        same(in_memory, clone(model).fit(rows))


@pytest.mark.parametrize("n_chunks", [150, 64])
def test_runs_of_blocks_are_summed_on_workers(one, two, n_chunks):
    X, y, weight = noisy(40 * n_chunks - 7)
    model = BatchPolyceptron(**QUICK)
    expected = clone(model).fit_blocks(ArraySource(X, y, weight, block_rows=40))
    for client in (one, two):
        with DaskBlocks(chunked(X, 40), chunked(y, 40), chunked(weight, 40), client=client) as rows:
            assert len(rows.starts) == n_chunks
            same(expected, clone(model).fit(rows))


def test_persisted_rows_stay_where_they_are(two):
    X, y, _ = noisy(300)
    lazy = chunked(X, 30)
    workers = list(two.nthreads())
    pieces = [two.persist(lazy.blocks[i], workers=[workers[i % 2]]) for i in range(10)]
    spread = da.concatenate(pieces)
    (spread,) = dask.optimize(spread)
    with DaskBlocks(spread, chunked(y, 30), client=two) as rows:
        same(
            BatchPolyceptron(**QUICK).fit(rows),
            BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=30)),
        )
    kept = two.persist(lazy)
    with DaskBlocks(kept, chunked(y, 30), client=two) as rows:
        where = two.who_has(kept)
        for held in rows._cluster._held:
            for number in held.numbers:
                (key,) = {key for key in where if key[1] == number}
                assert held.address in where[key]


def known_tasks(dask_scheduler):
    return [key for key in dask_scheduler.tasks if "Keeper" not in str(key)]


def known_actors(dask_scheduler):
    return [key for key in dask_scheduler.tasks if "Keeper" in str(key)]


def soon(condition):
    """Whether something becomes true: the scheduler is told of what is let go of later."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        gc.collect()  # fits that failed live on in tracebacks
        time.sleep(0.05)
    return condition()


def test_only_the_actors_are_left_at_the_scheduler(two):
    X, y, _ = noisy(300)
    assert soon(lambda: not two.run_on_scheduler(known_tasks))
    before = set(two.run_on_scheduler(known_actors))  # of fits that nothing has collected yet

    def new_actors():
        return set(two.run_on_scheduler(known_actors)) - before

    with DaskBlocks(chunked(X, 30), chunked(y, 30), client=two):
        assert soon(lambda: not two.run_on_scheduler(known_tasks))
        assert len(new_actors()) == 2
    assert soon(lambda: not new_actors())


def test_rows_without_room_are_seen_anew_each_time(one, monkeypatch):
    X, y, _ = noisy(300)
    expected = BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=30))
    monkeypatch.setattr(Keeper, "_room", lambda self: 2 * 30 * 3 * 8)  # noqa: ARG005
    with DaskBlocks(chunked(X, 30), chunked(y, 30), client=one) as rows:
        same(BatchPolyceptron(**QUICK).fit(rows), expected)


def test_a_row_of_no_weight_is_no_row(one):
    X, y, weight = noisy(300)
    weight[::3] = 0
    kept = weight > 0
    with DaskBlocks(chunked(X, 30), chunked(y, 30), chunked(weight, 30), client=one) as rows:
        expected = ArraySource(X[kept], y[kept], weight[kept], block_rows=20)
        same(BatchPolyceptron(**QUICK).fit(rows), BatchPolyceptron(**QUICK).fit_blocks(expected))


def test_blocks_and_rows_can_be_had(two):
    X, y, weight = noisy(100)
    edges = (40, 0, 35, 25)
    lazy = da.from_array(X, chunks=(edges, 3)), da.from_array(y, chunks=(edges,))
    view = View(Coordinates(np.full(3, 2.0), np.ones(3)), 1)
    with DaskBlocks(*lazy, da.from_array(weight, chunks=(edges,)), client=two) as rows:
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


def test_sums_in_runs_add_up_as_those_of_single_blocks():
    random = np.random.default_rng(0)
    values = random.normal(size=300) * 10.0 ** random.integers(-8, 8, 300)
    whole = OrderedSum()
    for number, value in enumerate(values):
        whole.add(number, value)
    for _ in range(20):
        cuts = [0, *sorted(random.integers(0, 300, 5).tolist()), 300]
        sums = [
            pair
            for a, b in pairwise(cuts)
            for pair in in_runs((number, values[number]) for number in range(a, b))
        ]
        total = OrderedSum()
        for number, value in sums:
            total.add(number, value)
        assert total.result() == whole.result()


def test_partitions_are_shared_out_in_stretches():
    assert shared_out([1] * 5, [2, 1]) == [range(3), range(3, 5)]
    assert list(map(len, shared_out([1], [1, 1, 1]))) == [0, 1, 0]
    assert shared_out([10] * 26, [1, 1])[0].stop == 13  # no edge of a run is near
    assert shared_out([16] * 9, [1, 1])[0] == range(4)  # 64 blocks


# --- frames, predictions, estimators -------------------------------------------------------


def test_frames_keep_names_and_index(two):
    X, y, weight = noisy(600)
    frame = pd.DataFrame(X, columns=["age", "dose", "mass"], index=np.arange(600) * 2)
    frame["label"], frame["w"] = np.where(y > 0, "ill", "well"), weight
    lazy = dd.from_pandas(frame, npartitions=4)
    names = ["age", "dose", "mass"]
    with two.as_current():
        model = SPLA1(**QUICK, inside="ill").fit(lazy[names], lazy["label"], lazy["w"])
        assert model.feature_names_in_.tolist() == names
        assert model.polyhedron_.feature_names == tuple(names)
        labels, score, share = (
            getattr(model, method)(lazy[names])
            for method in ("predict", "decision_function", "predict_proba")
        )
        assert dask.is_dask_collection(labels)
        found = dask.compute(labels, score, share)
    eager = model.predict(frame[names])
    pd.testing.assert_series_equal(found[0], pd.Series(eager, index=frame.index), check_dtype=False)
    assert np.array_equal(found[1], model.decision_function(frame[names]))
    assert found[2].columns.tolist() == ["ill", "well"]
    assert np.array_equal(found[2], model.predict_proba(frame[names]))
    assert found[2].index.equals(frame.index)


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


def test_lazy_predictions_of_arrays_equal_eager_ones(one):
    X, y, _ = noisy(500)
    lazy = da.from_array(X, chunks=(130, 2))  # columns in two chunks
    with one.as_current():
        model = SPLA1(**QUICK).fit(lazy, da.from_array(y, chunks=70))
        for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
            found = getattr(model, method)(lazy)
            assert isinstance(found, da.Array)
            expected = getattr(model, method)(X)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert np.array_equal(found.compute(), expected)


def test_single_precision_is_kept(one):
    X, y, _ = noisy(400)
    X = X.astype(np.float32)
    with DaskBlocks(chunked(X, 100), chunked(y, 100), client=one) as rows:
        assert rows.take(np.arange(3)).X.dtype == np.float32
        expected = ArraySource(X, y, block_rows=100)
        same(BatchPolyceptron(**QUICK).fit(rows), BatchPolyceptron(**QUICK).fit_blocks(expected))


def test_estimators_behave_as_the_originals():
    X, y, weight = noisy(300)
    model = BatchPolyceptron(4, random_state=3, margin=2.0, max_iter=20)
    assert (
        repr(model) == "BatchPolyceptron(margin=2.0, max_iter=20, n_hyperplanes=4, random_state=3)"
    )
    assert clone(model).get_params() == model.get_params()
    assert model.get_params().keys() == polyceptron.BatchPolyceptron().get_params().keys()
    plain = polyceptron.BatchPolyceptron(**model.get_params()).fit(X, y, weight)
    same(model.fit(X, y, weight), plain)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), plain.predict(X))


def test_the_package_does_not_load_dask():
    code = "import polyceptron.learners, sys; print('dask' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_without_a_client_a_cluster_is_started_for_the_fit():
    X, y, _ = noisy(200)
    model = BatchPolyceptron(**QUICK).fit(chunked(X, 50), chunked(y, 50))
    same(model, BatchPolyceptron(**QUICK).fit_blocks(ArraySource(X, y, block_rows=50)))


# --- lost workers --------------------------------------------------------------------------


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def before_step(monkeypatch, number, action):
    """Do something before a step of the next fit."""
    steps = [0]
    plain = criterion.gradient

    def gradient(*arguments):
        steps[0] += 1
        if steps[0] == number:
            action()
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(criterion, "gradient", gradient)
        yield


def slowly(statistic):
    """A statistic that takes its time. Workers cannot import this file, so it is no class."""

    def slow(block):
        time.sleep(0.1)
        return statistic(block)

    return slow


def test_a_killed_worker_does_not_show_in_the_model(monkeypatch):
    X, y, _ = noisy(700)
    source = ArraySource(X, y, block_rows=70)
    expected = BatchPolyceptron(**QUICK).fit_blocks(source)
    view, planes = View(identity(3), 1), Planes.of(np.eye(3), np.ones(3))
    with (
        workers_without_nanny(3) as (client, processes),
        DaskBlocks(chunked(X, 70), chunked(y, 70), client=client) as rows,
    ):
        timer = threading.Timer(0.15, kill, [processes[0]])  # while a sum is under way
        timer.start()
        found = rows.blocks(view).reduce(slowly(GradientOf(planes, 1.0, 3)))
        timer.join()
        there = source.blocks(view).reduce(GradientOf(planes, 1.0, 3))
        assert np.array_equal(found.G, there.G)
        assert np.array_equal(found.totals, there.totals)
        with before_step(monkeypatch, 3, lambda: kill(processes[1])):
            same(BatchPolyceptron(**QUICK).fit(rows), expected)
        assert len(client.nthreads()) == 1


def test_without_workers_a_fit_ends_and_its_checkpoint_remains(monkeypatch, tmp_path):
    X, y, _ = noisy(700)
    checkpoint = Checkpoint(tmp_path / "fit.checkpoint", iterations=1)
    model = BatchPolyceptron(**QUICK, checkpoint=checkpoint)
    source = ArraySource(X, y, block_rows=70)
    expected = BatchPolyceptron(**QUICK).fit_blocks(source)
    with workers_without_nanny(2) as (client, processes):
        rows = DaskBlocks(chunked(X, 70), chunked(y, 70), client=client, timeout=1.0)
        begun = []

        def lose_all():
            for process in processes:
                kill(process)
            begun.append(time.monotonic())

        with before_step(monkeypatch, 4, lose_all), pytest.raises(ClusterError, match="no worker"):
            model.fit(rows)
        assert time.monotonic() - begun[0] < 30
    assert not hasattr(model, "coef_")
    assert checkpoint.path.exists()
    steps = []
    monkeypatch.setattr(_iterated.solve.Progress, "step", lambda *at: steps.append(at[2]))
    same(model.fit_blocks(source), expected)  # goes on, and in memory at that
    assert steps[0] == 4


def test_a_cluster_that_is_closed_is_said_so():
    X, y, _ = noisy(100)
    with (
        LocalCluster(n_workers=1, processes=False, **LOOPBACK) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        rows = DaskBlocks(chunked(X, 50), chunked(y, 50), client=client, timeout=1.0)
    with pytest.raises(ClusterError):
        BatchPolyceptron(**QUICK).fit(rows)


def test_rows_that_come_out_different_are_refused(one):
    X, y, _ = noisy(100)
    with DaskBlocks(chunked(X, 50), chunked(y, 50), client=one) as rows:
        with DaskBlocks(chunked(X + 1, 50), chunked(y, 50), client=one) as others:
            rows._cluster._parts = others._cluster._parts
        with pytest.raises(SourceError, match="partition 0 came out different"):
            rows._cluster._rescue(list(rows._cluster._held))


# --- misuse --------------------------------------------------------------------------------


def unknown_lengths(array):
    """The same array, of which Dask does not know how long its chunks are."""
    lazy = chunked(array, 50)
    lazy._chunks = tuple((np.nan,) * len(sizes) if i == 0 else sizes
                         for i, sizes in enumerate(lazy.chunks))  # fmt: skip
    return lazy


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
        BatchPolyceptron(**QUICK).fit(DaskBlocks(*arguments, client=one))


def test_classes_may_be_given_and_are_checked(one):
    X, y, _ = noisy(100)
    rows, labels = chunked(X, 50), chunked(y, 50)
    with DaskBlocks(rows, labels, client=one, classes=[1, -1]) as source:
        assert source.classes.tolist() == [-1, 1]
    with pytest.raises(SourceError, match=r"row .*: the label .*-1.* is not among the classes"):
        DaskBlocks(rows, labels, client=one, classes=[1, 2])


def test_a_source_needs_a_client_and_brings_its_labels(one):
    X, y, _ = noisy(100)
    with pytest.raises(ValueError, match="there is no Dask client"):
        DaskBlocks(chunked(X, 50), chunked(y, 50))
    with (
        DaskBlocks(chunked(X, 50), chunked(y, 50), client=one) as rows,
        pytest.raises(ValueError, match="leave out y"),
    ):
        BatchPolyceptron().fit(rows, y)


def test_errors_of_the_work_are_those_of_the_user(one):
    X, y, _ = noisy(100)

    def spoilt(chunk):
        raise ZeroDivisionError(f"no {len(chunk)} today")

    lazy = chunked(X, 50).map_blocks(spoilt, dtype=float, meta=np.empty((0, 3)))
    with pytest.raises(ZeroDivisionError, match="no 50 today"):
        DaskBlocks(lazy, chunked(y, 50), client=one)
    with DaskBlocks(chunked(X, 50), chunked(y, 50), client=one) as rows:
        statistic = lambda block: 1 / (block.number - 1)  # noqa: E731
        with pytest.raises(ZeroDivisionError):
            rows.blocks(View(identity(3), 1)).reduce(statistic)
        assert rows.blocks(View(identity(3), 1)).reduce(lambda block: block.n_samples) == 100


def test_rows_that_were_closed(one):
    X, y, _ = noisy(500)
    rows = DaskBlocks(da.from_array(X, chunks=-1), da.from_array(y, chunks=-1), client=one)
    rows.close()
    with pytest.raises(ClusterError, match="these rows were closed"):
        BatchPolyceptron().fit_blocks(rows)

"""The same rows in memory, in a map, in files: the same model, to the last bit."""

import itertools
import threading
import time
import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from common import assert_equal_models, fit, quick, small_blocks
from polyceptron import (
    SPLA1,
    BatchPolyceptron,
    OnlinePolyceptron,
    Polyceptron,
    Polyhedron,
    open_blocks,
)
from polyceptron.data.blocks import ordered_sum, rows_of_blocks
from polyceptron.data.files import ArrayFile, FileSource, StreamBlocks
from polyceptron.data.scaling import Coordinates, block_ends, identity
from polyceptron.data.source import ArraySource, SourceError, View
from polyceptron.data.visits import visits
from polyceptron.learners.polyceptron import sample
from polyceptron.optim.criterion import gradient
from polyceptron.optim.planes import Planes

NAMES = ("a", "b", "c", "d")


def rows(n=700, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, 4)) * [1, 2, 3, 4] + 5).astype(dtype)
    y = (((X - 5) @ rng.standard_normal((3, 4)).T + 4).min(axis=1) >= 0).astype(int)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows in every format."""
    folder = tmp_path_factory.mktemp("rows")
    X, y = rows()
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    np.save(folder / "weight.npy", weight)
    table = {name: X[:, j] for j, name in enumerate(NAMES)} | {"class": y, "weight": weight}
    pq.write_table(pa.table(table), folder / "rows.parquet", row_group_size=130)
    return folder


def source(folder, kind, weighted=False, block_rows=64):
    """A source of the rows."""
    X, y, weight = (np.load(folder / f"{name}.npy") for name in ("X", "y", "weight"))
    weight = weight if weighted else None
    if kind == "arrays":
        return ArraySource(X, y, weight, block_rows=block_rows)
    if kind == "map":
        return ArraySource(
            np.load(folder / "X.npy", mmap_mode="r"), y, weight, block_rows=block_rows
        )
    if kind == "parquet":
        found = open_blocks(
            folder / "rows.parquet",
            target="class",
            weight="weight" if weighted else None,
            drop=() if weighted else ["weight"],
        )
    else:
        found = open_blocks(folder / "X.npy", target=folder / "y.npy")
        if weighted:
            found.weight = ArrayFile(folder / "weight.npy")
    return FileSource(
        found.X, found.codes, found.classes, weight=found.weight, block_rows=block_rows
    )


CASES = [
    (BatchPolyceptron, {"max_iter": 25}),
    (BatchPolyceptron, {"max_iter": 8, "inner_steps": 3, "standardize": False}),
    (BatchPolyceptron, {"max_iter": 8, "class_weight": "balanced"}),
    (SPLA1, {"max_iter": 4, "n_init": 2}),
    (SPLA1, {"max_iter": 3, "class_weight": {0: 2.0, 1: 0.5}, "standardize": False}),
    (OnlinePolyceptron, {"max_iter": 5, "average": True, "standardize": True}),
    (OnlinePolyceptron, {"max_iter": 5, "shuffle": False}),
]


# Every place with and without weights and by one and two threads, each with another learner.
PLACES = list(itertools.product(["arrays", "map", "npy", "parquet"], [False, True], [1, 2]))
COVERED = [(*CASES[number % len(CASES)], *place) for number, place in enumerate(PLACES)]


@pytest.mark.parametrize(("learner", "parameters", "kind", "weighted", "n_jobs"), COVERED)
def test_the_same_model(learner, parameters, kind, weighted, n_jobs, folder, monkeypatch):
    X, y, weight = (np.load(folder / f"{name}.npy") for name in ("X", "y", "weight"))
    small_blocks(monkeypatch, 64)
    expected = fit(quick(learner, **parameters), X, y, sample_weight=weight if weighted else None)
    monkeypatch.setattr("polyceptron.data.blocks.ROWS_WORTH_THREADS", 0)
    model = quick(learner, n_jobs=n_jobs, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit_blocks(source(folder, kind, weighted))
    assert_equal_models(model, expected)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_sparse_rows(monkeypatch):
    """CSR rows are a source as well, with gaps named."""
    X, y = rows()
    X[X < 5] = 0
    small_blocks(monkeypatch, 64)
    matrix = sp.csr_matrix(X)
    expected = fit(quick(BatchPolyceptron, max_iter=8), matrix, y)
    model = quick(BatchPolyceptron, max_iter=8)
    with pytest.warns(ConvergenceWarning):
        model.fit_blocks(ArraySource(matrix, y))
    assert_equal_models(model, expected)
    matrix.data[matrix.indptr[345]] = np.nan
    with pytest.raises(SourceError, match="row 345: a value that is not a finite number"):
        model.fit_blocks(ArraySource(matrix, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_blocks_of_float32(dtype, tmp_path, monkeypatch):
    """More runs of blocks than one, and both widths of numbers."""
    X, y = rows(5000, dtype=dtype)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    small_blocks(monkeypatch, 16)
    monkeypatch.setattr("polyceptron.data.files.rows_of_blocks", lambda _: 16)
    expected = fit(quick(BatchPolyceptron, max_iter=5), X, y)
    model = quick(BatchPolyceptron, max_iter=5)
    with pytest.warns(match="did not converge"):
        model.fit_blocks(open_blocks(tmp_path / "X.npy", target=tmp_path / "y.npy"))
    assert_equal_models(model, expected)


class TestPolyceptron:
    def test_what_fits_into_memory_is_fit(self, folder):
        X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        expected = quick(Polyceptron).fit(X, y)
        for kind in ("arrays", "npy", "parquet"):
            model = quick(Polyceptron).fit_blocks(source(folder, kind, block_rows=None))
            assert_equal_models(model, expected)

    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_more_rows_are_as_good(self, noise, monkeypatch):
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, (8000, 2))
        clean = np.abs(X).max(axis=1) < 1.2
        y = np.where(rng.random(len(X)) < noise, ~clean, clean)
        monkeypatch.setattr(sample, "_VALUES", 2 * 1500)
        part = Polyceptron(n_hyperplanes=4, inside=True, n_init=3, random_state=0)
        model = part.fit_blocks(ArraySource(X, y, block_rows=512))
        assert np.mean(model.predict(X) == clean) > 0.985
        assert model.n_hyperplanes_ == 4
        again = Polyceptron(n_hyperplanes=4, inside=True, n_init=3, random_state=0, n_jobs=1)
        assert_equal_models(again.fit_blocks(ArraySource(X, y, block_rows=512)), model)

    def test_rows_on_the_wrong_side_are_added(self, monkeypatch):
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, (20_000, 2))
        y = np.abs(X).max(axis=1) < 1.2
        monkeypatch.setattr(sample, "_VALUES", 2 * 1000)
        fixed = {"n_hyperplanes": 4, "inside": True, "margin": 0.0, "penalty": None, "n_init": 3}
        fixed["digits"] = None  # rounded, the faces of a box are right without more rows
        model = Polyceptron(**fixed, random_state=0).fit_blocks(ArraySource(X, y))
        monkeypatch.setattr(sample, "_ROUNDS", 0)
        first = Polyceptron(**fixed, random_state=0).fit_blocks(ArraySource(X, y))
        assert (model.predict(X) != y).sum() < (first.predict(X) != y).sum()

    def test_three_classes(self, tmp_path):
        X, _ = rows(300)
        y = np.digitize(X[:, 0], [4.5, 5.5])
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        expected = quick(Polyceptron).fit(X, y)
        source = open_blocks(tmp_path / "X.npy", target=tmp_path / "y.npy")
        model = quick(Polyceptron).fit_blocks(source)
        assert model.rule_ == expected.rule_
        with pytest.raises(ValueError, match="3 classes"):
            BatchPolyceptron().fit_blocks(source)


class TestMisuse:
    def test_something_else_than_a_source(self):
        X, _ = rows(10)
        with pytest.raises(TypeError, match=r"polyceptron\.open_blocks gives; got ndarray"):
            BatchPolyceptron().fit_blocks(X)

    def test_more_hyperplanes_than_rows(self):
        with pytest.raises(ValueError, match="n_hyperplanes=3 is more than the rows"):
            BatchPolyceptron(3).fit_blocks(ArraySource([[0.0], [1.0]], [0, 1]))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_the_row_that_is_not_finite_is_named(self, value):
        X, y = rows()
        X[345, 2] = value
        model = BatchPolyceptron()
        with pytest.raises(SourceError, match="row 345: a value that is not a finite number"):
            model.fit_blocks(ArraySource(X, y, block_rows=64))
        assert not hasattr(model, "n_features_in_")

    def test_arguments_of_files_are_refused_for_arrays(self):
        X, y = rows(10)
        for name, value in {"target": "y", "drop": ["a"], "dtype": "float32"}.items():
            with pytest.raises(ValueError, match=f"{name} is for files"):
                open_blocks((X, y), **{name: value})
        assert repr(open_blocks((X, y))) == "<ArraySource: 10 rows x 4 features, classes 0, 1>"

    @pytest.mark.parametrize("path", [None, 3, ""])
    def test_no_path(self, path):
        with pytest.raises(SourceError, match="path must be a file, a folder"):
            open_blocks(path)

    def test_names_come_from_the_source(self):
        X, y = rows(100)
        model = quick(BatchPolyceptron, max_iter=100)
        model.fit_blocks(ArraySource(X, y, feature_names=NAMES))
        assert model.feature_names_in_.tolist() == list(NAMES)
        assert isinstance(model.polyhedron_, Polyhedron)
        assert model.polyhedron_.feature_names == NAMES
        model.fit_blocks(ArraySource(X, y))
        assert not hasattr(model, "feature_names_in_")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([[0.0], [1.0]], [0]), "y must have 2 items"),
            (([0.0, 1.0], [0, 1]), "X must be 2-D"),
            (
                ([[0.0], [1.0]], [0, 1], [1.0, -1.0]),
                "weight must be at least 0.*; row 1 is -1.0",
            ),
            (([[0.0], [1.0]], [0, 1], [1.0]), "weight must have 2 items"),
        ],
    )
    def test_arrays(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ArraySource(*arguments)


class TestFiles:
    def make(self, tmp_path, n=1000, block_rows=64):
        X, y = rows(n)
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "codes.npy", y.astype(np.int8))
        files = (ArrayFile(tmp_path / f"{name}.npy") for name in ("X", "codes"))
        return X, y, FileSource(*files, np.array([0, 1]), block_rows=block_rows)

    def test_blocks_come_in_any_order(self, tmp_path):
        X, y, found = self.make(tmp_path)
        data = found.blocks(View(identity(4), 1))
        assert (len(data), data.n_samples, data.n_features) == (16, 1000, 4)
        for block in data.in_order([3, 15, 0]):
            start = 64 * block.number
            np.testing.assert_array_equal(block.X, X[start : start + 64])
            np.testing.assert_array_equal(block.y, 2 * y[start : start + 64] - 1)
        assert [block.number for block in data] == list(range(16))

    def test_rows_are_taken(self, tmp_path):
        X, y, found = self.make(tmp_path)
        numbers = np.array([0, 1, 63, 64, 500, 999])
        taken = found.take(numbers)
        np.testing.assert_array_equal(taken.X, X[numbers])
        np.testing.assert_array_equal(taken.codes, y[numbers])

    def test_a_file_that_shrinks_while_it_is_read(self, tmp_path):
        _, _, found = self.make(tmp_path)
        data = found.blocks(View(identity(4), 1), 2)
        size = (tmp_path / "X.npy").stat().st_size
        with (tmp_path / "X.npy").open("r+b") as file:
            file.truncate(size - 300 * 32)
        with pytest.raises(SourceError, match=r"X\.npy: ends in row 700, and had 1000 rows"):
            data.reduce(partial(block_ends, 4))
        assert threading.active_count() < 20

    def test_a_file_that_becomes_another(self, tmp_path):
        X, _, found = self.make(tmp_path)
        data = found.blocks(View(identity(4), 1))
        time.sleep(0.02)  # clocks of file systems are coarse
        np.save(tmp_path / "X.npy", X + 1)
        with pytest.raises(SourceError, match=r"X\.npy: row 0: the file has changed since"):
            data.reduce(partial(block_ends, 4))

    def test_a_file_that_goes_away(self, tmp_path):
        _, _, found = self.make(tmp_path)
        (tmp_path / "codes.npy").unlink()
        with pytest.raises(SourceError, match=r"codes\.npy: row 0: No such file"):
            found.blocks(View(identity(4), 1)).reduce(partial(block_ends, 4))

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_an_error_of_the_statistic_comes_out(self, tmp_path, n_threads):
        _, _, found = self.make(tmp_path)

        def broken(block):
            if block.number == 9:
                raise ZeroDivisionError
            return block.number

        for _ in range(20):
            with pytest.raises(ZeroDivisionError):
                found.blocks(View(identity(4), 1), n_threads).reduce(broken)
        assert threading.active_count() < 20

    def test_memory_is_that_of_a_few_blocks(self, tmp_path):
        _, _, found = self.make(tmp_path, 1000, 64)
        data, inside, most = StreamBlocks(found, View(identity(4), 1), 2), set(), []

        def count(block):
            inside.add(block.number)
            most.append(len(inside))
            time.sleep(0.001)
            inside.remove(block.number)
            return 1

        assert data.reduce(count) == 16
        assert max(most) <= 3  # two are worked on while one is read
        assert sum(X.nbytes for X, *_ in data._buffers) == 3 * 64 * 4 * 8

    def test_who_leaves_early_leaves_no_thread(self, tmp_path):
        _, _, found = self.make(tmp_path)
        before = threading.active_count()
        for _ in found.blocks(View(identity(4), 1)):
            break
        assert threading.active_count() <= before + 1

    @pytest.mark.parametrize("n", [1, 2, 3, 8])
    def test_threads_change_nothing(self, tmp_path, n):
        X, y, found = self.make(tmp_path, 3000, 16)
        view = View(Coordinates(np.full(4, 0.7), np.full(4, 0.1)), 1)
        planes = Planes.of(np.random.default_rng(0).standard_normal((3, 4)), np.ones(3))
        one = gradient(found.blocks(view, n), planes, 1.0)
        memory = gradient(ArraySource(X, y, block_rows=16).blocks(view), planes, 1.0)
        for part in ("G", "g", "totals"):
            np.testing.assert_array_equal(getattr(one, part), getattr(memory, part))

    def test_header(self, tmp_path):
        np.save(tmp_path / "f.npy", np.asfortranarray(np.ones((3, 2))))
        with pytest.raises(SourceError, match="Fortran order"):
            ArrayFile(tmp_path / "f.npy")
        np.save(tmp_path / "o.npy", np.array([None, 1]))
        with pytest.raises(SourceError, match="objects"):
            ArrayFile(tmp_path / "o.npy")
        (tmp_path / "t.npy").write_bytes(b"no")
        with pytest.raises(SourceError, match=r"t\.npy: no whole file"):
            ArrayFile(tmp_path / "t.npy")


class TestOrder:
    def test_runs_may_be_added_up_elsewhere(self):
        rng = np.random.default_rng(0)
        values = np.ldexp(rng.standard_normal(200), rng.integers(-30, 30, 200)).tolist()
        parts = list(enumerate(values))
        first, rest = ordered_sum(parts[:64]), ordered_sum(parts[128:192])
        by_runs = [(0, first), *parts[64:128], (128, rest), *parts[192:]]
        assert ordered_sum(by_runs) == ordered_sum(parts)

    @pytest.mark.parametrize("d", [1, 20, 64, 65, 1000, 10**9])
    def test_wide_rows_make_small_blocks(self, d):
        n = rows_of_blocks(d)
        assert 1 <= n <= 65_536
        assert n & (n - 1) == 0
        assert n * d <= 64 * 65_536 or n == 1

    @pytest.mark.parametrize("seed", [None, 0, 2**62])
    @pytest.mark.parametrize("n", [5, 64, 700])
    def test_every_row_is_visited_once_and_in_the_same_order(self, n, seed, tmp_path):
        X, y = rows(n)
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "c.npy", y.astype(np.int8))
        files = (ArrayFile(tmp_path / f"{name}.npy") for name in ("X", "c"))
        orders = []
        for one in (
            ArraySource(X, y, block_rows=16),
            FileSource(*files, np.array([0, 1]), block_rows=16),
        ):
            seen = []
            for X_seen, y_seen, _, order in visits(one.blocks(View(identity(4), 1)), seed):
                seen.append(X_seen[order if order.size else np.arange(len(y_seen))])
            orders.append(np.concatenate(seen))
        np.testing.assert_array_equal(*orders)
        assert sorted(map(tuple, orders[0])) == sorted(map(tuple, X))
        assert np.array_equal(orders[0], X) == (seed is None)

    def test_distant_blocks_meet(self):
        """Rows sorted by class are shuffled across blocks that are far apart."""
        X = np.arange(2000.0)[:, None]
        source_ = ArraySource(X, (X[:, 0] > 1000).astype(int), block_rows=16)
        ((*_, order),) = visits(source_.blocks(View(identity(1), 1)), 3)
        first = X[order[:128], 0]
        assert first.min() < 500
        assert first.max() > 1500

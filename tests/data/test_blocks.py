"""Blocks: fixed boundaries, sums in block order, the same bits whatever the number of threads."""

import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from polyceptron.data import blocks
from polyceptron.data.blocks import (
    ArrayBlocks,
    count_threads,
    kernel_rows,
    map_in_order,
    part,
)


def make(n=10, d=3, weights=False, csr=False, **options):
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    y = rng.choice([-1, 1], n).astype(np.int8)
    weight = rng.random(n) if weights else np.empty(0)
    rows = kernel_rows(sp.csr_matrix(X) if csr else X)
    return ArrayBlocks(rows, y, weight, d, **options), X, y, weight


class TestArrayBlocks:
    @pytest.mark.parametrize("csr", [False, True])
    @pytest.mark.parametrize("weights", [False, True])
    @pytest.mark.parametrize("block_rows", [1, 3, 10, 11])
    def test_blocks_are_the_rows_in_order(self, block_rows, weights, csr):
        data, X, y, weight = make(weights=weights, csr=csr, block_rows=block_rows)
        assert (data.n_samples, data.n_features) == (10, 3)
        assert len(data) == len(list(data)) == -(-10 // block_rows)
        start = 0
        for number, block in enumerate(data):
            assert block.number == number
            stop = min(start + block_rows, 10)
            assert block.n_samples == stop - start
            np.testing.assert_array_equal(dense(block.X, 3), X[start:stop])
            np.testing.assert_array_equal(block.y, y[start:stop])
            np.testing.assert_array_equal(block.weight, weight[start:stop])
            start = stop
        assert start == 10

    def test_arrays_are_read_only_and_not_copied(self):
        X, y, weight = np.ones((4, 2)), np.ones(4, np.int8), np.ones(4)
        data = ArrayBlocks(kernel_rows(X), y, weight, 2, block_rows=2)
        for block in data:
            for array, source in [(block.X, X), (block.y, y), (block.weight, weight)]:
                assert not array.flags.writeable
                assert np.shares_memory(array, source)
        assert X.flags.writeable
        assert y.flags.writeable

    @pytest.mark.parametrize("n_threads", [1, 2, 3])
    def test_reduce_adds_in_block_order(self, n_threads):
        data, *_ = make(n=50, block_rows=1, n_threads=n_threads)
        assert data.reduce(lambda block: Text(str(block.number))) == "".join(map(str, range(50)))

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_reduce_gives_the_same_bits(self, n_threads):
        rng = np.random.default_rng(1)
        X = np.ldexp(rng.standard_normal((1000, 1)), rng.integers(-40, 40, (1000, 1)))
        y = np.ones(1000, np.int8)
        data = ArrayBlocks(X, y, np.empty(0), 1, block_rows=7, n_threads=n_threads)
        expected = 0.0
        for run in range(0, 1000, 7 * blocks.RUN):
            of_run = 0.0
            for start in range(run, min(1000, run + 7 * blocks.RUN), 7):
                of_run += X[start : start + 7].sum()
            expected += of_run
        assert data.reduce(lambda block: block.X.sum()) == expected

    def test_reduce_uses_threads(self):
        data, *_ = make(n=8, block_rows=1, n_threads=2)
        both = threading.Barrier(2, timeout=60)

        def wait(block):
            if block.number in (0, 1):  # the first two runs are one block each
                both.wait()
            return 1

        assert data.reduce(wait) == 8

    def test_error_in_a_thread_comes_out(self):
        data, *_ = make(n=8, block_rows=1, n_threads=2)

        def fail(block):
            raise KeyError(block.number)

        with pytest.raises(KeyError):
            data.reduce(fail)


class Text(str):
    """Adding shows the order."""

    __slots__ = ()

    def __add__(self, other):
        return Text(str(self) + str(other))


def dense(rows, d):
    if not isinstance(rows, tuple):
        return rows
    data, indices, indptr = rows
    used = slice(indptr[0], indptr[-1])
    entries = data[used], indices[used], indptr - indptr[0]
    return sp.csr_matrix(entries, (len(indptr) - 1, d)).toarray()


class TestKernelRows:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_dense(self, dtype):
        X = np.arange(6, dtype=dtype).reshape(2, 3)
        rows = kernel_rows(X)
        assert np.shares_memory(rows, X)
        assert not rows.flags.writeable
        assert rows.dtype == dtype
        for other in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
            rows = kernel_rows(other)
            assert rows.flags.c_contiguous
            np.testing.assert_array_equal(rows, X)

    @pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
    def test_sparse(self, kind):
        X = np.array([[0.0, 2, 0], [0, 0, 0], [1, 0, 3]])
        rows = kernel_rows(kind(X))
        np.testing.assert_array_equal(dense(rows, 3), X)
        assert not any(array.flags.writeable for array in rows)

    def test_part_is_a_view(self):
        X = np.arange(12.0).reshape(4, 3)
        for rows in (kernel_rows(X), kernel_rows(sp.csr_matrix(X))):
            some = part(rows, 1, 3)
            np.testing.assert_array_equal(dense(some, 3), X[1:3])
            assert np.shares_memory(some[0], rows[0] if isinstance(rows, tuple) else rows)


class TestThreads:
    def test_few_rows_are_not_worth_threads(self):
        for n_jobs in (None, 1, 2, -1):
            assert count_threads(n_jobs, blocks.ROWS_WORTH_THREADS - 1) == 1

    def test_many_rows(self, monkeypatch):
        """As scikit-learn counts them: None is one, unless joblib is told otherwise."""
        monkeypatch.setattr(joblib, "cpu_count", lambda: 6)
        many = blocks.ROWS_WORTH_THREADS
        found = {n_jobs: count_threads(n_jobs, many) for n_jobs in (None, 1, 2, 8, -1, -2, -100)}
        assert found == {None: 1, 1: 1, 2: 2, 8: 8, -1: 6, -2: 5, -100: 1}
        for backend in ("threading", "loky"):
            for n_jobs, expected in [(3, 3), (99, 6)]:
                with joblib.parallel_config(backend, n_jobs=n_jobs):
                    assert [count_threads(n, many) for n in (None, 2, -1)] == [expected, 2, 6]

    @pytest.mark.parametrize("n_threads", [1, 2, 5])
    @pytest.mark.parametrize("n", [1, 2, 7, 8, 100])
    def test_map_in_order(self, n, n_threads):
        assert map_in_order(lambda item: item * item, range(n), n_threads) == [
            i * i for i in range(n)
        ]

    def test_threads_after_a_fork(self):
        """A forked child has the pool but not its threads: it must make its own."""
        code = """
import os, sys
from polyceptron.data.blocks import map_in_order
assert map_in_order(abs, range(-9, 0), 2) == list(range(9, 0, -1))
child = os.fork()
if child == 0:
    os._exit(0 if map_in_order(abs, range(-9, 0), 2) == list(range(9, 0, -1)) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

"""The streaming example: the learner follows the drift, and nothing of a block is kept."""

import gc
import runpy
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from polyceptron import OnlinePolyceptron

PATH = Path(__file__).parents[2] / "docs" / "examples" / "stream.py"

pytestmark = pytest.mark.skipif(not PATH.exists(), reason="not in a source tree")


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(PATH))


def learner(example):
    return OnlinePolyceptron(example["K"], margin=200, random_state=0)


def test_the_stream_is_the_same_each_time(example):
    first, again, other = (
        next(islice(example["drifting_rows"](seed, block=100), 5, None)) for seed in (1, 1, 2)
    )
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_half_of_the_rows_are_inside(example):
    stream = example["drifting_rows"](0, jump_at=100_000, turn=100_000)
    shares = [y.mean() for _, y in islice(stream, 20)]
    np.testing.assert_allclose(shares, 0.5, atol=0.03)


def test_turning_keeps_lengths_and_angles(example):
    W = np.random.default_rng(0).standard_normal((3, 5))
    turned = example["turned"](W, 0.3)
    assert not np.allclose(turned, W)
    np.testing.assert_allclose(turned @ turned.T, W @ W.T)
    np.testing.assert_allclose(example["turned"](W, 5), W)


@pytest.mark.parametrize("seed", range(2))
def test_the_learner_follows_and_the_frozen_one_does_not(example, seed):
    stream = example["drifting_rows"](seed, jump_at=600_000, turn=3_000_000)
    record = example["follow"](stream, 120, learner(example))
    start = example["FROZEN_AFTER"]
    assert np.isnan(record.frozen[:start]).all()
    assert not np.isnan(record.frozen[start:]).any()
    np.testing.assert_array_equal(record.rows, np.arange(10_000, 1_210_000, 10_000))
    for last in (slice(50, 60), slice(110, 120)):  # before the change and after it
        assert record.learning[last].mean() < record.frozen[last].mean() / 2


def test_points_add_up_blocks(example, monkeypatch):
    def follow():
        stream = example["drifting_rows"](0, block=200)
        return example["follow"](stream, 50, learner(example))

    every = follow()
    monkeypatch.setitem(example["follow"].__globals__, "MOST_POINTS", 10)
    few = follow()
    np.testing.assert_array_equal(few.rows, every.rows[4::5])
    for name in ("learning", "frozen"):
        means = getattr(every, name).reshape(10, 5).mean(axis=1)
        np.testing.assert_allclose(getattr(few, name), means)


def test_memory_does_not_grow(example):
    in_use = {}

    def watched(stream):
        for n_blocks, block in enumerate(stream):
            if n_blocks == 40:
                tracemalloc.start()
            if n_blocks in (50, 250):
                gc.collect()  # Python keeps up to 2,000 free tuples of each length
                in_use[n_blocks], _ = tracemalloc.get_traced_memory()
            yield block

    stream = example["drifting_rows"](0, block=300)
    try:
        example["follow"](watched(stream), 251, learner(example))
    finally:
        tracemalloc.stop()
    # Python caches some; the rows of 200 blocks would be 1,200,000 bytes.
    assert in_use[250] - in_use[50] < 200_000


def test_the_command_writes_a_picture(example, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "stream.png"
    example["main"](["--rows", "300_000", "--out", str(out)])
    assert out.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "   300,000 " in printed
    assert "rows a second" in printed

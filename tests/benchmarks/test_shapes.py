"""The made-up classes are what they say, and the summary has a line for each."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

NAMES = ["two blobs", "three blobs", "five blobs", "L", "chessboard", "ring", "convex"]
NAMES += ["bounded L", "two apart", "three apart", "five apart"]


@pytest.fixture
def shapes(benchmark):
    return benchmark("shapes")


@pytest.mark.parametrize("d", [2, 8])
def test_half_spaces(shapes, d):
    X, inside = shapes.half_spaces(4000, d, np.random.default_rng(0))
    assert X.shape == (4000, d)
    assert np.abs(X).max() <= 1
    assert inside.mean() == pytest.approx(0.96**shapes.PH_FACES, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [2, 5])
def test_shapes(shapes, name, d):
    assert list(shapes.SHAPES) == NAMES
    _, rows = shapes.SHAPES[name]
    X, inside = rows(3000, d, np.random.default_rng(1))
    assert X.shape == (3000, d)
    assert np.abs(X).max() < 2
    assert 0.3 < inside.mean() < 0.7


def test_blobs_are_apart(shapes):
    _, rows = shapes.SHAPES["three blobs"]
    X, inside = rows(2000, 2, np.random.default_rng(0))
    near = np.linalg.norm(X[inside][:, None] - X[inside][None], axis=2) < 0.1
    reached = np.zeros(len(near), bool)
    pieces = 0
    while not reached.all():  # a piece is what can be reached in small steps
        pieces += 1
        front = np.zeros(len(near), bool)
        front[int(np.argmin(reached))] = True
        while front.any():
            reached |= front
            front = near[front].any(axis=0) & ~reached
    assert pieces == 3


def test_neither_side_of_the_bounded_l_is_convex(shapes):
    _, rows = shapes.SHAPES["bounded L"]
    ends = np.array([[-0.5, 0.5], [0.5, -0.5], [-0.95, 0.9], [0.9, -0.9]])
    X = np.vstack([ends, ends[::2] / 2 + ends[1::2] / 2])  # and what is halfway between two
    _, inside = rows(6, 2, SimpleNamespace(uniform=lambda *_: X))
    assert inside.tolist() == [True, True, False, False, False, True]


def test_summary(shapes, tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "ROWS", 200)
    monkeypatch.setattr(shapes, "FRESH", 300)
    monkeypatch.setattr(shapes, "PH_ROWS", 300)
    monkeypatch.setattr(shapes, "PH_DIMENSIONS", (2,))
    monkeypatch.setattr(shapes, "SHAPES", {"convex": shapes.SHAPES["convex"]})
    out = tmp_path / "shapes.json"
    asked = ["--out", str(out), "--draws", "1", "--ph-draws", "1", "--rivals"]
    monkeypatch.setattr(sys, "argv", ["shapes", *asked])
    shapes.main()
    summary = json.loads(out.read_text())
    assert [one["d"] for one in summary["ph"]] == [2]
    assert [one["d"] for one in summary["shapes"]] == [2, 5]
    monkeypatch.setattr(sys, "argv", [*sys.argv[:-1], "--ph-draws", "0"])
    shapes.main()
    again = json.loads(out.read_text())
    assert again["ph"] == summary["ph"]  # a part without draws stays
    rivals = [one["rivals"] for one in summary["shapes"]]
    assert [one["rivals"] for one in again["shapes"]] == rivals  # of the same draws
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--seed", "1"])
    shapes.main()
    other = json.loads(out.read_text())
    assert all("rivals" not in one for one in other["shapes"])
    peers = [one["rivals"]["pch"] for one in summary["ph"]]
    peers += [one["rivals"]["rbf"] for one in summary["shapes"]]
    assert all(one["accuracy"] > 85 for one in [*summary["ph"], *peers, *summary["shapes"]])

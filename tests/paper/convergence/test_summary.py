"""Numbers and sentences follow from the results, also those that docs/convergence.md quotes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from polyceptron.paper.convergence import RunResult, findings, summarise
from polyceptron.paper.convergence.runs import Cell
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.results_log import read_results

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def result(cell, run, order, passes, *, converged=True, cycle=None, moving=None):
    end = {"cycle": cycle, "moving": moving}
    return RunResult(*cell, run, order, passes, converged, 1, int(not converged), **end)


def test_numbers():
    cell = Cell(2, 2, 0.1, 30, 4)
    some = [result(cell, run, "fixed", run + 1) for run in range(18)]
    some += [
        result(cell, 18, "fixed", 50, converged=False, cycle=7, moving=1),
        result(cell, 19, "fixed", 100, converged=False, moving=2),
    ]
    some += [result(cell, run, "shuffled", 3) for run in range(1, 20)]
    found = summarise(reversed(some))
    fixed, shuffled = found.cells
    assert (fixed.cell, fixed.order, fixed.runs, fixed.converged) == (cell, "fixed", 20, 18)
    assert (fixed.median, fixed.p95) == (9.0, 18.0)
    assert (fixed.proved, fixed.open, fixed.lengths) == (1, 1, (7,))
    assert fixed.share == 0.9
    for end in (fixed.low, fixed.high):  # where Wilson's equation holds
        assert abs(end - 0.9) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / 20))
    assert (shuffled.share, shuffled.high) == (1.0, 1.0)
    assert found.pairs == {"both": 17, "only_fixed": 0, "only_shuffled": 2, "neither": 0}
    assert found.moving == {1: 1, 2: 1}
    assert dataclasses.replace(found.overall["fixed"], cell=cell) == fixed


def test_growth():
    grid = [Cell(d, 2, 0.1, 30, 4) for d in (2, 4, 8)]
    grid += [Cell(4, 2, margin, 30, 4) for margin in (0.05, 0.2)]
    rng = np.random.default_rng(0)
    some = [
        result(cell, run, "fixed", max(1, round(1000 * cell.d**0.5 / cell.margin * noise)))
        for cell in grid
        for run, noise in enumerate(np.exp(0.1 * rng.standard_normal(50)))
    ]
    found = summarise(some)
    assert found.centre == Cell(4, 2, 0.1, 30, 4)
    slopes = {g.factor: g for g in found.growth}
    assert set(slopes) == {"d", "1/margin"}
    for factor, truth in (("d", 0.5), ("1/margin", 1.0)):
        assert slopes[factor].low < truth < slopes[factor].high
        assert slopes[factor].high - slopes[factor].low < 0.2


def test_nothing():
    found = summarise([])
    assert found.cells == ()
    assert found.centre is None
    assert findings(Study({}, [], [])) == []


def test_stored_results():
    """The conclusions that docs/convergence.md quotes follow from the stored study alone."""
    header, runs = read_results(RESULTS / "convergence.jsonl.gz", RunResult)
    _, searches = read_results(RESULTS / "cycles.jsonl.gz", dict)
    said = findings(Study(header, runs, searches))
    assert "every 2 passes" in said[0]
    cut = findings(Study(header, runs, []))
    assert cut == said[-len(cut) :]
    assert len(cut) < len(said)

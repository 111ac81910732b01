"""The study as a whole: the same results in any number of processes, interrupted or not."""

import json

import pytest

from polyceptron.paper.convergence import Cell, run_study, study
from polyceptron.paper.convergence.searches import list_searches
from polyceptron.paper.results_log import read_results

GRID = [Cell(d=2, K=K, margin=0.05, N=30, digits=6) for K in (2, 3)]


@pytest.fixture(scope="module", autouse=True)
def tiny():
    """A study of two cells, and of the searches the shortest."""
    keep = list_searches(quick=True)[:3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "list_cells", lambda **_: GRID)
        patch.setattr(study, "list_searches", lambda **_: keep)
        patch.setitem(study._RUNS, True, 12)
        patch.setitem(study._LIMIT, True, 200)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder, calls = tmp_path_factory.mktemp("whole"), []
    found = run_study(folder, quick=True, progress=lambda *count: calls.append(count))
    assert calls == [(n, 51) for n in range(52)]
    return folder, found


def written(folder):
    """All results as they are in the files, in one order."""
    names = (study.RUNS_FILE, study.SEARCHES_FILE)
    return sorted(
        json.dumps(record) for name in names for record in read_results(folder / name, dict)[1]
    )

"""The study as a whole: the same results, interrupted or not."""

import pytest

from polyceptron.paper.convergence import run_study, study
from polyceptron.paper.convergence.exact import list_searches
from polyceptron.paper.convergence.runs import ROW_ORDERS, Cell
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.results_log import ResultsLogError

GRID = [Cell(d=2, K=K, margin=0.05, N=30, digits=6) for K in (2, 3)]


@pytest.fixture(autouse=True)
def tiny():
    """A study of two cells, and of the searches the shortest."""
    keep = list_searches(quick=True)[:3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "list_cells", lambda **_: GRID)
        patch.setattr(study, "list_searches", lambda **_: keep)
        patch.setitem(study._RUNS, True, 12)
        patch.setitem(study._LIMIT, True, 200)
        yield


def interrupt(done, _total):
    if done == 40:
        raise KeyboardInterrupt


def test_interrupted_and_resumed_ends_with_the_same_results(tmp_path):
    calls = []
    whole = run_study(tmp_path / "whole", quick=True, progress=lambda *n: calls.append(n))
    assert calls == [(n, 51) for n in range(52)]
    loaded = Study.load(tmp_path / "whole")
    assert loaded == whole
    assert {run.order for run in whole.runs} == set(ROW_ORDERS)
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "part", quick=True, progress=interrupt)
    with (tmp_path / "part" / study.RUNS_FILE).open("a") as file:
        file.write('{"d": 2, "K"')  # torn by a kill
    with pytest.raises(ResultsLogError, match="--resume"):
        run_study(tmp_path / "part", quick=True)
    calls.clear()
    options = {"quick": True, "resume": True, "progress": lambda *n: calls.append(n)}
    done = run_study(tmp_path / "part", **options)
    assert calls[0] == (40, 51)
    assert sorted(done.runs, key=lambda run: run.key) == whole.runs
    assert done.searches == whole.searches
    with pytest.raises(ResultsLogError, match="another seed"):
        run_study(tmp_path / "part", seed=1, **options)
    other = run_study(tmp_path / "part", quick=True, overwrite=True, seed=1)
    assert other.header["seed"] == 1
    assert other.runs != whole.runs

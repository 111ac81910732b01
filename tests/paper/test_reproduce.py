"""The paper's table measured again: resumed, killed, whatever the jobs, the same accuracies."""

import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

from polyceptron.paper.reproduce import measure_table, read_folds
from polyceptron.paper.results_log import ResultsLogError, read_results

SMALL = {"datasets": ["breast-cancer"], "methods": ["logistic", "cart"], "repetitions": 1}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return folder, measure_table(folder, **SMALL)


def without_times(folder):
    _, records = read_results(folder / "folds.jsonl", dict)
    for record in records:
        del record["seconds"], record["tuning_seconds"], record["at"]
    return sorted(records, key=lambda record: json.dumps(record, sort_keys=True))


def test_files(small):
    folder, table = small
    assert {path.name for path in folder.iterdir()} == {"folds.jsonl", "table1.csv", "table1.tex"}
    header, records = read_results(folder / "folds.jsonl", dict)
    assert header["seed"] == 0
    assert {"python", "polyceptron", "numpy", "scikit-learn", "numba"} <= set(header["versions"])
    assert len(records) == 20
    assert read_folds(folder / "folds.jsonl")[0] == table


def test_resume_measures_only_what_is_missing(small, tmp_path):
    folder, table = small
    lines = (folder / "folds.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "folds.jsonl").write_bytes(b"".join(lines[:18]) + lines[18][:20])
    calls = []
    found = measure_table(tmp_path, resume=True, progress=lambda *n: calls.append(n), **SMALL)
    assert calls == [(n, 20) for n in range(17, 21)]
    assert without_times(tmp_path) == without_times(folder)
    assert [row.accuracy for row in found.rows] == [row.accuracy for row in table.rows]


def test_more_repetitions_are_added(small, tmp_path):
    (tmp_path / "folds.jsonl").write_bytes((small[0] / "folds.jsonl").read_bytes())
    more = {"datasets": ["breast-cancer"], "methods": ["cart"], "repetitions": 2}
    table = measure_table(tmp_path, resume=True, **more)
    assert [(row.method.key, row.repetitions) for row in table.rows] == [("cart", 2)]
    assert len(read_results(tmp_path / "folds.jsonl", dict)[1]) == 30
    # The files have all results of the folder, not only those asked for.
    assert "Logistic" in (tmp_path / "table1.csv").read_text()


def test_results_of_another_protocol_are_refused(small, tmp_path):
    text = (small[0] / "folds.jsonl").read_text()
    for name in ("protocol", "source"):
        digest = json.loads(text.splitlines()[0])[name]
        (tmp_path / "folds.jsonl").write_text(text.replace(digest, "0" * 64))
        with pytest.raises(ResultsLogError, match=f"another {name}"):
            measure_table(tmp_path, resume=True, **SMALL)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"method": "logistic"', '"method": "forest"', "line 2: methods: 'forest' is not one of"),
        ('"right": ', '"wrong": ', "line 2: Object missing required field `right`"),
        ('"repetition": 0', '"repetition": "zero"', r"line 2: Expected `int`.*\$.repetition"),
        ('"rows": ', '"rows": 0, "old": ', r"line 2: Expected `int` >= 1.*\$.rows"),
    ],
)
def test_damaged_results(small, tmp_path, before, after, message):
    head, line, *rest = (small[0] / "folds.jsonl").read_text().splitlines(keepends=True)
    assert before in line
    text = head + line.replace(before, after) + "".join(rest)
    (tmp_path / "folds.jsonl").write_text(text)
    with pytest.raises(ResultsLogError, match=message):
        measure_table(tmp_path, resume=True, **SMALL)
    with pytest.raises(ResultsLogError, match=message):
        read_folds(tmp_path / "folds.jsonl")


def test_no_header_of_ours(tmp_path):
    (tmp_path / "folds.jsonl").write_text('{"kind": "else"}\n')
    with pytest.raises(ResultsLogError, match="line 1: no header of results of"):
        read_folds(tmp_path / "folds.jsonl")


def test_no_repetition(tmp_path):
    with pytest.raises(ValueError, match="repetitions must be 1 to 1000"):
        measure_table(tmp_path, repetitions=0)


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_killed_and_resumed_in_two_processes_ends_with_the_same_table(small, tmp_path):
    program = f"""if __name__ == "__main__":
        import os, pathlib, psutil, signal
        from polyceptron.paper.reproduce import measure_table

        def kill(done, total):
            if done == 3:
                children = [str(child.pid) for child in psutil.Process().children()]
                pathlib.Path({str(tmp_path / "children")!r}).write_text(" ".join(children))
                os.kill(os.getpid(), signal.SIGKILL)

        measure_table({str(tmp_path)!r}, jobs=2, progress=kill, **{SMALL!r})
    """
    run = subprocess.run([sys.executable, "-c", program], check=False)
    assert run.returncode == -signal.SIGKILL
    workers, deadline = (tmp_path / "children").read_text().split(), time.monotonic() + 120
    assert len(workers) >= 2
    while any(alive(int(pid)) for pid in workers):
        assert time.monotonic() < deadline, "workers outlive the run"
        time.sleep(0.05)
    assert len(read_results(tmp_path / "folds.jsonl", dict)[1]) == 3
    table = measure_table(tmp_path, resume=True, **SMALL)
    assert without_times(tmp_path) == without_times(small[0])
    assert [row.accuracy for row in table.rows] == [row.accuracy for row in small[1].rows]

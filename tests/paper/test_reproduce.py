"""The paper's table measured again: the same folds for all, resumed, whatever the jobs."""

import csv
import gzip
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from polyceptron.paper import folds as folds_module
from polyceptron.paper.folds import Task, hyperplanes_of, measure, plan, repetition_of
from polyceptron.paper.journal import JournalError, read_journal
from polyceptron.paper.protocol import load_protocol
from polyceptron.paper.reproduce import read_table, reproduce
from polyceptron.paper.table import (
    Measured,
    escape_latex,
    tabulate,
    to_csv,
    to_latex,
    to_markdown,
)

SMALL = {"datasets": ["breast-cancer"], "methods": ["batch", "logistic"], "repetitions": 1}


@pytest.fixture(scope="module")
def protocol():
    return load_protocol()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return folder, reproduce(folder, **SMALL)


def without_times(folder):
    _, records = read_journal(folder / "folds.jsonl")
    for record in records:
        del record["seconds"], record["tuning_seconds"], record["at"]
    return sorted(records, key=lambda record: json.dumps(record, sort_keys=True))


def record(dataset, method, repetition, fold, right, rows=100, seconds=0.1, hyperplanes=2):
    return {
        "dataset": dataset, "method": method, "repetition": repetition, "fold": fold,
        "right": right, "rows": rows, "seconds": seconds, "tuning_seconds": 0.0,
        "hyperplanes": hyperplanes,
    }  # fmt: skip


def children_of(pid):
    """The children of a process: number, and when each was started."""
    tasks = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    numbers = tasks.read_text().split() if tasks.exists() else []
    return [(number, status_of(number)[19]) for number in numbers]


def status_of(pid):
    """The fields after the name: the first is the state, the twentieth the start."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z"] * 20


def alive(child):
    """Whether a process is still there, and not another of its number."""
    pid, begun = child
    status = status_of(pid)
    return status[0] != "Z" and status[19] == begun


class TestProtocol:
    def test_the_papers_table(self, protocol):
        """Some cells as the paper prints them."""
        printed = protocol.datasets["dataset2"].printed
        assert (printed["batch"].accuracy, printed["batch"].spread) == (94.56, 0.90)
        assert printed["pcslp"].seconds == 189.91
        assert protocol.datasets["breast-cancer"].printed["oc1"].hyperplanes == 5.82
        assert [d.K for d in protocol.datasets.values()] == [3, 4, 2, 2]
        assert [d.passes for d in protocol.datasets.values()] == [300, 400, 500, 500]
        assert (protocol.folds, protocol.repetitions) == (10, 10)

    def test_every_method_builds_with_one_thread_and_its_seed(self, protocol):
        dataset = protocol.datasets["dataset2"]
        for method in protocol.methods.values():
            known = method.build(dataset, 7).get_params()
            assert not {known[name] for name in known if name.endswith("n_jobs")} - {1, None}
            assert {known[name] for name in known if name.endswith("random_state")} <= {7}
            assert set(method.search_grid()) <= set(known)
        online = protocol.methods["online-paper"].build(dataset, 0)
        assert (online.n_hyperplanes, online.max_iter, online.shuffle) == (4, 400, False)

    def test_paper_settings_are_the_papers(self, protocol):
        batch = protocol.methods["batch-paper"].build(protocol.datasets["dataset1"], 0)
        assert (batch.step_size, batch.tol, batch.margin, batch.n_init) == (0.1, 50, 0, 1)
        assert batch.standardize is False

    def test_unknown_names(self, protocol):
        with pytest.raises(ValueError, match="methods: 'rf' is not one of batch-paper"):
            protocol.choose("methods", ["batch", "rf"])
        assert protocol.choose("methods", ["oc1", "batch"]) == ["batch", "oc1"]


class TestFolds:
    def test_all_methods_have_the_same_splits(self, monkeypatch):
        """Each fold's training rows are seen by both methods, and no test row by either."""
        seen = {}
        build = folds_module.load_protocol().methods["batch"].__class__.build

        def spying(self, dataset, seed):
            model = build(self, dataset, seed)
            fit = model.fit
            key = self.key

            def fit_spied(X, y):
                seen.setdefault(key, []).append((np.array(X), np.array(y)))
                return fit(X, y)

            model.fit = fit_spied
            return model

        monkeypatch.setattr("polyceptron.paper.protocol.Method.build", spying)
        for method in ("batch", "batch-paper"):
            folds_module._warm.add((method, "ionosphere"))
            measure(Task("ionosphere", method, 0, 3), seed=5)
        (X1, y1), (X2, y2) = seen["batch"][0], seen["batch-paper"][0]
        np.testing.assert_array_equal(X1, X2)
        np.testing.assert_array_equal(y1, y2)
        bunch, splits = repetition_of(5, "ionosphere", 0)
        train, test = splits[3]
        np.testing.assert_array_equal(X1, bunch.data[train])
        assert not set(train) & set(test)

    def test_tuning_sees_training_rows_only(self, monkeypatch):
        sizes = []

        class Spy(GridSearchCV):
            def fit(self, X, y):
                sizes.append(len(X))
                return super().fit(X, y)

        monkeypatch.setattr(folds_module, "GridSearchCV", Spy)
        found = measure(Task("breast-cancer", "logistic", 0, 0), seed=0)
        assert sizes == [683 - found["rows"]]
        assert set(found["parameters"]) == {"C", "max_iter"}
        assert found["tuning_seconds"] > 0

    def test_draws_and_folds_change_with_repetition_and_seed(self):
        first, splits = repetition_of(0, "dataset1", 0)
        for other, other_splits in (
            repetition_of(0, "dataset1", 1),
            repetition_of(1, "dataset1", 0),
        ):
            assert not np.array_equal(first.data, other.data)
            assert not np.array_equal(splits[0][1], other_splits[0][1])
        test_rows = np.sort(np.concatenate([test for _, test in splits]))
        np.testing.assert_array_equal(test_rows, np.arange(1000))

    def test_plan_is_whole_repetitions_first(self, protocol):
        tasks = plan(protocol, ["dataset1", "ionosphere"], ["batch", "oc1"], 2)
        assert len(tasks) == len(set(tasks)) == 2 * 2 * 2 * 10
        assert [task.repetition for task in tasks] == [0] * 40 + [1] * 40

    @pytest.mark.parametrize(
        ("method", "count"), [("batch", 2), ("logistic", 1), ("svm", None), ("cart", 1)]
    )
    def test_hyperplanes(self, protocol, method, count):
        model = protocol.methods[method].build(protocol.datasets["breast-cancer"], 0)
        X = np.array([[0.0, 0], [0, 1], [3, 0], [3, 1]] * 5)
        assert hyperplanes_of(model.fit(X, X[:, 0] > 1)) == count


class TestReproduce:
    def test_same_accuracies_whatever_the_jobs(self, small, tmp_path):
        reproduce(tmp_path, jobs=2, **SMALL)
        assert without_times(tmp_path) == without_times(small[0])

    def test_another_seed_is_another_result(self, small, tmp_path):
        reproduce(tmp_path, seed=1, **SMALL)
        assert without_times(tmp_path) != without_times(small[0])

    def test_files(self, small):
        folder, table = small
        assert {path.name for path in folder.iterdir()} == {
            "folds.jsonl", "table1.csv", "table1.tex",
        }  # fmt: skip
        header, records = read_journal(folder / "folds.jsonl")
        assert header["seed"] == 0
        assert {"python", "polyceptron", "numpy", "scikit-learn", "numba"} <= set(
            header["versions"]
        )
        assert len(records) == 20
        again, _ = read_table(folder)
        assert again == table

    def test_resume_measures_only_what_is_missing(self, small, tmp_path):
        folder, table = small
        lines = (folder / "folds.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / "folds.jsonl").write_bytes(b"".join(lines[:8]) + lines[8][:20])
        calls = []
        found = reproduce(tmp_path, resume=True, report=lambda *n: calls.append(n), **SMALL)
        assert calls == [(n, 20) for n in range(7, 21)]
        assert without_times(tmp_path) == without_times(folder)
        assert [row.accuracy for row in found.rows] == [row.accuracy for row in table.rows]

    def test_more_repetitions_and_methods_are_added(self, small, tmp_path):
        (tmp_path / "folds.jsonl").write_bytes((small[0] / "folds.jsonl").read_bytes())
        more = {"datasets": ["breast-cancer"], "methods": ["batch"], "repetitions": 2}
        table = reproduce(tmp_path, resume=True, **more)
        assert [(row.method.key, row.repetitions) for row in table.rows] == [("batch", 2)]
        assert len(read_journal(tmp_path / "folds.jsonl")[1]) == 30

    def test_results_of_another_protocol_are_refused(self, small, tmp_path):
        text = (small[0] / "folds.jsonl").read_text()
        for name in ("protocol", "source"):
            digest = json.loads(text.splitlines()[0])[name]
            (tmp_path / "folds.jsonl").write_text(text.replace(digest, "0" * 64))
            with pytest.raises(JournalError, match=f"another {name}"):
                reproduce(tmp_path, resume=True, **SMALL)

    @pytest.mark.parametrize(
        ("before", "after", "message"),
        [
            ('"method": "batch"', '"method": "forest"', "line 2: method 'forest' is not one of"),
            ('"right": ', '"wrong": ', "line 2: right is None"),
            ('"repetition": 0', '"repetition": "zero"', "line 2: repetition is 'zero'"),
        ],
    )
    def test_records_that_are_none(self, small, tmp_path, before, after, message):
        head, line, *rest = (small[0] / "folds.jsonl").read_text().splitlines(keepends=True)
        assert before in line
        text = head + line.replace(before, after) + "".join(rest)
        (tmp_path / "folds.jsonl").write_text(text)
        with pytest.raises(JournalError, match=message):
            reproduce(tmp_path, resume=True, **SMALL)
        with pytest.raises(JournalError, match=message):
            read_table(tmp_path)

    def test_no_header_of_ours(self, tmp_path):
        (tmp_path / "folds.jsonl").write_text('{"kind": "else"}\n')
        with pytest.raises(JournalError, match="line 1: no header of results of"):
            read_table(tmp_path)

    def test_files_have_all_results_of_the_folder(self, small, tmp_path):
        (tmp_path / "folds.jsonl").write_bytes((small[0] / "folds.jsonl").read_bytes())
        part = {**SMALL, "methods": ["batch"]}
        assert len(reproduce(tmp_path, resume=True, **part).rows) == 1
        assert (tmp_path / "table1.csv").read_text() == (small[0] / "table1.csv").read_text()

    def test_killed_and_resumed_ends_with_the_same_table(self, small, tmp_path):
        program = textwrap.dedent(
            f"""
            from polyceptron.paper.reproduce import reproduce
            if __name__ == "__main__":
                reproduce({str(tmp_path)!r}, jobs=2, resume=True, **{SMALL!r})
            """
        )
        path = tmp_path / "folds.jsonl"
        for wanted in (2, 9):
            with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as run:
                deadline = time.monotonic() + 60
                while not path.exists() or path.read_bytes().count(b"\n") < wanted:
                    assert run.poll() is None, run.stderr.read().decode()
                    assert time.monotonic() < deadline
                    time.sleep(0.005)
                workers = children_of(run.pid)
                os.kill(run.pid, signal.SIGKILL)
            deadline = time.monotonic() + 30
            while any(map(alive, workers)):
                assert time.monotonic() < deadline, "workers outlive the run"
                time.sleep(0.05)
        assert len(read_journal(path)[1]) < 20
        table = reproduce(tmp_path, resume=True, **SMALL)
        assert without_times(tmp_path) == without_times(small[0])
        assert [row.accuracy for row in table.rows] == [row.accuracy for row in small[1].rows]

    def test_no_repetition(self, tmp_path):
        with pytest.raises(ValueError, match="repetitions must be 1 to 1000"):
            reproduce(tmp_path, repetitions=0)


class TestStored:
    def test_the_stored_results_give_the_stored_table(self, protocol):
        """docs/reproduction.md and its CSV say what docs/results/folds.jsonl.gz holds."""
        docs = pathlib.Path(__file__).parents[2] / "docs"
        content = gzip.decompress((docs / "results" / "folds.jsonl.gz").read_bytes())
        _, *records = map(json.loads, content.splitlines())
        table = tabulate(protocol, records)
        assert len(records) == 4 * 11 * 100
        assert to_markdown(table) in (docs / "reproduction.md").read_text(encoding="utf-8")
        assert to_csv(table) == (docs / "results" / "table1.csv").read_text(encoding="utf-8")

    def test_what_the_defaults_reach(self, protocol):
        docs = pathlib.Path(__file__).parents[2] / "docs"
        with (docs / "results" / "table1.csv").open(encoding="utf-8") as file:
            rows = {(row["dataset"], row["method"]): row for row in csv.DictReader(file)}
        for dataset in protocol.datasets.values():
            batch = rows[dataset.title, "BatchPolyceptron, our defaults"]
            less = 1.6 if dataset.key == "breast-cancer" else 0.0
            assert float(batch["accuracy"]) >= dataset.printed["batch"].accuracy - less
            online = rows[dataset.title, "OnlinePolyceptron, our defaults"]
            assert float(online["accuracy"]) > dataset.printed["online"].accuracy


class TestTable:
    def test_means_and_spreads_over_repetitions(self, protocol):
        table = tabulate(
            protocol,
            [
                record("ionosphere", "batch", 0, 0, 90, seconds=0.1),
                record("ionosphere", "batch", 0, 1, 45, rows=50, seconds=0.3),
                record("ionosphere", "batch", 1, 0, 96, seconds=0.4),
                record("ionosphere", "batch-paper", 0, 0, 80, seconds=0.05),
            ],
        )
        row = table.row("ionosphere", "batch")
        assert row.accuracy.mean == pytest.approx((90 + 96) / 2)
        assert row.accuracy.spread == pytest.approx(np.std([90, 96], ddof=1))
        assert row.seconds.mean == pytest.approx(0.3)
        assert row.ratio == pytest.approx(6)
        assert row.printed_ratio == 1
        assert (row.repetitions, row.folds) == (2, 3)
        assert row.hyperplanes == Measured(2, 0)
        assert table.row("ionosphere", "batch-paper").accuracy == Measured(80, None)
        assert table.row("dataset1", "batch") is None

    def test_below_is_more_than_two_standard_deviations(self, protocol):
        def of(*rights):
            records = [record("breast-cancer", "batch", n, 0, r) for n, r in enumerate(rights)]
            return tabulate(protocol, records).rows[0]

        assert of(97, 97).below  # 98.52 - 2 * 0.09 is more
        assert "449 of the 683" in of(97, 97).reason
        assert protocol.reason("pcslp", "breast-cancer") is None
        assert not of(99, 99).below
        assert not of(95, 100).below  # it may be chance
        assert not tabulate(protocol, [record("breast-cancer", "svm", 0, 0, 50)]).rows[0].below

    def test_csv(self, protocol):
        table = tabulate(
            protocol,
            [
                record("breast-cancer", "svm", 0, 0, 97, hyperplanes=None),
                record("breast-cancer", "batch", 0, 0, 97),
            ],
        )
        batch, svm = csv.DictReader(io.StringIO(to_csv(table)))
        assert (float(batch["accuracy"]), batch["below_paper"]) == (97, "yes")
        assert float(batch["paper_accuracy"]) == 98.52
        assert (svm["hyperplanes"], svm["paper_accuracy"], svm["below_paper"]) == ("", "", "")

    def test_markdown(self, protocol):
        records = [record("breast-cancer", "batch", n, 0, 97) for n in (0, 1)]
        text = to_markdown(tabulate(protocol, [*records, record("dataset1", "svm", 0, 0, 93)]))
        assert text.splitlines()[2:] == [
            "| RBF-SVM | 93.00, 100.0 ms |  |",
            "| BatchPolyceptron, our defaults |  | ▼ 97.00 ± 0.00 (98.52), 100.0 ms |",
        ]

    def test_latex(self, protocol):
        text = to_latex(tabulate(protocol, [record("dataset1", "batch", n, 0, 97) for n in (0, 1)]))
        assert r"Dataset 1 & BatchPolyceptron, our defaults & $97.00 \pm 0.00$" in text
        assert text.count("&") == 9 * 2
        assert escape_latex("a_b & 50% {x} \\ ^~#$") == (
            r"a\_b \& 50\% \{x\} \textbackslash{} \textasciicircum{}\textasciitilde{}\#\$"
        )

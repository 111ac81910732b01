"""`fit` of rows that stay on disk, and of fits that are stopped."""

import gzip
import json
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from cli_files import QUICK, done, failed, people, run, text_of
from polyceptron import Checkpoint, load_model
from polyceptron.cli._data import is_out_of_core, memory
from polyceptron.cli._options import as_bytes
from polyceptron.optim.checkpoint import FitJournal

BATCH = ("-l", "batch", "-k", 2)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "people.csv").write_text(text_of(people(150)))
    return tmp_path / "people.csv"


def model_of(path):
    """What a model file says of the polyhedron, not of how it came about."""
    found = json.loads(path.read_text())
    return found["rule"], found["features"], found["encoding"]


class TestOutOfCore:
    @pytest.mark.parametrize("learner", [BATCH, ("-l", "online"), ("-k", 2)])
    def test_the_model_is_that_of_rows_in_memory(self, tmp_path, data, learner):
        ask = ("fit", data, "-t", "class", *learner, "-o")
        memory = done(*ask, tmp_path / "a.json", "--in-memory")
        disk = done(*ask, tmp_path / "b.json", "--out-of-core")
        assert model_of(tmp_path / "a.json") == model_of(tmp_path / "b.json")
        # The same report, but for the advice to cross-validate.
        lines = [text.replace("a.json", "b.json").splitlines() for text in (memory, disk)]
        same = [a == b for a, b in zip(*lines, strict=True)]
        assert [lines[1][i][:9] for i, equal in enumerate(same) if not equal] == ["Accuracy:"]
        summary = [json.loads((tmp_path / n).read_text())["summary"] for n in ("a.json", "b.json")]
        for name in ("target", "rows", "classes", "accuracy"):
            assert summary[0][name] == summary[1][name]
        answers = [done("predict", tmp_path / n, data) for n in ("a.json", "b.json")]
        assert answers[0] == answers[1]

    def test_a_folder_and_a_pattern(self, tmp_path):
        rows = people(300)
        (tmp_path / "parts").mkdir()
        for i in range(3):
            part = rows[100 * i : 100 * (i + 1)]
            columns = {n: [row[j] for row in part] for j, n in enumerate(["age", "dose"])}
            columns["class"] = [row[3] for row in part]
            pq.write_table(pa.table(columns), tmp_path / "parts" / f"part-{i}.parquet")
        for name, where in [
            ("a", tmp_path / "parts"),
            ("b", tmp_path / "parts" / "part-*.parquet"),
        ]:
            text = done("fit", where, "-t", "class", *BATCH, "-o", tmp_path / f"{name}.json")
            assert text.startswith("Rows: 300 ")
        assert model_of(tmp_path / "a.json") == model_of(tmp_path / "b.json")
        done("fit", tmp_path / "parts", "-t", "class", *BATCH, "--in-memory", "-o", tmp_path / "c")
        assert model_of(tmp_path / "a.json") == model_of(tmp_path / "c")

    def test_large_files_stay_on_disk(self, tmp_path, data, monkeypatch):
        ask = ("fit", data, "-t", "class", *BATCH, "-o", tmp_path / "m.json", "--force")
        cache = tmp_path / "cache"
        monkeypatch.setenv("POLYCEPTRON_CACHE", str(cache))
        done(*ask)
        assert not cache.exists()
        done(*ask, "--memory-limit", "1kB")
        assert cache.exists()
        assert "room in memory" in failed(*ask, "--memory-limit", "1kB", "--in-memory")

    def test_the_cache_may_be_elsewhere(self, tmp_path, data):
        done(
            "fit", data, "-t", "class", *BATCH, "-o", tmp_path / "m.json", "--out-of-core",
            "--cache-dir", tmp_path / "cache",
        )  # fmt: skip
        assert (tmp_path / "cache").is_dir()

    def test_a_name_may_have_a_comma(self, tmp_path):
        (tmp_path / "d.csv").write_text(text_of(people(60), ("age", "dose, mg", "colour", "class")))
        ask = ("fit", tmp_path / "d.csv", "-t", "class", *BATCH, "--drop", "dose, mg", "-o")
        done(*ask, tmp_path / "a.json")
        done(*ask, tmp_path / "b.json", "--out-of-core")
        assert model_of(tmp_path / "a.json") == model_of(tmp_path / "b.json")

    def test_rows_without_names(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 3))
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", (X[:, 0] > 0).astype(int))
        done(
            "fit", tmp_path / "X.npy", "-t", tmp_path / "y.npy", *BATCH, "--out-of-core",
            "-o", tmp_path / "m.json",
        )  # fmt: skip
        assert np.mean(load_model(tmp_path / "m.json").predict(X) == (X[:, 0] > 0)) > 0.95

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["-l", "pcslp"],
                "--learner pcslp needs the rows in memory; these do not: polyceptron",
            ),
            (["--cv", "3"], "--test-size and --cv need the rows in memory (--in-memory)"),
            (["--test-size", ".2"], "--test-size and --cv need the rows in memory (--in-memory)"),
            (["--memory-limit", "much"], "'much' is not a size such as 1.5GB"),
        ],
    )
    def test_what_needs_memory(self, tmp_path, data, options, message):
        ask = ("fit", data, "-t", "class", "--out-of-core", "-o", tmp_path / "m.json")
        assert message in " ".join(failed(*ask, *options, code=2).split())
        assert not (tmp_path / "m.json").exists()

    def test_standard_input(self, tmp_path):
        ask = ("fit", "-", "-t", "class", "--out-of-core", "-o", tmp_path / "m.json")
        assert "can be read only once" in failed(*ask, stdin=text_of(people(20)), code=2)

    def test_three_classes(self, tmp_path):
        rows = [[*row[:3], f"c{i % 3}"] for i, row in enumerate(people(60))]
        (tmp_path / "d.csv").write_text(text_of(rows))
        models, told = [], []
        for where in ("--in-memory", "--out-of-core"):
            ask = ("fit", tmp_path / "d.csv", "-t", "class", where, "-o", tmp_path / "m.json")
            told.append(
                done(*ask, "-k", 1, "--force").replace(" (--cv 10 tells that of new rows)", "")
            )
            models.append((tmp_path / "m.json").read_text())
            error = failed(*ask, "-l", "batch", "--force", code=2)
            assert "--learner batch learns two classes, and there are 3" in error
        assert models[0] == models[1]
        assert told[0] == told[1]

    def test_what_is_usual_in_a_column_is_that_of_the_same_rows(self, tmp_path, data, monkeypatch):
        monkeypatch.setattr("polyceptron.cli._fit._TYPICAL_ROWS", 30)
        models = set()
        for where in ("--in-memory", "--out-of-core"):
            ask = ("fit", data, "-t", "class", *BATCH, where, "-o", tmp_path / "m.json", "--force")
            done(*ask)
            models.add((tmp_path / "m.json").read_text())
        assert len(models) == 1

    def test_every_command_reads_every_format(self, tmp_path, data):
        done("fit", data, "-t", "class", *BATCH, "--drop", "colour", "-o", tmp_path / "m.json")
        rows = people(50)
        columns = {n: [row[j] for row in rows] for j, n in enumerate(["age", "dose"])}
        columns["class"] = [row[3] for row in rows]
        pa.feather.write_feather(pa.table(columns), tmp_path / "d.feather")
        np.savez(tmp_path / "d.npz", **columns)
        (tmp_path / "d.csv").write_text(text_of([[*r[:2], r[3]] for r in rows], tuple(columns)))
        for command in ("predict", "evaluate", "explain"):
            found = {
                name: done(command, tmp_path / "m.json", tmp_path / name).replace(name, "")
                for name in ("d.feather", "d.npz", "d.csv")
            }
            assert found["d.feather"] == found["d.npz"]
            assert found["d.feather"].split("\n")[1:] == found["d.csv"].split("\n")[1:]


class TestMemory:
    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("1.5GB", 15 * 10**8),
            ("800M", 8 * 10**8),
            ("2 kib", 2000),
            ("7", 7),
            (".5t", 5 * 10**11),
        ],
    )
    def test_sizes(self, text, size):
        assert as_bytes(text) == size

    def test_a_quarter_unless_asked(self, tmp_path):
        data = str(tmp_path / "d")
        (tmp_path / "d").write_bytes(bytes(1000))
        assert is_out_of_core(data, None, 3999)
        assert not is_out_of_core(data, None, 4000)
        assert not is_out_of_core(data, None, None)
        assert is_out_of_core(data, True, None)
        assert not is_out_of_core("-", None, 1)
        assert 10**8 < memory() < 10**15


def test_rows_beyond_the_memory(tmp_path):
    """However small the file is that they come from."""
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write("a,b,y\n" + "1,2,0\n3,4,1\n" * 20_000)
    ask = ("fit", tmp_path / "d.csv.gz", "-t", "y", *BATCH, "-o", tmp_path / "m.json")
    message = failed(*ask, "--in-memory", "--memory-limit", "1MB")
    assert "the rows take more than 0.00025 GB" in message
    assert "--out-of-core leaves them on disk" in message
    assert not (tmp_path / "m.json").exists()
    done(*ask, "--out-of-core", "--memory-limit", "1MB")


class TestResume:
    def ask(self, data, tmp_path, *more):
        return ("fit", data, "-t", "class", *BATCH, "-o", tmp_path / "m.json", *more)

    @pytest.fixture
    def stopped(self, data, tmp_path, monkeypatch):
        """A fit that was stopped after some iterations."""

        def write_and_stop(journal, write=FitJournal.write):
            write(journal)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Checkpoint, "seconds", 0.0)
            patched.setattr(FitJournal, "_is_time", lambda journal: journal._steps > 5)
            patched.setattr(FitJournal, "write", write_and_stop)
            assert run(*self.ask(data, tmp_path)).exit_code == 1
        assert (tmp_path / "m.json.checkpoint").exists()
        assert not (tmp_path / "m.json").exists()

    @pytest.mark.usefixtures("stopped")
    def test_it_goes_on(self, data, tmp_path):
        error = failed(*self.ask(data, tmp_path))
        assert "a fit was stopped; --resume goes on with it, --force begins anew" in error
        done(*self.ask(data, tmp_path, "--resume"))
        assert not (tmp_path / "m.json.checkpoint").exists()
        found = model_of(tmp_path / "m.json")
        done(*self.ask(data, tmp_path, "--force"))
        assert model_of(tmp_path / "m.json") == found

    @pytest.mark.usefixtures("stopped")
    def test_another_fit_is_refused(self, data, tmp_path):
        error = failed(*self.ask(data, tmp_path, "--resume", "-k", 3))
        assert "m.json.checkpoint: a checkpoint of another fit: n_hyperplanes was 2, is 3" in error
        assert (tmp_path / "m.json.checkpoint").exists()
        done(*self.ask(data, tmp_path, "--force", "-k", 3))
        assert not (tmp_path / "m.json.checkpoint").exists()

    @pytest.mark.parametrize("where", ["--in-memory", "--out-of-core"])
    def test_the_checkpoint_stays_until_the_model_is_there(
        self, data, tmp_path, where, monkeypatch
    ):
        with monkeypatch.context() as patched:
            patched.setattr(FitJournal, "_is_time", lambda journal: journal._checkpoint is not None)
            patched.setattr("polyceptron.cli._fit._save", lambda *_: 1 / 0)
            assert run(*self.ask(data, tmp_path, where)).exit_code == 1
        assert (tmp_path / "m.json.checkpoint").exists()
        done(*self.ask(data, tmp_path, where, "--resume"))
        assert not (tmp_path / "m.json.checkpoint").exists()

    @pytest.mark.usefixtures("stopped")
    def test_ctrl_c_says_how_to_go_on(self, data, tmp_path, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("polyceptron.cli._fit._save", stop)
        result = run(*self.ask(data, tmp_path, "--resume"))
        assert result.exit_code == 1
        assert "m.json.checkpoint has what is known so far; --resume goes on" in result.stderr

    def test_a_tree_has_none(self, data, tmp_path):
        ask = ("fit", data, "-t", "class", "-l", "oc1", "-o", tmp_path / "m.json", "--resume")
        assert "writes no checkpoint" in failed(*ask, code=2)

    def test_nothing_to_go_on_from(self, data, tmp_path):
        result = run(*self.ask(data, tmp_path, "--resume"))
        assert result.exit_code == 0
        assert "so the fit begins anew" in result.stderr

    def test_standard_output(self, data):
        error = failed("fit", data, "-t", "class", "-o", "-", "--resume", code=2)
        assert "--resume needs a model file" in error

    def test_killed(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((2_000, 8))
        y = np.where((X @ rng.standard_normal((4, 8)).T + 2).min(axis=1) >= 0, "in", "out")
        y[rng.random(len(y)) < 0.1] = "in"
        columns = {f"x{j}": X[:, j] for j in range(8)} | {"class": y}
        pq.write_table(pa.table(columns), tmp_path / "d.parquet")
        code = (
            "import os, signal, sys\n"
            "from polyceptron.cli import _fit, main\n"
            "from polyceptron.optim.checkpoint import Checkpoint, FitJournal\n"
            "_fit.with_checkpoint = lambda one, path: one.set_params(\n"
            "    checkpoint=Checkpoint(path, 0.0))\n"
            "write = FitJournal.write\n"
            "def write_and_die(journal):\n"
            "    write(journal)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "FitJournal.write = write_and_die\n"
            "sys.argv[0] = 'polyceptron'\nmain()"
        )
        path = tmp_path / "m.json"
        fit = f"fit {tmp_path / 'd.parquet'} -t class -l batch -k 4 --out-of-core -o".split()
        command = list(map(str, [sys.executable, "-c", code, *fit, path]))
        process = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "m.json.checkpoint").exists()
        assert not path.exists()
        done(*fit, path, "--resume")
        done(*fit, tmp_path / "n.json")
        assert model_of(path) == model_of(tmp_path / "n.json")
        assert not (tmp_path / "m.json.checkpoint").exists()


def test_the_cache_is_listed_and_cleared(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    where = ("--cache-dir", tmp_path / "cache")
    assert done("cache", *where).startswith("Kept: 0, 0.0 MB in ")
    ask = ("fit", tmp_path / "d.csv", "-t", "y", *QUICK, "--out-of-core", *where)
    done(*ask, "-o", tmp_path / "m.json")
    (entry,) = (tmp_path / "cache" / "polyceptron-rows").iterdir()
    head, _, line = done("cache", "--list", *where).splitlines()
    assert head.startswith("Kept: 1, ")
    assert line.split() == [entry.name, "40", "0.0", "0"]
    (entry.parent / "other").write_text("not ours")
    assert done("cache", "--clear", *where).startswith("Removed: 1 of ")
    assert [path.name for path in entry.parent.iterdir()] == ["other"]
    assert "exclude each other" in failed("cache", "--list", "--clear", code=2)

"""The command line: what it prints, its exit codes, its errors in one line."""

import io
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from cli_files import run
from polyceptron.cli._paper import print_table
from polyceptron.paper.reproduce import read_folds
from polyceptron.paper.results_log import read_results

SMALL = ["--datasets", "breast-cancer", "--methods", "batch,cart", "--repetitions", "1", "-j", "1"]


class TestApp:
    def test_help_lists_the_commands(self):
        result = run("--help")
        assert result.exit_code == 0
        assert "reproduce" in result.output
        assert "study" in result.output

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys\nfrom polyceptron.cli import main\n"
            "sys.argv = ['polyceptron', '--help']\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\n"
            "heavy = {'numpy', 'sklearn', 'numba', 'matplotlib', 'rich'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    def test_as_a_module(self):
        done = subprocess.run(
            [sys.executable, "-m", "polyceptron", "--version"],
            capture_output=True,
            check=True,
            text=True,
        )
        assert done.stdout.startswith("polyceptron ")

    def test_usage_errors_are_2(self):
        assert run("nonsense").exit_code == 2
        assert run("reproduce", "--repetitions", "0").exit_code == 2
        assert run("reproduce", "--quick", "--repetitions", "3").exit_code == 2
        assert run("reproduce", "--resume", "--overwrite").exit_code == 2


class TestReproduce:
    def test_table_and_report(self, tmp_path, monkeypatch):
        few = {"criterion": 1, "mistakes": 1}
        monkeypatch.setattr("polyceptron.paper.report.page.STARTS", few)
        result = run("reproduce", *SMALL, "--out", tmp_path)
        assert result.exit_code == 0, result.output
        assert "Breast-Cancer" in result.output
        assert "98.52±0.09" in result.output
        assert f"Report: {tmp_path.resolve() / 'report.html'}" in result.output
        assert "\x1b[" not in result.output  # no colours where it is no terminal
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"folds.jsonl", "table1.csv", "table1.tex", "report.html"}
        again = run("reproduce", *SMALL, "--out", tmp_path)
        assert again.exit_code == 1
        assert "20 results are there already; --resume" in again.stderr
        assert len(again.stderr.splitlines()) == 1
        assert run("reproduce", *SMALL, "--out", tmp_path, "--resume").exit_code == 0

    def test_narrow_terminals_lose_columns_not_digits(self):
        docs = pathlib.Path(__file__).parents[2] / "docs" / "results" / "folds.jsonl.gz"
        table = read_folds(docs)[0]
        for width in (45, 56, 70, 80, 120):
            console = Console(width=width, record=True, file=io.StringIO())
            print_table(table, console)
            text = console.export_text()
            assert "…" not in text
            assert max(map(len, text.splitlines())) <= width
            assert ("hyperpl." in text) == (width >= 80)

    def test_names_that_name_nothing(self, tmp_path):
        assert run("reproduce", "--methods", ",", "--out", tmp_path).exit_code == 2

    def test_unknown_method(self, tmp_path):
        result = run("reproduce", "--methods", "batch, forest", "--out", tmp_path)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("Error: methods: 'forest' is not one of batch-paper, ")

    def test_a_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = run("reproduce", *SMALL, "--out", tmp_path / "file" / "x")
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert str(tmp_path / "file") in result.stderr

    def test_missing_parts_are_said_first(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "highspy", None)
        result = run("reproduce", *SMALL, "--out", tmp_path)
        assert result.exit_code == 1
        assert re.search(r"needs highspy: pip install -e '.*\[report\]'", result.stderr)
        assert not list(tmp_path.iterdir())

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
    def test_interrupted_keeps_what_is_there_and_says_how_to_go_on(self, tmp_path):
        """As a user's Ctrl-C on a terminal: the whole group of processes is interrupted."""
        command = [sys.executable, "-m", "polyceptron", "reproduce", "--out", str(tmp_path)]
        command += ["--datasets", "breast-cancer", "--methods", "logistic", "-j", "2"]
        command += ["--repetitions", "100"]  # too many to be done before the interrupt
        ours, theirs = pty.openpty()
        # Who started the tests may ignore Ctrl-C; what is handled here is not ignored there.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        with subprocess.Popen(
            command, stdout=theirs, stderr=theirs, stdin=theirs, start_new_session=True
        ) as process:
            signal.signal(signal.SIGINT, before)
            os.close(theirs)
            path, deadline = tmp_path / "folds.jsonl", time.monotonic() + 120
            shown = b""
            try:
                while not path.exists() or path.read_bytes().count(b"\n") < 3:
                    assert time.monotonic() < deadline, shown.decode()
                    shown += drain(ours)
                os.killpg(process.pid, signal.SIGINT)
                while process.poll() is None:
                    assert time.monotonic() < deadline, shown.decode()
                    shown += drain(ours)
            finally:
                process.kill()
            shown += drain(ours)
        os.close(ours)
        text = shown.decode()
        assert process.returncode == 130, text
        n = len(read_results(path, dict)[1])
        assert n >= 2
        assert f"Interrupted; {n} of 1000 results are kept" in text
        assert f"polyceptron {shlex.join([*command[3:], '--resume'])}" in text
        assert "Traceback" not in text
        assert "Measuring folds" in text  # the bar


def drain(terminal):
    ready, _, _ = select.select([terminal], [], [], 0.05)
    try:
        return os.read(terminal, 65536) if ready else b""
    except OSError:  # the other side is closed
        return b""

"""What commands write: whole or not there, never over others by accident."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import click
import pytest

from cli_files import QUICK, done, failed, run
from polyceptron.cli import app
from polyceptron.utils import atomic


def test_what_is_read_is_not_written_over(folder, tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.json"
    for path, name in ((data, "people.csv"), (model, "m.json")):
        path.write_bytes((folder / name).read_bytes())
    before = data.read_bytes(), model.read_bytes()
    (tmp_path / "link.png").symlink_to(data)
    for command in (
        ["fit", data, "-t", "class", "-l", "batch", "-o", data, "--force"],
        ["plot", model, data, "-o", tmp_path / "link.png", "--force"],
        ["predict", model, data, "-o", data, "--force"],
        ["predict", model, data, "-o", model, "--force"],
        ["export", model, "--to", "c", "-o", model, "--force"],
    ):
        assert "is read here" in failed(*command)
    assert before == (data.read_bytes(), model.read_bytes())


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
class TestPipes:
    """What is no file is written into, never replaced, with and without --force."""

    def test_fit_and_plot(self, folder, tmp_path):
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 2)
        plot = ("plot", folder / "m.json", "--force")
        for name, command in (("m.json", fit), ("n.json", (*fit, "--force")), ("a.png", plot)):
            path = tmp_path / name
            os.mkfifo(path)
            with ThreadPoolExecutor(1) as pool:
                read = pool.submit(path.read_bytes)
                done(*command, "-o", path)
                written = read.result(timeout=60)
            assert path.is_fifo()
            assert written.startswith(b"\x89PNG") or written == (folder / "m.json").read_bytes()

    def test_one_that_nobody_reads_from(self, folder, tmp_path, monkeypatch):
        """Nobody may ever."""
        monkeypatch.setattr(atomic, "PIPE_SECONDS", 0.1)
        path = tmp_path / "m.json"
        os.mkfifo(path)
        error = failed("fit", folder / "people.csv", "-t", "class", *QUICK, "-o", path)
        assert f"{path}: a pipe that nobody reads from" in error
        assert path.is_fifo()


class TestFolders:
    def test_one_that_cannot_be_written_to_is_told_first(self, folder, tmp_path, monkeypatch):
        fit = ("fit", folder / "people.csv", "-t", "class", "-o")
        assert f"{tmp_path}: is a folder" in failed(*fit, tmp_path)
        assert "there is no folder" in failed(*fit, tmp_path / "no" / "m.json")
        # Of our own making, as root may write everywhere.
        monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
        error = failed(*fit, tmp_path / "m.json")
        assert f"{tmp_path / 'm.json'}: the folder {str(tmp_path)!r} cannot be written to" in error

    def test_errors_name_the_file_that_was_asked_for(self, folder, tmp_path, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("polyceptron.utils.atomic._new", refuse)
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 1)
        for command in (fit, ("predict", folder / "m.json", folder / "people.csv")):
            result = run(*command, "-o", tmp_path / "out")
            assert result.exit_code == 1
            error = result.stderr.splitlines()[-1]
            assert error == f"Error: {tmp_path / 'out'}: Permission denied"


def test_a_reader_that_goes_away_does_not_lose_the_model(folder, tmp_path, monkeypatch, capsys):
    reader, pipe = os.pipe()
    os.close(reader)
    gone = os.fdopen(pipe, "w")
    monkeypatch.setattr(sys, "stdout", gone)
    fit = f"fit {folder / 'people.csv'} -t class -l batch -k 1 -o {tmp_path / 'm.json'}"
    with pytest.raises(SystemExit):
        app(fit.split())
    monkeypatch.undo()
    with suppress(BrokenPipeError):
        gone.close()
    assert capsys.readouterr().err == ""
    assert (tmp_path / "m.json").exists()


def test_closed_streams(folder, tmp_path, monkeypatch):
    data, model = str(folder / "people.csv"), str(tmp_path / "m.json")
    monkeypatch.setattr(sys, "stdout", None)  # what `>&-` makes of it
    app(["fit", data, "-t", "class", "-l", "batch", "-k", "1", "-o", model], standalone_mode=False)
    with pytest.raises(click.ClickException, match="standard output is closed: -o says"):
        app(["predict", model, data], standalone_mode=False)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.ClickException, match="standard input is closed"):
        app(["predict", model, "-"], standalone_mode=False)

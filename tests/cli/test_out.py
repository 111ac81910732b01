"""What commands write: whole or not there, never over others by accident."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from cli_files import done, failed, run


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

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_fit_and_plot(self, folder, tmp_path, force):
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 2)
        for name, command in (("m.json", fit), ("a.png", ("plot", folder / "m.json"))):
            path = tmp_path / name
            os.mkfifo(path)
            with ThreadPoolExecutor(1) as pool:
                read = pool.submit(path.read_bytes)
                done(*command, "-o", path, *force)
                written = read.result(timeout=60)
            assert path.is_fifo()
            assert written.startswith(b"\x89PNG") or written == (folder / "m.json").read_bytes()


class TestFolders:
    def test_one_that_cannot_be_written_to_is_told_first(self, folder, tmp_path, monkeypatch):
        # Of our own making, as root may write everywhere.
        monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
        error = failed("fit", folder / "people.csv", "-t", "class", "-o", tmp_path / "m.json")
        assert f"{tmp_path / 'm.json'}: the folder {str(tmp_path)!r} cannot be written to" in error

    def test_errors_name_the_file_that_was_asked_for(self, folder, tmp_path, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("polyceptron.utils.atomic._new", refuse)
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 1)
        for command in (fit, ("predict", folder / "m.json", folder / "people.csv")):
            error = failed_last(*command, "-o", tmp_path / "out")
            assert error == f"Error: {tmp_path / 'out'}: Permission denied"


def failed_last(*arguments):
    """The error of a command that may have printed something before."""
    result = run(*arguments)
    assert result.exit_code == 1
    return result.stderr.splitlines()[-1]


class TestStreams:
    def shell(self, command, folder):
        program = f"{sys.executable} -m polyceptron"
        return subprocess.run(
            ["sh", "-c", command.replace("polyceptron", program)],
            capture_output=True, check=False, text=True, cwd=folder,
        )  # fmt: skip

    def test_a_reader_that_goes_away_does_not_lose_the_model(self, folder, tmp_path):
        data = folder / "people.csv"
        out = self.shell(
            f"polyceptron fit {data} -t class -l batch -k 1 -o m.json | true", tmp_path
        )
        assert out.stderr == ""
        assert (tmp_path / "m.json").exists()

    def test_closed_streams(self, folder):
        fit = "polyceptron fit people.csv -t class -l batch -k 1 -o closed.json >&-"
        assert self.shell(fit, folder).returncode == 0
        out = self.shell("polyceptron predict m.json people.csv >&-", folder)
        assert out.stderr.startswith("Error: standard output is closed")
        out = self.shell("polyceptron predict m.json - <&-", folder)
        assert out.stderr == "Error: standard input is closed\n"

"""Files are whole or not there."""

import os
import re
import subprocess
import sys

import pytest

from polyceptron.utils import atomic

FULL = """
import resource, signal, sys
from pathlib import Path
from polyceptron.utils.atomic import write_bytes, write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for write, data in ((write_bytes, b"x" * 100_001), (write_text, "x" * 100_001)):
    try:
        write(Path(sys.argv[1]), data)
    except OSError as error:
        print(error.errno)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of Unix")


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.split() == ["27", "27"]  # EFBIG
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    sync = os.fsync
    calls = []

    def only_files(handle):
        calls.append(os.fstat(handle).st_mode)
        if os.path.isdir(f"/proc/self/fd/{handle}"):  # noqa: PTH112
            raise OSError(22, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", only_files)
    atomic.write_bytes(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(calls) == 2  # the file and the folder


def test_permissions_stay_as_they_are(tmp_path):
    path = tmp_path / "model.json"
    before = os.umask(0o027)
    try:
        atomic.write_bytes(path, b"new")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        atomic.write_bytes(path, b"newer")
        assert path.stat().st_mode & 0o777 == 0o600
        atomic.write_text(path, "text")
        assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_the_longest_name_that_there_can_be(tmp_path):
    atomic.write_bytes(tmp_path / ("n" * 255), b"new")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"new"


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    for path in (tmp_path / "no" / "model.json", tmp_path):
        with pytest.raises(OSError, match=re.escape(repr(str(path)))) as error:
            atomic.write_bytes(path, b"new")
        assert (error.value.filename, error.value.filename2) == (str(path), None)
    assert not list(tmp_path.iterdir())


def test_replaces_and_leaves_nothing_beside(tmp_path):
    for text in ("one", "zwei é"):
        atomic.write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_fails_leaves_the_old_file(tmp_path):
    atomic.write_text(tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        atomic.write_text(tmp_path / "a.txt", "\ud800")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

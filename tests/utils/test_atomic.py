"""Files that are whole or not there."""

import pytest

from polyceptron.utils.atomic import write_text


def test_replaces_and_leaves_nothing_beside(tmp_path):
    for text in ("one", "zwei é"):
        write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_fails_leaves_the_old_file(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a.txt", "\ud800")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

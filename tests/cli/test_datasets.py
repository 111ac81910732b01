"""`datasets`: the paper's sets as files."""

import pytest

from cli_files import done, failed, run


def test_list():
    assert "breast-cancer" in done("datasets")
    assert run("datasets", "iris").exit_code == 2


@pytest.mark.parametrize("name", ["dataset1", "dataset2", "ionosphere", "breast-cancer"])
def test_write(tmp_path, name):
    done("datasets", name, "-o", tmp_path / "d.csv")
    text = (tmp_path / "d.csv").read_text()
    assert text.splitlines()[0].endswith(",class")
    assert done("datasets", name) == text
    assert "is there already" in failed("datasets", name, "-o", tmp_path / "d.csv")

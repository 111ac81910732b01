"""`datasets`: the paper's sets as files."""

import pytest

from cli_files import done, failed, run


class TestDatasets:
    def test_list(self):
        assert "breast-cancer" in done("datasets")

    @pytest.mark.parametrize("name", ["dataset1", "dataset2", "ionosphere", "breast-cancer"])
    def test_write(self, tmp_path, name):
        done("datasets", name, "-o", tmp_path / "d.csv")
        text = (tmp_path / "d.csv").read_text()
        assert text.splitlines()[0].endswith(",class")
        assert done("datasets", name) == text
        assert "is there already" in failed("datasets", name, "-o", tmp_path / "d.csv")

    def test_unknown(self):
        assert run("datasets", "iris").exit_code == 2

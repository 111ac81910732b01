"""`plot`: a model as a picture."""

from xml.etree import ElementTree

import pytest

from cli_files import done, failed, people, text_of


class TestPlot:
    def test_with_and_without_rows(self, folder, tmp_path):
        for model, data in (("m", "people"), ("tree", "people"), ("three", "three")):
            path = folder / f"{model}.json"
            done("plot", path, folder / f"{data}.csv", "-o", tmp_path / f"{model}.png")
            assert (tmp_path / f"{model}.png").read_bytes().startswith(b"\x89PNG")
        done("plot", path, "-o", tmp_path / "a.svg")
        ElementTree.parse(tmp_path / "a.svg")
        assert "is there already" in failed("plot", path, "-o", tmp_path / "a.svg")

    def test_one_row(self, folder, tmp_path):
        for model, data in (("m", "people"), ("tree", "people"), ("three", "three")):
            ask = (folder / f"{model}.json", folder / f"{data}.csv", "--row", 3)
            done("plot", *ask, "-o", tmp_path / f"{model}.html")
            assert "<svg" in (tmp_path / f"{model}.html").read_text()

    @pytest.mark.usefixtures("union")
    def test_a_union(self, folder, tmp_path):
        ask = ("plot", folder / "m.json", folder / "people.csv")
        done(*ask, "-o", tmp_path / "a.svg")
        assert "2 regions of well" in (tmp_path / "a.svg").read_text()
        done(*ask, "--row", 1, "-o", tmp_path / "b.svg")
        assert "of piece 2 holds" in (tmp_path / "b.svg").read_text()

    def test_rows_without_labels(self, folder, tmp_path):
        text = text_of([row[:3] for row in people(30)], ("age", "dose", "colour"))
        done("plot", folder / "m.json", "-", "-o", tmp_path / "a.png", stdin=text)

    def test_wrong_calls(self, folder, tmp_path):
        error = failed("plot", folder / "m.json", "-o", tmp_path / "a.bmp", code=2)
        assert "must end in .png, .svg, .pdf or .html" in error
        ask = ("plot", folder / "m.json", "--row", 3, "-o", tmp_path / "b.png")
        assert "--row needs DATA" in failed(*ask, code=2)

"""`plot`: a model as a picture."""

from xml.etree import ElementTree

import pytest

from cli_files import done, failed, people, text_of


class TestPlot:
    @pytest.mark.parametrize("model", ["m", "tree", "three"])
    def test_with_and_without_rows(self, folder, tmp_path, model):
        data = folder / ("three.csv" if model == "three" else "people.csv")
        path = folder / f"{model}.json"
        done("plot", path, data, "-o", tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        done("plot", path, "-o", tmp_path / "a.svg")
        ElementTree.parse(tmp_path / "a.svg")
        assert "is there already" in failed("plot", path, "-o", tmp_path / "a.svg")

    def test_one_row(self, folder, tmp_path):
        ask = ("plot", folder / "m.json", folder / "people.csv", "--row", 3)
        done(*ask, "-o", tmp_path / "a.html")
        assert "<svg" in (tmp_path / "a.html").read_text()
        for name, data in (("tree", "people"), ("three", "three")):
            ask = ("plot", folder / f"{name}.json", folder / f"{data}.csv", "--row", 3)
            done(*ask, "-o", tmp_path / f"{name}.svg")
        assert "--row needs DATA" in failed(
            "plot", folder / "m.json", "--row", 3, "-o", tmp_path / "b.png", code=2
        )

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

    def test_unknown_classes(self, folder, tmp_path):
        rows = people(30)
        rows[4][3] = "dead"
        (tmp_path / "d.csv").write_text(text_of(rows))
        error = failed("plot", folder / "m.json", tmp_path / "d.csv", "-o", tmp_path / "a.png")
        assert "line 6, column 'class': 'dead' is not one of the classes sick, well" in error

    def test_other_ends(self, folder, tmp_path):
        error = failed("plot", folder / "m.json", "-o", tmp_path / "a.bmp", code=2)
        assert "must end in .png, .svg, .pdf or .html" in error

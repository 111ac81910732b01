"""`show` and `plot`: a model in words, and as a picture."""

import json
from xml.etree import ElementTree

import pytest

from cli_files import done, failed, people, text_of


class TestShow:
    def test_show(self, model):
        text = done("show", model)
        assert "Learner: BatchPolyceptron" in text
        assert "Classes: sick, well" in text
        assert "Target: class" in text
        assert "Rows learned from: 200" in text
        assert "blue, light, green, red" in text

    def test_blanks_of_what_fills_gaps_are_seen(self, tmp_path):
        values = ["a ", "a ", "b", "", "a "]
        text = "site,y\n" + "".join(f"{a},{'vu'[a != 'b']}\n" for a in values * 2)
        fit = ("fit", "-", "-t", "y", "--missing", "median", "-o", tmp_path / "m")
        done(*fit, stdin=text)
        assert done("show", tmp_path / "m").rstrip().endswith('"a ", b     "a "')

    def test_what_is_no_model(self, tmp_path, data):
        assert str(data) in failed("show", data)
        assert "No such file" in failed("show", tmp_path / "no.json")

    def test_a_summary_of_another_kind(self, tmp_path, model):
        document = json.loads(model.read_text())
        document["summary"] = {"target": 3, "accuracy": [1], "columns": {"median": "x"}}
        (tmp_path / "o.json").write_text(json.dumps(document))
        assert "Learner" in done("show", tmp_path / "o.json")
        data = tmp_path / "people.csv"
        assert "Row 1 " in done("explain", tmp_path / "o.json", data)
        assert "--target is needed" in failed("evaluate", tmp_path / "o.json", data, code=2)


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

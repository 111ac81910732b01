"""`show` and `evaluate`: what they print and refuse."""

import json

import numpy as np

from cli_files import done, failed, people, text_of
from polyceptron import BatchPolyceptron, save_model


class TestShow:
    def test_show(self, model):
        text = done("show", model)
        assert "Learner: BatchPolyceptron" in text
        assert "Classes: sick, well" in text
        assert "Target: class" in text
        assert "Rows learned from: 200" in text
        assert "blue, light, green, red" in text

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


class TestEvaluate:
    def test_evaluate(self, tmp_path, model, data):
        text = done("evaluate", model, data)
        assert "of 200 rows" in text
        assert "precision" in text
        (tmp_path / "e.csv").write_text(text_of(people(20, 5), ("age", "dose", "colour", "truth")))
        assert "of 20 rows" in done("evaluate", model, tmp_path / "e.csv", "--target", "truth")
        assert "column 'class' is missing" in failed("evaluate", model, tmp_path / "e.csv")
        error = failed("evaluate", model, data, "-t", "age", code=2)
        assert "--target 'age' is a feature of the model" in error

    def test_numbers_are_the_same_however_they_are_written(self, folder, tmp_path):
        text = (folder / "whole.csv").read_text().replace("\n", ".0\n").replace("class.0", "class")
        (tmp_path / "e.csv").write_text(text)
        same = done("evaluate", folder / "whole.json", folder / "whole.csv")
        assert done("evaluate", folder / "whole.json", tmp_path / "e.csv") == same

    def test_models_without_names(self, tmp_path):
        rows = people()
        X, y = np.array([row[:2] for row in rows], dtype=float), [row[3] for row in rows]
        save_model(BatchPolyceptron(1, random_state=0).fit(X, y), tmp_path / "n.json")
        (tmp_path / "e.csv").write_text(text_of([[*r[:2], r[3]] for r in rows], ("p", "q", "y")))
        assert "Accuracy" in done("evaluate", tmp_path / "n.json", tmp_path / "e.csv", "-t", "y")

    def test_unknown_classes(self, tmp_path, model):
        rows = people(20)
        rows[4][3] = "dead"
        (tmp_path / "e.csv").write_text(text_of(rows))
        for command, *options in (["evaluate"], ["plot", "-o", tmp_path / "a.png"]):
            error = failed(command, model, tmp_path / "e.csv", *options)
            assert "line 6, column 'class': 'dead' is not one of the classes sick, well" in error

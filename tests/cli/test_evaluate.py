"""`evaluate` and `compare`: what they print and refuse."""

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from cli_files import done, failed, people, read_csv, run, text_of
from polyceptron import BatchPolyceptron, save_model


class TestEvaluate:
    def test_evaluate(self, tmp_path, model, data):
        text = done("evaluate", model, data)
        assert "of 200 rows" in text
        truth = [row[3] for row in people()]
        found = [row["prediction"] for row in read_csv(done("predict", model, data))]
        precision, recall, *_ = precision_recall_fscore_support(truth, found)
        for label, shares in zip(
            ("sick", "well"), zip(precision, recall, strict=True), strict=True
        ):
            line = [label, str(truth.count(label)), *(f"{100 * share:.2f}%" for share in shares)]
            assert line in [one.split() for one in text.splitlines()]
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


class TestCompare:
    def test_compare(self, data):
        text = done("compare", data, "-t", "class", "--cv", 2, "--learners", "batch, oc1", "-k", 1)
        assert "2-fold cross-validation of 200 rows" in text
        assert {"batch", "oc1"} <= set(text.split())
        assert "'x' is not one of" in failed(
            "compare", data, "-t", "class", "--learners", "x", code=2
        )

    def test_all_that_can(self, tmp_path):
        rows = [[row[0], row[1], "old" if row[0] > 70 else row[3]] for row in people(60)]
        (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "class")))
        result = run("compare", tmp_path / "d.csv", "-t", "class", "--cv", 2, "-k", 1)
        assert result.exit_code == 0
        assert "batch learns two classes, and is left out" in result.stderr
        assert "polyceptron" in result.stdout

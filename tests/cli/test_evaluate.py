"""`evaluate` and `compare`: what they print and refuse."""

import re
from collections import Counter

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

    def test_the_verdict_is_that_of_these_rows(self, tmp_path, model):
        rows = [row for row in people(60, 3) if row[3] == "well"][:20]
        (tmp_path / "e.csv").write_text(text_of(rows))
        text = done("evaluate", model, tmp_path / "e.csv")
        assert "Always answering well: 100.00%" in text
        assert ["sick", "0", "-", "-"] in [line.split() for line in text.splitlines()]

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
        lines = [re.split(r"\s{2,}", line) for line in text.splitlines()[2:]]
        assert lines[0] == ["learner", "accuracy %", "±", "balanced %", "s a fit"]
        found = {name: shares for name, *shares in lines[1:]}
        most = max(Counter(row[3] for row in people()).values()) / 200
        assert found["(most frequent class)"][0] == f"{100 * most:.2f}"
        assert found["(most frequent class)"][2] == "50.00"
        for name in ("(logistic regression)", "(RBF-SVM)", "(decision tree)"):
            assert float(found[name][0]) > 100 * most
        assert "'x' is not one of" in failed(
            "compare", data, "-t", "class", "--learners", "x", code=2
        )

    def test_folds_of_baselines_are_those_of_the_learners(self, data):
        import csv

        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        with data.open() as file:
            rows = [[float(row["age"]), float(row["dose"])] for row in csv.DictReader(file)]
        y = [row[3] for row in people()]
        ask = ("-t", "class", "--drop", "colour", "--cv", 3, "--seed", 4, "--balanced")
        text = done("compare", data, *ask, "--learners", "batch", "-k", 1)
        model = make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000, class_weight="balanced")
        )
        shares = cross_val_score(
            model, rows, y, cv=StratifiedKFold(3, shuffle=True, random_state=4)
        )
        line = next(line for line in text.splitlines() if "logistic" in line)
        assert f"  {100 * shares.mean():.2f}  {100 * shares.std():.2f}  " in line

    def test_an_svm_of_many_rows_is_left_out(self, data, monkeypatch):
        monkeypatch.setattr("polyceptron.cli._evaluate._MOST_SVM_ROWS", 100)
        result = run("compare", data, "-t", "class", "--cv", 2, "--learners", "batch", "-k", 1)
        assert "an RBF-SVM is left out, as there are more than 100 rows" in result.stderr
        assert "RBF-SVM" not in result.stdout

    def test_all_that_can(self, tmp_path):
        rows = [[row[0], row[1], "old" if row[0] > 70 else row[3]] for row in people(60)]
        (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "class")))
        result = run("compare", tmp_path / "d.csv", "-t", "class", "--cv", 2, "-k", 1)
        assert result.exit_code == 0
        assert "batch learns two classes, and is left out" in result.stderr
        assert "polyceptron" in result.stdout

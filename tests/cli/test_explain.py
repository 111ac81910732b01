"""`explain`: why a row is answered as it is, and what would change that."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_files import done, failed, people, read_csv, run, text_of


def changed(text):
    """The columns and new values of the smallest change."""
    text = text.replace("A small change (approximate: not all tried)", "Smallest change")
    body = text.partition("Smallest change to ")[2].splitlines()[2:]
    return {line.split()[0]: line.split()[-1] for line in body}


class TestExplain:
    @pytest.mark.parametrize("model", ["m", "tree"])
    def test_the_values_shown_flip_the_answer(self, folder, model):
        path, wanted, rows = folder / f"{model}.json", [], []
        for row in range(1, 9):
            text = done("explain", path, folder / "people.csv", "--row", row)
            before = re.match(rf"Row {row} \(.*, line {row + 1}\): (\w+)", text)[1]
            wanted.append(re.search(r"Smallest change to (\w+)", text)[1])
            assert {before, wanted[-1]} == {"sick", "well"}
            values = people()[row - 1][:3]
            rows.append(dict(zip(("age", "dose", "colour"), values, strict=True)) | changed(text))
            assert max(len(cell) for cell in changed(text).values()) <= 12
        text = text_of([row.values() for row in rows], rows[0])
        answers = done("predict", path, "-", stdin=text).splitlines()[1:]
        assert [line.partition(",")[0] for line in answers] == wanted

    def test_huge_numbers_are_refused_before_anything_is_said(self, folder, tmp_path):
        (tmp_path / "d.csv").write_text("age,dose,colour\n1,2,red\n1e308,-1e308,red\n")
        ask = (folder / "m.json", tmp_path / "d.csv", "--row", 2)
        error = failed("explain", *ask)
        assert (
            error == f"Error: {tmp_path / 'd.csv'}, line 3: its numbers are too large to explain\n"
        )
        assert "too large to explain" in failed("plot", *ask, "-o", tmp_path / "a.png")
        error = failed("plot", *ask[:2], "-o", tmp_path / "a.png")
        assert "d.csv, line 3: a number that is too large to draw" in error

    def test_gaps_of_other_rows_do_not_count(self, folder, tmp_path):
        path = tmp_path / "d.csv"
        path.write_text("age,dose,colour\n1,2,red\n,3,red\n1,2,\n")
        model = folder / "m.json"
        assert "(" + str(path) + ", line 2)" in done("explain", model, path, "--row", 1)
        done("plot", model, path, "--row", 1, "-o", tmp_path / "a.png")
        for row, column in ((2, "age"), (3, "colour")):
            error = failed("explain", model, path, "--row", row)
            assert f"line {row + 1}, column '{column}': a missing value" in error
            assert "predict" not in error

    def test_columns_that_never_varied_stay(self, tmp_path):
        rows = [[row[0], row[1], 5, row[3]] for row in people()]
        (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "site", "class")))
        done("fit", tmp_path / "d.csv", "-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m")
        document = json.loads((tmp_path / "m").read_text())
        document["rule"]["W"][0][2] = 100.0
        (tmp_path / "n").write_text(json.dumps(document))
        ask = ("explain", tmp_path / "n", tmp_path / "d.csv", "--row", 2)
        assert "site" not in changed(done(*ask))
        assert "site" in changed(done(*ask, "--bounds", "site=0:"))

    def test_values_have_the_digits_that_their_spreads_need(self, tmp_path):
        rows = [[1_013_230 + row[0] / 10, row[1], row[3]] for row in people()]
        (tmp_path / "d.csv").write_text(text_of(rows, ("p", "dose", "class")))
        done("fit", tmp_path / "d.csv", "-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m")
        text = done("explain", tmp_path / "m", tmp_path / "d.csv", "--row", 2)
        shown = re.findall(r"^  p +(\S+)", text, re.M)
        assert [round(float(value), 2) for value in shown] == [round(rows[1][0], 2)] * 2

    def test_conditions(self, folder):
        ask = ("explain", folder / "m.json", folder / "people.csv", "--row", 1)
        assert set(changed(done(*ask, "--freeze", "age"))) == {"dose"}
        assert changed(done(*ask, "--integers", "age", "--freeze", "dose"))["age"].isdecimal()
        text = done(*ask, "--freeze", "dose", "--bounds", "age=:1", "--bounds", "age=0:2")
        assert "No change leads to another answer" in text or "Smallest change" in text
        assert "column 'Age' is missing (is it 'age'?)" in failed(*ask, "--freeze", "Age")
        for bounds in ("age", "age=a:b", "age=nan:1"):
            assert "is not COLUMN=LOW:HIGH" in failed(*ask, "--bounds", bounds, code=2)
        assert "above the upper" in failed(*ask, "--bounds", "age=5:1", code=2)
        error = failed(*ask[:3], "--row", 201)
        assert "there is no row 201; it has 200" in error

    def test_a_search_that_ran_out_proves_nothing(self, folder, monkeypatch):
        """A stripe between whole numbers: there is no end to looking."""
        from polyceptron import Polyhedron, Rule
        from polyceptron.model_file import read_rule

        def read(path):
            stripe = Polyhedron([[2, -2], [-2, 2]], [-0.9, 1.1], ["age", "dose"])
            found = read_rule(path)
            return found._replace(rule=Rule.inside(["out", "in"], 1, stripe), summary={})

        monkeypatch.setattr("polyceptron.model_file.read_rule", read)
        ask = ("explain", folder / "three.json", folder / "three.csv", "--integers", "age,dose")
        text = done(*ask, "--programs", 40)
        assert "No change leads" not in text
        assert "No change was found within the search of 40 programs" in text
        assert "--programs 400 looks longer" in text
        assert "No change leads" in done(*ask, "--freeze", "age,dose")

    def test_a_tree_and_three_classes(self, folder):
        text = done("explain", folder / "tree.json", folder / "people.csv", "--row", 7)
        assert set(changed(text)) <= {"age", "dose", "colour"}
        ask = ("explain", folder / "three.json", folder / "three.csv", "--row", 7)
        text = done(*ask)
        assert "decides" in text
        assert "The answer is the same within a distance of" in text
        before = re.match(r"Row 7 \(.*\): (\w+)", text)[1]
        for label in {"old", "sick", "well"} - {before}:
            text = done(*ask, "--target", label)
            assert f"change to {label}\n" in text.replace(" (approximate: not all tried)", "")
            new = changed(text)
            assert new.get("age", "5").isdecimal()  # all ages are whole
            values = dict(zip(("age", "dose"), people()[6], strict=False)) | new
            answers = done("predict", ask[1], "-", stdin=text_of([values.values()], values))
            assert answers.splitlines()[1].startswith(label)
            assert len(changed(done(*ask, "--target", label, "--at-most", 1))) == 1
        assert f"The answer is {before} already." in done(*ask, "--target", before)
        error = failed(*ask, "--target", "ill", code=2)
        assert "--target must be one of old, sick, well; got 'ill'" in error

    def test_rows_that_no_rule_or_several_hold_for(self, folder, monkeypatch):
        from dataclasses import replace

        from polyceptron import Polyhedron
        from polyceptron.model_file import read_rule

        everywhere = Polyhedron([[1.0, 0.0]], [1e3], ["age", "dose"])
        nowhere = Polyhedron([[-1.0, 0.0]], [-1e3], ["age", "dose"])
        for place, words in (
            (everywhere, "the rules of old and sick and well hold"),
            (nowhere, "no rule holds"),
        ):

            def read(path, polyhedron=place):
                found = read_rule(path)
                pieces = [one._replace(polyhedron=polyhedron) for one in found.rule.pieces]
                return found._replace(rule=replace(found.rule, pieces=tuple(pieces)))

            with monkeypatch.context() as patched:
                patched.setattr("polyceptron.model_file.read_rule", read)
                text = done("explain", folder / "three.json", folder / "three.csv")
            assert f", the most probable class: {words}\n" in text

    def test_changes_stay_within_what_was_seen(self, folder):
        ask = ("explain", folder / "m.json", folder / "people.csv")
        ages = [row[0] for row in people()]
        for row in range(1, 9):
            new = changed(done(*ask, "--row", row))
            assert min(ages) <= int(new.get("age", min(ages))) <= max(ages)
            assert 0 <= float(new.get("dose", 0)) <= 10
            assert new.get("colour", "red") in {"red", "blue", "green"}
            assert len(changed(done(*ask, "--row", row, "--at-most", 1))) <= 1
        assert "colour" not in changed(done(*ask, "--row", 1, "--freeze", "colour"))

    def test_above_a_thousand_columns_spreads_are_known(self, tmp_path):
        rows = [[i % 7, *[i % 2] * 1100, "ab"[i % 7 > 3]] for i in range(40)]
        names = [*(f"c{j}" for j in range(1101)), "class"]
        (tmp_path / "d.csv").write_text(text_of(rows, names))
        done("fit", tmp_path / "d.csv", "-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m")
        columns = json.loads((tmp_path / "m").read_text())["summary"]["columns"]
        assert {len(values) for values in columns.values()} == {1101}
        assert (columns["lowest"][0], columns["highest"][0], columns["whole"][0]) == (0, 6, True)
        text = done("explain", tmp_path / "m", tmp_path / "d.csv", "--at-most", 1)
        assert "each column counted in its spreads" in text

    def test_older_files_do_not_say_what_was_seen(self, folder, tmp_path):
        document = json.loads((folder / "m.json").read_text())
        for name in ("lowest", "highest", "whole"):
            del document["summary"]["columns"][name]
        (tmp_path / "old.json").write_text(json.dumps(document))
        for row in range(1, 4):
            text = done("explain", tmp_path / "old.json", folder / "people.csv", "--row", row)
            assert set(changed(text)) <= {"age", "dose"}

    @pytest.mark.usefixtures("union")
    def test_a_union(self, folder):
        ask = ("explain", folder / "m.json", folder / "people.csv", "--row")
        inside, outside = done(*ask, 1), done(*ask, 3)
        assert "Inside of well (piece 2 of 2): all 2 faces hold" in inside
        assert "Outside of well (piece 2 of 2): 1 of 2 faces fail" in outside
        assert set(changed(outside)) == {"dose"}

    @pytest.mark.parametrize(("rule", "name"), [("union", "m"), ("three_classes", "three")])
    def test_the_piece_is_the_one_of_predict(self, folder, request, rule, name):
        request.getfixturevalue(rule)
        data = folder / ("people.csv" if name == "m" else "three.csv")
        answers = read_csv(done("predict", folder / f"{name}.json", data, "--explain"))
        assert len({answer["piece"] for answer in answers[:15]}) > 1
        for row, answer in enumerate(answers[:15], 1):
            text = done("explain", folder / f"{name}.json", data, "--row", row)
            assert re.search(r"side of \w+ \(piece (\d) of", text)[1] == answer["piece"]
            assert f"Face {answer['face']} decides" in text

    @pytest.mark.usefixtures("union")
    def test_the_piece_that_the_change_reaches(self, folder, tmp_path):
        # Its least margin is greater in the dose, but the way there is longer in spreads.
        (tmp_path / "d.csv").write_text("age,dose,colour\n35,9.5,red\n20,3,red\n")
        ask = ("explain", folder / "m.json", tmp_path / "d.csv", "--row")
        text = done(*ask, 1)
        assert "Outside of well (piece 2 of 2): 1 of 2 faces fail" in text
        assert "Smallest change to well (piece 1 of 2)\n" in text
        assert "Smallest change to sick\n" in done(*ask, 2)


def test_the_page_shows_how_to_answer_a_frame(folder, monkeypatch):
    pytest.importorskip("pandas")
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    if not page.exists():
        pytest.skip("not in a source tree")
    (block,) = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(folder)
    names = {}
    exec(block.replace("model.json", "m.json").replace("new.csv", "people.csv"), names)
    answers = done("predict", "m.json", "people.csv").splitlines()[1:]
    assert names["answers"].tolist() == [line.partition(",")[0] for line in answers]
    assert names["X"].shape == (200, 5)


def test_a_column_of_two_values(tmp_path):
    """The same model from booleans and from text; a change is from one value to the other."""
    rng = np.random.default_rng(0)
    smoker, age = rng.random(200) < 0.5, rng.integers(18, 90, 200)
    rows = pa.table({"smoker": smoker, "age": age, "y": np.where(smoker, "ill", "well")})
    pq.write_table(rows, tmp_path / "d.parquet")
    text = text_of(zip(smoker, age, rows["y"].to_pylist(), strict=True), ("smoker", "age", "y"))
    (tmp_path / "d.csv").write_text(text)
    models = [tmp_path / "parquet.json", tmp_path / "csv.json"]
    for path, model in zip(("d.parquet", "d.csv"), models, strict=True):
        said = done("fit", tmp_path / path, "-t", "y", "-o", model)
        assert "smoker = false" in said
        assert "smoker = false" in done("show", model)
    assert models[0].read_bytes() == models[1].read_bytes()
    numbers = zip(smoker.astype(int), age, rows["y"].to_pylist(), strict=True)
    (tmp_path / "n.csv").write_text(text_of(numbers, ("smoker", "age", "y")))
    model, other = tmp_path / "numbers.json", tmp_path / "other.json"
    assert "smoker = 0" in done("fit", tmp_path / "n.csv", "-t", "y", "-o", model)
    said = done("explain", model, tmp_path / "n.csv")
    assert "smoker = 0" in said
    assert changed(said) == {"smoker": "1"}
    for path, value in ((model, "1"), (models[0], "true")):
        edited = done("edit", path, "--set", f"0: smoker = {value}", "--force", "-o", other)
        assert f"smoker = {value}" in edited.partition("After")[2]
        assert f"smoker = {value}" in done("show", other)
    odd = run("predict", model, "-", stdin="smoker,age\n0.5,3\n")
    assert "smoker: 1 row has a value that the model never saw" in odd.stderr
    assert changed(done("explain", models[0], tmp_path / "d.parquet")) == {"smoker": "true"}
    error = done("explain", models[0], tmp_path / "d.csv", "--freeze", "smoker")
    assert "No change leads to another answer" in error

"""`explain`, `plot` and `export`: what is done with a model."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cli_files import done, failed, people, run, text_of
from polyceptron.model_file import read_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("use")
    (folder / "people.csv").write_text(text_of(people()))
    learn = ("fit", folder / "people.csv", "-t", "class")
    done(*learn, "-l", "batch", "-k", 2, "-o", folder / "m.json")
    done(*learn, "-l", "oc1", "-o", folder / "tree.json")
    rows = [[*row[:2], "old" if row[0] > 70 else row[3]] for row in people()]
    (folder / "three.csv").write_text(text_of(rows, ("age", "dose", "class")))
    done("fit", folder / "three.csv", "-t", "class", "-o", folder / "three.json")
    return folder


def changed(text):
    """The columns and new values of the smallest change."""
    body = text.partition("Smallest change to ")[2].splitlines()[2:]
    return {line.split()[0]: line.split()[-1] for line in body}


class TestExplain:
    @pytest.mark.parametrize("model", ["m", "tree"])
    def test_the_values_shown_flip_the_answer(self, folder, model):
        path, wanted, rows = folder / f"{model}.json", [], []
        for row in range(1, 61):
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

    def test_conditions(self, folder):
        ask = ("explain", folder / "m.json", folder / "people.csv", "--row", 1)
        assert set(changed(done(*ask, "--freeze", "age"))) == {"dose"}
        assert changed(done(*ask, "--integers", "age", "--freeze", "dose"))["age"].isdecimal()
        text = done(*ask, "--freeze", "dose", "--bounds", "age=:1", "--bounds", "age=0:2")
        assert "No change leads to another answer" in text or "Smallest change" in text
        assert "column 'Age' is missing (is it 'age'?)" in failed(*ask, "--freeze", "Age")
        assert "is not COLUMN=LOW:HIGH" in failed(*ask, "--bounds", "age", code=2)
        assert "is not COLUMN=LOW:HIGH" in failed(*ask, "--bounds", "age=a:b", code=2)
        assert "is not COLUMN=LOW:HIGH" in failed(*ask, "--bounds", "age=nan:1", code=2)

    def test_a_tree(self, folder):
        text = done("explain", folder / "tree.json", folder / "people.csv", "--row", 7)
        assert set(changed(text)) <= {"age", "dose"}

    def test_no_such_row(self, folder):
        error = failed("explain", folder / "m.json", folder / "people.csv", "--row", 201)
        assert "there is no row 201; it has 200" in error


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
        tree = ("plot", folder / "tree.json", folder / "people.csv", "--row", 3)
        assert "two classes with one polyhedron" in failed(*tree, "-o", tmp_path / "b.png")
        assert "--row needs DATA" in failed(
            "plot", folder / "m.json", "--row", 3, "-o", tmp_path / "b.png", code=2
        )

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
        error = failed("plot", folder / "m.json", "-o", tmp_path / "a.pdf", code=2)
        assert "must end in .png, .svg or .html" in error


class TestExport:
    def test_every_format(self, folder, tmp_path):
        from polyceptron.export import FORMATS

        for name, form in FORMATS.items():
            path = tmp_path / f"out{form.suffix}"
            done("export", folder / "m.json", "--to", name, "-o", path)
            assert path.stat().st_size > 0

    def test_plain_python_answers_the_same(self, folder, tmp_path):
        done("export", folder / "m.json", "--to", "python", "-o", tmp_path / "made.py")
        code = (
            "import csv, sys, made\n"
            "for row in csv.DictReader(open(sys.argv[1], newline='')): print(made.predict(row))\n"
        )
        out = subprocess.run(
            [sys.executable, "-c", code, str(folder / "people.csv")],
            capture_output=True, check=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        got = done("predict", folder / "m.json", folder / "people.csv").splitlines()[1:]
        assert out.stdout.split() == [line.partition(",")[0] for line in got]

    def test_options(self, folder):
        ask = ("export", folder / "m.json", "--to")
        sql = done(*ask, "sql", "--dialect", "sqlite", "--table", "people", "--name", "answer")
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE people (age, dose, colour)")
        rows = [row[:3] for row in people()]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        got = [row[-1] for row in connection.execute(sql)]
        connection.close()
        answers = done("predict", folder / "m.json", folder / "people.csv").splitlines()[1:]
        assert got == [line.partition(",")[0] for line in answers]
        assert "\\geq" in done(*ask, "latex", "--option", "digits=2")
        assert "has no option 'dialect'" in failed(*ask, "c", "--dialect", "sqlite", code=2)
        assert "dialect must be" in failed(*ask, "sql", "--dialect", "nope", code=2)
        assert "digits must be" in failed(*ask, "latex", "--option", "digits=abc", code=2)
        assert "is not KEY=VALUE" in failed(*ask, "latex", "--option", "digits", code=2)
        assert "name must be a letter" in failed(*ask, "c", "--name", "a b", code=2)
        assert "WHERE" not in done(*ask, "sql", "--kind", "where")
        assert run(*ask, "cobol").exit_code == 2

    def test_more_than_one_polyhedron(self, folder):
        ask = ("export", folder / "three.json", "--to", "sql")
        assert "--class says which: old, sick, well" in failed(*ask)
        assert "'not old'" in done(*ask, "--class", "old")
        assert "a polyhedron for each leaf" in failed("export", folder / "tree.json", "--to", "sql")
        assert "more than two classes" in failed(
            "export", folder / "m.json", "--to", "sql", "--class", "sick", code=2
        )


def test_whole_numbers_stay_so(tmp_path):
    """Labels that are numbers are numbers in the model and in what is exported."""
    rows = [[row[0], row[1], int(row[3] == "sick")] for row in people()]
    (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "class")))
    done("fit", tmp_path / "d.csv", "-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m")
    assert np.array_equal(read_model(tmp_path / "m").estimator.classes_, [0, 1])
    assert "THEN 1 ELSE 0" in done("export", tmp_path / "m", "--to", "sql")


def test_what_is_read_is_not_written_over(tmp_path):
    data, model = tmp_path / "bc.csv", tmp_path / "model.json"
    done("datasets", "breast-cancer", "-o", data)
    done("fit", data, "--target", "class", "-l", "batch", "-o", model)
    before = data.read_bytes(), model.read_bytes()
    (tmp_path / "link.png").symlink_to(data)
    for command in (
        ["fit", data, "-t", "class", "-l", "batch", "-o", data, "--force"],
        ["plot", model, data, "-o", tmp_path / "link.png", "--force"],
        ["predict", model, data, "-o", data, "--force"],
        ["predict", model, data, "-o", model, "--force"],
        ["export", model, "--to", "c", "-o", model, "--force"],
    ):
        assert "is read here" in failed(*command)
    assert before == (data.read_bytes(), model.read_bytes())


def test_options_of_explain_are_read_before_anything_is_said(tmp_path):
    data, model = tmp_path / "bc.csv", tmp_path / "model.json"
    done("datasets", "breast-cancer", "-o", data)
    done("fit", data, "--target", "class", "-l", "batch", "-o", model)
    assert "'nope' is missing" in failed("explain", model, data, "--freeze", "nope")
    assert "above the upper" in failed("explain", model, data, "--bounds", "mitoses=5:1", code=2)


def test_a_text_column_may_be_frozen_by_its_own_name(folder):
    plain = done("explain", folder / "m.json", folder / "people.csv", "--row", 3)
    named = ("explain", folder / "m.json", folder / "people.csv", "--row", 3, "--freeze", "colour")
    assert done(*named) == plain


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
class TestPipes:
    """What is no file is written into, never replaced, with and without --force."""

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_fit_and_plot(self, folder, tmp_path, force):
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 2)
        for name, command in (("m.json", fit), ("a.png", ("plot", folder / "m.json"))):
            path = tmp_path / name
            os.mkfifo(path)
            with ThreadPoolExecutor(1) as pool:
                read = pool.submit(path.read_bytes)
                done(*command, "-o", path, *force)
                written = read.result(timeout=60)
            assert path.is_fifo()
            assert written.startswith(b"\x89PNG") or written == (folder / "m.json").read_bytes()


class TestFolders:
    def test_one_that_cannot_be_written_to_is_told_first(self, folder, tmp_path, monkeypatch):
        # Of our own making, as root may write everywhere.
        monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
        error = failed("fit", folder / "people.csv", "-t", "class", "-o", tmp_path / "m.json")
        assert f"{tmp_path / 'm.json'}: the folder {str(tmp_path)!r} cannot be written to" in error

    def test_errors_name_the_file_that_was_asked_for(self, folder, tmp_path, monkeypatch):
        def refuse(path, *_):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("polyceptron.utils.atomic._new", refuse)
        fit = ("fit", folder / "people.csv", "-t", "class", "-l", "batch", "-k", 1)
        for command in (fit, ("predict", folder / "m.json", folder / "people.csv")):
            error = failed_last(*command, "-o", tmp_path / "out")
            assert error == f"Error: {tmp_path / 'out'}: Permission denied"


def failed_last(*arguments):
    """The error of a command that may have printed something before."""
    result = run(*arguments)
    assert result.exit_code == 1
    return result.stderr.splitlines()[-1]


class TestStreams:
    def shell(self, command, folder):
        program = f"{sys.executable} -m polyceptron"
        return subprocess.run(
            ["sh", "-c", command.replace("polyceptron", program)],
            capture_output=True, check=False, text=True, cwd=folder,
        )  # fmt: skip

    def test_a_reader_that_goes_away_does_not_lose_the_model(self, folder, tmp_path):
        data = folder / "people.csv"
        out = self.shell(
            f"polyceptron fit {data} -t class -l batch -k 1 -o m.json | true", tmp_path
        )
        assert out.stderr == ""
        assert (tmp_path / "m.json").exists()

    def test_closed_streams(self, folder):
        fit = "polyceptron fit people.csv -t class -l batch -k 1 -o closed.json >&-"
        assert self.shell(fit, folder).returncode == 0
        out = self.shell("polyceptron predict m.json people.csv >&-", folder)
        assert out.stderr.startswith("Error: standard output is closed")
        out = self.shell("polyceptron predict m.json - <&-", folder)
        assert out.stderr == "Error: standard input is closed\n"


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

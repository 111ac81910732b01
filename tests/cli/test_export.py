"""`export`: a model for those who do not run Python."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from cli_files import done, failed, people, run, text_of
from polyceptron.model_file import read_model


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

    @pytest.mark.parametrize("model", ["m.json", "tree.json"])
    def test_a_database_answers_the_same(self, folder, model):
        sql = done(
            "export", folder / model, "--to", "sql", "--dialect", "sqlite", "--table", "people",
            "--name", "answer",
        )  # fmt: skip
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE people (age, dose, colour)")
        rows = [row[:3] for row in people()]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        got = [row[-1] for row in connection.execute(sql)]
        connection.close()
        answers = done("predict", folder / model, folder / "people.csv").splitlines()[1:]
        assert got == [line.partition(",")[0] for line in answers]

    def test_options(self, folder):
        ask = ("export", folder / "m.json", "--to")
        assert "\\geq" in done(*ask, "latex", "--option", "digits=2")
        assert "has no option 'dialect'" in failed(*ask, "c", "--dialect", "sqlite", code=2)
        assert "dialect must be" in failed(*ask, "sql", "--dialect", "nope", code=2)
        assert "digits must be" in failed(*ask, "latex", "--option", "digits=abc", code=2)
        assert "is not KEY=VALUE" in failed(*ask, "latex", "--option", "digits", code=2)
        assert "name must be a letter" in failed(*ask, "c", "--name", "a b", code=2)
        assert "WHERE" not in done(*ask, "sql", "--kind", "where")
        assert run(*ask, "cobol").exit_code == 2

    def test_more_than_one_class_with_polyhedra(self, folder):
        ask = ("export", folder / "three.json", "--to", "sql")
        assert "--class says which: old, sick, well" in failed(*ask)
        assert "'not old'" in done(*ask, "--class", "old")
        assert "'young' is not among old, sick, well" in failed(*ask, "--class", "young", code=2)
        tree = ("export", folder / "tree.json", "--to", "lp")
        assert "--class says which: sick, well" in failed(*tree)
        assert "Subject To" in done(*tree, "--class", "sick")
        error = failed("export", folder / "m.json", "--to", "sql", "--class", "sick", code=2)
        assert "more than two classes" in error


def test_whole_numbers_stay_so(tmp_path):
    """Labels that are numbers are numbers in the model and in what is exported."""
    rows = [[row[0], row[1], int(row[3] == "sick")] for row in people()]
    (tmp_path / "d.csv").write_text(text_of(rows, ("age", "dose", "class")))
    done("fit", tmp_path / "d.csv", "-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m")
    assert np.array_equal(read_model(tmp_path / "m").estimator.classes_, [0, 1])
    assert "THEN 1 ELSE 0" in done("export", tmp_path / "m", "--to", "sql")

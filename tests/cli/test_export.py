"""`export`: a model for those who do not run Python."""

import sqlite3

import numpy as np
import pytest

from cli_files import done, failed, people, run
from polyceptron.model_file import read_model


class TestExport:
    def test_every_format(self, folder, tmp_path):
        from polyceptron.export import FORMATS

        for name, form in FORMATS.items():
            path = tmp_path / f"out{form.suffix}"
            done("export", folder / "m.json", "--to", name, "-o", path)
            assert path.stat().st_size > 0

    @pytest.mark.parametrize("model", ["m.json", "tree.json", "three.json"])
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
        assert "\\leq" in done(*ask, "latex", "--option", "digits=2")
        assert "has no option 'dialect'" in failed(*ask, "c", "--dialect", "sqlite", code=2)
        assert "dialect must be" in failed(*ask, "sql", "--dialect", "nope", code=2)
        assert "digits must be" in failed(*ask, "latex", "--option", "digits=abc", code=2)
        assert "is not KEY=VALUE" in failed(*ask, "latex", "--option", "digits", code=2)
        assert "name must be a letter" in failed(*ask, "c", "--name", "a b", code=2)
        assert "WHERE" not in done(*ask, "sql", "--kind", "where")
        assert run(*ask, "cobol").exit_code == 2

    def test_more_than_one_class_with_polyhedra(self, folder):
        ask = ("export", folder / "three.json", "--to", "lp")
        assert "--class says which: old, sick, well" in failed(*ask)
        ask = (*ask[:3], "sql")
        assert "'not old'" in done(*ask, "--class", "old")
        assert "--class must be one of old, sick, well; got 'young'" in failed(
            *ask, "--class", "young", code=2
        )
        tree = ("export", folder / "tree.json", "--to", "lp")
        assert "--class says which: sick, well" in failed(*tree)
        assert "Subject To" in done(*tree, "--class", "sick")
        error = failed("export", folder / "m.json", "--to", "sql", "--class", "sick", code=2)
        assert "more than two classes" in error

    @pytest.mark.usefixtures("union")
    def test_a_union_as_constraints_needs_bounds(self, folder):
        ask = ("export", folder / "m.json", "--to", "lp")
        error = failed(*ask)
        assert "2 polyhedra need bounds of their features, and 'age' has none" in error
        assert "(--bounds A=LOW:HIGH)" in error
        bounds = ("--bounds", "age=18:99", "--bounds", "dose=0:10")
        text = done(*ask, *bounds)
        assert "piece1_face0" in text
        assert "18.0 <= age <= 99.0" in text
        assert "above the upper" in failed(*ask, "--bounds", "age=5:1", code=2)
        assert "column 'Age' is missing (is it 'age'?)" in failed(*ask, "--bounds", "Age=5:9")
        error = failed(*ask[:3], "scipy", *bounds, code=2)
        assert "the format scipy has no option 'bounds'" in error


def test_whole_numbers_stay_so(folder):
    """Labels that are numbers are numbers in the model and in what is exported."""
    model = folder / "whole.json"
    assert np.array_equal(read_model(model).estimator.classes_, [0, 1])
    assert "THEN 1 ELSE 0" in done("export", model, "--to", "sql")

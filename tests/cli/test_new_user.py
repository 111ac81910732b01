"""The path of a new user with four public sets: from a file to SQL that answers as `predict` does.

Excerpts of palmerpenguins (CC0), nycflights13 (CC0), modeldata's credit_data and ggplot2's diamonds
(MIT).
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pytest

from cli_files import QUICK, done, read_csv, run
from polyceptron.data.encoding import Column
from polyceptron.model_file import read_model

TABLES = Path(__file__).parents[1] / "tables"
FEW = ["-k", 1]

SETS = {  # options of fit; what it notes, prints, and what `show` (a pattern) and the query have
    "penguins.csv": (
        ["-t", "species", "--missing", "indicator", *FEW],
        "",
        ["Adelie 152, Chinstrap 68, Gentoo 124", "86 rows held out"],
        '"sex is missing"',
        "IS NULL THEN",
    ),
    "flights-2013.csv": (
        ["-t", "arrival", "--missing", "dep_delay=indicator", "--dates", "parts", *FEW],
        "dates become 'month(time_hour)', 'weekday(time_hour)', 'hour(time_hour)'",
        ["cancelled 6, early 236, late 158"],
        '"dep_delay is missing"',
        "ISODOW",
    ),
    "credit.csv": (
        ["-t", "Status", "--missing", "median", "--missing", "Home=drop", "-k", 1],
        "'rownames' looks like an identifier, and is left out",
        ["Rows: 359 (bad 98, good 261), 24 features"],
        r"Records +number +0, 1",
        "COALESCE",
    ),
    "diamonds.tsv": (
        ["-t", "cut", "--drop", "price", *FEW],
        "",
        ["Fair 110, Good 110, Ideal 110"],
        '"color=E"',
        "CASE",
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_from_a_file_to_sql(tmp_path, name):
    options, noted, said, shown, written = SETS[name]
    data, model = TABLES / name, tmp_path / "model.json"
    result = run("fit", data, *options, "--test-size", 0.25, "-o", model)
    assert result.exit_code == 0, result.output
    assert noted in result.stderr
    for words in said:
        assert words in result.stdout
    assert re.search(shown, done("show", model))
    query = done("export", model, "--to", "sql", "--dialect", "duckdb", "--table", "rows")
    assert written in query
    missing = ["--missing", "skip"] if name == "credit.csv" else []
    answers = [
        row["prediction"] or None for row in read_csv(done("predict", model, data, *missing))
    ]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rows AS FROM read_csv('{data}', nullstr=['', 'NA'])")
        rows = connection.execute(query).fetchall()
    assert len(rows) == len(answers) >= 330
    assert [row[-1] for row in rows] == answers
    held_out = float(re.search(r"Accuracy: ([0-9.]+)%", result.stdout)[1])
    always = float(re.search(r"Always answering \w+: ([0-9.]+)%", result.stdout)[1])
    assert held_out > always


BLANKS = ["a", " a", "a ", '"a"', '" a"', '"a "', '"b"', ' "a" ']


def test_blanks_mean_the_same_everywhere(tmp_path):
    """In text they count, quoted or not, and around numbers not: in memory, on disk, exported."""
    rng = np.random.default_rng(0)
    rows = [(BLANKS[i % 8], [" 1", "2 ", "3"][i % 3], f" {rng.random():.3f}") for i in range(240)]
    inside = [c in (" a", '" a"') or code == "2 " for c, code, _ in rows]
    lines = [
        ",".join([*row, " yes" if yes else "no"]) for row, yes in zip(rows, inside, strict=True)
    ]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join([" c, code ,x,y", *lines, ""]))
    options = ["-t", "y", "--categories", "code", "--inside", " yes", *QUICK]
    for name, how in [
        ("memory", []),
        ("disk", ["--out-of-core", "--cache-dir", tmp_path / "cache"]),
    ]:
        result = run("fit", data, *options, *how, "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        for padded in ("'c': blanks around text count, as in ' a'", "'y': blanks", "as in ' yes'"):
            assert padded in result.stderr
    model = read_model(tmp_path / "memory")
    assert model.encoding == read_model(tmp_path / "disk").encoding
    codes = Column("code", "category", ("1", "2", "3"))
    words = Column("c", "category", (" a", "a", "a ", "b"))
    assert model.encoding.columns == (words, codes, Column("x", "number"))
    answers = [row["prediction"] for row in read_csv(done("predict", tmp_path / "memory", data))]
    assert answers == [" yes" if yes else "no" for yes in inside]

    query = done("export", tmp_path / "memory", "--to", "sql")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE data AS FROM '{data}'")
        assert [row[-1] for row in connection.execute(query).fetchall()] == answers
        as_text = connection.execute(f"FROM read_csv('{data}', all_varchar=true)").fetchall()
    found = [dict(zip(("c", "code", "x", "y"), row, strict=True)) for row in as_text]
    program = {}
    exec(done("export", tmp_path / "memory", "--to", "python"), program)
    assert [program["predict"](row) for row in found] == answers
    if shutil.which("node"):
        source = done("export", tmp_path / "memory", "--to", "javascript")
        driver = f"console.log(JSON.stringify({json.dumps(found)}.map(module.exports.predict)))"
        (tmp_path / "model.cjs").write_text(f"{source}\n{driver}")
        node = subprocess.run(["node", "model.cjs"], cwd=tmp_path, capture_output=True, check=True)
        assert json.loads(node.stdout) == answers

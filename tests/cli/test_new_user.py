"""The path of a new user with four public sets: from a file to SQL that answers as `predict` does.

Excerpts of palmerpenguins (CC0), nycflights13 (CC0), modeldata's credit_data and ggplot2's diamonds
(MIT).
"""

import re
from pathlib import Path

import duckdb
import pytest

from cli_files import done, read_csv, run

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

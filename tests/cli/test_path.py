"""The path of a new user: from a CSV to a query that a database answers."""

import csv
import io

import duckdb

from cli_files import done


def test_from_a_file_to_a_query(tmp_path):
    data, model = tmp_path / "bc.csv", tmp_path / "model.json"
    done("datasets", "breast-cancer", "-o", data)

    learned = done("fit", data, "--target", "class", "--test-size", 0.25, "-k", 2, "-o", model)
    assert "benign 444, malignant 239" in learned
    assert "171 rows held out" in learned

    shown = done("show", model)
    assert "clump_thickness" in shown
    assert "Learner: Polyceptron" in shown

    explained = done("explain", model, data, "--row", 2)
    assert f"Row 2 ({data}, line 3): malignant" in explained
    assert "Smallest change to benign" in explained

    done("plot", model, data, "-o", tmp_path / "model.png")
    assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")

    query = tmp_path / "query.sql"
    done("export", model, "--to", "sql", "--dialect", "duckdb", "--table", "cells", "-o", query)

    answers = list(csv.DictReader(io.StringIO(done("predict", model, data))))
    assert len(answers) == 683
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE cells AS FROM read_csv('{data}')")
        rows = connection.execute(query.read_text()).fetchall()
    assert [row[-1] for row in rows] == [answer["prediction"] for answer in answers]
    right = sum(row[-1] == row[-2] for row in rows)
    assert right / len(rows) > 0.95
    assert f"({right} of 683 rows)" in done("evaluate", model, data)

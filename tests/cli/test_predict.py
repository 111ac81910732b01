"""`predict`: the answers of the library, whatever the file, in constant memory."""

import gzip
import os
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_files import done, failed, people, read_csv, run, text_of
from polyceptron.cli._predict import lines_of
from polyceptron.data import dialect
from polyceptron.model_file import read_model, save_model


def expected(folder, rows):
    model = read_model(folder / "m.json")
    columns = dict(zip(("age", "dose", "colour", "class"), zip(*rows, strict=True), strict=True))
    X = model.encoding.transform(columns)
    polyhedron = model.estimator.polyhedron_
    return polyhedron.contains(X), polyhedron.margins(X)


class TestPredict:
    def test_a_face_is_named_with_its_piece(self, tmp_path):
        rows = [[x, "mid" if 20 <= x < 40 else "end"] for x in range(60)]
        (tmp_path / "d.csv").write_text(text_of(rows, ("x", "class")))
        done("fit", tmp_path / "d.csv", "-t", "class", "-l", "oc1", "-o", tmp_path / "m.json")
        got = read_csv(done("predict", tmp_path / "m.json", tmp_path / "d.csv", "--explain"))
        assert list(got[0]) == ["prediction", "score", "piece", "face", "slack"]
        headings = done("show", tmp_path / "m.json")
        for row in got:
            assert f"(piece {row['piece']} of" in headings

    def test_answers_are_the_library_s(self, folder):
        rows = people(300, seed=1)
        (folder / "new.csv").write_text(
            text_of([row[:3] for row in rows], ("age", "dose", "colour"))
        )
        inside, margins = expected(folder, rows)
        got = read_csv(done("predict", folder / "m.json", folder / "new.csv", "--explain"))
        assert [row["prediction"] == "well" for row in got] == inside.tolist()
        np.testing.assert_allclose([float(row["score"]) for row in got], margins.min(axis=1), 1e-8)
        np.testing.assert_allclose([float(row["slack"]) for row in got], margins.min(axis=1), 1e-8)
        assert [int(row["face"]) for row in got] == margins.argmin(axis=1).tolist()
        plain = read_csv(done("predict", folder / "m.json", folder / "new.csv"))
        assert list(plain[0]) == ["prediction", "score"]
        assert [row["prediction"] for row in plain] == [row["prediction"] for row in got]

    @pytest.mark.parametrize("name", ["three", "tree"])
    def test_probabilities_are_the_library_s(self, folder, name):
        rows = people(100, seed=1)
        (folder / "new.csv").write_text(text_of(rows))
        got = read_csv(done("predict", folder / f"{name}.json", folder / "new.csv", "--proba"))
        model = read_model(folder / f"{name}.json")
        columns = zip(("age", "dose", "colour"), list(zip(*rows, strict=True))[:3], strict=True)
        X = {key: values for key, values in columns if key in model.encoding.names}
        expected = model.estimator.rule_.predict_proba(model.encoding.transform(X))
        heads = [f"P({label})" for label in model.estimator.classes_]
        assert list(got[0]) == ["prediction", "score", *heads]
        np.testing.assert_array_equal([[float(row[h]) for h in heads] for row in got], expected)

    def test_probabilities_that_there_are_not(self, folder, data):
        result = run("predict", folder / "m.json", data, "--proba")
        assert result.exit_code == 2
        assert "--proba needs a model with probabilities" in result.stderr

    def test_new_categories_are_counted_on_stderr(self, folder):
        rows = people(50, seed=2)
        for row in rows[:3]:
            row[2] = "ultraviolet"
        result = run("predict", folder / "m.json", "-", stdin=text_of(rows))
        assert "colour: 3 rows have a value that the model never saw" in result.stderr
        inside, _ = expected(folder, rows)
        assert [row["prediction"] == "well" for row in read_csv(result.stdout)] == inside.tolist()
        assert "never saw" not in run("predict", folder / "m.json", folder / "people.csv").stderr

    def test_a_full_disk_is_named(self, folder):
        error = failed("predict", folder / "m.json", folder / "people.csv", "-o", "/dev/full")
        assert "/dev/full: No space left" in error

    def test_columns_go_by_name(self, folder):
        rows = people(50, seed=2)
        answers = done("predict", folder / "m.json", "-", stdin=text_of(rows))
        turned = [[row[2], "x", row[1], row[0]] for row in rows]
        text = text_of(turned, ("colour", "extra", "dose", "age"), delimiter=";")
        assert done("predict", folder / "m.json", "-", stdin=text) == answers
        (folder / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
        assert done("predict", folder / "m.json", folder / "rows.csv.gz") == answers
        table = pa.table({"dose": [r[1] for r in rows], "colour": [r[2] for r in rows],
                          "age": [r[0] for r in rows]})  # fmt: skip
        pq.write_table(table, folder / "rows.parquet", row_group_size=7)
        assert done("predict", folder / "m.json", folder / "rows.parquet") == answers

    def test_missing_columns_are_named(self, folder):
        error = failed("predict", folder / "m.json", "-", stdin="Age,dose,colour\n1,2,red\n")
        assert error == "Error: standard input: column 'age' is missing (is it 'Age'?)\n"
        error = failed("predict", folder / "m.json", "-", stdin="x,y\n1,2\n")
        assert "columns 'age', 'dose', 'colour' are missing; there are 'x', 'y'" in error
        error = failed("predict", folder / "m.json", "-", stdin="1,2,red\n")
        assert "the file seems to have no header" in error
        error = failed("predict", folder / "m.json", "-", "--no-header", stdin="1,2,red\n")
        assert "seems to have" not in error

    def test_no_rows_no_answers(self, folder, tmp_path):
        header = "age,dose,colour\n"
        assert done("predict", folder / "m.json", "-", stdin=header) == "prediction,score\n"
        pq.write_table(pa.table({"age": [1.0], "dose": [1.0], "colour": ["x"]})[:0], tmp_path / "p")
        assert done("predict", folder / "m.json", tmp_path / "p") == "prediction,score\n"

    def test_the_model_is_a_file(self, folder):
        error = failed("predict", "-", folder / "people.csv", code=2)
        assert "MODEL must be a file; only DATA can be standard input" in error

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("30,abc,red", "standard input, line 3, column 'dose': 'abc' is not a number"),
            ("30,,red", "standard input, line 3, column 'dose': a missing value"),
            ("30,1,", "standard input, line 3, column 'colour': a missing value"),
        ],
    )
    def test_wrong_rows_are_named(self, folder, line, message):
        text = f"age,dose,colour\n40,2,red\n{line}\n50,3,red\n"
        result = run("predict", folder / "m.json", "-", stdin=text)
        assert result.exit_code == 1
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_an_error_leaves_no_file(self, folder):
        out = folder / "none.csv"
        (folder / "bad.csv").write_text("age,dose,colour\n40,2,red\n40,x,red\n")
        failed("predict", folder / "m.json", folder / "bad.csv", "-o", out)
        assert not out.exists()
        assert not list(folder.glob(".polyceptron*"))

    def test_files_and_folders(self, folder):
        out = folder / "out.csv"
        text = done("predict", folder / "m.json", folder / "people.csv")
        assert done("predict", folder / "m.json", folder / "people.csv", "-o", out) == ""
        assert out.read_text() == text
        again = ("predict", folder / "m.json", folder / "people.csv", "-o", out)
        assert "is there already; --force" in failed(*again)
        done(*again, "--force")
        done("predict", folder / "m.json", folder / "people.csv", "-o", "/dev/null")

    def test_rows_in_many_pieces_stay_in_order(self, folder, monkeypatch):
        monkeypatch.setattr(dialect, "BLOCK", 2000)
        rows = people(1000, seed=3)
        got = read_csv(done("predict", folder / "m.json", "-", stdin=text_of(rows)))
        inside, _ = expected(folder, rows)
        assert [row["prediction"] == "well" for row in got] == inside.tolist()

    def test_memory_does_not_grow_with_the_file(self, folder):
        """Ten times the rows, and no more memory: in threads, with text and numbers."""
        peaks = []
        for n in (20, 200):
            (folder / "long.csv").write_text(text_of(people(500)) + text_of(people(500), None) * n)
            tracemalloc.start()
            done("predict", folder / "m.json", folder / "long.csv", "-o", "/dev/null")
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        size = (folder / "long.csv").stat().st_size
        assert peaks[1] - peaks[0] < size / 2

    def test_models_without_names(self, folder, tmp_path):
        from polyceptron import BatchPolyceptron

        X = np.array([row[:2] for row in people()], dtype=float)
        y = np.array([row[3] for row in people()])
        save_model(BatchPolyceptron(1, random_state=0).fit(X, y), tmp_path / "n.json")
        text = text_of([row[:2] for row in people()], ("p", "q"))
        assert len(done("predict", tmp_path / "n.json", "-", stdin=text).splitlines()) == 201
        error = failed("predict", tmp_path / "n.json", folder / "people.csv")
        assert "4 columns for a model of 2 without names" in error

    def test_models_with_names_and_no_encoding(self, tmp_path):
        import pandas as pd

        from polyceptron import BatchPolyceptron

        X = pd.DataFrame([row[:2] for row in people()], columns=["age", "dose"])
        y = np.array([row[3] for row in people()])
        model = BatchPolyceptron(1, random_state=0).fit(X, y)
        save_model(model, tmp_path / "n.json")
        got = read_csv(done("predict", tmp_path / "n.json", "-", stdin=text_of(people())))
        assert [row["prediction"] for row in got] == model.predict(X).tolist()


class TestProcess:
    def command(self, *arguments):
        return [sys.executable, "-m", "polyceptron", *map(str, arguments)]

    def test_a_reader_that_goes_away(self, folder):
        (folder / "big.csv").write_text(text_of(people(500)) + text_of(people(500), None) * 20)
        command = self.command("predict", folder / "m.json", folder / "big.csv")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            error = process.stderr.read()
            process.wait()
        assert error == b""


class TestLines:
    @pytest.mark.parametrize("labels", [["a", "b"], ["a,b", 'say "no"'], [" x", ""], [True, 3.5]])
    def test_what_is_written_is_read_again(self, labels):
        rng = np.random.default_rng(0)
        values = rng.normal(size=500) * 10.0 ** rng.integers(-315, 305, 500)
        special = [0.0, -0.0, 5e-324, sys.float_info.max, np.inf, -np.inf, 0.1, 123456789.0]
        values = np.concatenate([values, special])
        place = rng.integers(0, 2, len(values))
        face = pa.array(np.arange(len(values)), mask=np.arange(len(values)) == 3)
        lines = lines_of(labels, place, {"score": values, "face": face}).to_pybytes().decode()
        rows = read_csv("prediction,score,face\n" + lines)
        assert [float(row["score"]) for row in rows] == values.tolist()
        assert [row["prediction"] for row in rows] == [str(labels[j]) for j in place]
        assert [row["face"] for row in rows][2:5] == ["2", "", "4"]


class TestKeepAndSkip:
    def test_columns_are_carried_along(self, folder):
        text = 'id,age,dose,colour,"a, name"\n007,30,1.5,red,"x, y"\n008,40,2,blue,\n'
        ask = ("predict", folder / "m.json", "-", "--keep", "id,age", "--keep", "a, name")
        rows = read_csv(done(*ask, stdin=text))
        plain = read_csv(done("predict", folder / "m.json", "-", stdin=text))
        kept = [("007", "30", "x, y"), ("008", "40", "")]
        assert [(row["id"], row["age"], row["a, name"]) for row in rows] == kept
        assert [row["prediction"] for row in rows] == [row["prediction"] for row in plain]
        error = failed("predict", folder / "m.json", "-", "--keep", "idd", stdin=text)
        assert "column 'idd' is missing (is it 'id'?)" in error

    @pytest.mark.parametrize("explain", [[], ["--explain"]])
    def test_rows_without_an_answer(self, folder, explain):
        text = "age,dose,colour\n30,1.5,red\n,2,blue\n40,1,?\n90,9,red\n"
        error = failed("predict", folder / "m.json", "-", *explain, stdin=text)
        assert "line 3, column 'age': a missing value" in error
        assert "predict --missing skip" in error
        result = run("predict", folder / "m.json", "-", "--missing", "skip", *explain, stdin=text)
        rows = read_csv(result.stdout)
        assert [bool(row["prediction"]) for row in rows] == [True, False, False, True]
        assert set(rows[1].values()) == {""}
        assert result.stderr == "Note: 2 rows have a missing value and no answer\n"
        whole = "age,dose,colour\n30,1.5,red\n90,9,red\n"
        answers = done("predict", folder / "m.json", "-", *explain, stdin=whole)
        assert [rows[0], rows[3]] == read_csv(answers)


def test_text_that_a_terminal_or_a_spreadsheet_would_obey(tmp_path):
    link, escape = '=HYPERLINK("http://x")', "\x1b[2Jb"
    rows = [[x, link if x < 20 else escape, f"@{x}"] for x in range(40)]
    header = ("=x", "class", "note")
    (tmp_path / "d.csv").write_text(text_of(rows, header))
    fit = ("-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m.json", "--drop", "note")
    told = done("fit", tmp_path / "d.csv", *fit)
    ask = ("predict", tmp_path / "m.json", tmp_path / "d.csv", "--keep", "note,=x")
    plain, safe = read_csv(done(*ask)), read_csv(done(*ask, "--safe-csv"))
    assert [row["note"] for row in plain] == [row[2] for row in rows]
    assert {row["prediction"] for row in plain} == {link, escape}
    assert {row["prediction"] for row in safe} == {f"'{link}", r"\x1b[2Jb"}
    assert [row["note"] for row in safe] == [f"'{row[2]}" for row in rows]
    assert [float(row["'=x"]) for row in safe] == [row[0] for row in rows]
    assert [row["score"] for row in safe] == [row["score"] for row in plain]
    assert "\x1b" not in told + done("show", tmp_path / "m.json")


@pytest.mark.parametrize("command", [["predict", "m.json", "d.csv"], ["export", "m.json"]])
def test_a_terminal_gets_no_escapes(tmp_path, command):
    """Neither from labels nor from columns, whatever was asked for."""
    pty = pytest.importorskip("pty")
    rows = [[x, "a" if x < 20 else "\x1b[2Jb"] for x in range(40)]
    (tmp_path / "d.csv").write_text(text_of(rows, ("x", "class")))
    fit = ("-t", "class", "-l", "batch", "-k", 1, "-o", tmp_path / "m.json")
    done("fit", tmp_path / "d.csv", *fit)
    ours, theirs = pty.openpty()
    sql = ["--to", "sql"] if command[0] == "export" else []
    command = [sys.executable, "-m", "polyceptron", *command, *sql]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # which is the end of it
        while data := os.read(ours, 1 << 16):
            shown += data
    os.close(ours)
    _, said = process.communicate()
    if sql:
        assert b"characters that a terminal would obey: -o says which file" in said
    else:
        assert b"x1b[2Jb" in shown
    assert process.returncode == bool(sql)
    assert b"\x1b" not in shown


@pytest.mark.parametrize("command", ["show", "predict", "evaluate"])
def test_no_escapes_of_the_name_of_a_file(tmp_path, command):
    """Such as an archive may have brought: it is named where it cannot be read."""
    (tmp_path / "m\x1b]0;x\x07.json").write_text("{")
    more = [] if command == "show" else [__file__]
    run = subprocess.run(
        [sys.executable, "-m", "polyceptron", command, *tmp_path.iterdir(), *more],
        capture_output=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert b"m\\x1b]0;x\\x07.json" in run.stderr
    assert b"\x1b" not in run.stderr

"""SQL: SQLite and DuckDB give the answers of the polyhedron, whatever the columns are called."""

import itertools
import math
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from export_cases import HOSTILE, UNWRITABLE, accepted, extreme_polyhedra, polyhedron, rows
from polyceptron import Polyhedron
from polyceptron.data.encoding import Column, Encoding
from polyceptron.export import ExportError, to_sql
from polyceptron.export.sql import _Writer

DATABASES = ["duckdb", "sqlite"]
databases = pytest.mark.parametrize("dialect", DATABASES)


def quote(name):
    return '"' + name.replace('"', '""') + '"'


class Database:
    """A table in a new database, and what queries say of it."""

    def __init__(self, dialect, frame, table="data", con=None):
        new = duckdb.connect if dialect == "duckdb" else lambda: sqlite3.connect(":memory:")
        self.con = con or new()
        types = ["TEXT" if kind.kind == "O" else "DOUBLE" for kind in frame.dtypes]
        columns = ", ".join(f"{quote(c)} {t}" for c, t in zip(frame, types, strict=True))
        self.con.execute(f"CREATE TABLE {quote(table)} ({columns})")
        if dialect == "duckdb":
            self.con.register("_frame", frame)
            self.con.execute(f"INSERT INTO {quote(table)} SELECT * FROM _frame")
        else:
            marks = ", ".join("?" * frame.shape[1])
            values = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
            self.con.executemany(f"INSERT INTO {quote(table)} VALUES ({marks})", values)

    def __call__(self, sql):
        return self.con.execute(sql).fetchall()

    def answers(self, sql):
        return np.array([row[-1] for row in self(sql)])


def frame(P, X):
    return pd.DataFrame(X, columns=list(P.feature_names))


@databases
@pytest.mark.parametrize(
    "labels", [(1, 0), (True, False), (2.5, -1e-30), ("it's", '"; DROP TABLE data; --')]
)
def test_labels_of_every_kind(dialect, labels):
    P = polyhedron(["a", "b"])
    X = rows(2, 100)
    db = Database(dialect, frame(P, X))
    sql = to_sql(P, dialect=dialect, inside=labels[0], outside=labels[1])
    assert [row[-1] for row in db(sql)] == [labels[0 if one else 1] for one in P.contains(X)]


@databases
def test_hostile_names_are_columns(dialect):
    names, refused = accepted(HOSTILE + UNWRITABLE, lambda P: to_sql(P, dialect=dialect))
    assert refused == UNWRITABLE
    P = polyhedron(names, K=3)
    X = rows(len(names), 10_000 if dialect == "duckdb" else 2000)
    db = Database(dialect, frame(P, X))
    sql = to_sql(P, dialect=dialect, inside=HOSTILE[0], outside=HOSTILE[1])
    answers = np.array([row[-1] for row in db(sql)], dtype=object)
    assert list(answers == HOSTILE[0]) == list(P.contains(X))
    assert db("SELECT count(*) FROM data") == [(len(X),)]


@databases
def test_hostile_tables_and_labels(dialect):
    P = Polyhedron([[1.0]], [0.0], ["x"])
    con = None  # one database for all of them
    for table in (name for name in HOSTILE if len(name) < 1000):
        db = Database(dialect, frame(P, np.array([[1.0], [-1.0]])), table, con)
        con = db.con
        sql = to_sql(P, dialect=dialect, table=table, name=table, inside=table, outside="no")
        assert db(sql) == [(1.0, table), (-1.0, "no")]


@pytest.mark.parametrize("dialect", sorted(set(sqlglot.Dialect.classes) - {"", "dax", "prql"}))
def test_every_dialect_quotes_or_refuses(dialect):
    """No dialect can be run here but two; the others are read back by sqlglot."""
    names, refused = accepted(HOSTILE, lambda P: to_sql(P, dialect=dialect))
    # BigQuery reads a dot as the end of a name, quoted or not.
    assert all("\\" in name or (dialect == "bigquery" and "." in name) for name in refused)
    assert len(names) > 40
    P = polyhedron([*names[:20], "größe"], K=2)
    sql = to_sql(P, dialect=dialect, encoding=None)
    tree = sqlglot.parse(sql, read=dialect)
    assert len(tree) == 1
    assert set(P.feature_names) < {one.this for one in tree[0].find_all(sqlglot.exp.Identifier)}


@databases
def test_gaps_give_no_answer(dialect):
    P = Polyhedron([[1.0, 0.0], [1.0, 1.0]], [0.0, 10.0], ["x", "y"])
    X = np.array([[1.0, np.nan], [np.nan, 1.0], [np.inf, 0], [-np.inf, 0], [-1, 0], [1, 0]])
    db = Database(dialect, frame(P, X))
    assert [row[-1] for row in db(to_sql(P, dialect=dialect))] == [None] * 4 + ["0", "1"]
    where = to_sql(P, dialect=dialect, kind="where")
    assert len(db(f"SELECT * FROM data WHERE {where}")) == 1


def test_not_a_number_in_duckdb_gives_no_answer():
    con = duckdb.connect()
    con.execute("CREATE TABLE data AS SELECT 'nan'::DOUBLE AS x")
    assert con.execute(to_sql(Polyhedron([[1.0]], [0.0], ["x"]))).fetchall()[0][-1] is None


@databases
def test_a_column_that_is_not_there_is_an_error(dialect):
    """SQLite would take "age" for the text 'age', were it not for the table's name."""
    P = Polyhedron([[1.0]], [0.0], ["age"])
    db = Database(dialect, pd.DataFrame({"x": [1.0]}))
    with pytest.raises((duckdb.Error, sqlite3.Error), match="age"):
        db(to_sql(P, dialect=dialect))


@databases
def test_columns_of_whole_numbers(dialect):
    P = Polyhedron([[0.1, 0.7]], [-0.35], ["x", "y"])
    X = np.array(list(itertools.product(range(-5, 6), repeat=2)), dtype=float)
    con = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    kind = "DECIMAL(9, 2)" if dialect == "duckdb" else "INTEGER"
    con.execute(f"CREATE TABLE data (x INTEGER, y {kind})")
    con.executemany("INSERT INTO data VALUES (?, ?)", X.astype(int).tolist())
    answers = [row[-1] for row in con.execute(to_sql(P, dialect=dialect)).fetchall()]
    assert answers == ["1" if one else "0" for one in P.contains(X)]


@databases
@pytest.mark.parametrize(("d", "K"), [(1050, 1), (2, 1050)])
def test_many_columns_and_many_faces(dialect, d, K):
    P = Polyhedron(
        np.random.default_rng(0).normal(size=(K, d)), np.full(K, 50.0), [f"c{j}" for j in range(d)]
    )
    X = rows(d, 20) * (1 if d > 100 else 25)
    db = Database(dialect, frame(P, X))
    sql = to_sql(P, dialect=dialect, inside=1, outside=0)
    np.testing.assert_array_equal(db.answers(sql).astype(bool), P.contains(X))


ENCODING = Encoding(
    [
        Column("age", "number", fill=0.25),
        Column("colour", "category", ("red", "it's", '"; DROP TABLE data; --'), "red"),
        Column("dose", "number"),
        Column("kind", "category", ("a", "b")),
        Column("ill", "binary", ("false", "true"), "true"),
    ]
)


@databases
def test_encoded_columns(dialect):
    rng = np.random.default_rng(0)
    n = 2000
    table = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "colour": rng.choice([*ENCODING.columns[1].categories, "new", None], n),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["true", "FALSE", None, "new"], n),
        }
    ).astype({"colour": object, "kind": object, "ill": object})
    P = polyhedron(ENCODING.feature_names)
    known = P.contains(ENCODING.transform(table))
    assert 0.2 < known.mean() < 0.8
    db = Database(dialect, table)
    answers = db.answers(to_sql(P, dialect=dialect, encoding=ENCODING))
    np.testing.assert_array_equal(answers == "1", known)
    table.loc[:, "kind"] = None
    sql = to_sql(P, dialect=dialect, encoding=ENCODING)
    assert {row[-1] for row in Database(dialect, table)(sql)} == {None}


def test_what_duckdb_reads_otherwise(tmp_path):
    """The recipe of the README: a table made of the file that `fit` learned from."""
    words = Encoding([Column("w", "category", ("a", "b")), Column("f", "category", ("F", "T"))])
    P = Polyhedron([[1.0, 0.0, 0.0, 1.0]], [-0.5], words.feature_names)
    path = tmp_path / "t.csv"
    path.write_text('w,f\n a ,F\n" a",F\nb,F\na,T\n"a" ,F\n')
    con, sql = duckdb.connect(), to_sql(P, encoding=words)
    table = f"CREATE TABLE data AS FROM read_csv('{path}', header=true"
    con.execute(f"{table}, types={{'f': 'VARCHAR'}})")
    assert [row[-1] for row in con.execute(sql).fetchall()] == ["0", "0", "0", "1", "1"]
    con.execute("DROP TABLE data")
    con.execute(f"{table})")  # T and F become BOOLEAN
    assert [row[-1] for row in con.execute(sql).fetchall()] == ["0", "0", "0", "1", "1"]


@pytest.mark.parametrize("words", [("no", "yes"), ("NO", "Yes"), ("F", "T"), ("t", "f")])
@pytest.mark.parametrize("fill", [None, 0])
def test_yes_and_no_that_duckdb_makes_boolean(tmp_path, words, fill):
    kind = "binary" if words[0] < words[1] else "category"
    filled = None if fill is None else words[0]
    encoding = Encoding([Column("f", kind, words, filled), Column("x", "number")])
    weights = [[1.0, 1.0]] if kind == "binary" else [[0.0, 1.0, 1.0]]
    P = Polyhedron(weights, [-0.5], encoding.feature_names)
    path = tmp_path / "t.csv"
    path.write_text(f"f,x\n{words[0]},0\n{words[1]},0\n,0\n{words[0]},1\n")
    con, sql = duckdb.connect(), to_sql(P, encoding=encoding)
    con.execute(f"CREATE TABLE data AS FROM '{path}'")
    assert con.execute("SELECT TYPEOF(f) FROM data LIMIT 1").fetchall() == [("BOOLEAN",)]
    gap = None if fill is None else "0"
    assert [row[-1] for row in con.execute(sql).fetchall()] == ["0", "1", gap, "1"]


def test_other_words_than_yes_and_no_that_became_boolean():
    """No answer is better than a wrong one."""
    words = Encoding([Column("f", "category", ("no", "often", "yes"))])
    P = Polyhedron([[0.0, 0.0, 1.0]], [-0.5], words.feature_names)
    con = duckdb.connect()
    con.execute("CREATE TABLE data AS SELECT true AS f")
    assert {row[-1] for row in con.execute(to_sql(P, encoding=words)).fetchall()} == {None}


@pytest.mark.parametrize(("dialect", "alike"), [("duckdb", 1), ("sqlite", 1), ("postgres", 0)])
def test_names_that_differ_in_capitals(dialect, alike):
    P = Polyhedron([[1.0, 2.0]], [0.0], ["Age", "age"])
    if alike:
        with pytest.raises(ExportError, match="capitals"):
            to_sql(P, dialect=dialect)
    else:
        assert '"Age"' in to_sql(P, dialect=dialect)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kind": "update"}, "kind must be one of"),
        ({"dialect": "klingon"}, "dialect must be one of .*duckdb"),
        ({"dialect": "dax"}, "dialect must be one of"),
        ({"table": None}, "table must be"),
        ({"table": ()}, "table must be"),
        ({"table": ""}, "table must not be empty"),
        ({"table": 3}, "table"),
        ({"name": "a\0"}, "name must not hold the character NUL"),
        ({"inside": "0"}, "must be different"),
        ({"inside": []}, "inside must be text, a number or a bool"),
        ({"inside": 1}, "both be text or both be numbers"),
        ({"inside": math.nan, "outside": 0}, "inside must be finite"),
        ({"inside": "a\\", "dialect": "mysql"}, "backslash"),
        ({"encoding": ENCODING}, "encoding must give the features"),
    ],
)
def test_what_is_refused(options, match):
    with pytest.raises((ExportError, TypeError), match=match):
        to_sql(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"]), **options)


def test_schema_and_table():
    con = duckdb.connect()
    con.execute('CREATE SCHEMA "s.t"')
    con.execute('CREATE TABLE "s.t"."x;y" AS SELECT 1.0::DOUBLE AS a')
    sql = to_sql(Polyhedron([[1.0]], [0.0], ["a"]), table=("s.t", "x;y"))
    assert con.execute(sql).fetchall() == [(1.0, "1")]


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=30))
def test_numbers_come_back_to_the_last_bit(values):
    con = sqlite3.connect(":memory:")
    for dialect, run in (("duckdb", duckdb.execute), ("sqlite", con.execute)):
        number = _Writer(dialect, None).number
        found = run("SELECT " + ", ".join(map(number, values))).fetchone()
        assert [one.hex() for one in found] == [float(v).hex() for v in values]


@settings(max_examples=30)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_quoted_or_refused(name, table, label):
    P = Polyhedron([[1.0]], [0.0], [name])
    wanted = {"table": table, "inside": label, "outside": label + "!", "name": name + table}
    bad = "\0" in name + table + label or not (name and table)
    for dialect in DATABASES:
        if bad:
            with pytest.raises(ExportError, match=r"NUL|empty"):
                to_sql(P, dialect=dialect, **wanted)
            continue
        db = Database(dialect, frame(P, np.array([[1.0], [-1.0]])), table)
        assert db(to_sql(P, dialect=dialect, **wanted)) == [(1.0, label), (-1.0, label + "!")]


@databases
def test_extreme_numbers(dialect):
    for bare, wild in extreme_polyhedra(15):
        P = Polyhedron(bare.W, bare.b, [f"c{j}" for j in range(bare.n_features)])
        with np.errstate(over="ignore"):  # databases overflow as they like
            small = np.isfinite(np.abs(wild) @ np.abs(P.W).T + np.abs(P.b)).all(axis=1)
        X = wild[small & (np.abs(wild) < 1e308).all(axis=1)]
        answers = Database(dialect, frame(P, X)).answers(to_sql(P, dialect=dialect))
        np.testing.assert_array_equal(answers == "1", P.contains(X))

"""Readers: every format, every way in which a file can be wrong, and random bytes."""

import csv
import gzip
import io
import os
import struct
import sys
import zipfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyceptron import open_blocks
from polyceptron.data import dialect, streams, tables
from polyceptron.data.dialect import Dialect, TextBlock
from polyceptron.data.encoding import Coded
from polyceptron.data.guesses import MISSING, FileOptions, as_number
from polyceptron.data.source import SourceError
from polyceptron.data.tables import open_table

quick = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_table(path, names=None, *, texts=(), **options):
    """All columns: numbers where all values are, lists of text and None otherwise."""
    options = FileOptions(**options)
    with open_table(path, options) as table:
        names = table.names if names is None else names
        types = table.types([name for name in names if name not in texts])
        numbers = [n for n in types if not tables.is_text(types[n])]
        others = [n for n in names if n not in numbers]
    columns = {name: [] for name in names}
    with open_table(path, options) as table:
        for batch in table.batches(numbers, others):
            for name in numbers:
                columns[name] += batch.numbers(name).tolist()
            for name in others:
                columns[name] += values_of(batch.texts(name))
    return columns


def values_of(coded: Coded):
    return [coded.values[code] for code in coded.codes]


def lines_of(path):
    with open_table(path) as table:
        return [
            int(batch.where(i, None).rpartition(" ")[2])
            for batch in table.batches([], table.names)
            for i in range(batch.n_rows)
        ]


class TestText:
    @pytest.mark.parametrize(
        "text",
        [
            "a,b\n1,x\n2,y\n",
            "a,b\r\n1,x\r\n2,y\r\n",
            "a,b\r1,x\r2,y\r",
            "a,b\n1,x\n2,y",
            "\ufeffa,b\n1,x\n2,y\n",
            "a;b\n1;x\n2;y\n",
            "a\tb\n1\tx\n2\ty\n",
            "a|b\n1|x\n2|y\n",
            "a b\n1 x\n2 y\n",
            " a,  b \n 1 ,x\n2 ,y\n",
            "a, b\n1, x\n2, y\n",
            '"a" , "b"\n "1" , "x" \n2 ,"y" \n',
            '"a","b"\n"1","x"\n"2","y"\n',
            '"a", "b"\n1, "x"\n2, "y"\n',
            "\n\na,b\n\n1,x\n\n\n2,y\n\n",
            "sep=;\na;b\n1;x\n2;y\n",
        ],
    )
    def test_one_table_many_ways(self, tmp_path, text):
        assert read_table(write(tmp_path, text)) == {"a": [1.0, 2.0], "b": ["x", "y"]}

    def test_blanks_are_a_part_of_text(self, tmp_path):
        """Quoted or not; those between a quote and a delimiter are not, and no number has any."""
        text = 'a,b,c\n 1 , x,"x "\n 2 ," x" , "x"\n" 3 ",x ,"x "","  \n NA , ,x\n'
        table = read_table(write(tmp_path, text))
        np.testing.assert_array_equal(table["a"], [1, 2, 3, np.nan])
        assert table["b"] == [" x", " x", "x ", " "]
        assert table["c"] == ["x ", "x", 'x ",', "x"]
        assert lines_of(tmp_path / "data.csv") == [2, 3, 4, 5]

    def test_a_blank_after_every_delimiter(self, tmp_path):
        """As in files of UCI; it is announced where there is text."""
        path = write(tmp_path, "age,work\n39, State\n50,  ?\n38, x y \n")
        assert read_table(path)["work"] == ["State", None, "x y "]
        with open_table(path) as table:
            assert "the blank after every ',' is taken for a part of it" in table.notes[0]
        assert read_table(write(tmp_path, 'a,b,c\n1, " x", y\n'))["b"] == [" x"]
        assert read_table(write(tmp_path, "a,b,c\n1, x, y\n2, x,y\n"))["b"] == [" x", " x"]
        with open_table(write(tmp_path, "a,b\n1, 2\n")) as table:
            assert not table.notes

    def test_no_header(self, tmp_path):
        path = write(tmp_path, "1,x\n2,y\n")
        assert read_table(path) == {"x1": [1.0, 2.0], "x2": ["x", "y"]}
        assert lines_of(path) == [1, 2]

    def test_header_is_told(self, tmp_path):
        path = write(tmp_path, "2019,2020\n1,2\n")
        assert read_table(path, header=True)["2020"] == [2.0]
        assert read_table(path)["x1"] == [2019.0, 1.0]
        assert read_table(write(tmp_path, "x,y\nz,w\n"), header=False)["x1"] == ["x", "z"]
        path = write(tmp_path, "2019,2020\n1,2\n")
        with open_table(path, expect=["2020"]) as table:
            assert table.names == ("2019", "2020")

    def test_a_header_that_begins_like_a_zip_archive(self, tmp_path):
        """A primary key may be called so; the rows were there twice, and of two bytes never."""
        path = write(tmp_path, "PK,b\nu,x\nv,y\n")
        assert read_table(path) == {"PK": ["u", "v"], "b": ["x", "y"]}
        for header in (None, True):
            with pytest.raises(SourceError, match="has a header and no rows"):
                read_table(write(tmp_path, "PK"), header=header)

    def test_a_long_header(self, tmp_path, monkeypatch):
        """Longer than what is looked at first, and then."""
        monkeypatch.setattr(dialect, "HEAD", 1 << 12)
        n = 2000
        names = [f"a column with number {j}" for j in range(n)]
        path = write(tmp_path, ",".join(names) + "\n" + ",".join(map(str, range(n))) + "\n")
        with open_table(path) as table:
            assert table.names == tuple(names)
            (batch,) = table.batches([names[-1]])
        assert batch.numbers(names[-1]).tolist() == [n - 1]

    def test_a_header_without_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr(dialect, "MOST_HEAD", 1 << 19)
        path = write(tmp_path, "a," * (1 << 19))
        with pytest.raises(SourceError, match="line 1: it has no end within 0 MB"):
            open_table(path)

    def test_missing_values(self, tmp_path):
        rows = "".join(f"{token},{token}\n" for token in MISSING if token)
        table = read_table(write(tmp_path, "a,b\n1,x\n" + rows + "2,y\n , \n"))
        n = len(MISSING)
        np.testing.assert_array_equal(table["a"], [1] + [np.nan] * (n - 1) + [2, np.nan])
        assert table["b"] == ["x"] + [None] * (n - 1) + ["y", " "]

    def test_quotes_and_newlines(self, tmp_path):
        text = 'a,b,c\n1,"x ""y"", z",p\n2,"two\nlines",q\n3,5" pipe,r\n'
        path = write(tmp_path, text)
        assert read_table(path)["b"] == ['x "y", z', "two\nlines", '5" pipe']
        assert lines_of(path) == [2, 3, 5]

    def test_text_columns_stay_as_they_stand(self, tmp_path):
        path = write(tmp_path, "a,b\n01,1\n1.0,2\n")
        assert read_table(path, texts=["a"])["a"] == ["01", "1.0"]
        assert list(read_table(path, ["b"])) == ["b"]

    def test_columns_without_a_name(self, tmp_path):
        with open_table(write(tmp_path, ",a\n0,1\n")) as table:
            assert table.unnamed == {"column 1"}
            assert table.names == ("column 1", "a")

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_many_blocks(self, tmp_path, monkeypatch, newline):
        monkeypatch.setattr(dialect, "BLOCK", 1000)
        rows = [(i, f'"t{newline}{i}"' if i % 7 == 0 else f"t{i}") for i in range(1000)]
        text = newline.join(["n,t", *(f"{i},{t}" for i, t in rows)])
        path = write(tmp_path, text)
        table = read_table(path)
        np.testing.assert_array_equal(table["n"], range(1000))
        assert table["t"] == [t.strip('"') for _, t in rows]
        line, expected = 2, []
        for _, t in rows:
            expected.append(line)
            line += 1 + t.count("\n")
        assert lines_of(path) == expected


WRONG = [
    ("", "{} is empty"),
    ("\n \n", "{} is empty"),
    ("a,b\n", "{} has a header and no rows"),
    ("a,b\n\n\n", "{} has a header and no rows"),
    ("a,b\n1,2\n3\n", "{}, line 3: 1 field where the header has 2"),
    ("a,b\n1,2\n3,4,5\n", "{}, line 3: 3 fields where the header has 2"),
    ("1,2\n3,4,5\n", "{}, line 2: 3 fields where the first row has 2"),
    ("a,b,a\n1,2,3\n", "{}, line 1: columns 1 and 3 are both called 'a'"),
    ("a,b\n1,2\n2,abc\n3,4\n4,5\n", "{}, line 3, column 'b': 'abc' is not a number"),
    ("a,b\n1,2\n2,-nan\n", "{}, line 3, column 'b': '-nan' is not a number"),
    ("a,b\n1,2\n\n2,Infinity\n", "{}, line 4, column 'b': 'Infinity' is not a number"),
    ("a;b\n1,5;1.5\n2,5;2.5\n", "line 2, column 'a': '1,5' is not a number (decimals need a point"),
    ("a;b\n1,5;x\n2.5;y\n", "line 2, column 'a': '1,5' is not a number (decimals need a point"),
    ("a,b\n1,2\n2,1e999\n3,4\n", "{}, line 3, column 'b': '1e999' is not a number"),
    ("a,b\n1,2\n2,inf\n3,4\n", "{}, line 3, column 'b': 'inf' is not a number"),
    ("a,b\n1,2\n2,1_0\n3,4\n", "'1_0' is not a number"),
    ("a,b\n1,2\n2,\u0661\n3,4\n", "is not a number"),
    ('a,b\n1,"2\n3,4\n', "{}, line 2: a quoted field is never closed"),
    ('a,"b\n1,2\n3,4\n', "{}, line 1: a quoted field is never closed"),
    ('"a,b\n' + "1,2\n" * 50_000, "is a quote never closed?"),
    (
        b"a,b\n1,x\xc3\xa9\n2,\xe9t\xe9\n",
        "{}, line 3, column 'b': b'\\xe9t\\xe9' is not UTF-8: name",
    ),
    (b"a,\xe9\xc3\xa9\n1,x\n", "{}, line 1: the name of column 2 is not UTF-8: b'\\xe9\\xc3"),
    (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "{}: the gzip file is damaged"),
    (b"\x1f\x8b garbage", "{}: the gzip file is damaged"),
    (b"PAR1 garbage", "{}: the file of Parquet is damaged"),
    (b"PK\x03\x04 garbage", "{}: the .npz file is damaged"),
    ("1 1:2 2:x\n", "{}, line 1: '2:x' is not index:value"),
    ("1 1:2\nx 1:2\n", "{}, line 2: the label 'x' is not a number"),
    ("1 2:2 1:3\n", "{}, line 1: index 1 after 2; they must increase"),
    ("1 1:2 99999999999:3\n", "{}, line 1: index '99999999999' is more than"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_what_is_wrong_is_said_in_one_line(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(SourceError) as error, open_table(path) as table:  # noqa: PT012
        texts = table.names[-1:] if "'b': \"" in message or b"\xe9" in path.read_bytes() else ()
        for batch in table.batches([n for n in table.names if n not in texts], texts):
            for name in table.names:
                batch.texts(name) if name in texts else batch.numbers(name)
    assert message.format(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_that_are_not_asked_for_are_not_looked_at(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n2,abc\n")
    assert read_table(path, ["a"]) == {"a": [1.0, 2.0]}


def test_a_record_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect, "MOST", 5000)
    monkeypatch.setattr(dialect, "BLOCK", 1000)
    path = write(tmp_path, "a,b\n1,2\n" + '3,"' + "x\n" * 10_000)
    with pytest.raises(SourceError, match="line 3: a record of more than"):
        list(open_table(path).batches(["a"]))


class TestOtherFormats:
    @pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd", "lz4"])
    def test_compression(self, tmp_path, codec):
        n = 20_000
        data = b"a,b\n" + b"1,x\n" * n
        path = write(tmp_path, b"")
        with pa.CompressedOutputStream(str(path), codec) as out:
            out.write(data)
        assert read_table(path) == {"a": [1.0] * n, "b": ["x"] * n}
        whole = path.read_bytes()
        path.write_bytes(whole + whole if codec == "gzip" else whole[:-5])
        if codec == "gzip":  # two members are one file
            assert len(read_table(path, header=False)["x1"]) == 2 * n + 2
        else:
            with pytest.raises(SourceError, match=f"the {codec} file is damaged"):
                read_table(path)

    def test_standard_input(self, monkeypatch):
        def read(data):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            with open_table("-") as table:
                return [batch.data.to_pydict() for batch in table.batches(["a"], ["b"])]

        assert read(gzip.compress(b"a,b\n1,x\n")) == [{"a": [1.0], "b": ["x"]}]
        with pytest.raises(SourceError, match="standard input, line 4: 3 fields"):
            read(b"a,b\n1,x\n2,\n3,z,\n")

    def test_a_pipe_is_refused(self, tmp_path):
        """Nobody may ever write into it."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SourceError, match="not a regular file; what comes from a pipe is read"):
            open_table(tmp_path / "pipe")

    def test_parquet(self, tmp_path):
        table = pa.table(
            {
                "n": pa.array([1, None, 3]),
                "f": pa.array([1.5, float("nan"), None], pa.float32()),
                "t": ["x", None, "z"],
                "d": pa.array(["p", "q", None]).dictionary_encode(),
                "b": [True, False, None],
                "big": [2**60 + 1, 1, 2],
                "written": [" 1.5", "?", "-3e2"],
            }
        )
        path = tmp_path / "data.parquet"
        pq.write_table(table, path, row_group_size=2)
        got = read_table(path, texts=["t", "d"])
        np.testing.assert_array_equal(got["n"], [1, np.nan, 3])
        np.testing.assert_array_equal(got["f"], [1.5, np.nan, np.nan])
        np.testing.assert_array_equal(got["b"], [1, 0, np.nan])
        assert got["big"] == [2**60 + 1, 1, 2]
        assert got["t"] == ["x", None, "z"]
        assert got["d"] == ["p", "q", None]
        assert read_table(path, ["n", "b"], texts=["n", "b"])["n"] == ["1", None, "3"]
        with open_table(path) as opened:
            first, second = opened.batches(["written"])
        assert second.where(0, "t").endswith("data.parquet, row 2, column 't'")
        np.testing.assert_array_equal(first.numbers("written"), [1.5, np.nan])
        with open_table(path) as opened, pytest.raises(SourceError, match="row 0, column 't': 'x'"):
            next(opened.batches(["t"])).numbers("t")

    def test_parquet_text_that_is_not_utf8(self, tmp_path):
        offsets = np.array([0, 2], np.int32).tobytes()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfe")]
        text = pa.Array.from_buffers(pa.string(), 1, buffers)
        table = pa.table({"a": [1.0], "b": text})
        pq.write_table(table, tmp_path / "bad.parquet", use_dictionary=False)
        with pytest.raises(SourceError, match=r"bad.parquet.*, column 'b': .*UTF8"):
            read_table(tmp_path / "bad.parquet")

    def test_npz(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=np.eye(2), y=["p", "q"])
        expected = {"x1": [1.0, 0.0], "x2": [0.0, 1.0], "target": ["p", "q"]}
        assert read_table(tmp_path / "a.npz") == expected
        np.savez(tmp_path / "b.npz", age=[1, 2], kind=np.array([b"p", b"q"]))
        assert read_table(tmp_path / "b.npz") == {"age": [1.0, 2.0], "kind": ["p", "q"]}
        np.savez(tmp_path / "c.npz", X=np.asfortranarray(np.eye(2)), feature_names=["u", "v"])
        with open_table(tmp_path / "c.npz") as table:
            assert table.names == ("u", "v")
            assert table.target is None
        assert read_table(tmp_path / "c.npz") == {"u": [1.0, 0.0], "v": [0.0, 1.0]}

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({}, "is empty"),
            ({"a": [1], "b": [1, 2]}, "of one length"),
            ({"a": np.ones((2, 2, 2))}, "no table and no column"),
            ({"a": np.ones((2, 2))}, "a column is one-dimensional"),
            ({"a": np.array([object()])}, "array 'a': an array of Python objects"),
            ({"a": [1j]}, "of numbers or text; got complex128"),
            ({"a": np.empty(0)}, "has no rows"),
            ({"X": np.eye(2), "feature_names": ["a"]}, "must be 2 different names"),
            ({"a": [np.inf]}, "row 0, column 'a': inf is not a finite number"),
        ],
    )
    def test_wrong_npz(self, tmp_path, arrays, message):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(SourceError, match=message):
            read_table(tmp_path / "a.npz")

    def test_other_zip_files(self, tmp_path):
        import zipfile

        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
            archive.writestr("sheet.xml", "<x/>")
        with pytest.raises(SourceError, match="neither of arrays nor a workbook"):
            read_table(tmp_path / "a.xlsx")

    def test_libsvm(self, tmp_path):
        path = write(tmp_path, "+1 qid:1 1:0.5 3:2 # first\n\n-1 2:1\n2.5 1:1 2:1 3:1\n")
        expected = {"x1": [0.5, 0, 1], "x2": [0, 1, 1], "x3": [2, 0, 1]}
        assert read_table(path) == {"target": [1.0, -1.0, 2.5]} | expected
        with open_table(path, expect=["x3", "x9"]) as table:
            (batch,) = table.batches(["x3", "x9"])
        assert batch.matrix.toarray().tolist() == [[2, 0], [0, 0], [1, 0]]

    @pytest.mark.parametrize(("first", "names"), [(1, ("x1", "x2")), (0, ("x0", "x1"))])
    def test_libsvm_counts_from_one_or_zero(self, tmp_path, first, names):
        path = write(tmp_path, f"1 {first}:1 {first + 1}:2\n-1 {first + 1}:1\n")
        with open_table(path) as table:
            assert table.names == ("target", *names)

    def test_libsvm_stays_sparse(self, tmp_path):
        path = write(tmp_path, "1 1:1 50000:2\n-1 3:1\n", "data.svm")
        with open_table(path) as table:
            assert table.is_sparse
            (batch,) = table.batches(["x1", "x50000"])
        assert batch.matrix.nnz == 2
        assert batch.coded("target").values[:2] == [1, -1]


# --- what pyarrow reads is what Python's csv reads -------------------------------------------


class TestLimits:
    """A small file may claim much: it is refused before memory is gone, with what would help."""

    @pytest.mark.parametrize("codec", ["gzip", "zstd"])
    def test_what_expands(self, tmp_path, monkeypatch, codec):
        monkeypatch.setattr(streams, "EXPANDED", 1 << 16)
        data = b"a,y\n" + b"1,0\n" * 500_000
        path = write(tmp_path, pa.compress(data, codec, asbytes=True))
        assert len(data) > streams.TIMES * path.stat().st_size
        with pytest.raises(SourceError, match=r"expands to more than .* GB; max_expanded"):
            read_table(path, ["a"])
        assert len(read_table(path, ["a"], max_expanded=1 << 22)["a"]) == 500_000
        with pytest.raises(SourceError, match="expands to more"):
            open_blocks(path, "y", max_expanded=1000)

    def test_a_workbook(self, tmp_path, monkeypatch):
        monkeypatch.setattr(streams, "EXPANDED", 1 << 16)
        with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/workbook.xml", b" " * 10_000_000)
        with pytest.raises(SourceError, match="expands to more than"):
            open_table(tmp_path / "t.xlsx")

    @pytest.mark.parametrize(
        ("kind", "shape", "message"),
        [("<U1000000", (3,), "items of 4,000,000 bytes"), ("<f8", (1, 10**8), "100,000,000 col")],
    )
    def test_arrays(self, tmp_path, kind, shape, message):
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive, archive.open("X.npy", "w") as X:
            np.lib.format.write_array_header_1_0(X, header)
        with pytest.raises(SourceError, match=message):
            open_table(tmp_path / "t.npz")

    def test_an_index_of_libsvm(self, tmp_path):
        path = write(tmp_path, "1 1:1 10000000:1\n0 1:0.5\n")
        with pytest.raises(SourceError, match=r"line 1: index .10000000. is more than 50,000"):
            open_table(path)

    def test_columns_of_text(self, tmp_path, monkeypatch):
        """A header of 400 KB is read; beyond a limit that is stated the error is true."""
        names = [f"a_column_with_a_long_name_{j}" for j in range(12_000)]
        path = write(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 12_000) + "\n")
        assert path.stat().st_size > 1 << 18
        with open_table(path) as table:
            assert list(table.names) == names
        monkeypatch.setattr(dialect, "MOST_COLUMNS", 11_999)
        with pytest.raises(SourceError, match="12,000 columns; of text at most 11,999 are read"):
            open_table(path)


def outcome(read):
    try:
        batch = tables.Batch(read(), None)
    except SourceError as error:
        return str(error)
    # NaN is not itself, so as text.
    return [str(values_of(batch.coded(name))) for name in batch.data.schema.names]


def agree(data, names, delimiter=","):
    layout = Dialect("d", delimiter, names, frozenset(), 0, 1, has_header=False)
    block = TextBlock(data, 1)
    for j in range(len(names) + 1):
        asked = (block, layout, names[:j], names[j:])
        plain = dialect._parse_plain(*asked)
        if plain is not None:
            slow = outcome(lambda asked=asked: dialect._parse_records(*asked))
            assert outcome(lambda plain=plain: plain) == slow


class TestPlain:
    numbers = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.integers(-(10**25), 10**25).map(str),
        st.tuples(st.integers(0, 2**64), st.integers(-400, 400)).map(lambda t: f"{t[0]}e{t[1]}"),
        st.decimals(allow_nan=False, allow_infinity=False, places=6).map(str),
        st.from_regex(r"\A[+-]?[0-9]{0,22}\.?[0-9]{0,22}([eE][+-]?[0-9]{1,4})?\Z"),
    )

    @settings(deadline=None, max_examples=60)
    @given(st.lists(numbers, min_size=1, max_size=20))
    def test_numbers_are_python_s_to_the_last_bit(self, texts):
        texts = [text for text in texts if as_number(text) is not None]
        data = "".join(f"{text},a\n" for text in texts).encode()
        if not texts:
            return
        layout = Dialect("data.csv", ",", ("x", "y"), frozenset(), 0, 1, has_header=False)
        got = dialect._parse_plain(TextBlock(data, 1), layout, ["x"], [])
        expected = np.array([float(text) for text in texts])
        assert got.column(0).to_numpy().tobytes() == expected.tobytes()

    def test_the_usual_is_read_by_pyarrow(self):
        data = b'0.1,x\n-1.5e-3, y\nNA,"z"\n1e5 ,"p,q"\r\n\n123456789.123456789,\n+3,?\n'
        layout = Dialect("data.csv", ",", ("x", "y"), frozenset(), 0, 1, has_header=False)
        plain = dialect._parse_plain(TextBlock(data, 1), layout, ["x"], ["y"])
        assert plain is not None
        assert plain.to_pydict() == {
            "x": [0.1, -1.5e-3, None, 1e5, 123456789.123456789, 3.0],
            "y": ["x", " y", "z", "p,q", None, None],
        }

    field = st.one_of(
        st.text(alphabet='ab",\n\r ;é\t', max_size=6),
        st.sampled_from(["1", "-2.5", "NA", "", "1e400", "x y", '"', "0x10"]),
    )

    @settings(deadline=None, max_examples=100)
    @given(st.lists(st.tuples(field, field, field), min_size=1, max_size=8), st.booleans())
    def test_it_reads_what_csv_reads(self, rows, quote_all):
        out = io.StringIO()
        quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
        csv.writer(out, quoting=quoting, lineterminator="\n").writerows(rows)
        agree(out.getvalue().encode(), ("a", "b", "c"))

    @settings(deadline=None, max_examples=150)
    @given(st.text(alphabet='ab1",\n\r ', max_size=40), st.sampled_from(", "))
    def test_any_text_the_same_way(self, text, delimiter):
        layout = Dialect("d", delimiter, ("a", "b"), frozenset(), 0, 1, has_header=False)
        data = text.encode()
        if data.strip() and not dialect.boundary(data, layout.delimiter.encode())[1]:
            agree(data, ("a", "b"), delimiter)


class TestBlocks:
    @settings(deadline=None, max_examples=100)
    @given(st.text(alphabet='ab",\n ', max_size=60), st.integers(1, 20))
    def test_blocks_are_whole_records(self, text, size):
        """Cut anywhere, the records are those of the whole."""

        class Stream:
            name, left = "s", text.encode()

            def read(self, n):
                piece, self.left = self.left[:n], self.left[n:]
                return piece

        def records(data):
            text = io.StringIO(data.decode(), newline="")
            return [row for row in csv.reader(text, skipinitialspace=True) if row]

        data, layout = text.encode(), Dialect("s", ",", ("a",), frozenset(), 0, 1, False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dialect, "BLOCK", size)
            try:
                pieces = list(dialect.text_blocks(Stream(), layout))
            except SourceError:
                assert dialect.boundary(data, b",")[1]
                return
        assert b"".join(piece.data for piece in pieces) == data
        assert [row for piece in pieces for row in records(piece.data)] == records(data)
        line = 1
        for piece in pieces:
            assert piece.line == line
            line += piece.data.count(b"\n")


# --- hypothesis: there and back, and junk --------------------------------------------------

cell = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs", "Cc"])
    | st.sampled_from('",;\n\t| '),
    max_size=12,
).map(str.strip)


@quick
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(cell, min_size=n, max_size=n), min_size=1, max_size=8)
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_round_trip_of_random_tables(tmp_path, rows, delimiter, newline):
    names = [f"c{j}" for j in range(len(rows[0]))]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows(rows)
    path = write(tmp_path, out.getvalue())
    with open_table(path, FileOptions(header=True)) as table:
        if table.names != tuple(names):  # of one column, anything may be the delimiter
            assert len(names) == 1 or delimiter != table.dialect.delimiter
            return
    table = read_table(path, header=True, texts=names)
    expected = [[None if text in MISSING else text for text in row] for row in rows]
    assert [list(row) for row in zip(*table.values(), strict=True)] == expected


@quick
@given(
    st.lists(
        st.tuples(
            *[st.sampled_from(["a", " a", "a ", '"a"', '" a"', '"a "', ' "a" ', " ", "NA"])] * 2
        ),
        min_size=2,
        max_size=6,
    )
)
def test_text_is_that_of_duckdb(tmp_path, rows):
    text = "x,y\n" + "".join(f"{x},{y}\n" for x, y in [*rows, ("b", "c")])
    path = write(tmp_path, text)
    found = read_table(path, header=True, texts=["x", "y"])
    options = f"header=true, delim=',', quote='\"', all_varchar=true, nullstr={list(MISSING)}"
    expected = duckdb.connect().sql(f"FROM read_csv('{path}', {options})").fetchall()
    assert list(zip(*found.values(), strict=True)) == expected


def npz_bytes():
    out = io.BytesIO()
    np.savez(out, a=np.arange(3), b=["x", "y", "z"])
    return out.getvalue()


def parquet_bytes():
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), out)
    return out.getvalue()


WHOLE = [
    npz_bytes(),
    parquet_bytes(),
    gzip.compress(b"a,b\n1,2\n"),
    b"1 1:2 3:4\n-1 2:2\n",
    b'a,b\n1,"x"\n',
]


@quick
@given(
    st.one_of(
        st.binary(max_size=200),
        st.tuples(
            st.sampled_from(
                [b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\xef\xbb\xbf", b"1 1:"]
            ),
            st.binary(max_size=100),
        ).map(b"".join),
        st.tuples(st.sampled_from(WHOLE), st.integers(0, 10**6), st.integers(0, 255)).map(
            lambda t: bytes(t[2] if i == t[1] % len(t[0]) else byte for i, byte in enumerate(t[0]))
        ),
        st.tuples(st.sampled_from(WHOLE), st.integers(0, 10**6)).map(
            lambda t: t[0][: t[1] % len(t[0])]
        ),
        st.text(alphabet='01.,;"\n\r\t ax:-+e', max_size=80).map(str.encode),
    )
)
@example(b"\x1f\x8b")
@example(b"sep=\xff\na\n")
def test_random_bytes_give_source_errors_only(tmp_path, data):
    path = write(tmp_path, data)
    errors = []
    for header in (None, True, False):
        try:
            read_table(path, header=header)
            with open_table(path, FileOptions(header=header)) as table:
                for batch in table.batches(table.names[:1], table.names[1:]):
                    batch.numbers(table.names[0])
        except SourceError as error:
            errors.append(str(error))
    assert all(text.startswith(str(path)) and "\n" not in text for text in errors)


def test_numbers():
    assert as_number("1.") == 1.0
    assert as_number(".5") == 0.5
    for text in ("", ".", "e5", "1e", "nan", "0x1", "1 2", "1_0", "--1"):
        assert as_number(text) is None
    assert struct.pack("d", as_number("-0")) == struct.pack("d", -0.0)


def test_names_of_an_npz_that_are_no_text(tmp_path):
    names = np.array([0x7FFFFFFF, 0x41], dtype="<u4").view("<U1")
    np.savez(tmp_path / "rows.npz", X=np.eye(2), y=np.arange(2), feature_names=names)
    with pytest.raises(SourceError, match=r"the \.npz file is damaged"):
        open_table(tmp_path / "rows.npz")

"""Readers: every format, every way in which a file can be wrong, and random bytes."""

import csv
import gzip
import io
import struct
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyceptron.readers import MISSING, ReaderError, open_table, read_table
from polyceptron.readers import _blocks as fast
from polyceptron.readers import _records as slow
from polyceptron.readers import _split as split
from polyceptron.readers._layout import Layout
from polyceptron.readers._table import as_number

quick = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns(table):
    return {name: values.tolist() for name, values in table.items()}


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
            " a,  b \n 1 , x\n2 ,y \n",
            '"a","b"\n"1","x"\n"2","y"\n',
            '"a", "b"\n1, "x"\n2, "y"\n',
            "\n\na,b\n\n1,x\n\n\n2,y\n\n",
            "sep=;\na;b\n1;x\n2;y\n",
        ],
    )
    def test_one_table_many_ways(self, tmp_path, text):
        table = read_table(write(tmp_path, text))
        assert columns(table) == {"a": [1.0, 2.0], "b": ["x", "y"]}

    def test_no_header(self, tmp_path):
        table = read_table(write(tmp_path, "1,x\n2,y\n"))
        assert columns(table) == {"x1": [1.0, 2.0], "x2": ["x", "y"]}
        assert table.where(0) == f"{tmp_path / 'data.csv'}, line 1"

    def test_header_is_told(self, tmp_path):
        path = write(tmp_path, "2019,2020\n1,2\n")
        assert read_table(path, header=True)["2020"].tolist() == [2.0]
        assert read_table(path)["x1"].tolist() == [2019.0, 1.0]
        path = write(tmp_path, "x,y\nz,w\n")
        assert read_table(path, header=False)["x1"].tolist() == ["x", "z"]
        with open_table(write(tmp_path, "2019,2020\n1,2\n"), expect=["2020"]) as reader:
            assert reader.names == ("2019", "2020")

    def test_missing_values(self, tmp_path):
        rows = "".join(f"{token},{token}\n" for token in MISSING if token)
        table = read_table(write(tmp_path, "a,b\n1,x\n" + rows + "2,y\n , \n"))
        n = len(MISSING)
        np.testing.assert_array_equal(table["a"], [1] + [np.nan] * (n - 1) + [2, np.nan])
        assert table["b"].tolist() == ["x"] + [None] * (n - 1) + ["y", None]

    def test_quotes_and_newlines(self, tmp_path):
        text = 'a,b,c\n1,"x ""y"", z",p\n2,"two\nlines",q\n3,5" pipe,r\n'
        table = read_table(write(tmp_path, text))
        assert table["b"].tolist() == ['x "y", z', "two\nlines", '5" pipe']
        assert table.lines.tolist() == [2, 3, 5]

    def test_text_columns_stay_as_they_stand(self, tmp_path):
        path = write(tmp_path, "a,b\n01,1\n1.0,2\n")
        assert read_table(path, texts=["a"])["a"].tolist() == ["01", "1.0"]
        assert list(read_table(path, ["b"])) == ["b"]

    def test_columns_without_a_name(self, tmp_path):
        with open_table(write(tmp_path, ",a\n0,1\n")) as reader:
            assert reader.unnamed == {"column 1"}
            assert reader.names == ("column 1", "a")

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_many_blocks(self, tmp_path, monkeypatch, newline):
        monkeypatch.setattr(split.blocks, "__defaults__", (1000,))
        rows = [(i, f'"t{newline}{i}"' if i % 7 == 0 else f"t{i}") for i in range(3000)]
        text = newline.join(["n,t", *(f"{i},{t}" for i, t in rows)])
        table = read_table(write(tmp_path, text))
        np.testing.assert_array_equal(table["n"], range(3000))
        assert table["t"].tolist() == [t.strip('"') for _, t in rows]
        line, expected = 2, []
        for _, t in rows:
            expected.append(line)
            line += 1 + t.count("\n")
        assert table.lines.tolist() == expected

    def test_text_far_down_in_a_column(self, tmp_path, monkeypatch):
        monkeypatch.setattr(split.blocks, "__defaults__", (1000,))
        text = "a,b\n" + "1,2\n" * 1000 + "x,2\n" * 2000
        table = read_table(write(tmp_path, text))
        assert set(table["a"]) == {"1", "x"}
        np.testing.assert_array_equal(table["b"], 2.0)


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
    ("a;b\n1;2\n2;1,5\n3;4\n", "'1,5' is not a number (decimals need a point)"),
    ("a;b\n1,5;x\n2,5;y\n", "line 2, column 'a': '1,5' is not a number (decimals need a point)"),
    ("a,b\n1,2\n2,1e999\n3,4\n", "{}, line 3, column 'b': '1e999' is not a number"),
    ("a,b\n1,2\n2,inf\n3,4\n", "{}, line 3, column 'b': 'inf' is not a number"),
    ("a,b\n1,2\n2,1_0\n3,4\n", "'1_0' is not a number"),
    ("a,b\n1,2\n2,\u0661\n3,4\n", "is not a number"),
    ('a,b\n1,"2\n3,4\n', "{}, line 2: a quoted field is never closed"),
    ('a,"b\n1,2\n3,4\n', "{}, line 1: a quoted field is never closed"),
    ('"a,b\n' + "1,2\n" * 50_000, "is a quote never closed?"),
    (b"a,b\n1,x\n2,\xe9t\xe9\n", "{}, line 3, column 'b': "),
    (b"a,\xe9\n1,x\n", "{}, line 1: the name of column 2 is not UTF-8: b'\\xe9'"),
    ("a,b\n1,2\n".encode("utf-16"), "{} is in UTF-16: save it as UTF-8"),
    (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "{}: the gzip file is damaged"),
    (b"\x1f\x8b garbage", "{}: the gzip file is damaged"),
    (b"PAR1 garbage", "{}: the Parquet file is damaged"),
    (b"PK\x03\x04 garbage", "{}: the .npz file is damaged"),
    ("1 1:2 2:x\n", "{}, line 1: '2:x' is not index:value"),
    ("1 1:2\nx 1:2\n", "{}, line 2: the label 'x' is not a number"),
    ("1 2:2 1:3\n", "{}, line 1: index 1 after 2; they must increase"),
    ("1 1:2 99999999999:3\n", "{}, line 1: index '99999999999' is more than"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_what_is_wrong_is_said_in_one_line(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(ReaderError) as error:
        read_table(path)
    assert message.format(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_errors_when_streaming(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n2,abc\n")
    with open_table(path) as reader, pytest.raises(ReaderError, match="line 3, column 'b'"):
        list(reader.chunks(["a", "b"]))
    with open_table(path) as reader:
        (table,) = reader.chunks(["a"])
    assert columns(table) == {"a": [1.0, 2.0]}
    with (
        open_table(write(tmp_path, "a,b\n")) as reader,
        pytest.raises(ReaderError, match="no rows"),
    ):
        list(reader.chunks(["a"]))


def test_a_record_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(split, "MOST", 5000)
    monkeypatch.setattr(split.blocks, "__defaults__", (1000,))
    path = write(tmp_path, "a,b\n1,2\n" + '3,"' + "x\n" * 10_000)
    with pytest.raises(ReaderError, match="line 3: a record of more than"):
        read_table(path)


class TestOtherFormats:
    def test_gzip(self, tmp_path):
        path = write(tmp_path, gzip.compress(b"a,b\n1,x\n"), "data.csv.gz")
        assert columns(read_table(path)) == {"a": [1.0], "b": ["x"]}

    def test_standard_input(self, monkeypatch):
        stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(b"a,b\n1,x\n")))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert columns(read_table("-")) == {"a": [1.0], "b": ["x"]}
        stdin = io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n2,\n3,z,\n"))
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(ReaderError, match="standard input, line 4: 3 fields"):
            read_table("-")

    def test_parquet(self, tmp_path):
        table = pa.table(
            {
                "n": pa.array([1, None, 3]),
                "f": pa.array([1.5, float("nan"), None], pa.float32()),
                "t": ["x", None, "z"],
                "d": pa.array(["p", "q", None]).dictionary_encode(),
                "b": [True, False, None],
                "when": pa.array([0, 1, 2], pa.timestamp("s")),
            }
        )
        pq.write_table(table, tmp_path / "data.parquet", row_group_size=2)
        got = read_table(tmp_path / "data.parquet", ["n", "f", "t", "d", "b"])
        np.testing.assert_array_equal(got["n"], [1, np.nan, 3])
        np.testing.assert_array_equal(got["f"], [1.5, np.nan, np.nan])
        np.testing.assert_array_equal(got["b"], [1, 0, np.nan])
        assert got["t"].tolist() == ["x", None, "z"]
        assert got["d"].tolist() == ["p", "q", None]
        assert got.where(1, "t").endswith("data.parquet, row 2, column 't'")
        texts = read_table(tmp_path / "data.parquet", ["n", "b"], texts=["n", "b"])
        assert texts["n"].tolist() == ["1", None, "3"]
        with pytest.raises(ReaderError, match=r"'when': a column of timestamp.* is neither"):
            read_table(tmp_path / "data.parquet")

    def test_parquet_text_that_is_not_utf8(self, tmp_path):
        offsets = np.array([0, 2], np.int32).tobytes()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfe")]
        text = pa.Array.from_buffers(pa.string(), 1, buffers)
        table = pa.table({"a": [1.0], "b": text})
        pq.write_table(table, tmp_path / "bad.parquet", use_dictionary=False)
        with pytest.raises(ReaderError, match=r"bad.parquet, column 'b': it has text that is not"):
            read_table(tmp_path / "bad.parquet")

    def test_parquet_of_huge_whole_numbers(self, tmp_path):
        pq.write_table(pa.table({"a": [2**60 + 1, 1]}), tmp_path / "data.parquet")
        assert read_table(tmp_path / "data.parquet")["a"].tolist() == [2.0**60, 1.0]

    def test_parquet_in_pieces(self, tmp_path):
        n = 40_000
        table = pa.table({"a": np.arange(n), "t": ["1"] * (n - 1) + ["x"]})
        pq.write_table(table, tmp_path / "data.parquet", row_group_size=9_000)
        with open_table(tmp_path / "data.parquet") as reader:
            pieces = list(reader.chunks(["a"], ["t"]))
        assert len(pieces) > 2
        np.testing.assert_array_equal(np.concatenate([p["a"] for p in pieces]), np.arange(n))
        with (
            open_table(tmp_path / "data.parquet") as reader,
            pytest.raises(ReaderError, match=f"row {n}, column 't': 'x' is not a number"),
        ):
            list(reader.chunks(["t"]))

    def test_npz(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=np.eye(2), y=["p", "q"])
        assert columns(read_table(tmp_path / "a.npz")) == {
            "x1": [1.0, 0.0],
            "x2": [0.0, 1.0],
            "target": ["p", "q"],
        }
        np.savez(tmp_path / "b.npz", age=[1, 2], kind=np.array([b"p", b"q"]))
        assert columns(read_table(tmp_path / "b.npz")) == {"age": [1.0, 2.0], "kind": ["p", "q"]}
        np.savez(tmp_path / "c.npz", X=np.eye(2), feature_names=["u", "v"])
        with open_table(tmp_path / "c.npz") as reader:
            assert reader.names == ("u", "v")
            assert reader.target is None

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({}, "is empty"),
            ({"a": [1], "b": [1, 2]}, "of one length"),
            ({"a": np.ones((2, 2, 2))}, "a column is one-dimensional"),
            (
                {"a": np.array([object()])},
                "array 'a': the .npz file is damaged or holds",
            ),
            ({"a": [1j]}, "of numbers or text; got complex128"),
            ({"a": np.empty(0)}, "has no rows"),
            ({"X": np.eye(2), "feature_names": ["a"]}, "must be 2 different names"),
            ({"a": [np.inf]}, "row 1, column 'a': inf is not a finite number"),
        ],
    )
    def test_wrong_npz(self, tmp_path, arrays, message):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(ReaderError, match=message):
            read_table(tmp_path / "a.npz")

    def test_other_zip_files(self, tmp_path):
        import zipfile

        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
            archive.writestr("sheet.xml", "<x/>")
        with pytest.raises(ReaderError, match="save the table as CSV"):
            read_table(tmp_path / "a.xlsx")

    def test_libsvm(self, tmp_path):
        path = write(tmp_path, "+1 qid:1 1:0.5 3:2 # first\n\n-1 2:1\n2.5 1:1 2:1 3:1\n")
        table = read_table(path)
        assert columns(table) == {
            "target": ["1", "-1", "2.5"],
            "x1": [0.5, 0.0, 1.0],
            "x2": [0.0, 1.0, 1.0],
            "x3": [2.0, 0.0, 1.0],
        }
        assert table.lines.tolist() == [1, 3, 4]
        with open_table(path, expect=["x3", "x9"]) as reader:
            (piece,) = reader.chunks(["x3", "x9"])
        assert columns(piece)["x3"] == [2.0, 0.0, 1.0]
        assert columns(piece)["x9"] == [0.0, 0.0, 0.0]

    def test_libsvm_stays_sparse(self, tmp_path):
        path = write(tmp_path, "1 1:1 500:2\n-1 3:1\n", "data.svm")
        table = read_table(path)
        assert table.matrix.shape == (2, 500)
        assert table["x500"].tolist() == [2.0, 0.0]
        assert len(table) == 501
        taken = table.take(np.array([1]))
        assert taken.matrix.shape == (1, 500)
        assert read_table(path, ["x500"]).sparse_names in ((), ("x500",))
        with pytest.raises(KeyError):
            table["x501"]

    def test_no_such_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            open_table(tmp_path / "none.csv")


# --- what compiled code must agree on ------------------------------------------------------


def outcome(read):
    try:
        table = read()
    except ReaderError as error:
        return str(error)
    # NaN is not itself, so as text.
    return str(columns(table)), table.lines.tolist()


def agree(block, layout, numbers, texts):
    expected = outcome(lambda: slow.parse(block, layout, numbers, texts, 0))
    assert outcome(lambda: fast.parse(block, layout, numbers, texts)) == expected


class TestCompiled:
    numbers = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.integers(-(10**25), 10**25).map(str),
        st.tuples(st.integers(0, 2**64), st.integers(-400, 400)).map(lambda t: f"{t[0]}e{t[1]}"),
        st.decimals(allow_nan=False, allow_infinity=False, places=6).map(str),
        st.from_regex(r"\A[+-]?[0-9]{0,22}\.?[0-9]{0,22}([eE][+-]?[0-9]{1,4})?\Z"),
    )

    @settings(deadline=None, max_examples=500)
    @given(st.lists(numbers, min_size=1, max_size=20))
    def test_numbers_are_python_s_to_the_last_bit(self, texts):
        texts = [text for text in texts if as_number(text) is not None]
        data = "".join(f"{text},a\n" for text in texts).encode()
        if not texts:
            return
        layout = Layout("data.csv", ",", ("x", "y"), frozenset(), 0, 1, has_header=False)
        block = split.Block(data, 1, len(texts))
        got = fast.parse(block, layout, ["x"], [])["x"]
        expected = np.array([float(text) for text in texts])
        assert got.tobytes() == expected.tobytes()

    def test_the_usual_is_compiled(self):
        data = b'0.1,x\n-1.5e-3, y\nNA,"z"\n1e5 ,"p,q"\r\n\n123456789.123456789,\n'
        layout = Layout("data.csv", ",", ("x", "y"), frozenset(), 0, 1, has_header=False)
        table = fast._parse_plain(split.Block(data, 1, 6), layout, ["x"], ["y"])
        assert table is not None
        np.testing.assert_array_equal(table["x"], [0.1, -1.5e-3, np.nan, 1e5, 123456789.123456789])
        assert table["y"].tolist() == ["x", "y", "z", "p,q", None]
        assert table.lines.tolist() == [1, 2, 3, 4, 6]

    @pytest.mark.parametrize("n_different", [1, 3, 512, 513, 2000])
    def test_many_and_few_texts(self, n_different):
        values = [f"t{i % n_different}" for i in range(3000)]
        data = "".join(f"{value},1\n" for value in values).encode()
        layout = Layout("d", ",", ("a", "b"), frozenset(), 0, 1, has_header=False)
        table = fast.parse(split.Block(data, 1, 3000), layout, [], ["a"])
        assert len(table) == 1
        assert list(table) == ["a"]
        _, distinct = table.coded["a"]
        assert distinct == values[:n_different]
        assert table["a"].tolist() == values
        assert len(table) == 1

    field = st.one_of(
        st.text(alphabet='ab",\n\r ;é\t', max_size=6),
        st.sampled_from(["1", "-2.5", "NA", "", "1e400", "x y", '"', "0x10"]),
    )

    @settings(deadline=None, max_examples=300)
    @given(st.lists(st.tuples(field, field, field), min_size=1, max_size=8), st.booleans())
    def test_it_reads_what_the_slow_reader_reads(self, rows, quote_all):
        out = io.StringIO()
        quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
        csv.writer(out, quoting=quoting, lineterminator="\n").writerows(rows)
        layout = Layout("d", ",", ("a", "b", "c"), frozenset(), 0, 1, has_header=False)
        data = out.getvalue().encode()
        block = split.Block(data, 1, data.count(b"\n"))
        for numbers, texts in ([], ["a", "c"]), (["a"], ["b"]), (["a", "b", "c"], []):
            agree(block, layout, numbers, texts)

    @settings(deadline=None, max_examples=300)
    @given(st.text(alphabet='ab",\n\r ', max_size=40))
    def test_any_text_the_same_way(self, text):
        layout = Layout("d", ",", ("a", "b"), frozenset(), 0, 1, has_header=False)
        data = text.encode()
        block = split.Block(data, 1, data.count(b"\n") + 1)
        agree(block, layout, [], ["a", "b"])


class TestSplit:
    @settings(deadline=None, max_examples=300)
    @given(st.text(alphabet='ab",\n ', max_size=60), st.integers(1, 20))
    def test_blocks_are_whole_records(self, text, size):
        """Cut anywhere, the records are those of the whole."""

        class Source:
            name = "s"

            def __init__(self, data):
                self.left = data

            def read(self, n):
                piece, self.left = self.left[:n], self.left[n:]
                return piece

        def records(data):
            text = io.StringIO(data.decode(), newline="")
            return [row for row in csv.reader(text, skipinitialspace=True) if row]

        data = text.encode()
        try:
            pieces = list(split.blocks(Source(data), b",", 1, size))
        except ReaderError:
            assert split.boundary(data, b",")[1]
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
    layout = Layout("d", delimiter, tuple(names), frozenset(), 0, 1, has_header=True)
    path = write(tmp_path, out.getvalue())
    with open_table(path, header=True) as reader:
        if reader.names != tuple(names):  # of one column, anything may be the delimiter
            assert len(names) == 1 or layout.delimiter != reader.layout.delimiter
            return
        table = reader.read(texts=names)
    expected = [[None if text in MISSING else text for text in row] for row in rows]
    assert [list(row) for row in zip(*table.values(), strict=True)] == expected


@quick
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from(["red", "blue", 'a"b']),
        ),
        min_size=2,
        max_size=20,
    ),
    st.sampled_from(",;\t|"),
)
def test_round_trip_of_numbers(tmp_path, rows, delimiter):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["n", "t"])
    writer.writerows(rows)
    table = read_table(write(tmp_path, out.getvalue()))
    assert table["n"].tolist() == [n for n, _ in rows]
    assert table["t"].tolist() == [t for _, t in rows]


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
def test_random_bytes_give_reader_errors_only(tmp_path, data):
    path = write(tmp_path, data)
    errors = []
    for header in (None, True, False):
        try:
            with open_table(path, header=header) as reader:
                reader.read()
            with open_table(path, header=header) as reader:
                for _ in reader.chunks(reader.names[:1], reader.names[1:]):
                    pass
        except ReaderError as error:
            errors.append(str(error))
    assert all(text.startswith(str(path)) and "\n" not in text for text in errors)


def test_numbers():
    assert as_number("1.") == 1.0
    assert as_number(".5") == 0.5
    for text in ("", ".", "e5", "1e", "nan", "0x1", "1 2", "1_0", "--1"):
        assert as_number(text) is None
    assert struct.pack("d", as_number("-0")) == struct.pack("d", -0.0)

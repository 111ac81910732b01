"""What a file of text does not say itself: how it is told, and what is said of a guess."""

import gzip

import numpy as np
import pytest

from polyceptron import open_blocks
from polyceptron.data.guesses import FileOptions, guess_encoding
from polyceptron.data.source import SourceError, SourceWarning
from polyceptron.data.tables import open_table

NAMES = "is taken for the names of columns (--no-header takes it for a row)"
ROW = "is taken for a row (--header takes it for the names of columns)"


def opened(path, content, expect=(), **options):
    path = path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, FileOptions(**options), expect=expect)


HEADERS = {
    # The text; the first name, or None where there is no header; what is said of a guess.
    "years above a class": ("2019,2020,grade\n1.5,2,A\n2,1,B\n3,4,A\n5,6,B\n", "2019", NAMES),
    "years above numbers": ("2019,2020,grade\n1.5,2,0\n2,1,1\n", "2019", ""),
    "pandas without names": ("0,1,2,3\n1.5,2,7,0\n2,1,7,1\n", "0", NAMES),
    "pandas with its index": (",0,1,2\n0,2.5,7,a\n1,1,7,b\n", "column 1", ""),
    "numbers above text": ("1,2,3\na,b,0.5\nc,d,1.5\n", "1", ""),
    "years alone": ("2019,2020,2021\n5,6,7\n", "2019", NAMES),
    "iris": ("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n", None, ""),
    "whole numbers": ("5,3,0\n4,3,1\n7,2,1\n", None, ROW),
    "measurements": ("3.6216,8.6661,0\n4.5459,8.1674,1\n", None, ""),
    "negative": ("-3,8,0\n4,-8,1\n", None, ""),
    "twice": ("1,1,0\n4,8,1\n", None, ""),
    "missing": ("1,?,0\n4,8,1\n", None, ""),
    "one row": ("1,2,x\n", None, ROW),
    "names": ("a,b\nx,y\nz,w\n", "a", ""),
    "mushrooms": ("p,x,s\ne,x,s\np,b,y\ne,b,s\n", None, ROW),
    "a header twice": ("a,b,c\n1,2,3\na,b,c\n", "a", ""),
}


@pytest.mark.parametrize("case", HEADERS)
def test_header(tmp_path, case):
    text, first, said = HEADERS[case]
    with opened(tmp_path, text) as table:
        assert table.names[0] == (first or "x1")
        assert table.has_header == (first is not None)
        assert said in "".join(table.notes)
        assert bool(said) == bool(table.notes)


def test_what_is_expected_tells_the_header(tmp_path):
    text = "1,2,grade\n4,5,x\n6,7,y\n"
    for expect, first in [(["grade"], "1"), (["2"], "x1"), (["x3"], "x1"), (["2", "grade"], "1")]:
        with opened(tmp_path, text, expect) as table:
            assert table.names[0] == first
    with opened(tmp_path, text, header=True) as table:
        assert (table.names[0], table.notes) == ("1", ())


class TestDecimal:
    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_commas_are_seen(self, tmp_path, delimiter):
        rows = [["a", "b", "c"], ["1,5", "2", "x,y"], ["-,5e3", "", "z"], ["7", "3,25", "?"]]
        text = "\n".join(map(delimiter.join, rows)) + "\n"
        with opened(tmp_path, text) as table:
            (note,) = table.notes
            assert note.endswith("a decimal comma (--decimal . reads them otherwise)")
            (batch,) = table.batches(["a", "b"], ["c"])
            assert batch.numbers("a").tolist() == [1.5, -500.0, 7.0]
            assert batch.numbers("b")[2] == 3.25
            assert batch.texts("c").values[0] == "x,y"

    def test_points_are_not_mixed_with_commas(self, tmp_path):
        with opened(tmp_path, "a;b\n1,5;1.5\n") as table:
            assert table.dialect.decimal == "."
        with opened(tmp_path, "a;b\n1,5;1.5\n", decimal=",") as table:
            assert not table.notes
            with pytest.raises(SourceError, match=r"line 2, column 'b': '1\.5' is not a number"):
                list(table.batches(["b"]))

    def test_said_otherwise(self, tmp_path):
        path = tmp_path / "d.csv"
        path.write_text("a;y\n1,5;0\n2,5;1\n3,5;1\n")
        with pytest.raises(SourceError, match="'1,5' is not a number"):
            open_blocks(path, "y", decimal=".", cache_dir=tmp_path)
        with pytest.warns(SourceWarning, match="decimal comma"):
            found = open_blocks(path, "y", cache_dir=tmp_path)
        assert found.feature_names == ("a",)
        with pytest.warns(SourceWarning, match="decimal comma"):  # from the cache as well
            open_blocks(path, "y", cache_dir=tmp_path)
        with pytest.raises(SourceError, match="decimal must be None"):
            open_blocks(path, "y", decimal="'")


WORDS = "größe,où\n1,été\n2,Łódź\n"


class TestEncoding:
    @pytest.mark.parametrize("packed", [bytes, gzip.compress])
    @pytest.mark.parametrize("name", ["utf-16", "utf-8-sig", "utf-8"])
    def test_marks_are_seen(self, tmp_path, name, packed):
        with opened(tmp_path, packed(WORDS.encode(name))) as table:
            assert table.names == ("größe", "où")
            (batch,) = table.batches([], ["où"])
            assert batch.texts("où").values[:2] == ["été", "Łódź"]
            assert bool(table.notes) == (name == "utf-16")

    def test_western_text_is_announced(self, tmp_path):
        with opened(tmp_path, "größe,b\n1,5 €\n2,x\n".encode("cp1252")) as table:
            (note,) = table.notes
            assert note.endswith("text is read as cp1252 (--encoding reads it otherwise)")
            assert table.names == ("größe", "b")
            (batch,) = table.batches(["größe"], ["b"])
            assert batch.texts("b").values[0] == "5 €"
        assert guess_encoding(b"a\x81b,cdef") == "latin-1"

    def test_what_is_said_is_never_guessed(self, tmp_path):
        text = "a,b\n1,x\n2,été\n"
        with opened(tmp_path, text.encode("cp1252"), encoding="UTF-8") as table:
            assert not table.notes
            with pytest.raises(SourceError, match=r"line 3, column 'b'.*is not UTF-8"):
                list(table.batches([], ["b"]))
        with opened(tmp_path, text.encode("cp1252"), encoding="mac-roman") as table:
            (batch,) = table.batches([], ["b"])
            assert not table.notes
            assert batch.texts("b").values[1] == "ÈtÈ"
        with pytest.raises(SourceError, match=r"line 3: b'\\xc3' is not ascii: name another"):
            opened(tmp_path, text, encoding="ascii")
        for wrong in ("klingon", "hex"):
            with pytest.raises(SourceError, match=f"unknown encoding '{wrong}'"):
                opened(tmp_path, text, encoding=wrong)

    def test_a_wrong_byte_far_below(self, tmp_path):
        rows = b"a,b\n" + b"1,x\n" * 200_000
        with opened(tmp_path, rows + b"2,\xe9\n") as table:
            assert not table.notes
            with pytest.raises(SourceError, match=r"line 200002, column 'b'.*such as cp1252"):
                list(table.batches([], ["b"]))
        said = pytest.raises(SourceError, match=r"line 200002: b'\\x81' is not cp1252")
        with opened(tmp_path, rows + b"2,\x81\n", encoding="cp1252") as table, said:
            list(table.batches([], ["b"]))

    def test_lines_are_those_of_the_file(self, tmp_path):
        text = "a,b\n" + "1,ä\n" * 300_000 + "x,y\n"
        said = pytest.raises(SourceError, match="line 300002, column 'a': 'x' is not a number")
        with opened(tmp_path, text.encode("utf-16")) as table, said:
            list(table.batches(["a"]))


THOUSANDS = {
    # Cells of the first column and of the second, and the delimiter; the columns with separators.
    "German": ("1.234,50 999 -12.345.678", "1,5 2 3", ";", "a", [1234.5, 999, -12345678]),
    "German, also whole": ("1.234,50 7 8,5", "1.000 2 3", "\t", "ab", [1234.5, 7, 8.5]),
    "American": ("1,234.5 ? 12", "0.5 2 3", ";", "a", [1234.5, np.nan, 12]),
    "Swiss": ("1'234.5 999 -12'345'678", "0.5 2 3", ";", "a", [1234.5, 999, -12345678]),
    "quoted": ('"1,234" 5 "2,000,000"', "0.5 2 3", ",", "a", [1234, 5, 2e6]),
}


class TestThousands:
    @pytest.mark.parametrize("case", THOUSANDS)
    def test_are_seen(self, tmp_path, case):
        a, b, delimiter, grouped, numbers = THOUSANDS[case]
        pairs = [("a", "b"), *zip(a.split(), b.split(), strict=True)]
        text = "".join(f"{delimiter.join(pair)}\n" for pair in pairs)
        with opened(tmp_path, text) as table:
            assert table.dialect.grouped == set(grouped)
            assert "separators of thousands (--no-thousands" in table.notes[-1]
            types = table.types(["a", "b"])
            assert all(str(kind) == "double" for kind in types.values())
            (batch,) = table.batches(["a", "b"])
            np.testing.assert_array_equal(batch.numbers("a"), numbers)

    @pytest.mark.parametrize(
        "text",
        [
            'a\n"1,234"\n9990\n',  # not throughout
            'a\n"1,234"\nx\n',
            'a\n"1,23"\n5\n',
            "a;b\n1,234;x\n5,500;y\n",  # a decimal comma as likely
            "a;b\n1.234;x\n5.500;y\n",
        ],
    )
    def test_are_not_seen(self, tmp_path, text):
        with opened(tmp_path, text) as table:
            assert not table.dialect.grouped

    @pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
    def test_blanks(self, tmp_path, blank):
        with opened(
            tmp_path, f"a;b\n1{blank}688,04;x\n999;y\n-12{blank}345{blank}678;y\n"
        ) as table:
            assert table.dialect.grouped == {"a"}
            (batch,) = table.batches(["a"])
            assert batch.numbers("a").tolist() == [1688.04, 999, -12345678]

    def test_as_the_option_says(self, tmp_path):
        text = 'a,b\n"1,234",2\n9990,3\n'
        with opened(tmp_path, text, thousands=True) as table:
            assert not table.notes
            (batch,) = table.batches(["a", "b"])
            assert batch.numbers("a").tolist() == [1234, 9990]
        with opened(tmp_path, 'a\n"1,234"\n5\n', thousands=False) as table:
            assert not table.dialect.grouped
        late = "a,b\n" + '"1,234",1\n' * 300 + '"12,34",1\n'
        wrong = pytest.raises(SourceError, match="line 302, column 'a': '12,34' is not a number")
        with opened(tmp_path, late) as table, wrong:
            list(table.batches(["a", "b"]))

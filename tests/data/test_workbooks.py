"""Workbooks, JSON lines and queries: read as the same rows in a file of text would be."""

import codecs
import io
import json
import sys
import zipfile
from xml.sax.saxutils import escape

import pytest

from cli_files import QUICK, done, failed, people, run, text_of
from polyceptron.data.guesses import FileOptions
from polyceptron.data.source import SourceError
from polyceptron.data.tables import open_table

TYPES = "http://schemas.openxmlformats.org"


def workbook(**sheets):
    """The bytes of an .xlsx file; cells are text, numbers, booleans or None."""
    out = io.BytesIO()
    book, links, kinds = "", "", ""
    with zipfile.ZipFile(out, "w") as archive:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            lines = "".join(
                f'<row r="{i}">' + "".join(map(_cell, row, "ABCDEFGH", [i] * 8)) + "</row>"
                for i, row in enumerate(rows, 1)
            )
            body = f'<worksheet xmlns="{TYPES}/spreadsheetml/2006/main"><sheetData>{lines}'
            archive.writestr(f"xl/worksheets/sheet{number}.xml", body + "</sheetData></worksheet>")
            book += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
            kind = f"{TYPES}/officeDocument/2006/relationships/worksheet"
            target = f"worksheets/sheet{number}.xml"
            links += f'<Relationship Id="r{number}" Type="{kind}" Target="{target}"/>'
            kinds += f'<Override PartName="/xl/{target}" ContentType="x"/>'
        relations = f"{TYPES}/officeDocument/2006/relationships"
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{TYPES}/spreadsheetml/2006/main" xmlns:r="{relations}">'
            f"<sheets>{book}</sheets></workbook>",
        )
        of_package = f"{TYPES}/package/2006/relationships"
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{of_package}">{links}</Relationships>',
        )
        kind = f"{TYPES}/officeDocument/2006/relationships/officeDocument"
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{of_package}">'
            f'<Relationship Id="r1" Type="{kind}" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr("[Content_Types].xml", f"<Types>{kinds}</Types>")
    return out.getvalue()


def _cell(value, column, row):
    at = f'r="{column}{row}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {at} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c {at} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c {at}><v>{value}</v></c>"


ROWS = [["age", "smoker", "kind", "y"]] + [
    [20 + i, i % 2 == 0, "a & b" if i % 3 else None, "yes" if i > 10 else "no"] for i in range(20)
]


def opened(path, content, **options):
    (path / "data").write_bytes(content)
    return open_table(path / "data", FileOptions(**options))


class TestWorkbook:
    def test_read(self, tmp_path):
        with opened(tmp_path, workbook(first=ROWS)) as table:
            assert table.names == ("age", "smoker", "kind", "y")
            assert table.notes == ()
            (batch,) = table.batches(["age"], ["smoker", "kind", "y"])
            assert batch.numbers("age").tolist() == list(range(20, 40))
            assert batch.coded("smoker").values[:2] == [True, False]
            assert batch.texts("kind").counts() == {"a & b": 13}
            assert (
                batch.where(0, "age") == f"{tmp_path / 'data'}, sheet 'first', row 2, column 'age'"
            )

    def test_sheets(self, tmp_path):
        book = workbook(cover=[], rows=ROWS, other=[["a"], [1], [2]])
        with opened(tmp_path, book) as table:
            (note,) = table.notes
            assert note.endswith(
                "the sheet 'rows' is read (--sheet names another: 'cover', 'other')"
            )
        with opened(tmp_path, book, sheet="other") as table:
            assert (table.names, table.notes) == (("a",), ())
        with pytest.raises(SourceError, match="no sheet 'x'; there are 'cover', 'rows', 'other'"):
            opened(tmp_path, book, sheet="x")
        with pytest.raises(SourceError, match="the sheet is empty"):
            opened(tmp_path, book, sheet="cover")

    def test_header_of_numbers_and_mixed_cells(self, tmp_path):
        with opened(
            tmp_path, workbook(s=[[2019, 2020, 2021], [1, "x", 2.5], [3, 4, "?"]])
        ) as table:
            assert table.names == ("2019", "2020", "2021")
            (batch,) = table.batches(["2019", "2021"], ["2020"])
            assert batch.texts("2020").values[:2] == ["x", "4"]
            assert "row 1 of 's', is taken for the names of columns (--no-header" in table.notes[0]

    def test_damaged(self, tmp_path):
        whole = workbook(s=ROWS)
        with pytest.raises(SourceError, match="damaged"):
            opened(tmp_path, whole[:-40])
        with pytest.raises(SourceError, match="the workbook is damaged"):
            opened(tmp_path, b"\xd0\xcf\x11\xe0" + b"x" * 2000)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("rows.csv", "a,b\n1,2\n")
        with pytest.raises(SourceError, match=r"unpack it \(it holds 'rows\.csv'\)"):
            opened(tmp_path, out.getvalue())


def test_one_model_from_text_workbook_json_and_query(tmp_path):
    names, rows = ["age", "dose", "colour", "class"], people()
    (tmp_path / "rows.csv").write_text(text_of(rows))
    (tmp_path / "rows.xlsx").write_bytes(
        workbook(s=[names, *([*r[:2], *map(str, r[2:])] for r in rows)])
    )
    lines = [json.dumps(dict(zip(names, [*r[:2], *map(str, r[2:])], strict=True))) for r in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")
    ask = ("-t", "class", *QUICK, "--force", "-o", tmp_path / "m.json")
    found, answers = [], []
    sql = ("--sql", f"SELECT * FROM '{tmp_path}/rows.csv'")
    for data in (["rows.csv"], ["rows.xlsx"], ["rows.jsonl"], sql, ["-", *sql]):
        where = [tmp_path / data[0]] if "rows" in data[0] and "SELECT" not in data[0] else data
        done("fit", *where, *ask)
        found.append((tmp_path / "m.json").read_bytes())
        answers.append(done("predict", tmp_path / "m.json", *where))
    assert len(set(found)) == len(set(answers)) == 1
    assert "leave DATA out" in failed("fit", tmp_path / "rows.csv", *sql, *ask, code=2)
    assert "Missing argument 'DATA'" in failed("fit", *ask, code=2)
    assert "--out-of-core needs a file" in failed("fit", *sql, *ask, "--out-of-core", code=2)
    error = failed("fit", "--sql", "SELECT * FROM 'none.csv'", *ask)
    assert "none.csv" in error
    assert "class" in done("evaluate", tmp_path / "m.json", *sql)


def test_json_is_a_list_or_lines(tmp_path):
    names = [" [\n{\n", "\n},\n {", "}\n]"]
    text = f'{names[0]}"a": 1, "y": "u{{"{names[1]}"y": "v", "b": null, "a": 2.5{names[2]}'
    with opened(tmp_path, codecs.BOM_UTF8 + text.encode()) as table:
        (batch,) = table.batches(["a"], ["y"])
        assert batch.column("a").to_pylist() == [1, 2.5]
        assert batch.column("y").to_pylist() == ["u{", "v"]
        assert table.names == ("a", "y", "b")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1}\n{"a": }\n',
        b'[{"a": 1},',
        b'[{"a": 1}] 2',
        b'[{"a": 1}, 2]',
        b'{"a": "u\xf0"}\n',
        b'[{"\x92": 1}]',
    ],
)
def test_json_that_is_none(tmp_path, text):
    wrong = "neither JSON lines, one object on each, nor a list of them: "
    with pytest.raises(SourceError, match=wrong):
        opened(tmp_path, text)


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "b.xlsx").write_bytes(workbook(s=ROWS))
    result = run("fit", tmp_path / "b.xlsx", "-t", "y", "-o", tmp_path / "m.json")
    assert "a workbook needs python_calamine: pip install -e '" in result.stderr
    assert "[xlsx]'" in result.stderr

"""Write the table into docs/reproduction.md: ``python docs/make_reproduction.py [FOLDER]``.

FOLDER is where ``polyceptron reproduce`` wrote its results, which are stored first; without it
the table is written again from those stored.
"""

import gzip
import re
import sys
from pathlib import Path

from polyceptron.paper.reproduce import FOLDS_FILE, read_folds
from polyceptron.paper.table import ResultTable, TableRow

DOCS = Path(__file__).parent
STORED = DOCS / "results" / f"{FOLDS_FILE}.gz"


def to_markdown(table: ResultTable) -> str:
    """A row for each method, with what the paper prints in brackets; ▼ marks `TableRow.below`."""
    rows = {(row.dataset.key, row.method.key): row for row in table.rows}
    sets = table.datasets
    lines = [
        "| accuracy in %, and ms of a fit | " + " | ".join(one.title for one in sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    for method in table.methods:
        cells = [_cell(rows.get((one.key, method.key))) for one in sets]
        lines.append(f"| {method.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: TableRow | None) -> str:
    if row is None:
        return ""
    mark = "▼ " if row.below else ""
    paper = f" ({row.printed.accuracy:.2f})" if row.printed else ""
    return f"{mark}{row.accuracy.text()}{paper}, {1000 * row.seconds.mean:.1f} ms"


def main() -> None:
    """Store, tabulate, write."""
    if len(sys.argv) > 1:
        content = (Path(sys.argv[1]) / FOLDS_FILE).read_bytes()
        STORED.write_bytes(gzip.compress(content, mtime=0))
    table, header = read_folds(STORED)
    (DOCS / "results" / "table1.csv").write_text(table.to_csv(), encoding="utf-8")
    versions = ", ".join(f"{name} {number}" for name, number in header["versions"].items())
    page = DOCS / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    made = f"{to_markdown(table)}\nMeasured on {table.measured}, seed {header['seed']}: {versions}."
    text = re.sub(
        r"(<!-- table:start -->\n).*?(\n<!-- table:end -->)",
        lambda found: found[1] + made + found[2],
        text,
        flags=re.DOTALL,
    )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write the table into docs/reproduction.md: ``python docs/make_reproduction.py [FOLDER]``.

FOLDER is where ``polyceptron reproduce`` wrote its results, which are stored first; without it
the table is written again from those stored.
"""

import gzip
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from polyceptron.paper.reproduce import FOLDS, read_table
from polyceptron.paper.table import to_csv, to_markdown

DOCS = Path(__file__).parent
STORED = DOCS / "results" / f"{FOLDS}.gz"


def main() -> None:
    """Store, tabulate, write."""
    if len(sys.argv) > 1:
        content = (Path(sys.argv[1]) / FOLDS).read_bytes()
        STORED.write_bytes(gzip.compress(content, mtime=0))
    with TemporaryDirectory() as folder:
        with gzip.open(STORED) as packed, (Path(folder) / FOLDS).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        table, header = read_table(folder)
    (DOCS / "results" / "table1.csv").write_text(to_csv(table), encoding="utf-8")
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

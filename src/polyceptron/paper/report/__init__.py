"""The report: all that a folder of results has, as one HTML file that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from polyceptron.utils.atomic import write_text
from polyceptron.utils.lazy import need


def write_report(out: str | os.PathLike[str]) -> Path:
    """Write ``report.html`` from the results in a folder.

    Results of `polyceptron reproduce` (``folds.jsonl``) and `polyceptron study convergence`
    (``convergence.jsonl``) may be there or not, and may be unfinished: the page has what there
    is, and says how to make the rest. The same results give the same page.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder of results")
    for package in ("matplotlib", "jinja2"):
        need(package, "the report", "report")
    from polyceptron.paper.report.page import render

    write_text(folder / "report.html", render(folder))
    return folder / "report.html"

"""What docs/rules.md shows is what its examples print, and its links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="not in a source tree")


def test_the_page_runs():
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 40
    assert outcome.failed == 0


def heading(line):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")


def test_links_lead_to_headings():
    for name, anchor in re.findall(r"\]\(([\w.-]+)#([\w-]+)\)", PAGE.read_text("utf-8")):
        lines = (PAGE.parent / name).read_text("utf-8").splitlines()
        assert anchor in {heading(line) for line in lines if line.startswith("#")}

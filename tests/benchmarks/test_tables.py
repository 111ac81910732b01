"""Figures of README and docs: those of the results, and none that was typed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = re.compile(r"<!-- (\w+):start -->\n.*?\n<!-- \1:end -->", re.DOTALL)
PAGES = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")} | {"README.md"}

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="not in a source tree")


@pytest.fixture(scope="module")
def tables(benchmark):
    return benchmark("tables")


def text_of(page):
    return (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_says_what_the_results_say(tables, page):
    text = text_of(page)
    assert set(MADE.findall(text)) == set(tables.PAGES.get(page, ()))
    if page in tables.PAGES:
        assert tables.filled(page, text) == text, "run python -m benchmarks.tables"


def test_a_figure_that_is_typed_is_put_right(tables):
    text = text_of("README.md")
    blocks = [found for found in MADE.finditer(text) if found[1] != "bench"]
    assert len(blocks) == 2
    for found in blocks:
        place = found.start() + re.search(r"\d(?=\.\d)", found[0]).start()
        typed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
        assert tables.filled("README.md", typed) == text != typed


def test_a_page_without_its_markers_is_an_error(tables):
    with pytest.raises(SystemExit, match=r"README\.md needs one <!-- bench:start -->"):
        tables.filled("README.md", "")


@pytest.mark.parametrize("page", sorted(PAGES))
def test_other_tables_of_figures_are_listed_with_their_command(benchmark, page):
    """A table with decimals is made of results, or docs/reproduction.md says when it was typed."""
    figures = benchmark("figures")
    lines = MADE.sub("", text_of(page)).splitlines()
    typed = [line for line in lines if line.startswith("|") and re.search(r"\d\.\d", line)]
    by_hand = {where for _, where in figures.REST.values()} - {"README.md"}
    assert not typed or page in by_hand


def test_the_csv_has_the_stored_table(tables):
    assert tables.folds()[0].to_csv() == (tables.RESULTS / "table1.csv").read_text("utf-8")

"""Figures of README and docs: those of the results, and none that was typed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = re.compile(r"<!-- (\w+):start -->\n.*?\n<!-- \1:end -->", re.DOTALL)
FIGURE = re.compile(r"[ *]*\d+\.\d.*")
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


NOT_MADE = {
    ("docs/design.md", "| batch step | ÷ one read |"): "kernels that are not kept",
    ("docs/design.md", "| BatchPolyceptron, K = 3, 4, 2, 2 |"): "choices, while they were made",
    ("docs/design.md", "| OnlinePolyceptron |"): "choices, while they were made",
    ("docs/design.md", "| 10% or 20% of labels flipped |"): "prototypes that are not kept",
    ("docs/errata.md", "| | first | best |"): "choices, while they were made",
    ("docs/kernels.md", "| | Numba | now |"): "kernels that are not kept",
    ("docs/kernels.md", "| float64; float32 |"): "kernels that are not kept",
    ("docs/kernels.md", "| | here | here, AVX2 only |"): "beside C that is not kept",
    ("docs/out-of-core.md", "| | seconds | most memory"): "files of 1 GB, by hand",
    ("docs/reliability.md", "| file | seconds | MB |"): "files made to find the worst, by hand",
    ("docs/reliability.md", "| 2026-11-18 | minutes"): "fuzzing, an hour",
}
"""Tables with figures that no results stand behind, and why; `figures.REST` has when."""


def test_other_tables_of_figures_are_listed_with_their_reason(benchmark):
    """A table with decimals, the paper's own and worked examples apart, is made of results."""
    by_hand = {where for _, where in benchmark("figures").REST.values()}
    found = set()
    for page in PAGES:
        text = MADE.sub("", text_of(page))
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            head, _, *rows = table.splitlines()
            figures = [cell for row in rows for cell in row.split("|") if FIGURE.fullmatch(cell)]
            if figures:
                found.add((page, head))
    listed = {(page, start) for page, start in NOT_MADE}
    assert {page for page, _ in listed} <= by_hand
    unlisted = [one for one in found if not any(_is(one, other) for other in listed)]
    gone = [other for other in listed if not any(_is(one, other) for one in found)]
    assert (unlisted, gone) == ([], [])


def _is(found, listed):
    return found[0] == listed[0] and found[1].startswith(listed[1])


def test_the_csv_has_the_stored_table(tables):
    assert tables.folds()[0].to_csv() == (tables.RESULTS / "table1.csv").read_text("utf-8")

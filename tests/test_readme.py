"""The README keeps its word: its example runs and prints what it says, its links lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="not in a source tree")


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    return found[0]


def test_example_prints_what_the_readme_says():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), str(README), "exec"), {})
    assert printed.getvalue() == block("text")


def test_example_is_short():
    assert len(block("python").splitlines()) <= 15


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8")):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_bench_markers_are_there_once():
    text = README.read_text("utf-8")
    assert text.count("<!-- bench:start -->") == text.count("<!-- bench:end -->") == 1

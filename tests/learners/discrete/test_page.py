"""The examples of docs/exact.md print what it says."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "exact.md"


def test_the_examples_run():
    pytest.importorskip("highspy")
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0

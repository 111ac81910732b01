"""Looks, and the user's words as labels."""

import pytest

from hostile_names import HOSTILE
from polyceptron.plots import style
from polyceptron.plots.style import short_names, shorten


@pytest.mark.parametrize("name", HOSTILE)
def test_short_names_are_printable_and_short(name):
    for width in (8, 18, 24):
        short = shorten(name, width)
        assert 0 < len(short) <= width
        assert short.isprintable()


def test_short_names_are_told_apart():
    names = ["x" * 50 + f"_{j}_" + "y" * 50 for j in range(30)]
    assert len(set(short_names(names, 16))) == 30
    assert all(len(name) <= 16 for name in short_names(names, 16))


def test_looks_are_all_different():
    looks = {(style.look(k).colour, style.look(k).hatch) for k in range(49)}
    assert len(looks) == 49

"""Small tables and other text for the terminal."""

from polyceptron.cli._tables import shown, table


def test_shown():
    assert shown("a b") == "a b"
    assert shown("a\nb") == '"a\\nb"'
    assert shown("") == '""'


def test_table():
    assert table(["a", "b"], [["xx", 1]]) == "a   b\nxx  1"

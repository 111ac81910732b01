"""Small tables and other text for the terminal."""

from polyceptron.cli._tables import shown


def test_shown():
    assert shown("a b") == "a b"
    assert shown("a\nb") == '"a\\nb"'
    assert shown("") == '""'

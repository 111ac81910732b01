"""What is said on the terminal: labels, and signs of life."""

from polyceptron.cli import _terminal


def test_a_sign_of_life_on_a_terminal(capsys, monkeypatch):
    """Work that takes a while shows what it is doing."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_terminal, "_SECONDS_BEFORE_A_BAR", 0)
    with _terminal.Waiting("Learning") as waiting:
        waiting._timer.join()
        waiting.say("fold 2 of 3", 1, 3)
    text = capsys.readouterr().err
    assert text.index("Learning") < text.index("fold 2 of 3")


def test_lines_elsewhere(capsys, monkeypatch):
    monkeypatch.setattr(_terminal, "_SECONDS_BETWEEN_LINES", 0)
    with _terminal.Waiting("Measuring", counted=True) as progress:
        for done in (2, 3, 4):
            progress(done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "Measuring: 3 of 4, about 0 s left",
        "Measuring: 4 of 4, about 0 s left",
    ]


def test_shown():
    assert _terminal.shown("a b") == "a b"
    assert _terminal.shown("a\nb") == '"a\\nb"'
    assert _terminal.shown("") == '""'

"""Signs of life."""

from polyceptron.cli import _progress


def test_a_sign_of_life_on_a_terminal(capsys, monkeypatch):
    """Work that takes a while shows what it is doing."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress, "_SECONDS_BEFORE_A_BAR", 0)
    with _progress.Waiting("Learning") as waiting:
        waiting._timer.join()
        waiting.say("fold 2 of 3", 1, 3)
    text = capsys.readouterr().err
    assert text.index("Learning") < text.index("fold 2 of 3")


def test_lines_elsewhere(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_LINES", 0)
    with _progress.Progress("Measuring") as progress:
        for done in (2, 3, 4):
            progress(done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "Measuring: 3 of 4, about 0 s left",
        "Measuring: 4 of 4, about 0 s left",
    ]

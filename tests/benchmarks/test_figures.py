"""`make figures`: what is worth most first, resumed, and stored when it is done."""

import gzip
import json
from pathlib import Path
from subprocess import CalledProcessError

import pytest


@pytest.fixture
def figures(benchmark, tmp_path, monkeypatch):
    """Two pieces that write at once, with results in a folder of their own."""
    module = benchmark("figures")
    stored = tmp_path / "results"
    stored.mkdir()
    (stored / "measured.json").write_text(json.dumps({"slow": {"minutes": 50.0}}))
    pieces = {
        "quick": module.Piece("quick {out}/a.json", {"a.json": "a.json"}, 1, 2, "then"),
        "slow": module.Piece("slow {out}/b.jsonl", {"b.jsonl": "b.jsonl.gz"}, 1),
    }
    ran = []

    def measure(words):
        ran.append(words.split()[0])
        if "/" in words:
            Path(words.split()[1]).write_text(ran[-1])

    for name, value in {
        "PIECES": pieces, "RESULTS": stored, "MEASURED": stored / "measured.json",
        "_python": measure, "digest": lambda: "code",
    }.items():  # fmt: skip
        monkeypatch.setattr(module, name, value)
    module.ran = ran
    return module


def test_pieces_are_stored_with_day_and_commit(figures, tmp_path):
    figures.main(["--out", str(tmp_path / "work")])
    assert figures.ran == ["quick", "benchmarks.tables", "then", "slow", "benchmarks.tables"]
    assert (figures.RESULTS / "a.json").read_text() == "quick"
    assert gzip.decompress((figures.RESULTS / "b.jsonl.gz").read_bytes()) == b"slow"
    done = figures.load()
    assert set(done) == {"quick", "slow"}
    assert {"date", "commit", "minutes", "cpu", "cores"} == set(done["slow"])
    assert [row[0] for row in figures.listed()][:2] == ["quick", "slow"]


def test_a_second_run_goes_on(figures, tmp_path, capsys):
    options = ["--out", str(tmp_path / "work")]
    figures.main([*options, "--minutes", "20"])
    assert "slow: left out, 25 minutes of 20 that are left" in capsys.readouterr().out
    assert "slow" not in figures.ran
    figures.main(options)
    assert "[1/2] quick: done before" in capsys.readouterr().out
    assert figures.ran.count("quick") == figures.ran.count("slow") == 1


def test_other_code_is_measured_again(figures, tmp_path, monkeypatch):
    for code in ("one", "two"):
        monkeypatch.setattr(figures, "digest", lambda code=code: code)
        figures.main(["--out", str(tmp_path / "work"), "--only", "quick"])
    assert figures.ran.count("quick") == 2


def test_a_piece_that_fails_is_not_done_and_stops_no_other(figures, tmp_path, monkeypatch):
    measure = figures._python

    def fail_once(words):
        if words.startswith("quick"):
            raise CalledProcessError(1, words)
        measure(words)

    monkeypatch.setattr(figures, "_python", fail_once)
    with pytest.raises(SystemExit, match="quick: Command"):
        figures.main(["--out", str(tmp_path / "work")])
    assert sorted(path.name for path in figures.RESULTS.iterdir()) == [
        "b.jsonl.gz",
        "measured.json",
    ]
    assert [path.parent.name for path in (tmp_path / "work").rglob("done")] == ["slow"]


def test_every_command_is_there(benchmark):
    """The words of each piece are taken by its command line."""
    figures = benchmark("figures")
    assert len(figures.digest()) == 12
    for name, piece in figures.PIECES.items():
        assert "{out}" in piece.command
        module = piece.command.split()[0]
        assert module == "polyceptron" or module == f"benchmarks.{name}"

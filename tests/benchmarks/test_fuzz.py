"""The program that spoils files and counts what comes out."""

import json

import pytest


@pytest.fixture(scope="module")
def fuzz(benchmark):
    return benchmark("fuzz")


@pytest.fixture(scope="module")
def spoil(benchmark):
    return benchmark("spoil")


def test_it_counts(fuzz, spoil, monkeypatch, capsys):
    """What it reads here is quick; tests/model_file/test_fuzz.py reads model files."""
    target = fuzz.Target([b"whole"], [spoil.cut, spoil.random_bytes], lambda data: len(data) > 2)
    monkeypatch.setitem(fuzz.TARGETS, "model", lambda: target)
    monkeypatch.setattr(fuzz, "ROUND", 20)
    fuzz.main(["--minutes", "0.0001", "--target", "model"])
    found = json.loads(capsys.readouterr().out)["results"]["model"]
    assert found["inputs"] == sum(found["outcomes"].values()) >= 20
    assert set(found["outcomes"]) == {"taken", "refused"}


def test_it_finds_a_fault(fuzz, spoil, monkeypatch, tmp_path):
    """One that is planted, and keeps what shows it."""
    monkeypatch.setattr(fuzz, "ROUND", 100)

    def read(data):
        return {b"whole": True}[data]

    target = fuzz.Target([b"whole"], [spoil.cut], read)
    found = fuzz.fuzz(target, 1e-4, 0, tmp_path)
    assert found["outcomes"]["crashed"] > 0
    (text,) = tmp_path.glob("*.txt")
    assert "KeyError" in text.read_text()
    assert text.with_suffix("").read_bytes() != b"whole"


@pytest.mark.parametrize("name", ["tables", "checkpoint", "cache", "rules"])
def test_what_is_whole_is_taken_and_nothing_crashes(fuzz, name, monkeypatch):
    """A few of each kind; docs/reliability.md has the counts of ten minutes."""
    monkeypatch.setattr(fuzz, "ROUND", 25)
    target = fuzz.TARGETS[name]()
    assert all(target.read(data) for data in target.corpus)
    found = fuzz.fuzz(target, 1e-4, 0, None)
    assert found["outcomes"].get("crashed", 0) == 0, found
    assert found["inputs"] >= 25

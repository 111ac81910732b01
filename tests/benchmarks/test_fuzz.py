"""The program that spoils files and counts what comes out."""

import json

import pytest


@pytest.fixture(scope="module")
def fuzz(benchmark):
    return benchmark("fuzz")


def test_it_counts(fuzz, monkeypatch, capsys):
    """What it reads here is quick; tests/model_file/test_fuzz.py reads model files."""
    target = fuzz.Target([b"whole"], [fuzz.cut, fuzz.random_bytes], lambda data: len(data) > 2)
    monkeypatch.setitem(fuzz.TARGETS, "model", lambda: target)
    monkeypatch.setattr(fuzz, "ROUND", 20)
    fuzz.main(["--minutes", "0.0001", "--target", "model"])
    found = json.loads(capsys.readouterr().out)["results"]["model"]
    assert found["inputs"] == sum(found["outcomes"].values()) >= 20
    assert set(found["outcomes"]) == {"taken", "refused"}


def test_it_finds_a_fault(fuzz, monkeypatch, tmp_path):
    """One that is planted, and keeps what shows it."""
    monkeypatch.setattr(fuzz, "ROUND", 100)

    def read(data):
        return {b"whole": True}[data]

    target = fuzz.Target([b"whole"], [fuzz.cut], read)
    found = fuzz.fuzz(target, 1e-4, 0, tmp_path)
    assert found["outcomes"]["crashed"] > 0
    (text,) = tmp_path.glob("*.txt")
    assert "KeyError" in text.read_text()
    assert text.with_suffix("").read_bytes() != b"whole"

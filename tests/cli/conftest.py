"""Models that the tests of the command line share, fitted once."""

from dataclasses import replace
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from cli_files import QUICK, done, people, text_of
from polyceptron import Polyhedron
from polyceptron.model_file import read_rule
from polyceptron.rule import Piece, Rule


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """people.csv with one.json, m.json (two inequalities), tree.json; three and whole (labels)."""
    folder = tmp_path_factory.mktemp("use")
    (folder / "people.csv").write_text(text_of(people()))
    learn = ("fit", folder / "people.csv", "-t", "class")
    done(*learn, "-l", "batch", "-k", 2, "-o", folder / "m.json")
    done(*learn, *QUICK, "-o", folder / "one.json")
    done(*learn, "-l", "oc1", "-o", folder / "tree.json")
    rows = [[*row[:2], "old" if row[0] > 70 else row[3]] for row in people()]
    (folder / "three.csv").write_text(text_of(rows, ("age", "dose", "class")))
    done("fit", folder / "three.csv", "-t", "class", "-k", 1, "-o", folder / "three.json")
    rows = [[*row[:2], int(row[3] == "sick")] for row in people()]
    (folder / "whole.csv").write_text(text_of(rows, ("age", "dose", "class")))
    done("fit", folder / "whole.csv", "-t", "class", *QUICK, "-o", folder / "whole.json")
    return folder


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(text_of(people()))
    return path


@pytest.fixture
def model(folder, data):
    """The model of `data`, beside it."""
    return Path(copy(folder / "one.json", data.parent / "model.json"))


@pytest.fixture
def union(monkeypatch):
    """As if model files had a union: of the young, and of those with little of the dose."""
    W = np.zeros((2, 2, 5))
    W[0, :, 0], W[1, :, 1] = (1, -1), (1, -1)
    young, little = Polyhedron(W[0], [-18, 30]), Polyhedron(W[1], [-1, 5])

    rule = Rule.inside(["sick", "well"], 1, young, little)
    _as_if(monkeypatch, lambda own: rule.renamed(own.feature_names))


@pytest.fixture
def three_classes(monkeypatch):
    """As if the first of three classes had another piece before its own, where no row is."""
    nobody = Piece(Polyhedron([[0.0, -1.0]], [-1e3], ["age", "dose"]), 0)
    _as_if(monkeypatch, lambda own: replace(own, pieces=(nobody, *own.pieces)))


def _as_if(monkeypatch, changed):
    """Let commands read another rule than the model file has."""

    def read(path):
        found = read_rule(path)
        return found._replace(rule=changed(found.rule))

    monkeypatch.setattr("polyceptron.model_file.read_rule", read)

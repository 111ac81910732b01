"""Reads what rules print, for tests: text and model have to decide alike, to the last bit."""

import ast
import re

import numpy as np

from polyceptron import Polyhedron

TERM = re.compile(
    r"""(?P<sign>^-?|\ [-+]\ )
        (?:(?P<size>[0-9][^*"\ ]*)\*)?
        (?P<name>"(?:[^"\\]|\\.)*"|[^\s"*]+)""",
    re.VERBOSE,
)


def read_inequality(line, names):
    """w and b of ``w . x + b >= 0``; a name is quoted or has no space in it."""
    w, at = np.zeros(len(names)), 0
    while not line.startswith((" >= ", " <= "), at):
        found = TERM.match(line, at)
        assert found, line[at:]
        name = found["name"]
        name = ast.literal_eval(name) if name.startswith('"') else name
        size = float(found["size"] or 1)
        w[names.index(name)] = -size if "-" in found["sign"] else size
        at = found.end()
    b = -float(line[at + 4 :])
    return (w, b) if line[at + 1] == ">" else (-w, -b)


def read_polyhedron(text, names):
    """The polyhedron of lines of inequalities."""
    faces = [read_inequality(line, list(names)) for line in text.splitlines()]
    return Polyhedron([w for w, _ in faces], [b for _, b in faces], names)


def read_pieces(text, names):
    """The polyhedra of a rule in words, in their order."""
    pieces = []
    for line in text.splitlines():
        found = re.fullmatch(r"  face (\d+): (.*)", line)
        if found and found[1] == "0":
            pieces.append([])
        if found:
            pieces[-1].append(found[2])
    return [read_polyhedron("\n".join(lines), names) for lines in pieces]

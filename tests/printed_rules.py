"""Reads what rules print, for tests: text and model have to decide alike, to the last bit.

Nothing here but `read_polyhedron` goes through the library's own arithmetic.
"""

import ast
import math
import re
from fractions import Fraction

import numpy as np

from polyceptron import Polyhedron

TERM = re.compile(
    r"""(?P<sign>^-?|\ [-+]\ )
        (?:(?P<size>[0-9][^*"\ ]*)\*)?
        (?P<name>"(?:[^"\\]|\\.)*"|[^\s"*]+)""",
    re.VERBOSE,
)


def read_terms(line, names):
    """The coefficients by column as they are written, whether >= or <=, and the right side."""
    terms, at = {}, 0
    while not line.startswith((" >= ", " <= "), at):
        found = TERM.match(line, at)
        assert found, line[at:]
        name = found["name"]
        name = ast.literal_eval(name) if name.startswith('"') else name
        j = names.index(name)
        assert j not in terms, line
        terms[j] = ("-" if "-" in found["sign"] else "") + (found["size"] or "1")
        at = found.end()
    return terms, line[at + 1] == ">", line[at + 4 :]


def read_inequality(line, names):
    """w and b of ``w . x + b >= 0``; a name is quoted or has no space in it."""
    terms, is_least, bound = read_terms(line, names)
    w = np.zeros(len(names))
    w[list(terms)] = list(map(float, terms.values()))
    return (w, -float(bound)) if is_least else (-w, float(bound))


def read_polyhedron(text, names):
    """The polyhedron of lines of inequalities."""
    faces = [read_inequality(line, list(names)) for line in text.splitlines()]
    return Polyhedron([w for w, _ in faces], [b for _, b in faces], names)


def lines_of_pieces(text):
    """The inequalities of each polyhedron of a rule in words."""
    pieces = []
    for line in text.splitlines():
        found = re.fullmatch(r"  face (\d+): (.*)", line)
        if found and found[1] == "0":
            pieces.append([])
        if found:
            pieces[-1].append(found[2])
    return pieces


def read_pieces(text, names):
    """The polyhedra of a rule in words, in their order."""
    return [read_polyhedron("\n".join(lines), names) for lines in lines_of_pieces(text)]


def where_pieces_hold(text, names, X, number):
    """Where each polyhedron of the text contains rows, in numbers of this kind.

    `float` is the plain loop that other programs have, `Fraction` makes no error at all.
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
    if number is Fraction:  # whole numbers of a unit that all are multiples of
        unit = max(Fraction(x).denominator for x in X.ravel().tolist())
        columns = [[int(Fraction(x) * unit) for x in column] for column in X.T.tolist()]
    else:
        unit, columns = 1, X.T.tolist()
    pieces = []
    for lines in lines_of_pieces(text):
        holds = np.ones(len(X), bool)
        for line in lines:
            terms, is_least, bound = read_terms(line, list(names))
            numbers = {j: number(value) for j, value in terms.items()}
            c = number(bound) * unit
            if number is Fraction:
                least = Fraction(1, math.lcm(*(v.denominator for v in numbers.values())))
                numbers = {j: int(value / least) for j, value in numbers.items()}
                c /= least
            sums = [0] * len(X)
            for j, value in numbers.items():
                sums = [total + value * x for total, x in zip(sums, columns[j], strict=True)]
            holds &= [total >= c if is_least else total <= c for total in sums]
        pieces.append(holds)
    return np.column_stack(pieces)

"""Rows whose side depends on the order of a sum are told from all others."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from polyceptron.learners.polyceptron.clearance import Clearance
from polyceptron.scoring import scores


def sides(w, c, text, row):
    """On which sides of c a row is: in floats by any order of the sum, and in fractions."""
    floats = {sum(part) >= c for part in permutations((w * row).tolist())}
    floats |= {sum((-c, *part)) >= 0 for part in permutations((w * row).tolist())}
    exact = sum(Fraction(int(v)) * Fraction(x) for v, x in zip(w, row.tolist(), strict=True))
    return floats | {exact >= Fraction(text)}


@pytest.mark.parametrize("is_sparse", [False, True])
def test_where_all_agree_and_where_not(is_sparse):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(5, 1.5, (600, 3)), 1)
    n_disagree = 0
    for whole, text in (([7, -9, 2], "4"), ([2, 1, 0], "7.9"), ([3, 5, -7], "0.3")):
        w, c = np.array(whole, float), float(text)
        rows = sparse.csr_matrix(X) if is_sparse else X
        unclear = set(Clearance(rows).unclear(w, c, scores(X, w[None], np.zeros(1))[:, 0]).tolist())
        on_face = {i for i, row in enumerate(np.round(10 * X)) if w @ row == round(10 * c)}
        assert unclear == {i for i in on_face if not (X[i] == np.rint(X[i])).all() or c % 1}
        disagree = {i for i, row in enumerate(X) if len(sides(w, c, text, row)) > 1}
        assert disagree <= unclear
        n_disagree += len(disagree)
    assert n_disagree


def test_whole_numbers_are_exact():
    X = np.array([[1.0, 2], [1.5, 1], [1e17, -1e17]])
    w = np.array([2.0, 1])
    z = scores(X, w[None], np.zeros(1))[:, 0]
    assert Clearance(X).is_clear(w, 4.0, z)
    assert Clearance(X).unclear(w, 1e17, z).tolist() == [2]

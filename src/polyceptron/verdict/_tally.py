"""What a rule makes of labelled rows: counts that add up over parts of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import Block
from polyceptron.data.source import Codes
from polyceptron.rule import Rule
from polyceptron.scoring import rows_for_kernels, scores
from polyceptron.utils.types import Floats


@dataclass(frozen=True, slots=True)
class Tally:
    """What a rule makes of some rows; the tallies of parts of the rows add up to that of all.

    Arrays have a line for each class of the rows, and a column for each answer (``answers``), piece
    (``contains``) and face (``rejects``); of a tree no faces, as there one rejects what another
    takes. ``claims`` counts rows that pieces of no class, of one and of several contain, where the
    most probable class is the answer, and ``broken`` those that are answered a class, by class, for
    which a locked face of every piece of it does not hold.
    """

    answers: NDArray[Any]
    contains: NDArray[Any]
    rejects: NDArray[Any]
    claims: NDArray[Any]
    broken: NDArray[Any]

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @classmethod
    def of(cls, rule: Rule, X: Any, places: Codes, weight: Floats | None = None) -> Tally:
        """Count rows by the places of their classes, each once or with its weight."""
        rows = rows_for_kernels(X, rule.n_features, rule.feature_names)
        C, places = len(rule.classes), np.asarray(places, np.intp)

        def count(cells: Any, n: int, some: Any = slice(None)) -> NDArray[Any]:
            return np.bincount(cells[some], None if weight is None else weight[some], n)

        rejects = [np.empty((C, 0), int)]
        claims, broken = count(np.zeros_like(places), 3), np.zeros(C, int)
        if rule.splits:  # the leaves of a tree: of many pieces each row is in one
            decision = rule.decide(rows)
            contains = [count(places, C, decision.piece == p) for p in range(len(rule.pieces))]
        else:
            least = []
            fails = np.ones((C, len(places)), bool)
            for p, piece in enumerate(rule.pieces):
                margins = scores(rows, piece.polyhedron.W, piece.polyhedron.b).T.copy()
                rejects += [count(places, C, face < 0) for face in margins]
                least.append(margins.min(axis=0))
                held = margins[[k for q, k in rule.locked if q == p]]
                fails[piece.place] &= (held < 0).any(axis=0)
            decision = rule.decide_by(np.column_stack(least))
            contains = [count(places, C, h >= 0) for h in least]
            if rule.is_most_probable:
                claimed = np.zeros((C, len(places)), bool)
                for piece, h in zip(rule.pieces, least, strict=True):
                    claimed[piece.place] |= h >= 0
                claims = count(np.minimum(claimed.sum(axis=0), 2), 3)
                broken = count(decision.place, C, fails[decision.place, np.arange(len(places))])
        answers = count(C * places + decision.place, C**2).reshape(C, C)
        return cls(answers, np.column_stack(contains), np.column_stack(rejects), claims, broken)


def tally_block(rule: Rule, places: Codes, block: Block) -> Tally:
    """The tally of a block, the labels of which are at these places among those of the rule."""
    X: Any = block.X
    if isinstance(X, tuple):
        X = sparse.csr_matrix(block.arrays(), shape=(block.n_samples, rule.n_features))
    return Tally.of(rule, X, places[block.y], block.weight if block.weight.size else None)

"""Better faces, one after the other: what a discrete SVM does where one program is too large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polyceptron.learners.discrete.programs import (
    MET,
    Deadline,
    FaceLP,
    Mask,
    Shared,
    SignedRows,
    best_face,
    best_sharing,
)
from polyceptron.utils.types import Floats

_HINGES = 6
"""Linear programs for a face from one choice of rows; each gives up those far on the wrong side."""
_FREE, _REQUIRED = 12, 48
"""Rows of a mixed-integer program: so many that may be given up, and so many that may not be."""
_NODES = 40
"""A program for one face has a share of the nodes that the one for all may have: one in so many."""
_PATIENCE = 4
"""Rounds of sharing out without a gain."""
_GAIN = 1e-9
"""An objective lower by less is the same."""


class FaceSearch(NamedTuple):
    """What the faces of one fit are sought with."""

    rows: SignedRows
    penalty: float
    lp: FaceLP
    deadline: Deadline
    max_nodes: int

    def objective(self, theta: Floats) -> float:
        return self.rows.objective(theta, self.penalty)

    def shared_out(self, theta: Floats) -> Floats:
        """Outside rows go to the face where they are least, faces follow by hinges, in turns."""
        best, since = theta, 0
        while since < _PATIENCE and not self.deadline.passed():
            theta = self._by_shares(theta)
            lower = self.objective(theta) < self.objective(best) - _GAIN
            best, since = (theta, 0) if lower else (best, since + 1)
        return best

    def _by_shares(self, theta: Floats) -> Floats:
        outside = self.rows.sign < 0
        share = self.rows.margins(theta).argmax(axis=1)
        found = theta.copy()
        for k in range(len(theta)):
            face = self.lp.solve(~outside | (share == k))
            found[k] = theta[k] if face is None else face
        return found

    def round(self, theta: Floats, counting: bool) -> Floats:
        """Each face in turn, while the others stay; the same array if nothing was gained."""
        for k in range(len(theta)):
            if self.deadline.passed():
                break
            right = self.rows.margins(np.delete(theta, k, axis=0)) >= MET
            # What the other faces have lost or done already is nothing to this one.
            open_ = np.where(self.rows.sign > 0, right.all(axis=1), ~right.any(axis=1))
            found = theta.copy()
            found[k] = (self._by_counting if counting else self._by_hinges)(theta[k], open_)
            if self.objective(found) < self.objective(theta) - _GAIN:
                theta = found
        return theta

    def _value(self, face: Floats, open_: Mask) -> float:
        missed = open_ & (self.rows.margins(face[None])[:, 0] < MET)
        return float(self.rows.cost[missed].sum()) + self.penalty * float(np.abs(face[:-1]).sum())

    def _by_hinges(self, face: Floats, open_: Mask) -> Floats:
        """Hinges cut off at 2, by linear programs: rows that are farther off have been given up."""
        best, least = face, self._value(face, open_)
        for first in (open_, open_ & (self.rows.margins(face[None])[:, 0] >= -1)):
            priced = first
            for _ in range(_HINGES):
                found = self.lp.solve(priced)
                if found is None:
                    break
                for one in (found, self._shortest(found, open_)):
                    value = self._value(one, open_)
                    if value < least:
                        best, least = one, value
                before, priced = priced, open_ & (self.rows.margins(found[None])[:, 0] >= -1)
                if np.array_equal(before, priced):
                    break
        return best

    def _shortest(self, face: Floats, open_: Mask) -> Floats:
        """The face with the least |w| that meets all the rows that this one does."""
        met = open_ & (self.rows.margins(face[None])[:, 0] >= MET)
        found = self.lp.solve(np.zeros(len(met), bool), met)
        return face if found is None else found

    def _by_counting(self, face: Floats, open_: Mask) -> Floats:
        """A mixed-integer program in which the rows nearest to the margin are free."""
        margins = self.rows.margins(face[None])[:, 0]
        order = np.argsort(np.abs(margins - 1), kind="stable")
        order = order[open_[order]]
        free = order[:_FREE]
        required = order[_FREE:]
        required = required[margins[required] >= MET][:_REQUIRED]
        nodes = max(1, self.max_nodes // _NODES)
        found = best_face(self.rows, face, required, free, self.penalty, self.deadline, nodes)
        if found is None:
            return face
        candidates = [face, found, self._shortest(found, open_)]
        return min(candidates, key=lambda one: self._value(one, open_))

    def proved(self, theta: Floats) -> tuple[Floats, float]:
        """The best faces that one program for all finds, and how low the objective can be."""
        shared = best_sharing(self.rows, theta, self.penalty, self.deadline, self.max_nodes)
        if shared is None:
            return theta, 0.0
        found = self._faces_of(shared, theta)
        best = found if self.objective(found) < self.objective(theta) else theta
        return best, max(0.0, min(shared.bound, self.objective(best)))

    def _faces_of(self, shared: Shared, theta: Floats) -> Floats:
        """The shortest faces for who is responsible, to all digits."""
        found = theta.copy()
        for k in range(len(theta)):
            required = shared.kept | shared.cut[:, k]
            face = self.lp.solve(np.zeros(len(required), bool), required)
            found[k] = theta[k] if face is None else face
        return found

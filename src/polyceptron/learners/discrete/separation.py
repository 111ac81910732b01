"""Can K faces separate rows without a mistake? An exact answer, with its reason.

Which face cuts off which outside row is a colouring: the rows of one face must be separable from
all inside rows by one hyperplane. Rows that are not have a conflict: a few of them whose convex
hull meets that of a few inside rows, so that no face cuts off all of them. A program of 0/1
variables shares out the outside rows so that no face gets all rows of a known conflict. A linear
program then finds each face, or the next conflict (combinatorial Benders cuts: Codato and
Fischetti 2006). There is no large constant anywhere, and each conflict is checked with fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.learners.discrete.programs import Deadline, MixedProgram, quiet_highs
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count, as_floats, as_real
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats

_APART = 1e-7
"""A margin of less is none, on columns between -1 and 1: the faces would be lost in rounding."""
_WEIGHT = 1e-9
"""Multipliers of less are zero."""


class Conflict(NamedTuple):
    """Outside rows that no face can cut off together while it keeps these inside rows.

    Both have a convex combination in common, with fractions for weights: `point`, as floats.
    """

    outside: tuple[int, ...]
    inside: tuple[int, ...]
    point: tuple[float, ...]


@dataclass(frozen=True)
class Separation:
    """What `exact_separation` found.

    Attributes
    ----------
    separable : bool or None
        None where `reason` says why there is no answer.
    polyhedron : Polyhedron or None
        Of a yes: it contains every inside row and no other, by its own arithmetic.
    conflicts : tuple of Conflict
        Of a no, what it rests on: however the outside rows are shared out among the faces, one
        has all outside rows of a conflict.
    reason : str
    n_rounds : int
        Programs of 0/1 variables solved.
    """

    separable: bool | None
    polyhedron: Polyhedron | None
    conflicts: tuple[Conflict, ...]
    reason: str
    n_rounds: int

    def __bool__(self) -> bool:
        """Raise: None is no answer, which a condition would take for a no."""
        raise TypeError("ask for .separable, which may be None")


def exact_separation(
    X: Any, y: Any, n_hyperplanes: int, *, inside: Any = None, time_limit: float | None = 60.0
) -> Separation:
    """Say whether a polyhedron of so many faces contains the rows of one class and no others.

    The question is NP-complete (Megiddo 1988), so this is for small sets: some 100 rows, a few
    columns and faces. Of a yes there is the polyhedron. Of a no there are conflicts, each proved
    with fractions of the numbers in X; that no sharing out avoids them all is what HiGHS found by
    branch and bound, in a program whose coefficients are 0 and 1. It comes with
    ``pip install polyceptron[lp]``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Two labels.
    n_hyperplanes : int
        The most faces.
    inside : label, default=None
        The class inside; the greater label if None.
    time_limit : float or None, default=60
        Seconds until there is no answer.

    Returns
    -------
    Separation

    Examples
    --------
    >>> from polyceptron import exact_separation
    >>> X, y = [[0], [1], [2], [3]], [0, 1, 1, 0]
    >>> no, yes = (exact_separation(X, y, K) for K in (1, 2))
    >>> no.separable, no.conflicts[0].outside
    (False, (0, 3))
    >>> yes.separable, yes.polyhedron.contains(X).tolist()
    (True, [False, True, True, False])
    """
    rows, is_inside = _checked(X, y, inside)
    K = as_count(n_hyperplanes, "n_hyperplanes")
    if time_limit is not None:
        as_real(time_limit, "time_limit", positive=True)
    search = _SharingSearch(rows, is_inside, min(K, int((~is_inside).sum())), Deadline(time_limit))
    return search.run()


def _checked(X: Any, y: Any, inside: Any) -> tuple[Floats, NDArray[np.bool_]]:
    rows, labels = as_floats(X, "X"), np.asarray(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ValueError(
            f"X must be 2-D and y have a label a row; got {rows.shape}, {labels.shape}"
        )
    if not np.isfinite(rows).all():
        raise ValueError("X must be finite; leave rows with NaN or infinity out, or fill them")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y must have two labels; got {classes.tolist()!r}")
    if inside is None:
        inside = classes[1]
    elif inside not in classes.tolist():
        raise ValueError(f"inside must be one of {classes.tolist()!r}; got {inside!r}")
    return rows, labels == inside


class _WidestGap:
    """The widest gap between all inside rows and some outside rows: one model, changed in place."""

    def __init__(self, rows: Floats, is_inside: NDArray[np.bool_]) -> None:
        highspy = need("highspy", "exact_separation", "lp")
        self._optimal = highspy.HighsModelStatus.kOptimal
        low, high = rows.min(axis=0), rows.max(axis=0)
        self._middle, half = low / 2 + high / 2, high / 2 - low / 2
        self._half = np.where(half > 0, half, 1.0)
        self._sign = np.where(is_inside, 1.0, -1.0)
        self._outside = np.flatnonzero(~is_inside).astype(np.int32)
        scaled = (rows / self._half) - self._middle / self._half
        n, d = rows.shape
        A = np.column_stack([scaled, np.ones(n)]) * self._sign[:, None]
        A = sparse.csr_matrix(np.column_stack([A, -np.ones(n)]))
        self._highs = quiet_highs(highspy)
        none = np.empty(0, np.int32)
        ends = np.append(np.ones(d), [np.inf, 1e3])  # |w_j| <= 1, any b, and the gap
        cost = np.append(np.zeros(d + 1), -1.0)
        nothing = np.zeros(d + 2, np.int32)
        self._highs.addCols(d + 2, cost, -ends, ends, 0, nothing, none, np.empty(0))
        starts, places = A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32)
        far = np.full(n, np.inf)
        self._highs.addRows(n, np.zeros(n), far, A.nnz, starts, places, A.data)

    def solve(self, group: set[int]) -> tuple[Floats | None, Floats]:
        """[w, b] in the units of X, or None, and the multiplier of every row."""
        wanted = np.array([0.0 if row in group else -np.inf for row in self._outside.tolist()])
        far = np.full(len(wanted), np.inf)
        self._highs.changeRowsBounds(len(wanted), self._outside, wanted, far)
        self._highs.run()
        if self._highs.getModelStatus() != self._optimal:
            self._highs.clearSolver()
            self._highs.run()
        solution = self._highs.getSolution()
        multipliers = np.abs(np.array(solution.row_dual))
        theta = np.array(solution.col_value)
        if self._highs.getModelStatus() != self._optimal or theta[-1] < _APART:
            return None, multipliers
        w = theta[:-2] / self._half
        return np.append(w, theta[-2] - float(w @ self._middle)), multipliers


class _SharingSearch:
    """Sharings out and conflicts, in turns, until one or the other decides."""

    def __init__(
        self, rows: Floats, is_inside: NDArray[np.bool_], K: int, deadline: Deadline
    ) -> None:
        self._rows, self._is_inside, self._K, self._deadline = rows, is_inside, K, deadline
        self._highspy = need("highspy", "exact_separation", "lp")
        self._face = _WidestGap(rows, is_inside)
        self._outside = np.flatnonzero(~is_inside).tolist()
        self._conflicts: dict[tuple[int, ...], Conflict] = {}
        self._rounds = 0

    def run(self) -> Separation:
        if not self._is_inside.any():
            raise ValueError("y has no row inside")
        try:
            for pair in self._small_groups():
                self._separable(set(pair))
            while not self._deadline.passed():
                groups = self._shared_out()
                if groups is None:
                    return self._no()
                whole = self._completed(groups)
                if whole is not None:
                    return self._yes(whole)
        except _TooCloseError as unclear:
            return self._answer(None, str(unclear))
        return self._answer(None, "time_limit came first")

    def _small_groups(self) -> Iterator[tuple[int, ...]]:
        """Each outside row, and each pair: the conflicts that say most."""
        for size in (1, 2):
            for group in combinations(self._outside, size):
                if self._deadline.passed():
                    return
                if not any((row,) in self._conflicts for row in group):
                    yield group

    def _separable(self, group: set[int]) -> Floats | None:
        """The face that cuts these rows off, or None and a new conflict among them."""
        theta, multipliers = self._face.solve(group)
        if theta is None:
            used = multipliers > _WEIGHT * max(1.0, float(multipliers.max()))
            conflict = _proved(self._rows, self._is_inside, np.flatnonzero(used))
            if conflict is None or not set(conflict.outside) <= group:
                raise _TooCloseError(sorted(group))
            self._conflicts[conflict.outside] = conflict
        return theta

    def _shared_out(self) -> list[set[int]] | None:
        """Outside rows for every face without a known conflict; None if there is no such way."""
        self._rounds += 1
        K, n = self._K, len(self._outside)
        place = {row: j for j, row in enumerate(self._outside)}
        upper = np.ones(K * n)  # of face k and outside row j at k * n + j
        for number, row in enumerate(self._apart()[:K]):
            upper[place[row] + n * np.arange(number + 1, K)] = 0.0
        program = MixedProgram(np.zeros(K * n), np.zeros(K * n), upper, np.ones(K * n, bool))
        program.add(sparse.hstack([sparse.eye(n)] * K), 1, np.inf)
        if self._conflicts:
            parts = [[place[row] for row in outside] for outside in self._conflicts]
            of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
            ones = np.ones(len(of))
            cuts = sparse.csr_matrix((ones, (of, np.concatenate(parts))), (len(parts), n))
            most = np.tile([len(part) - 1 for part in parts], K)
            program.add(sparse.block_diag([cuts] * K), -np.inf, most)
        found = program.solve(self._highspy, seconds=self._deadline.left())
        if found.infeasible:
            return None
        if found.x is None:  # out of time
            return [set() for _ in range(K)]
        taken = found.x.reshape(K, n) > 0.5
        return [{self._outside[j] for j in np.flatnonzero(row)} for row in taken]

    def _apart(self) -> list[int]:
        """Outside rows of which no two can have the same face: to number the faces by."""
        pairs = {outside for outside in self._conflicts if len(outside) == 2}
        degree = {row: sum(row in pair for pair in pairs) for row in self._outside}
        chosen: list[int] = []
        for row in sorted(self._outside, key=lambda one: -degree[one]):
            if all((min(row, one), max(row, one)) in pairs for one in chosen):
                chosen.append(row)
        return chosen

    def _completed(self, groups: list[set[int]]) -> Floats | None:
        """Faces for these groups, rows moved where there is a conflict; None if some are left."""
        faces: list[Floats | None] = []
        for group in groups:
            while group and (face := self._separable(group)) is None:
                group.discard(self._latest(group))
            faces.append(face if group else None)
        for row in self._outside:
            if any(row in group for group in groups):
                continue
            for k, group in enumerate(groups):
                if (face := self._separable(group | {row})) is not None:
                    group.add(row)
                    faces[k] = face
                    break
            else:
                return None
        known = [face for face in faces if face is not None]
        return np.array(known)

    def _latest(self, group: set[int]) -> int:
        """A row of the group that is in the conflict just found."""
        return next(row for row in next(reversed(self._conflicts)) if row in group)

    def _yes(self, theta: Floats) -> Separation:
        polyhedron = Polyhedron(theta[:, :-1], theta[:, -1])
        if not np.array_equal(polyhedron.contains(self._rows), self._is_inside):
            return self._answer(None, "a row is so near to a face that rounding decides")
        return self._answer(
            True, "the polyhedron contains the inside rows and no others", polyhedron
        )

    def _no(self) -> Separation:
        n = len(self._conflicts)
        reason = f"no sharing out among {self._K} faces avoids all of {n} conflicts (HiGHS)"
        return self._answer(False, reason)

    def _answer(
        self, separable: bool | None, reason: str, polyhedron: Polyhedron | None = None
    ) -> Separation:
        conflicts = tuple(self._conflicts.values()) if separable is False else ()
        return Separation(separable, polyhedron, conflicts, reason, self._rounds)


class _TooCloseError(Exception):
    """Rows that are neither apart by more than rounding nor provably in conflict."""

    def __init__(self, group: list[int]) -> None:
        super().__init__(f"outside rows {group} are too close to the inside rows to tell")


def _proved(
    rows: Floats, is_inside: NDArray[np.bool_], support: NDArray[np.intp]
) -> Conflict | None:
    """The conflict of these rows, if they have one: the weights are found anew with fractions."""
    # Columns of sum weights * [sign x, 1 if inside, 1 if outside] = [0, 1, 1].
    columns = []
    for row in support.tolist():
        sign = 1 if is_inside[row] else -1
        x = [sign * Fraction(value) for value in rows[row].tolist()]
        columns.append([*x, Fraction(sign > 0), Fraction(sign < 0)])
    target = [Fraction(0)] * rows.shape[1] + [Fraction(1)] * 2
    weights = _solved(columns, target)
    if weights is None or min(weights, default=Fraction(-1)) < 0:
        return None
    used = [(row, w) for row, w in zip(support.tolist(), weights, strict=True) if w > 0]
    inside = [(row, w) for row, w in used if is_inside[row]]
    point = [
        float(sum((w * Fraction(float(rows[row, j])) for row, w in inside), Fraction(0)))
        for j in range(rows.shape[1])
    ]
    outside = tuple(row for row, _ in used if not is_inside[row])
    return Conflict(outside, tuple(row for row, _ in inside), tuple(point))


def _solved(columns: list[list[Fraction]], target: list[Fraction]) -> list[Fraction] | None:
    """Weights with which columns add up to the target, by Gauss and Jordan; None if there are none.

    A column that depends on those before it has the weight zero.
    """
    table = [[*row, value] for *row, value in zip(*columns, target, strict=True)]
    pivots: list[int] = []
    for place in range(len(columns)):
        top = len(pivots)
        pivot = next((i for i in range(top, len(table)) if table[i][place]), None)
        if pivot is None:
            continue
        table[top], table[pivot] = table[pivot], table[top]
        table[top] = [value / table[top][place] for value in table[top]]
        for i, row in enumerate(table):
            if i != top and row[place]:
                table[i] = [a - row[place] * b for a, b in zip(row, table[top], strict=True)]
        pivots.append(place)
    if any(row[-1] for row in table[len(pivots) :]):
        return None
    weights = [Fraction(0)] * len(columns)
    for row, place in zip(table, pivots, strict=False):
        weights[place] = row[-1]
    return weights

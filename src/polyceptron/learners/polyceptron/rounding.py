"""Short numbers for learned faces, so that what is printed is the model.

A face becomes 2**e times whole numbers of few digits and an offset that is found again after that.
The power of two keeps faces as comparable as they were, and changes no sign of a score: so text
without it decides as the model does, to the last bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.data.scaling import identity, standardized_array
from polyceptron.data.training import TrainingData
from polyceptron.learners.polyceptron.clearance import Clearance
from polyceptron.learners.polyceptron.sample import Sample
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import scores
from polyceptron.utils.types import Flags, Floats, Indices

_MOST_ROWS = 50_000
"""That tell what rounding costs."""
_MISTAKES, _MORE = 0.001, 0.05
"""That rounding may add, as a share of the weight of rows and of the mistakes there are."""
_CHANGED = 0.01
"""Answers that rounding may change, right or wrong: that mistakes cancel out may be chance."""
_REACH = 0.05
"""How far an offset may move, in standard deviations of the scores."""
_NEGLIGIBLE = 0.5
"""A term may go if it weighs less than so many units of the last digit of the greatest one."""
_MOST_DIGITS, _SCALES, _STEPS = 8, 48, 6
_USUAL = 1e100
"""Faces with numbers beyond this, or its inverse, are left as they are."""
_NEAR = 50
"""Rows that tell where a face is, at least."""


def rows_to_round_by(training: TrainingData, sample: Sample, inside: int) -> ArrayBlocks:
    """Rows that were learned from, or many of them, in user units, and +1 where they are inside."""
    n = training.source.n_samples
    numbers = np.arange(n, dtype=np.int64) if sample.numbers is None else sample.numbers
    m = min(len(numbers), _MOST_ROWS)
    rows = rows_in_user_units(training, numbers[np.arange(m) * len(numbers) // m])
    if rows.weight.size:
        rows = rows.take(np.flatnonzero(rows.weight))
    return rows if inside == training.inside else rows.turned()


def rows_in_user_units(training: TrainingData, numbers: NDArray[np.int64] | None) -> ArrayBlocks:
    """The rows of these numbers, or all, as they were given."""
    view = training.view._replace(coordinates=identity(training.source.n_features))
    everything = np.arange(training.source.n_samples, dtype=np.int64)
    return replace(training, view=view).take(everything if numbers is None else numbers)


def round_faces(
    pieces: list[Polyhedron], rows: ArrayBlocks, most: int | None = None, *, may_merge: bool = True
) -> tuple[list[Polyhedron], float]:
    """The faces of a union with the fewest digits that cost nothing.

    Given `most`, they have no more than so many, whatever that costs. Also returns by how much
    scores were greater before, in the geometric mean of the faces.
    """
    X, ends = rows.matrix, np.cumsum([one.n_faces for one in pieces])
    W, b = np.concatenate([one.W for one in pieces]), np.concatenate([one.b for one in pieces])
    if may_merge:
        W, b = _without_mirrored(X, W, b)
    answers = _Answers(
        scores(X, W, b) >= 0, np.searchsorted(ends, np.arange(len(b)), "right"), rows
    )
    # Of few bits: sums over dense and over sparse rows differ in the last.
    mantissas, exponents = np.frexp(1 / standardized_array(X, rows.weights).scale)
    spread, logs = np.ldexp(mantissas.astype(np.float32).astype(float), exponents), 0.0
    clearance = Clearance(X)
    for k in range(len(b)):
        sizes = np.abs([*W[k], *(W[k] * spread), b[k]])
        if not (sizes[sizes > 0] > 1 / _USUAL).all() or not (sizes < _USUAL).all():
            continue
        face = _Rounding(X, W[k], float(b[k]), spread, answers, k, clearance).best(most)
        if face is not None:
            logs += math.log(_length_in_spreads(W[k], spread) / _length_in_spreads(face.w, spread))
            W[k], b[k], answers.holds[:, k] = face
    parts = zip(np.split(W, ends[:-1]), np.split(b, ends[:-1]), strict=True)
    return [Polyhedron(*part, pieces[0].feature_names) for part in parts], math.exp(logs / len(b))


def _without_mirrored(X: Any, W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Faces without the first of two dense columns of which one is 1 where the other is 0."""
    last: dict[bytes, int] = {}
    is_dense = isinstance(X, np.ndarray)
    for j in np.flatnonzero(((X == 0) | (X == 1)).all(axis=0)).tolist() if is_dense else ():
        ones = X[:, j] == 1
        i = last.get((~ones).tobytes())
        last[ones.tobytes()] = j
        if i is not None:
            fewer = W.copy()
            fewer[:, j] -= W[:, i]
            fewer[:, i] = 0.0
            if fewer.any(axis=1).all():
                W, b = fewer, b + W[:, i]
    return W, b


class _Answers:
    """Answers of a union while its faces change one by one, and what that costs."""

    def __init__(self, holds: Flags, owner: Indices, rows: ArrayBlocks) -> None:
        self.holds, self.owner = holds, owner
        self.is_inside, self.weight = rows.y > 0, rows.weights
        self.first = self._any(set(owner.tolist()))
        self.wrong = self._weight(self.first != self.is_inside)

    def _weight(self, rows: Flags) -> float:
        return float(self.weight[rows].sum())

    def _any(self, pieces: set[int]) -> Flags:
        """Where one of the pieces contains a row."""
        found = np.zeros(len(self.holds), bool)
        for piece in pieces:
            found |= self.holds[:, self.owner == piece].all(axis=1)
        return found

    def without(self, k: int) -> tuple[Flags, Flags]:
        """Where the other faces of the piece of face k hold, and where another piece does."""
        own = self.owner == self.owner[k]
        others: Flags = self.holds[:, own & (np.arange(len(own)) != k)]
        return np.asarray(others.all(axis=1)), self._any(set(self.owner[~own].tolist()))

    def cost(self, inside: Flags, k: int) -> float:
        """What these answers lose: 1 is as much as the faces up to k may in all."""
        share, total = (k + 1) / len(self.owner), float(self.weight.sum())
        more = self._weight(inside != self.is_inside) - self.wrong
        allowed = share * max(min(_MISTAKES * total, _MORE * self.wrong), 1e-9 * total)
        return max(more / allowed, self._weight(inside != self.first) / (_CHANGED * share * total))


class _ShortFace(NamedTuple):
    w: Floats
    b: float
    holds: Flags


class _Rounding:
    """One face, and what is known of the rows without it."""

    def __init__(
        self,
        X: Any,
        w: Floats,
        b: float,
        spread: Floats,
        answers: _Answers,
        k: int,
        clearance: Clearance,
    ) -> None:
        self.clearance = clearance
        self.X, self.w, self.spread, self.answers, self.k = X, w, spread, answers, k
        self.margin = scores(X, w[None], np.array([b]))[:, 0]
        self.here, self.there = answers.without(k)
        near = np.flatnonzero(self.here & ~self.there)
        near = near if len(near) >= _NEAR else np.arange(len(self.margin))
        order = np.argsort(np.abs(self.margin[near]), kind="stable")
        self.near = near[order[: max(_NEAR, len(near) // 10)]]

    def best(self, most: int | None) -> _ShortFace | None:
        """The face with the fewest digits, clear of all rows if one is; None if none will do.

        A row on a face is inside or outside by the order of a sum, so programs would differ.
        """
        best: tuple[bool, float, _ShortFace | None] = True, np.inf, None
        last = most or _MOST_DIGITS
        for digits in range(1, last + 1):
            if digits > last:
                break
            for negligible in (_NEGLIGIBLE * 10.0**-digits, 0.0):
                v = whole_numbers(self.w, self.spread, digits, negligible)
                for cost, is_clear, face in self._with_offsets(v, best[1] if most else 1.0):
                    if cost <= 1 and is_clear:
                        return face
                    best = min(best, (cost > 1, cost * (cost > 1), face), key=lambda one: one[:2])
                    if cost <= 1:  # to keep clear of the rows, a digit more has to do
                        last = min(last, digits + 1)
        return best[2] if most or not best[0] else None

    def _with_offsets(self, v: Floats, least: float) -> Iterator[tuple[float, bool, _ShortFace]]:
        """Faces of this direction that cost no more than that, those with short offsets first.

        And whether they keep clear of all rows. Where none does, others follow that are near.
        """
        ratio = _length_in_spreads(self.w, self.spread) / _length_in_spreads(v, self.spread)
        z, near, weight = scores(self.X, v[None], np.zeros(1))[:, 0], self.near, self.answers.weight
        # Rows near the face are as far from it as before, in the mean.
        offset = float(np.average((z - self.margin / ratio)[near], weights=weight[near]))
        deviation = z - np.average(z, weights=weight)
        reach = _REACH * math.sqrt(np.average(deviation**2, weights=weight))
        e = round(math.log2(ratio))
        unclear: list[float] = []
        for c in itertools.chain(short_offsets(offset, reach), beside(unclear, offset, reach)):
            # By scores first, which need no pass over the rows; then by what will be answered.
            if self._cost(z >= c) <= max(1.0, least):
                holds = scores(self.X, v[None], np.array([-c]))[:, 0] >= 0
                is_clear = self.clearance.is_clear(v, c, z)
                if not is_clear:
                    unclear.append(c)
                face = _ShortFace(np.ldexp(v, e), math.ldexp(-c, e), holds)
                yield self._cost(holds), is_clear, face

    def _cost(self, holds: Flags) -> float:
        return self.answers.cost(self.there | self.here & holds, self.k)


def _length_in_spreads(w: Floats, spread: Floats) -> float:
    return float(np.linalg.norm(w * spread))


def short_offsets(exact: float, reach: float, *, is_below: bool = False) -> Iterator[float]:
    """Decimal numbers that are within reach of this one, or below it, those with few digits first.

    Examples
    --------
    >>> list(short_offsets(1440.7, 30.0))[:5]
    [1440.0, 1450.0, 1441.0, 1440.0, 1440.7]
    """
    if not (math.isfinite(exact) and 0 < reach < math.inf):
        return
    top = math.ceil(math.log10(2 * reach))
    for p in range(top, top - _STEPS, -1):
        low = int(Decimal(exact).scaleb(-p).to_integral_value(ROUND_FLOOR))
        nearest = (low, low - 1) if is_below else (low, low + 1)
        offers = [float(f"{n}e{p}") for n in nearest]
        yield from (
            c for c in sorted(offers, key=lambda c: abs(c - exact)) if abs(c - exact) <= reach
        )


def beside(offsets: list[float], exact: float, reach: float) -> Iterator[float]:
    """Numbers beside the first of these offsets, within reach: those of few digits first.

    Examples
    --------
    >>> list(beside([4.0], 4.0, 0.5))[:4]
    [4.1, 3.9, 4.01, 3.99]
    """
    top = math.ceil(math.log10(2 * reach)) if offsets else 0
    for c in offsets[:1]:
        steps = (Decimal(sign).scaleb(p) for p in range(top, top - _STEPS, -1) for sign in (1, -1))
        found = (float(Decimal(repr(c)) + step) for step in steps)
        yield from (one for one in found if abs(one - exact) <= reach)


def whole_numbers(w: Floats, spread: Floats, digits: int, negligible: float = 0.0) -> Floats:
    """Whole numbers of so many digits, before zeros, that point where w does as near as they can.

    Columns count in their spreads. Terms go that weigh less than this share of the greatest one.

    Examples
    --------
    >>> whole_numbers(np.array([0.0334, -0.0172, 0.0001]), np.ones(3), 1, 0.05)
    array([ 2., -1.,  0.])
    """
    size = np.abs(w) * spread
    used = np.flatnonzero((size > 0) & (size >= negligible * size.max()))
    part, unit = np.abs(w[used]), spread[used]
    logs, nearest = np.log10(part), -np.inf
    best: tuple[list[int], list[int]] = [], []
    for t in np.arange(_SCALES) / _SCALES:  # along the ray, over one decade
        p = np.floor(logs + t) - (digits - 1)
        n = np.rint(10.0 ** (logs + t - p))
        v = n * 10.0 ** (p - t) * unit
        cosine = v @ size[used] / np.linalg.norm(v)
        if cosine > nearest * (1 + 1e-9):
            nearest, best = cosine, (n.astype(int).tolist(), p.astype(int).tolist())
    lowest = min(best[1])
    whole = [n * 10 ** (p - lowest) for n, p in zip(*best, strict=True)]
    found = np.zeros(len(w))
    found[used] = np.copysign(_without_factor(whole, digits), w[used])
    return found


def _without_factor(whole: list[int], digits: int) -> list[float]:
    """Numbers divided by what they have in common, as long as that makes none longer."""
    common = math.gcd(*whole)
    for power in range(len(str(common)) - 1, -1, -1):
        for factor in range(9 * 10**power, 0, -(10**power)):
            if common % factor == 0:
                smaller = [n // factor for n in whole]
                if all(len(str(n).rstrip("0")) <= digits for n in smaller):
                    return list(map(float, smaller))
    return list(map(float, whole))

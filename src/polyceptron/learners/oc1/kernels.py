"""The compiled search of OC1 for a hyperplane that splits the rows of one node.

Everything is one question asked over and over: along the line ``plane + alpha * direction``,
which alpha splits best? A row with score s and slope d along the direction changes side at
alpha = -s / d; :func:`line_search` sorts these crossings and scans them once. A coefficient is
perturbed by asking it along a unit vector (the U_j of Murthy, Kasif & Salzberg 1994, section 2.2,
are these crossings plus the coefficient), the best threshold of a column along the constant, and
a random jump along a random vector.

Planes are ``[w, b]``, and a row is *above* one where w . x + b >= 0. Columns travel as rows of one
array, the constant 1 as the last, so that a direction along a coefficient is a contiguous view.
Weights add up exactly (`growth.exact_weights`), so counts depend neither on
the order of the rows nor on the way in which they were reached.

Nothing compiled elsewhere is called (see :mod:`polyceptron.kernels.jit`).
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from polyceptron.kernels.jit import compiled
from polyceptron.utils.types import Floats

CRITERIA = ("twoing", "gini", "entropy")
ORDERS = ("sequential", "best", "random")
"""What the numbers of a `Climb` stand for."""
_GINI, _ENTROPY = 1, 2
_BEST, _RANDOM = 1, 2

TOLERANCE = 1e-12
"""Qualities, which are at most 4, are equal if they differ by no more than this."""
FARTHEST = 1e8
"""A row that changes side farther away than this never does: coefficients are of the order of 1,
and with one so large the others would be lost in rounding."""
RANDOM_VISITS = 50
"""Coefficients in one round of the random order (the paper's R-50)."""
CROWDED = 24
"""Above so many keys a bucket is sorted on its own, not by insertion."""

Ints = NDArray[np.int64]


class NodeRows(NamedTuple):
    """The rows of a node, and the weight of each class among them."""

    columns: Floats  # of shape (d + 1, n): a row for each column, and one of ones
    labels: Ints
    weights: Floats
    totals: Floats


class Work(NamedTuple):
    """Arrays that the search writes to: made once for a node."""

    scores: Floats  # of the current plane, row by row
    slopes: Floats  # how fast they change along the current direction
    crossings: Floats  # where they change sign, sorted
    movers: Ints  # the row that each crossing belongs to
    keys: Floats  # the crossings in the order of the rows, before they are sorted
    senders: Ints  # the rows of `keys`
    ends: Ints  # of shape (n + 2,): where the buckets of the sort end
    above: Floats  # weight of each class above the plane
    state: Floats  # the quality of the plane, and the probability of a move that is no better


def workspace(n_rows: int, n_classes: int) -> Work:
    """Arrays for a node of this size."""
    s, d, t, k = (np.empty(n_rows) for _ in range(4))
    i, j, e = (np.empty(n, np.int64) for n in (n_rows, n_rows, n_rows + 2))
    return Work(s, d, t, i, k, j, e, np.empty(n_classes), np.ones(2))


# --- how good a split is --------------------------------------------------------------


@compiled
def quality(criterion: int, above: Floats, totals: Floats) -> float:
    """How good a split is, the greater the better; 0 where a side has no weight.

    Twoing is (A/T)(B/T)(sum_c |a_c/A - b_c/B|)^2, with a_c and b_c the weights of class c on the
    two sides and A, B, T those of the sides and of all; the others are what the split takes off
    the node's Gini index or entropy.
    """
    T = A = 0.0
    for c in range(totals.shape[0]):
        T += totals[c]
        A += above[c]
    if A <= 0.0 or A >= T:
        return 0.0
    if criterion == _GINI:
        return _gini(above, totals, A, T)
    if criterion == _ENTROPY:
        return _entropy(above, totals, A, T)
    # a/A - b/B = (aT - tA) / (AB), where t = a + b: one division for all classes
    s = 0.0
    for c in range(totals.shape[0]):
        s += abs(above[c] * T - totals[c] * A)
    s /= T
    return s * s / (A * (T - A))


@compiled
def _gini(above: Floats, totals: Floats, A: float, T: float) -> float:
    inner = outer = before = 0.0
    for c in range(totals.shape[0]):
        b = totals[c] - above[c]
        inner += above[c] * above[c]
        outer += b * b
        before += totals[c] * totals[c]
    return (inner / A + outer / (T - A) - before / T) / T


@compiled
def _entropy(above: Floats, totals: Floats, A: float, T: float) -> float:
    gain = 0.0
    for c in range(totals.shape[0]):
        b = totals[c] - above[c]
        if above[c] > 0.0:
            gain += above[c] * np.log(above[c] / A)
        if b > 0.0:
            gain += b * np.log(b / (T - A))
        if totals[c] > 0.0:
            gain -= totals[c] * np.log(totals[c] / T)
    return gain / T


@compiled
def plane_quality(rows: NodeRows, work: Work, criterion: int) -> float:
    """Quality of the split by the signs of the scores."""
    for c in range(work.above.shape[0]):
        work.above[c] = 0.0
    for i in range(work.scores.shape[0]):
        if work.scores[i] >= 0.0:
            work.above[rows.labels[i]] += rows.weights[i]
    return quality(criterion, work.above, rows.totals)


# --- the best point of a line: one sort, one scan --------------------------------------


@compiled
def line_search(rows: NodeRows, work: Work, criterion: int) -> tuple[float, float]:
    """The best alpha along the line, and the quality there; -1 where no gap can be chosen.

    Points between two crossings split alike, so the middle of every gap is looked at. Of equally
    good gaps the widest is taken: its middle is farthest from the rows.
    """
    m = sort_crossings(rows, work)
    above, best, alpha, width = work.above, -1.0, 0.0, 0.0
    for k in range(m - 1):
        i = work.movers[k]
        above[rows.labels[i]] += rows.weights[i] if work.slopes[i] > 0.0 else -rows.weights[i]
        low, high = work.crossings[k], work.crossings[k + 1]
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            continue
        q = quality(criterion, above, rows.totals)
        if q > best + TOLERANCE or (q >= best - TOLERANCE and high - low > width):
            best, alpha, width = max(q, best), middle, high - low
    return alpha, best


@compiled
def sort_crossings(rows: NodeRows, work: Work) -> int:
    """List in order where rows change side; `above` is left as at alpha = -infinity.

    Crossings are ratios, with long tails: t / (spread + |t|) deals them out evenly enough that,
    with a bucket for each, insertion has little left to do. That is ten times as fast as a
    quicksort, which mispredicts half of its branches. Crowded buckets are sorted on their own, so
    no keys take n^2 steps; insertion over all mends what rounding did at their borders.
    """
    m, spread = _list_crossings(rows, work)
    ends = work.ends[: m + 2]
    for b in range(m + 2):
        ends[b] = 0
    for k in range(m):
        ends[_bucket(work.keys[k], spread, m) + 1] += 1
    for b in range(1, m + 2):
        ends[b] += ends[b - 1]
    for k in range(m):  # what begins as the start of a bucket is its end afterwards
        b = _bucket(work.keys[k], spread, m)
        work.crossings[ends[b]] = work.keys[k]
        work.movers[ends[b]] = work.senders[k]
        ends[b] += 1
    start = 0
    for b in range(m + 1):
        if ends[b] - start > CROWDED:
            here = slice(start, ends[b])
            _shell_pass(work.crossings[here], work.movers[here], (ends[b] - start) * 4 // 9)
        start = ends[b]
    _shell_pass(work.crossings[:m], work.movers[:m], 1)
    return m


@compiled
def _list_crossings(rows: NodeRows, work: Work) -> tuple[int, float]:
    """Where rows change side, how many do, and a usual distance."""
    m, size, speed = 0, 0.0, 0.0
    for c in range(work.above.shape[0]):
        work.above[c] = 0.0
    for i in range(work.scores.shape[0]):
        s, d = work.scores[i], work.slopes[i]
        if abs(s) < FARTHEST * abs(d):
            work.keys[m] = -s / d
            work.senders[m] = i
            m += 1
            size += abs(s)
            speed += abs(d)
            is_above = d < 0.0
        else:
            is_above = s >= 0.0
        if is_above:
            work.above[rows.labels[i]] += rows.weights[i]
    return m, max(size / speed, 1.0 / FARTHEST) if m else 1.0


@compiled
def _bucket(key: float, spread: float, m: int) -> int:
    return int((key / (spread + abs(key)) + 1.0) * (0.5 * m))


@compiled
def _shell_pass(crossings: Floats, movers: Ints, gap: int) -> None:
    """Shell's sort from this gap on, which with 1 is insertion.

    np.argsort takes longer to compile than all of this module.
    """
    while gap >= 1:
        for k in range(gap, crossings.shape[0]):
            t, i = crossings[k], movers[k]
            at = k
            while at >= gap and crossings[at - gap] > t:
                crossings[at], movers[at] = crossings[at - gap], movers[at - gap]
                at -= gap
            crossings[at], movers[at] = t, i
        gap = max(gap * 4 // 9, 1) if gap > 1 else 0


# --- hill-climbing --------------------------------------------------------------------


class Climb(NamedTuple):
    """How to climb: the criterion and the order are places in CRITERIA and ORDERS."""

    criterion: int
    order: int
    n_restarts: int
    n_jumps: int


@compiled
def set_scores(rows: NodeRows, plane: Floats, out: Floats) -> None:
    """Scores of all rows."""
    for i in range(out.shape[0]):
        out[i] = plane[-1]
    for j in range(plane.shape[0] - 1):
        for i in range(out.shape[0]):
            out[i] += plane[j] * rows.columns[j, i]


@compiled
def _probe_coefficient(rows: NodeRows, work: Work, how: Climb, j: int) -> tuple[float, float]:
    """The best change of coefficient j, and the quality it promises."""
    for i in range(work.slopes.shape[0]):
        work.slopes[i] = rows.columns[j, i]
    return line_search(rows, work, how.criterion)


@compiled
def _move(rows: NodeRows, work: Work, how: Climb, alpha: float, least: float) -> float:
    """Go to alpha if the quality there is really above `least`; -1 if not.

    Where crossings are within rounding of each other, what a scan promises need not be so.
    """
    for i in range(work.scores.shape[0]):
        work.keys[i] = work.scores[i]
        work.scores[i] += alpha * work.slopes[i]
    q = plane_quality(rows, work, how.criterion)
    if q > least:
        return q
    for i in range(work.scores.shape[0]):
        work.scores[i] = work.keys[i]
    return -1.0


@compiled
def _perturb(rows: NodeRows, work: Work, how: Climb, plane: Floats, j: int, rng: Generator) -> None:
    """Change coefficient j for the better, or with probability work.state[1] for an equal.

    This is the paper's Perturb: that probability falls by a tenth with every move that is no
    better, and is 1 again after one that is.
    """
    state = work.state
    alpha, promised = _probe_coefficient(rows, work, how, j)
    better = promised > state[0] + TOLERANCE
    if promised < state[0] - TOLERANCE or not (better or rng.random() < state[1]):
        return
    q = _move(rows, work, how, alpha, state[0] + (TOLERANCE if better else -TOLERANCE))
    if q >= 0.0:
        plane[j] += alpha
        state[0] = q
        state[1] = 1.0 if better else state[1] - 0.1


@compiled
def _best_coefficient(rows: NodeRows, work: Work, how: Climb) -> int:
    best, at = -1.0, 0
    for j in range(rows.columns.shape[0]):
        _, q = _probe_coefficient(rows, work, how, j)
        if q > best + TOLERANCE:
            best, at = q, j
    return at


@compiled
def _round(rows: NodeRows, work: Work, how: Climb, plane: Floats, rng: Generator) -> None:
    """Visit coefficients once, in the order asked for."""
    p = plane.shape[0]
    if how.order == _BEST:
        _perturb(rows, work, how, plane, _best_coefficient(rows, work, how), rng)
    elif how.order == _RANDOM:
        for _ in range(RANDOM_VISITS):
            _perturb(rows, work, how, plane, int(rng.random() * p), rng)
    else:
        for j in range(p):
            _perturb(rows, work, how, plane, j, rng)
    _refresh(rows, work, how, plane)


@compiled
def _refresh(rows: NodeRows, work: Work, how: Climb, plane: Floats) -> None:
    """Scale the plane to a largest coefficient of 1, and leave rounding behind."""
    largest = 0.0
    for j in range(plane.shape[0]):
        largest = max(largest, abs(plane[j]))
    for j in range(plane.shape[0]):
        plane[j] /= largest if largest > 0.0 else 1.0
    set_scores(rows, plane, work.scores)
    work.state[0] = plane_quality(rows, work, how.criterion)


@compiled
def _jump(rows: NodeRows, work: Work, how: Climb, plane: Floats, rng: Generator) -> bool:
    """Go along random directions until one is better; at most `n_jumps`."""
    direction, state = np.empty(plane.shape[0]), work.state
    for _ in range(how.n_jumps):
        for j in range(plane.shape[0]):
            direction[j] = rng.standard_normal()
        set_scores(rows, direction, work.slopes)
        alpha, promised = line_search(rows, work, how.criterion)
        if promised > state[0] + TOLERANCE:
            q = _move(rows, work, how, alpha, state[0] + TOLERANCE)
            if q >= 0.0:
                for j in range(plane.shape[0]):
                    plane[j] += alpha * direction[j]
                state[0] = q
                return True
    return False


@compiled
def climb(rows: NodeRows, work: Work, how: Climb, plane: Floats, rng: Generator) -> float:
    """Improve the plane in place until neither coefficients nor jumps help."""
    state = work.state
    state[1] = 1.0
    _refresh(rows, work, how, plane)
    reached = -1.0
    while True:
        before = -1.0
        while state[0] > before + TOLERANCE:
            before = state[0]
            _round(rows, work, how, plane, rng)
        top = float(state[0])
        # Rounding may take back all that the last jump gave.
        if top <= reached + TOLERANCE or not _jump(rows, work, how, plane, rng):
            return top
        reached = top


@compiled
def best_axis_split(rows: NodeRows, work: Work, how: Climb, plane: Floats) -> float:
    """The best threshold of a single column; ties go to the first column."""
    p = plane.shape[0]
    best = -1.0
    for j in range(p - 1):
        for i in range(work.scores.shape[0]):
            work.scores[i] = rows.columns[j, i]
        alpha, q = _probe_coefficient(rows, work, how, p - 1)
        if q > best + TOLERANCE:
            best = q
            for i in range(p):
                plane[i] = 1.0 if i == j else 0.0
            plane[p - 1] = alpha
    return best


@compiled
def best_split(
    rows: NodeRows, work: Work, how: Climb, axis: Floats, plane: Floats, rng: Generator
) -> tuple[float, float]:
    """Fill in the best axis-parallel plane and the best plane, and return their qualities.

    An oblique plane is taken where it is better, not where it is as good. The first climb starts
    from the axis-parallel one, the others from random planes.
    """
    first = best_axis_split(rows, work, how, axis)
    trial = np.empty(axis.shape[0])
    best = first
    for start in range(how.n_restarts if first >= 0.0 else 0):
        for j in range(trial.shape[0]):
            trial[j] = axis[j] if start == 0 else 2.0 * rng.random() - 1.0
        q = climb(rows, work, how, trial, rng)
        if q > best + TOLERANCE:
            best = q
            for j in range(trial.shape[0]):
                plane[j] = trial[j]
    return first, best

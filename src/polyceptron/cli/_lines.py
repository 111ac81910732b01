"""The compiled writer of answers: a label and numbers of nine digits on each line.

Everything compiled stays in this file on purpose: Numba invalidates its disk cache by the file of
the outermost function only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyceptron.kernels.jit import compiled

DIGITS = 9
WIDEST = 24
"""The most bytes that a number takes."""

_COMMA, _NEWLINE, _MINUS, _POINT, _ZERO, _E = (np.uint8(ord(c)) for c in ",\n-.0e")
_POWERS = np.array([10.0**q for q in range(-300, 301)])
_MOST = 10.0**DIGITS
_LOG = math.log10(2.0)
_U = np.uint64
_0, _10 = _U(0), _U(10)
_LAST_PLAIN = 15
"""Numbers from 1e-5 to 1e15 are written without a power of ten."""


@compiled
def _put_digits(out: Any, at: int, digits: Any, n: int) -> Any:
    """Write the last n digits of a number, and return what is left of it."""
    for i in range(at + n - 1, at - 1, -1):
        rest = digits // _10
        out[i] = _ZERO + np.uint8(digits - rest * _10)
        digits = rest
    return digits


@compiled
def _put_whole(out: Any, at: int, value: Any) -> int:
    """Write a whole number."""
    n, rest = 1, value // _10
    while rest > _0:
        n += 1
        rest //= _10
    _put_digits(out, at, value, n)
    return at + n


@compiled
def _put_word(out: Any, at: int, word: Any) -> int:
    for byte in word:
        out[at] = byte
        at += 1
    return at


_NAN, _INF = (np.frombuffer(word, dtype=np.uint8) for word in (b"nan", b"inf"))


@compiled
def _decimal(value: float) -> Any:
    """The nine leading digits of a positive number, and its power of ten."""
    # From the power of two: the power of ten, or one less.
    exponent = int(math.floor((math.frexp(value)[1] - 1) * _LOG))  # noqa: RUF046
    power = DIGITS - 1 - exponent
    scaled = value * _POWERS[power + 300] if power <= 300 else value * 1e300 * 10.0 ** (power - 300)
    if scaled >= _MOST - 0.5:
        scaled, exponent = scaled / 10.0, exponent + 1
    return _U(scaled + 0.5), exponent


@compiled
def _put_number(out: Any, at: int, value: float) -> int:
    if value != value:
        return _put_word(out, at, _NAN)
    if value < 0:
        out[at] = _MINUS
        at += 1
        value = -value
    if value == math.inf:
        return _put_word(out, at, _INF)
    if value == 0:
        out[at] = _ZERO
        return at + 1
    digits, exponent = _decimal(value)
    n_digits = DIGITS
    rest = digits // _10
    while rest * _10 == digits:
        digits, rest = rest, rest // _10
        n_digits -= 1
    if -5 <= exponent < _LAST_PLAIN:
        return _put_plain(out, at, digits, n_digits, exponent)
    at = _put_plain(out, at, digits, n_digits, 0)
    out[at] = _E
    at += 1
    if exponent < 0:
        out[at] = _MINUS
        at += 1
    return _put_whole(out, at, _U(abs(exponent)))


@compiled
def _put_plain(out: Any, at: int, digits: Any, n_digits: int, exponent: int) -> int:
    """Write digits, the first of which stands for a multiple of 10**exponent."""
    if exponent < 0:
        out[at], out[at + 1] = _ZERO, _POINT
        at += 2
        for _ in range(-exponent - 1):
            out[at] = _ZERO
            at += 1
        _put_digits(out, at, digits, n_digits)
        return at + n_digits
    before = exponent + 1
    if before < n_digits:
        digits = _put_digits(out, at + before + 1, digits, n_digits - before)
        out[at + before] = _POINT
        _put_digits(out, at, digits, before)
        return at + n_digits + 1
    _put_digits(out, at, digits, n_digits)
    for i in range(at + n_digits, at + before):
        out[i] = _ZERO
    return at + before


@compiled
def put_lines(
    out: Any, labels: Any, ends: Any, place: Any, score: Any, face: Any, slack: Any
) -> int:
    """Write a line for each row, and return how many bytes there are.

    Parameters
    ----------
    out : ndarray of uint8
        With room for all lines.
    labels : ndarray of uint8
        The labels, one after another.
    ends : ndarray of int64
        Where each of them ends.
    place : ndarray of int64
        The label of each row.
    score : ndarray of float64
    face : ndarray of int64
        The face of each row; empty where it is not wanted. Below zero there is none.
    slack : ndarray of float64
    """
    at = 0
    for row in range(len(place)):
        label = place[row]
        for j in range(ends[label - 1] if label > 0 else 0, ends[label]):
            out[at] = labels[j]
            at += 1
        out[at] = _COMMA
        at = _put_number(out, at + 1, score[row])
        if len(face) > 0:
            out[at] = _COMMA
            at += 1
            if face[row] >= 0:
                at = _put_whole(out, at, _U(face[row]))
            out[at] = _COMMA
            at = _put_number(out, at + 1, slack[row])
        out[at] = _NEWLINE
        at += 1
    return at

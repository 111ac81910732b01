"""The compiled reader of plain delimited text: it does the usual, and says when it cannot.

Numbers are rounded as Python rounds them, to the last bit: exactly where their digits and their
power of ten fit a double, and by the algorithm of Eisel and Lemire ("Number parsing at a gigabyte
per second", Software: Practice and Experience, 2021) otherwise. What is unusual (numbers of more
than 19 digits or near the ends of the range, doubled quotes, a carriage return alone) and what is
wrong is left to the reader of records, which is slow and knows everything.

Everything compiled stays in this file on purpose: Numba invalidates its disk cache by the file of
the outermost function only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.kernels.jit import compiled
from polyceptron.readers._table import MISSING

_QUOTE, _NEWLINE, _RETURN, _BLANK, _TAB = map(np.uint8, b'"\n\r \t')
_PLUS, _MINUS, _POINT, _E, _e, _ZERO, _NINE = map(np.uint8, b"+-.Ee09")
_TEN = np.uint8(10)

_FIRST, _LAST = -290, 290
"""The powers of ten that are handled here: no product with them is infinite or subnormal."""


def _powers_of_five() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The 128 leading bits of 5**q, as two halves; of reciprocals rounded up."""
    high, low = [], []
    for q in range(_FIRST, _LAST + 1):
        if q >= 0:
            power = 5**q
            shift = 128 - power.bit_length()
            bits = power << shift if shift >= 0 else power >> -shift
        else:
            power = 5**-q
            length = power.bit_length()
            # Up to 5**27 the 128 bits of the reciprocal are rounded up, beyond that cut off.
            bits = (1 << (length + 127 if q >= -27 else 2 * length + 128)) // power + 1
            bits >>= bits.bit_length() - 128
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_HIGH, _LOW = _powers_of_five()
_TENS = np.array([10.0**q for q in range(23)])
_TWOS = np.array([2.0**e for e in range(-1022, 1024)])

_TOKENS = np.zeros((len(MISSING), 8), dtype=np.uint8)
_LENGTHS = np.array([len(token) for token in MISSING], dtype=np.int64)
for _row, _token in zip(_TOKENS, MISSING, strict=True):
    _row[: len(_token)] = list(_token.encode())

_U = np.uint64
_MASK_32, _MASK_9 = _U(0xFFFFFFFF), _U(0x1FF)
_0, _1, _2, _3, _10, _19, _32, _63 = map(_U, (0, 1, 2, 3, 10, 19, 32, 63))
_EXACT = _U(2**53)

_SEED, _PRIME = _U(14695981039346656037), _U(1099511628211)  # of the hash FNV-1a
_SLOTS = 1024
MOST_DISTINCT = 512
"""Texts of a column in a block; where there are more, each is looked at by itself."""


@compiled
def _product(a: Any, b: Any) -> Any:
    """The two halves of a product of 64-bit numbers."""
    a_low, a_high = a & _MASK_32, a >> _32
    b_low, b_high = b & _MASK_32, b >> _32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _32)
    other = a_low * b_high + (middle & _MASK_32)
    return a_high * b_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _MASK_32)


@compiled
def _leading_zeros(value: Any) -> Any:
    n = 0
    for width in (32, 16, 8, 4, 2, 1):
        if value >> _U(64 - width) == _0:
            n += width
            value <<= _U(width)
    return n


@compiled
def _scaled(digits: Any, q: Any) -> Any:
    """digits * 10**q, rounded to nearest, ties to even; NaN where this cannot tell."""
    zeros = _leading_zeros(digits)
    w = digits << _U(zeros)
    high, low = _product(w, _HIGH[q - _FIRST])
    if high & _MASK_9 == _MASK_9:
        more, _ = _product(w, _LOW[q - _FIRST])
        low += more
        if more > low:
            high += _1
        if low == ~_0 and (q < -27 or q > 55):
            return np.nan
    upper = high >> _63
    shift = upper + _U(9)
    mantissa = high >> shift
    if low <= _1 and -4 <= q <= 23 and mantissa & _3 == _1 and mantissa << shift == high:
        mantissa &= ~_1  # exactly between two doubles: to the even one
    mantissa = (mantissa + (mantissa & _1)) >> _1
    exponent = ((217706 * q) >> 16) + 11 + np.int64(upper) - zeros
    return np.float64(np.int64(mantissa)) * _TWOS[exponent + 1022]


@compiled
def _digits(data: Any, i: Any, digits: Any) -> Any:
    """Read on in a row of digits: them as a number, and where they end."""
    digit = data[i] - _ZERO  # of a byte below "0" it is a large number: bytes wrap around
    while digit < _TEN:
        digits = digits * _10 + _U(digit)
        i += _1
        digit = data[i] - _ZERO
    return digits, i


@compiled
def _n_digits(data: Any, i: Any, end: Any) -> Any:
    """How many digits count: those after the first that is not zero."""
    n = 0
    while i < end and data[i] != _E and data[i] != _e:
        if _ZERO <= data[i] <= _NINE and (n > 0 or data[i] != _ZERO):
            n += 1
        i += _1
    return n


@compiled
def _power(data: Any, i: Any) -> Any:
    """Read the power of ten after an e: it, and where it ends, nowhere if there is none."""
    below = data[i] == _MINUS
    if below or data[i] == _PLUS:
        i += _1
    begun, power = i, np.int64(0)
    while _ZERO <= data[i] <= _NINE and power < 100_000:
        power = power * 10 + np.int64(data[i]) - 48
        i += _1
    return (-power if below else power), (i if i > begun else _0)


@compiled
def _number(data: Any, start: Any) -> Any:
    """Read a number: its value, and where it ends; NaN where there is none that this can read."""
    i = start
    negative = data[i] == _MINUS
    if negative or data[i] == _PLUS:
        i += _1
    begun, power = i, np.int64(0)
    digits, i = _digits(data, i, _0)
    length = i - begun
    if data[i] == _POINT:
        after = i + _1
        digits, i = _digits(data, after, digits)
        length += i - after
        power = -np.int64(i - after)
    if length == _0 or (length > _19 and _n_digits(data, begun, i) > 19):
        return np.nan, start
    if data[i] == _E or data[i] == _e:
        more, i = _power(data, i + _1)
        power += more
        if i == _0:
            return np.nan, start
    value = _value(digits, power)
    return (-value if negative else value), i


@compiled
def _value(digits: Any, power: Any) -> Any:
    if digits <= _EXACT and -22 <= power <= 22:
        exact = np.float64(np.int64(digits))
        return exact * _TENS[power] if power >= 0 else exact / _TENS[-power]
    if digits == _0:
        return 0.0
    if power < _FIRST or power > _LAST - 20:
        return np.nan
    return _scaled(digits, power)


@compiled
def _is_missing(data: Any, start: Any, stop: Any) -> Any:
    length = np.int64(stop - start)
    for t in range(len(_LENGTHS)):
        if _LENGTHS[t] == length:
            same = True
            for j in range(length):
                same = same and data[start + _U(j)] == _TOKENS[t, j]
            if same:
                return True
    return False


@compiled
def _is_end(c: Any, delimiter: Any) -> Any:
    return c in (delimiter, _NEWLINE, _RETURN)


@compiled
def _quoted(data: Any, i: Any) -> Any:
    """Read on after a quote: where the other one is, the lines between, and if any is doubled.

    With a carriage return alone, -1 lines: whether that is the end of one is not decided here.
    """
    n, n_lines, doubled = _U(len(data)), 0, False
    while i < n and (data[i] != _QUOTE or (i + _1 < n and data[i + _1] == _QUOTE)):
        if data[i] == _QUOTE:
            doubled = True
            i += _1
        if data[i] == _RETURN and (i + _1 >= n or data[i + _1] != _NEWLINE):
            return i, -1, doubled
        n_lines += data[i] == _NEWLINE
        i += _1
    return i, n_lines, doubled


@compiled
def _field(data: Any, i: Any, delimiter: Any) -> Any:
    """Find a field: where its text begins and ends, where it is over, and the lines in it.

    The text ends before it begins if quotes in it are doubled, and there are -1 lines in it if a
    quote is used in some other unusual way.
    """
    while data[i] == _BLANK:
        i += _1
    first, n_lines = i, 0
    if data[i] != _QUOTE:
        while not _is_end(data[i], delimiter):
            i += _1
        end = i
    else:
        first += _1
        end, n_lines, doubled = _quoted(data, first)
        i = end + _1
        if n_lines < 0 or i >= _U(len(data)) or not _is_end(data[i], delimiter):
            return first, end, i, -1
        if doubled:
            return first, _0, i, n_lines
    while first < end and (data[first] == _BLANK or data[first] == _TAB):
        first += _1
    while first < end and (data[end - _1] == _BLANK or data[end - _1] == _TAB):
        end -= _1
    return first, end, i, n_lines


@compiled
def _cell(
    data: Any, i: Any, delimiter: Any, role: int, row: int, n_numbers: int, X: Any, spans: Any
) -> Any:
    """Read a field into its place: where it is over, and the lines in it, -1 if unusual."""
    first, end, i, n_lines = _field(data, i, delimiter)
    if role < 0 or n_lines < 0:
        return i, n_lines
    if end < first:
        return i, -1
    if role >= n_numbers:
        spans[role - n_numbers, row, 0] = first
        spans[role - n_numbers, row, 1] = end
        return i, n_lines
    value, stop = _number(data, first)
    if _is_missing(data, first, end):
        X[row, role] = np.nan
    elif value == value and stop == end:
        X[row, role] = value
    else:
        return i, -1
    return i, n_lines


@compiled
def _line_end(data: Any, i: Any) -> Any:
    """The length of the end of a line that is here."""
    if data[i] == _NEWLINE:
        return _1
    return _2 if data[i] == _RETURN and data[i + _1] == _NEWLINE else _0


@compiled
def _record(
    data: Any, i: Any, delimiter: Any, roles: Any, n_numbers: int, row: int, X: Any, spans: Any
) -> Any:
    """Read a record: where it is over, and the lines in its fields, -1 if unusual."""
    n_lines = 0
    for column in range(len(roles)):
        role = roles[column]
        if 0 <= role < n_numbers:
            value, end = _number(data, i)
            plain = value == value and _is_end(data[end], delimiter)
        else:
            value, end, plain = 0.0, i, False
        if plain:
            X[row, role] = value
            i = end
        else:
            i, more = _cell(data, i, delimiter, role, row, n_numbers, X, spans)
            if more < 0:
                return i, -1
            n_lines += more
        if column + 1 < len(roles):
            if data[i] != delimiter:
                return i, -1
            i += _1
    return i, n_lines


@compiled
def read_block(
    data: Any, delimiter: Any, roles: Any, n_numbers: int, line: int, X: Any, spans: Any, lines: Any
) -> Any:
    """Read the records of a block into arrays.

    Parameters
    ----------
    data : ndarray of uint8
        Whole records, the last with its newline.
    delimiter : uint8
    roles : ndarray of int64
        For each column -1, or its place among the numbers, or `n_numbers` and its place among
        the texts.
    n_numbers : int
    line : int
        The line that the block begins on.
    X : ndarray of float64, shape (n_rows, n_numbers)
    spans : ndarray of int64, shape (n_texts, n_rows, 2)
        Where texts begin and end.
    lines : ndarray of int64, shape (n_rows,)

    Returns
    -------
    int
        How many records there are; -1 where something is not as usual.
    """
    i, row, n = _0, 0, _U(len(data))
    while i < n:
        end = _line_end(data, i)
        if end == _0:
            lines[row] = line
            i, n_lines = _record(data, i, delimiter, roles, n_numbers, row, X, spans)
            end = _line_end(data, i) if n_lines >= 0 else _0
            if end == _0:
                return -1
            line += n_lines
            row += 1
        i += end
        line += 1
    return row


@compiled
def _same(data: Any, a: int, b: int, length: int) -> Any:
    i = 0
    while i < length and data[a + i] == data[b + i]:
        i += 1
    return i == length


@compiled
def distinct(data: Any, spans: Any, codes: Any, firsts: Any) -> Any:
    """Number the different texts of a column in the order in which they come.

    Parameters
    ----------
    data : ndarray of uint8
    spans : ndarray of int64, shape (n_rows, 2)
        Where the texts begin and end.
    codes : ndarray of int64, shape (n_rows,)
        Is given the number of each.
    firsts : ndarray of int64, shape (most, 2)
        Is given where those that differ begin and end.

    Returns
    -------
    int
        How many there are; -1 if more than `firsts` has room for.
    """
    slots = np.full(_SLOTS, -1)
    n = 0
    for row in range(len(spans)):
        start, length = spans[row, 0], spans[row, 1] - spans[row, 0]
        mixed = _SEED
        for i in range(length):
            mixed = (mixed ^ _U(data[start + i])) * _PRIME
        slot = np.int64((mixed ^ (mixed >> _32)) % _U(_SLOTS))
        while True:
            code = slots[slot]
            if code < 0:
                if n == len(firsts):
                    return -1
                code = slots[slot] = n
                firsts[n, 0], firsts[n, 1] = start, start + length
                n += 1
                break
            if firsts[code, 1] - firsts[code, 0] == length and _same(
                data, firsts[code, 0], start, length
            ):
                break
            slot = (slot + 1) % _SLOTS
        codes[row] = code
    return n

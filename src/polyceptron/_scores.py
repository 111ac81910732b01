"""Margins of rows at faces, the same to the last bit however the rows are batched."""

import numpy as np

from polyceptron._rows import Rows, check_finite_rows
from polyceptron._types import Floats


def scores(rows: Rows, W: Floats, b: Floats) -> Floats:
    """Return the margins of `rows`.

    Not by BLAS, whose order of summation, and so the last bit, depends on the number of rows,
    but by the kernel that the learners use.
    """
    from polyceptron import kernels  # here, since it loads Numba
    from polyceptron.blocks import kernel_rows

    panel, bias = kernels.to_panels(W, b)
    lanes = np.empty((rows.shape[0], len(bias)))
    kernels.margins(kernel_rows(rows), panel, bias, lanes)
    out: Floats = np.ascontiguousarray(lanes[:, : len(b)])
    if not np.isfinite(out).all():
        check_finite_rows(rows)
        _mend_overflow(out, rows, W, b)
    return out


def _mend_overflow(out: Floats, rows: Rows, W: Floats, b: Floats) -> None:
    """Sum again, at a smaller scale, where finite terms overflowed; the sign comes out right."""
    for i in np.flatnonzero(~np.isfinite(out).all(axis=1)):
        x = rows[i] if isinstance(rows, np.ndarray) else rows[[i]].toarray()[0]
        for k in np.flatnonzero(~np.isfinite(out[i])):
            out[i, k] = _score_at_scale(x, W[k], float(b[k]))


def _score_at_scale(x: Floats, w: Floats, b: float) -> float:
    _, (ex, ew) = np.frexp([np.abs(x).max(), np.abs(w).max()])
    _, eb = np.frexp(b)
    # Every term and the offset below 1 / (d + 1): no partial sum can overflow.
    shift = max(int(ex) + int(ew), int(eb)) + len(w).bit_length() + 1
    with np.errstate(over="ignore", under="ignore"):
        terms = np.ldexp(np.ldexp(x, -int(ex)) * np.ldexp(w, -int(ew)), int(ex) + int(ew) - shift)
        total = float(np.ldexp(b, -shift))
        for term in terms:
            total += float(term)
        return float(np.ldexp(total, shift))

"""The door for rows: whatever the caller has, as float64 numbers in a checked shape."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from polyceptron._checks import as_floats

# A dense (n, d) array, or a scipy sparse matrix of that shape.
Rows: TypeAlias = Any


def as_rows(X: Any, n_features: int, feature_names: Sequence[str] | None = None) -> Rows:
    """Return `X` as dense float64 rows, or as a canonical CSR matrix where it is sparse.

    Values are not checked here: what is not finite shows in the scores, at no extra pass.
    """
    if feature_names is not None:
        _check_column_names(X, feature_names)
    rows = _as_csr(X) if _is_sparse(X) else as_floats(X, "X")
    if rows.ndim != 2:
        raise ValueError(
            f"X must be 2-D, one row a sample; got shape {rows.shape}. Use X.reshape(1, -1) for "
            "one sample or X.reshape(-1, 1) for one feature"
        )
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} columns, but the polyhedron has {n_features} features"
        )
    return rows


def check_finite_rows(rows: Rows) -> None:
    """Raise a ValueError that names the first entry of `rows` that is NaN or infinite."""
    if _is_sparse(rows):
        entries = rows.tocsr().tocoo()
        found = np.flatnonzero(~np.isfinite(entries.data))
        if found.size == 0:
            return
        row, column, value = (a[found[0]] for a in (entries.row, entries.col, entries.data))
    else:
        bad = ~np.isfinite(rows)
        if not bad.any():
            return
        row, column = np.unravel_index(int(bad.argmax()), bad.shape)
        value = rows[row, column]
    raise ValueError(f"X must be finite; row {row}, column {column} is {value}")


def _is_sparse(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return False
    from scipy.sparse import issparse

    return bool(issparse(X))


def _as_csr(X: Any) -> Rows:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers (found {X.dtype})")
    return canonical(X.tocsr().astype(np.float64))


def canonical(X: Any) -> Any:
    """CSR rows with sorted columns and no duplicates; the caller's matrix stays as it is."""
    rows = type(X)((X.data, X.indices, X.indptr), X.shape)  # a view, with flags of its own
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _check_column_names(X: Any, feature_names: Sequence[str]) -> None:
    """Refuse a frame in which a known feature stands at another feature's place.

    Columns count by position, so a frame with names of its own passes; one that has our names in
    another order would give wrong answers without a word.
    """
    columns: Iterable[Any] | None = getattr(X, "columns", None)
    if columns is None:
        return
    place = {name: j for j, name in enumerate(feature_names)}
    for j, column in enumerate(columns):
        if place.get(column, j) != j:
            expected = repr(feature_names[j]) if j < len(feature_names) else "nothing"
            raise ValueError(
                f"the columns of X are in another order than feature_names: column {j} is "
                f"{column!r}, expected {expected}"
            )

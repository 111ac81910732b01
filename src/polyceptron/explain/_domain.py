"""What values new rows may have: ranges, whole numbers, and categories of which one holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyceptron.utils.checks import as_floats, place_of
from polyceptron.utils.types import Floats

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding


@dataclass(frozen=True, slots=True)
class Domain:
    """What was seen of each feature, and so what a `counterfactual` may change it to.

    A row that is outside of it already may stay as it is: only what changes has to be inside.

    Parameters
    ----------
    lower, upper : tuple of float
        The range of each feature.
    whole : tuple of bool
        Whether it has whole numbers only. Yes and no are the whole numbers from 0 to 1.
    categories : tuple of tuples of int, default=()
        Places of features of which exactly one is 1 and all others are 0, as one-hot encoding
        makes them of a column.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> rows = [[20, 0, 1], [35, 1, 0], [41, 0, 1]]
    >>> domain = explain.Domain.of(rows, categories=[("red", "blue")], names=["age", "red", "blue"])
    >>> domain.upper, domain.whole, domain.categories
    ((41.0, 1.0, 1.0), (True, True, True), ((1, 2),))
    >>> old_or_red = Polyhedron([[1, 30, 0]], [-50.5], ["age", "red", "blue"])
    >>> print(explain.counterfactual(old_or_red, [30, 0, 1], domain=domain))
    'inside' instead of 'outside': red from 0 to 1, blue from 1 to 0 (distance 1.41421)
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    whole: tuple[bool, ...]
    categories: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        n = len(self.lower)
        if len(self.upper) != n or len(self.whole) != n:
            raise ValueError("lower, upper and whole must have one item a feature")
        grouped = [j for group in self.categories for j in group]
        if len(set(grouped)) < len(grouped) or not set(grouped) <= set(range(n)):
            raise ValueError(f"categories must be different places below {n}; got {grouped!r:.60}")

    @classmethod
    def of(
        cls, X: Any, *, categories: Iterable[Any] = (), quantile: float = 0.0, names: Any = None
    ) -> Self:
        """Return what training rows show.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        categories : iterable of iterables of names or places
            The features of each category.
        quantile : float, default=0
            Leave out this share of the values of a feature at both ends of its range.
        names : iterable of str, optional
            What the features are called; those of a frame are known.
        """
        if not 0 <= quantile < 0.5:
            raise ValueError(f"quantile must be from 0 to below 0.5; got {quantile!r}")
        known = [str(name) for name in (getattr(X, "columns", ()) if names is None else names)]
        rows = as_floats(X, "X")
        if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            raise ValueError(f"X must be finite rows, at least one; got shape {rows.shape}")
        known = known or [f"x{j}" for j in range(rows.shape[1])]
        groups = [
            tuple(place_of(one, known, "categories", ValueError) for one in group)
            for group in categories
        ]
        low, high = rows.min(axis=0), rows.max(axis=0)
        whole = (rows == np.floor(rows)).all(axis=0)
        if quantile:
            one_hot = np.isin(np.arange(len(low)), [j for group in groups for j in group])
            ends = np.quantile(rows, [quantile, 1 - quantile], axis=0)
            low, high = np.where(one_hot, low, ends[0]), np.where(one_hot, high, ends[1])
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(whole.tolist()), tuple(groups))

    @classmethod
    def of_columns(cls, encoding: Encoding) -> Self:
        """Return what the columns of a table are by themselves: text has one value of its own.

        Yes and no are 0 and 1; other numbers may be any.
        """
        n = len(encoding.feature_names)
        low, high, whole = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, bool)
        groups = []
        for column, start, stop in encoding.places():
            if column.kind != "number" or column.two_values:
                low[start:stop], high[start:stop], whole[start:stop] = 0.0, 1.0, True
            if column.kind == "category":
                groups.append(tuple(range(start, stop)))
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(whole.tolist()), tuple(groups))

    def limits(self) -> tuple[Floats, Floats]:
        """Both ends of the ranges, whole where the numbers are."""
        low, high, whole = map(np.array, (self.lower, self.upper, self.whole))
        return np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)

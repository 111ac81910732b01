"""Random polyhedra, and points that they separate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.datasets._loaders import as_generator
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count
from polyceptron.utils.types import Floats

# Points that fix where the faces stand, and rounds of drawing before a class counts as empty.
_PILOT = 10_000
_ROUNDS = 200


def make_polyhedron(
    n_samples: int = 1000,
    n_features: int = 2,
    n_hyperplanes: int = 3,
    *,
    margin: float = 0.0,
    flip: float = 0.0,
    balance: float = 0.5,
    random_state: Any = None,
) -> tuple[Floats, NDArray[np.int64], Polyhedron]:
    """Draw a random polyhedron and points of the cube [-1, 1]^d inside and outside of it.

    The normals are unit vectors of random direction. All faces have one offset, set so that the
    share `balance` of the cube is inside; where it is positive, no face is redundant.

    Parameters
    ----------
    n_samples, n_features, n_hyperplanes : int
        How many points, columns and faces.
    margin : float
        No point is nearer to the polyhedron's boundary than this.
    flip : float
        The share of labels, from 0 to 1, that are turned round after all else.
    balance : float
        The share of points, between 0 and 1, that are inside (before `flip`).
    random_state : int, Generator, RandomState or None
        Where the random numbers come from.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        +1 inside, -1 outside.
    polyhedron : Polyhedron
        The truth.

    Examples
    --------
    >>> from polyceptron.datasets import make_polyhedron
    >>> X, y, truth = make_polyhedron(200, 5, 4, margin=0.05, random_state=0)
    >>> X.shape, int((y == 1).sum()), truth
    ((200, 5), 100, Polyhedron(n_faces=4, n_features=5))
    >>> bool((y * truth.decision(X) >= 0.05).all())
    True
    """
    n = as_count(n_samples, "n_samples")
    d, K = as_count(n_features, "n_features"), as_count(n_hyperplanes, "n_hyperplanes")
    _check_number("margin", margin, margin >= 0, "at least 0")
    _check_number("flip", flip, 0 <= flip <= 1, "from 0 to 1")
    _check_number("balance", balance, 0 < balance < 1, "between 0 and 1")
    rng = as_generator(random_state)
    truth = _draw_polyhedron(rng, d, K, balance)
    n_inside = round(balance * n)
    inside, outside = _draw_classes(rng, truth, margin, n_inside, n - n_inside)
    order = rng.permutation(n)
    X = np.concatenate([inside, outside])[order]
    y = np.repeat(np.array([1, -1]), [n_inside, n - n_inside])[order]
    y[rng.permutation(n)[: round(flip * n)]] *= -1
    return X, y, truth


def _check_number(name: str, value: float, holds: bool, wanted: str) -> None:
    if not (np.isfinite(value) and holds):
        raise ValueError(f"{name} must be {wanted}; got {value!r}")


def _draw_polyhedron(rng: np.random.Generator, d: int, K: int, balance: float) -> Polyhedron:
    W = rng.standard_normal((K, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    pilot = Polyhedron(W, np.zeros(K)).decision(rng.uniform(-1.0, 1.0, (_PILOT, d)))
    # Inside means min_k w_k . x >= -offset, so the offset is a quantile of that minimum.
    return Polyhedron(W, np.full(K, -np.quantile(pilot, 1.0 - balance)))


def _draw_classes(
    rng: np.random.Generator, truth: Polyhedron, margin: float, n_inside: int, n_outside: int
) -> tuple[Floats, Floats]:
    """Draw from the cube until both classes are full, leaving out rows near the boundary.

    With unit normals |h(x)| is the distance to the boundary inside, and no more than it outside.
    """
    inside, outside = (np.empty((0, truth.n_features)) for _ in range(2))
    for _ in range(_ROUNDS):
        X = rng.uniform(-1.0, 1.0, (n_inside + n_outside, truth.n_features))
        h = truth.decision(X)
        far = np.abs(h) >= margin
        inside = np.concatenate([inside, X[far & (h >= 0)]])[:n_inside]
        outside = np.concatenate([outside, X[far & (h < 0)]])[:n_outside]
        if len(inside) == n_inside and len(outside) == n_outside:
            return inside, outside
    raise ValueError(
        f"margin={margin!r} leaves too few points: of {_ROUNDS * (n_inside + n_outside)} drawn, "
        f"{len(inside)} of {n_inside} inside and {len(outside)} of {n_outside} outside; "
        "take a smaller margin, or a balance nearer to 0.5"
    )

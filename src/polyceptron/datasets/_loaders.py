"""The paper's four sets, two of them drawn and two of UCI, and three points never learned."""

from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats

# Section 4.1 of the paper; the last number of each row is the offset.
_FACES = {
    1: (
        (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        (1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1),
        (1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0.5),
    ),
    2: (
        (1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 20, 8, 7, 6, 5, 4, 3, 2, 1, 1, 20),
        (-1, 2, -3, 4, -5, 6, -7, 8, -9, 15, -11, 10, -9, 8, -7, 6, -5, 4, -3, 2, 15),
        (1, 0, 1, 0, 1, 0, 1, 2, 0, 8, 0, 2, 3, 0, 3, 3, 0, 4, 0, 4, 8),
        (1, -1, 0, 0, 2, -2, 0, 0, 6, -3, 0, 0, 4, -4, 0, 0, 5, -5, 0, 0, 6),
    ),
}
# (position, label) in the order in which they are taken, and the first rows [w_k, b_k].
_LINE = ((-1, -1), (0, 1), (1, -1))
_CYCLES = {
    "smallest": (((-1, -1), (1, -1), (0, 1)), ((0.0, 0.0), (0.0, 0.0))),
    "no ties": (_LINE, ((0.0, -0.5), (0.0, 1.0))),
    "trap": (_LINE, ((0.0, -0.5), (0.0, 2.0))),
}


def make_dataset1(
    n_samples: int = 1000,
    *,
    random_state: Any = 0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Draw Dataset 1 of the paper: 10 features, 3 hyperplanes.

    Parameters
    ----------
    n_samples : int
        How many points to draw; 1000 in the paper.
    random_state : int, Generator, RandomState or None
        Where the random numbers come from.
    return_X_y : bool
        Whether to return ``(data, target)`` rather than a Bunch.
    as_frame : bool
        Whether data and target are pandas objects.

    Returns
    -------
    Bunch
        ``data``, ``target`` (-1 or +1), ``frame``, ``feature_names``, ``target_names`` (of -1 and
        +1, in this order), ``DESCR``, ``n_hyperplanes`` and ``polyhedron``, the truth.

    Examples
    --------
    >>> from polyceptron.datasets import make_dataset1
    >>> bunch = make_dataset1()
    >>> print(bunch.polyhedron)
    x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 >= -1
    x2 + x4 + x6 + x8 + x10 - x1 - x3 - x5 - x7 - x9 <= 1
    x1 + x3 + x5 + x7 + x9 >= -0.5
    >>> bool((bunch.polyhedron.contains(bunch.data) == (bunch.target == 1)).all())
    True
    """
    return _draw(1, n_samples, random_state, return_X_y=return_X_y, as_frame=as_frame)


def make_dataset2(
    n_samples: int = 1000,
    *,
    random_state: Any = 0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Draw Dataset 2 of the paper: 20 features, 4 hyperplanes.

    Parameters
    ----------
    n_samples, random_state, return_X_y, as_frame
        As of `make_dataset1`.

    Returns
    -------
    Bunch
        As `make_dataset1` returns.

    Examples
    --------
    >>> from polyceptron.datasets import make_dataset2
    >>> X, y = make_dataset2(500, random_state=1, return_X_y=True)
    >>> X.shape
    (500, 20)
    """
    return _draw(2, n_samples, random_state, return_X_y=return_X_y, as_frame=as_frame)


def _draw(number: int, n_samples: int, random_state: Any, **form: bool) -> Any:
    n = as_count(n_samples, "n_samples")
    coefficients = np.array(_FACES[number], dtype=np.float64)
    K, d = coefficients.shape[0], coefficients.shape[1] - 1
    names = [f"x{j}" for j in range(1, d + 1)]
    truth = Polyhedron(coefficients[:, :-1], coefficients[:, -1], names)
    X = as_generator(random_state).uniform(-1.0, 1.0, (n, d))
    about = _stored("synthetic.rst").format(number=number, n_samples=n, d=d, K=K, faces=truth)
    y = np.where(truth.contains(X), 1, -1)
    return _pack(X, y, names, ("outside", "inside"), about, K, truth, **form)


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Ionosphere set: 351 rows, 34 features, +1 = good.

    Parameters
    ----------
    return_X_y, as_frame
        As of `make_dataset1`.

    Returns
    -------
    Bunch
        As `make_dataset1` returns; ``polyhedron`` is None, as nobody knows it.

    Examples
    --------
    >>> from polyceptron.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape, int((y == 1).sum())
    ((351, 34), 225)
    """
    return _load("ionosphere", ("bad", "good"), 0, return_X_y=return_X_y, as_frame=as_frame)


def load_breast_cancer(
    *, with_id: bool = False, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Load the Breast Cancer Wisconsin (original) set: 683 rows, 9 features, +1 = benign.

    Parameters
    ----------
    with_id : bool
        Whether the sample code number is the first column, as in the paper's 10 dimensions.
    return_X_y, as_frame
        As of `make_dataset1`.

    Returns
    -------
    Bunch
        As `load_ionosphere` returns.

    Examples
    --------
    >>> from polyceptron.datasets import load_breast_cancer
    >>> load_breast_cancer().data.shape, load_breast_cancer(with_id=True).data.shape
    ((683, 9), (683, 10))
    """
    classes, first = ("malignant", "benign"), 0 if with_id else 1
    return _load("breast_cancer", classes, first, return_X_y=return_X_y, as_frame=as_frame)


def _load(name: str, classes: tuple[str, str], first: int, **form: bool) -> Any:
    """Read a set of this package from column `first` on; the last column is the label."""
    header, *lines = _stored(f"{name}.csv").splitlines()
    values = np.loadtxt(lines, delimiter=",", dtype=np.float64)
    X, y = np.ascontiguousarray(values[:, first:-1]), values[:, -1].astype(np.int64)
    names, about = header.split(",")[first:-1], _stored(f"{name}.rst")
    return _pack(X, y, names, classes, about, 2, None, **form)


def paper_datasets(*, random_state: Any = 0) -> dict[str, Any]:
    """Return the paper's four sets by name, each a Bunch with the paper's K in `n_hyperplanes`.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Where the points of Datasets 1 and 2 come from.

    Examples
    --------
    >>> from polyceptron.datasets import paper_datasets
    >>> [(name, bunch.n_hyperplanes) for name, bunch in paper_datasets().items()]
    [('Dataset 1', 3), ('Dataset 2', 4), ('Ionosphere', 2), ('Breast-Cancer', 2)]
    """
    return {
        "Dataset 1": make_dataset1(random_state=random_state),
        "Dataset 2": make_dataset2(random_state=random_state),
        "Ionosphere": load_ionosphere(),
        "Breast-Cancer": load_breast_cancer(),
    }


def load_cycle(
    *, ties: bool = True, trap: bool = False, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Return separable rows on which online Polyceptron never converges.

    Three points of a line, two hyperplanes: the fewest rows, features and hyperplanes with which
    this can happen (docs/convergence.md).

    Parameters
    ----------
    ties : bool
        Whether scores may be 0 and hyperplanes may be equal on the way. It is then the smallest
        example, from the zero start; else the smallest one that does not rest on such ties.
    trap : bool
        Whether to return the example from which no order of the rows leads to convergence. It
        has no ties, whatever `ties` is.
    return_X_y, as_frame
        As of `make_dataset1`.

    Returns
    -------
    Bunch
        As `make_dataset1` returns, and ``start``, the first weights with one row [w_k, b_k] for
        each hyperplane, and ``cycle_length``, the passes after which they are back.

    Examples
    --------
    >>> from polyceptron.datasets import load_cycle
    >>> cycle = load_cycle()
    >>> cycle.data.ravel(), cycle.target
    (array([-1.,  1.,  0.]), array([-1, -1,  1]))
    >>> print(cycle.polyhedron)
    x1 >= -0.5
    x1 <= 0.5
    """
    rows, start = _CYCLES["trap" if trap else "smallest" if ties else "no ties"]
    X, y = np.hsplit(np.array(rows), 2)
    truth = Polyhedron([[1.0], [-1.0]], [0.5, 0.5], ["x1"])
    more: dict[str, Any] = {"start": np.array(start), "cycle_length": 2}
    more |= {"return_X_y": return_X_y, "as_frame": as_frame}
    about, classes = _stored("cycle.rst"), ("outside", "inside")
    return _pack(
        X.astype(float), y.ravel().astype(np.int64), ["x1"], classes, about, 2, truth, **more
    )


def _pack(
    data: Floats,
    target: NDArray[np.int64],
    feature_names: list[str],
    target_names: tuple[str, str],
    about: str,
    n_hyperplanes: int,
    truth: Polyhedron | None,
    *,
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Any:
    """Return a Bunch, or (data, target), as scikit-learn's loaders do."""
    X: Any = data
    y: Any = target
    frame = None
    if as_frame:
        pd = need("pandas", "as_frame=True", "pandas")
        X, y = pd.DataFrame(data, columns=feature_names), pd.Series(target, name="target")
        frame = pd.concat([X, y], axis=1)
    if return_X_y:
        return X, y
    more |= {"feature_names": feature_names, "target_names": np.array(target_names)}
    more |= {"DESCR": about, "n_hyperplanes": n_hyperplanes, "polyhedron": truth}
    return Bunch(data=X, target=y, frame=frame, **more)


def _stored(file: str) -> str:
    """A file of the folder ``data``."""
    return resources.files("polyceptron.datasets").joinpath("data", file).read_text("utf-8")


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from a seed, None, a Generator or a legacy RandomState."""
    if isinstance(random_state, np.random.RandomState):
        # A draw from it, so that it moves on as its users expect.
        random_state = random_state.randint(2**31)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, a whole number of at least 0, a Generator or a "
            f"RandomState; got {random_state!r}"
        ) from None

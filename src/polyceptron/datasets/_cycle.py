"""Three points of a line on which online Polyceptron goes round for ever."""

from typing import Any

import numpy as np

from polyceptron.datasets._bunch import pack, stored_text
from polyceptron.polyhedron import Polyhedron

# (position, label) in the order in which they are taken, and the first rows [w_k, b_k].
_ROWS = ((-1, -1), (0, 1), (1, -1))
_VARIANTS = {
    "smallest": (((-1, -1), (1, -1), (0, 1)), ((0.0, 0.0), (0.0, 0.0))),
    "no ties": (_ROWS, ((0.0, -0.5), (0.0, 1.0))),
    "trap": (_ROWS, ((0.0, -0.5), (0.0, 2.0))),
}
_NO_TIES = """\
No score is 0 on the way, and the minimum is never at both hyperplanes, so any start that is
near enough goes round as well."""
_ABOUT = {
    "smallest": """\
All weights start at zero. Scores are 0 on the way, and the two hyperplanes are equal at the
start. In a new random order for each pass the learner gets away with some orders, and with
others comes to weights from which no order leads to an end.""",
    "no ties": f"""\
{_NO_TIES} In a new random order for each pass the learner converges with
probability 1.""",
    "trap": f"""\
{_NO_TIES} The second hyperplane is never the least, whatever row comes
next: the first is left alone with a task that one hyperplane cannot do. So the learner
converges in no order whatever, shuffled or not.""",
}


def load_cycle(
    *,
    ties: bool = True,
    trap: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
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
    return_X_y : bool
        Whether to return ``(data, target)`` rather than a Bunch.
    as_frame : bool
        Whether data and target are pandas objects.

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
    -x1 >= -0.5

    Two passes, each with mistakes, and all is as before:

    >>> from polyceptron import OnlinePolyceptron
    >>> model = OnlinePolyceptron(
    ...     2, init=cycle.start, shuffle=False, n_init=1, max_iter=cycle.cycle_length * 3
    ... )
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # that it did not converge
    ...     model = model.fit(cycle.data, cycle.target)
    >>> model.history_["updates"]
    array([3., 1., 3., 1., 3., 1.])
    """
    name = "trap" if trap else "smallest" if ties else "no ties"
    rows, start = _VARIANTS[name]
    truth = Polyhedron([[1.0], [-1.0]], [0.5, 0.5], ["x1"])
    faces = str(truth).replace("\n", " and ")
    values = np.array(rows)
    return pack(
        values[:, :1].astype(float),
        values[:, 1].astype(np.int64),
        ["x1"],
        ("outside", "inside"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        DESCR=stored_text("cycle.rst").format(faces=faces, about=_ABOUT[name]),
        n_hyperplanes=2,
        polyhedron=truth,
        start=np.array(start),
        cycle_length=2,
    )

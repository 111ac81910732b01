"""Which function writes a format, and which of the common arguments it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyceptron import export as formats
from polyceptron.export._shared import ExportOptionError, check_labels, check_polyhedron, features

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.polyhedron import Polyhedron

_TAKES = {
    "c": ("labels", "name"),
    "javascript": ("labels", "encoding", "name"),
    "latex": (),
    "lp": ("name",),
    "onnx": ("labels", "name"),
    "python": ("labels", "encoding"),
    "scipy": (),
    "sql": ("labels", "encoding", "name"),
}


def write(
    polyhedron: Polyhedron,
    to: str,
    labels: dict[str, Any],
    encoding: Encoding | None,
    name: str,
    options: dict[str, Any],
) -> str | bytes:
    """Return what ``to_<format>`` makes of a polyhedron."""
    polyhedron = check_polyhedron(polyhedron)
    check_labels(**labels)
    if encoding is not None:
        polyhedron = type(polyhedron)(polyhedron.W, polyhedron.b, features(polyhedron, encoding))
    common: dict[str, Any] = {
        "labels": labels,
        "encoding": {"encoding": encoding},
        "name": {"name": name},
    }
    arguments = dict(options)
    for key in _TAKES[to]:
        arguments |= common[key]
    function = _npz if to == "scipy" else getattr(formats, f"to_{to}")
    _refuse_unknown(function, to, arguments)
    made: str | bytes = function(polyhedron, **arguments)
    return made


def _refuse_unknown(function: Any, to: str, arguments: dict[str, Any]) -> None:
    from inspect import signature

    known = [name for name in signature(function).parameters if name != "polyhedron"]
    for name in arguments:
        if name not in known:
            raise ExportOptionError(
                f"the format {to} has no option {name!r}; it has {', '.join(known) or 'none'}"
            )


def _npz(polyhedron: Polyhedron) -> bytes:
    from io import BytesIO

    import numpy as np

    A_ub, b_ub = formats.to_scipy(polyhedron)
    file = BytesIO()
    np.savez(file, A_ub=A_ub, b_ub=b_ub, feature_names=np.array(features(polyhedron)))
    return file.getvalue()

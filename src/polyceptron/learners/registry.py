"""Learners by name: for the command line, model files, tests and whoever lists them.

Those of this package are in one table; a package of others names its own in the entry-point group
``polyceptron.learners``, or decorates them with `register`. No learner is imported before its use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Learner = TypeVar("Learner", bound=type)

BUILT_IN = {
    "polyceptron": "polyceptron.learners.polyceptron.learner:Polyceptron",
    "batch": "polyceptron.learners.batch:BatchPolyceptron",
    "online": "polyceptron.learners.online:OnlinePolyceptron",
    "spla1": "polyceptron.learners.spla.spla1:SPLA1",
    "spla2": "polyceptron.learners.spla.spla2:SPLA2",
    "pcslp": "polyceptron.learners.pcslp.learner:PCSLP",
    "polyhedral-svm": "polyceptron.learners.polyhedral_svm.learner:PolyhedralSVM",
    "discrete-svm": "polyceptron.learners.discrete.learner:DiscreteSVM",
    "oc1": "polyceptron.learners.oc1.learner:OC1",
}
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_registered: dict[str, Any] = {}


def register(name: str) -> Callable[[Learner], Learner]:
    """Make a learner known by a name: a decorator of its class.

    The class inherits from one of `polyceptron.learners.base`. `polyceptron fit --learner NAME` and
    `load_model` find it once its module is imported. So that they import it themselves, an
    installed package names it in the entry-point group ``polyceptron.learners``.

    Parameters
    ----------
    name : str
        Lower case; not that of another learner.

    Examples
    --------
    >>> from polyceptron.learners import BatchPolyceptron, register
    >>> from polyceptron.learners.registry import find_learner, unregister
    >>> @register("patient")
    ... class Patient(BatchPolyceptron):
    ...     '''Like its parent.'''
    >>> find_learner("patient") is Patient
    True
    >>> unregister("patient")
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"name must be lower case letters, digits, - and _; got {name!r}")

    def add(learner: Learner) -> Learner:
        missing = [need for need in ("fit", "predict", "_restore") if not hasattr(learner, need)]
        if missing:
            raise TypeError(
                f"{learner!r} has no {missing[0]}: inherit from one of polyceptron.learners.base"
            )
        known = BUILT_IN.get(name) or _path(_registered.get(name, learner))
        if known != _path(learner):
            raise ValueError(f"{name!r} is the name of another learner, {known}")
        _registered[name] = learner
        return learner

    return add


def unregister(name: str) -> None:
    """Forget a learner that was registered."""
    del _registered[name]


def learner_names() -> list[str]:
    """The names of all learners: built in, registered, of entry points."""
    return list(dict.fromkeys([*known_names(), *_entry_points()]))


def known_names() -> list[str]:
    """The same without a look at what packages there are, which takes its time."""
    return list(dict.fromkeys([*BUILT_IN, *_registered]))


def find_learner(name: str) -> Any:
    """Return the class of this name; a `KeyError` if no learner is called so."""
    if name in BUILT_IN:
        module, _, title = BUILT_IN[name].partition(":")
        return getattr(import_module(module), title)
    if name not in _registered:
        register(name)(_entry_points()[name].load())
    return _registered[name]


def title_of_learner(name: str) -> str:
    """Return what a class of this name is called, without importing it; else the name itself."""
    known = str(BUILT_IN.get(name) or getattr(_entry_points().get(name), "value", ""))
    return _registered[name].__name__ if name in _registered else known.partition(":")[2] or name


def name_of_learner(learner: type) -> str | None:
    """Return the name of a class, or None if it is no learner that is known."""
    for name, known in _registered.items():
        if known is learner:
            return name
    paths = BUILT_IN if _path(learner) in BUILT_IN.values() else _entry_points()
    for name, known in paths.items():
        if _path(learner) == getattr(known, "value", known):
            return name if find_learner(name) is learner else None
    return None


def _path(learner: type) -> str:
    return f"{learner.__module__}:{learner.__qualname__}"


def _entry_points() -> dict[str, Any]:
    """Those of installed packages; none takes the name of a learner of ours."""
    from importlib.metadata import entry_points

    return {
        point.name: point
        for point in entry_points(group="polyceptron.learners")
        if point.name not in BUILT_IN
    }


def parameters_of(learner: type) -> list[str]:
    """The names of the parameters of a learner."""
    from inspect import signature

    return list(signature(learner).parameters)


def number_parameter(learner: type) -> str | None:
    """What a learner calls the number of its hyperplanes; None if it finds its own."""
    return next((name for name in parameters_of(learner) if name.endswith("_hyperplanes")), None)


def learns_many_classes(learner: type) -> bool:
    """Whether a learner takes more than two classes, by its scikit-learn tags."""
    return bool(learner().__sklearn_tags__().classifier_tags.multi_class)

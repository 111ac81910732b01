"""The learners, one a file; each is a scikit-learn classifier that learns polyhedra.

They are loaded when they are first used: `registry` has their names.
"""

from typing import TYPE_CHECKING, Any

from polyceptron.learners.registry import BUILT_IN, find_learner, register

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from polyceptron.learners.batch import BatchPolyceptron as BatchPolyceptron
    from polyceptron.learners.oc1.learner import OC1 as OC1
    from polyceptron.learners.online import OnlinePolyceptron as OnlinePolyceptron
    from polyceptron.learners.pcslp.learner import PCSLP as PCSLP
    from polyceptron.learners.polyceptron.learner import Polyceptron as Polyceptron
    from polyceptron.learners.spla.spla1 import SPLA1 as SPLA1
    from polyceptron.learners.spla.spla2 import SPLA2 as SPLA2

_BY_CLASS = {path.partition(":")[2]: name for name, path in BUILT_IN.items()}

__all__ = ["register"]
__all__ += list(_BY_CLASS)


def __getattr__(name: str) -> Any:
    """Load a learner on first use (PEP 562)."""
    if name not in _BY_CLASS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = find_learner(_BY_CLASS[name])
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

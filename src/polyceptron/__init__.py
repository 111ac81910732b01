"""Learn a class as a polyhedron ``{x : Wx + b >= 0}``: a few inequalities that people can read.

Names are loaded when they are first used, so ``import polyceptron`` costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyceptron import datasets, explain, export, geometry, plots
    from polyceptron.data.open import open_blocks
    from polyceptron.learners import (
        OC1,
        PCSLP,
        SPLA1,
        SPLA2,
        BatchPolyceptron,
        OnlinePolyceptron,
        Polyceptron,
    )
    from polyceptron.learners.pcslp.programs import LPError
    from polyceptron.model_file import ModelFileError, load_model, save_model
    from polyceptron.optim.checkpoint import Checkpoint, CheckpointError
    from polyceptron.polyhedron import Polyhedron
    from polyceptron.rule import Rule

__version__ = "0.1.0"

__all__ = [
    "OC1",
    "PCSLP",
    "SPLA1",
    "SPLA2",
    "BatchPolyceptron",
    "Checkpoint",
    "CheckpointError",
    "LPError",
    "ModelFileError",
    "OnlinePolyceptron",
    "Polyceptron",
    "Polyhedron",
    "Rule",
    "__version__",
    "datasets",
    "explain",
    "export",
    "geometry",
    "load_model",
    "open_blocks",
    "plots",
    "save_model",
]

# Public name -> the module that defines it, or that it is.
_HOME = {
    "OC1": "polyceptron.learners",
    "PCSLP": "polyceptron.learners",
    "SPLA1": "polyceptron.learners",
    "SPLA2": "polyceptron.learners",
    "BatchPolyceptron": "polyceptron.learners",
    "Checkpoint": "polyceptron.optim.checkpoint",
    "CheckpointError": "polyceptron.optim.checkpoint",
    "LPError": "polyceptron.learners.pcslp.programs",
    "ModelFileError": "polyceptron.model_file",
    "OnlinePolyceptron": "polyceptron.learners",
    "Polyceptron": "polyceptron.learners",
    "Polyhedron": "polyceptron.polyhedron",
    "Rule": "polyceptron.rule",
    "datasets": "polyceptron.datasets",
    "explain": "polyceptron.explain",
    "export": "polyceptron.export",
    "geometry": "polyceptron.geometry",
    "load_model": "polyceptron.model_file",
    "open_blocks": "polyceptron.data.open",
    "plots": "polyceptron.plots",
    "save_model": "polyceptron.model_file",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_HOME[name])
    value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

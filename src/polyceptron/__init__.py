"""Learn a class as a polyhedron ``{x : Wx + b >= 0}``: a few inequalities that people can read.

Names are loaded when they are first used, so ``import polyceptron`` costs next to nothing.
"""

from typing import TYPE_CHECKING

from polyceptron.learners.registry import BUILT_IN as _LEARNERS
from polyceptron.utils.lazy import lazy_names

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from polyceptron import datasets as datasets
    from polyceptron import explain as explain
    from polyceptron import export as export
    from polyceptron import geometry as geometry
    from polyceptron import plots as plots
    from polyceptron.data.open import open_blocks as open_blocks
    from polyceptron.learners import *  # noqa: F403
    from polyceptron.learners.discrete.separation import exact_separation as exact_separation
    from polyceptron.learners.pcslp.programs import LPError as LPError
    from polyceptron.model_file import ModelFileError as ModelFileError
    from polyceptron.model_file import load_model as load_model
    from polyceptron.model_file import save_model as save_model
    from polyceptron.optim.checkpoint import Checkpoint as Checkpoint
    from polyceptron.optim.checkpoint import CheckpointError as CheckpointError
    from polyceptron.polyhedron import Polyhedron as Polyhedron
    from polyceptron.rule import Rule as Rule

__version__ = "0.1.0"

# Public name -> the module that defines it, or that it is.
_HOME = {path.partition(":")[2]: path.partition(":")[0] for path in _LEARNERS.values()} | {
    "Checkpoint": "polyceptron.optim.checkpoint",
    "CheckpointError": "polyceptron.optim.checkpoint",
    "LPError": "polyceptron.learners.pcslp.programs",
    "ModelFileError": "polyceptron.model_file",
    "Polyhedron": "polyceptron.polyhedron",
    "Rule": "polyceptron.rule",
    "exact_separation": "polyceptron.learners.discrete.separation",
    "load_model": "polyceptron.model_file",
    "open_blocks": "polyceptron.data.open",
    "save_model": "polyceptron.model_file",
}
_HOME |= {n: f"polyceptron.{n}" for n in ("datasets", "explain", "export", "geometry", "plots")}

__all__ = ["__version__"]
__all__ += list(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)

"""The learners, one a file; each is a scikit-learn classifier that learns polyhedra.

They are loaded when they are first used: `registry` has their names.
"""

from typing import TYPE_CHECKING

from polyceptron.learners.registry import BUILT_IN, register
from polyceptron.utils.lazy import lazy_names

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from polyceptron.learners.batch import BatchPolyceptron as BatchPolyceptron
    from polyceptron.learners.discrete.learner import DiscreteSVM as DiscreteSVM
    from polyceptron.learners.oc1.learner import OC1 as OC1
    from polyceptron.learners.online import OnlinePolyceptron as OnlinePolyceptron
    from polyceptron.learners.pcslp.learner import PCSLP as PCSLP
    from polyceptron.learners.polyceptron.learner import Polyceptron as Polyceptron
    from polyceptron.learners.polyhedral_svm.learner import PolyhedralSVM as PolyhedralSVM
    from polyceptron.learners.spla.spla1 import SPLA1 as SPLA1
    from polyceptron.learners.spla.spla2 import SPLA2 as SPLA2

_HOME = {path.partition(":")[2]: path.partition(":")[0] for path in BUILT_IN.values()}

__all__ = ["register"]
__all__ += list(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)

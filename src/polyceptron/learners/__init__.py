"""The learners, one a file; each is a scikit-learn classifier that learns polyhedra."""

from polyceptron.learners.batch import BatchPolyceptron
from polyceptron.learners.oc1.learner import OC1
from polyceptron.learners.online import OnlinePolyceptron
from polyceptron.learners.pcslp.learner import PCSLP
from polyceptron.learners.polyceptron.learner import Polyceptron
from polyceptron.learners.spla.spla1 import SPLA1
from polyceptron.learners.spla.spla2 import SPLA2

__all__ = ["OC1", "PCSLP", "SPLA1", "SPLA2", "BatchPolyceptron", "OnlinePolyceptron", "Polyceptron"]

"""The learners, one a file; each is a scikit-learn classifier that learns polyhedra."""

from polyceptron.learners.batch import BatchPolyceptron
from polyceptron.learners.oc1 import OC1
from polyceptron.learners.online import OnlinePolyceptron

__all__ = ["OC1", "BatchPolyceptron", "OnlinePolyceptron"]

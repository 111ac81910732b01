"""The learners, one a file; each is a scikit-learn classifier that learns a Polyhedron."""

from polyceptron.learners.batch import BatchPolyceptron
from polyceptron.learners.online import OnlinePolyceptron

__all__ = ["BatchPolyceptron", "OnlinePolyceptron"]

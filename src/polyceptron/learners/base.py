"""What a learner of one's own is made from: CONTRIBUTING.md shows how, in one file."""

from polyceptron.learners._base import (
    FitsBlocks,
    PolyhedralClassifier,
    ProbabilisticClassifier,
    RuleClassifier,
)
from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.learners.documents import Document, Documented
from polyceptron.learners.registry import register
from polyceptron.optim.criterion import gradient
from polyceptron.optim.planes import Planes
from polyceptron.optim.solver import Rank, Step, Stopping, rank_planes

__all__ = [
    "Document",
    "Documented",
    "FitsBlocks",
    "IteratedClassifier",
    "Planes",
    "PolyhedralClassifier",
    "ProbabilisticClassifier",
    "Rank",
    "RuleClassifier",
    "Step",
    "Stopping",
    "gradient",
    "rank_planes",
    "register",
]

"""What a learner of one's own is made from: CONTRIBUTING.md shows how, in one file."""

from polyceptron.learners._base import FitsBlocks as FitsBlocks
from polyceptron.learners._base import PolyhedralClassifier as PolyhedralClassifier
from polyceptron.learners._base import ProbabilisticClassifier as ProbabilisticClassifier
from polyceptron.learners._base import RuleClassifier as RuleClassifier
from polyceptron.learners._iterated import IteratedClassifier as IteratedClassifier
from polyceptron.learners._iterated import share_docs as share_docs
from polyceptron.learners.documents import Document as Document
from polyceptron.learners.documents import Documented as Documented
from polyceptron.learners.registry import register as register
from polyceptron.optim.criterion import gradient as gradient
from polyceptron.optim.planes import Planes as Planes
from polyceptron.optim.solver import Rank as Rank
from polyceptron.optim.solver import Step as Step
from polyceptron.optim.solver import Stopping as Stopping
from polyceptron.optim.solver import rank_planes as rank_planes

"""OC1: an oblique decision tree, each leaf of which is a polyhedron."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyceptron.data.scaling import identity
from polyceptron.data.source import ArraySource, Source
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import ProbabilisticClassifier
from polyceptron.learners._held_out import hold_out
from polyceptron.learners._parameters import (
    check_class_labels,
    check_seed,
    check_verbose,
    check_word,
    place_of_label,
)
from polyceptron.learners.documents import FITTED, Document, ModelFileError, NotNegative, array
from polyceptron.learners.oc1 import growth
from polyceptron.learners.oc1.kernels import CRITERIA, ORDERS, Climb
from polyceptron.learners.oc1.tree import LEAF, Tree, prune
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Piece, Rule, show_label
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.text import inequality


class TreeFitted(Document):
    """What a model file keeps of a tree: the tests are the faces of the rule."""

    counts: list[list[NotNegative]]


@dataclass(eq=False, repr=False)
class OC1(ProbabilisticClassifier):
    """Learn a decision tree whose tests are inequalities of several columns.

    From the root down, the rows of a node are split by the best hyperplane found. The search
    starts from the best threshold of one column, then from random hyperplanes. It climbs by
    changing one coefficient at a time; where none helps it tries jumps along random directions.
    The tree is then pruned by what its subtrees do on rows held out (Murthy, Kasif & Salzberg, *A
    System for Induction of Oblique Decision Trees*, 1994; docs/errata.md has what is left open).

    Parameters
    ----------
    criterion : {"twoing", "gini", "entropy"}, default="twoing"
        How good a split is: the twoing rule, or how much it lowers the Gini index or the entropy.
    order : {"sequential", "best", "random"}, default="sequential"
        Which coefficient is next: each in turn, the one that helps most (about as many searches
        as columns for each move), or 50 drawn at random before looking whether that helped.
    n_restarts : int, default=20
        Climbs at each node: one from the best axis-parallel split, the others from random
        hyperplanes. 0 gives an axis-parallel tree.
    n_jumps : int, default=5
        Random directions to try where no coefficient helps, again after each that does.
    max_depth : int or None, default=None
        The most tests on the way to a leaf.
    min_samples_split : int, default=2
        Nodes with fewer rows are leaves.
    min_samples_oblique : int or None, default=None
        Nodes with fewer distinct rows are split by single columns only, as so few rows fit too
        many hyperplanes. None is twice the number of columns, the paper's rule.
    prune_share : float, default=0.1
        Share of each class to hold out for pruning. 0 is no pruning.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Chooses the rows that are held out, the hyperplanes to start from, and the jumps.
    verbose : int, default=0
        Print progress.

    Attributes
    ----------
    tree_ : Tree
        Its nodes in preorder, in the units of X. Rows with ``W[node] . x + b[node] >= 0`` go
        from a node to ``yes[node]``, others to ``no[node]``; both are -1 for leaves.
        ``counts[node]`` is the weight of each class among its training rows.
    n_hyperplanes_, n_leaves_, depth_ : int
        Inner nodes, leaves, and the most tests on the way to a leaf.
    classes_ : ndarray of shape (n_classes,)
    verdict_ : Verdict
        How well the rows learned from are answered; see `polyceptron.explain.verdict`.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)

    Notes
    -----
    Columns are brought to zero mean and unit spread at every node while its hyperplane is
    sought; the tests are in the units of X all the same. The tree depends neither on the order
    of the rows nor on whether a row is given twice or with twice the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from polyceptron import OC1
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (200, 2))
    >>> y = np.where(X[:, 0] + 2 * X[:, 1] >= 15, "high", "low")
    >>> model = OC1(random_state=0).fit(X, y)
    >>> model.n_hyperplanes_, model.score(X, y) > 0.97
    (1, True)
    >>> [leaf.n_faces for leaf in model.polyhedra("high")]
    [1]
    """

    _rows_are: ClassVar[dict[str, Any]] = {"dtype": np.float64}

    criterion: str = "twoing"
    _: KW_ONLY
    order: str = "sequential"
    n_restarts: int = 20
    n_jumps: int = 5
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_oblique: int | None = None
    prune_share: float = 0.1
    class_weight: Any = None
    random_state: Any = None
    verbose: int = 0

    def _learn(self, source: Source) -> Iterator[str]:
        self._take_columns(source)
        check_class_labels(source.classes)
        random = check_seed(self.random_state)
        training = TrainingData.of(
            source,
            inside=0,
            scaling=lambda *_: identity(source.n_features),
            class_weight=self.class_weight,
            n_jobs=1,
        )
        self.classes_ = training.classes
        assert isinstance(source, ArraySource)
        codes = source.codes.astype(np.int64)
        rng = np.random.default_rng(random.randint(0, 2**31 - 1))
        sample = growth.distinct_rows(training.arrays.matrix, codes, training.arrays.weight)
        held = hold_out(sample.y, sample.weight, float(self.prune_share), rng)
        how = self._growth(source.n_features)
        tree = growth.grow(sample.take(~held), how, rng, verbose=bool(self.verbose))
        n_grown = len(tree.b)
        if held.any():
            apart = sample.take(held)
            tree = prune(tree, tree.weigh(apart.X, apart.y, apart.weight))
        if self.verbose:
            print(f"OC1: {n_grown} nodes, {len(tree.b)} after pruning", flush=True)  # noqa: T201
        self._publish(tree)
        yield from ()  # nothing to warn of

    def _check_parameters(self) -> None:
        check_word("criterion", self.criterion, CRITERIA)
        check_word("order", self.order, ORDERS)
        as_count(self.n_restarts, "n_restarts", 0)
        as_count(self.n_jumps, "n_jumps", 0)
        as_count(self.min_samples_split, "min_samples_split", 2)
        if self.max_depth is not None:
            as_count(self.max_depth, "max_depth")
        if self.min_samples_oblique is not None:
            as_count(self.min_samples_oblique, "min_samples_oblique", 0)
        if as_real(self.prune_share, "prune_share") >= 1:
            raise ValueError(f"prune_share must be below 1, got {self.prune_share!r}")
        check_verbose(self.verbose)

    def _growth(self, n_features: int) -> growth.GrowthRules:
        oblique = self.min_samples_oblique
        criterion, order = CRITERIA.index(self.criterion), ORDERS.index(self.order)
        return growth.GrowthRules(
            climb=Climb(criterion, order, int(self.n_restarts), int(self.n_jumps)),
            n_classes=len(self.classes_),
            max_depth=np.inf if self.max_depth is None else self.max_depth,
            min_samples_split=int(self.min_samples_split),
            min_samples_oblique=2 * n_features if oblique is None else int(oblique),
        )

    def _publish(self, tree: Tree) -> None:
        """Set the fitted attributes, which follow from the tree."""
        self.tree_ = tree
        self.n_leaves_ = int(tree.is_leaf.sum())
        self.n_hyperplanes_ = self.n_leaves_ - 1
        self.depth_ = int(tree.depths().max())
        counts = tree.counts[tree.is_leaf]
        shares = map(tuple, (counts / counts.sum(axis=1, keepdims=True)).tolist())
        leaves = [Polyhedron(W, b, self._names) for W, b in tree.faces()]
        places = tree.labels[tree.is_leaf].tolist()
        self.rule_ = Rule(self.classes_, tuple(map(Piece, leaves, places, shares)))

    # --- model files ------------------------------------------------------------------

    _Fitted = TreeFitted

    def _fitted(self) -> dict[str, Any]:
        return {"counts": self.tree_.counts}

    def _restore(self, rule: Rule, fitted: Any) -> None:
        where = f"{FITTED}.counts"
        n_nodes = 2 * len(rule.pieces) - 1
        counts = array(fitted.counts, (n_nodes, len(rule.classes)), where)
        with np.errstate(over="ignore"):
            totals = counts.sum(axis=1)
        bad = np.flatnonzero(~((totals > 0) & (totals < np.inf)))
        if bad.size:
            raise ModelFileError("must have a finite sum above 0", f"{where}[{bad[0]}]")
        try:
            tree = Tree.of_rule(rule, counts)
        except ValueError as error:
            raise ModelFileError(str(error), "rule.pieces") from None
        self._publish(tree)
        self._check_restored(rule)

    # --- prediction -------------------------------------------------------------------

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Leaf of every row, as a node of ``tree_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        leaves = np.flatnonzero(self.tree_.is_leaf)
        return leaves[self.rule_.decide(self._validated(X, reset=False)).piece]

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Which nodes of ``tree_`` every row comes to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where the row comes to the node.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        visits = list(self.tree_.visits(X))
        rows = np.concatenate([rows for _, rows in visits])
        nodes = np.repeat([node for node, _ in visits], [len(rows) for _, rows in visits])
        shape = (len(X), len(self.tree_.b))
        return sparse.csr_matrix((np.ones(len(rows), np.int64), (rows, nodes)), shape)

    # --- what was learned -------------------------------------------------------------

    def polyhedra(self, label: Any) -> list[Polyhedron]:
        """Leaves that predict a label, each as the set of all x that come to it.

        Every row is in exactly one leaf, but for rows on a face: there w . x + b = 0, which a
        tree takes for a yes, while a polyhedron, being closed, is also that of the no.

        Faces are the tests on the way from the root, in the units and with the column names of
        X. Where the tree has none, all of space is given by a face that every number meets.
        """
        check_is_fitted(self)
        place = place_of_label("label", label, self.classes_)
        return [piece.polyhedron for piece in self.rule_.pieces if piece.place == place]

    def to_text(self, digits: int | None = None) -> str:
        """Return the tree as nested tests; numbers as for `Polyhedron.to_text`.

        Leaves show their label, and how much of their training weight has it. Columns without
        names are x0, x1, ... Names and labels that are not one word are in quotes.

        Examples
        --------
        >>> X, y = [[1, 5], [2, 5], [3, 5], [4, 5]], ["low", "low", "high", "low"]
        >>> print(OC1(prune_share=0, random_state=0).fit(X, y).to_text())
        if x0 >= 2.5:
            if x0 >= 3.5:
                low (1 of 1)
            else:
                high (1 of 1)
        else:
            low (2 of 2)
        """
        check_is_fitted(self)
        digits = None if digits is None else as_count(digits, "digits")
        tree, lines = self.tree_, []
        waiting: list[tuple[int, str]] = [(0, "")]
        while waiting:
            node, indent = waiting.pop()
            if node == LEAF:
                lines.append(f"{indent}else:")
            elif tree.yes[node] == LEAF:
                label, counts = show_label(self.classes_[tree.labels[node]]), tree.counts[node]
                lines.append(f"{indent}{label} ({counts.max():.6g} of {counts.sum():.6g})")
            else:
                test = inequality(tree.W[node], float(tree.b[node]), self.rule_.names, digits)
                lines.append(f"{indent}if {test}:")
                inner = indent + "    "
                waiting += [(tree.no[node], inner), (LEAF, indent), (tree.yes[node], inner)]
        return "\n".join(lines)

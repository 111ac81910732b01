"""An oblique decision tree as a value that routes rows, and its cost-complexity pruning.

Tests are in user units, and rows are shared out by the scores with which `Polyhedron` tells inside
from outside: training, prediction and the polyhedra of the leaves agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.learners.oc1.kernels import Ints
from polyceptron.rule import Rule
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

LEAF = -1
"""The child of a leaf."""


@dataclass(frozen=True, slots=True, repr=False)
class Tree:
    """Nodes in preorder: the root is node 0, and a node stands before those below it.

    ``W, b`` have the test of each inner node, w . x + b >= 0, and zeros for leaves; ``yes, no`` are
    where rows go that pass the test and that do not, ``LEAF`` for leaves; ``counts`` is the weight
    of the classes among the training rows of each node, of shape (n_nodes, n_classes).
    """

    W: Floats
    b: Floats
    yes: Ints
    no: Ints
    counts: Floats

    def __repr__(self) -> str:
        n_leaves, depth = int(self.is_leaf.sum()), int(self.depths().max())
        return f"<Tree of {len(self.b)} nodes, {n_leaves} of them leaves, depth {depth}>"

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return np.asarray(self.yes == LEAF)

    @property
    def labels(self) -> Ints:
        """The number of the heaviest class of each node; ties go to the first."""
        return np.asarray(self.counts.argmax(axis=1), dtype=np.int64)

    def visits(self, X: Floats) -> Iterator[tuple[int, Ints]]:
        """Every node that rows come to, and which rows do."""
        waiting = [(0, np.arange(len(X)))]
        while waiting:
            node, rows = waiting.pop()
            yield node, rows
            if self.yes[node] != LEAF and len(rows):
                passed = passes(X[rows], self.W[node], self.b[node])
                waiting.append((int(self.no[node]), rows[~passed]))
                waiting.append((int(self.yes[node]), rows[passed]))

    def weigh(self, X: Floats, y: Ints, weight: Floats) -> Floats:
        """Weight of the classes among these rows at each node."""
        counts = np.zeros_like(self.counts)
        for node, rows in self.visits(X):
            counts[node] = np.bincount(y[rows], weight[rows], self.counts.shape[1])
        return counts

    def depths(self) -> Ints:
        """How many tests lie above each node."""
        depths = np.zeros(len(self.b), np.int64)
        for node in np.flatnonzero(~self.is_leaf):
            depths[[self.yes[node], self.no[node]]] = depths[node] + 1
        return depths

    def faces(self) -> list[tuple[Floats, Floats]]:
        """The inequalities W x + b >= 0 on the way to each leaf, the root's first.

        Where the root is the only leaf it is one that every number meets: tiny * x >= -4.
        """
        d = self.W.shape[1]
        if len(self.b) == 1:
            return [(np.eye(1, d) * np.finfo(float).tiny, np.array([4.0]))]
        found = {0: (np.empty((0, d)), np.empty(0))}
        for node in np.flatnonzero(~self.is_leaf):
            W, b = found.pop(int(node))
            for child, sign in ((self.yes[node], 1.0), (self.no[node], -1.0)):
                found[int(child)] = (
                    np.vstack([W, sign * self.W[node]]),
                    np.append(b, sign * self.b[node]),
                )
        return [found[node] for node in sorted(found)]

    @classmethod
    def of_rule(cls, rule: Rule, counts: Floats) -> Tree:
        """The tree whose leaves are the pieces of a rule; counts are of all its nodes."""
        if len(rule.splits) < len(rule.pieces) - 1:
            raise ValueError("must be the leaves of a tree, in preorder")
        W, b = np.zeros((len(counts), rule.n_features)), np.zeros(len(counts))
        yes, no = np.full((2, len(counts)), LEAF, np.int64)
        waiting = [(0, 0, len(rule.pieces), 0)]  # node, its leaves from and to, tests above it
        while waiting:
            node, start, stop, depth = waiting.pop()
            if stop - start > 1:
                leaf, middle = rule.pieces[start].polyhedron, rule.splits[start, depth]
                W[node], b[node] = leaf.W[depth], leaf.b[depth]
                yes[node], no[node] = node + 1, node + 2 * (middle - start)
                waiting.append((int(yes[node]), start, middle, depth + 1))
                waiting.append((int(no[node]), middle, stop, depth + 1))
        return cls(W, b, yes, no, counts)

    def without(self, collapsed: NDArray[np.bool_]) -> Tree:
        """The tree in which these nodes are leaves."""
        keep = np.zeros(len(self.b), bool)
        keep[0] = True
        yes, no = (np.where(collapsed, LEAF, child) for child in (self.yes, self.no))
        for node in range(len(self.b)):
            if keep[node] and yes[node] != LEAF:
                keep[[yes[node], no[node]]] = True
        place = np.append(np.cumsum(keep) - 1, LEAF)  # the last is that of LEAF itself
        inner = (yes != LEAF)[keep]
        return Tree(
            np.where(inner[:, None], self.W[keep], 0.0),
            np.where(inner, self.b[keep], 0.0),
            place[yes[keep]],
            place[no[keep]],
            self.counts[keep],
        )


def passes(X: Floats, w: Floats, b: float) -> NDArray[np.bool_]:
    """Which rows are above the plane, w . x + b >= 0."""
    return np.asarray(scores(X, w[None, :], np.array([b]))[:, 0] >= 0)


# --- pruning --------------------------------------------------------------------------


class PruningStep(NamedTuple):
    """One tree of the cost-complexity sequence."""

    alpha: float
    collapsed: NDArray[np.bool_]
    n_leaves: int
    held_out: float
    """Weight of the mistakes on the rows held out."""


def pruning_sequence(tree: Tree, held_out: Floats) -> list[PruningStep]:
    """The trees of cost-complexity pruning, from the one given to its root.

    Each comes from the one before by making leaves of the nodes where that costs the least
    training weight for each leaf saved (Breiman et al. 1984, chapter 3). ``held_out`` is the
    weight of the classes of held-out rows at each node.
    """
    is_inner, is_leaf, n = ~tree.is_leaf, tree.is_leaf, len(tree.b)
    cost = tree.counts.sum(axis=1) - tree.counts.max(axis=1)
    test = held_out.sum(axis=1) - held_out[np.arange(n), tree.labels]
    own = np.column_stack([np.ones(n), cost, test])
    last = np.arange(n)
    for node in np.flatnonzero(is_inner)[::-1]:
        last[node] = last[tree.no[node]]
    alpha, collapsed = 0.0, np.zeros(n, bool)
    steps: list[PruningStep] = []
    while True:
        # Of the tree below each node: leaves, training mistakes, held-out mistakes; sums are exact.
        sums = np.vstack([np.zeros(3), np.cumsum(own * is_leaf[:, None], axis=0)])
        below = sums[last + 1] - sums[:-1]
        link = np.full(n, np.inf)  # what each leaf saved costs; infinite for leaves
        link[is_inner] = (cost - below[:, 1])[is_inner] / (below[is_inner, 0] - 1)
        if not steps or link.min() > alpha + 1e-12 * cost[0]:
            n_leaves, _, mistakes = below[0].tolist()
            steps.append(PruningStep(alpha, collapsed.copy(), int(n_leaves), mistakes))
        if not is_inner.any():
            return steps
        node = int(link.argmin())
        alpha = max(alpha, float(link[node]))
        is_inner[node : last[node] + 1] = is_leaf[node : last[node] + 1] = False
        collapsed[node] = is_leaf[node] = True


def prune(tree: Tree, held_out: Floats) -> Tree:
    """The tree of the sequence with the fewest held-out mistakes, the smallest of equals."""
    steps = pruning_sequence(tree, held_out)
    least = min(step.held_out for step in steps)
    near = least + 1e-12 * held_out[0].sum()
    chosen = max(index for index, step in enumerate(steps) if step.held_out <= near)
    return tree.without(steps[chosen].collapsed)

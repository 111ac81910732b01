"""Loop-only versions of what OC1 computes: every candidate tried, every subtree listed."""

import math
from itertools import pairwise


def quality(criterion, above, totals):
    """How good a split is, from the definitions."""
    below = [t - a for t, a in zip(totals, above, strict=True)]
    A, B, T = sum(above), sum(below), sum(totals)
    if A == 0 or B == 0:
        return 0.0
    if criterion == "twoing":
        difference = sum(abs(a / A - b / B) for a, b in zip(above, below, strict=True))
        return A / T * (B / T) * difference**2
    impurity = gini if criterion == "gini" else entropy
    return impurity(totals) - A / T * impurity(above) - B / T * impurity(below)


def gini(counts):
    return 1.0 - sum((c / sum(counts)) ** 2 for c in counts)


def entropy(counts):
    return -sum(c / sum(counts) * math.log(c / sum(counts)) for c in counts if c > 0)


def split_quality(criterion, scores, y, weights, n_classes):
    """Quality of the split of rows into those with a score of at least 0 and the others."""
    above, totals = [0.0] * n_classes, [0.0] * n_classes
    for s, label, weight in zip(scores, y, weights, strict=True):
        totals[label] += weight
        if s >= 0:
            above[label] += weight
    return quality(criterion, above, totals)


def line_search(criterion, scores, slopes, y, weights, n_classes):
    """The best alpha and its quality: every gap between two crossings is tried on every row."""
    crossings = sorted({-s / d for s, d in zip(scores, slopes, strict=True) if d != 0})
    best, found = -1.0, 0.0
    for low, high in pairwise(crossings):
        alpha = (low + high) / 2
        if not low < alpha < high:
            continue
        moved = [s + alpha * d for s, d in zip(scores, slopes, strict=True)]
        q = split_quality(criterion, moved, y, weights, n_classes)
        if q > best:
            best, found = q, alpha
    return found, best


def subtrees(tree, node=0):
    """All ways to prune below a node: each the set of its leaves."""
    found = [frozenset([node])]
    if tree.yes[node] != -1:
        for left in subtrees(tree, int(tree.yes[node])):
            found += [left | right for right in subtrees(tree, int(tree.no[node]))]
    return found


def best_subtree(tree, alpha):
    """The subtree of least training mistakes plus alpha for each leaf; the smallest of equals."""

    def cost(leaves):
        mistakes = sum(tree.counts[leaf].sum() - tree.counts[leaf].max() for leaf in leaves)
        return (round(float(mistakes) + alpha * len(leaves), 9), len(leaves))

    return min(subtrees(tree), key=cost)

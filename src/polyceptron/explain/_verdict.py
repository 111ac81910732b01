"""The verdict on a model by rows of its user."""

from __future__ import annotations

from typing import Any

from polyceptron.data.source import ArraySource, Source
from polyceptron.explain._arguments import ExplainError
from polyceptron.rule import as_rule
from polyceptron.scoring import as_rows
from polyceptron.verdict import Verdict, judge


def verdict(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, n_jobs: int | None = 1
) -> Verdict:
    """Return how well a model answers labelled rows, and what is remarkable, in plain words.

    A fitted learner has that of the rows it learned from: ``model.verdict_``.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        The rows of a Polyhedron are labelled "inside" and "outside".
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features), or Source
        A source, such as `polyceptron.open_blocks` gives, has labels and weights of its own.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
        Not negative. A row of weight 0 is no row.
    n_jobs : int or None, default=1
        Threads for many rows; -1 is all cores, None is one or what `joblib.parallel_config` says.

    Examples
    --------
    >>> from polyceptron import Polyhedron, Rule, explain
    >>> high = Polyhedron([[1.0], [-1.0]], [-5.0, 99.0], ["dose"])
    >>> rule = Rule.inside(["fine", "harm"], 1, high)
    >>> print(explain.verdict(rule, [[1], [2], [3], [7]], ["fine", "fine", "harm", "harm"]))
    Of 4 rows, 75.00% are answered right.
    Always answering fine would be right for 50.00%.
    Balanced accuracy: 75.00%.
    fine (2 rows): precision 66.67%, recall 100.00%.
    harm (2 rows): precision 100.00%, recall 50.00%.
    Of class harm only 50.00% is found.
    Face 1 rejects no row.
    To try: several polyhedra (Polyceptron with n_polyhedra="auto"); another learner, such as the
    tree OC1 (--learner oc1); standardize=True, if it is off.
    Fewer polyhedra or inequalities would answer these rows the same.
    """
    rule = as_rule(model, error=ExplainError)
    if not isinstance(X, Source):
        if y is None:
            raise ExplainError("y must be given: a verdict needs the labels of the rows")
        rows = as_rows(rule.features(X), rule.n_features, rule.feature_names)
        X = ArraySource(rows, y, sample_weight, feature_names=rule.feature_names)
    if X.n_samples == 0 or X.n_features != rule.n_features:
        raise ExplainError(
            f"X must have rows of {rule.n_features} features; got {X.n_samples} rows of "
            f"{X.n_features}"
        )
    return judge(model, X, n_jobs)

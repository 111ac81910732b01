"""Models as rules: whatever was learned, by whom."""

from __future__ import annotations

import sys
from typing import Any

from polyceptron.polyhedron import Polyhedron
from polyceptron.rule._rule import Rule


def as_rule(model: Any, name: str = "model", error: type[Exception] = ValueError) -> Rule:
    """The rule of a fitted learner, a Rule or a Polyhedron: "inside" of that, and "outside".

    A list or tuple of polyhedra, as `polyhedra_` has them, is their union. Of a fitted pipeline of
    scikit-learn that ends in a learner, it is a rule on the columns that the pipeline is given:
    `polyceptron.rule.pipelines` says how. Where there is none, raises an error of this type that
    calls the argument by this name.
    """
    if isinstance(model, Rule):
        return model
    if is_bare(model):
        union = [model] if isinstance(model, Polyhedron) else model
        return Rule.inside(["inside", "outside"], 0, *union)
    wanted = f"{name} must be a fitted learner of polyceptron, a Rule or a Polyhedron; got"
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise error(f"{wanted} {model!r:.200}")
    if is_pipeline(model):
        from polyceptron.rule.pipelines import fold_pipeline

        return fold_pipeline(model, as_rule(model.steps[-1][1], name, error), error)
    rule = getattr(model, "rule_", None)
    if not isinstance(rule, Rule):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        found = f"{wanted} a {type(model).__name__}"
        if hasattr(model, "best_estimator_"):
            found += ". Of a search, give best_estimator_"
        raise error(found)
    return rule


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn, which is not imported for that."""
    sklearn = sys.modules.get("sklearn.pipeline")
    return sklearn is not None and isinstance(model, sklearn.Pipeline)


def is_bare(model: Any) -> bool:
    """Whether a model is a Polyhedron, or several of a union, without labels of its own."""
    if isinstance(model, list | tuple):
        return bool(model) and all(isinstance(one, Polyhedron) for one in model)
    return isinstance(model, Polyhedron)

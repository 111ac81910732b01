"""What the parts of `Polyceptron` give: ``python -m benchmarks.parts`` writes a JSON summary.

The learner as it is, and without one part at a time, all else the same:

- thinning: unions begin with 4 x 4 faces, which is what they may keep, and not with 6 x 6;
- hardening: the faces of the soft model are the rule;
- log-loss: accuracy on rows held out decides between one and several, and among strengths;
- sampling: no mean of likely hyperplanes;
- union: one polyhedron only;
- rounding: the faces as they were learned, with all digits.

Rows are those of `benchmarks.accuracy`: real sets that choices were made on ("development"), and
Datasets 1 and 2 with 10% of the labels flipped ("noise").
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.accuracy import FULL, datasets_of, rows_of
from benchmarks.report import environment
from polyceptron import Polyceptron
from polyceptron.learners.polyceptron import automatic, selection, union_trials
from polyceptron.utils.atomic import write_text

SPLITS = {"development": 3, "noise": 4}
Without = Callable[[], AbstractContextManager[None]]


@contextmanager
def _replaced(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for home, name, value in changes:
            stack.enter_context(mock.patch.object(home, name, value))
        yield


def _more_accurate(self: selection.Selection, setting: Any, than: Any) -> bool:
    return self.accuracy(setting) > self.accuracy(than)


PARTS: dict[str, Without] = {
    "as it is": _replaced,
    "without thinning": lambda: _replaced(
        (automatic, "FIRST_PIECES", 4), (automatic, "FIRST_FACES", 4)
    ),
    "without hardening": lambda: _replaced(
        (union_trials, "hardened", lambda rows, soft, *rest: soft)  # noqa: ARG005 - the same call
    ),
    "without log-loss": lambda: _replaced(
        (selection.Selection, "is_better", _more_accurate),
        (selection.Selection, "likeliest", selection.Selection.best),
    ),
    "without sampling": lambda: _replaced(
        (automatic, "with_samples", lambda selection, best, *rest: best)  # noqa: ARG005
    ),
    "without union": _replaced,
    "without rounding": _replaced,
}
GIVEN: dict[str, dict[str, Any]] = {
    "without union": {"n_polyhedra": 1},
    "without rounding": {"digits": None},
}


def measure(splits: dict[str, int]) -> dict[str, dict[str, float]]:
    """Accuracies in percent, by part left out and by group: means over sets and splits."""
    found: dict[str, dict[str, float]] = {}
    for part, without in PARTS.items():
        given = GIVEN.get(part, {})
        for group, n_splits in splits.items():
            names = [name for name in datasets_of(group) if not name.endswith("20%")]
            with without():
                scores = [
                    _score(group, name, split, given) for name in names for split in range(n_splits)
                ]
            found.setdefault(part, {})[group] = round(float(np.mean(scores)), 2)
        print(part, found[part], flush=True)
    return found


def _score(group: str, name: str, split: int, given: dict[str, Any]) -> float:
    rows = rows_of(group, name, split, 0, FULL)
    model = Polyceptron(random_state=split, n_jobs=2, **given).fit(rows.X[rows.train], rows.labels)
    return 100 * float(model.score(rows.X[rows.test], rows.y[rows.test]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="docs/results/parts.json")
    given = parser.parse_args()
    summary = {"environment": environment(), "splits": SPLITS, "accuracy": measure(SPLITS)}
    write_text(Path(given.out), json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()

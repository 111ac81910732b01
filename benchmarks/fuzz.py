"""Does anything but the library's own error come out of a spoilt file?

``python -m benchmarks.fuzz --minutes 10`` spoils files that are whole and gives them to what reads
them: model files, tables, checkpoints, entries of the cache, and the text of rules
(`benchmarks.fuzz_targets`). Hypothesis makes the choices (`benchmarks.spoil`). A file is refused
with the reader's own error, or what it holds can be used; anything else is a crash, whose input is
kept in the folder ``--crashes``. Prints JSON: how many files were tried, how they were spoilt, and
what came out.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.fuzz_targets import TARGETS, Target
from benchmarks.report import environment
from benchmarks.spoil import Choices

ROUND = 100
"""Inputs before the clock is looked at."""

# --- the run ----------------------------------------------------------------------------


def spoilt(target: Target, random: Choices) -> tuple[str, bytes]:
    """The name of what was done to a file, and what became of it."""
    how = random.choice(target.spoil)
    return how.__name__, how(random, random.choice(target.corpus))


def fuzz(target: Target, minutes: float, first_seed: int, crashes: Path | None) -> dict[str, Any]:
    tried: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    seen: set[bytes] = set()
    start, begun, number = time.monotonic(), time.process_time(), first_seed

    def one(random: Choices) -> None:
        how, data = spoilt(target, random)
        tried[how] += 1
        seen.add(hash(data).to_bytes(8, "big", signed=True))
        try:
            outcomes["taken" if target.read(data) else "refused"] += 1
        except Exception:
            outcomes["crashed"] += 1
            _keep(crashes, data)

    while number == first_seed or time.monotonic() < start + 60 * minutes:
        run = settings(
            max_examples=ROUND,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(st.randoms(use_true_random=False))(one))
        seed(number)(run)()
        number += 1
    return {
        "minutes": round((time.monotonic() - start) / 60, 2),
        "minutes of processor": round((time.process_time() - begun) / 60, 2),
        "seeds": [first_seed, number - 1],
        "inputs": sum(tried.values()),
        "different inputs": len(seen),
        "outcomes": dict(outcomes),
        "spoilt by": dict(tried),
    }


def _keep(folder: Path | None, data: bytes) -> None:
    """The input and its traceback, by the place where it went wrong."""
    text = traceback.format_exc()
    if folder is None:
        print(text)
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{abs(hash(text.splitlines()[-2])):x}"[:12]
    (folder / f"{name}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    (folder / name).write_bytes(data)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--target", choices=TARGETS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, help="a folder for inputs that crash")
    options = parser.parse_args(argv)
    results = {
        name: fuzz(TARGETS[name](), options.minutes, options.seed, options.crashes)
        for name in options.target or TARGETS
    }
    print(json.dumps({"environment": environment(), "results": results}, indent=2))


if __name__ == "__main__":
    main()

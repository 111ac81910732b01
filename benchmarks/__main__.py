"""``python -m benchmarks``: measure, print, write down."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import (  # noqa: F401  (they register)
    batch,
    flagship,
    online,
    out_of_core,
    pcslp,
    pruning,
    report,
    rivals,
    whole,
)
from benchmarks.registry import BENCHMARKS, Measurement, Sizes
from benchmarks.timing import HOW

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
README = HERE.parent / "README.md"
BUSY = 0.9
"""Share of a core below which the numbers say more about the machine than about the code."""


def main(argv: list[str] | None = None) -> None:
    options = _parser().parse_args(argv)
    if options.update_readme:
        report.update_readme(json.loads(RESULTS.read_text(encoding="utf-8")), README)
        print(f"{README.name} now has the numbers of {RESULTS.name}")
        return
    start = time.perf_counter()
    # One thread for the peers' linear algebra too: on small data more threads slow it down
    # many times over where another process wants a core, and would flatter our ratios.
    with threadpool_limits(1):
        measurements = _run(options.only or list(BENCHMARKS), Sizes(options.quick))
    results = report.as_json(measurements, time.perf_counter() - start)
    _conclude(measurements, results["duration_s"])
    whole_run = options.only is None and not options.quick
    path = options.out or (RESULTS if whole_run else None)
    if path is not None:
        report.write_json(results, path)
        print(f"Written to {path}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="a tenth of the rows; nothing is written down")
    names = ", ".join(BENCHMARKS)
    add("--only", action="append", choices=list(BENCHMARKS), metavar="NAME",
        help=f"one of {names}; may be repeated; nothing is written down")  # fmt: skip
    add("--out", type=Path, help=f"where to write, instead of {RESULTS.name}")
    add("--update-readme", action="store_true",
        help=f"measure nothing, but copy {RESULTS.name} into the README")  # fmt: skip
    return parser


def _run(names: list[str], sizes: Sizes) -> list[Measurement]:
    print(HOW)
    if sizes.quick:
        print("quick: so few rows that a cache may hold them; only a rough idea")
    print(f"\n{report.HEAD}")
    found = []
    for name in names:
        if sys.stderr.isatty():
            print(f"... {name}", end="\r", file=sys.stderr, flush=True)
        cpu, wall = time.process_time(), time.perf_counter()
        for measurement in BENCHMARKS[name](sizes):
            print(report.line(measurement), flush=True)
            found.append(measurement)
        share = (time.process_time() - cpu) / (time.perf_counter() - wall)
        by_others = name in ("imports", "first_fit")  # processes of their own do the work
        if share < BUSY and not by_others:
            print(f"{'':24}THE MACHINE IS BUSY: {name} had {share:.0%} of a core; measure again")
    return found


def _conclude(measurements: list[Measurement], seconds: float) -> None:
    judged = [m for m in measurements if m.passed is not None]
    failed = [m.name for m in judged if not m.passed]
    print(f"\n{len(judged) - len(failed)} of {len(judged)} bars reached, in {seconds:.0f} s")


if __name__ == "__main__":
    main()

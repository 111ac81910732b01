"""The table, the results file, and the README's copy of them."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.registry import Measurement
from benchmarks.timing import HOW

START, END = "<!-- bench:start -->", "<!-- bench:end -->"
PACKAGES = ("polyceptron", "numpy", "scipy", "scikit-learn", "numba")


def environment() -> dict[str, Any]:
    """What the numbers depend on, besides the code."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def of_machine(found: dict[str, Any]) -> str:
    """On what results were measured, and when."""
    here = found["environment"]
    return f"{here['cores']} cores of an {here['cpu']}, {here['date']}"


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of text."""
    names = [*head]
    lines = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in (names, *rows)]
    return "\n".join([lines[0], "|---" * len(names) + "|", *lines[1:]])


def as_json(measurements: list[Measurement], seconds: float) -> dict[str, Any]:
    return {
        "how": HOW,
        "environment": environment(),
        "duration_s": round(seconds, 1),
        "measurements": [
            {
                "name": m.name,
                "ratio": None if m.ratio is None else float(f"{m.ratio:.4g}"),
                "bar": None if m.bar is None else str(m.bar),
                "passed": m.passed,
                "seconds": {side: float(f"{t:.4g}") for side, t in m.seconds.items()},
                "note": m.note,
            }
            for m in measurements
        ],
    }


def write_json(results: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def line(m: Measurement) -> str:
    """One measurement as a line of text."""
    ratio = "-" if m.ratio is None else f"{m.ratio:.2f}"
    bar = "" if m.bar is None else str(m.bar)
    mark = {True: "pass", False: "FAIL", None: ""}[m.passed]
    return f"{ratio:>7}  {bar:<8} {mark:<5} {m.name}" + (f"\n{'':24}{m.note}" if m.note else "")


HEAD = f"{'ratio':>7}  {'bar':<8} {'':<5} what"


def readme_block(results: dict[str, Any]) -> str:
    """The lines that stand between the markers of the README."""
    rows = [
        f"| {m['name']} | {m['ratio']:.2f} | {m['bar']}{'' if m['passed'] else ', not reached'} |"
        for m in results["measurements"]
        if m["bar"] is not None and m["ratio"] is not None
    ]
    e = results["environment"]
    versions = ", ".join(f"{name} {e[name]}" for name in ("python", *PACKAGES[1:]))
    head = (
        "| 20 columns, 4 hyperplanes, float64, 2 million rows, one thread unless said "
        "| measured | bar |"
    )
    return "\n".join(
        [
            START,
            head,
            "|---|---:|---:|",
            *rows,
            "",
            f"Measured by `make bench` on {e['date']}: {e['cpu']}, {e['cores']} cores; {versions}.",
            "`benchmarks/results.json` has the times behind the ratios.",
            END,
        ]
    )


def update_readme(results: dict[str, Any], path: Path) -> None:
    """Rewrite what stands between the markers."""
    text = path.read_text(encoding="utf-8")
    if text.count(START) != 1 or text.count(END) != 1:
        raise SystemExit(f"{path} needs one {START} and one {END}")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    path.write_text(before + readme_block(results) + after, encoding="utf-8")

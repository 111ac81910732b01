"""Measure the figures of README and docs again: ``make figures``.

What is worth most comes first. Each piece writes to a folder of its own; when it is done its
results go to `docs/results`, all tables are made of them, and `docs/results/measured.json` has the
day, the commit and what it took. Stopped and started again, it goes on: pieces that are done with
the same code are left out, and those that keep a journal go on with it.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import environment
from polyceptron.paper.protocol import source_digest
from polyceptron.utils.atomic import write_text

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
MEASURED = RESULTS / "measured.json"
METHODS = ["polyceptron", "polyceptron-K", "batch", "online", "spla2", "cpm", "logistic"]
METHODS += ["linear-svc", "rbf-svm", "mlp", "hist-gb", "cart"]


class Piece(NamedTuple):
    """Figures that one command measures.

    ``{out}`` in its words is the folder to write to; ``stores`` says which of the files there
    becomes which of `docs/results`, packed if that one is. It is expected to take so many
    ``minutes`` of a processor, in so many ``processes``.
    """

    command: str
    stores: dict[str, str]
    minutes: float
    processes: int = 2
    then: str = ""


PIECES = {
    "reproduce": Piece(
        "polyceptron reproduce --out {out} --jobs 2 --resume",
        {"folds.jsonl": "folds.jsonl.gz"},
        20,
    ),
    "exact": Piece("benchmarks.exact --out {out}/exact.json", {"exact.json": "exact.json"}, 2.5),
    "convergence": Piece(
        "polyceptron study convergence --out {out}/../reproduce --jobs 2 --resume",
        {
            "../reproduce/convergence.jsonl": "convergence.jsonl.gz",
            "../reproduce/cycles.jsonl": "cycles.jsonl.gz",
        },  # one report of both
        1,
    ),
    "probabilities": Piece(
        "benchmarks.probabilities --jobs 2 --out {out}/probabilities.json",
        {"probabilities.json": "probabilities.json"},
        1.5,
    ),
    "ablation": Piece(
        "benchmarks.ablation --jobs 2 --out {out}/ablation.json",
        {"ablation.json": "ablation.json"},
        1,
    ),
    "accuracy": Piece(
        f"benchmarks.accuracy --methods {' '.join(METHODS)} --out {{out}} --jobs 2 --resume",
        {"summary.json": "accuracy.json"},
        22,
    ),
    "parts": Piece("benchmarks.parts --out {out}/parts.json", {"parts.json": "parts.json"}, 4, 1),
    "readable": Piece(
        "benchmarks.readable --only polyceptron --out {out}/readable.json",
        {"readable.json": "readable.json"},
        10,
        1,
        "docs.make_images readable",
    ),
    "stream": Piece(
        "benchmarks.stream --out {out}/stream.json --picture {out}/stream.png",
        {"stream.json": "stream.json", "stream.png": "../images/stream.png"},
        1.5,
        1,
    ),
    "counterfactuals": Piece(
        "benchmarks.counterfactuals --out {out}/counts.json",
        {"counts.json": "counterfactuals.json"},
        3,
        1,
    ),
    "shortfalls": Piece(
        "benchmarks.shortfalls --draws 12 --out {out}/found.json",
        {"found.json": "shortfalls.json"},
        6,
        1,
    ),
    "shapes": Piece(
        "benchmarks.shapes --out {out}/shapes.json", {"shapes.json": "shapes.json"}, 12, 1
    ),
    "dask_overhead": Piece(
        "benchmarks.dask_overhead --out {out}/scale.json", {"scale.json": "scale.json"}, 4
    ),
    "out_of_core": Piece(
        "benchmarks.out_of_core --out {out}/found.json", {"found.json": "out_of_core.json"}, 4
    ),
}
"""In the order of what they are worth for their time."""

REST = {
    "bench": ("`make bench`, then `python -m benchmarks --update-readme`", "README.md"),
    "rivals of readable": (
        "`python -m benchmarks.readable`, after `pip install -e '.[bench,readable]'`",
        "docs/rules.md",
    ),
    "rivals of shapes": ("`python -m benchmarks.shapes --rivals`", "docs/design.md"),
    "fuzz": ("`python -m benchmarks.fuzz --target NAME`, ten minutes each", "docs/reliability.md"),
    "kills": ("`python -m benchmarks.killed_commands`", "docs/reliability.md"),
    "files": ("`python -m benchmarks.predict_stream`", "docs/command-line.md"),
    "caches": ("by hand, while other work was done", "docs/out-of-core.md"),
    "kernels": ("by hand, beside the same in C", "docs/kernels.md"),
    "choices": ("by hand, while they were made", "docs/design.md"),
    "choices of OC1": ("by hand, while they were made", "docs/errata.md"),
}
"""What takes too long, or a quiet machine: the command, and the page that has the figures."""


def listed() -> list[list[str]]:
    """All figures: by which command, what they take, and when that was last done."""
    done, rows = load(), []
    for name, piece in PIECES.items():
        last = done.get(name, {})
        minutes = f"{last['minutes']:.1f}" if "minutes" in last else f"about {piece.minutes:g}"
        at = f"{last['date']}, {last['commit']}" if last.get("commit") else last.get("date", "")
        rows.append([name, f"`{_shown(piece)}`", minutes, at])
    for name, (command, page) in REST.items():
        link = page.removeprefix("docs/") if page.startswith("docs/") else f"../{page}"
        rows.append([f"[{name}]({link})", command, "", done.get(name, {}).get("date", "")])
    return rows


def load() -> dict[str, Any]:
    """When, of which commit, and in how many minutes of a processor pieces were measured."""
    found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def _shown(piece: Piece) -> str:
    words = piece.command.format(out="FOLDER").replace("FOLDER/../reproduce", "FOLDER")
    return words if words.startswith("polyceptron ") else f"python -m {words}"


def run(name: str, work: Path) -> None:
    """Measure one piece, store what it found, and make the tables of it."""
    piece, out = PIECES[name], work / name
    out.mkdir(parents=True, exist_ok=True)
    if name == "readable":
        _without_ours(out / "readable.json")
    if name == "shapes" and not (out / "shapes.json").exists():  # its rivals are kept
        shutil.copyfile(RESULTS / "shapes.json", out / "shapes.json")
    taken = _measure(piece.command.format(out=out), out / "minutes")
    for source, target in piece.stores.items():
        if target.endswith(".gz"):
            packed = gzip.compress((out / source).read_bytes(), mtime=0)
            (RESULTS / target).write_bytes(packed)
        else:
            shutil.copyfile(out / source, RESULTS / target)
    _remember(name, taken)
    _python("benchmarks.tables")
    if piece.then:
        _python(piece.then)
    (out / "done").touch()
    print(f"{name}: {taken:.1f} minutes of a processor", flush=True)


def _measure(command: str, log: Path) -> float:
    """Minutes of a processor that a command took, with those before it was stopped."""
    before, used = float(log.read_text()) if log.exists() else 0.0, _used()
    try:
        _python(command)
    finally:
        taken = before + (_used() - used) / 60
        write_text(log, str(taken))
    return taken


def _python(words: str) -> None:
    subprocess.run([sys.executable, "-m", *words.split()], cwd=ROOT, check=True)


def _used() -> float:
    """Seconds of a processor that ended children took, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _without_ours(path: Path) -> None:
    """Begin with what others reached: their packages are as they were."""
    if not path.exists():
        found = json.loads((RESULTS / "readable.json").read_text(encoding="utf-8"))
        found["records"] = [one for one in found["records"] if one["method"] != "polyceptron"]
        write_text(path, json.dumps(found))


def _remember(name: str, minutes: float) -> None:
    here = environment()
    facts = {"date": here["date"], "commit": commit(), "minutes": round(minutes, 1)}
    facts |= {key: here[key] for key in ("cpu", "cores")}
    write_text(MEASURED, json.dumps(load() | {name: facts}, indent=1) + "\n")


@functools.cache
def commit() -> str:
    """The commit that is measured, with a mark if its code was changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks", "docs/examples")
    return git("rev-parse", "--short", "HEAD") + (" and changes" if changed else "")


def digest() -> str:
    """Of the code that figures come from: what was done is done again when it changes."""
    shows = ("figures.py", "tables.py", "tables_of_scale.py", "report.py")
    found = hashlib.sha256(source_digest().encode())
    example = ROOT / "docs" / "examples" / "stream.py"  # which the benchmark of streams runs
    for path in [*sorted(Path(__file__).parent.glob("*.py")), example]:
        if path.name not in shows:
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add: Callable[..., Any] = parser.add_argument
    add("--only", nargs="+", choices=PIECES, default=[*PIECES], metavar="PIECE",
        help=f"of {', '.join(PIECES)}; all by default")  # fmt: skip
    add("--minutes", type=float, default=60.0,
        help="begin no piece that would not be done by then; %(default)g by default")  # fmt: skip
    add(
        "--out",
        type=Path,
        default=ROOT / "polyceptron-report" / "figures",
        help="folder to work in",
    )
    given = parser.parse_args(argv)
    work, done, began = given.out.resolve() / digest(), load(), time.perf_counter()
    failed = []
    for number, name in enumerate(given.only, 1):
        piece = PIECES[name]
        expected = done.get(name, {}).get("minutes", piece.minutes) / piece.processes
        left = given.minutes - (time.perf_counter() - began) / 60
        head = f"[{number}/{len(given.only)}] {name}"
        if (work / name / "done").exists():
            print(f"{head}: done before", flush=True)
        elif expected > left:
            print(
                f"{head}: left out, {expected:.0f} minutes of {left:.0f} that are left", flush=True
            )
        else:
            print(f"{head}: about {expected:.0f} minutes on two free cores", flush=True)
            try:
                run(name, work)
            except subprocess.CalledProcessError as error:
                failed.append(f"{name}: {error}")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()

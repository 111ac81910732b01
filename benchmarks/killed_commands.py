"""Commands that are killed: the next run must give the same model or table, and leave nothing over.

``python -m benchmarks.killed_commands --kills 40`` kills `fit`, `fit --out-of-core` and `reproduce`
by SIGKILL at random moments, by turns, and runs each again as its user would. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from polyceptron import cli

FIT = ["fit", "rows.csv", "-t", "y", "-l", "batch", "-k", "3", "-o", "out/model.json"]
COMMANDS = {
    "fit": [*FIT, "--in-memory"],
    "fit --out-of-core": [*FIT, "--out-of-core"],
    "reproduce": [
        "reproduce",
        "--quick",
        "--datasets",
        "breast-cancer",
        "--methods",
        "cart",
        "-j1",
    ],
}
IMPORTED = (
    "pyarrow.csv", "sklearn.model_selection", "sklearn.tree", "polyceptron.data.open",
    "polyceptron.learners.batch", "polyceptron.verdict", "polyceptron.model_file",
    "polyceptron.paper.reproduce", "polyceptron.paper.report", "matplotlib.pyplot", "jinja2",
)  # fmt: skip
LEAST = 1.0
"""Seconds that what is left over must be old, so that the next run may remove it."""


def command(what: str, folder: Path, again: bool) -> list[str]:
    """The command, as it is given the first time or after a kill."""
    words = ["polyceptron", *COMMANDS[what]]
    if what == "reproduce":
        return [*words, "--out", "out", "--resume" if (folder / "out").exists() else "--overwrite"]
    is_there = (folder / "out" / "model.json.checkpoint").exists()
    return [*words, *(["--resume"] if is_there else []), *(["--force"] if again else [])]


def run(what: str, folder: Path, again: bool, seconds: float | None) -> bool:
    """Whether a run ends by itself before it is killed.

    It is forked from this process, which has imported what it needs: kills hit the work.
    """
    words = command(what, folder, again)
    number = os.fork()
    if number == 0:
        os.setsid()
        os.chdir(folder)
        # All that the user's own folders would have goes into this one.
        own = {name: str(folder / "own") for name in ("XDG_CACHE_HOME", "POLYCEPTRON_CACHE")}
        os.environ.update(own)
        said = os.open(folder.parent / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.argv = words
        code = 1
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0) if isinstance(end.code, int | None) else 1
        finally:
            os._exit(code)
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    while time.monotonic() < end:
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            if status:
                said_last = (folder.parent / "said").read_text(errors="replace")[-1000:]
                raise RuntimeError(f"{words}: {status}: {said_last}")
            return True
        time.sleep(0.001)
    try:
        os.killpg(number, signal.SIGKILL)
    except ProcessLookupError:  # it has not got so far as to have a group
        os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return False


def outcome(what: str, folder: Path) -> Any:
    """What must be the same: the rule and the history of a model, the accuracies of a table."""
    if what != "reproduce":
        document = json.loads((folder / "out" / "model.json").read_text())
        return document["rule"], document["learner"]["fitted"]
    lines = (folder / "out" / "folds.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return sorted(
        json.dumps({k: v for k, v in row.items() if "second" not in k and k != "at"})
        for row in rows
    )


def files(folder: Path) -> list[str]:
    """The names of all files, where those made of random digits are alike."""
    digits = "0123456789abcdef"
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(
        "/".join("*" if len(p) == 16 and not set(p) - set(digits) else p for p in name.split("/"))
        for name in found
    )


def fresh(folder: Path, what: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if what == "reproduce":
        return
    (folder / "out").mkdir()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6)).round(4)
    y = (np.abs(X[:, :3]).max(axis=1) < 1.2) ^ (rng.random(4000) < 0.05)
    lines = [",".join([*map(str, row), str(int(label))]) for row, label in zip(X, y, strict=True)]
    (folder / "rows.csv").write_text("a,b,c,d,e,f,y\n" + "\n".join(lines) + "\n")


def kill(what: str, kills: int, seed: int, folder: Path) -> dict[str, Any]:
    """Kill a command so often, at another moment each; the next run is compared with one alone."""
    choices, killed, same, clean = random.Random(seed), 0, 0, 0
    fresh(folder, what)
    start = time.monotonic()
    run(what, folder, again=False, seconds=None)
    longest = time.monotonic() - start
    expected, names = outcome(what, folder), files(folder)
    left_over: list[str] = []
    while killed < kills:
        fresh(folder, what)
        if run(what, folder, again=True, seconds=choices.uniform(0.0, longest)):
            continue  # it was there before the kill
        killed += 1
        time.sleep(LEAST)
        run(what, folder, again=True, seconds=None)
        same += outcome(what, folder) == expected
        left_over += sorted(set(files(folder)) ^ set(names))
        clean += files(folder) == names
        far = f"{what}: killed {killed} times, {same} the same, {clean} clean"
        print(far, file=sys.stderr, flush=True)
    return {"killed": killed, "same": same, "clean": clean,
            "left over": left_over}  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40, help="of all commands together")
    parser.add_argument("--command", choices=COMMANDS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    names = options.command or list(COMMANDS)
    os.environ["POLYCEPTRON_QUIET"] = "1"
    for module in IMPORTED:
        import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for number, name in enumerate(names):
            share = (options.kills + len(names) - 1 - number) // len(names)
            found[name] = kill(name, share, options.seed, Path(folder) / "work")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

"""Processes that fit from one cache while another rewrites the file that its rows came from.

``python -m benchmarks.contended_cache --rounds 200``: each of four processes fits so often. What
comes out of each fit must be the model of one version of the file, or an error that says what
happened. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polyceptron import BatchPolyceptron, open_blocks
from polyceptron.data.source import SourceError

VERSIONS = 3
READERS = 4


def content(version: int) -> str:
    """A file whose rows and rule are others in each version; two have the same size."""
    rng = np.random.default_rng(version)
    X = rng.integers(100, 999, (300 + 10 * (version == 2), 3))
    y = (X @ rng.normal(size=3) > 0).astype(int)
    y[:2] = 0, 1
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    return "a,b,c,y\n" + "\n".join(lines) + "\n"


def fitted(folder: Path) -> str:
    """A model of what the file has now, in short."""
    source = open_blocks(folder / "rows.csv", "y", cache_dir=folder / "cache")
    model = BatchPolyceptron(2, max_iter=5, n_init=1, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_blocks(source)
    return np.column_stack([model.coef_, model.intercept_]).tobytes().hex()


def read(folder: Path, number: int, rounds: int) -> None:
    found: Counter[str] = Counter()
    for _ in range(rounds):
        try:
            found[fitted(folder)] += 1
        except SourceError as error:
            found[f"SourceError: {str(error).replace(str(folder), '')}"] += 1
        except BaseException:
            found[f"crash: {traceback.format_exc()[-600:]}"] += 1
    (folder / f"found {number}.json").write_text(json.dumps(found))


def rewrite(folder: Path) -> None:
    """Until it is stopped: in one step, or in place."""
    choices, n = random.Random(0), 0
    while not (folder / "stop").exists():
        n += 1
        text = content(choices.randrange(VERSIONS))
        if choices.random() < 0.5:
            (folder / "new.csv").write_text(text)
            (folder / "new.csv").replace(folder / "rows.csv")
        else:
            (folder / "rows.csv").write_text(text)
        time.sleep(choices.uniform(0.0, 0.1))
    (folder / "rewritten").write_text(str(n))


def forked(work: Callable[..., None], *arguments: Any) -> int:
    number = os.fork()
    if number == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return number


def contend(folder: Path, rounds: int) -> dict[str, Any]:
    (folder / "rows.csv").write_text(content(0))
    writer = forked(rewrite, folder)
    readers = [forked(read, folder, number, rounds) for number in range(READERS)]
    for number in readers:
        os.waitpid(number, 0)
    (folder / "stop").touch()
    os.waitpid(writer, 0)
    known = {}
    for version in range(VERSIONS):
        (folder / "rows.csv").write_text(content(version))
        known[fitted(folder)] = f"version {version}"
    counts: Counter[str] = Counter()
    for number in range(READERS):
        for text, n in json.loads((folder / f"found {number}.json").read_text()).items():
            is_error = text.startswith(("SourceError", "crash"))
            counts[known.get(text, text if is_error else "no version")] += n
    n_good = sum(n for text, n in counts.items() if text.startswith(("version", "SourceError")))
    return {
        "fits": counts.total(),
        "rewritten": int((folder / "rewritten").read_text()),
        "wrong": counts.total() - n_good,
        "outcomes": dict(counts),
    }


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        print(json.dumps(contend(Path(folder), options.rounds), indent=2))


if __name__ == "__main__":
    main()

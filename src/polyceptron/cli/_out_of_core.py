"""`polyceptron fit` of more rows than memory holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.learners.registry import find_learner, learner_names

if TYPE_CHECKING:
    from polyceptron.data.source import Source

_TYPICAL_ROWS = 100_000
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SHARE = 4
"""A file larger than this part of memory is not read into it: rows take more than their file."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 1.5GB or 800M."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?", str(value).strip().lower())
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is not a size such as 1.5GB or 800M.", param, ctx)
        return int(float(found[1]) * _UNITS[found[2]])


def memory() -> int:
    """Bytes of memory that this process may have."""
    there = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _LIMITS:  # of a container
        try:
            there.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(there)


def is_too_large(data: str, limit: int | None) -> bool:
    """Whether a file should not be read into memory."""
    try:
        size = Path(data).stat().st_size
    except OSError:
        return False  # whoever reads it says what is wrong
    return size > min(limit or memory(), memory()) / _SHARE


def out_of_core_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where the rows are while they are learned from."""
    for option in reversed(
        [
            click.option(
                "--out-of-core/--in-memory",
                "out_of_core",
                default=None,
                help="Leave the rows on disk, or take them into memory; by default they are left "
                "there if the file is larger than a quarter of the memory.",
            ),
            click.option(
                "--memory-limit",
                type=Size(),
                metavar="SIZE",
                help="As if there were only so much memory, such as 2GB.",
            ),
            click.option(
                "--cache-dir",
                type=click.Path(file_okay=False),
                help="Where converted rows are kept; by default in your folder for caches.",
            ),
        ]
    ):
        command = option(command)
    return command


def is_out_of_core(data: str, asked: bool | None, limit: int | None) -> bool:
    """Whether the rows stay on disk."""
    if asked and data == "-":
        raise click.UsageError("--out-of-core needs a file: standard input can be read only once.")
    if asked is not None:
        return asked
    return data != "-" and (not Path(data).is_file() or is_too_large(data, limit))


def open_source(data: str, *, target: str | None, cache_dir: str | None, **options: Any) -> Source:
    """Open the rows, and convert them if that has not been done."""
    from polyceptron.cli._data import asking, note_unnamed
    from polyceptron.cli._progress import Waiting
    from polyceptron.data.open import open_files

    with asking(**options) as request, Waiting("Converting") as waiting:
        source = open_files(
            data,
            target,
            request,
            cache_dir,
            lambda done, total: waiting.say("Converting", done, total),
        )
    note_unnamed(source.unnamed)
    return source


def refuse_options(learner: str, test_size: float | None, cv: int | None) -> None:
    """Refuse what needs the rows in memory."""
    able = [name for name in learner_names() if hasattr(find_learner(name), "fit_blocks")]
    if learner not in able:
        raise click.UsageError(
            f"--learner {learner} needs the rows in memory; these do not: {', '.join(able)}"
        )
    if test_size is not None or cv is not None:
        raise click.UsageError(
            "--test-size and --cv need the rows in memory; `evaluate` tells how a model answers "
            "another file."
        )


def tally(estimator: Any, source: Source) -> tuple[Any, Any]:
    """Count the answers to all rows: a line for each class, a column for each answer.

    And for each face the rows of other classes, and of the class inside, that it rejects.
    """
    import numpy as np

    from polyceptron.cli._options import cores
    from polyceptron.data.scaling import identity
    from polyceptron.data.source import View

    polyhedron, inside, _ = estimator.rule_.pieces[0]

    def count(block: Any) -> Any:
        out, own = polyhedron.margins(block.X) < 0, block.y > 0
        return np.array(
            [
                [*np.bincount(~rows.any(axis=1), minlength=2), *rows.sum(axis=0)]
                for rows in (out[~own], out[own])
            ]
        )

    data = source.blocks(View(identity(source.n_features), inside), cores())
    counts = data.reduce(count)
    answers, rejected = counts[:, :2], counts[:, 2:].T
    return (answers if inside == 1 else answers[::-1, ::-1]), rejected


def some_rows(source: Source) -> Any:
    """X of rows spread over the source, to tell what is usual."""
    import numpy as np

    n = min(source.n_samples, _TYPICAL_ROWS)
    return source.take(np.unique(np.linspace(0, source.n_samples - 1, n).astype(np.int64))).X


def encoding_of(source: Source) -> Any:
    """How a table becomes features; None where the columns have no names."""
    from polyceptron.data.encoding import Column, Encoding

    if source.encoding is not None or source.feature_names is None:
        return source.encoding
    return Encoding([Column(name, "number") for name in source.feature_names])

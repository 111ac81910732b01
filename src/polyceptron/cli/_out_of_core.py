"""`polyceptron fit` of more rows than memory holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._memory import Size, is_too_large

if TYPE_CHECKING:
    from polyceptron.data.source import Source

LEARNERS = ("polyceptron", "batch", "online", "spla1")
"""Those that learn from blocks of rows."""
_TYPICAL_ROWS = 100_000


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
    if learner not in LEARNERS:
        raise click.UsageError(
            f"--learner {learner} needs the rows in memory; these do not: {', '.join(LEARNERS)}"
        )
    if test_size is not None or cv is not None:
        raise click.UsageError(
            "--test-size and --cv need the rows in memory; `evaluate` tells how a model answers "
            "another file."
        )


@dataclass(frozen=True)
class Tally:
    """Answers of some rows: a line for each class, a column for each answer; and rejections.

    ``rejected[k]`` are the rows of other classes, and of the class inside, that face k rejects.
    """

    answers: Any
    rejected: Any

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.answers + other.answers, self.rejected + other.rejected)

    @property
    def share(self) -> float:
        """Of the rows that are answered rightly."""
        return float(self.answers.trace() / self.answers.sum())


@dataclass(frozen=True)
class TallyOf:
    """The answers of a block to hyperplanes in user units."""

    planes: Any
    inside: int

    def __call__(self, block: Any) -> Tally:
        import numpy as np

        from polyceptron import kernels

        panel, bias, K = self.planes
        scores = np.empty((block.n_samples, len(bias)))
        kernels.margins(block.X, panel, bias, scores)
        scores = scores[:, :K]
        is_inside, own = scores.min(axis=1) >= 0, block.y > 0
        answers = np.zeros((2, 2), int)
        np.add.at(answers, (own.astype(int), is_inside.astype(int)), 1)
        if self.inside == 0:
            answers = answers[::-1, ::-1]
        out = scores < 0
        return Tally(answers, np.column_stack([out[~own].sum(axis=0), out[own].sum(axis=0)]))


def tally(estimator: Any, source: Source) -> Tally:
    """The answers of a model to all rows."""
    from polyceptron.cli._options import cores
    from polyceptron.data.scaling import identity
    from polyceptron.data.source import View
    from polyceptron.optim.planes import Planes

    inside = estimator.rule_.inside_place
    data = source.blocks(View(identity(source.n_features), inside), cores())
    planes = Planes.of(estimator.coef_, estimator.intercept_)
    return data.reduce(TallyOf(planes, inside))


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

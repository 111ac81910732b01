"""`polyceptron reproduce` and `study`: the paper measured again, and what it leaves open."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._options import all_of, names_option
from polyceptron.cli._terminal import Waiting
from polyceptron.utils.lazy import need

if TYPE_CHECKING:
    from rich.console import Console

    from polyceptron.paper.table import ResultTable, TableRow


def _cores() -> int:
    from polyceptron.data.blocks import count_threads

    return count_threads(None, sys.maxsize)


_measuring = all_of(
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("polyceptron-report"),
        show_default=True,
        help="Folder for results and report.",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1),
        default=_cores,
        show_default="the cores there are",
        help="Processes; each fit has one thread. Times are steadiest with 1.",
    ),
    click.option("--resume", is_flag=True, help="Go on with the results in the folder."),
    click.option("--overwrite", is_flag=True, help="Start anew in the folder."),
)


@contextmanager
def _resumable(what: str, files: list[str], options: dict[str, Any]) -> Iterator[Waiting]:
    """Measure in this block; Ctrl-C says what is kept in `files`, and the command to go on with.

    What is missing or contradictory is said before an hour of measuring, not after.
    """
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other.")
    for package in ("matplotlib", "jinja2", "highspy"):
        need(package, "this command", "report")
    os.environ["POLYCEPTRON_QUIET"] = "1"  # the bar is on the line that the notice would take

    from polyceptron.paper.results_log import read_results

    progress = Waiting(what, counted=True)
    try:
        yield progress
    except KeyboardInterrupt:  # the bar may be a result behind what is written
        written = [path for name in files if (path := options["out"] / name).exists()]
        kept = sum(len(read_results(path, dict)[1]) for path in written)
        words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
        click.echo(
            f"\nInterrupted; {kept} of {progress.total} results are kept. Go on with\n"
            f"  {shlex.join(['polyceptron', *words, '--resume'])}",
            err=True,
        )
        raise click.exceptions.Exit(130) from None


@click.command(short_help="Measure the paper's table again, beside what it prints.")
@click.option("--quick", is_flag=True, help="Two repetitions instead of the paper's ten.")
@names_option(
    "--datasets", "Some of dataset1, dataset2, ionosphere, breast-cancer; by default all."
)
@names_option(
    "--methods",
    "Some of those of the table, such as batch,spla1,cart; by default all. A name that is none of "
    "them lists them.",
)
@click.option("--repetitions", type=click.IntRange(1, 1000), help="Of 10-fold cross-validation.")
@_measuring
def reproduce(
    quick: bool,
    datasets: list[str] | None,
    methods: list[str] | None,
    repetitions: int | None,
    **options: Any,
) -> None:
    """Measure Table 1 of the Polyceptron paper again, beside the figures that it prints.

    Repeated 10-fold cross-validation of the paper's methods and of some others on its four
    data sets, every method on the same folds. Writes folds.jsonl (result by result, so that an
    interrupted run can be resumed), table1.csv, table1.tex and report.html into the folder.
    """
    if quick and repetitions is not None:
        raise click.UsageError("--quick and --repetitions exclude each other.")
    with _resumable("Measuring folds", ["folds.jsonl"], options) as progress:
        from rich.console import Console

        from polyceptron.paper.protocol import load_protocol
        from polyceptron.paper.report import write_report
        from polyceptron.paper.reproduce import measure_table

        n = load_protocol().quick_repetitions if quick else repetitions
        with progress:
            table = measure_table(
                datasets=datasets, methods=methods, repetitions=n, progress=progress, **options
            )
        console = Console(highlight=False)
        print_table(table, console)
        with console.status("Drawing the report"):
            page = write_report(options["out"])
    click.echo(f"Report: {page.resolve()}")


def _beside(ours: float | None, papers: float | None) -> str:
    from polyceptron.paper.words import three_digits

    texts = ["" if value is None else three_digits(value) for value in (ours, papers)]
    return f"{texts[0]} ({texts[1]})" if texts[1] else texts[0]


_COLUMNS = {"accuracy %": 0, "paper": 45, "fit ms": 54, "÷ batch": 69, "hyperpl.": 80}
"""The columns of the table, and the least width of a terminal that they are shown on."""


def _cells(row: TableRow) -> dict[str, str]:
    paper, ours = row.printed, row.accuracy.text().replace(" ", "")
    ratio, faces = row.ratio, row.hyperplanes
    return {
        "accuracy %": f"[yellow]▼ {ours}[/yellow]" if row.below else ours,
        "paper": "" if paper is None else f"{paper.accuracy:.2f}±{paper.spread:.2f}",
        "fit ms": f"{1000 * row.seconds.mean:.1f}",
        "÷ batch": "" if ratio is None else _beside(ratio, row.printed_ratio),
        "hyperpl.": _beside(faces.mean if faces else None, paper.hyperplanes if paper else None),
    }


def print_table(table: ResultTable, console: Console) -> None:
    """Print the table, ours beside the paper's, and why ours is below where it is."""
    from rich import box
    from rich.table import Table as Grid

    repetitions = sorted({row.repetitions for row in table.rows})
    grid = Grid(
        title=f"Table 1, {' to '.join(map(str, repetitions))} x 10-fold cross-validation",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
        pad_edge=False,
        show_edge=False,
    )
    # Some terminals are narrow: whole columns go, never the end of a number.
    fitting = [name for name, least in _COLUMNS.items() if console.width >= least]
    grid.add_column("method", no_wrap=True)
    for name in fitting:
        grid.add_column(name, justify="right", no_wrap=True)
    for dataset in table.datasets:
        grid.add_row(f"[bold]{dataset.title}[/bold]")
        for row in table.of(dataset):
            cells = _cells(row)
            grid.add_row(f" {row.method.short}", *(cells[name] for name in fitting))
        grid.add_section()
    console.print(grid)
    console.print(
        "± is the standard deviation over repetitions. ÷ batch is the time beside that of Batch "
        "Polyceptron at the paper's settings, one thread each. In brackets: the paper's."
    )
    for reason, rows in table.notes.items():
        names = "; ".join(f"{row.method.short} on {row.dataset.title}" for row in rows)
        console.print(f"[yellow]▼[/yellow] {names}: {' '.join(reason.split())}")


@click.group(short_help="Answer a question that the paper leaves open.")
def study() -> None:
    """Answer a question that the paper leaves open."""


@study.command(short_help="Does the online algorithm converge on separable data?")
@click.option("--quick", is_flag=True, help="Few runs, for a first look.")
@_measuring
def convergence(quick: bool, **options: Any) -> None:
    """Measure whether online Polyceptron converges on polyhedrally separable data.

    Rows in a fixed order against rows reshuffled before each pass, on random separable sets;
    and small instances on which a fixed order provably goes round in a circle. Writes
    convergence.jsonl, and a page of report.html.
    """
    with _resumable("Running", ["convergence.jsonl", "cycles.jsonl"], options) as progress:
        from polyceptron.paper.convergence import findings, run_study
        from polyceptron.paper.report import write_report

        with progress:
            found = run_study(quick=quick, progress=progress, **options)
        for sentence in findings(found):
            click.echo(f"- {sentence}")
        page = write_report(options["out"])
    click.echo(f"Report: {page.resolve()}")

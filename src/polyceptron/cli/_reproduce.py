"""`polyceptron reproduce`: the paper's table, measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._measuring import measuring, resumable

if TYPE_CHECKING:
    from rich.console import Console

    from polyceptron.paper.table import ResultTable, TableRow


def _keys(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    names = [name.strip() for part in value for name in part.split(",")]
    if value and not any(names):
        raise click.BadParameter("names nothing")
    return [name for name in names if name] or None


@click.command(short_help="Measure the paper's table again, beside what it prints.")
@click.option("--quick", is_flag=True, help="Two repetitions instead of the paper's ten.")
@click.option(
    "--datasets",
    multiple=True,
    metavar="NAMES",
    callback=_keys,
    help="Some of dataset1, dataset2, ionosphere, breast-cancer; by default all.",
)
@click.option(
    "--methods",
    multiple=True,
    metavar="NAMES",
    callback=_keys,
    help="Some of batch-paper, online-paper, batch, online, spla1, pcslp, oc1, polyceptron, "
    "logistic, svm, cart; by default all.",
)
@click.option("--repetitions", type=click.IntRange(1, 1000), help="Of 10-fold cross-validation.")
@measuring
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
    again = ["--quick"] if quick else []
    again += ["--repetitions", str(repetitions)] if repetitions is not None else []
    again += ["--datasets", ",".join(datasets)] if datasets else []
    again += ["--methods", ",".join(methods)] if methods else []
    files = ["folds.jsonl"]
    with resumable("Measuring folds", "reproduce", again, files, options) as progress:
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
    brief = ["" if value is None else _three_digits(value) for value in (ours, papers)]
    return f"{brief[0]} ({brief[1]})" if brief[1] else brief[0]


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


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
        "hyperpl.": _beside(
            None if faces is None else faces.mean, None if paper is None else paper.hyperplanes
        ),
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

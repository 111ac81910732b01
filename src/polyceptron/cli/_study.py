"""`polyceptron study`: questions that the paper leaves open."""

from __future__ import annotations

from typing import Any

import click

from polyceptron.cli._measuring import measuring, resumable


@click.group(short_help="Answer a question that the paper leaves open.")
def study() -> None:
    """Answer a question that the paper leaves open."""


@study.command(short_help="Does the online algorithm converge on separable data?")
@click.option("--quick", is_flag=True, help="Few runs, for a first look.")
@measuring
def convergence(quick: bool, **options: Any) -> None:
    """Measure whether online Polyceptron converges on polyhedrally separable data.

    Rows in a fixed order against rows reshuffled before each pass, on random separable sets;
    and small instances on which a fixed order provably goes round in a circle. Writes
    convergence.jsonl, and a page of report.html.
    """
    again, files = ["--quick"] if quick else [], ["convergence.jsonl", "cycles.jsonl"]
    with resumable("Running", "study convergence", again, files, options) as progress:
        from polyceptron.paper.convergence import findings, run_study
        from polyceptron.paper.report import write_report

        with progress:
            found = run_study(quick=quick, progress=progress, **options)
        for sentence in findings(found):
            click.echo(f"- {sentence}")
        page = write_report(options["out"])
    click.echo(f"Report: {page.resolve()}")

"""`polyceptron study`: questions that the paper leaves open."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from polyceptron.cli._options import check_resume, measuring, need_report_parts


@click.group(short_help="Answer a question that the paper leaves open.")
def study() -> None:
    """Answer a question that the paper leaves open."""


@study.command(short_help="Does the online algorithm converge on separable data?")
@click.option("--quick", is_flag=True, help="Few runs, for a first look.")
@measuring
def convergence(
    quick: bool, out: Path, seed: int, jobs: int, resume: bool, overwrite: bool
) -> None:
    """Measure whether online Polyceptron converges on polyhedrally separable data.

    Rows in a fixed order against rows reshuffled before each pass, on random separable sets;
    and small instances on which a fixed order provably goes round in a circle. Writes
    convergence.jsonl, and a page of report.html.
    """
    check_resume(resume, overwrite)
    need_report_parts()
    os.environ["POLYCEPTRON_QUIET"] = "1"  # the bar is on the line that the notice would take

    from polyceptron.cli._progress import Progress
    from polyceptron.paper.convergence import findings, run_study
    from polyceptron.paper.report import write_report

    progress = Progress("Running")
    try:
        with progress:
            found = run_study(
                out,
                quick=quick,
                jobs=jobs,
                seed=seed,
                resume=resume,
                overwrite=overwrite,
                progress=progress,
            )
        for sentence in findings(found):
            click.echo(f"- {sentence}")
        page = write_report(out)
    except KeyboardInterrupt:
        words = ["polyceptron", "study", "convergence", "--resume", "--out", str(out)]
        words += ["--quick"] if quick else []
        words += ["--seed", str(seed)] if seed else []
        click.echo(
            f"\nInterrupted; {progress.done} of {progress.total} runs are kept. Go on with\n"
            f"  {shlex.join(words)}",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    click.echo(f"Report: {page.resolve()}")

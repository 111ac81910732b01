"""Does online Polyceptron converge on separable data? `polyceptron study convergence`.

The paper leaves it open. `run_study` measures it on random sets and settles small instances
exactly; `summarise` makes numbers of its results and `findings` sentences. docs/convergence.md
has the answer and the proofs.
"""

from polyceptron.paper.convergence.runs import ORDERS, Cell, RunResult
from polyceptron.paper.convergence.study import Study, run_study
from polyceptron.paper.convergence.summary import (
    CellSummary,
    GrowthRate,
    Pairs,
    Summary,
    findings,
    summarise,
)

__all__ = [
    "ORDERS",
    "Cell",
    "CellSummary",
    "GrowthRate",
    "Pairs",
    "RunResult",
    "Study",
    "Summary",
    "findings",
    "run_study",
    "summarise",
]

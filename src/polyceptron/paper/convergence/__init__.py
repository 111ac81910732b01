"""Does online Polyceptron converge on separable data? `polyceptron study convergence`.

The paper leaves it open. `run_study` measures it on random sets and settles small instances
exactly; `summarise` makes numbers of its results and `findings` sentences. docs/convergence.md
has the answer and the proofs.
"""

from polyceptron.paper.convergence.runs import RunResult
from polyceptron.paper.convergence.study import run_study
from polyceptron.paper.convergence.summary import findings, summarise

__all__ = ["RunResult", "findings", "run_study", "summarise"]

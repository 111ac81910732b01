"""Files and calls that the tests of the command line share."""

import csv
import io

import numpy as np
from click.testing import CliRunner

from polyceptron.cli import app

QUICK = ["-l", "batch", "-k", 1]
"""Options of `fit` for a learner that is done at once."""


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def done(*arguments, stdin=None):
    """Run a command that must succeed, and return what it printed."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def failed(*arguments, stdin=None, code=1):
    """Run a command that must fail, and return its error: one line, and nothing else."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    if code == 1:
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith("Error: ")
    return result.stderr


def people(n=200, seed=0):
    """Rows of age, dose, a colour and a class that a line separates."""
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(18, 90, n), rng.uniform(0, 10, n).round(3)
    colour = np.array(["red", "blue", "light, green"])[rng.integers(0, 3, n)]
    sick = np.where(age + 5 * dose + 10 * (colour == "red") > 80, "sick", "well")
    return [list(row) for row in zip(age.tolist(), dose.tolist(), colour, sick, strict=True)]


def text_of(rows, header=("age", "dose", "colour", "class"), delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))

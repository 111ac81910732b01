"""The page: what is in a folder of results, put into the template."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from polyceptron.paper.protocol import Protocol, load_protocol
from polyceptron.paper.report import figures
from polyceptron.paper.report.fits import (
    FEW_STARTS,
    SMALLER_STEPS,
    Courses,
    Learned,
    courses,
    learn,
)
from polyceptron.paper.report.study import StudyPage, read_study
from polyceptron.paper.report.svg import Chart
from polyceptron.paper.reproduce import FOLDS, environment, read_table
from polyceptron.paper.table import Row, Table

_FIGURES_OF_PAPER = ("dataset1", "dataset2")
_REAL = ("ionosphere", "breast-cancer")


@dataclass(frozen=True)
class Score:
    """How many of some printed figures are reached."""

    reached: int
    of: int

    def __str__(self) -> str:
        return f"{self.reached} of {self.of}"

    def __bool__(self) -> bool:
        return self.of > 0


@dataclass(frozen=True)
class Face:
    """One learned inequality, and what it does on the training rows."""

    number: int
    terms: list[str]
    rejected: int
    alone: int


@dataclass(frozen=True)
class Inequalities:
    """What was learned of one set, in words.

    ``weights`` has for each column that counts its name and, face by face, its share of the
    face in %, signed: coefficient times spread of the column, the sizes of a face adding up to 100.
    """

    learned: Learned
    faces: list[Face]
    weights: list[tuple[str, list[float]]]
    hidden: int


@dataclass(frozen=True)
class Measurements:
    """All that a page says about the results of `polyceptron reproduce`."""

    protocol: Protocol
    table: Table
    header: Mapping[str, Any]
    written: str
    notes: list[tuple[str, list[Row]]]
    scores: dict[str, Score]
    mistakes: list[Chart]
    criterion: list[Chart]
    descents: list[tuple[float, Courses]]
    times: list[Chart]
    inequalities: list[Inequalities]
    planes: list[Chart]

    @property
    def repetitions(self) -> int:
        return max(row.repetitions for row in self.table.rows)

    @property
    def fits(self) -> int:
        return sum(row.folds for row in self.table.rows)

    @property
    def unfinished(self) -> list[Row]:
        """Rows with fewer folds than the one that has most."""
        full = self.repetitions * self.protocol.folds
        return [row for row in self.table.rows if row.folds < full]

    @property
    def command(self) -> str:
        parts = ["polyceptron reproduce"]
        for name, known, found in (
            ("datasets", self.protocol.datasets, self.table.datasets),
            ("methods", self.protocol.methods, self.table.methods),
        ):
            if len(found) < len(known):
                parts += [f"--{name} {','.join(each.key for each in found)}"]
        if self.repetitions != self.protocol.repetitions:
            parts.append(f"--repetitions {self.repetitions}")
        parts += [f"--seed {self.header.get('seed')}", "--out FOLDER"]
        return " ".join(parts)

    def note(self, row: Row) -> int:
        """The number of the note that says why a row is below the printed figure."""
        return next(n for n, (_, rows) in enumerate(self.notes, 1) if row in rows)


def _in_words(day: str | None) -> str:
    if day is None:
        return "an unknown day"
    date = datetime.fromisoformat(day)
    return f"{date.day} {date:%B %Y}"


def measurements(folder: Path) -> Measurements | None:
    """What is in the folder's ``folds.jsonl``, and the fits that the page shows; None without."""
    path = folder / FOLDS
    if not path.exists():
        return None
    table, header = read_table(folder)
    if not table.rows:
        return None
    protocol = load_protocol()
    seed = header.get("seed", 0)
    keys = [dataset.key for dataset in table.datasets]
    descents = [_descents(protocol, key, seed) for key in keys]
    learned = [learn(protocol.methods["batch"], protocol.datasets[key], seed) for key in keys]
    return Measurements(
        protocol=protocol,
        table=table,
        header=header,
        written=_in_words(table.measured),
        notes=_notes(table),
        scores=_scores(table),
        mistakes=[_mistakes(protocol, key, seed) for key in keys if key in _FIGURES_OF_PAPER],
        criterion=[
            figures.criterion(each[0], each[-1], _steps(protocol)[0], _steps(protocol)[-1])
            for each in descents
        ],
        descents=[
            (step, _together(each))
            for step, each in zip(_steps(protocol), zip(*descents, strict=True), strict=True)
        ],
        times=[
            figures.accuracy_and_time(
                dataset, [row for row in table.rows if row.dataset.key == dataset.key]
            )
            for dataset in table.datasets
        ],
        inequalities=[inequalities(one) for one in learned if one.dataset.key in _REAL],
        planes=[figures.plane(one) for one in learned],
    )


def _steps(protocol: Protocol) -> tuple[float, ...]:
    return float(protocol.methods["batch-paper"].parameters["step_size"]), *SMALLER_STEPS


def _descents(protocol: Protocol, key: str, seed: int) -> list[Courses]:
    """The criterion of batch at the paper's settings, for each step."""
    return [
        courses(protocol, key, "batch-paper", "criterion", seed, step_size=step)
        for step in _steps(protocol)
    ]


def _together(each: Sequence[Courses]) -> Courses:
    """The runs of all sets."""
    return Courses(each[0].dataset, [run for one in each for run in one.runs], each[0].limit)


def _mistakes(protocol: Protocol, key: str, seed: int) -> Chart:
    given, reshuffled = (
        courses(protocol, key, "online-paper", "mistakes", seed, starts=FEW_STARTS, shuffle=shuffle)
        for shuffle in (False, True)
    )
    return figures.mistakes(given, reshuffled)


def _notes(table: Table) -> list[tuple[str, list[Row]]]:
    """Each reason once, with the rows that it is given for."""
    notes: dict[str, list[Row]] = {}
    for row in table.below:
        notes.setdefault(row.reason or "We know no reason.", []).append(row)
    return list(notes.items())


def _scores(table: Table) -> dict[str, Score]:
    """How many printed figures are reached, by who made them."""
    printed = [row for row in table.rows if row.printed]
    groups = {
        "ours": [row for row in printed if row.method.key in ("batch", "online")],
        "paper": [row for row in printed if row.method.key in ("batch-paper", "online-paper")],
    }
    groups["rivals"] = [row for row in printed if row not in groups["ours"] + groups["paper"]]
    return {
        name: Score(sum(row.accuracy.mean >= _printed(row) for row in rows), len(rows))
        for name, rows in groups.items()
    }


def _printed(row: Row) -> float:
    assert row.printed is not None
    return row.printed.accuracy


def inequalities(learned: Learned, most: int = 12) -> Inequalities:
    """What a polyhedron says, and what its faces do; the weights of `most` columns."""
    polyhedron = learned.polyhedron
    outside = polyhedron.margins(learned.X) < 0
    faces = [
        Face(
            k,
            # Where a line may break: before a sign or the ≥.
            re.split(r" (?=[+-] |≥ )", text.replace(">=", "≥")),
            int(outside[:, k].sum()),
            int((outside[:, k] & (outside.sum(axis=1) == 1)).sum()),
        )
        for k, text in enumerate(polyhedron.to_text(4).split("\n"))
    ]
    effects = polyhedron.W * learned.X.std(axis=0)
    shares = 100 * effects / np.maximum(np.abs(effects).sum(axis=1, keepdims=True), 1e-300)
    order = np.argsort(-np.abs(shares).max(axis=0), kind="stable")
    names = polyhedron.feature_names or [f"x{j}" for j in range(polyhedron.n_features)]
    weights = [(names[j], shares[:, j].tolist()) for j in order[:most]]
    return Inequalities(learned, faces, weights, len(order) - len(weights))


def render(folder: Path) -> str:
    """The page of a folder, as text."""
    return template(measured=measurements(folder), study=read_study(folder))


def template(*, measured: Measurements | None, study: StudyPage | None) -> str:
    """Put these into the template; all text is escaped there, but for the figures' elements."""
    import jinja2
    from markupsafe import Markup

    environ = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_source),
    )
    environ.filters |= {
        "signed": figures.signed,
        "duration": figures.duration,
        "plain": lambda value: f"{value:.10f}".rstrip("0"),
        "brief": lambda value: f"{value:.3g}" if value < 1000 else f"{value:.0f}",
    }
    environ.globals["now"] = environment()
    script = _source("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = environ.get_template("report.html.j2").render(
        measured=measured,
        study=study,
        style=Markup(_source("style.css")),
        script=Markup(script),
        script_hash=digest,
        drawn=lambda chart: Markup(chart.svg),
    )
    return text


def _source(name: str) -> str:
    return files("polyceptron.paper.report").joinpath(name).read_text("utf-8")

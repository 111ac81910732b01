"""The page: what is in a folder of results, put into the template."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from polyceptron.paper.protocol import Protocol, load_protocol
from polyceptron.paper.report import figures
from polyceptron.paper.report.figures import Curves, Learned, learn_polyhedron, learning_curves
from polyceptron.paper.report.study import study_context
from polyceptron.paper.reproduce import FOLDS_FILE, PACKAGES, read_folds
from polyceptron.paper.results_log import package_versions
from polyceptron.paper.table import ResultTable
from polyceptron.paper.words import fill_words
from polyceptron.rule import as_rule

STARTS = {"criterion": 10, "mistakes": 5}  # curves of mistakes cross too often to be seen
SMALLER_STEPS = (0.01, 0.001, 0.0001)  # than the paper's; the last is drawn beside it


def render(folder: Path) -> str:
    """The page of a folder, as text."""
    script = files("polyceptron.paper.report").joinpath("script.js").read_bytes()
    return fill_words(
        "report/report.html.j2",
        measured=results_context(folder),
        study=study_context(folder),
        now=package_versions(PACKAGES),
        script_hash=base64.b64encode(hashlib.sha256(script).digest()).decode(),
    )


def results_context(folder: Path) -> dict[str, Any] | None:
    """What the template says about ``folds.jsonl`` and about single fits; None without results."""
    path, protocol = folder / FOLDS_FILE, load_protocol()
    table, header = read_folds(path) if path.exists() else (ResultTable([]), {})
    if not table.rows:
        return None
    repetitions = max(row.repetitions for row in table.rows)
    notes, day = table.notes, table.measured and datetime.fromisoformat(table.measured)
    return {
        "protocol": protocol,
        "table": table,
        "header": header,
        "written": f"{day.day} {day:%B %Y}" if day else "an unknown day",
        "repetitions": repetitions,
        "fits": sum(row.folds for row in table.rows),
        "unfinished": [row for row in table.rows if row.folds < repetitions * protocol.folds],
        "command": _command(protocol, table, repetitions, header.get("seed")),
        "notes": notes,
        "note": lambda row: list(notes).index(row.reason) + 1,
        "scores": _count_reached(table),
        "times": [figures.time_chart(dataset, table.of(dataset)) for dataset in table.datasets],
        **_fits(protocol, table, header.get("seed", 0)),
    }


def _command(protocol: Protocol, table: ResultTable, repetitions: int, seed: Any) -> str:
    parts = ["polyceptron reproduce"]
    for name in ("datasets", "methods"):
        found = getattr(table, name)
        if len(found) < len(getattr(protocol, name)):
            parts.append(f"--{name} {','.join(each.key for each in found)}")
    if repetitions != protocol.repetitions:
        parts.append(f"--repetitions {repetitions}")
    return " ".join([*parts, f"--seed {seed}", "--out FOLDER"])


def _count_reached(table: ResultTable) -> dict[str, str]:
    """How many printed figures are reached, by who made them; nothing of those with none."""
    reached: dict[str, list[bool]] = {"ours": [], "paper": [], "rivals": []}
    of = {"batch": "ours", "online": "ours", "batch-paper": "paper", "online-paper": "paper"}
    for row in table.rows:
        if row.printed:
            reaches = row.accuracy.mean >= row.printed.accuracy
            reached[of.get(row.method.key, "rivals")].append(reaches)
    return {who: f"{sum(all_)} of {len(all_)}" if all_ else "" for who, all_ in reached.items()}


def _fits(protocol: Protocol, table: ResultTable, seed: int) -> dict[str, Any]:
    """What is learned for the page itself, from the first repetition of each set."""
    methods = protocol.methods

    def curves(dataset: Any, method: str, measure: str, **changes: Any) -> Curves:
        starts = STARTS[measure]
        return learning_curves(methods[method], dataset, measure, seed, starts, **changes)

    steps = (float(methods["batch-paper"].parameters["step_size"]), *SMALLER_STEPS)
    # The criterion of batch at the paper's settings, by set and step.
    descents = [
        [curves(dataset, "batch-paper", "criterion", step_size=step) for step in steps]
        for dataset in table.datasets
    ]
    learned = [learn_polyhedron(methods["batch"], dataset, seed) for dataset in table.datasets]
    return {
        "mistakes": [
            figures.mistakes_chart(
                *(curves(dataset, "online-paper", "mistakes", shuffle=s) for s in (False, True))
            )
            for dataset in table.datasets
            if dataset.key in ("dataset1", "dataset2")  # as in the paper
        ],
        "criterion": [
            figures.criterion_chart(each[0], each[-1], steps[0], steps[-1]) for each in descents
        ],
        "descents": [
            (step, Curves(some[0].dataset, [r for one in some for r in one.runs], some[0].limit))
            for step, some in zip(steps, zip(*descents, strict=True), strict=True)
        ],
        "inequalities": [
            face_facts(one)
            for one in learned
            if one.dataset.key in ("ionosphere", "breast-cancer")  # whose columns mean something
        ],
        "planes": [figures.plane_chart(one) for one in learned],
    }


def face_facts(learned: Learned, most: int = 12) -> dict[str, Any]:
    """What a polyhedron says in words, and what its faces do on the rows it was learned from.

    ``weights`` has for each of `most` columns its name and, face by face, its share of the face
    in %, signed: coefficient times spread of the column, the sizes of a face adding up to 100.
    """
    polyhedron = learned.polyhedron
    outside = polyhedron.margins(learned.X) < 0
    alone = outside & (outside.sum(axis=1, keepdims=True) == 1)
    faces = [
        {
            "number": k,
            # Where a line may break: before a sign.
            "terms": re.split(r" (?=[+-] |[≥≤] )", text.replace(">=", "≥").replace("<=", "≤")),
            "rejected": int(outside[:, k].sum()),
            "alone": int(alone[:, k].sum()),
        }
        for k, text in enumerate(polyhedron.to_text(4).split("\n"))
    ]
    effects = polyhedron.W * learned.X.std(axis=0)
    shares = 100 * effects / np.maximum(np.abs(effects).sum(axis=1, keepdims=True), 1e-300)
    order = np.argsort(-np.abs(shares).max(axis=0), kind="stable")
    weights = [(as_rule(polyhedron).names[j], shares[:, j].tolist()) for j in order[:most]]
    hidden = len(order) - len(weights)
    return {"learned": learned, "faces": faces, "weights": weights, "hidden": hidden}

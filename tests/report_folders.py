"""Folders of results for the tests of the report, made up in no time."""

from dataclasses import asdict

from polyceptron.paper.convergence import ORDERS, Cell, runs, searches
from polyceptron.paper.convergence.runs import Key
from polyceptron.paper.convergence.study import RUNS_FILE, SEARCHES_FILE
from polyceptron.paper.journal import Journal
from polyceptron.paper.protocol import load_protocol
from polyceptron.paper.reproduce import FOLDS, header

RIGHT = {"batch": 97, "online-paper": 99, "cart": 90}


def fill_folds(
    out, datasets=("dataset1", "breast-cancer"), methods=("online-paper", "batch", "cart"), drop=0
):
    """Two repetitions with the accuracies of RIGHT in %, the last `drop` folds missing."""
    protocol = load_protocol()
    records = [
        {
            "dataset": dataset, "method": method, "repetition": repetition, "fold": fold,
            "seed": 1, "right": RIGHT[method] + (fold == repetition == 0), "rows": 100,
            "seconds": 0.01 * (1 + fold / 10), "tuning_seconds": 0.0,
            "hyperplanes": protocol.datasets[dataset].K, "parameters": {},
        }
        for dataset in datasets
        for method in methods
        for repetition in range(2)
        for fold in range(protocol.folds)
    ]  # fmt: skip
    with Journal(out / FOLDS, header(protocol, 7), overwrite=True) as journal:
        for record in records[: len(records) - drop]:
            journal.append(record)


def fill_study(out):
    """Two small cells in both orders, and two searches."""
    cells = [Cell(d=2, K=K, margin=0.1, N=30, digits=6) for K in (2, 3)]
    common = {"seed": 3, "quick": True, "versions": {}}
    first = {
        "study": "convergence", **common, "limit": 50, "runs": 3,
        "cells": [asdict(cell) for cell in cells],
    }  # fmt: skip
    with Journal(out / RUNS_FILE, first, overwrite=True) as journal:
        for cell in cells:
            for run in range(3):
                for order in ORDERS:
                    journal.append(runs.work(Key(cell, run, order), 3, 50))
    with Journal(out / SEARCHES_FILE, {"study": "cycles", **common}, overwrite=True) as journal:
        for task in (
            ("replay", {"variant": "smallest"}),
            ("cycles", {"d": 1, "N": 2, "K": 2, "reach": 1, "starts": "zero"}),
        ):
            journal.append(searches.work(task, 3))

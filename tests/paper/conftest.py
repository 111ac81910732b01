"""Folders of results for the tests of table and report, made once."""

import pytest

from polyceptron.paper.convergence.exact import run_search
from polyceptron.paper.convergence.runs import ROW_ORDERS, Cell, RunResult, measure_run
from polyceptron.paper.convergence.study import RUNS_FILE, SEARCHES_FILE
from polyceptron.paper.folds import FoldResult
from polyceptron.paper.protocol import load_protocol
from polyceptron.paper.reproduce import FOLDS_FILE, folds_header
from polyceptron.paper.results_log import ResultsLog

RIGHT = {"batch": 97, "online-paper": 99, "cart": 90}


@pytest.fixture(scope="session")
def protocol():
    return load_protocol()


@pytest.fixture(scope="session")
def fold_result():
    def make(dataset, method, repetition, fold, right, rows=100, seconds=0.1, hyperplanes=2):
        return FoldResult(
            dataset, method, repetition, fold, 1, right, rows, seconds, 0.0, hyperplanes
        )

    return make


@pytest.fixture(scope="session")
def fill_folds(fold_result):
    """Two repetitions with the accuracies of RIGHT in %, the last `drop` folds missing."""

    def fill(out, datasets=("dataset1", "breast-cancer"), methods=tuple(RIGHT), drop=0):
        protocol = load_protocol()
        results = [
            fold_result(
                dataset, method, repetition, fold, RIGHT[method] + (fold == repetition == 0),
                seconds=0.01 * (1 + fold / 10), hyperplanes=protocol.datasets[dataset].K,
            )
            for dataset in datasets
            for method in methods
            for repetition in range(2)
            for fold in range(protocol.folds)
        ]  # fmt: skip
        with ResultsLog(out / FOLDS_FILE, folds_header(protocol, 7), FoldResult) as log:
            for result in results[: len(results) - drop]:
                log.append(result)

    return fill


@pytest.fixture(scope="session")
def fill_study():
    """Two small cells in both orders, and two searches."""

    def fill(out):
        cells = [Cell(d=2, K=K, margin=0.1, N=30, digits=6) for K in (2, 3)]
        common = {"seed": 3, "quick": True, "versions": {}}
        grid = [cell._asdict() for cell in cells]
        header = {"study": "convergence", **common, "limit": 50, "runs": 3, "cells": grid}
        with ResultsLog(out / RUNS_FILE, header, RunResult) as log:
            for cell in cells:
                for run in range(3):
                    for order in ROW_ORDERS:
                        log.append(measure_run((cell, run, order), 3, 50))
        with ResultsLog(out / SEARCHES_FILE, {"study": "cycles", **common}, dict) as log:
            log.append(run_search(("replay", {"variant": "smallest"}), 3))
            counted = {"d": 1, "N": 2, "K": 2, "reach": 1, "starts": "zero"}
            log.append(run_search(("cycles", counted), 3))

    return fill


@pytest.fixture(scope="session")
def report(tmp_path_factory, fill_folds, fill_study):
    """The page of a folder that has everything, with two curves a figure."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from polyceptron.paper.report import page, write_report

    out = tmp_path_factory.mktemp("report")
    fill_folds(out)
    fill_study(out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "STARTS", {"criterion": 2, "mistakes": 2})
        return write_report(out)

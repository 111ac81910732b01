"""Rows and parameters that no learner takes, each with what the message must say.

``DIFFERENT`` lists, one by one, where a learner differs from the others.
"""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import scipy.sparse as sp

from common import SETTINGS, square
from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    DiscreteSVM,
    OnlinePolyceptron,
    Polyceptron,
    PolyhedralSVM,
)

X_OK, Y_OK = square(40)
N = len(Y_OK)
LABEL_3 = np.arange(N) % 3
DATES = np.datetime64("2026-01-01") + np.arange(2 * N).reshape(N, 2)


def changed(value, *place):
    X = X_OK.astype(object if isinstance(value, str) else np.result_type(type(value), float))
    X[place] = value
    return X


BAD_ROWS = {
    "NaN": ({"X": changed(np.nan, 3, 1)}, r"X .*NaN"),
    "infinity": ({"X": changed(np.inf, 3, 1)}, r"X .*infinity"),
    "NaN in CSR": ({"X": sp.csr_matrix(changed(np.nan, 3, 1))}, r"X .*NaN"),
    "strings": ({"X": changed("abc", 3, 1)}, r"'abc'"),
    "numbers as strings": ({"X": X_OK.astype(str)}, r"X .*text"),
    "dates": ({"X": DATES}, r"X must hold real numbers; got dates \(datetime64\[D\]\)"),
    "spans of time": ({"X": DATES - DATES[0, 0]}, r"X .*spans of time \(timedelta64\[D\]\)"),
    "dates as objects": ({"X": DATES.astype(object)}, r"X .*date or time datetime.date\(2026"),
    "dates in lists": ({"X": DATES.astype(datetime).tolist()}, r"X .*date or time"),
    "dates in a frame": (
        {"X": pd.DataFrame({"size": X_OK[:, 0], "day": DATES[:, 0]})},
        r"X, column 'day', must hold real numbers; got dates",
    ),
    "spans in objects": ({"X": [[timedelta(n)] for n in range(N)]}, r"X .*date or time"),
    "complex": ({"X": changed(1j, 3, 1)}, r"Complex data not supported"),
    "one column, 1-D": ({"X": X_OK[:, 0]}, r"Expected 2D array"),
    "no rows": ({"X": X_OK[:0], "y": Y_OK[:0]}, r"0 sample"),
    "no columns": ({"X": X_OK[:, :0]}, r"0 feature"),
    "other number of labels": ({"y": Y_OK[:-1]}, rf"inconsistent.*\[{N}, {N - 1}\]"),
    "one class": ({"y": np.full(N, 7)}, r"y .*1 class: \[7\]"),
    "three classes": ({"y": LABEL_3}, r"[Oo]nly binary.*3 classes.*OneVsRestClassifier"),
    "NaN label": ({"y": np.where(Y_OK, 1.0, np.nan)}, r"y .*NaN"),
    "real labels": ({"y": X_OK[:, 0]}, r"Unknown label type: continuous"),
    "negative weight": (
        {"sample_weight": np.r_[1.0, 1, -2, np.ones(N - 3)]},
        r"sample_weight.* -2.0 in row 2",
    ),
    "all weights negative": ({"sample_weight": np.full(N, -1.0)}, r"sample_weight.* -1.0 in row 0"),
    "NaN weight": ({"sample_weight": np.full(N, np.nan)}, r"sample_weight contains NaN"),
    "weights of another length": ({"sample_weight": np.ones(3)}, rf"sample_weight.*\(3,\).*{N}"),
    "no weight at all": ({"sample_weight": np.zeros(N)}, r"[Ss]ample.weight.*zero"),
    "weights near the largest number": (
        {"sample_weight": np.full(N, 1e308)},
        r"sample_weight .*more than 1e\+303, got inf: scale them down",
    ),
    "one such weight": (
        {"sample_weight": np.r_[1e308, np.ones(N - 1)]},
        r"sample_weight .*got 1e\+308",
    ),
    "class without weight": (
        {"sample_weight": Y_OK.astype(float)},
        r"sample_weight.*class .*0.* without weight",
    ),
    "too few rows with weight": (
        {"sample_weight": np.r_[[1.0, 1], np.zeros(N - 2)], "y": np.arange(N) % 2},
        r"n_hyperplanes=3 .*n_samples=2",
    ),
}

# (case, learner) -> the error and its message, or None where that learner takes such rows.
DIFFERENT = {
    ("NaN in CSR", OC1): (TypeError, r"Sparse data was passed"),
    ("one class", OC1): None,
    ("three classes", OC1): None,
    ("three classes", Polyceptron): None,
    ("too few rows with weight", OC1): None,
    ("too few rows with weight", SPLA2): (ValueError, r"validation_fraction=0.2 .*n_samples=2"),
}

BAD_PARAMETERS = {
    "n_hyperplanes": [0, -1, 2.5, "3", None, True, N + 1],
    "step_size": [0, -0.1, np.nan, np.inf, "fast", None, True],
    "max_iter": [0, 1.5, 2.5, None],
    "n_iter_no_change": [0, None],
    "margin": [-1, np.inf, "wide"],
    "n_init": [0, 2.0, "five"],
    "standardize": ["yes", None, 1],
    "warm_start": ["no"],
    "inside": [2, "inside", 0.5],
    "init": ["zeros", "k-means", np.zeros((3, 2)), np.zeros(9), np.full((3, 3), np.nan), None],
    "class_weight": ["heavy", {5: 1.0}, [1, 2], {0: -1.0}, {0: np.nan}, 3],
    "n_jobs": [0, "two", 1.5],
    "random_state": ["seed", 1.5, -1, [[1]]],
    "verbose": [-1, 1.5, "loud", None],
    "tol": [-1, -1e-3, np.nan, "small"],
    "inner_steps": [0, 1.5],
}
BAD_OF_ONE = {
    BatchPolyceptron: {"prune": ["always", None, 2]},
    OnlinePolyceptron: {
        "shuffle": ["yes", None],
        "average": [2, "mean"],
        "pocket": ["best", None],
    },
    SPLA1: {
        "C": [0, -1.0, np.inf, np.nan, "strong", None, True],
        "inner_steps": [None],
        "tol": [None],
    },
    SPLA2: {
        "C": [0, -1.0, np.inf, np.nan, "strong", None, True],
        "inner_steps": [None],
        "tol": [None],
        "max_hyperplanes": [0, 2.5, None, "many"],
        "n_hyperplanes_no_change": [0, 2.5, None, True],
        "validation_fraction": [0, 1, 1.5, -0.1, np.nan, None, "half"],
    },
    PCSLP: {
        "tol": [None],
        "max_ties": [0, 2.5, None, True],
        "time_limit": [0, -1, np.inf, "long"],
    },
    PolyhedralSVM: {
        "C": [0, -1.0, np.inf, np.nan, "strong", None, True],
        "outside_loss": ["best", None, 1],
        "tol": [None],
    },
    DiscreteSVM: {
        "penalty": [0, -1, np.inf, np.nan, "strong", None, True],
        "tol": [None],
        "max_exact": [-1, 2.5, None, True],
        "max_nodes": [-1, 2.5, None],
        "time_limit": [0, -1, np.inf, "long"],
    },
    OC1: {
        "criterion": ["chi2", None, 0, True],
        "order": ["cyclic", None, 1],
        "n_restarts": [-1, 2.5, "3", None, True],
        "n_jumps": [-1, 0.5, None],
        "max_depth": [0, -1, 2.5, "deep"],
        "min_samples_split": [1, 0, 2.5, None],
        "min_samples_oblique": [-1, 2.5, "few"],
        "prune_share": [-0.1, 1, 1.5, np.nan, "tenth", None, True],
    },
    Polyceptron: {
        "digits": [0, 1.5, "many", True],
        "n_hyperplanes": ["auot"],
        "margin": [np.nan, "auot", None, True],
        "penalty": [-1, np.nan, np.inf, "auot", True],
        "sampled": ["auot", "yes", None, 0, 1, 0.5, np.nan],
        "inside": ["auot"],
    },
}


def bad_parameters():
    """Learner, name and value: those of all that the learner has, and its own."""
    for learner in SETTINGS:
        for table in (BAD_PARAMETERS, BAD_OF_ONE[learner]):
            for name, values in table.items():
                if name in learner().get_params():
                    yield from ((learner, name, value) for value in values)


def found_in(value, message):
    """Does the message show the value: itself, its shape, or the item that is wrong?"""
    if isinstance(value, np.ndarray):
        return str(value.shape) in message or "NaN" in message
    if isinstance(value, dict):
        return any(repr(part) in message for pair in value.items() for part in pair)
    return repr(value) in message or (value is None and "()" in message)

"""Fits on processors of several kinds: run as a program, since BLAS looks at its kind once.

``python core_types.py`` prints as JSON what learners learn, and what they answer.
"""

import json
import sys
import warnings

import numpy as np

from polyceptron import OC1, SPLA1, BatchPolyceptron, OnlinePolyceptron, Polyceptron


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 5)) * [1, 10, 0.1, 3, 7] + [0, 5, 1, 0, -3]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = ((Z @ rng.normal(size=(3, 5)).T + 1).min(axis=1) > 0).astype(int)
    y[::17] ^= 1
    few = {"max_iter": 20, "random_state": 0}
    models = {
        "batch": BatchPolyceptron(3, **few),
        "online": OnlinePolyceptron(3, **few),
        "polyceptron": Polyceptron(2, n_init=2, **few),
        "spla1": SPLA1(3, **few),
        "oc1": OC1(random_state=0, n_restarts=2),
    }
    found = {}
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        pieces = [piece.polyhedron for piece in model.rule_.pieces]
        faces = [np.column_stack([one.W, one.b]).ravel().tolist() for one in pieces]
        chances = model.predict_proba(X).tolist() if model.rule_.has_probabilities else []
        found[name] = {
            "faces": [value for piece in faces for value in piece],
            "labels": model.predict(X).tolist(),
            "chances": chances,
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()

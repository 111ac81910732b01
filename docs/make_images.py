"""Make the pictures of the documentation: ``python docs/make_images.py``."""

from pathlib import Path

import numpy as np

from polyceptron import OnlinePolyceptron, Polyhedron
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import PolyhedronDisplay

HERE = Path(__file__).parent


def draw_polygon() -> PolyhedronDisplay:
    """Learn and draw an operating window of two columns, made up."""
    X, y, _ = make_polyhedron(500, 2, 5, balance=0.35, random_state=86)
    X = X * [20.0, 1.5] + [60.0, 4.0]
    labels = np.where(y > 0, "good", "bad")
    model = OnlinePolyceptron(5, standardize=True, random_state=0).fit(X, labels)
    named = Polyhedron(model.coef_, model.intercept_, ["temperature", "pressure"])
    return PolyhedronDisplay.from_polyhedron(named, X, labels, inside=model.inside_)


if __name__ == "__main__":
    draw_polygon().figure_.savefig(HERE / "images" / "polygon.png", dpi=120)

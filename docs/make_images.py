"""Make the pictures of the documentation: ``python docs/make_images.py [readable]``."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from polyceptron import OC1, BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import load_breast_cancer, make_polyhedron
from polyceptron.plots import (
    AnimationDisplay,
    FaceHeatmapDisplay,
    HistoryDisplay,
    PolyhedronDisplay,
    WaterfallDisplay,
    plot_model,
)

IMAGES = Path(__file__).parent / "images"
READABLE = Path(__file__).parent / "results" / "readable.json"
MOST_BYTES = 60_000


def window_rows(n: int = 500) -> tuple[pd.DataFrame, Any]:
    """Rows of an operating window of two columns, made up."""
    X, y, _ = make_polyhedron(n, 2, 5, balance=0.35, random_state=86)
    rows = pd.DataFrame(X * [20.0, 1.5] + [60.0, 4.0], columns=["temperature", "pressure"])
    return rows, np.where(y > 0, "good", "bad")


def window_displays() -> dict[str, Any]:
    """Draw what is learned of the operating window."""
    X, y = window_rows()
    model = OnlinePolyceptron(5, standardize=True, random_state=0).fit(X, y)
    tree = OC1(random_state=0).fit(X, y)
    return {
        "polygon": PolyhedronDisplay.from_estimator(model, X, y),
        "faces": PolyhedronDisplay.from_estimator(model, X, y, regions="faces"),
        "tree": PolyhedronDisplay.from_estimator(tree, X, y),
    }


def cancer_displays() -> dict[str, Any]:
    """Draw what is learned of the breast-cancer data, nine columns."""
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data, bunch.target
    model = BatchPolyceptron(3, random_state=0).fit(X, y)
    runs = {
        f"start {seed}": BatchPolyceptron(3, n_init=1, random_state=seed).fit(X, y)
        for seed in range(4)
    }
    return {
        "plane": PolyhedronDisplay.from_estimator(model, X, y, plane="pca", regions="faces"),
        "slice": PolyhedronDisplay.from_estimator(
            model, X, y, plane=("clump_thickness", "bare_nuclei")
        ),
        "weights": FaceHeatmapDisplay.from_estimator(model, X),
        "waterfall": WaterfallDisplay.from_estimator(model, X.iloc[5], X),
        "histories": HistoryDisplay.from_estimators(runs)[0],
        "model": plot_model(model, X, y),
    }


def readable_figure() -> Any:
    """Draw accuracy against terms, as ``python -m benchmarks.readable`` measured it."""
    from matplotlib.figure import Figure

    lines = pd.DataFrame(json.loads(READABLE.read_text(encoding="utf-8"))["summary"])
    free = lines[lines["budget"] == "None"]
    limited = lines[lines["budget"] != "None"].astype({"budget": int})
    budgets = sorted(limited["budget"].unique())
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    ends = {}
    for n, (method, line) in enumerate(limited.groupby("method", sort=False)):
        ours = method == "polyceptron"
        style = {"color": "black" if ours else f"C{n}", "linewidth": 2.5 if ours else 1.5}
        axes.plot(line["budget"], line["accuracy"], "o-", markersize=4, **style)
        ends[method] = (line["accuracy"].iloc[-1], style["color"])
    for _, one in free.iterrows():
        axes.axhline(one["accuracy"], color="gray", linestyle="--", linewidth=1)
        text = f"{one['method']}, {one['terms']:.0f} functions of one or two columns"
        above = {"xytext": (0, 3), "textcoords": "offset points", "color": "gray"}
        axes.annotate(text, (budgets[0], one["accuracy"]), va="bottom", **above)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [str(budget) for budget in budgets])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("most terms of the model")
    axes.set_ylabel(f"accuracy on test rows, mean of {lines['sets'].iloc[0]} sets (%)")
    axes.spines[["top", "right"]].set_visible(False)
    _label_ends(axes, ends, budgets[-1])
    return figure


def _label_ends(axes: Any, ends: dict[str, tuple[float, str]], x: float) -> None:
    """Write names where lines end, from the lowest up, a line of text apart."""
    low, high = axes.get_ylim()
    apart, y = (high - low) / 20, -np.inf
    for name, (value, color) in sorted(ends.items(), key=lambda one: one[1][0]):
        y = max(value, y + apart)
        place = {"xytext": (8, 0), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(name, (x, y), color=color, va="center", **place)


def animation() -> bytes:
    """Draw the online learner at work."""
    X, labels = window_rows(100)
    learner = OnlinePolyceptron(5, standardize=True, random_state=1)
    display = AnimationDisplay.from_learner(learner, X, labels, n_frames=12)
    return display.to_gif(fps=2.5, dpi=48)


def png(display: Any, dpi: float = 110) -> bytes:
    """Return a small PNG: drawings need few colours."""
    raw, out = io.BytesIO(), io.BytesIO()
    getattr(display, "figure_", display).savefig(raw, format="png", dpi=dpi)
    image = (
        Image.open(raw)
        .convert("RGB")
        .quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()


def write(name: str, data: bytes) -> None:
    """Write an image, unless it is too large for a repository."""
    if len(data) > MOST_BYTES:
        raise SystemExit(f"{name} has {len(data)} bytes, more than {MOST_BYTES}")
    (IMAGES / name).write_bytes(data)


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    write("readable.png", png(readable_figure()))
    if sys.argv[1:] != ["readable"]:
        for name, display in {**window_displays(), **cancer_displays()}.items():
            write(f"{name}.png", png(display))
        write("learning.gif", animation())

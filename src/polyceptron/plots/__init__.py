"""Pictures, as scikit-learn style displays; the only part that needs matplotlib.

Examples
--------
>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from polyceptron import BatchPolyceptron
>>> from polyceptron.datasets import make_polyhedron
>>> from polyceptron.plots import HistoryDisplay, PolyhedronDisplay
>>> X, y, _ = make_polyhedron(300, 2, 4, random_state=0)
>>> model = BatchPolyceptron(4, random_state=0).fit(X, y)
>>> display = PolyhedronDisplay.from_estimator(model, X, y, regions="faces")
>>> display.ax_.get_xlabel()
'x0'
>>> HistoryDisplay.from_estimator(model).axes_[0].get_ylabel()
'mistakes'
"""

from polyceptron.plots._animation import AnimationDisplay, animate
from polyceptron.plots._frame import LARGEST
from polyceptron.plots._heatmap import FaceHeatmapDisplay
from polyceptron.plots._history import HistoryDisplay
from polyceptron.plots._model import plot_model
from polyceptron.plots._polyhedron import PolyhedraDisplay, PolyhedronDisplay
from polyceptron.plots._save import save
from polyceptron.plots._waterfall import WaterfallDisplay

__all__ = [
    "LARGEST",
    "AnimationDisplay",
    "FaceHeatmapDisplay",
    "HistoryDisplay",
    "PolyhedraDisplay",
    "PolyhedronDisplay",
    "WaterfallDisplay",
    "animate",
    "plot_model",
    "save",
]

"""Pictures, as scikit-learn style displays; the only part that needs matplotlib.

Examples
--------
>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from polyceptron import Polyhedron
>>> from polyceptron.plots import PolyhedronDisplay
>>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], ["age", "dose"])
>>> PolyhedronDisplay.from_polyhedron(triangle, [[0.2, 0.3], [2, 2]]).ax_.get_xlabel()
'age'
"""

from polyceptron.plots._animation import AnimationDisplay, animate
from polyceptron.plots._heatmap import FaceHeatmapDisplay
from polyceptron.plots._history import HistoryDisplay
from polyceptron.plots._model import plot_model
from polyceptron.plots._path import PathDisplay, plot_paths
from polyceptron.plots._polyhedron import PolyhedraDisplay, PolyhedronDisplay
from polyceptron.plots._save import save
from polyceptron.plots._waterfall import WaterfallDisplay
from polyceptron.plots.style import LARGEST

__all__ = [
    "LARGEST",
    "AnimationDisplay",
    "FaceHeatmapDisplay",
    "HistoryDisplay",
    "PathDisplay",
    "PolyhedraDisplay",
    "PolyhedronDisplay",
    "WaterfallDisplay",
    "animate",
    "plot_model",
    "plot_paths",
    "save",
]

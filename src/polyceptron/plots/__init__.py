"""Pictures, as scikit-learn style displays; the only part that needs matplotlib."""

from polyceptron.plots._animation import AnimationDisplay, animate
from polyceptron.plots._heatmap import FaceHeatmapDisplay
from polyceptron.plots._history import HistoryDisplay
from polyceptron.plots._model import plot_model
from polyceptron.plots._polyhedron import PolyhedraDisplay, PolyhedronDisplay
from polyceptron.plots._save import save
from polyceptron.plots._waterfall import WaterfallDisplay
from polyceptron.plots.style import LARGEST

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

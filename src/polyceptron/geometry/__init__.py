"""Questions about a polyhedron as a set: how large, how far, which faces matter, what is inside.

Each is a function of a `Polyhedron`. Answers are in user units, and careful with faces and
features of very different scales. A question without an answer, of an empty polyhedron above all,
raises a `GeometryError`, which is a ValueError.

Examples
--------
>>> from polyceptron import Polyhedron, geometry
>>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 1])
>>> geometry.is_bounded(triangle), round(geometry.volume(triangle), 6)
(True, 0.5)
"""

from polyceptron.geometry._extent import (
    Ball,
    bounding_box,
    chebyshev_ball,
    is_bounded,
    is_empty,
    redundant_faces,
    without_redundant,
)
from polyceptron.geometry._inside import sample, vertices, volume
from polyceptron.geometry.faces import GeometryError
from polyceptron.geometry.projection import distance, project

__all__ = [
    "Ball",
    "GeometryError",
    "bounding_box",
    "chebyshev_ball",
    "distance",
    "is_bounded",
    "is_empty",
    "project",
    "redundant_faces",
    "sample",
    "vertices",
    "volume",
    "without_redundant",
]

"""Questions about a polyhedron as a set: how large, how far, which faces matter, what is inside.

Each is a function of a `Polyhedron`. Answers are in user units, and careful with faces and
features of very different scales. A question without an answer, of an empty polyhedron above all,
raises a `GeometryError`, which is a ValueError.
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

"""Polyhedra cut by a plane, seen through a window."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path

from polyceptron import Polyhedron
from polyceptron.plots._plane import cut, of_columns

WINDOW = ((-2.0, 2.0), (-2.0, 2.0))
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_slice_does_not_depend_on_units(scale):
    far = SQUARE.pullback([1 / scale, 1.0], 0.0)
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(far)
    view = cut(lines, ((-2 * scale, 2 * scale), (-2.0, 2.0)))
    corners = view.polygon() / [scale, 1.0]
    assert {tuple(c) for c in corners.round(9)} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) if len(corners) >= 3 else 0.0


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_cells_share_out_the_window_by_the_deciding_face(seed, K):
    random = np.random.default_rng(seed)
    polyhedron = Polyhedron(random.normal(size=(K, 2)), random.normal(size=K))
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(polyhedron)
    view = cut(lines, WINDOW)
    held = sum(area(view.cell(k, inside=True)) for k in range(K))
    rejected = sum(area(view.cell(k, inside=False)) for k in range(K))
    assert held + rejected == pytest.approx(16.0)
    assert held == pytest.approx(area(view.polygon()), abs=1e-9)
    cells = {k: view.cell(k) for k in range(K)}
    assert sum(map(area, cells.values())) == pytest.approx(16.0)
    points = random.uniform(-2, 2, (200, 2))
    margins = np.sort(polyhedron.margins(points), axis=1)
    clear = np.ones(200, bool) if K == 1 else margins[:, 1] - margins[:, 0] > 1e-6
    deciding = polyhedron.active_face(points)
    if held:
        seen = Path(view.polygon()).contains_points(points)
        clear_inside = np.abs(margins[:, 0]) > 1e-6
        np.testing.assert_array_equal(seen[clear_inside], (margins[:, 0] >= 0)[clear_inside])
    for k, corners in cells.items():
        if len(corners) >= 3:
            inside = Path(corners).contains_points(points)
            np.testing.assert_array_equal(inside[clear], (deciding == k)[clear])
        else:
            assert not (deciding == k)[clear].any()

"""Animations, by what is in them."""

import numpy as np
import pytest

from polyceptron import OnlinePolyceptron, Polyceptron
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import AnimationDisplay, animate

plt = pytest.importorskip("matplotlib.pyplot")

ROWS, LABELS, TRIANGLE = make_polyhedron(60, 2, 3, random_state=0)


def learning(learner=None, **options):
    learner = OnlinePolyceptron(3, random_state=0) if learner is None else learner
    return AnimationDisplay.from_learner(learner, ROWS, LABELS, **{"n_frames": 4, **options})


def test_gif_has_every_frame_and_is_the_same_each_time(tmp_path):
    from PIL import Image

    path = tmp_path / "learning.gif"
    learner = OnlinePolyceptron(3, random_state=0)
    display = animate(learner, ROWS, LABELS, path, n_frames=4)
    with Image.open(path) as image:
        assert image.format == "GIF"
        assert image.n_frames == len(display.frames)
        assert image.info["loop"] == 0
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    known = AnimationDisplay.from_predictions(display.frames, ROWS, LABELS, inside=display.inside)
    assert known.to_gif() == path.read_bytes()
    assert not plt.get_fignums()


def test_a_frame_shows_its_polyhedron():
    display = learning()
    for frame, (polyhedron, when) in enumerate(display.frames[:2]):
        title = display.plot(frame).ax_.get_title(loc="left")
        wrong = (polyhedron.contains(ROWS) != (LABELS == 1)).sum()
        assert title == f"{when}: {wrong} of 60 on the wrong side"
        for k, line in display.faces_.items():
            np.testing.assert_allclose(polyhedron.margins(line.get_xydata())[:, k], 0, atol=1e-9)


def test_animation_of_one_column_and_of_a_plane():
    X, y, _ = make_polyhedron(40, 4, 2, random_state=0)
    for rows, plane in ((X, "pca"), (X[:, :1], None)):
        display = AnimationDisplay.from_learner(
            OnlinePolyceptron(2, random_state=0), rows, y, n_frames=3, plane=plane
        )
        assert display.to_gif(dpi=40).startswith(b"GIF89a")


def test_animation_wrong_arguments():
    with pytest.raises(ValueError, match=r"learner must be one that moves .* got Polyceptron"):
        learning(Polyceptron())
    with pytest.raises(ValueError, match="n_frames must be a whole number of at least 2"):
        learning(n_frames=1)
    with pytest.raises(ValueError, match="at least one polyhedron"):
        AnimationDisplay.from_predictions([], ROWS, LABELS)
    with pytest.raises(ValueError, match="fps must be positive"):
        AnimationDisplay.from_predictions([(TRIANGLE, "now")], ROWS, LABELS).to_gif(fps=0)

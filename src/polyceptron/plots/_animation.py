"""Hyperplanes that move while a learner learns, as a GIF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyceptron.learners.trace import Frame, learning_frames
from polyceptron.plots import style
from polyceptron.plots._plane import Plane, Wanted
from polyceptron.plots._polyhedron import PolyhedronDisplay
from polyceptron.plots._save import save
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count
from polyceptron.utils.types import Floats

_COLOURS = 32
"""Of the GIF's palette: lines and text need few, and the file stays small."""


@dataclass(eq=False, repr=False)
class AnimationDisplay:
    """Hyperplanes that move while a learner learns, in a plane; most frames at the beginning.

    Make one by `from_learner` (which `from_estimator` is another name of) or `from_predictions`,
    or write a file at once by `animate`. ``frames`` are the pairs ``(polyhedron, when)`` in order.

    Examples
    --------
    >>> from polyceptron import OnlinePolyceptron
    >>> from polyceptron.datasets import make_polyhedron
    >>> from polyceptron.plots import AnimationDisplay
    >>> X, y, _ = make_polyhedron(100, 2, 3, random_state=0)
    >>> display = AnimationDisplay.from_learner(
    ...     OnlinePolyceptron(3, random_state=0), X, y, n_frames=5
    ... )
    >>> [frame.when for frame in display.frames][:2]
    ['at the start', 'after 1 row']
    """

    frames: list[Frame]
    X: Floats
    y: NDArray[Any]
    plane: Plane
    inside: Any

    @classmethod
    def from_learner(cls, learner: Any, X: Any, y: Any, *, n_frames: int = 40, **how: Any) -> Self:
        """Learn anew, and keep at most `n_frames` of what was learned on the way.

        The learner is any but Polyceptron and OC1, and left as it is; its first start is shown. The
        other arguments are as in `from_predictions`: `plane`, which is chosen by the last frame,
        and `at`.
        """
        frames, inside = learning_frames(learner, X, y, as_count(n_frames, "n_frames", 2))
        return cls.from_predictions(frames, X, y, inside=inside, **how)

    from_estimator = from_learner

    @classmethod
    def from_predictions(
        cls,
        frames: Sequence[tuple[Polyhedron, str]],
        X: Any,
        y: Any,
        *,
        inside: Any = None,
        plane: Wanted = None,
        at: Any = None,
    ) -> Self:
        """Draw polyhedra that are known already, one a frame, each with when it was learned.

        `inside`, `plane` and `at` are as in `PolyhedronDisplay.from_polyhedron`.
        """
        known = [Frame(*frame) for frame in frames]
        if not known:
            raise ValueError("frames must have at least one polyhedron, got none")
        last = PolyhedronDisplay(known[-1].polyhedron, X, y, inside=inside, plane=plane, at=at)
        if last.X is None or last.y is None:
            raise ValueError("X and y must be given: an animation shows labelled rows")
        return cls(known, last.X, last.y, last.plane, last.inside)

    def plot(self, frame: int = -1, *, ax: Any = None) -> Self:
        """Draw the frame of this number; in a new figure if `ax` is None."""
        ax = style.new_figure((5.4, 4.4)).add_subplot() if ax is None else ax
        polyhedron, when = self.frames[frame]
        drawn = PolyhedronDisplay(polyhedron, self.X, self.y, plane=self.plane, inside=self.inside)
        drawn.plot(ax=ax, legend=False)
        self.ax_, self.figure_, self.faces_ = ax, drawn.figure_, drawn.faces_
        wrong = 0 if drawn.mistakes_ is None else len(drawn.mistakes_.get_offsets())
        title = f"{when}: {wrong} of {len(self.X)} on the wrong side"
        style.describe(ax, *self.plane.labels, title=title)
        return self

    @style.drawing()
    def to_gif(self, *, fps: float = 6.0, dpi: float = 80) -> bytes:
        """Return all frames, `fps` a second, as a GIF that runs on and rests on the last frame."""
        if not fps > 0:
            raise ValueError(f"fps must be positive, got {fps!r}")
        figure = style.new_figure((5.4, 4.4))
        figure.set_dpi(dpi)
        ax, images = figure.add_subplot(), []
        for frame in range(len(self.frames)):
            ax.clear()
            self.plot(frame, ax=ax)
            figure.canvas.draw()
            figure.set_layout_engine("none")  # once laid out, the axes rest where they are
            images.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].copy())
        return _gif(images, [round(1000 / fps)] * (len(images) - 1) + [2000])


def animate(
    learner: Any, X: Any, y: Any, path: str | PathLike[str], **how: Any
) -> AnimationDisplay:
    """Write a GIF of hyperplanes that move while a learner learns, in one step.

    The path ends in .gif; the other arguments are those of `AnimationDisplay.from_learner`.
    """
    display = AnimationDisplay.from_learner(learner, X, y, **how)
    save(display, path)
    return display


def _gif(frames: list[NDArray[np.uint8]], pause: list[int]) -> bytes:
    """Return frames as a GIF, with one palette, so that what rests does not flicker."""
    from PIL import Image

    tall = Image.fromarray(np.concatenate(frames)).quantize(_COLOURS, dither=Image.Dither.NONE)
    colours = np.array(tall.getpalette(), np.uint8).reshape(-1, 3)
    colours[colours.min(axis=1) > 250] = 255  # paper, before it was mixed with its neighbours
    tall.putpalette(colours.tobytes())
    height = len(frames[0])
    tops = range(0, tall.height, height)
    first, *others = (tall.crop((0, top, tall.width, top + height)) for top in tops)
    out = io.BytesIO()
    how = {"save_all": True, "append_images": others, "duration": pause, "loop": 0}
    first.save(out, format="GIF", optimize=False, **how)
    return out.getvalue()

"""Hyperplanes that move while a learner learns, as a GIF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _paint as paint
from polyceptron.plots import _style as style
from polyceptron.plots._arguments import Wanted, as_array, choose_plane, labels_of
from polyceptron.plots._moments import Moment, moments_of
from polyceptron.plots._plane import Plane, room_around
from polyceptron.plots._save import save
from polyceptron.plots._slice import cut
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count
from polyceptron.utils.types import Floats

_COLOURS = 32
"""Of the GIF's palette: lines and text need few, and the file stays small."""


class AnimationDisplay:
    """Hyperplanes that move while a learner learns, in a plane.

    Moments are closer at the beginning, where most happens. The same learner, rows and seed
    give the same frames.

    Make one by `from_learner` (which `from_estimator` is another name of) or `from_predictions`,
    or write a file at once by `animate`.

    Parameters
    ----------
    moments : list of Moment
        ``(polyhedron, when)``, in order.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    plane : Plane
    inside : label

    Examples
    --------
    >>> from polyceptron import OnlinePolyceptron
    >>> from polyceptron.datasets import make_polyhedron
    >>> from polyceptron.plots import AnimationDisplay
    >>> X, y, _ = make_polyhedron(100, 2, 3, random_state=0)
    >>> display = AnimationDisplay.from_learner(
    ...     OnlinePolyceptron(3, random_state=0), X, y, n_frames=5
    ... )
    >>> [moment.when for moment in display.moments][:2]
    ['at the start', 'after 1 row']
    """

    def __init__(
        self, moments: list[Moment], X: Floats, y: NDArray[Any], *, plane: Plane, inside: Any
    ) -> None:
        self.moments, self.X, self.y = moments, X, y
        self.plane, self.inside = plane, inside

    @classmethod
    def from_learner(
        cls,
        learner: Any,
        X: Any,
        y: Any,
        *,
        n_frames: int = 40,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
    ) -> Self:
        """Learn anew, and keep what was learned on the way.

        Parameters
        ----------
        learner : BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2 or PCSLP
            It is left as it is. Its first start is shown.
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        n_frames : int, default=40
            The most moments kept.
        plane, at
            As in `PolyhedronDisplay`; the plane is chosen by the last moment.

        Returns
        -------
        AnimationDisplay
        """
        most = as_count(n_frames, "n_frames", 2)
        moments, inside = moments_of(learner, X, y, most)
        return cls.from_predictions(moments, X, y, inside=inside, plane=plane, at=at)

    from_estimator = from_learner

    @classmethod
    def from_predictions(
        cls,
        moments: Sequence[tuple[Polyhedron, str]],
        X: Any,
        y: Any,
        *,
        inside: Any = None,
        plane: Wanted = None,
        at: ArrayLike | int | None = None,
    ) -> Self:
        """Draw polyhedra that are known already, one a frame, without a learner.

        Parameters
        ----------
        moments : sequence of (Polyhedron, str)
            The polyhedra in order, and when each was learned.
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        inside : label, default=None
            The label of the rows that should be inside; the greatest if None.
        plane, at
            As in `PolyhedronDisplay`; the plane is chosen by the last moment.

        Returns
        -------
        AnimationDisplay
        """
        known = [Moment(*moment) for moment in moments]
        if not known:
            raise ValueError("moments must have at least one polyhedron, got none")
        last = known[-1].polyhedron
        rows = as_array(X, last)
        labels = labels_of(y, len(rows))
        inside = np.unique(labels)[-1] if inside is None else inside
        return cls(known, rows, labels, plane=choose_plane(plane, last, rows, at), inside=inside)

    def plot(self, frame: int = -1, *, ax: Any = None) -> Self:
        """Draw one frame.

        Parameters
        ----------
        frame : int, default=-1
            Which moment.
        ax : matplotlib Axes, default=None

        Returns
        -------
        AnimationDisplay
        """
        if ax is None:
            figure = style.new_figure((5.4, 4.4))
            ax = figure.add_subplot()
        self.ax_, self.figure_ = ax, style.whole_figure(ax)
        self._draw_rows()
        self._draw(frame)
        return self

    def to_gif(self, *, fps: float = 6.0, dpi: float = 80) -> bytes:
        """Return all frames as a GIF that runs on, and rests on the last frame.

        Parameters
        ----------
        fps : float, default=6
            Frames a second.
        dpi : float, default=80

        Returns
        -------
        bytes
        """
        if not fps > 0:
            raise ValueError(f"fps must be positive, got {fps!r}")
        figure = style.new_figure((5.4, 4.4))
        figure.set_dpi(dpi)
        self.ax_, self.figure_ = figure.add_subplot(), figure
        self._draw_rows()
        frames = []
        for frame in range(len(self.moments)):
            self._draw(frame)
            with style.any_script():
                figure.canvas.draw()
            figure.set_layout_engine("none")  # once laid out, the axes rest where they are
            frames.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].copy())
        pause = [round(1000 / fps)] * (len(frames) - 1) + [2000]
        return _gif(frames, pause)

    # --- the parts of a frame -----------------------------------------------------------

    def _draw_rows(self) -> None:
        ax = self.ax_
        points = self.plane.of_rows(self.X)
        if self.plane.is_line:
            points = paint.in_lanes(points, self.y)
            ax.set_yticks([])
        limits = room_around(points)
        ax.set(xlim=limits[0], ylim=limits[1])
        ours = self.y == self.inside
        size = 0.7 * paint.size_of(len(points))
        paint.rows(ax, points[~ours], style.VERMILLION, "x", size=size)
        paint.rows(ax, points[ours], style.BLUE, "o", size=size)
        style.describe(ax, x=self.plane.labels[0], y=self.plane.labels[1])
        style.quiet_frame(ax)
        self._limits, self._moving = limits, list[Any]()

    def _draw(self, frame: int) -> None:
        """Replace what moves."""
        for artist in self._moving:
            artist.remove()
        ax, (polyhedron, when) = self.ax_, self.moments[frame]
        fixed = set(ax.get_children())
        view = cut(self.plane.lines(polyhedron), self._limits)
        paint.inside(ax, view)
        self.faces_ = paint.faces(ax, view)
        wrong = int((polyhedron.contains(self.X) != (self.y == self.inside)).sum())
        ax.set_title(
            f"{when}: {wrong} of {len(self.X)} on the wrong side",
            fontsize=9, loc="left", color=style.INK, **style.PLAIN,
        )  # fmt: skip
        if self.figure_.get_layout_engine() is not None:  # it has not been laid out yet
            with style.any_script():
                self.figure_.draw_without_rendering()
        paint.numbers(ax, view)
        self._moving = [artist for artist in ax.get_children() if artist not in fixed]


def animate(
    learner: Any,
    X: Any,
    y: Any,
    path: str | PathLike[str],
    *,
    n_frames: int = 40,
    plane: Wanted = None,
    at: ArrayLike | int | None = None,
) -> AnimationDisplay:
    """Write a GIF of hyperplanes that move while a learner learns.

    Parameters
    ----------
    learner : BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2 or PCSLP
        It is left as it is.
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    path : str or path
        Of the file, which ends in .gif; it is replaced in one step.
    n_frames : int, default=40
    plane, at
        As in `PolyhedronDisplay`.

    Returns
    -------
    AnimationDisplay
        With the moments shown.

    Examples
    --------
    >>> from polyceptron import OnlinePolyceptron
    >>> from polyceptron.datasets import make_polyhedron
    >>> from polyceptron.plots import animate
    >>> X, y, _ = make_polyhedron(200, 2, 4, random_state=0)
    >>> _ = animate(OnlinePolyceptron(4), X, y, "learning.gif")  # doctest: +SKIP
    """
    display = AnimationDisplay.from_learner(learner, X, y, n_frames=n_frames, plane=plane, at=at)
    save(display, path)
    return display


# --- the file ---------------------------------------------------------------------------


def _gif(frames: list[NDArray[np.uint8]], pause: list[int]) -> bytes:
    """Return frames as a GIF, with one palette, so that what rests does not flicker."""
    from PIL import Image

    sample = np.concatenate(frames[:: max(1, len(frames) // 4)])
    palette = Image.fromarray(sample).quantize(_COLOURS, dither=Image.Dither.NONE).getpalette()
    colours = np.array(palette, np.int64).reshape(-1, 3)[:_COLOURS]
    colours[colours.sum(axis=1).argmax()] = 255  # paper, before it was mixed with its neighbours
    images = []
    for frame in frames:
        image = Image.fromarray(_nearest(frame, colours), mode="P")
        image.putpalette(colours.astype(np.uint8).tobytes())
        images.append(image)
    out = io.BytesIO()
    images[0].save(
        out, format="GIF", save_all=True, append_images=images[1:], duration=pause, loop=0,
        optimize=False,
    )  # fmt: skip
    return out.getvalue()


def _nearest(frame: NDArray[np.uint8], colours: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the nearest of the colours for each pixel; Pillow's own search is approximate."""
    packed: NDArray[np.int64] = frame.astype(np.int64) @ np.array([65536, 256, 1])
    found, place = np.unique(packed, return_inverse=True)
    rgb = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    nearest = ((rgb[:, None, :] - colours) ** 2).sum(axis=2).argmin(axis=1)
    return np.asarray(nearest[place].reshape(packed.shape), dtype=np.uint8)

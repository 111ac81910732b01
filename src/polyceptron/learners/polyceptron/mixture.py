"""A noisy product of logistics, or a union of such products, maximised from given hyperplanes.

P(inside | x) = e + (1 - 2 e) prod_k 1 / (1 + exp(-(w_k . x + b_k))). The share e of rows whose
label is wrong whatever the hyperplanes do bounds what one row can cost, so that rows far on the
wrong side do not pull. Of a union, a row is outside where it is outside of every product.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Block, Blocks, KernelRows, frozen
from polyceptron.optim import lbfgs
from polyceptron.utils.types import Floats

NO_NOISE = -1000.0
"""Its logit: what is left is the least share of wrong labels."""
_FIRST_LOGIT = -2.0  # e = 0.06
LEAST_LEAPS, MOST_LEAPS = 10, 20
_FIRST_LEAP, _WARM_UP, _ACCEPTED = 0.1, 20, 0.8
_LOST = 1000.0
"""What a trajectory may lose of the logarithm of its likelihood before it is given up."""
_MEAN_SCORE = 5.0
"""What the mean size of h is scaled to at the start: only now do scores have a scale."""
_NONE: Floats = np.empty(0)


def whole_rows(data: ArrayBlocks) -> KernelRows:
    """All rows in the layout that is read fastest again and again, in float64."""
    if isinstance(data.X, tuple):
        values, *places = data.X
        return (frozen(values.astype(np.float64, copy=False)), *places)  # type: ignore[return-value]
    rows: KernelRows = kernels.pack_rows(data.X)
    return rows


def _part_of(flat: Floats, ends: NDArray[np.int64], block: Block) -> Floats:
    part: Floats = kernels.union_part(block.X, block.y, block.weight, _NONE, flat, ends)
    return part


class Point(NamedTuple):
    """A flat array, the loss there, and its slope."""

    flat: Floats
    value: float
    slope: Floats


@dataclass(frozen=True)
class Loss:
    """Minus the penalised log-likelihood of a union, as a function of one flat array.

    That array is [w_1, b_1, ..., w_F, b_F], the faces of one piece after those of another, and the
    logit of the noise. Penalised is ``penalty / 2 * sum |w_k|^2``; biases are free, columns that
    are ``fixed`` stay as they are. With shares inside as ``target`` it is that of the hard rule.
    """

    data: Blocks
    sizes: tuple[int, ...]
    """Faces of each piece."""
    penalty: float
    unit: float
    """The weight that counts as one."""
    is_noisy: bool = True
    """Whether the noise is free as well."""
    fixed: NDArray[np.bool_] | None = None
    target: Floats = field(default_factory=lambda: _NONE)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.sizes)

    @cached_property
    def _whole(self) -> tuple[KernelRows, NDArray[np.int8], Floats, Floats] | None:
        """All rows as the kernels take them, where they are one block."""
        data = self.data
        if not isinstance(data, ArrayBlocks) or (len(data) > 1 and not self.target.size):
            return None
        return whole_rows(data), data.y, data.weight, self.target

    def unpack(self, flat: Floats) -> tuple[Floats, float]:
        """Rows [w_k, b_k], and the noise."""
        return flat[:-1].reshape(sum(self.sizes), -1), float(kernels.noise_of(flat[-1]))

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """The loss and its slope."""
        if self._whole is not None:
            part = kernels.union_part(*self._whole, flat, self.ends)
        else:
            part = self.data.reduce(partial(_part_of, flat, self.ends))
        how = self.penalty, self.unit, self.is_noisy
        value, slope = kernels.penalised(part, flat, sum(self.sizes), *how)
        if self.fixed is not None:
            slope[:-1].reshape(sum(self.sizes), -1)[:, self.fixed] = 0.0
        return value, slope

    def minimised(self, start: Floats, n_steps: int, ftol: float) -> Floats:
        """What L-BFGS makes of a flat array."""
        start = np.ascontiguousarray(start)
        if self._whole is None or self.fixed is not None:
            return lbfgs.minimise(self, start, n_steps, ftol)
        how = self.penalty, self.unit, self.is_noisy, n_steps, ftol
        found: Floats = kernels.descend_union(*self._whole, start, self.ends, *how)
        return found


def maximise(loss: Loss, start: Floats, n_steps: int) -> Floats:
    """From rows [w_k, b_k] whose h has a mean size of about 1; a flat array as in `Loss`."""
    return loss.minimised(np.append(_MEAN_SCORE * start, _FIRST_LOGIT), n_steps, 1e-9)


def posterior_mean(loss: Loss, flat: Floats, n_samples: int, seed: int) -> Floats:
    """Mean over hyperplanes that the rows leave likely, each of norm one: rows [w_k, b_k].

    Hamiltonian Monte Carlo from ``flat``, a maximum. Of hyperplanes that explain the rows about
    as well, the maximum is one at the edge as often as not; their middle is nearer the truth.
    """
    assert isinstance(loss.data, ArrayBlocks)
    rows = whole_rows(loss.data), loss.data.y, loss.data.weight
    random = np.random.default_rng(seed)
    step, total = _FIRST_LEAP, np.zeros_like(loss.unpack(flat)[0])
    here = Point(flat, *loss(flat))
    for number in range(_WARM_UP + n_samples):
        here, likely = _proposal(loss, rows, here, step, random)
        warm = number >= _WARM_UP
        step *= float(np.exp((likely - _ACCEPTED) * (0.05 if warm else 0.5)))
        if warm:
            theta, _ = loss.unpack(here[0])
            total += theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return total / n_samples


def _proposal(
    loss: Loss,
    rows: tuple[KernelRows, NDArray[np.int8], Floats],
    here: Point,
    step: float,
    random: np.random.Generator,
) -> tuple[Point, float]:
    """One proposal, taken or not, and how likely it was to be taken."""
    flat, value, slope = here
    step *= random.uniform(0.8, 1.2)
    speed = random.standard_normal(flat.size)
    n_leaps = int(random.integers(LEAST_LEAPS, MOST_LEAPS + 1))
    before = loss.unit * value + 0.5 * kernels.dot(speed, speed)
    how = loss.ends, loss.penalty, loss.unit, speed, step, n_leaps, before + _LOST
    *there, energy = kernels.leapfrog(*rows, flat, slope, *how)
    likely = float(np.exp(min(before - energy, 0.0)))
    return (Point(*there) if random.random() < likely else here), likely

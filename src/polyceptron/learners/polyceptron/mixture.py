"""A noisy product of logistics, or a union of such products, maximised from given hyperplanes.

P(inside | x) = e + (1 - 2 e) prod_k 1 / (1 + exp(-(w_k . x + b_k))). The share e of rows whose
label is wrong whatever the hyperplanes do bounds what one row can cost, so that rows far on the
wrong side do not pull. Of a union, a row is outside where it is outside of every product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim import lbfgs
from polyceptron.optim.planes import Gradient
from polyceptron.utils.blas import ONE_BLAS_THREAD
from polyceptron.utils.types import Floats

LEAST_NOISE = 1e-4
_FIRST_LOGIT = -2.0  # e = 0.06
LEAST_LEAPS, MOST_LEAPS = 10, 20
_FIRST_LEAP, _WARM_UP, _ACCEPTED = 0.1, 20, 0.8
_LOST = 1000.0
"""What a trajectory may lose of the logarithm of its likelihood before it is given up."""
_MEAN_SCORE = 5.0
"""What the mean size of h is scaled to at the start: only now do scores have a scale."""
Point = tuple[Floats, float, Floats]
"""A flat array, the loss there, and its slope."""


def mixture_of(
    W: Floats, b: Floats, ends: NDArray[np.int64], noise: float, block: Block
) -> Gradient:
    """The slope of a block's log-likelihood in [w_k, b_k]; its value and slope in the noise."""
    part = Gradient.zero(W.shape[0], W.shape[1], 2)
    part.totals[:] = kernels.union_block(
        block.X, block.y, block.weight, W, b, ends, noise, part.G, part.g
    )
    return part


@dataclass(frozen=True, slots=True)
class Loss:
    """Minus the penalised mean log-likelihood, as a function of one flat array.

    That array is [w_1, b_1, ..., w_K, b_K] and the logit of the noise. Penalised is
    ``penalty / 2 * sum |w_k|^2``; biases are free.
    """

    data: Blocks
    shape: tuple[int, int]
    penalty: float
    total_weight: float

    def unpack(self, flat: Floats) -> tuple[Floats, float]:
        """Rows [w_k, b_k], and the noise."""
        noise = LEAST_NOISE + (0.5 - LEAST_NOISE) * float(expit(flat[-1]))
        return flat[:-1].reshape(self.shape), noise

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """The loss and its slope."""
        theta, noise = self.unpack(flat)
        W, b = theta[:, :-1].copy(), theta[:, -1].copy()
        ends = np.array([len(W)])
        here = self.data.reduce(partial(mixture_of, W, b, ends, noise))
        log_likelihood, of_noise = here.totals.tolist()
        slope = np.empty(flat.size)
        of_theta = slope[:-1].reshape(self.shape)
        of_theta[:, :-1] = self.penalty * W - here.G / self.total_weight
        of_theta[:, -1] = here.g / -self.total_weight
        share = expit(flat[-1])
        of_share = (0.5 - LEAST_NOISE) * share * (1 - share)
        slope[-1] = of_noise * of_share / -self.total_weight
        value = 0.5 * self.penalty * float((W * W).sum())
        return value - log_likelihood / self.total_weight, slope


def maximise(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, n_steps: int) -> Floats:
    """L-BFGS from rows [w_k, b_k] whose h has a mean size of about 1; a flat array as in `Loss`."""
    first = np.append((_MEAN_SCORE * start).ravel(), _FIRST_LOGIT)
    return lbfgs.minimise(loss, first, n_steps, 1e-9)


def posterior_mean(loss: Loss, flat: Floats, n_samples: int, seed: int) -> Floats:
    """Mean over hyperplanes that the rows leave likely, each of norm one: rows [w_k, b_k].

    Hamiltonian Monte Carlo from ``flat``, a maximum. Of hyperplanes that explain the rows about
    as well, the maximum is one at the edge as often as not; their middle is nearer the truth.
    """
    random = np.random.default_rng(seed)
    step, total = _FIRST_LEAP, np.zeros(loss.shape)
    with ONE_BLAS_THREAD:
        here = flat, *loss(flat)
        for number in range(_WARM_UP + n_samples):
            here, likely = _leap(loss, here, step, random)
            warm = number >= _WARM_UP
            step *= float(np.exp((likely - _ACCEPTED) * (0.05 if warm else 0.5)))
            if warm:
                theta, _ = loss.unpack(here[0])
                total += theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return total / n_samples


def _leap(loss: Loss, here: Point, step: float, random: np.random.Generator) -> tuple[Point, float]:
    """One proposal, taken or not, and how likely it was to be taken."""
    n = loss.total_weight  # the posterior is exp(-n loss)
    step *= random.uniform(0.8, 1.2)
    speed = random.standard_normal(here[0].size)
    energy = n * here[1] + 0.5 * float(speed @ speed)
    flat, value, slope = here
    for _ in range(int(random.integers(LEAST_LEAPS, MOST_LEAPS + 1))):
        speed = speed - 0.5 * step * n * slope
        flat = flat + step * speed
        value, slope = loss(flat)
        speed -= 0.5 * step * n * slope
        gained = energy - n * value - 0.5 * float(speed @ speed)
        if not gained > -_LOST:  # too long a step: every further one would be longer
            return here, 0.0
    likely = float(np.exp(min(gained, 0.0)))
    return ((flat, value, slope) if random.random() < likely else here), likely

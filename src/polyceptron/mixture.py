"""A noisy product of logistics, maximised from given hyperplanes.

P(inside | x) = e + (1 - 2 e) prod_k 1 / (1 + exp(-(w_k . x + b_k))). The share e of rows whose
label is wrong whatever the hyperplanes do bounds what one row can cost, so that rows far on the
wrong side do not pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from polyceptron import kernels
from polyceptron._blas import ONE_BLAS_THREAD
from polyceptron._types import Floats
from polyceptron.blocks import Block, Blocks
from polyceptron.criterion import Planes

_LEAST_NOISE = 1e-4
_FIRST_LOGIT = -2.0  # e = 0.06
_MEAN_SCORE = 5.0
"""What the mean size of h is scaled to at the start: only now do scores have a scale."""


@dataclass(slots=True)
class Ascent:
    """Log-likelihood over some rows, its slope in [w_k, b_k] and in the noise."""

    log_likelihood: float
    G: Floats
    g: Floats
    of_noise: float

    def __add__(self, other: Ascent) -> Ascent:
        return Ascent(
            self.log_likelihood + other.log_likelihood,
            self.G + other.G,
            self.g + other.g,
            self.of_noise + other.of_noise,
        )


def ascent(data: Blocks, planes: Planes, noise: float) -> Ascent:
    """Log-likelihood of all rows, and its slopes."""
    panel, bias, K = planes
    shape = K, data.n_features

    def of_block(block: Block) -> Ascent:
        G, g = np.zeros(shape), np.zeros(K)
        total, of_noise = kernels.product_block(
            block.X, block.y, block.weight, panel, bias, K, noise, G, g
        )
        return Ascent(total, G, g, of_noise)

    return data.reduce(of_block)


def maximise(
    data: Blocks, start: Floats, penalty: float, total_weight: float, n_steps: int
) -> tuple[Floats, float]:
    """L-BFGS on the mean log-likelihood less ``penalty / 2 * sum |w_k|^2``, biases free.

    Parameters
    ----------
    data : Blocks
    start : ndarray of shape (K, d + 1)
        Rows [w_k, b_k]; h(x) has a mean size of about 1 there.
    penalty : float
    total_weight : float
        Of all rows.
    n_steps : int

    Returns
    -------
    theta : ndarray of shape (K, d + 1)
    noise : float
    """
    shape = start.shape

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta, share = flat[:-1].reshape(shape), expit(flat[-1])
        noise = _LEAST_NOISE + (0.5 - _LEAST_NOISE) * share
        W = theta[:, :-1]
        here = ascent(data, Planes.of(W, theta[:, -1]), noise)
        slope = np.empty(shape)
        slope[:, :-1] = penalty * W - here.G / total_weight
        slope[:, -1] = here.g / -total_weight
        value = 0.5 * penalty * float((W * W).sum()) - here.log_likelihood / total_weight
        of_logit = here.of_noise * (0.5 - _LEAST_NOISE) * share * (1 - share) / -total_weight
        return value, np.append(slope.ravel(), of_logit)

    first = np.append((_MEAN_SCORE * start).ravel(), _FIRST_LOGIT)
    options = {"maxiter": n_steps, "ftol": 1e-9}
    with ONE_BLAS_THREAD:
        found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    noise = _LEAST_NOISE + (0.5 - _LEAST_NOISE) * float(expit(found.x[-1]))
    return found.x[:-1].reshape(shape), noise

"""The bits of scores, passes and ascents do not depend on how wide the vectors of a machine are."""

import os
import subprocess
import sys

import pytest
from numba.core import config
from numba.core.codegen import get_host_cpu_features

BITS = """
import hashlib
import numpy as np
from polyceptron import kernels

rng = np.random.default_rng(0)
X, W, b = rng.standard_normal((203, 9)), rng.standard_normal((5, 9)), rng.standard_normal(5)
y, none = np.where(X[:, 0] > 0.3, 1, -1).astype(np.int8), np.empty(0)
panel, bias = kernels.to_panels(W, b)
h = np.empty(203)
kernels.decide(X, panel, bias, h)
one, scores = np.empty(203), np.empty((203, 8))
kernels.decide(X.astype(np.float32), panel, bias, one)
kernels.margins(X, panel, bias, scores)
G, g, no_keys = np.zeros((5, 9)), np.zeros(5), np.empty(0, np.float32)
totals = np.zeros(4)
kernels.batch_block(
    X, y, none, panel, bias, 0.5, G, g, totals, no_keys, no_keys, np.float32(np.inf), 0.0
)
alone = np.empty(203)
kernels.decide(X, *kernels.to_panels(W[:1], b[:1]), alone)
how = y, none, np.empty(0, np.int64), panel, bias, 5, 0.1, 0.1, 0.5, np.empty((0, 9)), none, 0
kernels.online_pass(X, *how)
ends, flat = np.array([2, 5]), np.append(np.column_stack([W, b]), -2.0)
found = kernels.descend_union(
    kernels.pack_rows(X), y, none, none, flat, ends, 0.1, 1.0, True, 20, 1e-9
)
everything = h, one, alone, scores, G, g, totals, panel, found
bits = b"".join(np.ascontiguousarray(a).tobytes() for a in everything)
print(hashlib.sha256(bits).hexdigest())
"""
AVX2 = "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+popcnt"


def bits(**machine):
    """Numba keeps the code of each processor apart, so all may share one cache."""
    machine = {f"NUMBA_CPU_{name}": value for name, value in machine.items()}
    env = os.environ | machine | {"POLYCEPTRON_QUIET": "1"}
    run = subprocess.run(
        [sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_same_bits_on_every_width():
    here = bits()
    assert len(here) == 65
    plain = "x86-64" if "+sse2" in get_host_cpu_features() else "generic"
    assert bits(NAME=plain, FEATURES="") == here
    if "+avx2" in get_host_cpu_features():
        assert bits(NAME="haswell", FEATURES=AVX2) == here

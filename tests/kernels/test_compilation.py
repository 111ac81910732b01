"""The kernels without JIT, without a place for a cache, and what is said while they compile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import polyceptron

HERE = Path(__file__).parent
MESSAGE = "polyceptron: compiling kernels for this machine"


def python(*arguments, cwd, **environment):
    """Run a fresh interpreter with these variables; those that are None are removed."""
    env = os.environ | environment
    env = {name: str(value) for name, value in env.items() if value is not None}
    run = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run


def test_plain_bodies(tmp_path):
    """What runs under NUMBA_DISABLE_JIT=1 does the same, but for the last bit of a sum."""
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "test_kernels.py"]
    but = ["-k", "not last_bit"]  # the plain bodies leave the order of a sum to BLAS
    run = python(*arguments, *but, cwd=HERE.parents[1], NUMBA_DISABLE_JIT=1, TMPDIR=tmp_path)
    assert " passed" in run.stdout


FIT = """
import numpy as np
import polyceptron
from polyceptron import OnlinePolyceptron, kernels

X = np.array([[0.0], [1.0], [2.0], [3.0]])
model = OnlinePolyceptron(n_hyperplanes=2, max_iter=100, shuffle=False, random_state=0)
print(model.fit(X, [0, 0, 1, 1]).predict(X).tolist())
print(polyceptron.__file__)
print(type(kernels.decide._cache).__name__)
"""


def test_read_only_install(tmp_path):
    """No place for a cache anywhere: kernels compile in every process, and work.

    Permissions do not bind root, so the directories cannot be made: files or devices stand there.
    """
    package = tmp_path / "polyceptron"
    source = Path(polyceptron.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "kernels" / "__pycache__").write_text("no directory")
    for path in [*package.rglob("*"), package]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        run = python(
            "-c", FIT, cwd="/", PYTHONPATH=tmp_path, PYTHONDONTWRITEBYTECODE=1, HOME="/dev/null",
            XDG_CACHE_HOME="/dev/null/cache", NUMBA_CACHE_DIR=None,
        )  # fmt: skip
    finally:
        package.chmod(0o755)
    prediction, file, cache = run.stdout.splitlines()
    assert prediction == "[0, 0, 1, 1]"
    assert Path(file).parent == package
    assert cache == "NullCache"


# A timer a thousand times as fast: compiling always takes "over a second".
COMPILE = """
import sys, threading
import numpy as np

class Timer(threading.Timer):
    def __init__(self, seconds, *arguments):
        assert seconds == 1.0
        super().__init__(seconds / {faster}, *arguments)

threading.Timer = Timer
from polyceptron import kernels

G, g = np.ones((2, 3)), np.ones(2)
panel, bias = kernels.to_panels(G, g)
print(kernels.gradient_norms(G, g, 1.0))
kernels.descend(panel, bias, G, g, 1.0, 1.0)
kernels.shuffle(np.empty(3, np.int64), np.uint64(1))
"""


@pytest.fixture
def compile_in(tmp_path):
    def run(cache, faster=1000, **environment):
        code = COMPILE.format(faster=faster)
        environment = {"POLYCEPTRON_QUIET": None, **environment}
        done = python("-c", code, cwd=tmp_path, NUMBA_CACHE_DIR=tmp_path / cache, **environment)
        assert done.stdout == "4.0\n"  # two norms of [1, 1, 1, 1], nothing else on stdout
        return done.stderr

    return run


def test_long_compilation_is_announced_once(compile_in):
    first = compile_in("cache")
    assert first.count(MESSAGE) == 1
    assert first.count("\n") == 1
    assert compile_in("cache") == ""  # nothing left to compile


def test_quiet_compilation(compile_in):
    assert compile_in("cache", POLYCEPTRON_QUIET=1) == ""


def test_short_compilation_is_not_announced(compile_in):
    assert compile_in("cache", faster=1 / 1000) == ""

"""Kernels without JIT, where their machine code is kept, and what is said while they compile."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import polyceptron

HERE = Path(__file__).parent
SOURCES = Path(polyceptron.__file__).parent
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
    arguments = ["-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider", HERE]
    of_oc1 = "not test_oc1 or test_sort or 10-True or (test_climbing and 0-twoing)"
    some = f"not last_bit and not company and ({of_oc1})"  # the order of a sum is left to BLAS
    arguments += [f"--ignore={__file__}", HERE.parent / "learners" / "oc1", "-k", some]
    run = python(*arguments, cwd=HERE.parents[1], NUMBA_DISABLE_JIT=1, TMPDIR=tmp_path)
    assert " passed" in run.stdout


# `_add_gradients` is of perceptron.py and inlines `plane` of scores.py.
# The timer decides what is long.
DESCEND = """
import json, sys, threading
import numpy as np

class Timer(threading.Timer):
    def __init__(self, seconds, *arguments):
        assert seconds == 1.0
        super().__init__(float(sys.argv[1]), *arguments)

threading.Timer = Timer
from polyceptron import kernels
from polyceptron.kernels.perceptron import _add_gradients as moved

G, g = np.ones((2, 3)), np.ones(2)
panel, bias = kernels.descend(*kernels.to_panels(G, g), G, g, 1.0, 1.0)
kernels.gradient_norms(G, g, 1.0)
found = {
    "file": kernels.__file__,
    "second": panel[0, :, 1].tolist(),
    "cache": type(moved._cache).__name__,
    "path": moved._cache.cache_path,
    "loaded": len(moved.stats.cache_hits),
    "compiled": len(moved.stats.cache_misses),
}
print(json.dumps(found))
"""


def descend(path, *, longer_than=1000.0, **environment):
    """Move two hyperplanes with the package in this place; what was found, and stderr."""
    environment = {"POLYCEPTRON_QUIET": None, "PYTHONDONTWRITEBYTECODE": 1} | environment
    run = python("-c", DESCEND, str(longer_than), cwd="/", PYTHONPATH=path, **environment)
    found = json.loads(run.stdout)
    assert Path(found["file"]).is_relative_to(path)
    return found, run.stderr


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A place with a copy of the package, whose sources may be changed."""
    place = tmp_path_factory.mktemp("copied")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES, place / "polyceptron", ignore=ignored)
    return place


class TestCache:
    def test_change_of_what_is_inlined(self, copied, tmp_path):
        """Numba looks at the file of the outermost function only; we at all of them."""
        first, message = descend(copied, longer_than=0.0, NUMBA_CACHE_DIR=tmp_path)
        assert (first["second"], first["compiled"], first["loaded"]) == ([2, 2, 2], 1, 0)
        assert Path(first["path"]).is_relative_to(tmp_path)
        assert message.count(MESSAGE) == message.count("\n") == 1  # two kernels, announced once
        scores = copied / "polyceptron" / "kernels" / "scores.py"
        source = scores.read_text()
        changed = source.replace("else panel[k // LANES, :, k % LANES]",
                                 "else panel[k // LANES, :, 0]")  # fmt: skip
        assert changed != source
        scores.write_text(changed)
        try:
            new, _ = descend(copied, NUMBA_CACHE_DIR=tmp_path)
        finally:
            scores.write_text(source)
        assert (new["second"], new["compiled"], new["loaded"]) == ([1, 1, 1], 1, 0)
        assert new["path"] != first["path"]
        again, message = descend(copied, longer_than=0.0, NUMBA_CACHE_DIR=tmp_path)
        assert (again["second"], again["compiled"], again["loaded"]) == ([2, 2, 2], 0, 1)
        assert again["path"] == first["path"]
        assert message == ""  # nothing left to compile

    def test_beside_the_sources(self, copied):
        found, message = descend(copied, NUMBA_CACHE_DIR=None)
        folder = Path(found["path"])
        assert folder.parent == copied / "polyceptron" / "kernels" / "__pycache__"
        assert re.fullmatch(r"polyceptron-[0-9a-f]{16}", folder.name)
        assert list(folder.glob("perceptron._add_gradients-*.nbi"))
        assert message == ""  # it took less than a thousand seconds

    def test_zip(self, copied, tmp_path):
        archive = shutil.make_archive(tmp_path / "library", "zip", copied, "polyceptron")
        for home in (tmp_path, "/dev/null"):
            places = {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "NUMBA_CACHE_DIR": None}
            found, message = descend(archive, longer_than=0.0, POLYCEPTRON_QUIET=1, **places)
            assert found["second"] == [2, 2, 2]
            assert message == ""

    def test_nowhere_to_write(self, tmp_path):
        """Kernels compile in every process, and work.

        Permissions do not bind root, so the directories cannot be made: files or devices stand
        there.
        """
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCES, tmp_path / "polyceptron", ignore=ignored)
        (tmp_path / "polyceptron" / "kernels" / "__pycache__").write_text("no directory")
        places = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "NUMBA_CACHE_DIR": None}
        found, _ = descend(tmp_path, **places)
        assert (found["second"], found["cache"]) == ([2, 2, 2], "NullCache")


@pytest.mark.parametrize("file", [*SOURCES.glob("kernels/*.py"), *SOURCES.rglob("*/kernels.py")])
def test_compiled_code_is_of_one_file_or_of_the_package(file):
    """What else it called could change without being compiled anew; types are for readers only."""
    imported = re.findall(r"^(?:from|import) (polyceptron[.\w]*)", file.read_text(), re.MULTILINE)
    others = {name for name in imported if not f"{name}.".startswith("polyceptron.kernels.")}
    assert others <= {"polyceptron.utils.types"}

"""The benchmarks are beside the package and not in it."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])


@pytest.fixture(scope="session")
def benchmark():
    """Import a module of the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield lambda name: import_module(f"benchmarks.{name}")

"""The package as a whole: what it exports, and what importing it costs."""

import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import polyceptron

HEAVY = ("sklearn", "numba", "scipy", "numpy", "matplotlib", "pandas", "polars")
PUBLIC = [name for name in polyceptron.__all__ if name != "__version__"]


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `code`."""
    report = f"{code}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True, timeout=120
    )
    return set(run.stdout.split())


def test_import_loads_nothing_heavy():
    assert not loaded_by("import polyceptron").intersection(HEAVY)


def test_polyhedron_needs_numpy_only():
    code = "import polyceptron as p; p.Polyhedron([[1.0]], [0.0]).W"
    assert loaded_by(code).intersection(HEAVY) == {"numpy"}


def test_version_matches_metadata():
    assert polyceptron.__version__ == version("polyceptron")


def test_typed_marker_ships():
    assert Path(polyceptron.__file__).with_name("py.typed").is_file()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_docstring_with_example(name):
    doc = inspect.getdoc(getattr(polyceptron, name))
    assert doc, f"{name} has no docstring"
    assert ">>>" in doc, f"the docstring of {name} has no example"


def test_dir_lists_public_names():
    assert set(polyceptron.__all__) <= set(dir(polyceptron))


def test_star_import_gives_public_names():
    names: dict[str, object] = {}
    exec("from polyceptron import *", names)
    assert set(PUBLIC) <= set(names)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Perceptron'"):
        polyceptron.Perceptron  # noqa: B018


@pytest.mark.parametrize("name", polyceptron.datasets.__all__)
def test_dataset_function_has_docstring_with_example(name):
    doc = inspect.getdoc(getattr(polyceptron.datasets, name))
    assert doc is not None
    assert ">>>" in doc

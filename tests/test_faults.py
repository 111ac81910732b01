"""Full disks, other processors, files that change, kills: what is promised holds all the same."""

import json
import os
import platform
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]


def program(*command, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=os.environ | {"POLYCEPTRON_QUIET": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


FULL_DISK = """
import resource, sys, pathlib, numpy as np
from polyceptron import BatchPolyceptron, Checkpoint, open_blocks, save_model
folder = pathlib.Path(sys.argv[1])
X, y = np.arange(4000.0).reshape(2000, 2), np.arange(2000) % 2
model = BatchPolyceptron(40, max_iter=2, random_state=0).fit(X, y)
small = BatchPolyceptron(1, max_iter=2, random_state=0).fit(X, y)
save_model(small, folder / "model.json")
save = Checkpoint(folder / "fit.checkpoint", 0, 1, keep=True)
small.set_params(checkpoint=save).fit(X, y)
(folder / "rows.csv").write_text("a,b,y\\n" + "1,2,0\\n3,4,1\\n" * 5000)
before = [(folder / name).read_bytes() for name in ("model.json", "fit.checkpoint")]
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
for what in (
    lambda: save_model(model, folder / "model.json"),
    lambda: small.set_params(checkpoint=save).fit(X, y),
    lambda: open_blocks(folder / "rows.csv", "y", cache_dir=folder / "cache"),
):
    try:
        what()
    except (OSError, ValueError) as error:
        print(type(error).__name__, error)
    else:
        print("nothing")
assert before == [(folder / name).read_bytes() for name in ("model.json", "fit.checkpoint")]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk(tmp_path):
    """Models, checkpoints and the cache: the old file is whole, and the error says which."""
    lines = program("-W", "ignore", "-c", FULL_DISK, tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["OSError", "OSError", "SourceError"]
    assert all("File too large" in line for line in lines)
    for line, name in zip(lines, ["model.json", "fit.checkpoint", "polyceptron-rows"], strict=True):
        assert name in line
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"model.json", "fit.checkpoint", "rows.csv"}


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="kinds of other processors"
)
def test_two_kinds_of_processor():
    """Where BLAS has a part in learning, it shows in the last digits only; elsewhere not at all."""
    found = [
        json.loads(program(ROOT / "tests" / "core_types.py", OPENBLAS_CORETYPE=kind))
        for kind in ("Haswell", "Prescott")
    ]
    for name in ("batch", "online", "polyceptron"):
        assert found[0][name]["faces"] == found[1][name]["faces"], name
    for name, one in found[0].items():
        assert one["labels"] == found[1][name]["labels"], name
        for numbers in ("faces", "chances"):
            np.testing.assert_allclose(one[numbers], found[1][name][numbers], 1e-11, 1e-11)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_file_that_is_rewritten_while_others_fit():
    found = json.loads(program("-m", "benchmarks.contended_cache", "--rounds", "4"))
    assert found["fits"] == 16
    assert found["rewritten"] > 0
    assert found["wrong"] == 0, found["outcomes"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be killed so")
def test_a_command_that_is_killed():
    """Two of the forty in docs/reliability.md; its next run leaves nothing over."""
    command = ("--kills", "2", "--command", "fit --out-of-core")
    (found,) = json.loads(program("-m", "benchmarks.killed_commands", *command)).values()
    assert found["killed"] == 2
    assert found["same"] == found["clean"] == 2, found["left over"]


ADVISED = {"distributed": "2026.1.0", "jinja2": "3.1.5", "onnx": "1.20.1"}
"""The last releases with an advisory that is published."""


@pytest.mark.parametrize("name", ADVISED)
def test_what_is_installed_is_above_published_advisories(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [Requirement(text) for texts in extras for text in texts]
    (found,) = {str(one.specifier) for one in asked if one.name == name}
    assert not SpecifierSet(found).contains(ADVISED[name])


@pytest.mark.skipif(find_spec("pip_audit") is not None, reason="it would look for advisories")
def test_the_audit_goes_on_without_its_program():
    assert program(ROOT / ".ci" / "audit").startswith("audit: skipped, pip-audit is not installed")

"""What docs/pictures.md says can be done, and its images are there and small."""

import re
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("pandas")

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_run(tmp_path, monkeypatch):
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(block, names)
        plt.close("all")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learning.gif", "model.html"]


def test_the_images_are_there_and_small():
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    shown = set(re.findall(r"\]\((images/[^)]+)\)", text))
    assert shown == {f"images/{path.name}" for path in (DOCS / "images").iterdir()}
    for name in shown:
        assert (DOCS / name).stat().st_size < 60_000

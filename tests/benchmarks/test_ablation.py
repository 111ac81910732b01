"""The script that asks whether averaging helps: and what it writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from polyceptron.learners.polyceptron.hyperplanes import FIT, centre_of
from polyceptron.learners.polyceptron.selection import Setting

ROOT = Path(__file__).parents[2]
FEW = ["--draws", "2", "--train", "60", "--test", "100", "--jobs", "1", "--out"]


@pytest.fixture(scope="module")
def ablation(benchmark):
    return benchmark("ablation")


def shrink(ablation, patch):
    """Fewer of everything."""
    patch.setattr(ablation, "RUNS", (1, 3, 9))
    patch.setattr(ablation, "MARGINS", (0.0, 20.0))
    patch.setattr(ablation, "FIT", FIT._replace(max_iter=10, n_steps=5, products=1e5))


@pytest.fixture
def tiny(ablation, monkeypatch):
    shrink(ablation, monkeypatch)
    return ablation


@pytest.fixture(scope="module")
def written(ablation, tmp_path_factory):
    out = tmp_path_factory.mktemp("ablation") / "ablation.json"
    with pytest.MonkeyPatch.context() as patch:
        shrink(ablation, patch)
        ablation.main([*FEW, str(out)])
    return out


def test_what_is_written(tiny, written):
    results = json.loads(written.read_text(encoding="utf-8"))
    assert results["size"] == {"draws": 2, "train": 60, "test": 100}
    each = len(tiny.MARGINS) * (1 + 3 + 2) + 2 * 2 * len(tiny.PENALTIES)
    assert len(results["cells"]) == each * len(tiny.PROBLEMS)
    for cell in results["cells"]:
        found = cell["accuracy"]
        assert len(found["values"]) == 2
        assert found["mean"] == pytest.approx(np.mean(found["values"]), abs=1e-4)
        assert found["error"] == pytest.approx(np.ptp(found["values"]) / 2, abs=1e-4)


def test_it_is_the_same_again(tiny, written, tmp_path):
    again = tmp_path / "again.json"
    tiny.main([*FEW, str(again)])
    assert again.read_bytes() == written.read_bytes()


def test_tables_say_what_the_file_says(tiny, written, capsys):
    tiny.main(["--tables", "--out", str(written)])
    printed = capsys.readouterr().out
    results = json.loads(written.read_text(encoding="utf-8"))
    cells = [c for c in results["cells"] if c["kind"] in ("single", "mean") and
             (c["dataset"], c["flipped"], c["margin"]) == ("dataset2", 10, 20.0)]  # fmt: skip
    single, *means = [c["accuracy"] for c in cells if c.get("matched", True)]
    (plain,) = [c["accuracy"] for c in cells if c.get("runs") == 9 and not c["matched"]]
    shown = [f"{one['mean']:.1f} ± {one['error']:.1f}" for one in (single, *means, plain)]
    gains = np.subtract(means[-1]["values"], single["values"])
    gained = f"{gains.mean():+.1f} ± {np.ptp(gains) / 2:.1f}".replace("-", "\N{MINUS SIGN}")
    line = " | ".join(["2, 10% flipped", "20", *shown[:-1], gained, shown[-1]])
    assert f"| {line} |" in printed


def test_a_mean_is_the_centre_that_the_library_takes(tiny):
    draw = tiny.drawn("dataset1", 10, 0, 1, tiny.Size(1, 80, 50))
    setting = Setting(1, 3, 20.0, None)
    seeds = [1, 2, 3]
    runs = [centre_of(draw.rows, setting, [one], tiny.FIT).theta for one in seeds]
    mean = tiny.matched_mean([run / np.linalg.norm(run) for run in runs])
    expected = centre_of(draw.rows, setting, seeds, tiny.FIT).theta
    unit = [theta / np.linalg.norm(theta) for theta in (mean, expected)]
    np.testing.assert_allclose(*unit, rtol=1e-9, atol=1e-12)


def test_the_truth_is_judged_right(ablation):
    size = ablation.Size(1, 200, 300)
    clean, flipped = (ablation.drawn("dataset2", share, 0, 1, size) for share in (0, 10))
    assert (clean.rows.X == flipped.rows.X).all()
    assert (clean.rows.y != flipped.rows.y).sum() == 20
    found = ablation.judged(flipped.truth[::-1], flipped)  # in any order
    assert found["accuracy"] == 100
    assert found["angle"] == pytest.approx(0, abs=1e-5)
    assert found["wrong"] == pytest.approx(10)
    assert found["excess"] == 0
    assert 0 < found["least"] < found["low"]


def test_the_stored_results_are_of_the_default_size(ablation):
    results = json.loads((ROOT / ablation.RESULTS).read_text(encoding="utf-8"))
    assert results["size"] == ablation.Size()._asdict()
    assert ablation.as_text(results) == (ROOT / ablation.RESULTS).read_text(encoding="utf-8")

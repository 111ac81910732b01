"""The demonstration, in small."""

import sys

import pytest

from polyceptron import demo


@pytest.fixture
def small(monkeypatch):
    """Few passes and one start: the table is tested here, not the learning."""

    def quick(make):
        def made(name, K, seed):
            return make(name, K, seed).set_params(max_iter=5, n_init=1)

        return made

    monkeypatch.setattr(demo, "METHODS", {m: quick(make) for m, make in demo.METHODS.items()})


@pytest.mark.usefixtures("small")
def test_table_has_every_method_and_set(capsys):
    demo.main(["--repetitions", "2", "--no-plot"])
    out = capsys.readouterr().out
    for name in ("Dataset 1, K=3", "Dataset 2, K=4", "Ionosphere, K=2", "Breast-Cancer, K=2"):
        assert name in out
    for method in demo.METHODS:
        assert sum(line.startswith(method) for line in out.splitlines()) >= 2
    assert "95.05 ± 0.94" in out
    assert "did not converge in" in out
    assert "clump_thickness" in out
    assert ">=" in out


def test_columns_are_aligned():
    result = demo.Result([90.0, 92.0], 1.5, 20, 0)
    results = {(m, s): result for m in demo.METHODS for s in demo.paper_datasets()}
    lines = demo.table(results).splitlines()
    ends = {len(line) for line in lines if line and not line.startswith("median")}
    assert len(ends) == 1
    assert "91.00 ± 1.41" in lines[3]


def test_one_repetition_has_no_spread():
    assert demo.Result([90.0], 1.5, 10, 0).accuracy() == "90.00"


@pytest.mark.usefixtures("small")
def test_cross_validation_counts_every_row_once():
    name, bunch = next(iter(demo.paper_datasets().items()))
    result = demo.evaluate("Batch, our defaults", name, bunch, 1, 0)
    assert result.n_fits == 10
    assert result.n_unconverged == 10  # five iterations are too few
    assert 0 < result.accuracies[0] < 100


def test_picture_is_saved(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / "demo.png"
    assert str(path) in demo.picture(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_works_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    said = demo.picture(tmp_path / "demo.png")
    assert "pip install polyceptron[plot]" in said
    assert not list(tmp_path.iterdir())


def test_help_names_the_options(capsys):
    with pytest.raises(SystemExit) as stop:
        demo.main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert all(option in out for option in ("--repetitions", "--seed", "--no-plot", "--out"))


def test_no_repetitions_is_refused(capsys):
    with pytest.raises(SystemExit):
        demo.main(["--repetitions", "0"])
    assert "--repetitions must be at least 1" in capsys.readouterr().err


def test_progress_only_on_a_terminal(capsys):
    demo._progress("working")
    assert capsys.readouterr().err == ""

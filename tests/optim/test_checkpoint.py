"""Checkpoints: a fit that was killed ends with the model of one that was left alone."""

import json
import os
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from common import fit as fit_quietly
from polyceptron import (
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    Checkpoint,
    CheckpointError,
    OnlinePolyceptron,
    Polyceptron,
    PolyhedralSVM,
    Polyhedron,
    open_blocks,
)
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.data.source import SourceError
from polyceptron.datasets import make_dataset1
from polyceptron.optim import checkpoint
from polyceptron.optim.checkpoint import (
    NO_JOURNAL,
    FitJournal,
    as_checkpoint,
    described,
    fingerprint,
)
from polyceptron.optim.solver import RunState

X, Y = (array[:300] for array in make_dataset1(random_state=0, return_X_y=True))
OFTEN = {"seconds": 0.0, "iterations": 1}
LEARNERS = {
    "batch": BatchPolyceptron(3, max_iter=60, random_state=0),
    "online": OnlinePolyceptron(3, max_iter=10, average=True, random_state=0),
    "spla1": SPLA1(3, n_init=2, random_state=0),
    "spla2": SPLA2(max_hyperplanes=3, n_init=1, random_state=0),
    "pcslp": PCSLP(2, random_state=0),
    "polyhedral-svm": PolyhedralSVM(2, C=100, random_state=0),
    "polyceptron": Polyceptron(2, max_iter=20, n_init=2, sampled=False, random_state=0),
}


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch):
    """Nothing waits for the disk: that it is asked to is a test of `atomic`."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Killed(BaseException):
    """Stands for a kill in tests that only want to stop half way."""


def fit(model, **arguments):
    return fit_quietly(model, arguments.pop("X", X), arguments.pop("y", Y), **arguments)


def copy(name, path=None, **parameters):
    model = LEARNERS[name].__class__(**LEARNERS[name].get_params())
    return model.set_params(
        checkpoint=None if path is None else Checkpoint(path, **OFTEN), **parameters
    )


@cache
def left_alone(name):
    return fit(copy(name))


def interrupted(name, path, monkeypatch, after=7, **parameters):
    """Fit until a checkpoint has been written so many times."""
    write, count = FitJournal.write, iter(range(10**9))

    def write_and_stop(journal):
        write(journal)
        if next(count) == after:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(FitJournal, "write", write_and_stop)
        with pytest.raises(Killed):
            fit(copy(name, path, **parameters))
    assert path.exists()


def assert_same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.n_iter_ == other.n_iter_
    for name, values in getattr(one, "history_", {}).items():
        np.testing.assert_array_equal(values, other.history_[name])


def forged(whole):
    """The arrays of a checkpoint with one that is another, in every way for every array."""
    for name, array in whole.items():
        others = [array[..., None], array.ravel()[:-1], np.resize(array, (100, *array.shape[1:]))]
        others += [array.astype("f4"), array.astype(">f8"), array.astype("U8"), array.astype(bool)]
        for number in (np.nan, np.inf, -1, 1e308, 0.5):
            spoilt = array.copy()
            with np.errstate(invalid="ignore"):
                spoilt.reshape(-1)[:1] = np.asarray(number).astype(array.dtype)
            others.append(spoilt)
        yield {one: own for one, own in whole.items() if one != name}
        yield {name + "x" if one == name else one: own for one, own in whole.items()}
        yield from (whole | {name: other} for other in others)


@pytest.mark.parametrize(
    "asked",
    [
        [f"{learner}@memory" for learner in ("batch", "online", "spla1", "spla2", "pcslp")],
        ["polyceptron@memory", "three classes@memory", "batch@files", "batch@dask"],
    ],
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_again_and_again(asked, tmp_path):
    if any(one.endswith("@dask") for one in asked):
        pytest.importorskip("distributed")
    command = [sys.executable, Path(__file__).parents[1] / "killed_fits.py", tmp_path, "1", "1"]
    done = subprocess.run(
        [*command, *asked], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    for one, found in json.loads(done.stdout).items():
        assert found["killed"] >= found["resumed"] > 0, one
        assert found["equal"], one
        assert not found["left"], one


@pytest.mark.parametrize("name", LEARNERS)
class TestGoingOn:
    @pytest.mark.parametrize("after", [0, 3])
    def test_it_is_the_model_of_an_uninterrupted_fit(self, name, after, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted(name, path, monkeypatch, after)
        resumed = fit(copy(name, path, n_jobs=1))  # which changes nothing, and may change
        assert_same(resumed, left_alone(name))
        assert not path.exists()

    def test_work_is_not_done_again(self, name, tmp_path, monkeypatch):
        whole, resumed = (copy(name, tmp_path / "c") for _ in range(2))
        n_whole = self.steps(whole, monkeypatch)
        interrupted(name, tmp_path / "c", monkeypatch, after=3)
        assert self.steps(resumed, monkeypatch) < n_whole
        assert_same(whole, resumed)  # which is the model of a fit without a checkpoint, see above

    def steps(self, model, monkeypatch):
        write, count = FitJournal.write, []
        with monkeypatch.context() as patched:
            patched.setattr(FitJournal, "write", lambda journal: (count.append(0), write(journal)))
            fit(model)
        return len(count)

    def test_without_a_seed_the_first_draw_counts(self, name, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted(name, path, monkeypatch, 2, random_state=np.random.RandomState(5))
        found = fit(copy(name, path, random_state=None))
        assert_same(found, fit(copy(name, random_state=np.random.RandomState(5))))

    def test_other_data_is_refused_and_the_file_stays(self, name, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted(name, path, monkeypatch, 2)
        before, other = path.read_bytes(), X.copy()
        other[17, 1] += 1e-12
        for arguments in ({"X": other}, {"X": 2 * X}, {"y": np.r_[-Y[:1], Y[1:]]}, {"X": X[::-1]}):
            with pytest.raises(CheckpointError, match="another fit"):
                fit(copy(name, path), **arguments)
        with pytest.raises(CheckpointError, match="data was"):
            fit(copy(name, path), sample_weight=np.r_[2.0, np.ones(len(Y) - 1)])
        assert path.read_bytes() == before

    def test_other_parameters_are_refused(self, name, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted(name, path, monkeypatch, 2)
        n = LEARNERS[name].max_iter
        with pytest.raises(CheckpointError, match=f"max_iter was {n}, is {n + 1}"):
            fit(copy(name, path, max_iter=n + 1))
        with pytest.raises(CheckpointError, match="random_state was 0, is 1"):
            fit(copy(name, path, random_state=1))
        with pytest.raises(CheckpointError, match="standardize was"):
            fit(copy(name, path, standardize=not LEARNERS[name].standardize))


class TestFiles:
    def test_another_learner_is_refused(self, tmp_path, monkeypatch):
        interrupted("batch", tmp_path / "c", monkeypatch)
        with pytest.raises(CheckpointError, match="learner was BatchPolyceptron, is SPLA1"):
            fit(copy("spla1", tmp_path / "c"))

    @pytest.mark.parametrize("spoil", ["cut", "flip", "empty", "text", "zip", "format"])
    def test_spoilt(self, spoil, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted("batch", path, monkeypatch)
        data = bytearray(path.read_bytes())
        if spoil == "cut":
            data = data[: len(data) // 2]
        elif spoil == "flip":
            data[300] ^= 255
        elif spoil == "zip":
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("checkpoint.npy", b"\x93NUMPY")
            data = path.read_bytes()
        elif spoil == "format":
            with monkeypatch.context() as patched:
                patched.setattr(checkpoint, "_FORMAT", 2)
                FitJournal(Checkpoint(tmp_path / "d"), {}).write()
            data = (tmp_path / "d").read_bytes()
        else:
            data = b"" if spoil == "empty" else b"hello"
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match="c: "):
            fit(copy("batch", path))
        assert path.read_bytes() == bytes(data)

    def test_of_another_fit_is_refused_before_it_is_read(self, tmp_path):
        """A few kilobytes that would be 800 MB."""
        path = tmp_path / "c"
        head = {"format": checkpoint._FORMAT, "identity": {"learner": "another"}}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            with file.open("checkpoint.npy", "w") as member:
                np.save(member, np.frombuffer(json.dumps(head).encode(), np.uint8))
            with file.open("a.npy", "w") as member:
                shape = {"descr": "<f8", "fortran_order": False, "shape": (10**8,)}
                np.lib.format.write_array_header_1_0(member, shape)
                member.write(bytes(8 * 10**7))
        tracemalloc.start()
        with pytest.raises(CheckpointError, match="its arrays are compressed"):
            fit(copy("batch", path))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e7

    @pytest.mark.parametrize(
        "spoil", ["gone", "other", "shape", "type", "text", "renamed", "exchanged", "more"]
    )
    def test_whose_arrays_are_spoilt(self, spoil, tmp_path, monkeypatch):
        """Whole as a file, but not what was written."""
        path = tmp_path / "c"
        interrupted("batch", path, monkeypatch)
        with np.load(path) as file:
            arrays = dict(file)
        name, other = [name for name in arrays if name.endswith((".W", ".b"))][:2]
        spoilt = {
            "other": {name: arrays[name] + 1e-9},
            "shape": {name: arrays[name][..., None]},
            "type": {name: arrays[name].astype(np.float32)},
            "text": {name: np.array(["a"])},
            "exchanged": {name: arrays[other], other: arrays[name]},
            "more": {"run, start 7/facts": np.zeros(4)},
        }
        arrays |= spoilt.get(spoil, {})
        if spoil in ("gone", "renamed"):
            array = arrays.pop(name)
            arrays |= {name + "x": array} if spoil == "renamed" else {}
        with path.open("wb") as out:
            np.savez(out, **arrays)
        with pytest.raises(CheckpointError, match="not a whole checkpoint; remove it"):
            fit(copy("batch", path))

    @pytest.mark.parametrize("name", [*LEARNERS, "union"])
    def test_forged(self, name, tmp_path, monkeypatch):
        """Whole, with the right digest, but of arrays that no fit wrote: never another error."""
        path = tmp_path / "c"
        if name == "union":
            monkeypatch.setitem(
                LEARNERS, name, Polyceptron(n_polyhedra=2, max_faces=4, random_state=0)
            )
        interrupted(name, path, monkeypatch, after=2)
        with np.load(path) as file:
            whole = dict(file)
        head = json.loads(whole.pop("checkpoint").tobytes())
        outcomes = []
        for arrays in forged(whole):
            head["digest"] = checkpoint.digest_by_name(arrays)
            with path.open("wb") as out:
                sealed = np.frombuffer(json.dumps(head).encode(), np.uint8)
                np.savez(out, checkpoint=sealed, **arrays)
            model = copy(name, path)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # where numbers are great
                    fit(model)
            except CheckpointError:
                outcomes.append("refused")
            else:
                assert set(model.predict(X)) <= {-1, 1}
                outcomes.append("taken")
        assert outcomes.count("refused") > len(outcomes) / 2

    def test_of_another_form(self, tmp_path, monkeypatch):
        """Whole, but of a version that kept other things."""
        path = tmp_path / "c"
        pack = RunState.pack

        def without(self, learner):
            record = pack(self, learner)
            return record and {name: part for name, part in record.items() if name != "best"}

        with monkeypatch.context() as patch:
            patch.setattr(RunState, "pack", without)
            interrupted("batch", path, patch)
        with pytest.raises(CheckpointError, match="that this version cannot go on from"):
            fit(copy("batch", path))

    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "c")
        with pytest.raises(CheckpointError, match="not a regular file"):
            fit(copy("batch", tmp_path / "c"))

    def test_a_full_disk_leaves_the_last_one(self, tmp_path, monkeypatch):
        path = tmp_path / "c"
        interrupted("batch", path, monkeypatch)
        before = path.read_bytes()

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(checkpoint, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            fit(copy("batch", path))
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["c"]

    @pytest.mark.parametrize("name", ["batch", "online", "spla1"])
    @pytest.mark.parametrize("after", [1, 5])
    def test_ctrl_c_writes_once_more(self, name, after, tmp_path, monkeypatch):
        learner, count = type(LEARNERS[name]), iter(range(10**9))

        def step_or_stop(model, data, state, step=learner._step):
            if next(count) == after:
                raise KeyboardInterrupt
            return step(model, data, state)

        never = Checkpoint(tmp_path / "c", 1e9)
        with monkeypatch.context() as patched:
            patched.setattr(learner, "_step", step_or_stop)
            with pytest.raises(KeyboardInterrupt):
                fit(copy(name).set_params(checkpoint=never))
        assert (tmp_path / "c").exists()
        models, steps = [copy(name).set_params(checkpoint=never), copy(name)], []
        for model in models:
            n, step = [], learner._step
            with monkeypatch.context() as patched:
                patched.setattr(learner, "_step", lambda *a, n=n, s=step: (n.append(0), s(*a))[1])
                fit(model)
            steps.append(len(n))
        assert_same(*models)
        assert steps[0] == steps[1] - after

    def test_it_may_be_kept(self, tmp_path, monkeypatch):
        kept = Checkpoint(tmp_path / "c", seconds=0, keep=True)
        found = fit(copy("batch").set_params(checkpoint=kept))
        assert (tmp_path / "c").exists()
        monkeypatch.setattr(BatchPolyceptron, "_step", lambda *_: 1 / 0)
        assert_same(fit(copy("batch").set_params(checkpoint=kept)), found)

    def test_an_error_leaves_it(self, tmp_path, monkeypatch):
        interrupted("batch", tmp_path / "c", monkeypatch)
        monkeypatch.setattr(BatchPolyceptron, "_conclude", lambda *_: 1 / 0)
        with pytest.raises(CheckpointError, match="went on from it failed") as caught:
            fit(copy("batch", tmp_path / "c"))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert (tmp_path / "c").exists()

    def test_a_file_that_shrinks_leaves_checkpoint_and_cache(self, tmp_path):
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", Y)
        whole, path = (tmp_path / "X.npy").read_bytes(), tmp_path / "c"
        source = open_blocks(tmp_path / "X.npy", tmp_path / "y.npy")
        before = {file: file.read_bytes() for file in tmp_path.rglob("codes.npy")}

        class Shrinks(BatchPolyceptron):
            def _step(self, data, state):
                if len(state.tail) == 3:
                    (tmp_path / "X.npy").write_bytes(whole[:-1000])
                return super()._step(data, state)

        model = Shrinks(3, max_iter=60, random_state=0, checkpoint=Checkpoint(path, **OFTEN))
        with pytest.raises(SourceError, match=r"X\.npy: ends in row \d+, and had 300 rows"):
            model.fit_blocks(source)
        assert path.exists()
        assert {file: file.read_bytes() for file in tmp_path.rglob("codes.npy")} == before
        (tmp_path / "X.npy").write_bytes(whole)
        Shrinks._step = BatchPolyceptron._step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit_blocks(open_blocks(tmp_path / "X.npy", tmp_path / "y.npy"))
        assert_same(model, left_alone("batch"))

    def test_no_folder_or_one(self, tmp_path):
        with pytest.raises(CheckpointError, match="there is no folder"):
            fit(copy("batch", tmp_path / "none" / "c"))
        with pytest.raises(CheckpointError, match="a folder; a checkpoint is a file"):
            fit(copy("batch", tmp_path))

    def test_nothing_is_executed(self, tmp_path):
        (tmp_path / "c").write_bytes(b"")
        np.savez(tmp_path / "c.npz", checkpoint=np.array([print], dtype=object))
        (tmp_path / "c.npz").rename(tmp_path / "c")
        with pytest.raises(CheckpointError, match="not a whole checkpoint"):
            fit(copy("batch", tmp_path / "c"))


class TestParameter:
    def test_a_path_will_do(self, tmp_path):
        for path in (tmp_path / "c", str(tmp_path / "c")):
            assert as_checkpoint(path) == Checkpoint(path)
            fit(copy("batch").set_params(checkpoint=path))
            assert not (tmp_path / "c").exists()

    @pytest.mark.parametrize("name", LEARNERS)
    def test_something_else_is_refused(self, name):
        with pytest.raises(ValueError, match="checkpoint must be None, a path or a Checkpoint"):
            fit(copy(name).set_params(checkpoint=3))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [({"seconds": one}, "seconds must be") for one in (-1, float("nan"), "a")]
        + [({"path": one}, "path must be that of a file") for one in (None, 3, "")]
        + [({"iterations": 0}, "iterations")],
    )
    def test_what_is_wrong(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            Checkpoint(**{"path": "c"} | wrong)

    def test_every_so_many_iterations(self, tmp_path, monkeypatch):
        count = []
        monkeypatch.setattr(FitJournal, "write", lambda journal: journal.__dict__.update(_steps=0))
        step = FitJournal.step
        monkeypatch.setattr(FitJournal, "step", lambda journal: count.append(step(journal)))
        fit(copy("batch").set_params(checkpoint=Checkpoint(tmp_path / "c", 1e9, 10), n_init=1))
        assert count[:20] == ([False] * 9 + [True]) + [True] * 10  # nothing was written

    def test_short_fits_write_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(FitJournal, "write", lambda _: 1 / 0)
        fit(copy("batch").set_params(checkpoint=tmp_path / "c"))


class TestFingerprint:
    def blocks(self, rows, y=Y, weight=None, **options):
        signs = np.asarray(y, np.int8)
        weight = np.empty(0) if weight is None else weight
        return ArrayBlocks(kernel_rows(rows), signs, weight, rows.shape[1], **options)

    def test_threads_do_not_matter(self):
        found = {
            fingerprint(self.blocks(X, n_threads=threads, block_rows=64)) for threads in (1, 2)
        }
        assert len(found) == 1

    @pytest.mark.parametrize("make", [np.asarray, np.float32, sp.csr_matrix])
    def test_every_value_matters(self, make):
        rows = make(X)
        found = {fingerprint(self.blocks(rows))}
        other = rows.copy()
        if sp.issparse(other):
            other.data[3] += 1
        else:
            other[3, 1] += 1
        found.add(fingerprint(self.blocks(other)))
        found.add(fingerprint(self.blocks(rows, np.r_[-Y[:1], Y[1:]])))
        found.add(fingerprint(self.blocks(rows, weight=np.ones(len(Y)))))
        found.add(fingerprint(self.blocks(rows[::-1].copy(), Y[::-1].copy())))
        assert len(found) == 5

    def test_parameters_are_told_apart(self):
        values = [1, 1.0, "1", None, X, X + 1, X.tolist(), [1, 2], np.array([1.0, 2.0])]
        found = [described(value) for value in values]
        assert len(set(found)) == len(found) - 1  # X, as an array or as lists
        assert all(len(text) < 80 for text in found)

    def test_parameters_of_several_shapes_are_told_apart(self):
        many = np.arange(2000.0).reshape(40, 50)
        values = [
            [[0, 1], [2]],
            [[0, 1], [2], *[[0]] * 10],
            (many, many[:, 0]),
            sp.csr_matrix(many),
        ]
        values += [
            (many + (many == 900), many[:, 0]),
            Polyhedron([[1]], [2]),
            Polyhedron([[1]], [3]),
        ]
        assert len({described(value) for value in values}) == len(values)

    def test_no_journal(self):
        assert NO_JOURNAL.get("a") is None
        NO_JOURNAL.put("a", {})
        assert NO_JOURNAL.get("a") is None
        assert not NO_JOURNAL.step()
        NO_JOURNAL.finish()

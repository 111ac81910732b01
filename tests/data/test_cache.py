"""The cache: converted rows are found again, believed only if whole, and lead nowhere else."""

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from polyceptron import open_blocks
from polyceptron.data import cache, convert
from polyceptron.data.cache import Stamp, cache_root
from polyceptron.data.files import ArrayWriter
from polyceptron.data.source import SourceError
from polyceptron.utils.locks import held
from tables_of_tests import everything, frame, opened, refused


@pytest.fixture(autouse=True)
def root(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("POLYCEPTRON_CACHE", str(folder))
    return folder


@pytest.fixture
def path(tmp_path):
    frame().to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def arrays_in(folder):
    return sorted(path.name for path in Path(folder).rglob("*.npy"))


def caches_in(folder):
    return list(Path(folder).rglob("entry.json"))


class TestCache:
    @pytest.fixture
    def converted(self, monkeypatch):
        """How often rows were converted."""
        counts = []
        run = convert.Conversion.run

        def counted(self):
            counts.append(1)
            return run(self)

        monkeypatch.setattr(convert.Conversion, "run", counted)
        return counts

    def test_is_found_again(self, path, converted):
        first, rows = opened(path, "y")
        again, same = opened(path, "y")
        assert len(converted) == 1
        assert again.X.path == first.X.path
        assert again.classes.tolist() == first.classes.tolist()
        np.testing.assert_array_equal(rows.X, same.X)

    def test_every_request_has_its_own(self, path, converted, tmp_path, root):
        for named in ({}, {"drop": ["a"]}, {"dtype": "float32"}, {"cache_dir": tmp_path / "x"}):
            source = open_blocks(path, "y", **named)
            assert source.n_features == 3 - len(named.get("drop", []))
        assert len(converted) == 4
        assert len(caches_in(root)) == 3
        assert len(caches_in(tmp_path / "x")) == 1

    def test_of_a_file_with_another_time(self, path, converted, root):
        open_blocks(path, "y")
        os.utime(path, ns=(1, 1))
        open_blocks(path, "y")
        assert len(converted) == 1
        known = json.loads(caches_in(root)[0].read_text())["entry"]
        assert known["files"][0]["mtime_ns"] == 1  # not all is read the next time

    def test_another_file_in_the_directory(self, tmp_path, root):
        (tmp_path / "d").mkdir()
        frame(100).to_parquet(tmp_path / "d" / "part-1.parquet")
        open_blocks(tmp_path / "d", "y")
        frame(50).to_parquet(tmp_path / "d" / "part-2.parquet")
        assert open_blocks(tmp_path / "d", "y").n_samples == 150
        assert len(caches_in(root)) == 1
        assert len(arrays_in(root)) == 2

    def test_of_a_file_that_changed(self, path, converted, root):
        first = open_blocks(path, "y")
        frame(seed=5).to_parquet(path)
        _, rows = opened(path, "y")
        assert len(converted) == 2
        np.testing.assert_array_equal(rows.X, frame(seed=5)[["a", "b", "c"]].to_numpy())
        assert len(arrays_in(root)) == 2
        with pytest.raises(SourceError, match="No such file"):
            everything(first)  # rather than rows of another file

    def test_of_a_file_that_changed_at_the_same_size_and_time(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,y\n1,0\n2,1\n")
        open_blocks(path, "y")
        before = path.stat()
        path.write_text("a,y\n1,0\n3,1\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert opened(path, "y")[1].X.tolist() == [[1], [3]]

    @pytest.mark.parametrize(
        "spoil", ["cut", "gone", "bit", "json", "empty", "version", "type", "digest", "unknown"]
    )
    def test_that_is_torn(self, path, converted, spoil, root):
        source = open_blocks(path, "y")
        at = caches_in(root)[0]
        known = json.loads(at.read_text())["entry"]
        if spoil == "cut":
            source.X.path.write_bytes(source.X.path.read_bytes()[:-1])
        elif spoil == "bit":
            data = bytearray(source.X.path.read_bytes())
            data[len(data) // 2] ^= 1
            source.X.path.write_bytes(data)
        elif spoil == "gone":
            source.codes.path.unlink()
        elif spoil == "json":
            at.write_text(at.read_text()[:100])
        elif spoil == "empty":
            at.write_text("[]")
        elif spoil == "digest":
            at.write_text(at.read_text().replace('"n_left_out":0', '"n_left_out":1'))
        else:
            facts = known["facts"] | {"target": 3}
            changes = {"version": {"version": 1}, "type": {"facts": facts}, "unknown": {"more": 1}}
            plant(at, known | changes[spoil])
        again, rows = opened(path, "y")
        assert len(converted) == 2
        assert again.n_left_out == 0
        np.testing.assert_array_equal(rows.X, frame()[["a", "b", "c"]].to_numpy())

    def test_an_error_leaves_the_older_one(self, path, root):
        source, rows = opened(path, "y")
        good = path.read_bytes()
        time_ = path.stat().st_mtime_ns
        path.write_bytes(good[:-100])
        refused(path, "y")
        np.testing.assert_array_equal(everything(source).X, rows.X)
        assert len(arrays_in(root)) == 2
        path.write_bytes(good)
        os.utime(path, ns=(time_, time_))
        assert open_blocks(path, "y").X.path == source.X.path

    @pytest.mark.parametrize("change", ["append", "remove"])
    def test_a_file_that_changes_meanwhile(self, path, change, root):
        def meddle(_done, _total):
            if change == "append":
                with path.open("ab") as file:
                    file.write(b" ")
            else:
                path.unlink(missing_ok=True)

        text = refused(path, "y", progress=meddle)
        words = {"append": "changed while it was read", "remove": "disappeared while it was read"}
        assert f"{path}: it {words[change]}" in text
        assert not arrays_in(root)

    def test_a_place_that_cannot_be_written(self, path, tmp_path):
        (tmp_path / "file").touch()
        assert "cache_dir names another place" in refused(path, "y", cache_dir=tmp_path / "file")

    def test_a_full_disk(self, path, monkeypatch, root):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(ArrayWriter, "append", full)
        assert "No space left on device; cache_dir" in refused(path, "y")
        assert not list((root / "polyceptron-rows").iterdir())

    def test_what_was_killed_is_swept(self, path):
        source = open_blocks(path, "y")
        entry = source.X.path.parent.parent
        old, new = "0" * 16, "1" * 16
        for name, age in [(old, 3 * 86_400), (new, 0), ("not ours", 3 * 86_400)]:
            (entry / name).mkdir()
            (entry / name / "X.npy").touch()
            for at in (entry / name / "X.npy", entry / name):
                os.utime(at, (time.time() - age,) * 2)
        frame(seed=1).to_parquet(path)
        with held(entry / new):
            kept = open_blocks(path, "y").X.path.parent.name
        assert {at.name for at in entry.iterdir()} == {kept, new, "not ours", "entry.json"}
        os.utime(entry / new / "X.npy", (time.time() - 60,) * 2)
        os.utime(entry / new, (time.time() - 60,) * 2)
        frame(seed=2).to_parquet(path)
        kept = open_blocks(path, "y").X.path.parent.name
        assert {at.name for at in entry.iterdir()} == {kept, "not ours", "entry.json"}

    def test_two_threads_at_once(self, path, monkeypatch):
        together = threading.Barrier(2)
        keep = cache.Entry.keep

        def meet(self, description):
            together.wait(30)
            return keep(self, description)

        monkeypatch.setattr(cache.Entry, "keep", meet)
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(opened(path, "y"))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _, rows in found:
            np.testing.assert_array_equal(rows.X, frame()[["a", "b", "c"]].to_numpy())
        assert len(found) == 2

    def test_progress(self, tmp_path, monkeypatch):
        monkeypatch.setattr("polyceptron.data.dialect.BLOCK", 1 << 14)
        df = frame(2000).assign(k=["u", "v"] * 1000)
        df.to_csv(tmp_path / "t.csv", index=False)
        seen = []
        open_blocks(tmp_path / "t.csv", "y", progress=lambda *step: seen.append(step))
        done = [step[0] for step in seen]
        size = (tmp_path / "t.csv").stat().st_size
        assert len(done) > 4
        assert done == sorted(done)
        assert seen[-1] == (2 * size, 2 * size)  # categories are learned first

    def test_stamp_of_ends(self, tmp_path):
        path = tmp_path / "big"
        path.write_bytes(bytes(3 << 20))
        at = path.stat()
        stamp = Stamp.of(path)
        assert stamp.fits(path) == stamp
        data = bytearray(3 << 20)
        data[3 << 19] = 1  # in the middle, which is looked at only if the time is another
        path.write_bytes(data)
        assert stamp.fits(path) is None
        os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
        assert isinstance(stamp.fits(path), Stamp)


def plant(at, known):
    """Write a description with a digest that is right."""
    entry = msgspec.json.encode(known)
    signed = {"digest": cache.seal(entry), "entry": msgspec.Raw(entry)}
    at.write_bytes(msgspec.json.encode(signed))


def test_that_came_with_the_files(path, root):
    """An entry whose digests are right, but were not made by this user."""
    source = open_blocks(path, "y")
    at, codes = caches_in(root)[0], source.codes.path
    np.save(codes, 1 - np.load(codes))
    known = json.loads(at.read_text())["entry"]
    known["arrays"]["codes.npy"] = msgspec.to_builtins(Stamp.of(codes))
    entry = msgspec.json.encode(known)
    for key in (b"", bytes(32)):
        signed = {"digest": cache.digest(entry, key), "entry": msgspec.Raw(entry)}
        at.write_bytes(msgspec.json.encode(signed))
        found = open_blocks(path, "y").codes.path
        assert not np.array_equal(np.load(found), np.load(codes) if codes.exists() else None)
    plant(at, known | {"request": "of another user"})
    assert (cache._own_folder() / "key").stat().st_mode & 0o777 == 0o600


def test_without_a_place_for_the_key(path, monkeypatch, tmp_path):
    """Entries are then those of one process."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    first = open_blocks(path, "y").X.path
    assert open_blocks(path, "y").X.path == first
    cache._secret.cache_clear()
    assert open_blocks(path, "y").X.path != first


class TestNothingOutside:
    """Whoever can write into the cache has nothing removed or read that is not in it."""

    @pytest.fixture
    def precious(self, path, tmp_path):
        """Arrays that are like those of the cache."""
        folder = tmp_path / "0123456789abcdef"
        shutil.copytree(open_blocks(path, "y").X.path.parent, folder)
        return folder

    @pytest.mark.parametrize("how", ["absolute", "relative", "link", "link to the entry"])
    @pytest.mark.parametrize("changed", [True, False])
    def test_a_planted_entry_leads_nowhere(self, path, root, precious, how, changed):
        at = caches_in(root)[0]
        known = json.loads(at.read_text())["entry"]
        arrays = {name: Stamp.of(precious / name) for name in known["arrays"]}
        folder = str(precious) if how == "absolute" else os.path.relpath(precious, at.parent)
        if how == "link":
            folder = precious.name
            (at.parent / folder).symlink_to(precious)
        plant(at, known | {"folder": folder, "arrays": arrays})
        if how == "link to the entry":
            plant(at, known)
            at.parent.rename(path.parent / "moved")
            at.parent.symlink_to(path.parent / "moved")
        if changed:
            frame(seed=1).to_parquet(path)
        if how == "link to the entry":
            assert "a link, or a folder that others can write to" in refused(path, "y")
            assert len(list((path.parent / "moved").rglob("*"))) == 4
            return
        again = open_blocks(path, "y")
        assert len(list(precious.iterdir())) == 2
        assert again.X.path.resolve().is_relative_to(root)

    def test_arrays_that_are_none(self, path, root):
        """Listed all the same, and removed where it is asked for."""
        open_blocks(path, "y")
        folder = root / "polyceptron-rows" / ("0" * 16) / ("1" * 16)
        folder.mkdir(mode=0o700, parents=True)
        folder.parent.chmod(0o700)
        (folder / "codes.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
        entries = cache.kept_entries(root / "polyceptron-rows")
        assert sorted(str(entry.rows) for entry in entries)[1] == "None"
        for entry in entries:
            cache.remove_entry(entry.folder)
        assert not cache.kept_entries(root / "polyceptron-rows")

    def test_arrays_that_are_links(self, path, precious):
        source = open_blocks(path, "y")
        source.X.path.unlink()
        source.X.path.symlink_to(precious / "X.npy")
        assert not open_blocks(path, "y").X.path.is_symlink()
        assert (precious / "X.npy").exists()

    def test_what_is_swept_is_ours(self, path, root):
        rows = root / "polyceptron-rows"
        theirs = [
            root / ("0" * 16) / "X.npy",
            rows / "photos" / "X.npy",
            rows / ("0" * 15) / "X.npy",
        ]
        theirs += [rows / ("0" * 16) / "thesis.txt", rows / ("1" * 16) / "2009" / "X.npy"]
        ours = rows / ("2" * 16) / "X.npy"
        for file in (*theirs, ours):
            file.parent.mkdir(parents=True, mode=0o755)
            file.touch()
            for at in (file, file.parent):
                os.utime(at, (0, 0))
        rows.chmod(0o700)
        open_blocks(path, "y")
        assert all(file.exists() for file in theirs)
        assert not ours.parent.exists()

    def test_entries_that_nobody_uses_go(self, path):
        old, used = open_blocks(path, "y"), open_blocks(path, "y", drop="a")
        for source in (old, used):
            entry = source.X.path.parent.parent
            for at in (*entry.rglob("*"), entry):
                os.utime(at, (0, 0))
        open_blocks(path, "y", drop="a")  # which is to use it
        open_blocks(path, "y", drop="b")
        assert not old.X.path.exists()
        assert used.X.path.exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
    @pytest.mark.parametrize("which", ["X", "entry", "arrays"])
    def test_what_others_can_write_is_converted_again(self, path, root, which):
        before = open_blocks(path, "y").X.path
        {"X": before, "entry": caches_in(root)[0], "arrays": before.parent}[which].chmod(0o770)
        assert open_blocks(path, "y").X.path != before

    @pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
    def test_an_entry_of_another_user_is_neither_read_nor_removed(self, path, monkeypatch):
        before = open_blocks(path, "y").X.path
        monkeypatch.setattr(os, "getuid", lambda: before.stat().st_uid + 1)
        assert "name another cache_dir" in refused(path, "y")
        assert before.exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
    def test_nobody_else_reads_it(self, path, tmp_path):
        open_blocks(path, "y", cache_dir=tmp_path / "own")
        for at in (tmp_path / "own", *(tmp_path / "own").rglob("*")):
            assert at.stat().st_mode & 0o777 == (0o700 if at.is_dir() else 0o600)


class TestRoot:
    def test_where_it_is(self, monkeypatch, tmp_path):
        monkeypatch.setenv("POLYCEPTRON_CACHE", str(tmp_path))
        assert cache_root() == tmp_path / "polyceptron-rows"
        assert cache_root("here") == Path("here").absolute() / "polyceptron-rows"
        monkeypatch.delenv("POLYCEPTRON_CACHE")
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        monkeypatch.setattr(sys, "platform", "darwin")
        assert cache_root() == tmp_path / "Library" / "Caches" / "polyceptron"
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
        assert cache_root() == tmp_path / "local" / "polyceptron" / "cache"
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache_root() == tmp_path / "xdg" / "polyceptron"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_root() == tmp_path / ".cache" / "polyceptron"

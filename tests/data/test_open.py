"""`open_blocks`: the rows of every format, the cache, and what is refused in which words."""

import contextlib
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyceptron import open_blocks
from polyceptron.data.files import FileSource
from polyceptron.data.source import ArraySource, SourceError
from tables_of_tests import everything, frame, opened, refused

# One frame in every format: a function that writes it, and returns the target.


def saved(path, write, *args, **named):
    """Without a suffix that numpy would add."""
    with path.open("wb") as file:
        write(file, *args, **named)


def write_npy(df, path):
    saved(path, np.save, np.ascontiguousarray(df))
    return -1


def write_fortran(df, path):
    saved(path, np.save, np.asfortranarray(df.to_numpy()))
    return "x4"


def write_npz(df, path):
    X = df[["a", "b", "c"]].to_numpy()
    saved(path, np.savez, X=X, y=df["y"].to_numpy(), feature_names=list("abc"))


def write_packed_npz(df, path):
    texts = {name: df[name].tolist() for name in df if df[name].dtype.kind not in "biuf"}
    numbers = {name: df[name].to_numpy() for name in df if name not in texts}
    saved(path, np.savez_compressed, **{name: (numbers | texts)[name] for name in df})
    return "y"


def write_stream(df, path):
    table = pa.Table.from_pandas(df)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return "y"


def simple(write):
    def written(df, path):
        write(df, path)
        return "y"

    return written


FORMATS = {
    "csv": simple(lambda df, path: df.to_csv(path, index=False)),
    "tsv": simple(lambda df, path: df.to_csv(path, index=False, sep="\t")),
    "csv.gz": simple(
        lambda df, path: path.write_bytes(gzip.compress(df.to_csv(index=False).encode()))
    ),
    "quoted": simple(lambda df, path: df.to_csv(path, index=False, quoting=1)),
    "parquet": simple(lambda df, path: df.to_parquet(path, row_group_size=400)),
    "parquet.gz": simple(lambda df, path: path.write_bytes(gzip.compress(df.to_parquet()))),
    "feather": simple(lambda df, path: feather.write_feather(df, str(path), chunksize=300)),
    "stream": write_stream,
    "npy": write_npy,
    "fortran": write_fortran,
    "npz": write_npz,
    "packed": write_packed_npz,
}


class TestFormats:
    @pytest.mark.parametrize("name", FORMATS)
    def test_rows_are_those_in_memory(self, name, tmp_path):
        df, path = frame(), tmp_path / "data.unknown"
        target = FORMATS[name](df, path)
        source, rows = opened(path, target)
        np.testing.assert_array_equal(rows.X, df[["a", "b", "c"]].to_numpy(), strict=True)
        np.testing.assert_array_equal(source.classes[rows.codes], df["y"])
        assert rows.codes.dtype == np.int8
        assert source.encoding is None
        expected = None if name in ("npy", "fortran") else ("a", "b", "c")
        assert source.feature_names == expected

    def test_number_like_columns(self, tmp_path):
        table = {
            "half": pa.array(np.arange(6, dtype=np.float16)),
            "flag": pa.array([True, False] * 3),
            "money": pa.array(range(6), pa.decimal128(9, 2)),
            "big": pa.array([2**60 + 1] * 6),
            "dict": pa.array(["u", "v"] * 3).dictionary_encode(),
            "y": [0, 1] * 3,
        }
        pq.write_table(pa.table(table), tmp_path / "t.parquet")
        source, rows = opened(tmp_path / "t.parquet", "y")
        assert source.feature_names == ("half", "flag=true", "money", "big", "dict=v")
        np.testing.assert_array_equal(rows.X[1], [1, 0, 1, 2.0**60, 1])

    def test_features_in_the_order_asked_for(self, tmp_path):
        df = frame(10)
        df.to_parquet(tmp_path / "t")
        source, rows = opened(tmp_path / "t", "y", features="c,a")
        assert source.feature_names == ("c", "a")
        np.testing.assert_array_equal(rows.X, df[["c", "a"]].to_numpy())

    def test_weights(self, tmp_path):
        df = frame(50)
        df["w"] = np.arange(1, 51)
        df.to_parquet(tmp_path / "t")
        source, rows = opened(tmp_path / "t", "y", weight="w")
        assert source.feature_names == ("a", "b", "c")
        np.testing.assert_array_equal(rows.weight, np.arange(1.0, 51.0), strict=True)
        df.loc[7, "w"] = -1
        df.to_parquet(tmp_path / "t")
        text = refused(tmp_path / "t", "y", weight="w")
        assert text.endswith("t, row 7, column 'w': -1 is no weight: it must be at least 0")

    def test_errors_say_what_to_do(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,y\n" + "".join(f"{n}%,{n % 2}\n" for n in range(60)))
        assert "line 2, column 'a': '0%' is not a number" in refused(path, "y")
        assert "give path.collect()" in refused(pl.LazyFrame({"a": [1], "y": [0]}), "y")
        frame(5).assign(a=np.inf).to_parquet(path)
        assert "inf is not a finite number: mend it, or leave it out" in refused(path, "y")
        with pytest.raises(ValueError, match="y must hold labels of one type"):
            open_blocks(([[0.0], [1.0]], ["a", None]))
        with pytest.raises(ValueError, match=r"^weight must hold real numbers; got the text 'x': "):
            open_blocks(([[0.0], [1.0]], [0, 1]), weight=np.array(["x", 1], object))

    def test_the_target_tells_the_header(self, tmp_path):
        (tmp_path / "t.csv").write_text("2019,2020,c\n1,2,x\n3,4,y\n")
        assert open_blocks(tmp_path / "t.csv", "c").feature_names == ("2019", "2020")

    def test_a_row_of_weight_zero_is_no_row(self, tmp_path):
        df = frame(50).assign(w=np.arange(50.0), kind=["u", "v"] * 25)
        df.loc[0, ["a", "kind"]] = [np.nan, "seen nowhere else"]
        df.to_parquet(tmp_path / "t")
        source, rows = opened(tmp_path / "t", "y", weight="w")
        _, expected = opened(df[1:], "y", weight="w")
        assert source.n_left_out == 0
        for found, there in zip(rows, expected, strict=True):
            np.testing.assert_array_equal(found, there)
        X = df[["b", "c"]].to_numpy()
        zeros = open_blocks((X, df["y"]), weight=df["w"])
        np.testing.assert_array_equal(zeros.X, X[1:])
        np.testing.assert_array_equal(zeros.codes, rows.codes)

    def test_arrays_in_memory(self):
        df = frame(20)
        source = open_blocks((df[["a", "b"]], df["y"]), weight=np.ones(20))
        assert isinstance(source, ArraySource)
        assert source.feature_names == ("a", "b")

    def test_a_list_of_two_paths_is_no_pair_of_arrays(self, tmp_path):
        paths = (str(tmp_path / "b.csv"), str(tmp_path / "a.csv"))
        for j, path in enumerate(paths):
            frame(10, seed=j).to_csv(path, index=False)
        assert opened(paths, "y")[1].X[0, 0] == frame(10)["a"][0]


class TestFrames:
    """Tables in memory, the same as those in files."""

    def frames(self):
        df = frame(60).assign(k=pd.Categorical(["u", "v", "w"] * 20))
        rows = pa.Table.from_pandas(df)
        return {
            "pandas": df,
            "polars": pl.from_pandas(df),
            "pyarrow": rows,
            "reader": pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(7)),
            "duckdb": duckdb.sql("SELECT * FROM rows"),
        }

    @pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "reader", "duckdb"])
    def test_every_frame_gives_the_rows_of_its_file(self, tmp_path, name):
        frames = self.frames()
        frames["pandas"].to_parquet(tmp_path / "t")
        source, rows = opened(frames[name], target="y", drop="a")
        expected, same = opened(tmp_path / "t", "y", drop="a")
        assert isinstance(source, ArraySource)
        np.testing.assert_array_equal(rows.X, same.X, strict=True)
        np.testing.assert_array_equal(source.classes[rows.codes], expected.classes[same.codes])
        assert source.encoding == expected.encoding
        assert source.feature_names == ("b", "c", "k=u", "k=v", "k=w")
        assert source.target == "y"

    def test_what_is_wrong_is_named(self):
        df = pl.DataFrame({"a": [1.0, None, 3.0], "y": [0, 1, 1]})
        assert refused(df, "y").startswith("DataFrame, row 1, column 'a': a missing value")
        assert open_blocks(df, "y", missing="drop").n_left_out == 1
        assert "column 'z' is missing" in refused(df, "z")
        assert "target must be the name" in refused(df, [0, 1, 0])
        assert "path must be a file" in refused(7, "y")


class TestNpy:
    def test_matrix_in_place(self, tmp_path):
        X = np.ascontiguousarray(frame(dtype=np.float32)[["a", "b", "c"]])
        y = np.array(["no", "yes"])[np.arange(1000) % 2]
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        source, rows = opened(tmp_path / "X.npy", str(tmp_path / "y.npy"))
        assert isinstance(source, FileSource)
        assert source.X.path == tmp_path / "X.npy"
        assert [path.name for path in source.codes.path.parent.iterdir()] == ["codes.npy"]
        np.testing.assert_array_equal(rows.X, X, strict=True)
        np.testing.assert_array_equal(source.classes[rows.codes], y)
        again = open_blocks(tmp_path / "X.npy", y)
        np.testing.assert_array_equal(everything(again).codes, rows.codes)
        assert again.classes.tolist() == ["no", "yes"]

    @pytest.mark.parametrize("dtype", [">f8", np.float16, np.int32, np.float64])
    def test_others_are_converted(self, tmp_path, dtype):
        X = np.asfortranarray(np.arange(40).reshape(20, 2), dtype=dtype)
        np.save(tmp_path / "X.npy", X)
        source, rows = opened(tmp_path / "X.npy", np.arange(20) % 2 == 0)
        assert source.X.path.name == "X.npy"
        assert source.X.path != tmp_path / "X.npy"
        np.testing.assert_array_equal(rows.X, X.astype(np.float64), strict=True)
        assert source.classes.tolist() == [False, True]

    def test_several_files_and_one_of_labels(self, tmp_path):
        X = np.arange(60.0).reshape(20, 3)
        np.save(tmp_path / "X1.npy", X[:7])
        np.save(tmp_path / "X2.npy", X[7:])
        np.save(tmp_path / "labels.npy", np.arange(20) // 10)
        source, rows = opened(str(tmp_path / "X*.npy"), tmp_path / "labels.npy")
        np.testing.assert_array_equal(rows.X, X)
        np.testing.assert_array_equal(rows.codes, np.arange(20) // 10)
        assert source.where(0, 9).endswith("X2.npy, row 2")

    def test_a_gap_is_found_or_left_out(self, tmp_path):
        X = np.zeros((200_000, 2), np.float32)
        X[150_001, 1] = np.nan
        y = np.arange(200_000) % 2
        np.save(tmp_path / "X.npy", X)
        text = refused(tmp_path / "X.npy", y)
        assert "X.npy, row 150001, column 'x2': a missing value" in text
        source = open_blocks(tmp_path / "X.npy", y, missing="drop")
        assert (source.n_samples, source.n_left_out) == (199_999, 1)

    def test_labels_that_are_objects(self, tmp_path):
        np.save(tmp_path / "X.npy", np.zeros((4, 2)))
        source = open_blocks(tmp_path / "X.npy", pd.Series(["u", "v", "u", "v"]))
        assert source.classes.tolist() == ["u", "v"]
        for gap in (None, np.nan):
            labels = np.array(["u", "v", gap, "v"], dtype=object)
            assert refused(tmp_path / "X.npy", labels) == "target: row 2 is missing"

    def test_labels_for_files_that_have_their_own(self, tmp_path):
        np.savez(tmp_path / "d.npz", X=np.zeros((2, 2)), y=[0, 1])
        (tmp_path / "d.svm").write_text("1 1:2 2:3\n-1 1:1 2:2\n")
        for name in ("d.npz", "d.svm"):
            assert "the file is no matrix of numpy" in refused(tmp_path / name, np.array([1, 0]))

    def test_labels_of_another_length(self, tmp_path):
        np.save(tmp_path / "X.npy", np.zeros((5, 2)))
        assert "5 rows, and a target of shape (4,)" in refused(tmp_path / "X.npy", np.zeros(4))

    @pytest.mark.parametrize(
        ("array", "words"),
        [
            (np.zeros(4), "X must be 2-D"),
            (np.zeros((2, 2, 2)), "no table"),
            (np.zeros((4, 2), complex), "of numbers or text; got complex128"),
            (np.empty((0, 2)), "has no rows"),
        ],
    )
    def test_arrays_that_are_no_tables(self, tmp_path, array, words):
        np.save(tmp_path / "X.npy", array)
        assert words in refused(tmp_path / "X.npy", -1)

    def test_a_file_that_is_cut_off(self, tmp_path):
        path = tmp_path / "X.npy"
        np.save(path, np.zeros((100, 2)))
        path.write_bytes(path.read_bytes()[:-20])
        assert "ends in row 98" in refused(path, -1)


class TestTypes:
    @pytest.mark.parametrize(
        "types",
        [
            "f4 f4", "f4 f8", "f4 i1", "f4 i2", "f4 u2", "f4 i4", "i1 i1", "f2 f2", "f2 f4",
            "u1 f2", "i8 f4",
        ],
    )  # fmt: skip
    def test_as_a_data_frame(self, tmp_path, types):
        columns = {
            name: np.arange(4).astype(t) for name, t in zip("ab", types.split(), strict=True)
        }
        pq.write_table(pa.table(columns | {"y": [0, 1, 0, 1]}), tmp_path / "t")
        matrix = pd.read_parquet(tmp_path / "t")[["a", "b"]].to_numpy()
        expected = np.float32 if matrix.dtype == np.float32 else np.float64
        assert open_blocks(tmp_path / "t", "y").X.dtype == expected

    @pytest.mark.parametrize("dtype", ["float32", np.float64])
    def test_as_asked_for(self, tmp_path, dtype):
        df = frame(20)
        df.to_csv(tmp_path / "t", index=False)
        _, rows = opened(tmp_path / "t", "y", dtype=dtype)
        np.testing.assert_array_equal(rows.X, df[["a", "b", "c"]].astype(dtype), strict=True)

    def test_too_large_for_float32(self, tmp_path):
        df = frame(20)
        df.loc[3, "b"] = 1e300
        df.to_parquet(tmp_path / "t")
        text = refused(tmp_path / "t", "y", dtype="float32")
        assert text.endswith("row 3, column 'b': 1e+300 is beyond float32")

    @pytest.mark.parametrize(
        ("labels", "classes"),
        [
            ([5, -3, 5], [-3, 5]),
            ([True, False, True], [False, True]),
            (["b", "a", "10"], ["10", "a", "b"]),
            ([1.0, 0.0, 1.0], [0.0, 1.0]),
        ],
    )
    def test_labels_keep_their_type(self, tmp_path, labels, classes):
        pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": labels}), tmp_path / "t")
        source, rows = opened(tmp_path / "t", "y")
        assert source.classes.tolist() == classes
        assert type(source.classes.tolist()[0]) is type(classes[0])
        assert source.classes[rows.codes].tolist() == labels

    def test_measurements_are_no_classes(self, tmp_path):
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": [0.5, 1.0]}), tmp_path / "t")
        assert "column 'y': 0.5 is no class" in refused(tmp_path / "t", "y")
        pq.write_table(pa.table({"a": np.arange(200.0), "y": np.arange(200)}), tmp_path / "t")
        assert "200 different values in 200 rows are no classes" in refused(tmp_path / "t", "y")


class TestText:
    def test_a_column_that_turns_out_to_be_text(self, tmp_path):
        n = 60_000  # more than the first block
        df = pd.DataFrame({"a": np.arange(n) % 7, "y": np.arange(n) % 2, "b": ["1"] * n})
        df.loc[n // 3 :, "b"] = "word"
        df.to_csv(tmp_path / "t.csv", index=False)
        source, rows = opened(tmp_path / "t.csv", "y")
        assert source.feature_names == ("a", "b=word")
        np.testing.assert_array_equal(rows.X[:, 1], np.arange(n) >= n // 3)

    def test_a_word_among_flags(self, tmp_path):
        df = pd.DataFrame({"a": ["0", "1"] * 40_000, "y": [0, 1] * 40_000})
        df.loc[70_000, "a"] = "l"
        df.to_csv(tmp_path / "t.csv", index=False)
        assert "line 70002, column 'a': 'l' is not a number" in refused(tmp_path / "t.csv", "y")

    def test_names_of_rows_are_no_categories(self, tmp_path):
        df = frame(500)
        df["id"] = [f"row {j}" for j in range(500)]
        df.to_csv(tmp_path / "t.csv", index=False)
        text = refused(tmp_path / "t.csv", "y")
        assert "too many categories: 'id' has 500 in 500 rows" in text
        assert open_blocks(tmp_path / "t.csv", "y", drop="id").n_features == 3

    def test_categories_of_rows_left_out_do_not_count(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,k,y\n1,u,0\n2,v,1\n?,w,0\n3,,1\n4,u,?\n5,u,1\n")
        source, rows = opened(tmp_path / "t.csv", "y", missing="drop")
        assert source.feature_names == ("a", "k=v")
        assert source.n_left_out == 3
        assert rows.X.tolist() == [[1, 0], [2, 1], [5, 0]]

    def test_libsvm(self, tmp_path):
        (tmp_path / "t.txt").write_text("1 1:0.5 300:2\n-1 2:1\n")
        assert "LIBSVM are sparse" in refused(tmp_path / "t.txt")


class TestFiles:
    def folder(self, path, n=3, **named):
        path.mkdir()
        frames = [frame(100, seed=j) for j in range(n)]
        for j, df in enumerate(frames):
            df.to_parquet(path / f"part-{j}.parquet", **named)
        return pd.concat(frames)

    def test_a_directory_a_glob_and_a_list(self, tmp_path):
        df = self.folder(tmp_path / "d")
        (tmp_path / "d" / "_SUCCESS").touch()
        (tmp_path / "d" / ".hidden").touch()
        files = sorted((tmp_path / "d").glob("*.parquet"))
        for path in (tmp_path / "d", str(tmp_path / "d" / "*.parquet"), files, tmp_path / "d"):
            source, rows = opened(path, "y")
            np.testing.assert_array_equal(rows.X, df[["a", "b", "c"]].to_numpy())
        assert source.where(0, 250) == f"{files[2]}, row 50"
        _, rows = opened(files[::-1], "y")
        assert rows.X[0, 0] == frame(1, seed=2)["a"][0]

    def test_columns_in_another_order_and_narrower(self, tmp_path):
        frame(10).to_parquet(tmp_path / "1")
        frame(10, seed=1)[["y", "c", "a", "b"]].astype({"a": "f4"}).to_parquet(tmp_path / "2")
        _, rows = opened([tmp_path / "1", tmp_path / "2"], "y")
        expected = frame(10, seed=1)[["a", "b", "c"]].to_numpy()
        np.testing.assert_allclose(rows.X[10:], expected, rtol=1e-6)

    def test_columns_that_differ(self, tmp_path):
        frame(10).to_parquet(tmp_path / "1")
        frame(10).drop(columns="b").to_csv(tmp_path / "2", index=False)
        frame(10).assign(more=1, other=2).to_parquet(tmp_path / "3")
        text = refused([tmp_path / "1", tmp_path / "2"], "y")
        assert f"{tmp_path / '2'}: column 'b' is missing" in text
        text = refused([tmp_path / "1", tmp_path / "3"], "y")
        assert f"{tmp_path / '3'}: 'more', 'other' are not in {tmp_path / '1'}" in text
        assert open_blocks([tmp_path / "1", tmp_path / "3"], "y", features=["a"]).n_samples == 20

    @pytest.mark.parametrize("write", ["parquet", "csv"])
    def test_types_that_differ(self, tmp_path, write):
        FORMATS[write](frame(10), tmp_path / "1")
        FORMATS[write](frame(10).assign(b="word"), tmp_path / "2")
        paths = [tmp_path / "1", tmp_path / "2"]
        text = refused(paths, "y")
        assert f"{paths[1]}: column 'b' holds text, and numbers in {paths[0]}" in text

    def test_labels_that_differ(self, tmp_path):
        frame(10).to_parquet(tmp_path / "1")
        frame(10).astype({"y": str}).to_parquet(tmp_path / "2")
        text = refused([tmp_path / "1", tmp_path / "2"], "y")
        assert "column 'y': labels of different types: int in" in text

    def test_nothing_there(self, tmp_path):
        (tmp_path / "d").mkdir()
        assert "a directory without files" in refused(tmp_path / "d", "y")
        assert "no file fits this pattern" in refused(str(tmp_path / "*.csv"), "y")
        assert "No such file" in refused(tmp_path / "t.csv", "y")
        assert "No such file" in refused([tmp_path / "t.csv"], "y")
        assert "empty list" in refused([], "y")
        (tmp_path / "e.csv").touch()
        assert "e.csv is empty" in refused(tmp_path / "e.csv", "y")


class TestArguments:
    @pytest.mark.parametrize(
        ("named", "words"),
        [
            ({"target": "Y"}, "column 'Y' is missing (is it 'y'?)"),
            ({"target": None}, "target is needed: which of 'a', 'b', 'c', 'y'"),
            ({"target": 9}, "column '9' is missing"),
            ({"target": 1.5}, "target must be the name or number"),
            ({"target": np.zeros(20)}, "target is an array, and the file is no matrix of numpy"),
            ({"target": "y", "features": ["y"]}, "features names the target"),
            ({"target": "y", "drop": ["a", "b", "c"]}, "no column is left"),
            ({"target": "y", "weight": "y"}, "both target and weight"),
            ({"target": "y", "weight": [1.0]}, "weight must be the name"),
            ({"target": "y", "drop": ["y"]}, "drop names the target"),
            ({"target": "y", "missing": "zero"}, "missing must be None or one of drop, median"),
            ({"target": "y", "missing": {"z": "drop"}}, "column 'z' is missing"),
            ({"target": "y", "missing": {"y": "median"}}, "'y' can be drop or error"),
            ({"target": "y", "date_order": "ymd"}, "date_order must be None, 'mdy' or 'dmy'"),
            ({"target": "y", "dtype": "int8"}, "dtype must be None, 'float32' or 'float64'"),
        ],
    )
    def test_refused(self, tmp_path, named, words):
        frame(20).to_parquet(tmp_path / "t")
        assert words in refused(tmp_path / "t", **named)
        assert list(tmp_path.iterdir()) == [tmp_path / "t"]

    def test_a_column_of_dates(self, tmp_path):
        frame(20).assign(day=pd.Timestamp("2024-01-01")).to_parquet(tmp_path / "t")
        with pytest.warns(UserWarning, match="dates become 'days_since_1970-01-01.day.'"):
            assert open_blocks(tmp_path / "t", "y").n_features == 4
        assert open_blocks(tmp_path / "t", "y", drop=["day"]).n_features == 3


class TestGaps:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_in_a_late_row(self, tmp_path, value):
        df = frame(15_000, dtype=np.float32)
        df.loc[14_003, "c"] = value
        df.to_parquet(tmp_path / "t", row_group_size=6000)
        text = refused(tmp_path / "t", "y")
        what = "a missing value" if np.isnan(value) else f"{value} is not a finite number"
        assert f"{tmp_path / 't'}, row 14003, column 'c': {what}" in text

    @pytest.mark.parametrize("column", ["n", "k", "y"])
    def test_of_every_kind(self, tmp_path, column):
        table = pa.table({"a": [1.0] * 4, "n": [1, 2, 3, 4], "k": list("uvuv"), "y": [0, 1, 0, 1]})
        j = table.schema.names.index(column)
        values = [*table.column(j).to_pylist()[:2], None, table.column(j)[3].as_py()]
        table = table.set_column(j, column, [values])
        pq.write_table(table, tmp_path / "t")
        assert f"row 2, column '{column}': a missing value" in refused(tmp_path / "t", "y")
        source, rows = opened(tmp_path / "t", "y", missing="drop")
        assert source.n_left_out == 1
        assert rows.X.tolist() == [[1, 1, 0], [1, 2, 1], [1, 4, 1]]
        assert rows.codes.tolist() == [0, 1, 1]

    @pytest.mark.parametrize("place", [0, 1, 2, 3])
    def test_of_a_column_whose_name_is_empty(self, tmp_path, place):
        """Parquet and Arrow allow it: a number, a word, a weight or a label may miss there."""
        columns = [[1.5, 2.0, 3.0, 4.0], ["u", "v"] * 2, [1, 3, 1, 2], ["n", "y", "n", "y"]]
        names = ["a", "k", "w", "y"]
        columns[place][1], names[place] = None, ""
        pq.write_table(pa.table(columns, names), tmp_path / "t")
        asked = {"target": names[3], "weight": names[2]}
        assert "row 1, column '': a missing value" in refused(tmp_path / "t", **asked)
        source, rows = opened(tmp_path / "t", **asked, missing="drop")
        assert (source.n_samples, source.n_left_out) == (3, 1)
        assert rows.X.tolist() == [[1.5, 0], [3, 0], [4, 1]]

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_filled(self, tmp_path, dtype):
        rng = np.random.default_rng(0)
        values = rng.normal(size=(501, 2)).astype(dtype)
        values[rng.random(values.shape) < 0.1] = np.nan
        kinds = pa.array([None if i % 9 == 0 else "uvv"[i % 3] for i in range(501)])
        labels = pa.array([None, *(i % 2 for i in range(500))])
        table = pa.table({"a": values[:, 0], "k": kinds, "b": values[:, 1], "y": labels})
        pq.write_table(table, tmp_path / "t")
        source, rows = opened(tmp_path / "t", "y", missing="median", dtype=dtype)
        assert source.n_left_out == 1
        medians = np.nanmedian(values[1:].astype(np.float64), axis=0)
        assert [c.fill for c in source.encoding.columns] == [medians[0], "v", medians[1]]
        filled = np.where(np.isnan(values), medians.astype(dtype), values)[1:]
        np.testing.assert_array_equal(rows.X[:, [0, 2]], filled, strict=True)
        assert rows.X[8, 1] == 1

    def test_in_every_row(self, tmp_path):
        frame(20).assign(a=np.nan).to_parquet(tmp_path / "t")
        text = refused(tmp_path / "t", "y", missing="drop")
        assert "every row has a missing value" in text


class TestDamage:
    def test_a_row_group(self, tmp_path):
        path = tmp_path / "t.parquet"
        frame(3000).to_parquet(path, row_group_size=1000, write_page_checksum=True)
        start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        data = bytearray(path.read_bytes())
        data[start + 60 : start + 4000] = os.urandom(3940)
        path.write_bytes(data)
        text = refused(path, "y")
        assert f"{path}, row group 1 (from row 1000): the file of Parquet is damaged" in text

    @pytest.mark.parametrize("name", ["parquet", "feather", "npz", "packed", "stream", "csv.gz"])
    @pytest.mark.parametrize("share", [0.3, 0.9])
    def test_a_file_that_is_cut_off(self, tmp_path, name, share):
        path = tmp_path / "t"
        target = FORMATS[name](frame(2000), path)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
        assert refused(path, target).startswith(str(path))
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("name", ["feather", "stream", "parquet"])
    @settings(max_examples=15)
    @given(seed=st.integers(0, 2**32 - 1))
    def test_bytes_changed(self, name, seed):
        rng = np.random.default_rng(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t"
            df = frame(100).assign(k=["u", "v"] * 50)
            target = FORMATS[name](df, path)
            data = np.frombuffer(path.read_bytes(), np.uint8).copy()
            data[rng.integers(len(data), size=5)] = rng.integers(256, size=5)
            path.write_bytes(data.tobytes())
            with contextlib.suppress(SourceError):
                open_blocks(path, target)

    def test_other_formats(self, tmp_path):
        for magic in (b"FEA1", b"PARE", b"ORC", b"\x89HDF"):
            (tmp_path / "t").write_bytes(magic + bytes(100))
            assert refused(tmp_path / "t", "y").startswith(f"{tmp_path / 't'} is a")


MEMORY = """
import re, sys
from pathlib import Path
from polyceptron import open_blocks
from polyceptron.data import dialect, tables
dialect.BLOCK, tables._VALUES = 1 << 16, 1 << 16  # less at once, so that few rows are many
before = 0
for path in sys.argv[1:]:
    n_samples = open_blocks(path, "y").n_samples
    # Not ru_maxrss, which begins with that of the process that started this one.
    peak = int(re.search(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1])
    before = peak if n_samples == 1000 else before
    print(n_samples, (peak - before) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says what was in use")
def test_memory_is_bounded(tmp_path):
    n = 400_000  # of 72 bytes: 27 MB
    X = np.random.default_rng(0).integers(100, size=(n, 8)).astype(np.float64)
    df = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]).assign(y=np.arange(n) % 2)
    paths = {"small": [], "big": []}
    for name in ("parquet", "stream", "npz"):
        for size, rows in [("small", df[:1000]), ("big", df)]:
            path = tmp_path / f"{size}.{name}"
            paths[size].append(path)
            if name == "parquet":
                rows.to_parquet(path, row_group_size=20_000)
            elif name == "npz":
                np.savez(path, **{column: rows[column].to_numpy() for column in rows})
            else:
                write_stream(rows, path)
    text = df[:1000].to_csv(index=False).encode()
    (tmp_path / "small.csv").write_bytes(text)
    (tmp_path / "big.csv").write_bytes(text + text[text.index(b"\n") + 1 :] * 399)
    command = [sys.executable, "-c", MEMORY, tmp_path / "small.csv", *paths["small"]]
    command += [tmp_path / "big.csv", *paths["big"]]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    shutil.rmtree(tmp_path)
    for line in run.stdout.splitlines()[4:]:
        n_rows, extra = line.split()
        assert int(n_rows) == n
        assert float(extra) < 24


def test_a_label_that_is_nan_is_missing(tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": pa.array([0.0, 1.0, float("nan"), 1.0])})
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(SourceError, match=r"d\.parquet, row 2, column 'y': a missing value"):
        open_blocks(tmp_path / "d.parquet", "y")
    found = open_blocks(tmp_path / "d.parquet", "y", missing="drop")
    assert (found.n_samples, found.n_left_out) == (3, 1)


def test_great_whole_numbers_stay_whole(tmp_path):
    labels = np.array([2**63 + 1, 2**63 + 3, 2**63 + 1], np.uint64)
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": labels}), tmp_path / "d.parquet")
    classes = open_blocks(tmp_path / "d.parquet", "y").classes
    assert classes.dtype == np.uint64
    assert classes.tolist() == [2**63 + 1, 2**63 + 3]


def test_labels_in_a_pipe_are_refused(tmp_path):
    """Nobody may ever write into it."""
    np.save(tmp_path / "X.npy", np.zeros((4, 2)))
    os.mkfifo(tmp_path / "y.npy")
    with pytest.raises(SourceError, match=r"y\.npy: not a file"):
        open_blocks(tmp_path / "X.npy", str(tmp_path / "y.npy"))

"""The same model from rows in memory and on disk, for every kind of column and label."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from cli_files import failed, run

N = 40
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=N), RNG.normal(size=N)
SIDE = A + B > 0
QUICK = ("-l", "batch", "-k", 1)


def csv(labels, **columns):
    columns = {"a": A, "b": B, **columns, "y": labels}
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    return "\n".join(lines).encode() + b"\n"


def parquet(labels, write=pq.write_table, **columns):
    out = io.BytesIO()
    write(pa.table({"a": A, "b": B, **columns, "y": labels}), out)
    return out.getvalue()


def numpy(write, *arrays, **named):
    out = io.BytesIO()
    write(out, *arrays, **named)
    return out.getvalue()


def labels(no, yes):
    return [yes if side else no for side in SIDE]


def gaps(values, every=9):
    return [None if i % every == 2 else value for i, value in enumerate(values)]


def written(values):
    return ["?" if value is None else value for value in values]


ROWS = list(zip(labels(0, 1), A.tolist(), B.tolist(), strict=True))
WORDS = ["red", "blue", "light green"] * N
INTS = labels(0, 1)
TWO = ("-k", 2)  # for single precision, which other tests compile for several hyperplanes only
SINGLE = {"a": A.astype("f4"), "b": B.astype("f4")}

DATES = [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}T{i % 24:02d}:30" for i in range(N)]

# Labels, then columns, then formats: the file, and more options.
SAME = {
    "csv int": (csv(INTS),),
    "csv text": (csv(labels("no", "yes")),),
    "csv digits that are no numbers": (csv(labels("01", "1")),),
    "csv bool": (csv(labels("false", "true")),),
    "csv whole floats": (csv(labels("0.0", "1.0")),),
    "csv floats": (csv(labels("0.5", "1.5")),),
    "csv great int": (csv(labels(2**55, 2**56)),),
    "parquet bool": (parquet(labels(False, True)),),
    "parquet int8": (parquet(pa.array(INTS, pa.int8())),),
    "parquet uint64": (parquet(pa.array(labels(1, 2**63 + 1), pa.uint64())),),
    "parquet whole floats": (parquet(labels(0.0, 1.0)),),
    "parquet float32": (parquet(pa.array(labels(0.0, 1.0), pa.float32())),),
    "parquet text": (parquet(labels("no", "yes")),),
    "parquet text of digits": (parquet(labels("1", "2")),),
    "parquet dictionary": (parquet(pa.array(labels("1", "b")).dictionary_encode()),),
    "parquet large text": (parquet(pa.array(labels("x", "y"), pa.large_string())),),
    "csv words": (csv(INTS, c=WORDS[:N]),),
    "csv words quoted": (csv(INTS, c=[f'"{word}, x"' for word in WORDS[:N]]),),
    "csv codes": (csv(INTS, c=[i % 3 for i in range(N)]), "--categories", "c"),
    "csv dropped": (csv(INTS, c=written(gaps(A))), "--missing", "drop"),
    "csv filled": (
        csv(INTS, c=written(gaps(A)), d=written(gaps(WORDS[:N], 7))), "--missing", "median"
    ),
    "csv of numbered columns": (csv(INTS).replace(b"a,b,y", b"0,1,2"), "-t", "2"),
    "csv with commas": (csv(INTS).replace(b",", b";").replace(b".", b","),),
    "csv of cp1252": (csv(INTS, c=WORDS[:N]).replace(b"red", b"r\xe9d"),),
    "csv of UTF-16": (csv(INTS, c=WORDS[:N]).decode().encode("utf-16"),),
    "csv without a name": (b"," + csv(INTS).replace(b"\n", b"\n1,")[:-2],),
    "parquet single": (parquet(INTS, **SINGLE), *TWO),
    "parquet single and int": (parquet(INTS, **SINGLE, c=pa.array(range(N), pa.int16())), *TWO),
    "parquet single filled": (
        parquet(INTS, **SINGLE, c=pa.array(gaps(A), pa.float32())), "--missing", "median", *TWO
    ),
    "parquet int and bool": (parquet(INTS, c=list(range(N)), d=[True, False] * (N // 2)),),
    "parquet int with gaps": (parquet(INTS, c=gaps(range(N))), "--missing", "drop"),
    "parquet decimal": (parquet(INTS, c=pa.array(range(N), pa.decimal128(9, 2))),),
    "parquet half": (parquet(INTS, c=np.arange(N, dtype="f2")),),
    "parquet dates": (parquet(INTS, c=pa.array(range(N), pa.timestamp("s"))),),
    "parquet days with gaps": (
        parquet(INTS, c=pa.array(gaps(range(N)), pa.date32())), "--missing", "median"
    ),
    "csv dates": (csv(INTS, c=DATES), "--dates", "parts"),
    "parquet words": (parquet(INTS, c=WORDS[:N]),),
    "parquet dictionary column": (parquet(INTS, c=pa.array(WORDS[:N]).dictionary_encode()),),
    "parquet codes": (parquet(INTS, c=[1.0, 2.5] * (N // 2)), "--categories", "c"),
    "parquet label gaps": (parquet(pa.array(gaps(INTS))), "--missing", "median"),
    "gzip": (gzip.compress(csv(labels("no", "yes"), c=WORDS[:N])),),
    "tsv without header": (csv(INTS).partition(b"\n")[2].replace(b",", b"\t"), "-t", "x3"),
    "feather": (parquet(labels("no", "yes"), pa.feather.write_feather, c=WORDS[:N]),),
    "npy": (numpy(np.save, np.column_stack([A, B, INTS])), "-t", "-1"),
    "npy single": (numpy(np.save, np.column_stack([A, B, INTS]).astype("f4")), "-t", "3", *TWO),
    "npz": (numpy(np.savez, X=np.column_stack([A, B]), y=labels("no", "yes")), "-t", "target"),
    "libsvm": (b"".join(b"%+d 1:%r 2:%r\n" % row for row in ROWS), "-t", "target"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_the_notice_of_a_compilation(monkeypatch):
    """Which the first fit alone would print."""
    monkeypatch.setenv("POLYCEPTRON_QUIET", "1")


@pytest.mark.parametrize("kind", SAME)
def test_one_model(tmp_path, kind):
    data, *options = SAME[kind]
    (tmp_path / "data").write_bytes(data)
    found = []
    for place in ("--in-memory", "--out-of-core"):
        path = tmp_path / f"model{place}.json"
        result = run("fit", tmp_path / "data", "-t", "y", *QUICK, *options, place, "-o", path)
        assert result.exit_code == 0, result.output
        # Only the advice to cross-validate and the name of the model file may differ.
        said = result.output.replace(place, "").replace(" (--cv 10 tells that of new rows)", "")
        found.append((path.read_bytes(), said))
    assert found[0] == found[1]


INFINITE = np.where(np.arange(N) == 5, np.inf, A)
WRONG = {
    "csv gap": csv(INTS, c=written(gaps(A)), d=written(gaps(A, 11))),
    "csv gap in text": csv(INTS, c=written(gaps(WORDS[:N]))),
    "csv gap in labels": csv(written(gaps(INTS)), c=WORDS[:N]),
    "csv word": csv(INTS, c=["o.5", *range(N - 1)]),
    "csv infinite": csv(INTS, c=["inf", *range(N - 1)]),
    "csv names of rows": csv(INTS, c=[f"row {i}" for i in range(N)]),
    "csv one class": csv(["x"] * N),
    "csv ragged": csv(INTS) + b"1,2\n",
    "csv not UTF-8": csv(INTS, c=WORDS[:N]).replace(b"red", b"r\xe9d\xc3\xa9"),
    "parquet gap": parquet(INTS, c=gaps(A), d=gaps(A, 3)),
    "parquet infinite": parquet(INTS, c=INFINITE),
    "parquet measurements": parquet(labels(0.5, 1.5)),
    "parquet times": parquet(INTS, c=pa.array(range(N), pa.time32("s"))),
    "csv dates": csv(INTS, c=["2020-01-01", *["2020-13-01"] * (N - 1)]),
    "parquet label dates": parquet(pa.array(INTS, pa.date32())),
}


@pytest.mark.parametrize("kind", WRONG)
def test_one_error(tmp_path, kind):
    (tmp_path / "data").write_bytes(WRONG[kind])
    ask = ("fit", tmp_path / "data", "-t", "y", *QUICK, "-o", tmp_path / "m.json")
    error = failed(*ask, "--in-memory")
    assert error == failed(*ask, "--out-of-core")
    assert str(tmp_path / "data") in error

"""What reads the files that are spoilt: whole ones to begin with, and what must come out."""

from __future__ import annotations

import atexit
import gzip
import io
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import msgspec
import numpy as np
import pyarrow
import pyarrow.parquet
from scipy import sparse

from benchmarks.spoil import (
    Choices,
    cut,
    field_twice,
    npy,
    odd_array,
    packed,
    random_bytes,
    spoilt_archive,
    spoilt_array,
    spoilt_bytes,
    spoilt_document,
    spoilt_inequality,
    spoilt_records,
    unpacked,
)
from polyceptron import Checkpoint, Polyhedron, learners, model_file
from polyceptron.data import cache
from polyceptron.data.encoding import Column, Encoding
from polyceptron.inequalities import parse_inequality
from polyceptron.optim import checkpoint
from polyceptron.utils.text import inequality, printed_face


class Target(NamedTuple):
    """Files that are whole, ways to spoil them, and what reads them.

    ``read`` returns whether a file was taken or refused; it raises whatever else comes out.
    """

    corpus: list[bytes]
    spoil: list[Callable[[Choices, bytes], bytes]]
    read: Callable[[bytes], bool]


def _folder() -> Path:
    """A folder that goes away with the process."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def not_taken(is_well_said: bool, error: Exception) -> bool:
    if not is_well_said:
        raise AssertionError("the error does not read as it should") from error
    return False


def model_corpus() -> list[bytes]:
    """A small model file of every learner."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2)).round(2)
    y = (np.abs(X).max(axis=1) < 1.2).astype(int)
    encoding = Encoding([Column("x0", "number", fill=1.5), Column("c", "category", ("u",), "u")])
    given = {"margin": 20, "penalty": None, "n_init": 2, "max_iter": 5, "n_hyperplanes": 2}
    models = [
        (learners.BatchPolyceptron(2, max_iter=3, n_init=1), y),
        (learners.OnlinePolyceptron(2, max_iter=3, n_init=1, average=True), y == 1),
        (learners.SPLA1(2, max_iter=3, n_init=1, class_weight={"a": 1, "b": 2.5}), ["a", "b"]),
        (learners.SPLA2(2, max_iter=3, n_init=1, inside=-1.0), [-1.0, 3.0]),
        (learners.PCSLP(2, n_init=1, init=np.ones((2, 3))), y),
        (learners.OC1(n_restarts=2, prune_share=0.4), y),
        (learners.Polyceptron(**given), np.array(["no", "yes"], object)),
        (learners.Polyceptron(**given), np.digitize(X[:, 0], [-0.7, 0.7])),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.json"
        for number, (model, labels) in enumerate(models):
            of_rows = np.asarray(labels)
            model.set_params(random_state=0)
            model.fit(X, of_rows if len(of_rows) == len(X) else of_rows[y])
            both = {"encoding": encoding} if number % 2 else {}
            model_file.save_model(model, path, summary={"rows": 60, "of": {"a": [1]}}, **both)
            found.append(path.read_bytes())
    return found


def model_target() -> Target:
    validator = jsonschema.Draft202012Validator(model_file.schema())
    rows = np.array([[0.0, 0.0], [0.5, -0.25], [-1e308, 1e308], [5e-324, -3.0]])

    def read(data: bytes) -> bool:
        try:
            model = model_file.decode(data, "model.json")
        except model_file.ModelFileError as error:
            return not_taken(str(error).startswith("model.json: "), error)
        validator.validate(json.loads(data.decode("utf-8-sig")))
        d = model.estimator.n_features_in_
        X = rows[:, :1].repeat(d, axis=1) if d != 2 else rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of columns; overflow
            labels = model.estimator.predict(X)
            if hasattr(model.estimator, "predict_proba"):
                assert not np.isnan(model.estimator.predict_proba(X)).any()
        assert set(labels.tolist()) <= set(model.estimator.classes_.tolist())
        again = model_file.encode(model.estimator, model.encoding, model.summary)
        assert model_file.decode(again, "again").summary == model.summary
        return True

    documents = [spoilt_document] * 6
    bytes_too = [field_twice, spoilt_bytes, spoilt_bytes, cut, random_bytes]
    return Target(model_corpus(), [*documents, *bytes_too], read)


def table_corpus() -> list[bytes]:
    """Small tables of every kind that is read."""
    rows = [
        f"{k / 7:.3f},{'red' if k % 3 else 'blue'},{k % 2},{'?' if k == 4 else k}" for k in range(9)
    ]
    text = "\n".join(["age,colour,target,dose", *rows, ""])
    libsvm = "\n".join(f"{k % 2} 1:{k / 3:.2f} 4:{k}" for k in range(9))
    numbers = np.arange(12.0).reshape(6, 2)
    npz = io.BytesIO()
    np.savez(npz, X=numbers, y=np.arange(6), feature_names=np.array(["a", "b"]))
    found = [
        text.encode(),
        text.replace(",", "\t").encode(),
        text.replace(",", ";").replace("red", '"re""d;"').encode("utf-16"),
        "\r\n".join(rows).encode(),
        text.replace("blue", '"a\nb"').encode("latin-1"),
        libsvm.encode(),
        gzip.compress(text.encode()),
        npz.getvalue(),
    ]
    lines = [json.dumps({"age": k / 7, "colour": "rb"[k % 2], "target": k % 2}) for k in range(9)]
    found.append("\n".join(lines).encode())
    table = pyarrow.table({"age": [1.5, None, 3.0], "colour": ["red", None, "blue"]})
    parquet, stream = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet)
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    found += [parquet.getvalue(), stream.getvalue()]
    return found


def table_target() -> Target:
    from polyceptron.data.columns import Request
    from polyceptron.data.convert import Conversion, HeldRows
    from polyceptron.data.open import find_tables
    from polyceptron.data.source import SourceError
    from polyceptron.data.tables import is_text, open_table

    path = _folder() / "table"

    def read(data: bytes) -> bool:
        path.write_bytes(data)
        try:
            with open_table(path) as table:
                types = table.types(table.names)
                numbers = [name for name in table.names if not is_text(types[name])]
            with open_table(path) as table:
                for batch in table.batches(numbers, [n for n in types if n not in numbers]):
                    for name in numbers if batch.matrix is None else ():
                        assert len(batch.numbers(name)) == batch.n_rows
            tables, asked = find_tables([path], "-1", Request(missing={"": "drop"}))
            source = Conversion(tables, asked, HeldRows).run().source()
            X = source.X.data if sparse.issparse(source.X) else source.X
            assert np.isfinite(X).all()
            assert len(source.y) == source.X.shape[0]
        except SourceError as error:
            return not_taken("\n" not in str(error), error)
        return True

    spoil = [spoilt_bytes, spoilt_bytes, spoilt_records, spoilt_records, spoilt_lines]
    return Target(table_corpus(), [*spoil, spoilt_members, odd_table, cut, random_bytes], read)


def spoilt_lines(random: Choices, data: bytes) -> bytes:
    """JSON lines of which some are spoilt as JSON; other files as records."""
    lines = data.splitlines()
    if not data.startswith(b"{"):
        return spoilt_records(random, data)
    for _ in range(random.choice([1, 2, 4])):
        i = random.randrange(len(lines))
        lines[i] = spoilt_document(random, lines[i])
    return b"\n".join(lines)


def spoilt_members(random: Choices, data: bytes) -> bytes:
    """A file .npz or a workbook with members that are spoilt; other files as bytes."""
    return (spoilt_archive if data.startswith(b"PK") else spoilt_bytes)(random, data)


def odd_table(random: Choices, data: bytes) -> bytes:
    """Columns of any type and name, in Parquet, Arrow or .npz."""
    del data
    n = random.choice([0, 1, 2, 5, 20])
    names = [random.choice(["a", "b", "", "é", "a b", "target", "\n", "x" * 300]) for _ in range(4)]
    if random.random() < 0.3:
        arrays = {f"{name}{j}": odd_array(random) for j, name in enumerate(("X", "y", "z"))}
        return packed({f"{name[0]}.npy": npy(array) for name, array in arrays.items()})
    columns = [odd_column(random, n) for _ in names]
    table, out = pyarrow.table(columns, names), io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if random.random() < 0.5:
                pyarrow.parquet.write_table(table, out)
            else:
                with pyarrow.ipc.new_file(out, table.schema) as writer:
                    writer.write_table(table)
        except pyarrow.ArrowException:  # a type that Parquet has not
            return b""
    return out.getvalue()


def odd_column(random: Choices, n: int) -> Any:
    """Values of one type, some of them missing."""
    makers: list[tuple[Any, Callable[[], Any]]] = [
        (pyarrow.float64(), lambda: random.choice([0.0, 1.5, float("nan"), float("inf"), -1e308])),
        (pyarrow.float16(), lambda: np.float16(random.choice([0, 1.5, 6e4]))),
        (pyarrow.int64(), lambda: random.choice([0, 1, 2**53 + 1, -(2**63)])),
        (pyarrow.uint64(), lambda: random.choice([0, 2**64 - 1])),
        (pyarrow.bool_(), lambda: random.random() < 0.5),
        (pyarrow.string(), lambda: random.choice(["", "a", " a ", "1", "0x10", "NA", "é", "\0"])),
        (pyarrow.large_string(), lambda: random.choice(["a", "b"])),
        (pyarrow.binary(), lambda: random.choice([b"", b"\xff", b"a"])),
        (pyarrow.timestamp("ns"), lambda: random.choice([0, -(2**62), 2**62])),
        (pyarrow.timestamp("s", "Europe/Berlin"), lambda: random.choice([0, 10**9])),
        (pyarrow.date32(), lambda: random.choice([0, -(2**31), 2**31 - 1, 18000])),
        (pyarrow.time64("us"), lambda: random.choice([0, 10**9])),
        (pyarrow.duration("s"), lambda: random.choice([0, 2**40])),
        (pyarrow.decimal128(38, 2), lambda: random.choice([0, 10**9])),
        (pyarrow.list_(pyarrow.int64()), lambda: [1, 2]),
        (pyarrow.struct([("f", pyarrow.int64())]), lambda: {"f": 1}),
        (pyarrow.map_(pyarrow.string(), pyarrow.int64()), lambda: [("a", 1)]),
        (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), lambda: random.choice("ab")),
        (pyarrow.null(), lambda: None),
    ]
    kind, make = random.choice(makers)
    return pyarrow.array([None if random.random() < 0.1 else make() for _ in range(n)], kind)


# --- checkpoints ------------------------------------------------------------------------

FITS: dict[str, Callable[[Checkpoint], Any]] = {
    "BatchPolyceptron": lambda to: learners.BatchPolyceptron(
        2, max_iter=6, n_init=2, random_state=0, checkpoint=to
    ),
    "OnlinePolyceptron": lambda to: learners.OnlinePolyceptron(
        2, max_iter=4, n_init=2, average=True, random_state=0, checkpoint=to
    ),
    "SPLA1": lambda to: learners.SPLA1(2, max_iter=4, n_init=2, random_state=0, checkpoint=to),
    "PCSLP": lambda to: learners.PCSLP(2, n_init=2, random_state=0, checkpoint=to),
    "Polyceptron": lambda to: learners.Polyceptron(
        2, margin=20, penalty=None, n_init=2, max_iter=4, random_state=0, checkpoint=to
    ),
}
_RNG = np.random.default_rng(0)
FEW = _RNG.uniform(-2, 2, (40, 2)).round(2)
INSIDE = (np.abs(FEW).max(axis=1) < 1.2).astype(int)
_HEAD = "checkpoint.npy"


def _fitted(name: str, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name](Checkpoint(path, 0, 1, keep=True)).fit(FEW, INSIDE)


def _head_of(data: bytes) -> dict[str, Any]:
    """What a checkpoint says of itself; nothing if it is too spoilt for that."""
    try:
        head = json.loads(np.load(io.BytesIO(unpacked(data)[_HEAD])).tobytes())
        return head if isinstance(head, dict) else {}
    except Exception:  # whatever is wrong with it
        return {}


def other_head(random: Choices, data: bytes) -> bytes:
    """A checkpoint whose head is spoilt as JSON."""
    files = unpacked(data)
    text = spoilt_document(random, np.load(io.BytesIO(files[_HEAD])).tobytes())
    return packed(files | {_HEAD: npy(np.frombuffer(text, np.uint8))})


def resealed(random: Choices, data: bytes) -> bytes:
    """A checkpoint of other arrays, with the digest that they have."""
    files = unpacked(data)
    head = json.loads(np.load(io.BytesIO(files.pop(_HEAD))).tobytes())
    for _ in range(random.choice([1, 1, 2, 4])):
        name, other, kind = *random.choices(list(files), k=2), random.randint(0, 9)
        if kind == 0 and len(files) > 1:
            del files[name]
        elif kind == 1:
            files[name], files[other] = files[other], files[name]
        elif kind == 2:
            files[name.replace(".npy", random.choice(["x", ".x", "/x"]) + ".npy")] = files[name]
        elif kind < 5:
            files[name] = npy(odd_array(random))
        else:
            files[name] = spoilt_array(random, files[name])
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(one)) for name, one in files.items()}
    head["digest"] = checkpoint.digest_by_name(arrays)
    return packed({_HEAD: npy(np.frombuffer(json.dumps(head).encode(), np.uint8))} | files)


def checkpoint_target() -> Target:
    path = _folder() / "fit.checkpoint"
    corpus, expected = [], {}
    for name, make in FITS.items():
        learner = type(make(Checkpoint(path)))
        for stop in (3, None) if hasattr(learner, "_step") else (None,):
            path.unlink(missing_ok=True)
            model = _interrupted(learner, name, path, stop)
            corpus.append(path.read_bytes())
            if model is not None:
                expected[name] = model.coef_.tobytes()
    digests = {_head_of(data)["digest"] for data in corpus}

    def read(data: bytes) -> bool:
        path.write_bytes(data)
        head = _head_of(data)
        known = head.get("identity")
        name = known.get("learner") if isinstance(known, dict) else None
        name = name if isinstance(name, str) and name in FITS else "BatchPolyceptron"
        try:
            model = _fitted(name, path)
        except checkpoint.CheckpointError as error:
            return not_taken(str(error).startswith(f"{path}: "), error)
        assert len(model.predict(FEW)) == len(FEW)
        if str(head.get("digest")) in digests:
            assert model.coef_.tobytes() == expected[name]
        return True

    spoil = [spoilt_archive, spoilt_bytes, cut, other_head, *[resealed] * 4]
    return Target(corpus, spoil, read)


def _interrupted(learner: Any, name: str, path: Path, stop: int | None) -> Any:
    """A fit that is stopped in a step, or goes to its end; its checkpoint stays."""
    step, count = getattr(learner, "_step", None), iter(range(10**9))

    def step_or_stop(model: Any, data: Any, state: Any) -> Any:
        if next(count) == stop:
            raise KeyboardInterrupt
        return step(model, data, state)  # type: ignore[misc]

    if stop is None:
        return _fitted(name, path)
    learner._step = step_or_stop
    try:
        _fitted(name, path)
    except KeyboardInterrupt:
        return None
    finally:
        learner._step = step
    raise AssertionError(f"{name} was not stopped")


# --- entries of the cache ---------------------------------------------------------------


def spoilt_entry(random: Choices, data: bytes) -> bytes:
    """What an entry says of itself, spoilt as JSON; its seal is the old one, or one of no user."""
    files = unpacked(data)
    signed = json.loads(files["entry.json"])
    entry = spoilt_document(random, json.dumps(signed["entry"]).encode())
    seal = random.choice([signed["digest"], cache.digest(entry), cache.digest(entry, b"guess")])
    files["entry.json"] = b'{"digest":"%s","entry":%s}' % (seal.encode(), entry)
    return packed(files)


def other_arrays(random: Choices, data: bytes) -> bytes:
    """Arrays that are others, and stamps that fit them; the seal is the public digest."""
    files = unpacked(data)
    name = random.choice([name for name in files if name.endswith(".npy")])
    files[name] = spoilt_array(random, files[name])
    signed = json.loads(files["entry.json"])
    with tempfile.NamedTemporaryFile() as file:
        file.write(files[name])
        file.flush()
        stamp = cache.Stamp.of(Path(file.name))
    signed["entry"]["arrays"][name.rpartition("/")[2]] = msgspec.to_builtins(stamp)
    entry = json.dumps(signed["entry"]).encode()
    files["entry.json"] = b'{"digest":"%s","entry":%s}' % (cache.digest(entry).encode(), entry)
    return packed(files)


def cache_target() -> Target:
    from polyceptron.data.open import open_blocks

    root = _folder()
    os.environ["XDG_CACHE_HOME"] = str(root / "own")
    path, precious = root / "rows.csv", root / "precious" / "0123456789abcdef"
    path.write_text("a,c,y\n" + "".join(f"{k / 7},{'uv'[k % 2]},{k % 3 > 0}\n" for k in range(30)))
    precious.mkdir(parents=True)
    (precious / "X.npy").write_bytes(b"kept")

    def rows() -> Any:
        source = open_blocks(path, "y", cache_dir=root / "cache")
        part = source.take(np.arange(source.n_samples))
        return part.X, [str(label) for label in source.classes], source.feature_names

    truth = rows()
    (entry,) = (one for one in (root / "cache").rglob("entry.json"))
    folders = entry.parent

    def read(data: bytes) -> bool:
        files = unpacked(data)
        shutil.rmtree(folders)
        for name, content in files.items():
            at = folders / name
            if folders in at.resolve().parents and not at.is_dir():
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(content)
        folders.mkdir(exist_ok=True, mode=0o700)
        before = {at.name for at in folders.iterdir() if at.is_dir()}
        found = rows()  # what is spoilt is converted again
        assert (precious / "X.npy").read_bytes() == b"kept"
        assert path.exists()
        assert found[0].tobytes() == truth[0].tobytes()
        assert found[1:] == truth[1:]
        return before == {at.name for at in folders.iterdir() if at.is_dir()}

    whole = packed(
        {at.relative_to(folders).as_posix(): at.read_bytes() for at in folders.rglob("*.*")}
    )
    return Target([whole], [spoilt_archive, spoilt_entry, spoilt_entry, other_arrays], read)


# --- the text of rules ------------------------------------------------------------------

NAMES = ("age", "bmi", "x0", "mean radius", 'a "b"', "a\nb", "é", ">=", "1", "-", "\\", "")


def rules_corpus() -> list[bytes]:
    """Inequalities as rules print them, and as people write them."""
    rng, written = np.random.default_rng(0), ["2*age - bmi >= 14", '1.5e3 <= "mean radius" + 2']
    for scale in (1e-300, 1e-5, 1.0, 1e9, 1e300):
        W = rng.normal(size=(4, len(NAMES))) * (rng.random((4, len(NAMES))) < 0.4) * scale
        W[:, 0] = scale
        shown = Polyhedron(W, rng.normal(size=4), (*NAMES[:-1], "last"))
        written += [*shown.to_text().splitlines(), *shown.to_text(3).splitlines()]
    return [text.encode("utf-8", "surrogatepass") for text in written]


def rules_target() -> Target:
    names = (*NAMES[:-1], "last")

    def read(data: bytes) -> bool:
        text = data.decode("utf-8", "surrogatepass")
        try:
            w, b = parse_inequality(text, names)
        except ValueError as error:
            return not_taken(str(error).isprintable() and len(str(error)) < 2000, error)
        assert np.isfinite(w).all()
        assert np.isfinite(b)
        again, c = parse_inequality(inequality(w, b, names), names)
        shown, offset, _ = printed_face(w, b)
        assert again.tobytes() == (shown + 0.0).tobytes()
        assert c == offset
        return True

    spoil = [spoilt_inequality, spoilt_inequality, spoilt_inequality, text_bytes]
    return Target(rules_corpus(), spoil, read)


def text_bytes(random: Choices, data: bytes) -> bytes:
    """Bytes that are spoilt, as text."""
    text = spoilt_bytes(random, data).decode("utf-8", "replace")
    return text.encode("utf-8", "surrogatepass")


TARGETS: dict[str, Callable[[], Target]] = {
    "model": model_target,
    "tables": table_target,
    "checkpoint": checkpoint_target,
    "cache": cache_target,
    "rules": rules_target,
}

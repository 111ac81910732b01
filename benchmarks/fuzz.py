"""Does anything but the library's own error come out of a spoilt file?

``python -m benchmarks.fuzz --minutes 10`` spoils files that are whole and gives them to what reads
them: model files to `polyceptron.model_file`, tables to `polyceptron.data.tables`. Hypothesis makes
the choices. A file is refused with the reader's own error, or what it holds can be used; anything
else is a crash, whose input is kept in the folder ``--crashes``. Prints JSON: how many files were
tried, how they were spoilt, and what came out.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import io
import json
import random
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import numpy as np
import pyarrow
import pyarrow.parquet
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.report import environment
from polyceptron import learners, model_file
from polyceptron.data.encoding import Column, Encoding

Choices = random.Random
Mutation = Callable[[Choices, Any], Any]
ROUND = 1000
"""Inputs before the clock is looked at."""

# --- JSON that is spoilt as JSON --------------------------------------------------------

NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 255, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**25, 10**400),
    *(0.0, -0.0, 0.5, 1.0, -1.5, 1e-9, 5e-324, 1e100, 1.7e308, -1.7e308, 1e16),
    *(float("nan"), float("inf"), float("-inf")),
]
TEXTS = [
    *("", "a", "auto", "random", "balanced", "NaN", "Infinity", "1", "0.5", "True", "no", "yes"),
    *(
        "oc1",
        "spla1",
        "spla2",
        "pcslp",
        "polyceptron",
        "os.system",
        "__class__",
        "int64",
        "object",
        "logistic",
        "calibration",
    ),
    *("\0", "a\0", "\ud800", "\U0001f600", "x" * 300, "'; DROP TABLE x; --", "</script>", "%s{0}"),
]


def some_json(random: Choices, depth: int = 3) -> Any:
    """A value of any kind."""
    kind = random.choice("nnnttbzoa" if depth else "nnttbz")
    if kind == "n":
        return random.choice(NUMBERS)
    if kind == "t":
        return random.choice(TEXTS)
    if kind == "b":
        return random.choice([True, False])
    if kind == "z":
        return None
    size = random.randint(0, 3)
    if kind == "a":
        return [some_json(random, depth - 1) for _ in range(size)]
    return {random.choice(TEXTS): some_json(random, depth - 1) for _ in range(size)}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: a container and a key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        keys: Any = here if isinstance(here, dict) else range(len(here))
        for key in keys:
            found.append((here, key))
            if isinstance(here[key], dict | list):
                waiting.append(here[key])
    return found


def delete(random: Choices, document: Any) -> None:
    container, key = random.choice(places(document))
    del container[key]


def replace(random: Choices, document: Any) -> None:
    container, key = random.choice(places(document))
    container[key] = some_json(random)


def nudge(random: Choices, document: Any) -> None:
    """Another value of the same kind, which is harder to tell from a good one."""
    container, key = random.choice(places(document))
    value = container[key]
    if isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, int | float):
        near: list[Any] = [value + 1, -value, value * 2, random.choice(NUMBERS)]
        if abs(value) < 2**64:
            near += [float(value), value * 1e300]
        container[key] = random.choice(near)
    elif isinstance(value, str):
        container[key] = random.choice([value + "x", value[:-1], random.choice(TEXTS)])
    elif isinstance(value, list):
        random.shuffle(value)
    elif isinstance(value, dict):
        container[key] = dict(reversed(value.items()))
    else:
        container[key] = some_json(random)


def repeat(random: Choices, document: Any) -> None:
    """An item of an array once more, or a field under another name."""
    container, key = random.choice(places(document))
    again = copy.deepcopy(container[key])
    if isinstance(container, list):
        container.insert(random.randint(0, len(container)), again)
    else:
        container[random.choice([*TEXTS, *container])] = again


def swap(random: Choices, document: Any) -> None:
    (one, i), (other, j) = random.choice(places(document)), random.choice(places(document))
    one[i], other[j] = copy.deepcopy(other[j]), copy.deepcopy(one[i])


def bury(random: Choices, document: Any) -> None:
    """A value deep inside arrays or objects."""
    container, key = random.choice(places(document))
    for _ in range(random.choice([1, 5, 40, 300])):
        container[key] = random.choice([[container[key]], {"a": container[key]}])


MUTATIONS: list[Mutation] = [delete, replace, nudge, repeat, swap, bury]


def spoilt_document(random: Choices, data: bytes) -> bytes:
    document = json.loads(data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if places(document):
            random.choice(MUTATIONS)(random, document)
    return json.dumps(document).encode()


def field_twice(random: Choices, data: bytes) -> bytes:
    """An object with a field twice, which no dict can be."""
    starts = [i for i, byte in enumerate(data) if byte == ord("{")]
    at = random.choice(starts) + 1
    key = random.choice(["name", "W", "version", "learner", "format", "type", "slope", "kind"])
    value = json.dumps(some_json(random, 1))
    return data[:at] + f'"{key}": {value},'.encode() * random.choice([1, 2]) + data[at:]


# --- bytes that are spoilt as bytes -----------------------------------------------------

SNIPPETS = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"\t", b",", b";", b"|", b'"', b"'"),
    *(b"[", b"]", b"{", b"}", b":", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"\\ud800"),
    *(b"#", b"0x1F", b"1_000", b"?", b"NA", b"inf", b"-", b"\x1a", b"PK\x03\x04", b"PAR1"),
    *(b"\x1f\x8b", b"," * 1000, b"\n" * 1000, b'"' * 999, b"a" * 100_000, b"[" * 2000),
    *("é\u2028\U0001f600".encode(), "é".encode("latin-1"), b"1:1 1:2", b"0:5", b"3:1 2:1"),
]


def spoilt_bytes(random: Choices, data: bytes) -> bytes:
    for _ in range(random.choice([1, 1, 2, 5])):
        i, j = sorted(random.randint(0, len(data)) for _ in range(2))
        kind = random.randint(0, 5)
        if kind == 0:
            data = data[:i] + random.choice(SNIPPETS) + data[i:]
        elif kind == 1:
            data = data[:i] + random.choice(SNIPPETS) + data[min(i + 8, j) :]
        elif kind == 2:
            data = data[:i] + data[min(j, i + 20) :]
        elif kind == 3 and i < len(data):
            data = data[:i] + bytes([random.randint(0, 255)]) + data[i + 1 :]
        elif kind == 4:
            data = data[:i] + data[i:j] * random.choice([1, 2, 3]) + data[j:]
        else:
            lines = data.split(b"\n")
            lines.insert(random.randint(0, len(lines)), random.choice(lines))
            data = b"\n".join(lines)
    return data


def cut(random: Choices, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def random_bytes(random: Choices, data: bytes) -> bytes:
    return bytes(random.randint(0, 255) for _ in range(random.randint(0, min(64, len(data)))))


# --- what is read -----------------------------------------------------------------------


class Target(NamedTuple):
    """Files that are whole, ways to spoil them, and what reads them.

    ``read`` returns whether a file was taken or refused; it raises whatever else comes out.
    """

    corpus: list[bytes]
    spoil: list[Callable[[Choices, bytes], bytes]]
    read: Callable[[bytes], bool]


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
    table = pyarrow.table({"age": [1.5, None, 3.0], "colour": ["red", None, "blue"]})
    parquet, stream = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet)
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    found += [parquet.getvalue(), stream.getvalue()]
    return found


def table_target() -> Target:
    from polyceptron.data.source import SourceError
    from polyceptron.data.tables import is_text, open_table

    folder = tempfile.TemporaryDirectory()  # as long as `read` is there

    def read(data: bytes) -> bool:
        path = Path(folder.name) / "table"
        path.write_bytes(data)
        try:
            with open_table(path) as table:
                types = table.types(table.names)
                numbers = [name for name in table.names if not is_text(types[name])]
            with open_table(path) as table:
                for batch in table.batches(numbers, [n for n in types if n not in numbers]):
                    for name in numbers if batch.matrix is None else ():
                        assert len(batch.numbers(name)) == batch.n_rows
        except SourceError as error:
            return not_taken("\n" not in str(error), error)
        return True

    return Target(
        table_corpus(), [spoilt_bytes, spoilt_bytes, spoilt_bytes, cut, random_bytes], read
    )


TARGETS: dict[str, Callable[[], Target]] = {"model": model_target, "tables": table_target}

# --- the run ----------------------------------------------------------------------------


def spoilt(target: Target, random: Choices) -> tuple[str, bytes]:
    """The name of what was done to a file, and what became of it."""
    how = random.choice(target.spoil)
    return how.__name__, how(random, random.choice(target.corpus))


def fuzz(target: Target, minutes: float, first_seed: int, crashes: Path | None) -> dict[str, Any]:
    tried: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    seen: set[bytes] = set()
    start, number = time.monotonic(), first_seed

    def one(random: Choices) -> None:
        how, data = spoilt(target, random)
        tried[how] += 1
        seen.add(hash(data).to_bytes(8, "big", signed=True))
        try:
            outcomes["taken" if target.read(data) else "refused"] += 1
        except Exception:
            outcomes["crashed"] += 1
            _keep(crashes, data)

    while time.monotonic() < start + 60 * minutes:
        run = settings(
            max_examples=ROUND,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(st.randoms(use_true_random=False))(one))
        seed(number)(run)()
        number += 1
    return {
        "minutes": round((time.monotonic() - start) / 60, 2),
        "seeds": [first_seed, number - 1],
        "inputs": sum(tried.values()),
        "different inputs": len(seen),
        "outcomes": dict(outcomes),
        "spoilt by": dict(tried),
    }


def _keep(folder: Path | None, data: bytes) -> None:
    """The input and its traceback, by the place where it went wrong."""
    text = traceback.format_exc()
    if folder is None:
        print(text)
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{abs(hash(text.splitlines()[-2])):x}"[:12]
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / name).write_bytes(data)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--target", choices=TARGETS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, help="a folder for inputs that crash")
    options = parser.parse_args(argv)
    results = {
        name: fuzz(TARGETS[name](), options.minutes, options.seed, options.crashes)
        for name in options.target or TARGETS
    }
    print(json.dumps({"environment": environment(), "results": results}, indent=2))


if __name__ == "__main__":
    main()

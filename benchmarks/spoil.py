"""Ways to spoil a file: as bytes, as JSON, as an archive, as records, as text of inequalities."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from tokenize import TokenError
from typing import Any

import numpy as np

Choices = random.Random
Mutation = Callable[[Choices, Any], Any]

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


# --- archives: files by name ------------------------------------------------------------


def packed(files: dict[str, bytes]) -> bytes:
    """Files by name as one archive, which is not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


ODD_NUMBERS = [0.0, 1.0, 3.0, 100.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]


def odd_array(random: Choices) -> Any:
    """An array of any type and shape."""
    shape = random.choice([(), (0,), (1,), (3,), (2, 3), (3, 0), (2, 2, 2), (1, 1, 1, 1)])
    kind = random.choice(["f8", "f4", "f2", "i8", "i1", "u8", "?", "U3", "S2", "c16", ">f8"])
    values = [0, 1, -1, 2**31, 100] if kind[0] in "iu" else [0.0, np.nan, np.inf, -1e308, 2**53]
    made = np.array([random.choice(values) for _ in range(int(np.prod(shape)))])
    with np.errstate(all="ignore"):
        return made.reshape(shape).astype(kind)


def spoilt_archive(random: Choices, data: bytes) -> bytes:
    """Members that are gone, exchanged, renamed, there twice, other arrays or other bytes."""
    files = unpacked(data)
    for _ in range(random.choice([1, 1, 2])):
        name, other = random.choice(list(files)), random.choice(list(files))
        kind = random.randint(0, 6)
        if kind == 0 and len(files) > 1:
            del files[name]
        elif kind == 1:
            files[name], files[other] = files[other], files[name]
        elif kind == 2:
            files[random.choice([name + "x", "../" + name, "/" + name, other, "x.npy", "é"])] = (
                files[name]
            )
        elif kind == 3:
            files[name] = npy(odd_array(random))
        elif kind == 4:
            files[name] = spoilt_array(random, files[name])
        else:
            files[name] = spoilt_bytes(random, files[name])
    return packed(files)


def spoilt_array(random: Choices, data: bytes) -> bytes:
    """The same numbers in another shape, type or order, or some of them others."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TypeError, TokenError):
        return npy(odd_array(random))
    kind = random.randint(0, 4)
    with np.errstate(all="ignore"):
        if kind == 0:
            array = array[..., None]
        elif kind == 1:
            array = array.ravel()[: random.randint(0, array.size)]
        elif kind == 2:
            kinds = ["f4", "i8", "i1", "U8", "?", ">f8"]
            with suppress(ValueError, TypeError):  # text that is no number
                real = array.real if array.dtype.kind == "c" else array
                array = real.astype(random.choice(kinds), casting="unsafe")
        elif kind == 3 and array.size:
            array = np.array(array)
            others = ODD_NUMBERS if array.dtype.kind == "f" else [0, 1, 3, 100]
            array.flat[random.randrange(array.size)] = random.choice(others)
        else:
            array = np.concatenate([array.ravel()] * 2)
    return npy(array)


# --- records: cells of delimited text ---------------------------------------------------

CELLS = [
    *(
        "",
        " ",
        "?",
        "NA",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "0x10",
        "1_000",
        "\u0661",
        "1,5",
        "1.234,5",
    ),
    *('"', '""', '"a', 'a"b', '"a,b"', '"a\nb"', "a\rb", "true", "False", "T", "2020-02-30"),
    *("2020-01-01", "2020-01-01 25:00", "01/02/2020", "-0", "+1", ".5", "5.", "1e-400", "9" * 400),
    *("=1+1", "\x1b[31m", "\u2028", "é", "x" * 5000, "\t", ";", "1:2", "target", "age"),
]


def spoilt_records(random: Choices, data: bytes) -> bytes:
    """Cells, rows and columns that are gone, there twice, exchanged, or others."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return spoilt_bytes(random, data)
    delimiter = max(",\t;|: ", key=text.count)
    rows = [line.split(delimiter) for line in text.split("\n")]
    for _ in range(random.choice([1, 1, 2, 5])):
        kind = random.randint(0, 7)
        if kind < 4:
            _spoil_row(random, random.choice(rows))
        elif kind < 6:
            _spoil_column(random, rows)
        elif kind == 6:
            rows.insert(random.randrange(len(rows)), list(random.choice(rows)))
        else:
            random.shuffle(rows)
    if random.random() < 0.1:
        delimiter = random.choice([",", ";", "\t", "|", " ", ", ", ":"])
    end = random.choice(["\n", "\n", "\r\n", "\r", "\n\n"])
    return end.join(delimiter.join(row) for row in rows).encode("utf-8", "replace")


def _spoil_row(random: Choices, row: list[str]) -> None:
    i, kind = random.randrange(len(row) or 1), random.randint(0, 3)
    row[i : i + (kind > 0)] = [] if kind == 1 else [random.choice(CELLS)]


def _spoil_column(random: Choices, rows: list[list[str]]) -> None:
    """Another column, or other cells in one, some of them or all."""
    j, is_new = random.randrange(max(map(len, rows)) or 1), random.random() < 0.5
    cell, share = random.choice(CELLS), random.choice([0.3, 1.0])
    for row in rows[random.randint(0, 1) :]:
        own = cell if share == 1.0 else random.choice([cell, "1", "2"])
        row[j : j + (not is_new)] = [own]


# --- text of inequalities ---------------------------------------------------------------

TOKENS = [
    *(">=", "<=", ">", "=", "==", "≥", "≤", "!=", "+", "-", "*", "/", "**", "(", ")", '"', '\\"'),
    *(
        "0",
        "1",
        "-0",
        "1e308",
        "1e999",
        "1e-400",
        "5e-324",
        "nan",
        "inf",
        "0x10",
        "1_0",
        "\u0661",
        "½",
    ),
    *("age", "x0", '"mean radius"', '"a\\nb"', '"\\U00110000"', '"\\ud800"', '"\\x4"', "bmi age"),
    *("__import__", "lambda", "{0}", "%s", "\0", "\n", "\u2028", "\ud800", " " * 300, "9" * 5000),
]


def spoilt_inequality(random: Choices, data: bytes) -> bytes:
    """Tokens that are gone, there twice, exchanged, or others."""
    found = re.findall(
        r'"[^"]*"|[A-Za-z_.]+|[0-9.eE]+|\s+|.', data.decode("utf-8", "surrogatepass")
    )
    for _ in range(random.choice([1, 1, 2, 4])):
        i, j = random.randint(0, len(found)), random.randint(0, len(found))
        kind = random.randint(0, 4)
        if kind == 0:
            found[i : i + 1] = []
        elif kind == 1:
            found.insert(i, random.choice(TOKENS))
        elif kind == 2:
            found[i : i + 1] = [random.choice(TOKENS)]
        elif kind == 3:
            found[i:i] = found[min(i, j) : max(i, j)]
        elif max(i, j) < len(found):
            found[i], found[j] = found[j], found[i]
    return "".join(found).encode("utf-8", "surrogatepass")

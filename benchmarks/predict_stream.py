"""Measure `polyceptron predict` on a long CSV beside pandas, which merely reads it.

    python -m benchmarks.predict_stream [--gigabytes 1] [--repetitions 3] [--columns 10]

Each is a process of its own, in turn, and its imports count. Prints one line of JSON for each run,
and at the end the medians: seconds, seconds of processor time, rows a second, and the most memory
in MB.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

_PANDAS = """
import sys
import pandas
print(sum(len(chunk) for chunk in pandas.read_csv(sys.argv[1], chunksize=100_000)))
"""


def write_rows(path, size, n_columns, digits):
    """Rows of uniform numbers until the file has `size` bytes; returns how many."""
    import numpy as np

    rng = np.random.default_rng(0)
    row = ",".join([f"%.{digits}g"] * n_columns) + "\n"
    n = 0
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(1, n_columns + 1)) + "\n")
        while file.tell() < size:
            X = rng.uniform(-1, 1, (20_000, n_columns))
            file.write((row * len(X)) % tuple(X.ravel().tolist()))
            n += len(X)
    return n


def write_model(path, n_columns):
    import numpy as np

    from polyceptron import BatchPolyceptron
    from polyceptron.data.encoding import Column, Encoding
    from polyceptron.datasets import make_polyhedron
    from polyceptron.model_file import save_model

    X, y, _ = make_polyhedron(1000, n_columns, 3, random_state=0)
    model = BatchPolyceptron(3, random_state=0).fit(X, y)
    names = [f"x{j}" for j in range(1, n_columns + 1)]
    model.feature_names_in_ = np.array(names, dtype=object)
    save_model(model, path, encoding=Encoding([Column(name, "number") for name in names]))


def apart(function, *arguments):
    """Call a function in another process: a child's memory counts from its parent's."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure(command):
    """Seconds, processor seconds and the most memory of a process."""
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"{command} failed")
    unit = 1024 if sys.platform == "darwin" else 1
    return {
        "seconds": round(seconds, 2),
        "processor": round(usage.ru_utime + usage.ru_stime, 2),
        "MB": round(usage.ru_maxrss * 1024 / unit / 1e6, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--digits", type=int, default=6, help="of each number; 17 are all")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the file; by default a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        data, model, out = folder / "rows.csv", folder / "model.json", folder / "out.csv"
        size = options.gigabytes * 1e9
        n_rows = apart(write_rows, data, size, options.columns, options.digits)
        apart(write_model, model, options.columns)
        polyceptron = [sys.executable, "-m", "polyceptron", "predict", model, data, "-o", out]
        commands = {
            "pandas reads": [sys.executable, "-c", _PANDAS, data],
            "predict": [*polyceptron, "--force"],
            "predict --explain": [*polyceptron, "--force", "--explain"],
        }
        measure(commands["predict --explain"])  # compiles, once for this machine
        found = {what: [] for what in commands}
        for _ in range(options.repetitions):
            for what, command in commands.items():
                run = measure(command)
                found[what].append(run)
                print(json.dumps({"what": what, **run}), flush=True)
        for what, runs in found.items():
            middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            middle["rows/s"] = round(n_rows / middle["seconds"])
            print(json.dumps({"median of": what, "rows": n_rows, **middle}), flush=True)


if __name__ == "__main__":
    main()

"""Tables of docs/streaming.md, scale.md, out-of-core.md and explain.md, for `benchmarks.tables`."""

from __future__ import annotations

from typing import Any

from benchmarks.report import markdown, of_machine

BLOCK = 65_536
Results = dict[str, Any]
_RECORD = ("rows", "learning", "frozen", "memory")


# --- streams -------------------------------------------------------------------------------------


def stream(found: Results) -> str:
    """Mistakes and memory along one long stream."""
    long = found["long"]
    moments = zip(*(long["moments"][name] for name in _RECORD), strict=True)
    rows = [
        [f"{n / 1e6:g} million", *("" if v is None else f"{v:.1f}" for v in rest)]
        for n, *rest in moments
    ]
    head = ["rows seen", "mistakes per 1,000, learns on", "stopped", "memory, MB"]
    return (
        f"{markdown(head, rows)}\n\n{long['rows_a_second'] / 1e6:.1f} million rows a second, "
        f"{of_machine(found)}."
    )


def drift(found: Results) -> str:
    """Settings on streams whose truth changes."""
    head = ["margin", "average", "before the change", "at the end", "thousand rows to recover"]
    rows = [
        [str(one["margin"]), "yes" if one.get("average") else "no",
         *(one[name] for name in ("before", "end", "recovered"))]
        for one in found["drift"]["settings"]
    ]  # fmt: skip
    return markdown(head, rows)


# --- clusters ------------------------------------------------------------------------------------


def steps(found: Results) -> str:
    """A step in memory and on workers, by the number of partitions, and what a message costs."""
    parts = found["partitions"]
    lines = {
        "in memory, 2 threads": "in memory",
        "on 2 workers": "two workers",
        "**above in memory**": "above in memory",
    }
    rows = [
        [name, *(f"{one['overhead'][key]:.1f}" for one in parts.values())]
        for name, key in lines.items()
    ]
    latency = found["latency"]
    numbers = ", ".join(latency)
    times = ", ".join(f"{one['step']:.1f}" for one in latency.values())
    rows.append([f"next to no rows, {numbers} workers", times, *[""] * (len(parts) - 1)])
    return (
        f"{markdown(['milliseconds a step of BatchPolyceptron', *_partitions(found)], rows)}\n\n"
        f"Medians of {found['rounds']} steps, the sides in turns; {of_machine(found)}, "
        f"Dask {found['environment']['dask']}. To each worker go "
        f"{found['travels']['bytes to a worker'] / 1000:.1f} kB, and a sum that comes back has "
        f"{found['travels']['bytes a block'] / 1000:.2f} kB."
    )


def _partitions(found: Results) -> list[str]:
    return [f"{n} partitions, {int(n) * found['rows'] / 1e6:.1f} M rows"
            for n in found["partitions"]]  # fmt: skip


def rivals(found: Results) -> str:
    """Ours and dask-glm on the same rows and workers."""
    lines = {
        "ours, K = 3": "ours",
        "dask-glm, loss and gradient of logistic regression, as its L-BFGS asks for them":
            "dask-glm, loss and gradient",
        "dask-glm, a step of its gradient descent": "dask-glm, step of gradient descent",
    }  # fmt: skip
    rows = []
    for name, key in lines.items():
        cells = []
        for one in found["partitions"].values():
            times = one["dask-glm"]
            beside = "" if key == "ours" else f" ({times[f'{key} ÷ ours']:.1f} times ours)"
            cells.append(f"{times[key]:.1f}{beside}")
        rows.append([name, *cells])
    return markdown(["milliseconds, 2 workers", *_partitions(found)], rows)


def scaling(found: Results) -> str:
    """What a second worker gains, and a second thread in memory."""
    lines = [
        ("strong: all on 1 worker, on 2", "1 worker", "2 workers", "strong: speedup"),
        ("weak: half on 1 worker, all on 2", "1 worker, half of the rows", "2 workers",
         "weak: efficiency"),
        ("in memory: all by 1 thread, by 2", "in memory, 1 thread", "in memory, 2 threads",
         "in memory: speedup"),
    ]  # fmt: skip
    rows = []
    for name, first, second, ratio in lines:
        of = " of the ideal" if "efficiency" in ratio else " times as fast"
        parts = (one["scaling"] for one in found["partitions"].values())
        cells = [f"{t[first]:.1f}, {t[second]:.1f}: {t[ratio]:.2f}{of}" for t in parts]
        rows.append([name, *cells])
    return markdown(["milliseconds a step", *_partitions(found)], rows)


class Costs:
    """What a step on a cluster is made of, in milliseconds, from what was measured here."""

    def __init__(self, found: Results) -> None:
        n = max(found["partitions"], key=int)
        one = found["partitions"][n]["scaling"]
        self.row = one["in memory, 1 thread"] / (int(n) * found["rows"])
        latency = {int(n): one for n, one in found["latency"].items()}
        few, many = min(latency), max(latency)
        self.message = latency[few]["step"]
        work = latency[many]["processor"] - latency[few]["processor"]
        self.worker = work / (many - few)
        self.sum = found["travels"]["microseconds a block"] / 1000


def expected(found: Results) -> str:
    """The model of a step on clusters that nobody here has."""
    costs, travels = Costs(found), found["travels"]
    rows = []
    for power, workers in ((9, 10), (9, 100), (9, 1000), (11, 100), (11, 1000)):
        blocks = 10**power / BLOCK
        sums = blocks if blocks < 32 * workers else blocks / 64 + 32 * workers
        messages = costs.message + (workers - 1) * costs.worker
        parts = [10**power / (4 * workers) * costs.row, messages, sums * costs.sum]
        sent, received = (workers * travels["bytes to a worker"], sums * travels["bytes a block"])
        n_sums = float(f"{sums:.2g}")
        rows.append([
            f"10{'⁹' if power == 9 else '¹¹'}", f"{workers:,}",
            *(_seconds(part) for part in parts[:2]), f"{n_sums:,.0f}, {_seconds(parts[2])}",
            _seconds(sum(parts)), f"{sent / 1e6:.2g} MB, {received / 1e6:.2g} MB",
        ])  # fmt: skip
    head = ["rows", "workers of 4 threads", "compute", "messages", "sums: number, time", "a step",
            "sent, received"]  # fmt: skip
    return (
        f"    {1e6 * costs.row:.0f} ns for each row of a thread + {costs.message:.1f} ms + "
        f"{costs.worker:.2f} ms a further worker + {1000 * costs.sum:.0f} µs a sum\n\n"
        f"{markdown(head, rows)}"
    )


def _seconds(ms: float) -> str:
    return f"{ms:.2g} ms" if ms < 100 else f"{ms / 1000:.2g} s"


# --- rows on disk --------------------------------------------------------------------------------


def out_of_core(found: Results) -> str:
    """Reading a file once, an iteration over it, and a fit."""
    cold, warm, fit = (found[name] for name in ("cold", "warm", "fit"))
    rows = [
        ["reading the file once, cold (out of the cache of the operating system)",
         f"{cold['read']:.2f}"],
        ["a batch iteration, cold",
         f"{cold['iteration']:.2f}: **{cold['ratio']:.2f} of reading it once**"],
        ["reading the file once, warm", f"{warm['read']:.2f}"],
        ["a batch iteration, warm: arithmetic is the limit, not the disk",
         f"{warm['iteration']:.2f}: {warm['ratio']:.1f} times reading it"],
        [f"fit with {found['iterations']} iterations, warm, and three passes for scaling and ranks",
         f"{fit['fit seconds']:.1f}"],
        ["most memory of that fit, in MB; before the first row is read",
         f"**{fit['MB']:.0f}**; {fit['MB before']:.0f}"],
    ]  # fmt: skip
    head = [f"{found['rows'] / 1e6:g} million rows x 20, float32, K = 3", "seconds"]
    return f"{markdown(head, rows)}\n\nMeasured once, {of_machine(found)}."


# --- counterfactuals -----------------------------------------------------------------------------


def counterfactuals(found: Results) -> str:
    """Random ones, beside a solver of quadratic programs."""
    one = found["random"]
    asked = one["found"] + one["impossible"]
    rows = [
        [f"counterfactuals found, of {asked:,} rows asked about", f"{one['found']:,}"],
        ["… that flip the answer", f"{one['flips']:,}"],
        ["… that keep to frozen features and bounds", f"{one['keeps conditions']:,}"],
        ["… no farther than HiGHS's optimum plus 1e-6",
         f"{one['no farther']:,} of the {one['compared']:,} that HiGHS solved"],
        ["farther than HiGHS's optimum at most", f"{one['farther']:.2g}"],
        ["nearer than what HiGHS calls optimal at most", f"{one['nearer']:.2g}"],
        ["impossible, and infeasible for HiGHS as well",
         f"{one['impossible for both']:,} of {one['impossible']:,}"],
    ]  # fmt: skip
    return markdown(["", ""], rows)


def changes(found: Results) -> str:
    """Those of rows of real tables, and all changes of few columns."""
    one = found["tables"]
    names = ("flip", "in range", "whole", "one value of each category")
    rows = [
        [f"found, and exact, of {one['asked']:,} rows", f"{one['found']:,}, {one['exact']:,}"],
        ["… flip the answer; in range; whole numbers whole; one value of each category",
         "; ".join(f"{one[name]:,}" for name in names)],
    ]  # fmt: skip
    for k, columns in ((1, "one column"), (2, "two columns")):
        name = f"at most {k}"
        exact, near, n = (one[key] for key in (f"{name}: exact", f"{name}: as near", name))
        impossible = one.get(f"{name}: impossible", 0)
        rows.append([f"{columns} at most: exact; as near as the nearest of all",
                     f"{exact}; {near} of {n} ({impossible} impossible)"])  # fmt: skip
    return markdown(["", ""], rows)


PAGES = {
    "docs/streaming.md": ("stream", (stream, drift)),
    "docs/scale.md": ("scale", (steps, rivals, scaling, expected)),
    "docs/out-of-core.md": ("out_of_core", (out_of_core,)),
    "docs/explain.md": ("counterfactuals", (counterfactuals, changes)),
}
"""Of each page the results, and what makes its tables."""

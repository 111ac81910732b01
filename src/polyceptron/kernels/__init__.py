"""The compiled inner loops: plain functions on arrays, no objects.

Every kernel is written once and serves dense rows (a C-ordered float32 or
float64 array) and CSR rows (a tuple ``(data, indices, indptr)``). Three
primitives hide the difference: :func:`score_rows`, :func:`add_row` and
:func:`row_norm`. All sums are taken in float64.

**One arithmetic.** Scores come from :func:`score_rows` in every kernel, so
training, pruned training, online passes and prediction agree to the last bit.
A score is ``b_k`` plus the products in column order, each step one fused
multiply-add, so dense and CSR rows agree as well. Numba does not vectorise
straight-line code, so the two inner loops are emitted as LLVM vector code: four
hyperplanes to a vector, several rows side by side, nothing transposed. Each
primitive has a plain Python body beside it; that is what runs under
``NUMBA_DISABLE_JIT=1``.

**Layout.** Hyperplanes travel as *panels*: ``panel[p, j, l]`` is coefficient
``j`` of hyperplane ``4 p + l`` (see :func:`to_panels`). Lanes past the last
hyperplane have zero weights and the largest bias, so they never are the minimum.
A single hyperplane is the two-dimensional ``panel[0, j]``: the number of
dimensions tells the compiler how wide its vectors are.

Everything compiled stays in this file on purpose: Numba invalidates its disk
cache by the file of the outermost function only.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core import event as numba_event
from numba.extending import intrinsic, overload

from polyceptron.utils.types import Floats

LANES = 4
"""Hyperplanes in one vector."""
CHUNK = 64
"""Rows scored before their mistakes are collected."""

_F = TypeVar("_F", bound=Callable[..., Any])


def _compiled(function: _F) -> _F:
    """Compile on first use and cache on disk where some place is writable."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no writable cache directory: compile in every process
        return njit(**options)(function)  # type: ignore[no-any-return]


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("polyceptron.")


class _Announce(numba_event.Listener):
    """Say once on stderr that kernels are being compiled, if it takes over a second."""

    said = False

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []

    def on_start(self, event: Any) -> None:
        if _is_ours(event):
            timer = threading.Timer(1.0, self._say)
            timer.daemon = True
            self._timers.append(timer)
            timer.start()

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            self._timers.pop().cancel()

    def _say(self) -> None:
        if not self.said and not os.environ.get("POLYCEPTRON_QUIET"):
            _Announce.said = True
            print(
                "polyceptron: compiling kernels for this machine (once; the result is cached)",
                file=sys.stderr,
                flush=True,
            )


numba_event.register("numba:compile", _Announce())


# --- panels ---------------------------------------------------------------------------


def to_panels(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Arrange (K, d) hyperplanes and their biases as panels of four; a copy."""
    K, d = W.shape
    if K == 1:
        return np.array(W, order="C"), np.array(b)
    n_panels = -(-K // LANES)
    padded = np.zeros((n_panels * LANES, d))
    padded[:K] = W
    bias = np.full(n_panels * LANES, np.finfo(np.float64).max)
    bias[:K] = b
    panel = padded.reshape(n_panels, LANES, d).transpose(0, 2, 1)
    return np.ascontiguousarray(panel), bias


def from_panels(panel: Floats, bias: Floats, K: int) -> tuple[Floats, Floats]:
    """Undo :func:`to_panels`; a copy."""
    if K == 1:
        return panel.copy(), bias.copy()
    d = panel.shape[1]
    W = panel.transpose(0, 2, 1).reshape(-1, d)[:K]
    return np.array(W, order="C"), bias[:K].copy()


def plane(panel, k):
    """Weights of hyperplane k: a view."""
    return panel[k] if panel.ndim == 2 else panel[k // LANES, :, k % LANES]


@overload(plane, inline="always")
def _plane(panel, k):
    def single(panel, k):
        return panel[k]

    def lane(panel, k):
        return panel[k // LANES, :, k % LANES]

    return single if panel.ndim == 2 else lane


# --- primitives: LLVM bodies ----------------------------------------------------------

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def _i64(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


class _Emit:
    """Writes vector code: ``lanes`` float64 to a vector, a plain float64 for one lane."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, lanes: int) -> None:
        self.context, self.builder, self.lanes = context, builder, lanes
        self._types, self._args = signature.args, args
        self.vector = _F64 if lanes == 1 else ir.VectorType(_F64, lanes)
        name = "llvm.fma.f64" if lanes == 1 else f"llvm.fma.v{lanes}f64"
        self._fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(self.vector, [self.vector] * 3), name
        )

    def array(self, index: int) -> Any:
        return self.context.make_array(self._types[index])(
            self.context, self.builder, self._args[index]
        )

    def shape(self, index: int) -> Any:
        return cgutils.unpack_tuple(self.builder, self.array(index).shape)

    def load(self, pointer: Any) -> Any:
        value = self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()))
        value.align = 8
        return value

    def store(self, value: Any, pointer: Any) -> None:
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        self.builder.store(value, pointer).align = 8

    def splat(self, value: Any) -> Any:
        """Broadcast a float32 or float64 scalar."""
        if value.type != _F64:
            value = self.builder.fpext(value, _F64)
        if self.lanes == 1:
            return value
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return self.shuffle(first, undefined, [0] * self.lanes)

    def shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.call(self._fma, [a, b, c])

    def minimum(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def minimum_of_four(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four vectors of four lanes -> the vector of their four minima."""
        ab = self.minimum(self.shuffle(a, b, [0, 4, 2, 6]), self.shuffle(a, b, [1, 5, 3, 7]))
        cd = self.minimum(self.shuffle(c, d, [0, 4, 2, 6]), self.shuffle(c, d, [1, 5, 3, 7]))
        return self.minimum(self.shuffle(ab, cd, [0, 1, 4, 5]), self.shuffle(ab, cd, [2, 3, 6, 7]))

    def loop(self, start: Any, stop: Any, carried: list[Any], body: Any) -> list[Any]:
        """``for j in range(start, stop)``, with vectors that ``body(j, vectors)`` renews."""
        builder = self.builder
        before = builder.block
        head = builder.append_basic_block("loop.head")
        inside = builder.append_basic_block("loop.body")
        after = builder.append_basic_block("loop.after")
        builder.branch(head)
        builder.position_at_end(head)
        j = builder.phi(_I64)
        vectors = [builder.phi(self.vector) for _ in carried]
        j.add_incoming(start, before)
        for phi, value in zip(vectors, carried, strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", j, stop), inside, after)
        builder.position_at_end(inside)
        for phi, value in zip(vectors, body(j, vectors), strict=True):
            phi.add_incoming(value, builder.block)
        j.add_incoming(builder.add(j, _i64(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return vectors

    def store_scores(self, sums: list[Any], S: int, h: int, at: Any, lane: Any) -> None:
        """Scores into S[at:, lane:]; the least of each row and what h[at:] had into h[at:]."""
        builder = self.builder
        width = self.shape(S)[1]
        out = builder.gep(self.array(S).data, [builder.add(builder.mul(at, width), lane)])
        for t, s in enumerate(sums):
            self.store(s, builder.gep(out, [builder.mul(width, _i64(t))]))
        minima = builder.gep(self.array(h).data, [at])
        if self.lanes > 1 and len(sums) % self.lanes == 0:
            for t in range(0, len(sums), self.lanes):
                self._lower(self.minimum_of_four(*sums[t : t + self.lanes]), minima, t)
        else:
            for t, s in enumerate(sums):
                self._lower(self._least_lane(s), minima, t)

    def _lower(self, value: Any, minima: Any, t: int) -> None:
        """minima[t:] = min(value, minima[t:])."""
        pointer = self.builder.bitcast(self.builder.gep(minima, [_i64(t)]), value.type.as_pointer())
        before = self.builder.load(pointer)
        before.align = 8
        self.builder.store(self.minimum(value, before), pointer).align = 8

    def _least_lane(self, vector: Any) -> Any:
        if self.lanes == 1:
            return vector
        values = [self.builder.extract_element(vector, ir.Constant(_I32, t)) for t in range(4)]
        return self.minimum(self.minimum(*values[:2]), self.minimum(*values[2:]))


def _lanes(panel: Any) -> int:
    return 1 if panel.ndim == 2 else LANES


@intrinsic
def _dense_tile(typingctx, X, rows, panel, p, bias, S, h, at):
    """Scores of ``len(rows)`` rows against panel p: into S, and their running minimum into h."""
    signature = types.void(X, rows, panel, types.intp, bias, S, h, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, _lanes(panel))
        d = emit.shape(0)[1]
        pointers = [
            builder.gep(emit.array(0).data, [builder.mul(i, d)])
            for i in cgutils.unpack_tuple(builder, args[1])
        ]
        lane = builder.mul(args[3], _i64(emit.lanes))
        weights = builder.gep(emit.array(2).data, [builder.mul(lane, d)])

        def body(j, sums):
            w = emit.load(builder.gep(weights, [builder.mul(j, _i64(emit.lanes))]))
            splats = [emit.splat(builder.load(builder.gep(x, [j]))) for x in pointers]
            return [emit.fma(x, w, s) for x, s in zip(splats, sums, strict=True)]

        first = emit.load(builder.gep(emit.array(4).data, [lane]))
        sums = emit.loop(_i64(0), d, [first] * len(pointers), body)
        emit.store_scores(sums, 5, 6, args[7], lane)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _sparse_tile(typingctx, data, indices, starts, stops, panel, p, bias, S, h, at):
    """As :func:`_dense_tile`, for the rows ``data[starts[t]:stops[t]]``."""
    signature = types.void(data, indices, starts, stops, panel, types.intp, bias, S, h, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, _lanes(panel))
        starts = cgutils.unpack_tuple(builder, args[2])
        stops = cgutils.unpack_tuple(builder, args[3])
        lane = builder.mul(args[5], _i64(emit.lanes))
        weights = builder.gep(emit.array(4).data, [builder.mul(lane, emit.shape(4)[1])])
        values, columns = emit.array(0).data, emit.array(1).data

        def term(j, s):
            column = builder.load(builder.gep(columns, [j]))
            if column.type != _I64:
                column = builder.zext(column, _I64)
            w = emit.load(builder.gep(weights, [builder.mul(column, _i64(emit.lanes))]))
            return emit.fma(emit.splat(builder.load(builder.gep(values, [j]))), w, s)

        # The rows go side by side as far as the shortest, then each to its own end.
        shortest = builder.sub(stops[0], starts[0])
        for a, b in zip(starts[1:], stops[1:], strict=True):
            length = builder.sub(b, a)
            shorter = builder.icmp_signed("<", length, shortest)
            shortest = builder.select(shorter, length, shortest)

        def together(j, sums):
            return [term(builder.add(a, j), s) for a, s in zip(starts, sums, strict=True)]

        def alone(j, sums):
            return [term(j, sums[0])]

        first = emit.load(builder.gep(emit.array(6).data, [lane]))
        sums = emit.loop(_i64(0), shortest, [first] * len(starts), together)
        for t, (a, b) in enumerate(zip(starts, stops, strict=True)):
            (sums[t],) = emit.loop(builder.add(a, shortest), b, [sums[t]], alone)
        emit.store_scores(sums, 7, 8, args[9], lane)
        return context.get_dummy_value()

    return signature, codegen


# --- primitives: plain bodies, and which LLVM body replaces them ------------------------


def score_rows(X, rows, panel, bias, S, h, at):
    """Scores of these rows into ``S[at:]`` and the least of each row into ``h[at:]``."""
    for t, i in enumerate(rows):
        for k in range(bias.shape[0]):
            w = plane(panel, k)
            if isinstance(X, tuple):
                data, indices, indptr = X
                part = slice(indptr[i], indptr[i + 1])
                S[at + t, k] = bias[k] + np.dot(data[part].astype(np.float64), w[indices[part]])
            else:
                S[at + t, k] = bias[k] + np.dot(X[i].astype(np.float64), w)
        h[at + t] = S[at + t].min()


@overload(score_rows, inline="always")
def _score_rows(X, rows, panel, bias, S, h, at):
    n_rows = rows.count

    def dense(X, rows, panel, bias, S, h, at):
        for t in range(n_rows):
            h[at + t] = np.inf
        for p in range(panel.shape[0]):
            _dense_tile(X, rows, panel, p, bias, S, h, at)

    def sparse(X, rows, panel, bias, S, h, at):
        data, indices, indptr = X
        for t in range(n_rows):
            h[at + t] = np.inf
        for t in range(0, n_rows, 2):  # two at a time: more streams read slower
            a, b = rows[t], rows[t + 1]
            starts = np.int64(indptr[a]), np.int64(indptr[b])
            stops = np.int64(indptr[a + 1]), np.int64(indptr[b + 1])
            for p in range(panel.shape[0]):
                _sparse_tile(data, indices, starts, stops, panel, p, bias, S, h, at + t)

    return sparse if isinstance(X, types.BaseTuple) else dense


def add_row(X, i, factor, out):
    """out += factor * x_i."""
    if isinstance(X, tuple):
        data, indices, indptr = X
        for j in range(indptr[i], indptr[i + 1]):
            out[indices[j]] += factor * data[j]
    else:
        out += factor * X[i]


@overload(add_row, inline="always")
def _add_row(X, i, factor, out):
    def dense(X, i, factor, out):
        for j in range(X.shape[1]):
            out[j] += factor * X[i, j]

    def sparse(X, i, factor, out):
        data, indices, indptr = X
        for j in range(indptr[i], indptr[i + 1]):
            out[np.uint64(indices[j])] += factor * data[j]

    return sparse if isinstance(X, types.BaseTuple) else dense


def row_norm(X, i):
    """Euclidean norm of [x_i, 1]."""
    x = X[0][X[2][i] : X[2][i + 1]] if isinstance(X, tuple) else X[i]
    return np.sqrt(1.0 + (x.astype(np.float64) ** 2).sum())


@overload(row_norm, inline="always")
def _row_norm(X, i):
    def dense(X, i):
        total = 1.0
        for j in range(X.shape[1]):
            total += np.float64(X[i, j]) * X[i, j]
        return np.sqrt(total)

    def sparse(X, i):
        data, _, indptr = X
        total = 1.0
        for j in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[j]) * data[j]
        return np.sqrt(total)

    return sparse if isinstance(X, types.BaseTuple) else dense


# --- kernels --------------------------------------------------------------------------


@_compiled
def decide(X, panel, bias, h):
    """h[i] = min_k score of row i. True if no score overflowed on the way."""
    n = h.shape[0]
    whole = n // 8 * 8
    S = np.zeros((8, bias.shape[0]))
    least = np.empty(8)
    probe = 0.0  # an infinity or NaN turns it into NaN
    for i in range(0, whole, 8):
        eight = (i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7)
        score_rows(X, eight, panel, bias, S, least, 0)
        for t in range(8):
            h[i + t] = least[t]
        probe += _probe(S)
    z = n - 1
    for i in range(whole, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, least, 0)
        for t in range(min(4, n - i)):
            h[i + t] = least[t]
        probe += _probe(S)
    return probe == 0.0


@_compiled
def _probe(S):
    """0 if every score is finite, else NaN."""
    total = 0.0
    for t in range(S.shape[0]):
        for k in range(S.shape[1]):
            total += S[t, k] - S[t, k]
    return total


@_compiled
def margins(X, panel, bias, scores):
    """scores[i, k] of every row; as many columns as the panels have lanes."""
    S = np.empty((4, bias.shape[0]))
    least = np.empty(4)
    n = scores.shape[0]
    z = n - 1
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, least, 0)
        for t in range(min(4, n - i)):
            for k in range(S.shape[1]):
                scores[i + t, k] = S[t, k]


@_compiled
def inverse_norms(X, out):
    """out[i] <= 1 / |[x_i, 1]| in float32, rounded towards zero."""
    for i in range(out.shape[0]):
        inverse = (1.0 - 2e-7) / row_norm(X, i)
        out[i] = np.float32(inverse) if inverse > 2e-38 else np.float32(0.0)


@_compiled
def batch_block(
    X, y, weight, panel, bias, margin, G, g, totals, keys, inverse_norm, threshold, credit
):  # fmt: skip
    """Gradient of the criterion over a block of rows, added to G and g.

    A row counts where ``y h <= margin``; it is charged to its least hyperplane.
    ``totals`` gains the criterion, the weights of the mistakes and of the rows that
    count, and the number of rows looked at. With ``keys`` (see
    :class:`polyceptron.optim.pruning.Pruning`)
    only rows with ``keys[i] <= threshold`` are looked at, and theirs are raised if
    the new bound is better; an infinite threshold renews every key.
    """
    scan = 1024
    S = np.empty((CHUNK, bias.shape[0]))
    h = np.empty(CHUNK)
    listed = np.arange(scan + 1)
    bad = np.empty(CHUNK + 1, np.int64)
    tracked = keys.shape[0] > 0
    renew = threshold == np.inf
    n = y.shape[0]
    for first in range(0, n, scan):
        n_listed = min(scan, n - first)
        if tracked and not renew:
            n_listed = _list_open_rows(keys, first, n_listed, threshold, listed)
        totals[3] += n_listed
        for base in range(0, n_listed, CHUNK):
            stop = min(base + CHUNK, n_listed)
            _score_listed(X, listed, base, stop, first, panel, bias, S, h)
            n_bad = 0
            if tracked:
                for t in range(stop - base):
                    i = first + listed[base + t]
                    bound = (y[i] * h[t] - margin) * inverse_norm[i] + credit
                    key = np.float32(bound - abs(bound) * 2e-7 - 2e-45)  # rounded down
                    if np.isnan(bound):  # an overflow leaves the row open
                        key = np.float32(-np.inf)
                    keys[i] = key if renew or key > keys[i] else keys[i]
            for t in range(stop - base):
                bad[n_bad] = t
                n_bad += 1 if y[first + listed[base + t]] * h[t] <= margin else 0
            for q in range(n_bad):
                t = bad[q]
                i = first + listed[base + t]
                w = weight[i] if weight.shape[0] > 0 else 1.0
                r = _first_equal(S, t, h[t], G.shape[0])
                s = y[i] * w
                add_row(X, i, s, G[r])
                g[r] += s
                totals[0] += margin * w - s * h[t]
                totals[1] += w if (h[t] >= 0.0) != (y[i] > 0) else 0.0
                totals[2] += w


@_compiled
def _list_open_rows(keys, first, n, threshold, listed):
    """List the rows from first on whose key does not exceed the threshold, less first.

    Most groups of 32 have none: a few vector comparisons pass over them.
    """
    count = 0
    whole = n // 32 * 32
    for group in range(0, whole, 32):
        n_open = 0
        for t in range(32):
            n_open += 1 if keys[first + group + t] <= threshold else 0
        if n_open > 0:
            for t in range(group, group + 32):
                listed[count] = t
                count += 1 if keys[first + t] <= threshold else 0
    for t in range(whole, n):
        listed[count] = t
        count += 1 if keys[first + t] <= threshold else 0
    return count


@_compiled
def _score_listed(X, listed, start, stop, first, panel, bias, S, h):
    """Scores and minima of the rows ``first + listed[start:stop]``."""
    whole = start + (stop - start) // 8 * 8
    for t in range(start, whole, 8):
        eight = (first + listed[t], first + listed[t + 1], first + listed[t + 2],
                 first + listed[t + 3], first + listed[t + 4], first + listed[t + 5],
                 first + listed[t + 6], first + listed[t + 7])  # fmt: skip
        score_rows(X, eight, panel, bias, S, h, t - start)
    z = stop - 1
    for t in range(whole, stop, 4):
        four = (first + listed[t], first + listed[min(t + 1, z)],
                first + listed[min(t + 2, z)], first + listed[min(t + 3, z)])  # fmt: skip
        score_rows(X, four, panel, bias, S, h, t - start)


@_compiled
def _first_equal(S, t, least, K):
    """Least k with S[t, k] == least: ties go to the first hyperplane."""
    k = 0
    while k < K - 1 and S[t, k] != least:
        k += 1
    return k


@_compiled
def assign_block(X, panel, bias, K, assigned):
    """assigned[i] = argmin_k of row i: the sets S_k."""
    S = np.empty((4, bias.shape[0]))
    h = np.empty(4)
    n = assigned.shape[0]
    z = n - 1
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
        for t in range(min(4, n - i)):
            assigned[i + t] = _first_equal(S, t, h[t], K)


@_compiled
def frozen_block(X, y, weight, panel, bias, margin, assigned, G, g):
    """Gradient over a block of rows with the sets S_k held fixed."""
    S = np.empty((4, bias.shape[0]))
    h = np.empty(4)
    n = assigned.shape[0]
    z = n - 1
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
        for t in range(min(4, n - i)):
            r = assigned[i + t]
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            if y[i + t] * S[t, r] <= margin:
                add_row(X, i + t, y[i + t] * w, G[r])
                g[r] += y[i + t] * w


@_compiled
def gradient_norms(G, g, bias_unit):
    """Sum over k of |[G_k, bias_unit * g_k]|: what the paper compares with gamma."""
    total = 0.0
    for k in range(G.shape[0]):
        square = (bias_unit * g[k]) ** 2
        for j in range(G.shape[1]):
            square += G[k, j] * G[k, j]
        total += np.sqrt(square)
    return total


@_compiled
def descend(panel, bias, G, g, step, bias_step):
    """Hyperplanes moved along their gradients: a new panel and bias."""
    new_panel = panel.copy()
    new_bias = bias.copy()
    for k in range(G.shape[0]):
        w = plane(new_panel, k)
        for j in range(G.shape[1]):
            w[j] += step * G[k, j]
        new_bias[k] += bias_step * g[k]
    return new_panel, new_bias


def score_ahead(X, rows, panel, bias, S, h):
    """Score the next eight rows, given by their numbers, or the first two of them."""
    score_rows(X, (rows[0], rows[1]), panel, bias, S, h, 0)
    return 2


@overload(score_ahead, inline="always")
def _score_ahead(X, rows, panel, bias, S, h):
    def dense(X, rows, panel, bias, S, h):
        score_rows(X, rows, panel, bias, S, h, 0)
        return 8

    # Sparse rows go two by two anyway, so there is nothing to gain by more.
    return score_ahead if isinstance(X, types.BaseTuple) else dense


@_compiled
def online_pass(X, y, weight, order, panel, bias, K, step, bias_step, margin, U, u, seen):
    """One pass of Algorithm 2 over the rows in this order; panel and bias move in place.

    Some rows are scored ahead (dense: eight; sparse: two), and taken up to the first that
    counts (``y h <= margin``), whose update makes the later scores stale. With a
    non-empty ``U`` the sums behind averaged weights are kept:
    ``average = W - U / rows seen``. Returns the mistakes (rows on the wrong side when met)
    and the updates.
    """
    n = y.shape[0]
    S = np.empty((8, bias.shape[0]))
    h = np.empty(8)
    shuffled = order.shape[0] > 0
    mistakes = 0
    updates = 0
    t = 0
    z = n - 1
    while t < n:
        eight = (t, min(t + 1, z), min(t + 2, z), min(t + 3, z),
                 min(t + 4, z), min(t + 5, z), min(t + 6, z), min(t + 7, z))  # fmt: skip
        if shuffled:
            a, b, c, d, e, f, g, o = eight
            eight = (order[a], order[b], order[c], order[d],
                     order[e], order[f], order[g], order[o])  # fmt: skip
        n_ahead = min(score_ahead(X, eight, panel, bias, S, h), n - t)
        q = 0
        while q < n_ahead and y[order[t + q] if shuffled else t + q] * h[q] > margin:
            q += 1
        t += q
        if q < n_ahead:
            i = order[t] if shuffled else t
            s = y[i] * weight[i] if weight.shape[0] > 0 else 1.0 * y[i]
            r = _first_equal(S, q, h[q], K)
            add_row(X, i, step * s, plane(panel, r))
            bias[r] += bias_step * s
            if U.shape[0] > 0:
                add_row(X, i, step * s * (seen + t), U[r])
                u[r] += bias_step * s * (seen + t)
            mistakes += 1 if (h[q] >= 0.0) != (y[i] > 0) else 0
            updates += 1
            t += 1
    return mistakes, updates


@_compiled
def shuffle(order, seed):
    """Fill order with the permutation that belongs to this seed.

    Fisher-Yates with splitmix64 (Steele, Lea & Flood 2014): the same everywhere,
    and a few microseconds for a thousand rows.
    """
    n = order.shape[0]
    state = np.uint64(seed)
    for i in range(n):
        order[i] = i
    for i in range(n - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        # The high 32 bits scaled to 0..i: the bias is below i / 2**32.
        j = np.int64(((z >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


# --- columns: their ends, their moments, and a map of them ------------------------------


@_compiled
def column_ends(X, least, greatest):
    """Widen the range of each column to these dense rows; the first row not finite, or -1."""
    bad = -1
    for i in range(X.shape[0]):
        n_bad = 0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            least[j] = min(least[j], x)
            greatest[j] = max(greatest[j], x)
            n_bad += 0 if abs(x) < np.inf else 1
        if n_bad and bad < 0:
            bad = i
    return bad


@_compiled
def column_moments(X, weight, unit, mean, squares):
    """Weighted mean of ``unit * x`` over dense rows, and the sum of squares about it.

    Returns the weight of the rows.
    """
    n, d = X.shape
    total = 0.0
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        total += w
        for j in range(d):
            mean[j] += w * (np.float64(X[i, j]) * unit[j])
    for j in range(d):
        mean[j] /= total
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        for j in range(d):
            off = np.float64(X[i, j]) * unit[j] - mean[j]
            squares[j] += w * off * off
    return total


@_compiled
def map_columns(X, scale, shift, out):
    """``out = X * scale + shift`` by columns, rounded twice in float64; out may be X itself."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = np.float64(X[i, j]) * scale[j] + shift[j]


@_compiled
def digest(words, state):
    """Mix 64-bit words into a state (multiplications as in MurmurHash2, Appleby 2008)."""
    m = np.uint64(0xC6A4A7935BD1E995)
    for word in words:
        k = word * m
        k ^= k >> np.uint64(47)
        state = (state ^ (k * m)) * m
    return state ^ (state >> np.uint64(47))


# --- the logistic likelihood: P(y | x) = 1 / (1 + exp(-y h(x))) -------------------------


@_compiled
def likelihood_block(X, y, weight, panel, bias, K, assigned, totals):
    """Log-likelihood of a block of rows, and its sets S_k.

    ``assigned[i]`` is the hyperplane least for row i; ``totals[k]`` gains the weighted
    log-likelihood and mistakes of the rows of S_k.
    """
    S = np.empty((4, bias.shape[0]))
    h = np.empty(4)
    n = assigned.shape[0]
    z = n - 1
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
        for t in range(min(4, n - i)):
            r = _first_equal(S, t, h[t], K)
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            room = y[i + t] * h[t]
            assigned[i + t] = r
            totals[r, 0] += w * (min(room, 0.0) - np.log1p(np.exp(-abs(room))))
            totals[r, 1] += w if (h[t] >= 0.0) != (y[i + t] > 0) else 0.0


@_compiled
def logistic_block(X, y, weight, panel, bias, assigned, G, g):
    """Log-likelihood of a block with the sets S_k held fixed; its gradient is added to G and g."""
    S = np.empty((4, bias.shape[0]))
    h = np.empty(4)
    n = assigned.shape[0]
    z = n - 1
    total = 0.0
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
        for t in range(min(4, n - i)):
            r = assigned[i + t]
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            room = y[i + t] * S[t, r]
            small = np.exp(-abs(room))  # never overflows
            total += w * (min(room, 0.0) - np.log1p(small))
            s = y[i + t] * w * (small if room > 0 else 1.0) / (1.0 + small)
            add_row(X, i + t, s, G[r])
            g[r] += s
    return total


# --- a noisy product of logistics: P(inside | x) = noise + (1 - 2 noise) prod_k s(score_k) ---


@_compiled
def product_block(X, y, weight, panel, bias, K, noise, G, g):
    """Log-likelihood of a block, and its slope in `noise`; that in [w_k, b_k] is added to G, g."""
    S = np.empty((4, bias.shape[0]))
    h = np.empty(4)
    tail = np.empty(K)
    n = y.shape[0]
    z = n - 1
    total = 0.0
    of_noise = 0.0
    for i in range(0, n, 4):
        score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
        for t in range(min(4, n - i)):
            log_q = 0.0
            for k in range(K):
                small = np.exp(-abs(S[t, k]))  # never overflows
                log_q += min(S[t, k], 0.0) - np.log1p(small)
                tail[k] = (small if S[t, k] > 0 else 1.0) / (1.0 + small)
            q = np.exp(log_q)
            sign = y[i + t]
            side = q if sign > 0 else -np.expm1(log_q)
            p = noise + (1.0 - 2.0 * noise) * side
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            total += w * np.log(p)
            of_noise += w * (1.0 - 2.0 * side) / p
            c = sign * w * (1.0 - 2.0 * noise) * q / p
            for k in range(K):
                add_row(X, i + t, c * tail[k], G[k])
                g[k] += c * tail[k]
    return total, of_noise

"""The inner loops that are written as LLVM vector code, and arithmetic on bits.

Numba does not vectorise straight-line code, so the scores of a few rows against one panel of
hyperplanes are emitted here: a lane for each hyperplane, the rows side by side, nothing transposed.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

LANES = 4
"""Hyperplanes in one vector."""
_AHEAD = 16384
"""Bytes from a row that is scored to what is fetched meanwhile, if rows come in their order."""

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


class _Emit:
    """Writes vector code: ``lanes`` float64 to a vector, a plain float64 for one lane."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, panel: Any) -> None:
        self.context, self.builder = context, builder
        self.lanes = lanes = 1 if panel.ndim == 2 else LANES
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

    def load(self, pointer: Any, kind: Any = None) -> Any:
        kind = kind or self.vector
        value = self.builder.load(self.builder.bitcast(pointer, kind.as_pointer()))
        value.align = 8
        return value

    def store(self, value: Any, pointer: Any) -> None:
        pointer = self.builder.bitcast(pointer, value.type.as_pointer())
        self.builder.store(value, pointer).align = 8

    def splat(self, value: Any) -> Any:
        """Broadcast a float32 or float64 scalar."""
        if value.type != _F64:
            value = self.builder.fpext(value, _F64)
        if self.lanes == 1:
            return value
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, value, _I32(0))
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
        cells = [cgutils.alloca_once_value(builder, value) for value in carried]
        with cgutils.for_range(builder, stop, start=start) as loop:
            renewed = body(loop.index, [builder.load(cell) for cell in cells])
            for cell, value in zip(cells, renewed, strict=True):
                builder.store(value, cell)
        return [builder.load(cell) for cell in cells]

    def prefetch(self, pointer: Any) -> None:
        """Fetch what is there into the cache, if there is anything."""
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        fetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0i8")
        place = self.builder.bitcast(pointer, byte)
        self.builder.call(fetch, [place, _I32(0), _I32(3), _I32(1)])

    def keep_rolled(self) -> None:
        """Do not unroll this loop: twice as many sums and rows would not fit into registers."""
        call = self.builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
        call.attributes.add("convergent")

    def score(
        self, n_rows: int, panel: int, bias: int, into: tuple[int, int, Any], sums: Any
    ) -> None:
        """Scores of rows, ``sums(weights, first)`` for each panel, and the least of each row.

        ``into`` is S and h as arguments, and the first row in them.
        """
        builder, (S, h, at) = self.builder, into
        n_panels, d = self.shape(panel)[:2]
        width = self.shape(S)[1]
        scores = builder.gep(self.array(S).data, [builder.mul(at, width)])
        minima = builder.gep(self.array(h).data, [at])

        def one_panel(p: Any, least: list[Any]) -> list[Any]:
            lane = builder.mul(p, _I64(self.lanes))
            weights = builder.gep(self.array(panel).data, [builder.mul(lane, d)])
            first = self.load(builder.gep(self.array(bias).data, [lane]))
            found = sums(weights, first)
            for t, s in enumerate(found):
                place = builder.add(builder.mul(width, _I64(t)), lane)
                self.store(s, builder.gep(scores, [place]))
            return [self.minimum(*pair) for pair in zip(self._least(found), least, strict=True)]

        by_four = self.lanes > 1 and n_rows % self.lanes == 0
        kind = self.vector if by_four else _F64
        infinite = ir.Constant(kind, [float("inf")] * self.lanes if by_four else float("inf"))
        least = [infinite] * (n_rows // self.lanes if by_four else n_rows)
        if self.lanes == 1:
            least = one_panel(_I64(0), least)
        else:
            least = self.loop(_I64(0), n_panels, least, one_panel)
        for t, value in enumerate(least):
            self.store(value, builder.gep(minima, [_I64(t * n_rows // len(least))]))

    def _least(self, sums: list[Any]) -> list[Any]:
        """The least lane of each row, four rows to a vector where there are as many."""
        if self.lanes == 1:
            return sums
        if len(sums) % 4 == 0:
            return [self.minimum_of_four(*sums[t : t + 4]) for t in range(0, len(sums), 4)]
        return [self._least_lane(one) for one in sums]

    def _least_lane(self, vector: Any) -> Any:
        values = [self.builder.extract_element(vector, _I32(t)) for t in range(4)]
        return self.minimum(self.minimum(*values[:2]), self.minimum(*values[2:]))


def _stands_for(plain: Any) -> Any:
    """Emit this for a plain function, which is what runs where nothing is compiled."""
    return (lambda _: plain) if config.DISABLE_JIT else intrinsic


def _plain_dense(X: Any, rows: Any, panel: Any, bias: Any, S: Any, h: Any, at: int) -> None:
    for t, i in enumerate(rows):
        for k in range(bias.shape[0]):
            w = panel[k] if panel.ndim == 2 else panel[k // LANES, :, k % LANES]
            S[at + t, k] = bias[k] + np.dot(X[i].astype(np.float64), w)
        h[at + t] = S[at + t].min()


def _plain_sparse(
    data: Any, indices: Any, indptr: Any, rows: Any, panel: Any, bias: Any, S: Any, h: Any, at: int
) -> None:
    for t, i in enumerate(rows):
        part = slice(indptr[i], indptr[i + 1])
        for k in range(bias.shape[0]):
            w = panel[k] if panel.ndim == 2 else panel[k // LANES, :, k % LANES]
            S[at + t, k] = bias[k] + np.dot(data[part].astype(np.float64), w[indices[part]])
        h[at + t] = S[at + t].min()


@_stands_for(_plain_dense)
def dense_tile(typingctx, X, rows, panel, bias, S, h, at):
    """Scores of ``len(rows)`` rows into S[at:], and the least of each into h[at:]."""
    signature = types.void(X, rows, panel, bias, S, h, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, panel)
        d, rows = emit.shape(0)[1], cgutils.unpack_tuple(builder, args[1])
        pointers = [builder.gep(emit.array(0).data, [builder.mul(i, d)]) for i in rows]
        # The processor sees rows side by side as many short streams and is late. So for each
        # column an equal part of later rows is fetched; of rows in another order, nothing new.
        last = builder.add(rows[0], _I64(len(rows) - 1))
        in_order = builder.icmp_signed("==", rows[-1], last)
        far = _I64(_AHEAD * 8 // X.dtype.bitwidth)
        later = builder.gep(pointers[0], [builder.select(in_order, far, _I64(0))])
        part = builder.select(in_order, _I64(len(rows)), _I64(1))

        def sums(weights, first):
            def body(j, sums):
                emit.keep_rolled()
                emit.prefetch(builder.gep(later, [builder.mul(j, part)]))
                w = emit.load(builder.gep(weights, [builder.mul(j, _I64(emit.lanes))]))
                splats = [emit.splat(builder.load(builder.gep(x, [j]))) for x in pointers]
                return [emit.fma(x, w, s) for x, s in zip(splats, sums, strict=True)]

            return emit.loop(_I64(0), d, [first] * len(pointers), body)

        emit.score(len(pointers), 2, 3, (4, 5, args[6]), sums)
        return context.get_dummy_value()

    return signature, codegen


@_stands_for(_plain_sparse)
def sparse_tile(typingctx, data, indices, indptr, rows, panel, bias, S, h, at):
    """As :func:`dense_tile`, for sparse rows, two at a time: more streams read slower."""
    signature = types.void(data, indices, indptr, rows, panel, bias, S, h, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, panel)
        rows = cgutils.unpack_tuple(builder, args[3])
        for t in range(0, len(rows), 2):
            _sparse_pair(emit, builder, args, rows[t : t + 2], builder.add(args[8], _I64(t)))
        return context.get_dummy_value()

    return signature, codegen


def _sparse_pair(emit: _Emit, builder: Any, args: Any, rows: Any, at: Any) -> None:
    """The two rows go side by side as far as the shorter, then each to its own end."""
    values, columns, indptr = (emit.array(t).data for t in range(3))

    def whole(pointer: Any) -> Any:
        number = builder.load(pointer)
        return number if number.type == _I64 else builder.zext(number, _I64)

    starts = [whole(builder.gep(indptr, [i])) for i in rows]
    stops = [whole(builder.gep(indptr, [builder.add(i, _I64(1))])) for i in rows]
    one, other = (builder.sub(b, a) for a, b in zip(starts, stops, strict=True))
    shorter = builder.select(builder.icmp_signed("<", one, other), one, other)

    def sums(weights: Any, first: Any) -> Any:
        def term(j: Any, s: Any) -> Any:
            column = whole(builder.gep(columns, [j]))
            w = emit.load(builder.gep(weights, [builder.mul(column, _I64(emit.lanes))]))
            return emit.fma(emit.splat(builder.load(builder.gep(values, [j]))), w, s)

        def together(j: Any, sums: Any) -> Any:
            return [term(builder.add(a, j), s) for a, s in zip(starts, sums, strict=True)]

        def alone(j: Any, sums: Any) -> Any:
            return [term(j, sums[0])]

        found = emit.loop(_I64(0), shorter, [first] * len(starts), together)
        for t, (a, b) in enumerate(zip(starts, stops, strict=True)):
            (found[t],) = emit.loop(builder.add(a, shorter), b, [found[t]], alone)
        return found

    emit.score(len(starts), 4, 5, (6, 7, at), sums)


def _plain_fma(a: float, b: float, c: float) -> float:
    return a * b + c


@_stands_for(_plain_fma)
def fma(_: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_F64, [_F64] * 3)
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.f64")
        return builder.call(call, args)

    return types.float64(types.float64, types.float64, types.float64), emit


def _plain_power_of_two(k: float) -> float:
    return float(2.0**k)


@_stands_for(_plain_power_of_two)
def power_of_two(_: Any, k: Any) -> Any:
    """2 to the power of a whole number that a float64 has room for."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        # The last bits of k + 1.5 * 2^52 are those of k; shifted they are an exponent.
        whole = builder.fadd(args[0], ir.Constant(_F64, 1.5 * 2.0**52))
        exponent = builder.shl(builder.bitcast(whole, _I64), _I64(52))
        return builder.bitcast(builder.add(exponent, _I64(1023 << 52)), _F64)

    return types.float64(types.float64), emit


def _plain_tile(A: Any, k: int, B: Any, columns: tuple[int, ...], C: Any, n: int) -> None:
    for j in columns:
        for i in range(n):
            C[k : k + 4, j : j + 4] += A[k : k + 4, i, None] * B[i, j : j + 4]


@_stands_for(_plain_tile)
def multiply_tile(typingctx, A, k, B, columns, C, n):
    """C[k:k+4, j:j+4] += A[k:k+4, :n] B[:n, j:j+4] for each j of ``columns``, in the order of n."""
    signature = types.void(A, types.intp, B, columns, C, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, types.Array(types.float64, 3, "C"))
        starts = cgutils.unpack_tuple(builder, args[3])

        def rows_of(index):
            stride = emit.shape(index)[1]
            places = [builder.mul(builder.add(args[1], _I64(t)), stride) for t in range(4)]
            return [builder.gep(emit.array(index).data, [place]) for place in places]

        left, right, stride = rows_of(0), emit.array(2).data, emit.shape(2)[1]
        out = [builder.gep(row, [j]) for row in rows_of(4) for j in starts]

        def body(i, sums):
            emit.keep_rolled()
            row = builder.gep(right, [builder.mul(i, stride)])
            b = [emit.load(builder.gep(row, [j])) for j in starts]
            a = [emit.splat(builder.load(builder.gep(one, [i]))) for one in left]
            pairs = [(one, other) for one in a for other in b]
            return [emit.fma(*pair, s) for pair, s in zip(pairs, sums, strict=True)]

        sums = emit.loop(_I64(0), args[5], [emit.load(place) for place in out], body)
        for one, place in zip(sums, out, strict=True):
            emit.store(one, place)
        return context.get_dummy_value()

    return signature, codegen

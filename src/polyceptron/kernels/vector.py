"""The inner loops that are written as LLVM vector code, and arithmetic on bits.

Numba does not vectorise straight-line code, so the scores of a few rows against one panel of
hyperplanes are emitted here: a lane for each hyperplane, the rows side by side, nothing transposed.
"""

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

LANES = 4
"""Hyperplanes in one vector."""
_AHEAD = 7168
"""Bytes from a row that is scored to what is fetched meanwhile, if rows come in their order."""
_SPARSE_AHEAD = 1024
"""The same for sparse rows, counted in stored values."""
_EVEN, _ODD = [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]
_LOW, _HIGH = [0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_FOUR, _FOUR_SHORT = ir.VectorType(_F64, 4), ir.VectorType(ir.FloatType(), 4)


class _Emit:
    """Writes vector code: ``lanes`` float64 to a vector, a plain float64 for one lane."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, panel: Any) -> None:
        self.context, self.builder = context, builder
        self.lanes = lanes = 1 if panel.ndim == 2 else LANES
        self._types, self._args = signature.args, args
        self.vector = _F64 if lanes == 1 else ir.VectorType(_F64, lanes)

    @property
    def has_eight(self) -> bool:
        """Whether the processor has vectors of eight."""
        return "+avx512f" in self.context.codegen().magic_tuple()[2]

    def array(self, index: int) -> Any:
        return self.context.make_array(self._types[index])(
            self.context, self.builder, self._args[index]
        )

    def shape(self, index: int) -> Any:
        return cgutils.unpack_tuple(self.builder, self.array(index).shape)

    def load(self, pointer: Any, kind: Any = None) -> Any:
        kind = kind or self.vector
        value = self.builder.load(self.builder.bitcast(pointer, kind.as_pointer()))
        value.align = 4 if kind == _FOUR_SHORT else 8
        return value

    def store(self, value: Any, pointer: Any) -> None:
        pointer = self.builder.bitcast(pointer, value.type.as_pointer())
        self.builder.store(value, pointer).align = 8

    def splat(self, value: Any, lanes: int | None = None) -> Any:
        """Broadcast a float32 or float64 scalar."""
        lanes = lanes or self.lanes
        value = self.wide(value)
        if lanes == 1:
            return value
        undefined = ir.Constant(ir.VectorType(_F64, lanes), ir.Undefined)
        first = self.builder.insert_element(undefined, value, _I32(0))
        return self.shuffle(first, undefined, [0] * lanes)

    def wide(self, value: Any) -> Any:
        """Float32 as float64."""
        if value.type == _FOUR_SHORT:
            return self.builder.fpext(value, _FOUR)
        return value if value.type in (_F64, _FOUR) else self.builder.fpext(value, _F64)

    def shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        name = "llvm.fma.f64" if a.type == _F64 else f"llvm.fma.v{a.type.count}f64"
        kind = ir.FunctionType(a.type, [a.type] * 3)
        call = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(call, [a, b, c])

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
        self,
        n_rows: int,
        panel: int,
        bias: int,
        into: tuple[int, int, Any],
        sums: Any,
        by_columns: bool = False,
    ) -> None:
        """Scores of rows, ``sums(weights, first)`` for each panel, and the least of each row.

        ``into`` is S and h as arguments, and the first row in them. Sums are a vector for each
        row, or ``by_columns`` one of eight rows for each hyperplane, eight rows after the other.
        """
        builder, (S, h, at) = self.builder, into
        n_panels, d = self.shape(panel)[:2]

        def one_panel(p: Any, least: list[Any]) -> list[Any]:
            lane = builder.mul(p, _I64(self.lanes))
            weights = builder.gep(self.array(panel).data, [builder.mul(lane, d)])
            first = self.load(builder.gep(self.array(bias).data, [lane]))
            found = sums(weights, first)
            if self._types[S].ndim == 1:
                self._probe(found, self.array(S).data)
            else:
                width = self.shape(S)[1] if self.lanes > 1 else _I64(1)
                rows = self._rows(found) if by_columns else found
                for t in range(0, n_rows, n_rows // len(rows)):
                    place = builder.add(builder.mul(width, builder.add(at, _I64(t))), lane)
                    self.store(
                        rows[t * len(rows) // n_rows], builder.gep(self.array(S).data, [place])
                    )
            smallest = self._least_columns(found) if by_columns else self._least(found)
            return [self.minimum(*pair) for pair in zip(smallest, least, strict=True)]

        size = 8 if by_columns else 4 if self.lanes > 1 and n_rows % 4 == 0 else 1
        kind = _F64 if size == 1 else ir.VectorType(_F64, size)
        infinite = ir.Constant(kind, float("inf") if size == 1 else [float("inf")] * size)
        least = [infinite] * (n_rows // size)
        if self.lanes == 1:
            least = one_panel(_I64(0), least)
        else:
            least = self.loop(_I64(0), n_panels, least, one_panel)
        for t, value in enumerate(least):
            self.store(value, builder.gep(self.array(h).data, [builder.add(at, _I64(t * size))]))

    def _probe(self, found: list[Any], place: Any) -> None:
        """Add NaN to what is there if any score is not finite, else 0."""
        kind = found[0].type
        zero = ir.Constant(kind, 0.0 if kind == _F64 else [0.0] * kind.count)
        total = self.builder.fmul(found[0], zero)
        for one in found[1:]:
            total = self.fma(one, zero, total)
        self.store(self.builder.fadd(self.load(place, kind), total), place)

    def _rows(self, columns: list[Any]) -> list[Any]:
        """Vectors of eight rows, one for each hyperplane, as vectors of hyperplanes."""
        if self.lanes == 1:  # these are the scores in their order
            return columns
        rows = []
        for t in range(0, len(columns), LANES):
            one, two, three, four = columns[t : t + LANES]
            left = [self.shuffle(one, two, which) for which in (_EVEN, _ODD)]
            right = [self.shuffle(three, four, which) for which in (_EVEN, _ODD)]
            for r in range(8):
                lanes = [r // 2 * 2, r // 2 * 2 + 1]
                lanes += [8 + lane for lane in lanes]
                rows.append(self.shuffle(left[r % 2], right[r % 2], lanes))
        return rows

    def _least_columns(self, columns: list[Any]) -> list[Any]:
        """The least of each of eight rows."""
        if self.lanes == 1:
            return columns
        fours = (columns[t : t + LANES] for t in range(0, len(columns), LANES))
        return [self.minimum(self.minimum(*one[:2]), self.minimum(*one[2:])) for one in fours]

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

    def four_columns(self, pointers: list[Any], j: Any) -> list[Any]:
        """Columns j to j + 3 of eight rows, a vector each."""
        kind = ir.VectorType(pointers[0].type.pointee, 4)
        rows = [self.wide(self.load(self.builder.gep(x, [j]), kind)) for x in pointers]
        pairs = [self.shuffle(rows[t], rows[t + 2], list(range(8))) for t in (0, 1, 4, 5)]
        columns = []
        for which in (_EVEN, _ODD):
            above = self.shuffle(pairs[0], pairs[1], which)
            below = self.shuffle(pairs[2], pairs[3], which)
            columns += [self.shuffle(above, below, half) for half in (_LOW, _HIGH)]
        return [columns[t] for t in (0, 2, 1, 3)]

    def one_column(self, pointers: list[Any], j: Any) -> Any:
        """Column j of eight rows."""
        column = ir.Constant(ir.VectorType(_F64, 8), ir.Undefined)
        for t, x in enumerate(pointers):
            value = self.wide(self.builder.load(self.builder.gep(x, [j])))
            column = self.builder.insert_element(column, value, _I32(t))
        return column


def _stands_for(plain: Any) -> Any:
    """Emit this for a plain function, which is what runs where nothing is compiled."""
    return (lambda _: plain) if config.DISABLE_JIT else intrinsic


def _plain_scores(x: Any, columns: Any, panel: Any, bias: Any, S: Any, h: Any, at: int) -> None:
    found = np.empty(bias.shape[0])
    for k in range(len(found)):
        w = panel[k] if panel.ndim == 2 else panel[k // LANES, :, k % LANES]
        found[k] = bias[k] + np.dot(x.astype(np.float64), w[columns])
    h[at] = found.min()
    if S.ndim == 1:
        S[0] += (0.0 * found).sum()
    else:
        S[at] = found


def _plain_dense(X: Any, rows: Any, panel: Any, bias: Any, S: Any, h: Any, at: int) -> None:
    for t, i in enumerate(rows):
        _plain_scores(X[i], slice(None), panel, bias, S, h, at + t)


def _plain_sparse(
    data: Any, indices: Any, indptr: Any, rows: Any, panel: Any, bias: Any, S: Any, h: Any, at: int
) -> None:
    for t, i in enumerate(rows):
        part = slice(indptr[i], indptr[i + 1])
        _plain_scores(data[part], indices[part], panel, bias, S, h, at + t)


@_stands_for(_plain_dense)
def dense_tile(typingctx, X, rows, panel, bias, S, h, at):
    """Scores of ``len(rows)`` rows into S[at:], and the least of each into h[at:].

    An S of one dimension has room for eight numbers, and becomes NaN if any score is not finite.
    """
    signature = types.void(X, rows, panel, bias, S, h, types.intp)

    def codegen(context, builder, signature, args):
        emit = _Emit(context, builder, signature, args, panel)
        rows = cgutils.unpack_tuple(builder, args[1])
        by_columns = emit.has_eight and len(rows) % 8 == 0
        most = len(rows) if by_columns else 8  # more sums would not fit into registers
        for t in range(0, len(rows), most):
            at = builder.add(args[6], _I64(t))
            _score_dense(emit, rows[t : t + most], X.dtype, at, by_columns)
        return context.get_dummy_value()

    return signature, codegen


def _score_dense(emit: _Emit, rows: Any, element: Any, at: Any, by_columns: bool) -> None:
    builder, d = emit.builder, emit.shape(0)[1]
    pointers = [builder.gep(emit.array(0).data, [builder.mul(i, d)]) for i in rows]
    # The processor sees rows side by side as many short streams and is late. So for each
    # column an equal part of later rows is fetched; of rows in another order, nothing new.
    last = builder.add(rows[0], _I64(len(rows) - 1))
    in_order = builder.icmp_signed("==", rows[-1], last)
    far = _I64(_AHEAD * 8 // element.bitwidth)
    later = builder.gep(pointers[0], [builder.select(in_order, far, _I64(0))])
    part = builder.select(in_order, _I64(len(rows)), _I64(0))

    def fetch(j: Any, n: int) -> None:
        """What belongs to n columns from j on."""
        start = builder.gep(later, [builder.mul(j, part)])
        for t in range(0, n * len(rows), 512 // element.bitwidth):
            step = builder.select(in_order, _I64(t), _I64(0))
            emit.prefetch(builder.gep(start, [step]))

    how = _sums_by_column if by_columns else _sums_by_row
    emit.score(len(rows), 2, 3, (4, 5, at), partial(how, emit, pointers, d, fetch), by_columns)


def _sums_by_row(
    emit: _Emit, pointers: list[Any], d: Any, fetch: Any, weights: Any, first: Any
) -> list[Any]:
    """A vector of hyperplanes for each row."""
    builder = emit.builder

    def body(j: Any, sums: list[Any]) -> list[Any]:
        emit.keep_rolled()
        fetch(j, 1)
        w = emit.load(builder.gep(weights, [builder.mul(j, _I64(emit.lanes))]))
        splats = [emit.splat(builder.load(builder.gep(x, [j]))) for x in pointers]
        return [emit.fma(x, w, s) for x, s in zip(splats, sums, strict=True)]

    return emit.loop(_I64(0), d, [first] * len(pointers), body)


def _sums_by_column(
    emit: _Emit, pointers: list[Any], d: Any, fetch: Any, weights: Any, first: Any
) -> list[Any]:
    """A vector of eight rows for each hyperplane, eight rows after the other."""
    builder, lanes = emit.builder, range(emit.lanes)
    groups = [pointers[t : t + 8] for t in range(0, len(pointers), 8)]

    def add(columns: list[Any], j: Any, sums: list[Any]) -> list[Any]:
        """One column for each eight rows."""
        places = [builder.add(builder.mul(j, _I64(emit.lanes)), _I64(lane)) for lane in lanes]
        w = [emit.splat(builder.load(builder.gep(weights, [one])), 8) for one in places]
        pairs = [(column, one) for column in columns for one in w]
        return [emit.fma(*pair, s) for pair, s in zip(pairs, sums, strict=True)]

    def four(t: Any, sums: list[Any]) -> list[Any]:
        emit.keep_rolled()
        j = builder.mul(t, _I64(4))
        fetch(j, 4)
        columns = [emit.four_columns(one, j) for one in groups]
        for q in range(4):
            sums = add([one[q] for one in columns], builder.add(j, _I64(q)), sums)
        return sums

    def single(j: Any, sums: list[Any]) -> list[Any]:
        emit.keep_rolled()
        fetch(j, 1)
        return add([emit.one_column(one, j) for one in groups], j, sums)

    alone = [first] if emit.lanes == 1 else [builder.extract_element(first, _I32(t)) for t in lanes]
    fours = builder.udiv(d, _I64(4))
    sums = [emit.splat(one, 8) for one in alone] * len(groups)
    sums = emit.loop(_I64(0), fours, sums, four)
    return emit.loop(builder.mul(fours, _I64(4)), d, sums, single)


def _plain_fetch(X: Any, i: int) -> None:
    """Nothing to wait for."""


@_stands_for(_plain_fetch)
def fetch_row(_: Any, X: Any, i: Any) -> Any:
    """Begin to fetch a dense row into the cache."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit = _Emit(context, builder, signature, args, X)
        d = emit.shape(0)[1]
        row = builder.gep(emit.array(0).data, [builder.mul(args[1], d)])
        a_line = _I64(512 // X.dtype.bitwidth)
        with cgutils.for_range_slice(builder, _I64(0), d, a_line, inc=True) as (j, _):
            emit.prefetch(builder.gep(row, [j]))
        return context.get_dummy_value()

    return types.void(X, types.intp), codegen


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
    in_order = builder.icmp_signed("==", rows[1], builder.add(rows[0], _I64(1)))
    end = builder.select(in_order, stops[1], starts[0])
    with cgutils.for_range_slice(builder, starts[0], end, _I64(16), inc=True) as (here, _):
        for array, steps in ((values, (0, 8)), (columns, (0,))):
            for t in steps:
                later = builder.add(here, _I64(_SPARSE_AHEAD + t))
                emit.prefetch(builder.gep(array, [later]))

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


def _plain_at_most(values: Any, at: int, limit: float) -> int:
    return sum(1 << t for t in range(32) if values[at + t] <= limit)


@_stands_for(_plain_at_most)
def at_most(_: Any, values: Any, at: Any, limit: Any) -> Any:
    """Which of 32 values from there on, of float32, are at most a limit of float32: 32 bits."""
    signature = types.int64(values, types.intp, types.float64)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit = _Emit(context, builder, signature, args, values)
        kind = ir.VectorType(ir.FloatType(), 32)
        here = builder.bitcast(builder.gep(emit.array(0).data, [args[1]]), kind.as_pointer())
        found = builder.load(here)
        found.align = 4
        undefined = ir.Constant(kind, ir.Undefined)
        short = builder.fptrunc(args[2], ir.FloatType())
        first = builder.insert_element(undefined, short, _I32(0))
        bits = builder.fcmp_ordered("<=", found, emit.shuffle(first, undefined, [0] * 32))
        return builder.zext(builder.bitcast(bits, _I32), _I64)

    return signature, emit


def _plain_lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


@_stands_for(_plain_lowest_bit)
def lowest_bit(_: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.int64), emit


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

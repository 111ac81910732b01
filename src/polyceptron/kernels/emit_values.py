"""What the compiler of kernels knows of a value: numbers, arrays, and where variables are kept.

The kind of a value says all of it that shows in types: a Numba type for a number, an `ArrayKind`,
or a tuple of kinds. Every value is a few plain LLVM values in a row (`flatten`, `unflatten`), which
is how functions hand them on.
"""

from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target

I64 = ir.IntType(64)
_BOOL = ir.IntType(1)
_LLVM = {types.float64: ir.DoubleType(), types.int64: I64, types.uint64: I64, types.boolean: _BOOL}


class WiderType(Exception):  # noqa: N818 - no error: the function is emitted again
    """A variable was met with another type of number than before."""

    def __init__(self, name: str, kind: Any) -> None:
        super().__init__(name)
        self.name, self.type = name, kind


@dataclass(frozen=True)
class Scalar:
    """A number: int64, uint64, float64 or bool."""

    value: Any
    type: Any


@dataclass(frozen=True)
class ArrayKind:
    """An array of so many dimensions; ``is_packed`` if neighbours in the last are in memory."""

    element: Any
    ndim: int
    is_packed: bool
    is_mutable: bool


class Array:
    """A view: where it begins, its shape, and its strides, counted in elements."""

    def __init__(
        self, element: Any, data: Any, shape: Any, strides: Any, is_mutable: bool = True
    ) -> None:
        self.element, self.data, self.is_mutable = element, data, is_mutable
        self.shape, self.strides = tuple(shape), tuple(strides)

    @property
    def kind(self) -> ArrayKind:
        is_packed = isinstance(self.strides[-1], int)
        return ArrayKind(self.element, len(self.shape), is_packed, self.is_mutable)

    def place(self, builder: Any, indices: Any) -> Any:
        """Where an element is, or a view of several: numbers take a dimension away."""
        data, shape, strides = self.data, [], []
        for t, index in enumerate(indices):
            n, stride = self.shape[t], self.strides[t]
            if isinstance(index, slice):
                start = _signed_minimum(builder, _bound(builder, index.start, n, I64(0)), n)
                if isinstance(index.start, int) and index.start < 0:  # of a shorter array, all
                    start = builder.select(builder.icmp_signed("<", start, I64(0)), I64(0), start)
                stop = _signed_minimum(builder, _bound(builder, index.stop, n, n), n)
                stop = builder.select(builder.icmp_signed("<", stop, start), start, stop)
                shape.append(builder.sub(stop, start, flags=["nsw"]))
                strides.append(stride)
            else:
                start = _bound(builder, index, n, None)
            if not (isinstance(start, ir.Constant) and start.constant == 0):
                data = builder.gep(data, [_integer_product(builder, start, stride)], inbounds=True)
        shape += self.shape[len(indices) :]
        strides += self.strides[len(indices) :]
        if shape:
            return Array(self.element, data, shape, strides, self.is_mutable)
        return Element(self.element, data, self.is_mutable)

    def index(self, builder: Any, indices: Any) -> Any:
        """An element, or a view."""
        found = self.place(builder, indices)
        return found.load(builder) if isinstance(found, Element) else found

    def reshape(self, builder: Any, shape: Any) -> Any:
        """A packed array of one dimension as one of two, (rows, -1); rows go into it."""
        rows, rest = shape
        if (
            len(self.shape) > 1
            or not self.kind.is_packed
            or not isinstance(rest, int)
            or rest != -1
        ):
            raise TypeError("only packed arrays of one dimension, as (rows, -1)")
        rows = I64(rows) if isinstance(rows, int) else integer(builder, rows)
        none = builder.icmp_signed("==", rows, I64(0))
        columns = builder.sdiv(self.shape[0], builder.select(none, I64(1), rows))
        return Array(self.element, self.data, (rows, columns), (columns, 1), self.is_mutable)

    def packed_strides(self, builder: Any, shape: Any) -> list[Any]:
        strides: list[Any] = [1]
        for n in reversed(shape[1:]):
            strides.insert(0, _integer_product(builder, n, strides[0]))
        return strides


@dataclass(frozen=True)
class Element:
    """An element in memory, of any NumPy type: it is read and written as a number."""

    element: Any
    data: Any
    is_mutable: bool

    def load(self, builder: Any) -> Scalar:
        value, element = builder.load(self.data), self.element
        if element == types.float32:
            return Scalar(builder.fpext(value, ir.DoubleType()), types.float64)
        if element == types.boolean:
            return Scalar(builder.icmp_unsigned("!=", value, value.type(0)), types.boolean)
        if element in types.real_domain:
            return Scalar(value, types.float64)
        if element == types.uint64:
            return Scalar(value, types.uint64)
        if value.type != I64:
            value = builder.sext(value, I64) if element.signed else builder.zext(value, I64)
        return Scalar(value, types.int64)

    def store(self, builder: Any, number: Scalar) -> None:
        if not self.is_mutable:
            raise TypeError("the array is read-only")
        value, kind = as_kind(builder, number, _NUMBER[self.element]).value, self.data.type.pointee
        if self.element == types.float32:
            value = builder.fptrunc(value, kind)
        elif isinstance(kind, ir.IntType) and kind.width < value.type.width:
            value = builder.trunc(value, kind)
        elif isinstance(kind, ir.IntType) and kind.width > value.type.width:
            value = builder.zext(value, kind)
        builder.store(value, self.data)


_NUMBER: dict[Any, Any] = dict.fromkeys(types.integer_domain, types.int64) | {
    types.float32: types.float64,
    types.float64: types.float64,
    types.uint64: types.uint64,
    types.boolean: types.boolean,
}


def as_kind(builder: Any, number: Scalar, kind: Any) -> Scalar:
    """The number as one of another kind, as Python would."""
    value = number.value
    if number.type == kind or {number.type, kind} == {types.int64, types.uint64}:
        return Scalar(value, kind)
    if kind == types.float64:
        signed = number.type == types.int64
        value = (builder.sitofp if signed else builder.uitofp)(value, ir.DoubleType())
    elif kind == types.boolean:
        is_float = number.type == types.float64
        compare = builder.fcmp_unordered if is_float else builder.icmp_signed
        value = compare("!=", value, value.type(0))
    elif number.type == types.boolean:
        value = builder.zext(value, I64)
    else:
        value = (builder.fptoui if kind == types.uint64 else builder.fptosi)(value, I64)
    return Scalar(value, kind)


def integer(builder: Any, number: Scalar) -> Any:
    """A whole number, where Python takes no other."""
    if number.type == types.float64:
        raise TypeError("a whole number is needed here")
    return as_kind(builder, number, types.int64).value


def _bound(builder: Any, index: Any, n: Any, default: Any) -> Any:
    """An index known here counts from the end if it is negative; others may not be."""
    if index is None:
        return default
    if isinstance(index, Scalar):
        return integer(builder, index)
    if not isinstance(index, int):
        raise TypeError(f"an index is a whole number, not {index!r}")
    return I64(index) if index >= 0 else builder.add(n, I64(index))


def _signed_minimum(builder: Any, a: Any, n: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, n), a, n)


def _integer_product(builder: Any, a: Any, b: Any) -> Any:
    if isinstance(b, int):
        return a if b == 1 else builder.mul(a, I64(b), flags=["nsw"])
    return builder.mul(a, b, flags=["nsw"])


# --- kinds -------------------------------------------------------------------------------------


def kind_of_value(value: Any) -> Any:
    """The kind of a value."""
    if isinstance(value, Scalar):
        return value.type
    return value.kind if isinstance(value, Array) else tuple(kind_of_value(one) for one in value)


def kind_of_numba(found: Any) -> Any:
    """The kind of what Numba hands over."""
    if isinstance(found, types.Array):
        return ArrayKind(found.dtype, found.ndim, found.layout == "C", found.mutable)
    if isinstance(found, types.BaseTuple):
        return tuple(kind_of_numba(one) for one in found)
    is_int = isinstance(found, types.Integer) and found != types.uint64
    return types.int64 if is_int else _NUMBER[found]


def _pointee(element: Any) -> Any:
    return cpu_target.target_context.get_data_type(element)


def llvm_types(kind: Any) -> list[Any]:
    """The LLVM types that a value of this kind consists of."""
    if kind is None:
        return []
    if isinstance(kind, ArrayKind):
        n = 2 * kind.ndim - kind.is_packed
        return [_pointee(kind.element).as_pointer(), *[I64] * n]
    if isinstance(kind, tuple):
        return [one for part in kind for one in llvm_types(part)]
    return [_LLVM[kind]]


def flatten(values: Any) -> list[Any]:
    """These values as LLVM's."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Scalar):
            found.append(value.value)
        elif isinstance(value, Array):
            strides = (n for n in value.strides if not isinstance(n, int))
            found += [value.data, *value.shape, *strides]
        else:
            found += flatten(value)
    return found


def unflatten(kind: Any, parts: Any) -> Any:
    """A value of this kind from an iterator over LLVM's."""
    if isinstance(kind, ArrayKind):
        data = next(parts)
        shape = [next(parts) for _ in range(kind.ndim)]
        strides: list[Any] = [next(parts) for _ in range(kind.ndim - kind.is_packed)]
        strides += [1] * kind.is_packed
        return Array(kind.element, data, shape, strides, kind.is_mutable)
    if isinstance(kind, tuple):
        return tuple(unflatten(one, parts) for one in kind)
    return Scalar(next(parts), kind)


class Slot:
    """A variable."""

    def __init__(self, builder: Any, name: str, kind: Any) -> None:
        self.name, self.kind = name, kind
        self._cells = [cgutils.alloca_once(builder, one) for one in llvm_types(kind)]

    def load(self, builder: Any) -> Any:
        return unflatten(self.kind, iter([builder.load(cell) for cell in self._cells]))

    def store(self, builder: Any, value: Any) -> None:
        if isinstance(value, Scalar) and value.type != self.kind:
            wide = widest(value.type, self.kind)
            if wide != self.kind:
                raise WiderType(self.name, wide)
            value = as_kind(builder, value, self.kind)
        if isinstance(value, Array) and isinstance(self.kind, ArrayKind):
            if self.kind.is_mutable and value.kind == replace(self.kind, is_mutable=False):
                raise WiderType(self.name, value.kind)  # what is perhaps read-only is
            value = Array(
                value.element, value.data, value.shape, value.strides, self.kind.is_mutable
            )
        if kind_of_value(value) != self.kind:
            raise TypeError(f"{self.name} is {kind_of_value(value)} here, and {self.kind} before")
        for one, cell in zip(flatten([value]), self._cells, strict=True):
            builder.store(one, cell)


def widest(a: Any, b: Any) -> Any:
    """The kind of a sum."""
    for one in (types.float64, types.uint64, types.int64):
        if one in (a, b):
            return one
    return types.int64 if a != b else a


def room_for_parts(builder: Any, kind: Any) -> Any:
    """Memory for what a function returns."""
    if kind is None:
        return ir.Constant(cgutils.voidptr_t, None)
    cell = cgutils.alloca_once(builder, ir.LiteralStructType(llvm_types(kind)))
    return builder.bitcast(cell, cgutils.voidptr_t)


def store_parts(builder: Any, place: Any, parts: list[Any]) -> None:
    """Write what is returned."""
    kind = ir.LiteralStructType([one.type for one in parts])
    cell = builder.bitcast(place, kind.as_pointer())
    for t, one in enumerate(parts):
        builder.store(one, cgutils.gep_inbounds(builder, cell, 0, t))


def load_parts(builder: Any, place: Any, kind: Any) -> Any:
    """Read what was returned."""
    if kind is None:
        return None
    cell = builder.bitcast(place, ir.LiteralStructType(llvm_types(kind)).as_pointer())
    n = len(llvm_types(kind))
    parts = [builder.load(cgutils.gep_inbounds(builder, cell, 0, t)) for t in range(n)]
    return unflatten(kind, iter(parts))


# --- to and from Numba -------------------------------------------------------------------------


def from_numba(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A value of Numba's."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        shape = cgutils.unpack_tuple(builder, array.shape)
        found = Array(kind.dtype, array.data, shape, [1] * kind.ndim, kind.mutable)
        if kind.layout == "C":
            found.strides = tuple(found.packed_strides(builder, shape))
        else:
            size = context.get_abi_sizeof(array.data.type.pointee)
            strides = cgutils.unpack_tuple(builder, array.strides)
            found.strides = tuple(builder.sdiv(one, I64(size), flags=["exact"]) for one in strides)
        return found
    if isinstance(kind, types.BaseTuple):
        parts = cgutils.unpack_tuple(builder, value, len(kind))
        return tuple(from_numba(context, builder, *pair) for pair in zip(kind, parts, strict=True))
    number = _NUMBER[types.intp] if isinstance(kind, types.Integer) else _NUMBER[kind]
    if kind == types.uint64:
        number = types.uint64
    elif isinstance(kind, types.Integer) and value.type != I64:
        value = (builder.sext if kind.signed else builder.zext)(value, I64)
    elif kind == types.float32:
        value = builder.fpext(value, ir.DoubleType())
    return Scalar(value, number)


def to_numba_type(kind: Any) -> Any:
    """Numba's type for what a function returns: numbers, a tuple of these or nothing."""
    if kind is None:
        return types.none
    return types.Tuple(kind) if isinstance(kind, tuple) else kind


def to_numba(context: Any, builder: Any, value: Any) -> Any:
    """Such a value for Numba."""
    if value is None:
        return context.get_dummy_value()
    if isinstance(value, tuple):
        kind = to_numba_type(kind_of_value(value))
        return context.make_tuple(builder, kind, [one.value for one in value])
    return value.value


def as_numba_array(context: Any, builder: Any, array: Array) -> tuple[Any, Any]:
    """The type and the value of a view, for an intrinsic."""
    if not array.kind.is_packed:
        raise TypeError("an array in C order is needed here")
    kind = types.Array(array.element, len(array.shape), "C", readonly=not array.is_mutable)
    made = context.make_array(kind)(context, builder)
    made.data = array.data
    made.shape = cgutils.pack_array(builder, array.shape, I64)
    return kind, made._getvalue()

"""Arithmetic and functions that the compiler of kernels knows."""

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import _Intrinsic

from polyceptron.kernels.emit_values import (
    I64,
    Array,
    Scalar,
    as_kind,
    as_numba_array,
    from_numba,
    kind_of_value,
    widest,
)

_F64 = ir.DoubleType()
MEMORY = (np.empty, np.zeros, np.full)


def scalar(value: Any) -> Scalar:
    """A number known here as LLVM's."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, bool):
        return Scalar(ir.IntType(1)(value), types.boolean)
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return Scalar(I64(value), types.int64 if value < 2**63 else types.uint64)
    if isinstance(value, float):
        return Scalar(_F64(value), types.float64)
    raise TypeError(f"a number is needed here, not {value!r}")


def _both(builder: Any, left: Any, right: Any) -> tuple[Any, Any, Any]:
    a, b = scalar(left), scalar(right)
    kind = widest(a.type, b.type)
    for one, other in ((left, b), (right, a)):
        if isinstance(one, Scalar) and (one.type, other.type) == (types.int64, types.uint64):
            raise TypeError("int64 and uint64 are not mixed: convert one")
    return as_kind(builder, a, kind).value, as_kind(builder, b, kind).value, kind


_STATIC = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "Pow": lambda a, b: a**b,
}


_OF_INTEGERS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "BitAnd": "and_",
    "BitXor": "xor",
    "RShift": "lshr",
    "LShift": "shl",
}


def binary(builder: Any, operation: str, left: Any, right: Any) -> Any:
    """``left`` and ``right`` joined by an operation, named as in syntax trees."""
    if not isinstance(left, Scalar) and not isinstance(right, Scalar):
        return _STATIC[operation](left, right)
    if operation == "Pow":
        is_square = isinstance(right, int) and right == 2
        return binary(builder, "Mult", left, left) if is_square else NotImplemented
    a, b, kind = _both(builder, left, right)
    if operation == "Div" and kind != types.float64:
        a, b = (as_kind(builder, Scalar(v, kind), types.float64).value for v in (a, b))
        kind = types.float64
    if kind == types.float64:
        written = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}[operation]
        return Scalar(getattr(builder, written)(a, b), kind)
    if kind == types.boolean:
        a, b, kind = builder.zext(a, I64), builder.zext(b, I64), types.int64
    if operation in ("FloorDiv", "Mod"):
        if kind == types.uint64:
            raise TypeError("of uint64 there is no // and no %")
        return _floor(builder, operation, a, b)
    if operation == "RShift" and kind == types.int64:
        return Scalar(builder.ashr(a, b), kind)
    written = _OF_INTEGERS[operation]
    flags = ["nsw"] if kind == types.int64 and operation in ("Add", "Sub", "Mult") else []
    return Scalar(getattr(builder, written)(a, b, flags=flags), kind)


def _floor(builder: Any, operation: str, a: Any, b: Any) -> Scalar:
    """Division towards minus infinity; by zero it gives 0, as Numba's."""
    divisor, is_safe = b, isinstance(b, ir.Constant) and b.constant not in (0, -1)
    if not is_safe:  # at 0, and at the least number by -1, processors stop
        small = builder.icmp_unsigned("<=", builder.add(b, I64(1)), I64(1))
        b = builder.select(small, I64(1), b)
    rest = builder.srem(a, b)
    apart = builder.icmp_signed("<", builder.xor(rest, b), I64(0))
    below = builder.and_(builder.icmp_signed("!=", rest, I64(0)), apart)
    if operation == "Mod":
        return Scalar(builder.select(below, builder.add(rest, b), rest), types.int64)
    whole = builder.sub(builder.sdiv(a, b), builder.zext(below, I64))
    if not is_safe:  # by 0 and -1: 0 and -a
        whole = builder.select(small, builder.mul(a, divisor), whole)
    return Scalar(whole, types.int64)


_SIGNS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}


def compared(builder: Any, operation: str, left: Any, right: Any) -> Any:
    """A comparison, named as in syntax trees."""
    if not isinstance(left, Scalar) and not isinstance(right, Scalar):
        if not all(isinstance(one, int | float) for one in (left, right)):
            raise TypeError("numbers are compared, one by one")
        return _STATIC_COMPARE[operation](left, right)
    a, b, kind = _both(builder, left, right)
    sign = _SIGNS[operation]
    if kind == types.float64:
        written = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
    else:
        written = builder.icmp_signed if kind == types.int64 else builder.icmp_unsigned
    return Scalar(written(sign, a, b), types.boolean)


_STATIC_COMPARE = {
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
}


def _extreme(builder: Any, sign: str, values: Any) -> Any:
    """Python's min or max, which keep the first of equals and what is compared with NaN."""
    best, *others = values
    if not others:
        raise TypeError("two numbers or more are needed here")
    for one in others:
        a, b, kind = _both(builder, one, best)
        found = compared(builder, sign, Scalar(a, kind), Scalar(b, kind)).value
        best = Scalar(builder.select(found, a, b), kind)
    return best


def _external(builder: Any, name: str, value: Any) -> Scalar:
    kind = ir.FunctionType(_F64, [_F64])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    number = as_kind(builder, scalar(value), types.float64).value
    return Scalar(builder.call(function, [number]), types.float64)


_FUNCTIONS = {
    np.exp: "llvm.exp.f64",
    np.log: "llvm.log.f64",
    np.log1p: "log1p",
    np.floor: "llvm.floor.f64",
    np.sqrt: "llvm.sqrt.f64",
}
_CONVERTED = {
    int: types.int64,
    float: types.float64,
    np.int64: types.int64,
    np.uint64: types.uint64,
    np.float64: types.float64,
}


def call_known(context: Any, builder: Any, function: Any, values: list[Any]) -> Any:
    """The value of a call, or NotImplemented if the function is not known."""
    if isinstance(function, partial):
        return function(*values)
    if function in (isinstance, len):
        return _ask(function, values)
    if function in _CONVERTED:
        return as_kind(builder, scalar(values[0]), _CONVERTED[function])
    if function in (min, max):
        return _extreme(builder, "Lt" if function is min else "Gt", values)
    if isinstance(function, _Intrinsic):
        return _call_intrinsic(context, builder, function, values)
    return _arithmetic(builder, function, values)


def _arithmetic(builder: Any, function: Any, values: list[Any]) -> Any:
    if function in _FUNCTIONS:
        return _external(builder, _FUNCTIONS[function], values[0])
    if function is abs:
        one = scalar(values[0])
        if one.type == types.float64:
            return _external(builder, "llvm.fabs.f64", one)
        return _extreme(builder, "Gt", [one, binary(builder, "Sub", 0, one)])
    if function is np.isnan:
        one = as_kind(builder, scalar(values[0]), types.float64).value
        return Scalar(builder.fcmp_unordered("uno", one, one), types.boolean)
    if function is np.float32:  # rounded, then a number like any other
        one = as_kind(builder, scalar(values[0]), types.float64).value
        short = builder.fptrunc(one, ir.FloatType())
        return Scalar(builder.fpext(short, _F64), types.float64)
    return NotImplemented


def _ask(function: Any, values: list[Any]) -> Any:
    """Questions that are answered here."""
    if function is isinstance:
        if values[1] is not tuple:
            raise TypeError("what is asked is whether it is a tuple")
        return isinstance(values[0], tuple)
    return (
        Scalar(values[0].shape[0], types.int64) if isinstance(values[0], Array) else len(values[0])
    )


def _call_intrinsic(context: Any, builder: Any, function: Any, values: list[Any]) -> Any:
    kinds, arguments = [], []
    for value in values:
        kind, argument = _for_numba(context, builder, value)
        kinds.append(kind)
        arguments.append(argument)
    signature, codegen = function._defn(None, *kinds)
    found = codegen(context, builder, signature, arguments)
    if signature.return_type == types.none:
        return None
    return from_numba(context, builder, signature.return_type, found)


def _for_numba(context: Any, builder: Any, value: Any) -> tuple[Any, Any]:
    if isinstance(value, Array):
        return as_numba_array(context, builder, value)
    if isinstance(value, tuple):
        pairs = [_for_numba(context, builder, one) for one in value]
        kind = types.Tuple([one for one, _ in pairs])
        return kind, context.make_tuple(builder, kind, [one for _, one in pairs])
    number = scalar(value)
    return kind_of_value(number), number.value


def lend(context: Any, builder: Any, cell: Any, function: Any, values: list[Any]) -> Any:
    """Memory as an array, noted in ``cell``, and what is to fill it."""
    shape = values[0] if isinstance(values[0], tuple) else (values[0],)
    shape = tuple(as_kind(builder, scalar(n), types.int64).value for n in shape)
    element: Any = types.float64
    first: Any = None
    if function is np.full:
        first = scalar(values[1])
        element = first.type
        if len(values) > 2:
            raise TypeError("np.full takes its type from the number")
    elif len(values) > 1:
        element = {np.int64: types.int64, np.float32: types.float32}[values[1]]
    if function is np.zeros:
        first = 0.0
    kind = context.get_data_type(element)
    count = shape[0]
    for n in shape[1:]:
        count = builder.mul(count, n, flags=["nsw"])
    size = builder.mul(count, I64(context.get_abi_sizeof(kind)), flags=["nsw"])
    memory = context.nrt.allocate_unchecked(builder, size)
    builder.store(memory, cell)
    found = Array(element, builder.bitcast(memory, kind.as_pointer()), shape, [])
    found.strides = tuple(found.packed_strides(builder, shape))
    return found, first

"""One function of the compiler of kernels: its syntax tree walked once, LLVM written on the way."""

import ast
import builtins
import hashlib
import inspect
import os
import textwrap
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from llvmlite import ir
from numba.core import cgutils, types

from polyceptron.kernels import emit_calls
from polyceptron.kernels.emit_values import (
    I64,
    Array,
    Scalar,
    Slot,
    WiderType,
    as_kind,
    flatten,
    integer,
    kind_of_value,
    llvm_types,
    load_parts,
    room_for_parts,
    store_parts,
    unflatten,
)


class CannotCompile(TypeError):  # noqa: N818 - it says what is the matter
    """Part of a kernel that the compiler does not know."""


class KernelSource:
    """A function to be emitted; it is read when it is first needed."""

    def __init__(self, function: Callable[..., Any], is_called: bool) -> None:
        self.function, self.is_called = function, is_called
        self._tree: ast.FunctionDef | None = None
        self._file = _digest_of_source(function.__code__.co_filename)

    @property
    def tree(self) -> ast.FunctionDef:
        if self._tree is None:
            code = self.function.__code__
            # Its lines may be those of another.
            if _digest_of_source(code.co_filename) != self._file:
                where = f"{code.co_filename}:{code.co_firstlineno}: cannot compile"
                raise CannotCompile(f"{where} `{code.co_name}`: the file is not what was imported")
            text = textwrap.dedent(inspect.getsource(self.function))
            (tree,) = ast.parse(text).body
            assert isinstance(tree, ast.FunctionDef)
            self._tree = tree
        return self._tree

    def lookup(self, name: str) -> Any:
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name)


def _digest_of_source(file: str) -> bytes | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - imports should be fast
        return _digest_of(file, found.st_mtime_ns, found.st_size)
    except OSError:
        return None  # in an archive, which stays as it is


@cache
def _digest_of(file: str, *_: int) -> bytes:
    return hashlib.blake2b(Path(file).read_bytes()).digest()


def call(context: Any, builder: Any, source: KernelSource, values: Any) -> Any:
    """Emit a call of the function, and the function if it is not there."""
    kinds = tuple(kind_of_value(value) for value in values)
    function, result = emit_function(context, builder.module, source, kinds)
    place = room_for_parts(builder, result)
    builder.call(function, [*flatten(values), place])
    return load_parts(builder, place, result)


def emit_function(context: Any, module: Any, source: KernelSource, kinds: Any) -> tuple[Any, Any]:
    """The LLVM function for arguments of these kinds, and the kind of what it returns."""
    known: dict[Any, tuple[Any, Any]] = module.__dict__.setdefault("emitted", {})
    key = (source, kinds)
    wider: dict[str, Any] = {}
    underway = module.__dict__.setdefault("underway", set())
    if key in underway:
        code = source.function.__code__
        where = f"{code.co_filename}:{code.co_firstlineno}: cannot compile"
        raise CannotCompile(f"{where} `{code.co_name}`: it calls itself")
    underway.add(key)
    while key not in known:
        name = f"{source.function.__module__}.{source.function.__name__}"
        name = module.get_unique_name(name)
        try:
            known[key] = _Function(context, module, source, kinds, name, wider).emit()
        except WiderType as found:
            del module.globals[name]
            wider[found.name] = found.type
    underway.remove(key)
    return known[key]


_RESULT = "return"


class _Function:
    """Writes one function for arguments of certain kinds."""

    def __init__(
        self, context: Any, module: Any, source: KernelSource, kinds: Any, name: str, wider: Any
    ) -> None:
        self.context, self.source, self.wider = context, source, wider
        arguments = [one for kind in kinds for one in llvm_types(kind)]
        # What is returned is known at the end only, so it goes to where the last argument points.
        kind_of_function = ir.FunctionType(ir.VoidType(), [*arguments, cgutils.voidptr_t])
        self.function = ir.Function(module, kind_of_function, name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.exit = self.function.append_basic_block("exit")
        self.slots: dict[str, Slot] = {}
        self.memory: list[Any] = []
        self.loops: list[tuple[Any, Any]] = []
        self.returns_nothing = False
        values = iter(self.function.args)
        for argument, kind in zip(source.tree.args.args, kinds, strict=True):
            self.assign_name(argument.arg, unflatten(kind, values))

    def emit(self) -> tuple[Any, Any]:
        builder = self.builder
        self.block(self.source.tree.body)
        if not builder.block.is_terminated:
            if _RESULT in self.slots:
                self.fail(self.source.tree.body[-1], "a value is returned, but not after this")
            builder.branch(self.exit)
            self.returns_nothing = True
        builder.position_at_end(self.exit)
        for cell in self.memory:
            self.context.nrt.free(builder, builder.load(cell))
        slot = self.slots.get(_RESULT)
        if slot is not None:
            store_parts(builder, self.function.args[-1], flatten([slot.load(builder)]))
        builder.ret_void()
        self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        self.function.attributes.add("noinline" if self.source.is_called else "alwaysinline")
        return self.function, None if slot is None else slot.kind

    def fail(self, node: Any, why: str) -> NoReturn:
        line = self.source.function.__code__.co_firstlineno + node.lineno - 1
        where = f"{self.source.function.__code__.co_filename}:{line}"
        raise CannotCompile(f"{where}: cannot compile `{ast.unparse(node)}`: {why}")

    def _refuse(self, nodes: list[Any], why: str) -> None:
        for node in nodes:
            self.fail(node, why)

    # --- statements ------------------------------------------------------------------------------

    def block(self, statements: list[Any]) -> None:
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            write = getattr(self, f"on_{type(statement).__name__.lower()}", None)
            if write is None:
                self.fail(statement, "no such statement in kernels")
            try:
                write(statement)
            except CannotCompile:
                raise
            except (
                TypeError,
                KeyError,
                AttributeError,
                IndexError,
                ValueError,
                ArithmeticError,
            ) as error:
                self.fail(statement, f"{type(error).__name__} {error}")

    def on_expr(self, node: Any) -> None:
        self.value(node.value)

    def on_pass(self, _: Any) -> None:
        """Nothing."""

    def on_assign(self, node: Any) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def on_augassign(self, node: Any) -> None:
        if isinstance(node.target, ast.Name):
            before = self.of_name(node.target)
            self.assign(node.target, self.binary(node.op, before, self.value(node.value)))
            return
        place = self.place(node.target)  # once
        if isinstance(place, Array):
            self.fail(node, "arithmetic is of numbers")
        before = place.load(self.builder)
        place.store(self.builder, self.scalar(self.binary(node.op, before, self.value(node.value))))

    def on_return(self, node: Any) -> None:
        if node.value is not None:
            self.assign_name(_RESULT, self.value(node.value))
        self.returns_nothing = self.returns_nothing or node.value is None
        if self.returns_nothing and _RESULT in self.slots:
            self.fail(node, "a value is returned, or none")
        self.builder.branch(self.exit)

    def on_break(self, _: Any) -> None:
        self.builder.branch(self.loops[-1][1])

    def on_continue(self, _: Any) -> None:
        self.builder.branch(self.loops[-1][0])

    def on_if(self, node: Any) -> None:
        condition = self.truth(node.test)
        if isinstance(condition, bool):
            self.block(node.body if condition else node.orelse)
        else:
            left = []
            with self.builder.if_else(condition) as arms:
                for arm, body in zip(arms, (node.body, node.orelse), strict=True):
                    with arm:
                        self.block(body)
                        left.append(self.builder.block.is_terminated)
            if all(left):  # nothing follows
                self.builder.unreachable()

    def on_while(self, node: Any) -> None:
        self._refuse(node.orelse, "loops have no else")
        head, body, after = (self.builder.append_basic_block(n) for n in ("head", "body", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        condition = self.truth(node.test)
        is_endless = condition is True and not _breaks(node)
        if isinstance(condition, bool):
            condition = ir.IntType(1)(condition)
        self.builder.cbranch(condition, body, after)
        self.builder.position_at_end(body)
        self._loop_body(node.body, head, after)
        self.builder.position_at_end(after)
        if is_endless:
            self.builder.unreachable()

    def on_for(self, node: Any) -> None:
        self._refuse(node.orelse, "loops have no else")
        over = node.iter
        if isinstance(over, ast.Call) and self.value(over.func) is range:
            ends = [self.value(one) for one in over.args]
            start, stop = ends[:2] if len(ends) > 1 else (0, ends[0])
            step = ends[2] if len(ends) == 3 else 1
            self._count(start, stop, step, lambda i: self.assign(node.target, i), node.body)
            return
        values = self.value(over)
        if not isinstance(values, Array):
            self.fail(node.iter, "loops go over a range or an array")
        self._count(
            0,
            Scalar(values.shape[0], types.int64),
            1,
            lambda i: self.assign(node.target, values.index(self.builder, (i,))),
            node.body,
        )

    def _count(self, start: Any, stop: Any, step: int, bind: Any, body: Any) -> None:
        builder = self.builder
        cell = cgutils.alloca_once(builder, I64)
        builder.store(self.integer(start), cell)
        end = self.integer(stop)
        head, inside, again, after = (
            builder.append_basic_block(n) for n in ("head", "body", "next", "after")
        )
        builder.branch(head)
        builder.position_at_end(head)
        sign = "<" if step > 0 else ">"
        builder.cbranch(builder.icmp_signed(sign, builder.load(cell), end), inside, after)
        builder.position_at_end(inside)
        bind(Scalar(builder.load(cell), types.int64))
        self._loop_body(body, again, after)
        builder.position_at_end(again)
        builder.store(builder.add(builder.load(cell), I64(step), flags=["nsw"]), cell)
        builder.branch(head)
        builder.position_at_end(after)

    def _loop_body(self, body: Any, again: Any, after: Any) -> None:
        self.loops.append((again, after))
        self.block(body)
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(again)

    # --- assignment ------------------------------------------------------------------------------

    def assign(self, target: Any, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value)
        elif isinstance(target, ast.Tuple):
            for one, part in zip(target.elts, value, strict=True):
                self.assign(one, part)
        else:
            place = self.place(target)
            if isinstance(place, Array):
                self.fill(place, value)
            else:
                place.store(self.builder, self.scalar(value))

    def place(self, target: Any) -> Any:
        """Where an item is, or a view of several."""
        return self.value(target.value).place(self.builder, self.indices(target.slice))

    def assign_name(self, name: str, value: Any) -> None:
        value = self.dynamic(value)
        if name not in self.slots:
            kind = self.wider.get(name, kind_of_value(value))
            self.slots[name] = Slot(self.builder, name, kind)
        self.slots[name].store(self.builder, value)

    def dynamic(self, value: Any) -> Any:
        """Numbers known here as LLVM's."""
        if isinstance(value, tuple):
            return tuple(self.dynamic(one) for one in value)
        return value if isinstance(value, Array) else self.scalar(value)

    def fill(self, target: Array, value: Any) -> None:
        builder = self.builder
        value = self.scalar(value)
        with cgutils.loop_nest(builder, target.shape, I64) as at:
            target.place(builder, [Scalar(i, types.int64) for i in at]).store(builder, value)

    # --- expressions -----------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        read = getattr(self, f"of_{type(node).__name__.lower()}", None)
        if read is None:
            self.fail(node, "no such expression in kernels")
        found = read(node)
        if found is NotImplemented:
            self.fail(node, "not known to kernels")
        return found

    def of_constant(self, node: Any) -> Any:
        return node.value

    def of_name(self, node: Any) -> Any:
        slot = self.slots.get(node.id)
        if slot is not None:
            return slot.load(self.builder)
        code = self.source.function.__code__
        if node.id in code.co_varnames:
            self.fail(node, "read above where it is assigned")
        if node.id in code.co_freevars:
            self.fail(node, "kernels know what is global, and no variables around them")
        return self.source.lookup(node.id)

    def of_tuple(self, node: Any) -> Any:
        return tuple(self.value(one) for one in node.elts)

    def of_attribute(self, node: Any) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, Array):
            return getattr(owner, node.attr)
        if node.attr == "shape":
            return tuple(Scalar(n, types.int64) for n in owner.shape)
        if node.attr == "ndim":
            return len(owner.shape)
        if node.attr == "reshape":
            return partial(owner.reshape, self.builder)
        return self.fail(node, "arrays have shape, ndim and reshape")

    def of_subscript(self, node: Any) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, tuple):
            return owner[self.value(node.slice)]
        return owner.index(self.builder, self.indices(node.slice))

    def indices(self, node: Any) -> tuple[Any, ...]:
        return tuple(self._index(one) for one in getattr(node, "elts", [node]))

    def _index(self, node: Any) -> Any:
        if not isinstance(node, ast.Slice):
            return self.value(node)
        self._refuse([node.step] if node.step else [], "slices have no step")
        return slice(
            *(None if one is None else self.value(one) for one in (node.lower, node.upper))
        )

    def of_unaryop(self, node: Any) -> Any:
        if isinstance(node.op, ast.Not):
            truth = self.truth(node.operand)
            if isinstance(truth, bool):
                return not truth
            return Scalar(self.builder.not_(truth), types.boolean)
        value = self.value(node.operand)
        if not isinstance(node.op, ast.USub) or getattr(value, "type", None) == types.boolean:
            self.fail(node, "of a number there is -, of a bool not")
        if not isinstance(value, Scalar):
            return -value
        if value.type == types.float64:
            return Scalar(self.builder.fneg(value.value), types.float64)
        return Scalar(self.builder.neg(value.value), value.type)

    def of_binop(self, node: Any) -> Any:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, operation: Any, left: Any, right: Any) -> Any:
        name = type(operation).__name__
        return emit_calls.binary(self.builder, name, left, right)

    def of_compare(self, node: Any) -> Any:
        found, left = [], self.value(node.left)
        for operation, one in zip(node.ops, node.comparators, strict=True):
            right = self.value(one)
            name = type(operation).__name__
            found.append(emit_calls.compared(self.builder, name, left, right))
            left = right
        both = found[0]
        for one in found[1:]:
            both = self.builder.and_(self.scalar(both).value, self.scalar(one).value)
            both = Scalar(both, types.boolean)
        return both

    def of_boolop(self, node: Any) -> Any:
        return self._joined(node.values, isinstance(node.op, ast.And), self._bool)

    def _bool(self, node: Any) -> Any:
        value = self.value(node)
        if not isinstance(value, bool) and getattr(value, "type", None) != types.boolean:
            self.fail(node, "`and` and `or` give a bool, so of numbers only where one is asked for")
        return value if isinstance(value, bool) else value.value

    def _joined(self, nodes: list[Any], is_and: bool, truth: Any) -> Any:
        """``and`` or ``or``: what need not be looked at is not."""
        first = truth(nodes[0])
        if len(nodes) == 1 or (isinstance(first, bool) and first is not is_and):
            return first if isinstance(first, bool) else Scalar(first, types.boolean)
        if isinstance(first, bool):
            return self._joined(nodes[1:], is_and, truth)
        cell = cgutils.alloca_once_value(self.builder, first)
        with self.builder.if_then(first if is_and else self.builder.not_(first)):
            rest = self._joined(nodes[1:], is_and, truth)
            self.builder.store(self.scalar(rest).value, cell)
        return Scalar(self.builder.load(cell), types.boolean)

    def of_ifexp(self, node: Any) -> Any:
        condition = self.truth(node.test)
        if isinstance(condition, bool):
            return self.value(node.body if condition else node.orelse)
        name = f"if.{node.lineno}.{node.col_offset}"
        with self.builder.if_else(condition) as (then, otherwise):
            with then:
                self.assign_name(name, self.value(node.body))
            with otherwise:
                self.assign_name(name, self.value(node.orelse))
        return self.slots[name].load(self.builder)

    def of_call(self, node: Any) -> Any:
        self._refuse([one.value for one in node.keywords], "arguments have no names in kernels")
        function = self.value(node.func)
        values = [self.value(one) for one in node.args]
        source = getattr(function, "source", None)
        if isinstance(source, KernelSource):
            return call(self.context, self.builder, source, [self.dynamic(v) for v in values])
        if function in emit_calls.MEMORY:
            if self.loops:
                self.fail(node, "memory is lent outside of loops")
            cell = cgutils.alloca_once_value(self.builder, ir.Constant(cgutils.voidptr_t, None))
            self.memory.append(cell)
            found, first = emit_calls.lend(self.context, self.builder, cell, function, values)
            if first is not None:
                self.fill(found, first)
            return found
        return emit_calls.call_known(self.context, self.builder, function, values)

    def truth(self, node: Any) -> Any:
        """A bool that is known here, or LLVM's."""
        if isinstance(node, ast.BoolOp):
            value = self._joined(node.values, isinstance(node.op, ast.And), self.truth)
        else:
            value = self.value(node)
        if isinstance(value, Array):
            self.fail(node, "whether an array is true is not known")
        if not isinstance(value, Scalar):
            return bool(value)
        return as_kind(self.builder, value, types.boolean).value

    def scalar(self, value: Any) -> Scalar:
        return emit_calls.scalar(value)

    def integer(self, value: Any) -> Any:
        return integer(self.builder, self.scalar(value))


def _breaks(loop: Any) -> bool:
    """Whether a loop may be left otherwise than by its condition."""
    return any(isinstance(node, ast.Break) for node in ast.walk(loop))

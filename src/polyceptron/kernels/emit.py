"""A small compiler for kernels: plain loops on arrays, straight to LLVM.

Numba looks at every instruction for some two milliseconds before LLVM sees it, two thirds of what
a kernel takes to compile. So Numba calls, boxes and caches kernels, and this module writes what is
in them, from the syntax tree of the function in one walk. It reads the part of Python that loops
need, with Numba's meaning:

- Numbers are int64, uint64, float64 or bool; arrays are views; there is no broadcasting.
- Questions about types and numbers of dimensions are answered here, so one body serves dense and
  sparse rows.
- ``np.empty``, ``np.zeros`` and ``np.full`` lend memory until the function returns, outside of its
  loops. Indices that are not known here are not negative.
"""

import inspect
from typing import Any

from numba.core import config, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from polyceptron.kernels.emit_function import KernelSource, call, emit_function
from polyceptron.kernels.emit_values import from_numba, kind_of_numba, to_numba, to_numba_type
from polyceptron.kernels.jit import compiled


def emitted(function: Any, is_called: bool = False) -> Any:
    """Make a function that kernels call; one that ``is_called`` stays a function of its own."""
    if config.DISABLE_JIT:
        return function
    source = KernelSource(function, is_called)

    def define(typingctx: Any, *args: Any) -> Any:
        args = tuple(types.unliteral(one) for one in args)
        kinds = tuple(kind_of_numba(one) for one in args)
        trial = cpu_target.target_context.subtarget(enable_nrt=True)
        _, result = emit_function(trial, trial.create_module("trial"), source, kinds)

        def codegen(context: Any, builder: Any, signature: Any, llvm_args: Any) -> Any:
            values = [
                from_numba(context, builder, *pair)
                for pair in zip(signature.args, llvm_args, strict=True)
            ]
            found = call(context, builder, source, values)
            return to_numba(context, builder, found)

        return to_numba_type(result)(*args), codegen

    first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = list(inspect.signature(function).parameters.values())
    define.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    define.__name__ = function.__name__
    made = intrinsic(define)
    made.source = source
    return made


def called(function: Any) -> Any:
    """As :func:`emitted`, for what is called from many places: it is compiled once."""
    return emitted(function, True)


def kernel(function: Any) -> Any:
    """A kernel that is called from Python: Numba's dispatch and cache, our code."""
    if config.DISABLE_JIT:
        return function
    body = called(function)
    names = ", ".join(inspect.signature(function).parameters)
    text = "\n" * (function.__code__.co_firstlineno - 1)
    text += f"def {function.__name__}({names}): return body({names})"
    names_of = {"body": body, "__name__": function.__module__}
    exec(compile(text, function.__code__.co_filename, "exec"), names_of)
    call_body: Any = names_of[function.__name__]
    call_body.__doc__ = function.__doc__
    dispatcher = compiled(call_body)
    dispatcher.source = body.source
    return dispatcher

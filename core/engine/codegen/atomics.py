"""Atomic counters for threads of machine code.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

_I64 = ir.IntType(64)


def _counter(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _I64.as_pointer())


def _fetch_add_type(context: Any, address: Any, amount: Any) -> Any:
    """Add to the int64 at an address; returns the previous value."""
    del context

    def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        address, amount = arguments
        return builder.atomic_rmw("add", _counter(builder, address), amount, "acq_rel")

    return types.int64(address, amount), generate


fetch_add: Any = intrinsic(_fetch_add_type)


def _load_type(context: Any, address: Any) -> Any:
    """The int64 at an address, with acquire semantics."""
    del context

    def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        return builder.load_atomic(_counter(builder, arguments[0]), "acquire", 8)

    return types.int64(address), generate


load: Any = intrinsic(_load_type)


def _pause_type(context: Any) -> Any:
    """A spin-wait hint to the processor."""
    del context

    def generate(compiled: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature, arguments
        triple = binding.get_process_triple()
        if triple.startswith(("x86_64", "i686", "amd64")):
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            pause = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
            builder.call(pause, [])
        return compiled.get_dummy_value()

    return types.void(), generate


pause: Any = intrinsic(_pause_type)

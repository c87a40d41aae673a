"""Atomic counters for threads of machine code.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types

from pinnace.engine.codegen.intrinsics import generated

_I64 = ir.IntType(64)


def _counter(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _I64.as_pointer())


@generated(types.int64, "address amount")
def fetch_add(builder: Any, address: Any, amount: Any) -> Any:
    """Add to the int64 at an address; returns the previous value."""
    return builder.atomic_rmw("add", _counter(builder, address), amount, "acq_rel")


@generated(types.int64, "address")
def load(builder: Any, address: Any) -> Any:
    """The int64 at an address, with acquire semantics."""
    return builder.load_atomic(_counter(builder, address), "acquire", 8)


@generated(types.void)
def pause(builder: Any) -> None:
    """A spin-wait hint to the processor."""
    triple = binding.get_process_triple()
    if triple.startswith(("x86_64", "i686", "amd64")):
        kind = ir.FunctionType(ir.VoidType(), [])
        name = "llvm.x86.sse2.pause"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [])

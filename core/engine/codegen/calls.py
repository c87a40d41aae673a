"""Indirect calls of functions, for generated kernels.

Functions that Numba compiles take words (addresses and int64) and float32 numbers. In the C calling
conventions of the processors that `ops.kernels.pieces` supports, these use separate registers for
the first eight floats and the first few words; the other words are on the stack in order, and the
caller removes them. A function with fewer parameters ignores the rest.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.intrinsics import generated

_I32, _I64, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
# Floats that are passed in addition to the words.
FLOATS = 8
# Numbers of words for which there is a caller: the next larger is used.
COUNTS = (16, 32, 64, 128, 256)


def _caller(count: int) -> Any:
    """Call the function at an address with words and `FLOATS` floats; returns its status."""

    @generated(types.int64, "function words floats")
    def call(builder: Any, function: Any, words: Any, floats: Any) -> Any:
        given = [
            builder.load(builder.gep(builder.inttoptr(base, kind.as_pointer()), [_I64(place)]))
            for base, kind, many in ((words, _I64, count), (floats, _FLOAT, FLOATS))
            for place in range(many)
        ]
        kind = ir.FunctionType(_I32, [_I64] * count + [_FLOAT] * FLOATS)
        status = builder.call(builder.inttoptr(function, kind.as_pointer()), given)
        return builder.sext(status, _I64)

    return call


call_16, call_32, call_64, call_128, call_256 = (_caller(count) for count in COUNTS)

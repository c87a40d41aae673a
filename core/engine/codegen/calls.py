"""Calls of functions whose address is known only when the call is made, for generated kernels.

What Numba compiles takes words (addresses and int64 numbers) and float32 numbers. The conventions
of C on the processors that `ops.kernels.pieces` asks for put these in registers of their own, the
first eight numbers and the first few words; the other words lie on the stack in their order, and
the caller takes them away. A function that takes fewer of either does not look at the rest.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I32, _I64, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
# Numbers that are handed over beside the words.
FLOATS = 8
# Words that a call may have: the next larger count is taken.
COUNTS = (16, 32, 64, 128, 256)


def _caller(count: int) -> Any:
    """The function at an address, called with so many words and `FLOATS` numbers; its status."""

    def typed(context: Any, function: Any, words: Any, floats: Any) -> Any:
        del context

        def generate(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del signature
            function, words, floats = arguments
            given = [
                builder.load(builder.gep(builder.inttoptr(base, kind.as_pointer()), [_I64(place)]))
                for base, kind, many in ((words, _I64, count), (floats, _FLOAT, FLOATS))
                for place in range(many)
            ]
            kind = ir.FunctionType(_I32, [_I64] * count + [_FLOAT] * FLOATS)
            status = builder.call(builder.inttoptr(function, kind.as_pointer()), given)
            return builder.sext(status, _I64)

        return types.int64(function, words, floats), generate

    return intrinsic(typed)


call_16, call_32, call_64, call_128, call_256 = (_caller(count) for count in COUNTS)

"""Machine code that parses many decimal digits at once, for the number reader.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pinnace.engine.codegen.intrinsics import generated

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, 32)
_ZERO = ord("0")


def _splat(kind: Any, value: int) -> Any:
    return ir.Constant(kind, [value] * kind.count)


@generated(types.uint64, "address")
def byte_at(builder: Any, address: Any) -> Any:
    """The byte at an address."""
    pointer = builder.inttoptr(address, ir.PointerType(_BYTE))
    return builder.zext(builder.load(pointer), _WORD)


@generated(types.uint64, "address")
def digits_at(builder: Any, address: Any) -> Any:
    """The number of digits from an address on: at most 32, whose bytes must be readable."""
    pointer = builder.inttoptr(address, ir.PointerType(_VECTOR))
    values = builder.sub(builder.load(pointer, align=1), _splat(_VECTOR, _ZERO))
    others = builder.icmp_unsigned(">", values, _splat(_VECTOR, 9))
    kind = ir.IntType(32)
    count = builder.module.declare_intrinsic(
        "llvm.cttz", [kind], ir.FunctionType(kind, [kind, ir.IntType(1)])
    )
    found = builder.call(count, [builder.bitcast(others, kind), ir.Constant(ir.IntType(1), 0)])
    return builder.zext(found, _WORD)


def _before_type(context: Any, end: Any, count: Any) -> Any:
    """The digits before an address, as three numbers of eight digits each.

    There are `count` of them, at most 24; 32 bytes must be readable. Other bytes count as zeros.
    """
    del context

    def generate(compiled: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, digits = arguments
        size = ir.Constant(_WORD, 32)
        pointer = builder.inttoptr(builder.sub(address, size), ir.PointerType(_VECTOR))
        values = builder.xor(builder.load(pointer, align=1), _splat(_VECTOR, _ZERO))
        first = builder.trunc(builder.sub(size, digits), _BYTE)
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        lanes = ir.VectorType(ir.IntType(32), 32)
        firsts = builder.shuffle_vector(
            builder.insert_element(nothing, first, ir.Constant(ir.IntType(32), 0)),
            nothing,
            _splat(lanes, 0),
        )
        kept = builder.icmp_unsigned(">=", ir.Constant(_VECTOR, list(range(32))), firsts)
        values = builder.select(kept, values, _splat(_VECTOR, 0))
        # Adjacent digits are combined three times: to pairs, groups of four, and groups of eight.
        for bits, scale in ((16, 10), (32, 100), (64, 10000)):
            kind = ir.VectorType(ir.IntType(bits), 256 // bits)
            half = bits // 2
            pairs = builder.bitcast(values, kind)
            low = builder.and_(pairs, _splat(kind, (1 << half) - 1))
            high = builder.lshr(pairs, _splat(kind, half))
            values = builder.add(builder.mul(low, _splat(kind, scale)), high)
        parts = [
            builder.extract_element(values, ir.Constant(ir.IntType(32), lane)) for lane in (1, 2, 3)
        ]
        return compiled.make_tuple(builder, signature.return_type, parts)

    three: Any = types.UniTuple(types.uint64, 3)  # type: ignore[no-untyped-call]
    return three(end, count), generate


digits_before: Any = intrinsic(_before_type)


@generated(types.uint64, "number")
def bits_of(builder: Any, number: Any) -> Any:
    """The 64 bits of a float64."""
    return builder.bitcast(number, _WORD)

"""Branch-free functions of a float32 number that LLVM vectorises, for generated kernels.

Calls of the system's `expf` prevent vectorisation, so these are sums and products without branches.
Coefficients were fitted for this file by weighted least squares until the relative error was even;
each docstring has the largest error in a sweep over the function's range, in units in the last
place (ulp).

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types  # type: ignore[attr-defined] # its stubs lack carray
from numba.extending import intrinsic

from pinnace.engine.codegen.intrinsics import generated
from pinnace.ops.kernels import special_functions

T = np.float32
_ROUND = T(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer
_LOG2_E = T(1.4426950408889634)
# ln 2 in two parts, the first with so few digits that its multiples are exact.
_LN2_HIGH = T(0.693359375)
_LN2_LOW = T(-2.12194440054690583e-4)
_E0, _E1, _E2, _E3, _E4 = (
    T(c)
    for c in (
        0.0013814123549511506,
        0.008368900669417145,
        0.04166840716881643,
        0.16666519116917727,
        0.4999999334226885,
    )
)
# Adding it leaves an integer plus 127 in the low bits: the exponent of a power of two.
_WHOLE = T(12582912.0 + 127)
# The same numbers, for generators of vector code.
LOG2_E, LN2, WHOLE = _LOG2_E, (_LN2_HIGH, _LN2_LOW), _WHOLE
EXP_SERIES = _E0, _E1, _E2, _E3, _E4
_ERF_P = tuple(T(c) for c in special_functions.ERF32_P)
_ERF_Q = tuple(T(c) for c in special_functions.ERF32_Q)
_ERF_END = T(special_functions.ERF32_END)
_ERFCX = tuple(T(c) for c in special_functions.ERFCX32)


@generated(types.float32, "bits")
def as_float(builder: Any, bits: Any) -> Any:
    """The float32 with these 32 bits."""
    return builder.bitcast(bits, ir.FloatType())


@generated(types.int32, "number")
def as_bits(builder: Any, number: Any) -> Any:
    """The 32 bits of a float32."""
    return builder.bitcast(number, ir.IntType(32))


def _pointer_to(kind: Any) -> Any:
    """An intrinsic that makes an address a pointer to numbers of this type."""

    def typed(context: Any, address: Any) -> Any:
        del context

        def generate(compiled: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], compiled.get_value_type(signature.return_type))

        return types.CPointer(kind)(address), generate  # type: ignore[no-untyped-call]

    return intrinsic(typed)


as_pointer: Any = _pointer_to(types.float32)
as_bytes: Any = _pointer_to(types.uint8)
as_integers: Any = _pointer_to(types.int64)
as_short_integers: Any = _pointer_to(types.int32)
as_doubles: Any = _pointer_to(types.float64)


@njit(inline="always")
def row(array: Any, index: Any, width: Any) -> Any:
    """A row of a matrix with contiguous rows, given its address."""
    return carray(as_pointer(array.ctypes.data + index * array.strides[0]), width)


def inlined(function: Any) -> Any:
    """A function that generated code inlines."""
    return njit(inline="always", error_model="numpy", fastmath={"contract"})(function)


@inlined
def maximum(a: Any, b: Any) -> Any:
    """The larger number; NaN if either is NaN."""
    return a if (a > b or a != a) else b


@inlined
def minimum(a: Any, b: Any) -> Any:
    """The smaller number; NaN if either is NaN."""
    return a if (a < b or a != a) else b


# Reassociable addition, so that LLVM vectorises a sum over a row.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def plus(a: Any, b: Any) -> Any:
    """a + b, as a term of a sum."""
    return a + b


@generated(types.float32, "a b")
def larger(builder: Any, a: Any, b: Any) -> Any:
    """The larger, NaN if either is: LLVM's own intrinsic, in loops that it vectorises."""
    kind = ir.FloatType()
    function = builder.module.declare_intrinsic(
        "llvm.maximum", [kind], ir.FunctionType(kind, [kind, kind])
    )
    return builder.call(function, [a, b])


@generated(types.void)
def whole_vectors(builder: Any) -> None:
    """Allow 64-byte registers in the calling function, if the processor has them.

    LLVM uses half registers on Intel's servers, because their first processors with full ones
    reduced their clock.
    """
    # llvmlite's own `add` only supports attributes without a value.
    set.add(builder.function.attributes, '"prefer-vector-width"="512"')
    # If it were inlined, its attribute would be lost.
    builder.function.attributes.add("noinline")


@inlined
def exp(x: Any) -> Any:
    """eˣ, within 2 ulp."""
    y = x if x < T(89) else T(89)
    y = y if y > T(-104) else T(-104)
    n = (y * _LOG2_E + _ROUND) - _ROUND
    r = y - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    q = _E0
    q = q * r + _E1
    q = q * r + _E2
    q = q * r + _E3
    q = q * r + _E4
    value = q * r * r + r + T(1)
    # 2**n in two steps, so that both ends of the range are reached.
    whole = np.int32(n)
    half = whole >> np.int32(1)
    rest = whole - half
    value = value * as_float(np.int32((half + np.int32(127)) << np.int32(23)))
    value = value * as_float(np.int32((rest + np.int32(127)) << np.int32(23)))
    return value if x == x else x


@inlined
def expm1(x: Any) -> Any:
    """eˣ - 1, within 3 ulp; a series near 0 avoids cancellation."""
    small = x if abs(x) <= T(0.5) else T(0)
    q = T(1) + small * T(1 / 8)
    q = T(1) + small * T(1 / 7) * q
    q = T(1) + small * T(1 / 6) * q
    q = T(1) + small * T(1 / 5) * q
    q = T(1) + small * T(1 / 4) * q
    q = T(1) + small * T(1 / 3) * q
    q = T(1) + small * T(1 / 2) * q
    value = small * q if abs(x) <= T(0.5) else exp(x) - T(1)
    return value if x == x else x


@inlined
def _fall(x: Any) -> Any:
    """e⁻ˣ of numbers from 0 to 88, as (1 - part) * power.

    The power of two, which is 0 from 87.7 on, is computed in one step.

    Returns:
        The part, which is precise where it is small, and the power.
    """
    shifted = x * -_LOG2_E + _WHOLE
    n = shifted - _WHOLE
    r = x + n * _LN2_HIGH
    r = r + n * _LN2_LOW
    q = -_E0
    q = q * r + _E1
    q = q * r - _E2
    q = q * r + _E3
    q = q * r - _E4
    q = q * r + T(1)
    return q * r, as_float(np.int32(as_bits(shifted) << np.int32(23)))


@inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ), within 3 ulp; 0 below -87.7, where it would be subnormal.

    For x below 0 it is eˣ / (1 + eˣ), so that the exponential cannot overflow.
    """
    size = abs(x)
    # With the comparison reversed, NaN would become 88.
    size = T(88) if size > T(88) else size
    part, power = _fall(size)
    small = power - part * power
    return (small if x < T(0) else T(1)) / (T(1) + small)


@inlined
def tanh(x: Any) -> Any:
    """The hyperbolic tangent, within 3 ulp.

    It is (1 - e) / (1 + e) with e = e⁻²ˣ, whose distance from 1 is precise near 0, too.
    """
    size = abs(x)
    size = T(15) if size > T(15) else size
    part, power = _fall(size + size)
    less = (T(1) - power) + part * power
    value = less / (T(2) - less)
    signed = (as_bits(value) & np.int32(0x7FFFFFFF)) | (as_bits(x) & np.int32(-0x80000000))
    return as_float(np.int32(signed))


@inlined
def erf(x: Any) -> Any:
    """The error function, as in `kernels.special_functions`: within 8 ulp, and 1 where that is."""
    square = x * x
    p = _ERF_P[0]
    p = p * square + _ERF_P[1]
    p = p * square + _ERF_P[2]
    p = p * square + _ERF_P[3]
    p = p * square + _ERF_P[4]
    p = p * square + _ERF_P[5]
    p = p * square + _ERF_P[6]
    q = _ERF_Q[0]
    q = q * square + _ERF_Q[1]
    q = q * square + _ERF_Q[2]
    q = q * square + _ERF_Q[3]
    q = q * square + _ERF_Q[4]
    q = q * square + _ERF_Q[5]
    value = x * p / q
    end = T(1) if x > T(0) else T(-1)
    value = value if abs(x) < _ERF_END and abs(value) < T(1) else end
    return value if x == x else x


@inlined
def erfc(x: Any) -> Any:
    """1 - erf(x), with the coefficients of `kernels.special_functions`: within 16 ulp."""
    size = abs(x)
    size = size if size < T(10.2) else T(10.2)
    # One division for both: (size - 2) / (size + 2), and 1 / (1 + 2 size).
    ahead, behind = size + T(2), T(1) + size + size
    part = T(1) / (ahead * behind)
    t = (size - T(2)) * (behind * part)
    p = _ERFCX[0]
    p = p * t + _ERFCX[1]
    p = p * t + _ERFCX[2]
    p = p * t + _ERFCX[3]
    p = p * t + _ERFCX[4]
    p = p * t + _ERFCX[5]
    p = p * t + _ERFCX[6]
    p = p * t + _ERFCX[7]
    p = p * t + _ERFCX[8]
    p = p * t + _ERFCX[9]
    # The square in two parts: that of the first 12 bits is exact, the rest is below 0.06.
    coarse = as_float(np.int32(as_bits(size) & np.int32(-4096)))
    rest = (coarse - size) * (coarse + size)
    series = rest * T(1 / 24) + T(1 / 6)
    series = series * rest + T(0.5)
    series = series * rest + T(1)
    series = series * rest + T(1)
    tail = p * (ahead * part) * (exp(-coarse * coarse) * series)
    value = T(2) - tail if x < T(0) else tail
    return value if x == x else x

"""Elementwise functions of two arguments: isclose, divisors, NaN-ignoring extremes, polar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.functions.control import divisors
from pinnace.keras.ops.elementwise import cos, sin
from pinnace.keras.ops.families import MEASURED, REALS
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import measured, met, met_floats, pair
from pinnace.ops.array import casting, combined, constants, selecting
from pinnace.ops.math import (
    arithmetic,
    comparison,
    complexes,
    division,
    exponents,
    logic,
    reduction,
)
from pinnace.ops.math import (
    polar as absolutes,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_WHOLE = """Args:
    x1: [...], an integer type.
    x2: [...], broadcastable to `x1`; both are promoted to one dtype as Keras does.

Returns:
    The broadcast shape, the common dtype.

Raises:
    TypeError: the numbers are no integers."""


@operation("numpy", "Isclose", "equal_nan")
def isclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether abs(x1 - x2) <= atol + rtol abs(x2); for integers, whether both are equal.

    Args:
        x1: [...], a number type or a Python number.
        x2: [...], broadcastable to `x1`; both are promoted to one dtype as Keras does.
        rtol: tolerance relative to `x2`.
        atol: absolute tolerance.
        equal_nan: whether two NaN count as near.

    Returns:
        The broadcast shape, bool.
    """
    a, b = met(x1, x2)
    if not a.dtype.is_floating:
        return comparison.equal(a, b)
    near = combined.near(a, b, rtol, atol)
    return combined.or_both_nan(a, b, near) if equal_nan else near


@operation("numpy", "AllClose", "rtol", "atol", "equal_nan")
def allclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all of x1 is near x2: see `isclose`; infinities only to themselves.

    Args:
        x1: [...], a number type or a Python number.
        x2: [...], broadcastable to `x1`; both are promoted to one dtype as Keras does.
        rtol: tolerance relative to `x2`.
        atol: absolute tolerance.
        equal_nan: whether two NaN count as near.

    Returns:
        A scalar, bool.
    """
    a, b = met(x1, x2)
    same = comparison.equal(a, b)
    if not a.dtype.is_floating:
        return reduction.reduce_all(same)
    finite = logic.logical_and(comparison.is_finite(a), comparison.is_finite(b))
    near = logic.logical_or(logic.logical_and(finite, combined.near(a, b, rtol, atol)), same)
    return reduction.reduce_all(combined.or_both_nan(a, b, near) if equal_nan else near)


@operation("numpy", "Fmax", takes=REALS.takes)
def fmax(x1: Any, x2: Any) -> Tensor:
    """The larger of both; where one is NaN, the other."""
    a, b = pair(x1, x2)
    return _unless_nan(a, b, arithmetic.maximum(a, b))


@operation("numpy", "Fmin", takes=REALS.takes)
def fmin(x1: Any, x2: Any) -> Tensor:
    """The smaller of both; where one is NaN, the other."""
    a, b = pair(x1, x2)
    return _unless_nan(a, b, arithmetic.minimum(a, b))


def _unless_nan(a: Tensor, b: Tensor, chosen: Tensor) -> Tensor:
    if not a.dtype.is_floating:
        return chosen
    first = selecting.where(comparison.is_nan(a), b, chosen)
    return selecting.where(comparison.is_nan(b), a, first)


@operation("numpy", "Fmod", takes=REALS.takes)
def fmod(x1: Any, x2: Any) -> Tensor:
    """The remainder of division truncated towards 0, with the sign of x1; int32 of bools."""
    a, b = met(x1, x2)
    kind = dtypes.int32 if a.dtype is dtypes.bool else a.dtype
    inner = dtypes.int32 if kind.name in {"uint8", "uint16", "uint32"} else kind
    a, b = casting.cast(a, inner), casting.cast(b, inner)
    left = absolutes.sign(a) * division.floormod(absolutes.abs(a), absolutes.abs(b))
    return casting.cast(left, kind)


def _whole(name: str, x1: Any, x2: Any) -> tuple[Tensor, ...]:
    a, b = met(x1, x2)
    if not a.dtype.is_integer:
        raise TypeError(f"keras.ops.{name}: x1 and x2 must be integers, got {a.dtype.name}")
    return a, b


@operation("numpy", "Gcd", takes=_WHOLE)
def gcd(x1: Any, x2: Any) -> Tensor:
    """The greatest common divisor, not negative; for 0 and a number, that number."""
    return divisors.gcd(*_whole("gcd", x1, x2))


@operation("numpy", "Lcm", takes=_WHOLE)
def lcm(x1: Any, x2: Any) -> Tensor:
    """The least common multiple, not negative; 0 if one of them is 0."""
    return divisors.lcm(*_whole("lcm", x1, x2))


@operation("numpy", "Heaviside")
def heaviside(x1: Any, x2: Any) -> Tensor:
    """0 for negative x1, 1 for positive x1, and x2 at 0.

    Args:
        x1: [...], a real number type.
        x2: [...], broadcastable to `x1`: the value at 0.

    Returns:
        The broadcast shape, a float type.
    """
    a, b = measured(x1, x2)
    zeros, ones = constants.zeros_like(a), constants.ones_like(a)
    above = selecting.where(comparison.greater(a, zeros), ones, b)
    return selecting.where(comparison.less(a, zeros), zeros, above)


@operation("numpy", "Hypot", takes=MEASURED.takes)
def hypot(x1: Any, x2: Any) -> Tensor:
    """sqrt(x1² + x2²), without overflow of the squares."""
    a, b = (absolutes.abs(x) for x in measured(x1, x2))
    large, small = arithmetic.maximum(a, b), arithmetic.minimum(a, b)
    ratio = division.divide_no_nan(small, large)
    return large * exponents.sqrt(1.0 + arithmetic.square(ratio))


@operation("numpy", "Ldexp")
def ldexp(x1: Any, x2: Any) -> Tensor:
    """x1 times 2 to the power x2.

    Args:
        x1: [...], a real number type; integers become floats.
        x2: [...], an integer type, broadcastable to `x1`.

    Returns:
        The broadcast shape, a float type.

    Raises:
        TypeError: `x2` holds no integers.
    """
    exponent: Tensor = convert_to_tensor(x2)
    if not exponent.dtype.is_integer:
        raise TypeError(f"keras.ops.ldexp: x2 must be integers, got {exponent.dtype.name}")
    value, power = met_floats(x1, exponent)
    scaled = value * exponents.pow(constants.constant(2.0, value.dtype), power)
    fixed = logic.logical_or(
        comparison.is_inf(value), comparison.equal(value, constants.zeros_like(value))
    )
    return selecting.where(fixed, value, scaled)


@operation("numpy", "Logaddexp2", takes=MEASURED.takes)
def logaddexp2(x1: Any, x2: Any) -> Tensor:
    """log2(2**x1 + 2**x2), without overflow."""
    a, b = met_floats(x1, x2)
    apart = a - b
    log2 = math.log(2.0)
    more = exponents.log1p(exponents.exp(absolutes.abs(apart) * -log2)) / log2
    # The difference of equal infinities is NaN; their sum is the result.
    return selecting.where(comparison.is_nan(apart), a + b, arithmetic.maximum(a, b) + more)


@operation("numpy", "Nextafter", takes=MEASURED.takes)
def nextafter(x1: Any, x2: Any) -> Tensor:
    """The number next to x1 in the direction of x2."""
    a, b = met_floats(x1, x2)
    if a.dtype.size > 2:
        return arithmetic.nextafter(a, b)
    return _next_of_16_bits(a, b)


def _next_of_16_bits(a: Tensor, b: Tensor) -> Tensor:
    """The next float16 or bfloat16: the bits of neighbours of one sign differ by 1."""
    kind = a.dtype
    a, b = a + constants.zeros_like(b), b + constants.zeros_like(a)
    zeros = constants.zeros_like(a)
    outwards = comparison.equal(comparison.greater(b, a), comparison.greater(a, zeros))
    bits = casting.bitcast(a, dtypes.int16)
    one = constants.ones_like(bits)
    moved = casting.bitcast(bits + selecting.where(outwards, one, -one), kind)
    least = casting.bitcast(one, kind)
    from_zero = selecting.where(comparison.greater(b, zeros), least, -least)
    found = selecting.where(comparison.equal(a, zeros), from_zero, moved)
    found = selecting.where(comparison.equal(a, b), b, found)
    undefined = logic.logical_or(comparison.is_nan(a), comparison.is_nan(b))
    return selecting.where(undefined, a + b, found)


@operation("nn", "Polar")
def polar(abs_: Any, angle: Any) -> Tensor:
    """The complex number with that absolute value and angle.

    Args:
        abs_: [...], float32 or float64.
        angle: the shape of `abs_`, in radians.

    Returns:
        The shape of `abs_`, complex.
    """
    size: Tensor = convert_to_tensor(abs_)
    turned: Tensor = convert_to_tensor(angle)
    return complexes.complex(size * cos(turned), size * sin(turned))

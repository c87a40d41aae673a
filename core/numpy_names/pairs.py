"""Elementwise functions of two arrays, promoted to a common dtype."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.functions.control import divisors
from pinnace.functions.control.conditional import cond
from pinnace.numpy_names import elementwise
from pinnace.numpy_names.families import binary, bools_as
from pinnace.numpy_names.promotion import (
    is_inexact,
    known_rank,
    made_array,
    promoted,
    promoted_pair,
    result_type,
)
from pinnace.ops.array import (
    broadcasting,
    casting,
    combined,
    constants,
    joining,
    rearranged,
    selecting,
    shapes,
)
from pinnace.ops.math import (
    arithmetic,
    bits,
    clipping,
    comparison,
    division,
    exponents,
    logic,
    reduction,
    trigonometry,
)
from pinnace.ops.nn import rectifiers

if TYPE_CHECKING:
    from collections.abc import Callable


def _bools(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    return made_array(x1, dtypes.bool), made_array(x2, dtypes.bool)


def _quotients(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = promoted_pair(x1, x2)
    if a.dtype.is_bool:
        a, b = (casting.cast(x, result_type(float)) for x in (a, b))
    return a, b


_INT8, _INT32 = bools_as(dtypes.int8), bools_as(dtypes.int32)

add = binary(
    "add", arithmetic.add, "`x1 + x2`; for bools, the disjunction.", of_bools=logic.logical_or
)
subtract = binary("subtract", arithmetic.subtract, "`x1 - x2`.")
multiply = binary(
    "multiply",
    arithmetic.multiply,
    "`x1 * x2`; for bools, the conjunction.",
    of_bools=logic.logical_and,
)
true_divide = binary(
    "true_divide", division.truediv, "`x1 / x2`; integers are converted to floats.", _quotients
)
divide = binary("divide", division.truediv, "See `true_divide`.", _quotients)
floor_divide = binary(
    "floor_divide", division.floordiv, "`x1 / x2`, rounded down; int8 for bools.", _INT8
)
mod = binary(
    "mod", division.floormod, "The remainder of `x1`, with the sign of `x2`; int8 for bools.", _INT8
)
remainder = binary("remainder", division.floormod, "See `mod`.", _INT8)
minimum = binary(
    "minimum",
    arithmetic.minimum,
    "The smaller of the two; for bools, the conjunction.",
    of_bools=logic.logical_and,
)
power = binary("power", exponents.pow, "`x1` to the power of `x2`.")
float_power = binary(
    "float_power", exponents.pow, "`power`; as in TensorFlow, integers are not converted."
)
arctan2 = binary("arctan2", trigonometry.atan2, "The angle in radians of the point (x2, x1).")
nextafter = binary(
    "nextafter", arithmetic.nextafter, "The next number of the dtype after `x1` towards `x2`."
)
bitwise_and = binary(
    "bitwise_and", bits.bitwise_and, "The bits that both have.", of_bools=logic.logical_and
)
bitwise_or = binary(
    "bitwise_or", bits.bitwise_or, "The bits that one has.", of_bools=logic.logical_or
)
bitwise_xor = binary(
    "bitwise_xor", bits.bitwise_xor, "The bits that just one has.", of_bools=logic.logical_xor
)
equal = binary("equal", comparison.equal, "`x1 == x2`.")
not_equal = binary("not_equal", comparison.not_equal, "`x1 != x2`.")
greater = binary("greater", comparison.greater, "`x1 > x2`; True is greater than False.", _INT32)
greater_equal = binary(
    "greater_equal", comparison.greater_equal, "`x1 >= x2`; True is greater than False.", _INT32
)
less = binary("less", comparison.less, "`x1 < x2`; False is less than True.", _INT32)
less_equal = binary(
    "less_equal", comparison.less_equal, "`x1 <= x2`; False is less than True.", _INT32
)
logical_and = binary("logical_and", logic.logical_and, "Whether neither is 0.", _bools)
logical_or = binary("logical_or", logic.logical_or, "Whether one is not 0.", _bools)
logical_xor = binary("logical_xor", logic.logical_xor, "Whether just one is not 0.", _bools)


def divmod(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    """The pair of `floor_divide` and `mod`."""
    return floor_divide(x1, x2), mod(x1, x2)


def maximum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The larger of the two; for bools, the disjunction."""
    # As in TensorFlow, the maximum of a tensor and a Python 0 is a ReLU: it keeps the dtype, and
    # its slope at 0 is 0.
    plain_zero = isinstance(x2, numbers.Real) and not isinstance(x2, bool) and x2 == 0
    if plain_zero and isinstance(x1, Tensor) and not x1.dtype.is_bool:
        return rectifiers.relu(x1)
    a, b = promoted_pair(x1, x2)
    return logic.logical_or(a, b) if a.dtype.is_bool else arithmetic.maximum(a, b)


def clip(a: TensorLike, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    """`a` clipped to an interval.

    Args:
        a: numbers.
        a_min: the lower bound, broadcastable to `a`; None for none.
        a_max: the upper bound, likewise.

    Raises:
        ValueError: neither bound is given.
    """
    if a_min is None and a_max is None:
        raise ValueError("clip: a_min and a_max must not both be None")
    if a_min is None:
        return minimum(a, a_max)  # type: ignore[arg-type] # one of them is given
    if a_max is None:
        return maximum(a, a_min)
    x, low, high = rearranged.broadcast(*promoted(a, a_min, a_max))
    found: Tensor = clipping.clip_by_value(x, low, high)
    return found


def heaviside(x1: TensorLike, x2: TensorLike) -> Tensor:
    """0 where `x1` is negative, 1 where it is positive, `x2` where it is 0."""
    a, b = promoted_pair(x1, x2)
    zero, one = (constants.constant(n, b.dtype) for n in (0, 1))
    found = selecting.where(
        comparison.less(a, zero), zero, selecting.where(comparison.greater(a, zero), one, b)
    )
    return found if is_inexact(found.dtype) else casting.cast(found, result_type(float))


def hypot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The length of the vector of both."""
    return elementwise.sqrt(add(elementwise.square(x1), elementwise.square(x2)))


def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """log(exp(x1) + exp(x2)), without overflow."""
    return _logaddexp(x1, x2, elementwise.exp, elementwise.log1p)


def logaddexp2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The logarithm to base 2 of 2**x1 + 2**x2, without overflow."""
    return _logaddexp(x1, x2, elementwise.exp2, elementwise.log2_1p)


def _logaddexp(
    x1: TensorLike,
    x2: TensorLike,
    raised: Callable[[Tensor], Tensor],
    log_of_more: Callable[[Tensor], Tensor],
) -> Tensor:
    a, b = promoted_pair(x1, x2)
    distance = arithmetic.subtract(a, b)
    below = arithmetic.negative(elementwise.abs(distance))
    more = log_of_more(raised(below))
    same = elementwise.isnan(distance)  # NaN, or infinities of one sign: their sum is the answer
    return selecting.where(same, *promoted_pair(arithmetic.add(a, b), add(maximum(a, b), more)))


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The value of a polynomial.

    Args:
        p: [n], the coefficients, that of the highest power first; or one number.
        x: the arguments.
    """
    coefficients, at = promoted_pair(p, x)
    single = coefficients.shape.rank == 0
    parts = [coefficients] if single else joining.unstack(coefficients)
    found = arithmetic.polyval(parts, at)
    return broadcasting.broadcast_to(found, shapes.sizes(at)) if len(parts) == 1 else found


def isclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether |a - b| ≤ atol + rtol |b|; for integers and bools, whether they are equal.

    As in TensorFlow, and not in NumPy, an infinity is not close to itself.

    Args:
        a: numbers.
        b: likewise.
        rtol: the tolerance per size of `b`.
        atol: the tolerance besides.
        equal_nan: whether NaN is close to NaN.
    """
    x, y = promoted_pair(a, b)
    if not is_inexact(x.dtype):
        return comparison.equal(x, y)
    found = combined.near(x, y, rtol, atol)
    return combined.or_both_nan(x, y, found) if equal_nan else found


def allclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether all pairs are close; see `isclose` for the arguments."""
    return reduction.reduce_all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def gcd(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The greatest common divisor.

    Raises:
        ValueError: one is no integer.
    """
    return divisors.gcd(*_whole("gcd", x1, x2))


def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The least common multiple.

    Raises:
        ValueError: one is no integer.
    """
    return divisors.lcm(*_whole("lcm", x1, x2))


def _whole(who: str, x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = promoted_pair(x1, x2)
    if not a.dtype.is_integer:
        raise ValueError(f"{who}: x1 and x2 must be integers, got {a.dtype.name}")
    return a, b


def array_equal(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Whether both have the same shape and the same values.

    Args:
        a1: any dtype.
        a2: likewise; both are cast to the dtype that holds both.
    """
    a, b = promoted_pair(a1, a2)
    if known_rank("array_equal", a) != known_rank("array_equal", b):
        return constants.constant(False)
    if a.shape.is_fully_defined() and b.shape.is_fully_defined():
        if a.shape != b.shape:
            return constants.constant(False)
        return reduction.reduce_all(comparison.equal(a, b))
    alike = reduction.reduce_all(comparison.equal(shapes.shape(a), shapes.shape(b)))
    found: Tensor = cond(
        alike,
        lambda: reduction.reduce_all(comparison.equal(a, b)),
        lambda: constants.constant(False),
    )
    return found

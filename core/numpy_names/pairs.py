"""Elementwise functions of two arrays, promoted to a common dtype."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.functions.control.conditional import cond
from pinnace.functions.control.looping import while_loop
from pinnace.numpy_names import elementwise
from pinnace.numpy_names.promotion import (
    is_inexact,
    known_rank,
    made_array,
    promoted,
    promoted_pair,
    result_type,
)
from pinnace.ops.array import broadcasting, casting, constants, joining, selecting, shapes
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


def add(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 + x2`; for bools, the disjunction."""
    return _or_truth(arithmetic.add, logic.logical_or, x1, x2)


def subtract(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 - x2`."""
    return arithmetic.subtract(*promoted_pair(x1, x2))


def multiply(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 * x2`; for bools, the conjunction."""
    return _or_truth(arithmetic.multiply, logic.logical_and, x1, x2)


def true_divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 / x2`; integers are converted to floats."""
    a, b = promoted_pair(x1, x2)
    if a.dtype.is_bool:
        a, b = (casting.cast(x, result_type(float)) for x in (a, b))
    return division.truediv(a, b)


def divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """See `true_divide`."""
    return true_divide(x1, x2)


def floor_divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 / x2`, rounded down; int8 for bools."""
    return division.floordiv(*_bools_as(dtypes.int8, x1, x2))


def mod(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The remainder of `x1`, with the sign of `x2`; int8 for bools."""
    return division.floormod(*_bools_as(dtypes.int8, x1, x2))


def remainder(x1: TensorLike, x2: TensorLike) -> Tensor:
    """See `mod`."""
    return mod(x1, x2)


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
    return _or_truth(arithmetic.maximum, logic.logical_or, x1, x2)


def minimum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The smaller of the two; for bools, the conjunction."""
    return _or_truth(arithmetic.minimum, logic.logical_and, x1, x2)


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
    x, low, high = broadcast(*promoted(a, a_min, a_max))
    found: Tensor = clipping.clip_by_value(x, low, high)
    return found


def broadcast(*tensors: Tensor) -> list[Tensor]:
    """The tensors, broadcast to a common shape."""
    known = tensors[0].shape
    for x in tensors[1:]:
        known = shapes.broadcast_static_shape(known, x.shape)
    shape: Any = known.as_list() if known.is_fully_defined() else shapes.shape(tensors[0])
    if not known.is_fully_defined():
        for x in tensors[1:]:
            shape = shapes.broadcast_dynamic_shape(shape, shapes.shape(x))
    return [broadcasting.broadcast_to(x, shape) for x in tensors]


def power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1` to the power of `x2`."""
    return exponents.pow(*promoted_pair(x1, x2))


def float_power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`power`; as in TensorFlow, integers are not converted."""
    return power(x1, x2)


def arctan2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The angle in radians of the point (x2, x1)."""
    return trigonometry.atan2(*promoted_pair(x1, x2))


def nextafter(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The next number of the dtype after `x1` towards `x2`."""
    return arithmetic.nextafter(*promoted_pair(x1, x2))


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
    relative, absolute = (constants.constant(t, x.dtype.real_dtype) for t in (rtol, atol))
    allowed = arithmetic.add(absolute, arithmetic.multiply(relative, elementwise.abs(y)))
    found = comparison.less_equal(elementwise.abs(arithmetic.subtract(x, y)), allowed)
    if equal_nan:
        both = logic.logical_and(comparison.is_nan(x), comparison.is_nan(y))
        found = logic.logical_or(found, both)
    return found


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
    return _gcd("gcd", *promoted_pair(x1, x2))


def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The least common multiple.

    Raises:
        ValueError: one is no integer.
    """
    a, b = promoted_pair(x1, x2)
    shared = _gcd("lcm", a, b)
    zero = constants.zeros([], shared.dtype)
    none = comparison.equal(shared, zero)
    divisor = selecting.where(none, constants.ones([], shared.dtype), shared)
    parts = division.floordiv(elementwise.abs(b), divisor)
    return selecting.where(none, zero, arithmetic.multiply(elementwise.abs(a), parts))


def _gcd(who: str, a: Tensor, b: Tensor) -> Tensor:
    """Euclid's algorithm on all pairs at once; the second number of a finished pair is 0."""
    if not (a.dtype.is_integer and b.dtype.is_integer):
        raise ValueError(f"{who}: x1 and x2 must be integers, got {a.dtype.name}")
    zero, one = (constants.constant(n, a.dtype) for n in (0, 1))

    def left(_: Tensor, y: Tensor) -> Tensor:
        return reduction.reduce_any(comparison.not_equal(y, zero))

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        going = comparison.not_equal(y, zero)
        rest = division.floormod(x, selecting.where(going, y, one))
        return selecting.where(going, y, x), selecting.where(going, rest, zero)

    start = [elementwise.abs(x) for x in broadcast(a, b)]
    found: Tensor = while_loop(left, step, start)[0]
    return found


def bitwise_and(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits that both have."""
    return _or_truth(bits.bitwise_and, logic.logical_and, x1, x2)


def bitwise_or(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits that one has."""
    return _or_truth(bits.bitwise_or, logic.logical_or, x1, x2)


def bitwise_xor(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The bits that just one has."""
    return _or_truth(bits.bitwise_xor, logic.logical_xor, x1, x2)


def equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 == x2`."""
    return comparison.equal(*promoted_pair(x1, x2))


def not_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 != x2`."""
    return comparison.not_equal(*promoted_pair(x1, x2))


def greater(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 > x2`; True is greater than False."""
    return comparison.greater(*_bools_as(dtypes.int32, x1, x2))


def greater_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 >= x2`; True is greater than False."""
    return comparison.greater_equal(*_bools_as(dtypes.int32, x1, x2))


def less(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 < x2`; False is less than True."""
    return comparison.less(*_bools_as(dtypes.int32, x1, x2))


def less_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`x1 <= x2`; False is less than True."""
    return comparison.less_equal(*_bools_as(dtypes.int32, x1, x2))


def logical_and(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether neither is 0."""
    return logic.logical_and(made_array(x1, dtypes.bool), made_array(x2, dtypes.bool))


def logical_or(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether one is not 0."""
    return logic.logical_or(made_array(x1, dtypes.bool), made_array(x2, dtypes.bool))


def logical_xor(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Whether just one is not 0."""
    return logic.logical_xor(made_array(x1, dtypes.bool), made_array(x2, dtypes.bool))


def _or_truth(
    of_numbers: Callable[[Any, Any], Tensor],
    of_bools: Callable[[Any, Any], Tensor],
    x1: TensorLike,
    x2: TensorLike,
) -> Tensor:
    a, b = promoted_pair(x1, x2)
    return of_bools(a, b) if a.dtype.is_bool else of_numbers(a, b)


def _bools_as(dtype: dtypes.DType, x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = promoted_pair(x1, x2)
    return (casting.cast(a, dtype), casting.cast(b, dtype)) if a.dtype.is_bool else (a, b)


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

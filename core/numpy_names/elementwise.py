"""Elementwise functions of one array.

Where a result is a fraction, integers and bools count as NumPy's default float, float64.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.numpy_names.promotion import floating, is_inexact, made_array, result_type
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import (
    arithmetic,
    bits,
    comparison,
    complexes,
    division,
    exponents,
    logic,
    polar,
    rounding,
    trigonometry,
)

_FEW_FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike


def log(x: TensorLike) -> Tensor:
    """The natural logarithm."""
    return exponents.log(floating(x))


def log2(x: TensorLike) -> Tensor:
    """The logarithm to base 2."""
    return _over(log(x), math.log(2))


def log10(x: TensorLike) -> Tensor:
    """The logarithm to base 10."""
    return _over(log(x), math.log(10))


def log1p(x: TensorLike) -> Tensor:
    """log(1 + x), exact for small `x`."""
    return exponents.log1p(floating(x))


def log2_1p(x: TensorLike) -> Tensor:
    """The logarithm of 1 + x to base 2."""
    return _over(log1p(x), math.log(2))


def exp(x: TensorLike) -> Tensor:
    """The exponential function."""
    return exponents.exp(floating(x))


def exp2(x: TensorLike) -> Tensor:
    """2 to the power of `x`."""
    y = floating(x)
    return exponents.pow(constants.constant(2, y.dtype), y)


def expm1(x: TensorLike) -> Tensor:
    """exp(x) - 1, exact for small `x`."""
    return exponents.expm1(floating(x))


def sqrt(x: TensorLike) -> Tensor:
    """The square root; NaN for negative numbers."""
    return exponents.sqrt(floating(x))


def cbrt(x: TensorLike) -> Tensor:
    """The cube root, also of negative numbers."""
    y = floating(x)
    root = exponents.pow(polar.abs(y), constants.constant(1 / 3, y.dtype))
    return selecting.where(
        comparison.less(y, constants.zeros([], y.dtype)), arithmetic.negative(root), root
    )


def square(x: TensorLike) -> Tensor:
    """`x * x`."""
    return arithmetic.square(made_array(x))


def reciprocal(x: TensorLike) -> Tensor:
    """`1 / x`."""
    return arithmetic.reciprocal(made_array(x))


def abs(x: TensorLike) -> Tensor:
    """The distance to 0."""
    return polar.abs(made_array(x))


def absolute(x: TensorLike) -> Tensor:
    """The distance to 0."""
    return abs(x)


def fabs(x: TensorLike) -> Tensor:
    """The absolute value, in the same dtype."""
    return abs(x)


def negative(x: TensorLike) -> Tensor:
    """`-x`."""
    return arithmetic.negative(made_array(x))


def positive(x: TensorLike) -> Tensor:
    """`x` as a tensor."""
    return made_array(x)


def ceil(x: TensorLike) -> Tensor:
    """The number rounded up, as a float."""
    return rounding.ceil(floating(x))


def floor(x: TensorLike) -> Tensor:
    """The number rounded down, as a float."""
    return rounding.floor(floating(x))


def fix(x: TensorLike) -> Tensor:
    """The number rounded towards 0, as a float."""
    y = floating(x)
    below = comparison.less(y, constants.zeros([], y.dtype))
    return selecting.where(below, rounding.ceil(y), rounding.floor(y))


def around(a: TensorLike, decimals: int = 0) -> Tensor:
    """The number rounded to `decimals` digits, halves to even.

    Args:
        a: numbers.
        decimals: how many digits; negative ones are before the point.

    Returns:
        The shape and dtype of `a`.
    """
    x = made_array(a)
    work = x if is_inexact(x.dtype) else casting.cast(x, result_type(float))
    factor = casting.cast(math.pow(10, decimals), work.dtype)
    whole = rounding.round(arithmetic.multiply(work, factor))
    return casting.cast(division.truediv(whole, factor), x.dtype)


def round(a: TensorLike, decimals: int = 0) -> Tensor:
    """See `around`."""
    return around(a, decimals)


def sign(x: TensorLike, out: Any = None, where: Any = None, **kwargs: Any) -> Tensor:
    """-1, 0 or 1; for a complex number, the number of length 1 in its direction.

    Args:
        x: numbers.
        out: None: tensors cannot be written to.
        where: None.
        kwargs: none.

    Raises:
        ValueError: unsupported argument than `x` is given.
    """
    if out is not None or where is not None or kwargs:
        raise ValueError(f"sign: only x can be given, got out={out!r}, where={where!r}, {kwargs}")
    return polar.sign(made_array(x))


def signbit(x: TensorLike) -> Tensor:
    """Whether it is negative; False for -0.0."""
    y = made_array(x)
    if y.dtype.is_bool:
        return constants.zeros_like(y)
    return comparison.less(y, constants.zeros([], y.dtype))


def sin(x: TensorLike) -> Tensor:
    """The sine of an angle in radians."""
    return trigonometry.sin(floating(x))


def cos(x: TensorLike) -> Tensor:
    """The cosine of an angle in radians."""
    return trigonometry.cos(floating(x))


def tan(x: TensorLike) -> Tensor:
    """The tangent of an angle in radians."""
    return trigonometry.tan(floating(x))


def sinh(x: TensorLike) -> Tensor:
    """The hyperbolic sine."""
    return trigonometry.sinh(floating(x))


def cosh(x: TensorLike) -> Tensor:
    """The hyperbolic cosine."""
    return trigonometry.cosh(floating(x))


def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent."""
    return trigonometry.tanh(floating(x))


def arcsin(x: TensorLike) -> Tensor:
    """The angle in radians whose sine is `x`."""
    return trigonometry.asin(floating(x))


def arccos(x: TensorLike) -> Tensor:
    """The angle in radians whose cosine is `x`."""
    return trigonometry.acos(floating(x))


def arctan(x: TensorLike) -> Tensor:
    """The angle in radians whose tangent is `x`."""
    return trigonometry.atan(floating(x))


def arcsinh(x: TensorLike) -> Tensor:
    """The number whose hyperbolic sine is `x`."""
    return trigonometry.asinh(floating(x))


def arccosh(x: TensorLike) -> Tensor:
    """The number whose hyperbolic cosine is `x`."""
    return trigonometry.acosh(floating(x))


def arctanh(x: TensorLike) -> Tensor:
    """The number whose hyperbolic tangent is `x`."""
    return trigonometry.atanh(floating(x))


def sinc(x: TensorLike) -> Tensor:
    """sin(πx) / (πx); 1 at 0."""
    y = floating(x)
    turned = _scaled(y, math.pi)
    return selecting.where(
        comparison.equal(y, constants.zeros([], y.dtype)),
        constants.ones_like(y),
        division.truediv(trigonometry.sin(turned), turned),
    )


def deg2rad(x: TensorLike) -> Tensor:
    """Degrees converted to radians."""
    return _scaled(floating(x), math.pi / 180)


def rad2deg(x: TensorLike) -> Any:
    """Radians converted to degrees; a Python number stays one."""
    if isinstance(x, (int, float, complex)):
        return x * (180 / math.pi)
    return _scaled(floating(x), 180 / math.pi)


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """The angle in the complex plane; for a real number 0, or π if it is negative.

    Args:
        z: numbers.
        deg: whether it is told in degrees; in radians if not.

    Returns:
        The shape of `z`; float32 of every real dtype, as in TensorFlow.
    """
    x = floating(z)
    if x.dtype in _FEW_FLOATS:
        below = comparison.less(x, constants.zeros([], x.dtype))
        found = selecting.where(below, constants.constant(math.pi), constants.constant(0.0))
    else:
        found = polar.angle(x)
    return rad2deg(found) if deg else found


def conj(x: TensorLike) -> Tensor:
    """The complex conjugate; a real number itself."""
    return complexes.conj(made_array(x))


def conjugate(x: TensorLike) -> Tensor:
    """The complex conjugate; a real number itself."""
    return conj(x)


def real(val: TensorLike) -> Tensor:
    """The real part."""
    return complexes.real(made_array(val))


def imag(val: TensorLike) -> Tensor:
    """The imaginary part; 0 for real numbers."""
    return complexes.imag(made_array(val))


def bitwise_not(x: TensorLike) -> Tensor:
    """The inverted bits; for bools, the negation."""
    y = made_array(x)
    return logic.logical_not(y) if y.dtype.is_bool else bits.invert(y)


def logical_not(x: TensorLike) -> Tensor:
    """Whether it is 0."""
    return logic.logical_not(made_array(x, dtypes.bool))


def isnan(x: TensorLike) -> Tensor:
    """Whether it is NaN."""
    return comparison.is_nan(floating(x))


def isfinite(x: TensorLike) -> Tensor:
    """Whether it is neither infinite nor NaN."""
    return comparison.is_finite(floating(x))


def isinf(x: TensorLike) -> Any:
    """Whether it is infinite; a single False for dtypes that are not floating."""
    y = made_array(x)
    return comparison.is_inf(y) if y.dtype.is_floating else False


def isneginf(x: TensorLike) -> Any:
    """Whether it is -∞; a single False for dtypes that are not floating."""
    return _is(x, -math.inf)


def isposinf(x: TensorLike) -> Any:
    """Whether it is ∞; a single False for dtypes that are not floating."""
    return _is(x, math.inf)


def _is(x: TensorLike, value: float) -> Any:
    y = made_array(x)
    if not y.dtype.is_floating:
        return False
    return comparison.equal(y, constants.constant(value, y.dtype))


def iscomplex(x: TensorLike) -> Tensor:
    """Whether its imaginary part is not 0."""
    part = imag(x)
    return comparison.not_equal(part, constants.zeros([], part.dtype))


def isreal(x: TensorLike) -> Tensor:
    """Whether its imaginary part is 0."""
    part = imag(x)
    return comparison.equal(part, constants.zeros([], part.dtype))


def iscomplexobj(x: TensorLike) -> bool:
    """Whether the dtype is complex."""
    return made_array(x).dtype.is_complex


def isrealobj(x: TensorLike) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def _scaled(x: Tensor, factor: float) -> Tensor:
    return arithmetic.multiply(x, constants.constant(np.array(factor), x.dtype))


def _over(x: Tensor, divisor: float) -> Tensor:
    # As in TensorFlow, the divisor is a NumPy float64: where operators promote, so is the result.
    found: Tensor = x / np.float64(divisor)
    return found

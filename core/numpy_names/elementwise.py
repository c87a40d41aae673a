"""Elementwise functions of one array.

Where a result is a fraction, integers and bools count as NumPy's default float, float64.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.numpy_names.families import unary
from pinnace.numpy_names.promotion import (
    floating,
    is_inexact,
    made_array,
    result_type,
)
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


log = unary("log", exponents.log, "The natural logarithm.")
log1p = unary("log1p", exponents.log1p, "log(1 + x), exact for small `x`.")
exp = unary("exp", exponents.exp, "The exponential function.")
expm1 = unary("expm1", exponents.expm1, "exp(x) - 1, exact for small `x`.")
sqrt = unary("sqrt", exponents.sqrt, "The square root; NaN for negative numbers.")
ceil = unary("ceil", rounding.ceil, "The number rounded up, as a float.")
floor = unary("floor", rounding.floor, "The number rounded down, as a float.")
sin = unary("sin", trigonometry.sin, "The sine of an angle in radians.")
cos = unary("cos", trigonometry.cos, "The cosine of an angle in radians.")
tan = unary("tan", trigonometry.tan, "The tangent of an angle in radians.")
sinh = unary("sinh", trigonometry.sinh, "The hyperbolic sine.")
cosh = unary("cosh", trigonometry.cosh, "The hyperbolic cosine.")
tanh = unary("tanh", trigonometry.tanh, "The hyperbolic tangent.")
arcsin = unary("arcsin", trigonometry.asin, "The angle in radians whose sine is `x`.")
arccos = unary("arccos", trigonometry.acos, "The angle in radians whose cosine is `x`.")
arctan = unary("arctan", trigonometry.atan, "The angle in radians whose tangent is `x`.")
arcsinh = unary("arcsinh", trigonometry.asinh, "The number whose hyperbolic sine is `x`.")
arccosh = unary("arccosh", trigonometry.acosh, "The number whose hyperbolic cosine is `x`.")
arctanh = unary("arctanh", trigonometry.atanh, "The number whose hyperbolic tangent is `x`.")
isnan = unary("isnan", comparison.is_nan, "Whether it is NaN.")
isfinite = unary("isfinite", comparison.is_finite, "Whether it is neither infinite nor NaN.")
square = unary("square", arithmetic.square, "`x * x`.", made_array)
reciprocal = unary("reciprocal", arithmetic.reciprocal, "`1 / x`.", made_array)
abs = unary("abs", polar.abs, "The distance to 0.", made_array)
absolute = unary("absolute", polar.abs, "The distance to 0.", made_array)
fabs = unary("fabs", polar.abs, "The absolute value, in the same dtype.", made_array)
negative = unary("negative", arithmetic.negative, "`-x`.", made_array)
conj = unary("conj", complexes.conj, "The complex conjugate; a real number itself.", made_array)
conjugate = unary(
    "conjugate", complexes.conj, "The complex conjugate; a real number itself.", made_array
)


def log2(x: TensorLike) -> Tensor:
    """The logarithm to base 2."""
    return _over(log(x), math.log(2))


def log10(x: TensorLike) -> Tensor:
    """The logarithm to base 10."""
    return _over(log(x), math.log(10))


def log2_1p(x: TensorLike) -> Tensor:
    """The logarithm of 1 + x to base 2."""
    return _over(log1p(x), math.log(2))


def exp2(x: TensorLike) -> Tensor:
    """2 to the power of `x`."""
    y = floating(x)
    return exponents.pow(constants.constant(2, y.dtype), y)


def cbrt(x: TensorLike) -> Tensor:
    """The cube root, also of negative numbers."""
    y = floating(x)
    root = exponents.pow(polar.abs(y), constants.constant(1 / 3, y.dtype))
    return selecting.where(
        comparison.less(y, constants.zeros([], y.dtype)), arithmetic.negative(root), root
    )


def positive(x: TensorLike) -> Tensor:
    """`x` as a tensor."""
    return made_array(x)


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
    y = made_array(x)
    # TensorFlow: a product with a Python number, which promotes bfloat16 to nothing wider.
    return _scaled(y if y.dtype is dtypes.bfloat16 else floating(y), 180 / math.pi)


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

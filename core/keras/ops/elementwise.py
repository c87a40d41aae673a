"""Elementwise functions: arithmetic, comparison, exponents, trigonometry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import alike, as_kind, float_pair, floating, met, pair
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import (
    arithmetic,
    clipping,
    comparison,
    complexes,
    division,
    error_and_gamma,
    exponents,
    logic,
    polar,
    rounding,
    trigonometry,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# The docstrings of functions of two arguments.
_OPERANDS = """Args:
    x1: [...], a number type or a Python number.
    x2: [...], broadcastable to `x1`; both are promoted to one dtype as Keras does.

Returns:
    The broadcast shape, """
_PAIR = f"{_OPERANDS}the common dtype."
_FLOATS = f"{_OPERANDS}the common dtype; a float type for integers."
_COMPARED = f"{_OPERANDS}bool."
_BOOLS = """Args:
    x1: [...], cast to bool.
    x2: [...], broadcastable to `x1`, cast to bool.

Returns:
    The broadcast shape, bool."""


@operation("numpy", "Add", sparse="add", takes=_PAIR)
def add(x1: Any, x2: Any) -> Tensor:
    """x1 + x2."""
    return arithmetic.add(*pair(x1, x2))


@operation("numpy", "Subtract", sparse="subtract", takes=_PAIR)
def subtract(x1: Any, x2: Any) -> Tensor:
    """x1 - x2."""
    return arithmetic.subtract(*pair(x1, x2))


@operation("numpy", "Multiply", sparse="multiply", takes=_PAIR)
def multiply(x1: Any, x2: Any) -> Tensor:
    """x1 x2, element by element."""
    return arithmetic.multiply(*pair(x1, x2))


@operation("numpy", "Divide", sparse="divide", takes=_FLOATS)
def divide(x1: Any, x2: Any) -> Tensor:
    """x1 / x2; integers become floats."""
    return division.divide(*float_pair(x1, x2))


@operation("numpy", "TrueDivide", sparse="divide", takes=_FLOATS)
def true_divide(x1: Any, x2: Any) -> Tensor:
    """x1 / x2; integers become floats."""
    return division.divide(*float_pair(x1, x2))


@operation("numpy", "DivideNoNan", takes=_FLOATS)
def divide_no_nan(x1: Any, x2: Any) -> Tensor:
    """x1 / x2; 0 where x2 is 0."""
    return division.divide_no_nan(*float_pair(x1, x2))


@operation("numpy", "FloorDivide", takes=_PAIR)
def floor_divide(x1: Any, x2: Any) -> Tensor:
    """The largest integer that is not above x1 / x2."""
    return division.floordiv(*pair(x1, x2))


@operation("numpy", "Mod", takes=_PAIR)
def mod(x1: Any, x2: Any) -> Tensor:
    """The remainder of floor division, with the sign of x2."""
    a, b = met(x1, x2)
    if a.dtype.is_bool:
        a, b = casting.cast(a, dtypes.int32), casting.cast(b, dtypes.int32)
    return division.floormod(a, b)


@operation("numpy", "Power", takes=_PAIR)
def power(x1: Any, x2: Any) -> Tensor:
    """x1 to the power x2."""
    a, b = pair(x1, x2)
    if a.dtype.is_unsigned:  # the op does not support unsigned integers
        kind = result_type(a.dtype)
        power = exponents.pow(casting.cast(a, dtypes.int32), casting.cast(b, dtypes.int32))
        return casting.cast(power, kind)
    return exponents.pow(a, b)


@operation("numpy", "Maximum", sparse="maximum", takes=_PAIR)
def maximum(x1: Any, x2: Any) -> Tensor:
    """The larger of both."""
    return arithmetic.maximum(*pair(x1, x2))


@operation("numpy", "Minimum", sparse="minimum", takes=_PAIR)
def minimum(x1: Any, x2: Any) -> Tensor:
    """The smaller of both."""
    return arithmetic.minimum(*pair(x1, x2))


@operation("numpy", "Negative", sparse="of_values")
def negative(x: Any) -> Tensor:
    """-x, element by element."""
    return arithmetic.negative(x)


@operation("numpy", "Absolute", sparse="of_values")
def absolute(x: Any) -> Tensor:
    """The absolute values."""
    return polar.abs(x)


@operation("numpy", "Abs", sparse="of_values")
def abs(x: Any) -> Tensor:
    """The absolute values."""
    return polar.abs(x)


@operation("numpy", "Sign", sparse="of_values")
def sign(x: Any) -> Tensor:
    """-1, 0 or 1."""
    return polar.sign(x)


@operation("numpy", "Square", sparse="of_values")
def square(x: Any) -> Tensor:
    """x²."""
    return arithmetic.square(x)


@operation("numpy", "Sqrt", sparse="of_values")
def sqrt(x: Any) -> Tensor:
    """The square root."""
    return exponents.sqrt(floating(x))


@operation("math", "Rsqrt")
def rsqrt(x: Any) -> Tensor:
    """1 / sqrt(x)."""
    return exponents.rsqrt(floating(x))


@operation("numpy", "Reciprocal", sparse="of_dense")
def reciprocal(x: Any) -> Tensor:
    """1 / x."""
    return 1.0 / floating(x)


@operation("numpy", "Exp", sparse="of_dense")
def exp(x: Any) -> Tensor:
    """e to the power x."""
    return exponents.exp(floating(x))


@operation("numpy", "Expm1", sparse="of_values")
def expm1(x: Any) -> Tensor:
    """exp(x) - 1, exact near 0."""
    return exponents.expm1(floating(x))


@operation("numpy", "Log", sparse="of_dense")
def log(x: Any) -> Tensor:
    """The natural logarithm."""
    return exponents.log(floating(x))


@operation("numpy", "Log1p", sparse="of_values")
def log1p(x: Any) -> Tensor:
    """log(1 + x), exact near 0."""
    return exponents.log1p(floating(x))


@operation("numpy", "Log2", sparse="of_dense")
def log2(x: Any) -> Tensor:
    """The logarithm to base 2."""
    return exponents.log(floating(x)) / 0.6931471805599453


@operation("numpy", "Log10", sparse="of_dense")
def log10(x: Any) -> Tensor:
    """The logarithm to base 10."""
    return exponents.log(floating(x)) / 2.302585092994046


@operation("numpy", "Logaddexp", takes=_FLOATS)
def logaddexp(x1: Any, x2: Any) -> Tensor:
    """log(exp(x1) + exp(x2)), without overflow."""
    a, b = (floating(x) for x in alike(x1, x2))
    return arithmetic.maximum(a, b) + exponents.log1p(exponents.exp(-polar.abs(a - b)))


@operation("numpy", "Floor", sparse="of_values")
def floor(x: Any) -> Tensor:
    """The next whole number below."""
    return rounding.floor(floating(x))


@operation("numpy", "Ceil", sparse="of_values")
def ceil(x: Any) -> Tensor:
    """The next whole number above."""
    return rounding.ceil(floating(x))


@operation("numpy", "Round", "decimals", sparse="of_values")
def round(x: Any, decimals: int = 0) -> Tensor:
    """Round to a number of decimals; ties go to the even digit.

    Args:
        x: [...], a number type.
        decimals: digits behind the point; negative ones are before it.

    Returns:
        The shape of `x`; its dtype, or a float type if `decimals` is not 0.
    """
    if not decimals:
        return rounding.round(x)
    factor = 10.0**decimals
    return rounding.round(floating(x) * factor) / factor


@operation("numpy", "Clip", "x_min", "x_max")
def clip(x: Any, x_min: Any, x_max: Any) -> Tensor:
    """x clipped to an interval.

    Args:
        x: [...], a real number type.
        x_min: the lower end, broadcastable to `x`.
        x_max: the upper end, likewise.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    low, high = casting.cast(x_min, x.dtype), casting.cast(x_max, x.dtype)
    kept: Tensor = clipping.clip_by_value(x, low, high)
    return kept


@operation("numpy", "Sin", sparse="of_values")
def sin(x: Any) -> Tensor:
    """The sine of radians."""
    return trigonometry.sin(floating(x))


@operation("numpy", "Cos", sparse="of_dense")
def cos(x: Any) -> Tensor:
    """The cosine of radians."""
    return trigonometry.cos(floating(x))


@operation("numpy", "Tan", sparse="of_values")
def tan(x: Any) -> Tensor:
    """The tangent of radians."""
    return trigonometry.tan(floating(x))


@operation("numpy", "Arcsin", sparse="of_values")
def arcsin(x: Any) -> Tensor:
    """The angle whose sine is x."""
    return trigonometry.asin(floating(x))


@operation("numpy", "Arccos", sparse="of_dense")
def arccos(x: Any) -> Tensor:
    """The angle whose cosine is x."""
    return trigonometry.acos(floating(x))


@operation("numpy", "Arctan", sparse="of_values")
def arctan(x: Any) -> Tensor:
    """The angle whose tangent is x."""
    return trigonometry.atan(floating(x))


@operation("numpy", "Arctan2", takes=_FLOATS)
def arctan2(x1: Any, x2: Any) -> Tensor:
    """The angle of the point (x2, x1)."""
    return trigonometry.atan2(*float_pair(x1, x2))


@operation("numpy", "Sinh", sparse="of_values")
def sinh(x: Any) -> Tensor:
    """The hyperbolic sine."""
    return trigonometry.sinh(floating(x))


@operation("numpy", "Cosh", sparse="of_dense")
def cosh(x: Any) -> Tensor:
    """The hyperbolic cosine."""
    return trigonometry.cosh(floating(x))


@operation("numpy", "Tanh", sparse="of_values")
def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent."""
    return trigonometry.tanh(floating(x))


@operation("math", "Erf")
def erf(x: Any) -> Tensor:
    """The error function."""
    return error_and_gamma.erf(floating(x))


@operation("numpy", "Equal", takes=_COMPARED)
def equal(x1: Any, x2: Any) -> Tensor:
    """Elementwise equality."""
    return comparison.equal(*pair(x1, x2))


@operation("numpy", "NotEqual", takes=_COMPARED)
def not_equal(x1: Any, x2: Any) -> Tensor:
    """Elementwise inequality."""
    return comparison.not_equal(*pair(x1, x2))


@operation("numpy", "Greater", takes=_COMPARED)
def greater(x1: Any, x2: Any) -> Tensor:
    """Whether x1 > x2, element by element."""
    return comparison.greater(*pair(x1, x2))


@operation("numpy", "GreaterEqual", takes=_COMPARED)
def greater_equal(x1: Any, x2: Any) -> Tensor:
    """Whether x1 >= x2, element by element."""
    return comparison.greater_equal(*pair(x1, x2))


@operation("numpy", "Less", takes=_COMPARED)
def less(x1: Any, x2: Any) -> Tensor:
    """Whether x1 < x2, element by element."""
    return comparison.less(*pair(x1, x2))


@operation("numpy", "LessEqual", takes=_COMPARED)
def less_equal(x1: Any, x2: Any) -> Tensor:
    """Whether x1 <= x2, element by element."""
    return comparison.less_equal(*pair(x1, x2))


@operation("numpy", "LogicalAnd", takes=_BOOLS)
def logical_and(x1: Any, x2: Any) -> Tensor:
    """Elementwise logical and."""
    return logic.logical_and(casting.cast(x1, "bool"), casting.cast(x2, "bool"))


@operation("numpy", "LogicalOr", takes=_BOOLS)
def logical_or(x1: Any, x2: Any) -> Tensor:
    """Elementwise logical or."""
    return logic.logical_or(casting.cast(x1, "bool"), casting.cast(x2, "bool"))


@operation("numpy", "LogicalXor", takes=_BOOLS)
def logical_xor(x1: Any, x2: Any) -> Tensor:
    """Elementwise exclusive or."""
    return logic.logical_xor(casting.cast(x1, "bool"), casting.cast(x2, "bool"))


@operation("numpy", "LogicalNot")
def logical_not(x: Any) -> Tensor:
    """Elementwise logical not."""
    return logic.logical_not(casting.cast(x, "bool"))


@operation("numpy", "Isfinite", sparse="of_dense")
def isfinite(x: Any) -> Tensor:
    """Whether elements are neither infinite nor NaN."""
    return comparison.is_finite(floating(x))


@operation("numpy", "Isnan")
def isnan(x: Any) -> Tensor:
    """Whether elements are NaN."""
    return comparison.is_nan(floating(x))


@operation("numpy", "Isinf")
def isinf(x: Any) -> Tensor:
    """Whether elements are infinite."""
    return comparison.is_inf(floating(x))


@operation("numpy", "NanToNum", "nan", "posinf", "neginf")
def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """x with NaN and infinities replaced by numbers; by the dtype's limits for None.

    Args:
        x: [...]; integers stay as they are.
        nan: replacement of NaN.
        posinf: replacement of ∞; the largest number of the dtype if None.
        neginf: replacement of -∞; the least number of the dtype if None.

    Returns:
        The shape and dtype of `x`.
    """
    given: Tensor = convert_to_tensor(x)
    if not given.dtype.is_floating:
        return given
    x = given
    high = float(x.dtype.max) if posinf is None else posinf
    low = float(x.dtype.min) if neginf is None else neginf

    def instead(value: float) -> Tensor:
        return as_kind(value, x.dtype)

    y = selecting.where(comparison.is_nan(x), instead(nan), x)
    infinite = comparison.is_inf(x)
    y = selecting.where(logic.logical_and(infinite, x > 0), instead(high), y)
    return selecting.where(logic.logical_and(infinite, x < 0), instead(low), y)


@operation("numpy", "Where")
def where(condition: Any, x1: Any = None, x2: Any = None) -> Tensor:
    """x1 where the condition holds, else x2.

    Args:
        condition: [...], cast to bool.
        x1: broadcastable to `condition`.
        x2: likewise; both are promoted to one dtype.

    Returns:
        The broadcast shape, the common dtype.

    Raises:
        ValueError: `x1` or `x2` is not given.
    """
    if x1 is None or x2 is None:
        raise ValueError("keras.ops.where: x1 and x2 must be given")
    return selecting.where(casting.cast(condition, "bool"), *pair(x1, x2))


@operation("core", "Cast", "dtype")
def cast(x: Any, dtype: Any) -> Tensor:
    """`x` in another dtype.

    Args:
        x: [...], any dtype.
        dtype: a dtype or its name.

    Returns:
        The shape of `x`.
    """
    return casting.cast(x, dtype)


@operation("numpy", "Real", sparse="of_values")
def real(x: Any) -> Tensor:
    """The real part."""
    return complexes.real(x)


@operation("numpy", "Imag", sparse="of_values")
def imag(x: Any) -> Tensor:
    """The imaginary part."""
    return complexes.imag(x)


@operation("numpy", "ZerosLike", "dtype")
def zeros_like(x: Any, dtype: Any = None) -> Tensor:
    """Zeros of the shape of x.

    Args:
        x: [...], any dtype.
        dtype: dtype of the result; that of `x` if None.

    Returns:
        The shape of `x`.
    """
    return constants.zeros_like(x, None if dtype is None else dtypes.as_dtype(dtype))


@operation("numpy", "OnesLike", "dtype")
def ones_like(x: Any, dtype: Any = None) -> Tensor:
    """Ones of the shape of x.

    Args:
        x: [...], any dtype.
        dtype: dtype of the result; that of `x` if None.

    Returns:
        The shape of `x`.
    """
    return constants.ones_like(x, None if dtype is None else dtypes.as_dtype(dtype))

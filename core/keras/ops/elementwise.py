"""Elementwise functions: arithmetic, comparison, exponents, trigonometry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.families import BOOLS, COMPARED, FLOATS, PAIR, binary, unary
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import alike, as_bool, as_kind, floating, met, pair
from pinnace.keras.ops.searching import nonzero
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

_LIKE = """Args:
    x: [...], any dtype.
    dtype: dtype of the result; that of `x` if None.

Returns:
    The shape of `x`."""

add = binary("add", arithmetic.add, "x1 + x2.", sparse="add")
subtract = binary("subtract", arithmetic.subtract, "x1 - x2.", sparse="subtract")
multiply = binary("multiply", arithmetic.multiply, "x1 x2, element by element.", sparse="multiply")
divide = binary(
    "divide", division.divide, "x1 / x2; integers become floats.", FLOATS, sparse="divide"
)
true_divide = binary(
    "true_divide", division.divide, "x1 / x2; integers become floats.", FLOATS, sparse="divide"
)
divide_no_nan = binary("divide_no_nan", division.divide_no_nan, "x1 / x2; 0 where x2 is 0.", FLOATS)
floor_divide = binary(
    "floor_divide", division.floordiv, "The largest integer that is not above x1 / x2."
)
maximum = binary("maximum", arithmetic.maximum, "The larger of both.", sparse="maximum")
minimum = binary("minimum", arithmetic.minimum, "The smaller of both.", sparse="minimum")
negative = unary(
    "negative", arithmetic.negative, "-x, element by element.", None, sparse="of_values"
)
absolute = unary("absolute", polar.abs, "The absolute values.", None, sparse="of_values")
abs = unary("abs", polar.abs, "The absolute values.", None, sparse="of_values")
sign = unary("sign", polar.sign, "-1, 0 or 1.", None, sparse="of_values")
square = unary("square", arithmetic.square, "x².", None, sparse="of_values")
sqrt = unary("sqrt", exponents.sqrt, "The square root.", sparse="of_values")
rsqrt = unary("rsqrt", exponents.rsqrt, "1 / sqrt(x).", module="math")
exp = unary("exp", exponents.exp, "e to the power x.", sparse="of_dense")
expm1 = unary("expm1", exponents.expm1, "exp(x) - 1, exact near 0.", sparse="of_values")
log = unary("log", exponents.log, "The natural logarithm.", sparse="of_dense")
log1p = unary("log1p", exponents.log1p, "log(1 + x), exact near 0.", sparse="of_values")
floor = unary("floor", rounding.floor, "The next whole number below.", sparse="of_values")
ceil = unary("ceil", rounding.ceil, "The next whole number above.", sparse="of_values")
sin = unary("sin", trigonometry.sin, "The sine of radians.", sparse="of_values")
cos = unary("cos", trigonometry.cos, "The cosine of radians.", sparse="of_dense")
tan = unary("tan", trigonometry.tan, "The tangent of radians.", sparse="of_values")
arcsin = unary("arcsin", trigonometry.asin, "The angle whose sine is x.", sparse="of_values")
arccos = unary("arccos", trigonometry.acos, "The angle whose cosine is x.", sparse="of_dense")
arctan = unary("arctan", trigonometry.atan, "The angle whose tangent is x.", sparse="of_values")
arctan2 = binary("arctan2", trigonometry.atan2, "The angle of the point (x2, x1).", FLOATS)
sinh = unary("sinh", trigonometry.sinh, "The hyperbolic sine.", sparse="of_values")
cosh = unary("cosh", trigonometry.cosh, "The hyperbolic cosine.", sparse="of_dense")
tanh = unary("tanh", trigonometry.tanh, "The hyperbolic tangent.", sparse="of_values")
erf = unary("erf", error_and_gamma.erf, "The error function.", module="math")
equal = binary("equal", comparison.equal, "Elementwise equality.", COMPARED)
not_equal = binary("not_equal", comparison.not_equal, "Elementwise inequality.", COMPARED)
greater = binary("greater", comparison.greater, "Whether x1 > x2, element by element.", COMPARED)
greater_equal = binary(
    "greater_equal", comparison.greater_equal, "Whether x1 >= x2, element by element.", COMPARED
)
less = binary("less", comparison.less, "Whether x1 < x2, element by element.", COMPARED)
less_equal = binary(
    "less_equal", comparison.less_equal, "Whether x1 <= x2, element by element.", COMPARED
)
logical_and = binary("logical_and", logic.logical_and, "Elementwise logical and.", BOOLS)
logical_or = binary("logical_or", logic.logical_or, "Elementwise logical or.", BOOLS)
logical_xor = binary("logical_xor", logic.logical_xor, "Elementwise exclusive or.", BOOLS)
logical_not = unary("logical_not", logic.logical_not, "Elementwise logical not.", as_bool)
isfinite = unary(
    "isfinite",
    comparison.is_finite,
    "Whether elements are neither infinite nor NaN.",
    sparse="of_dense",
)
isnan = unary("isnan", comparison.is_nan, "Whether elements are NaN.")
isinf = unary("isinf", comparison.is_inf, "Whether elements are infinite.")
real = unary("real", complexes.real, "The real part.", None, sparse="of_values")
imag = unary("imag", complexes.imag, "The imaginary part.", None, sparse="of_values")
reciprocal = unary("reciprocal", lambda x: 1.0 / x, "1 / x.", sparse="of_dense")
log2 = unary(
    "log2",
    lambda x: exponents.log(x) / 0.6931471805599453,
    "The logarithm to base 2.",
    sparse="of_dense",
)
log10 = unary(
    "log10",
    lambda x: exponents.log(x) / 2.302585092994046,
    "The logarithm to base 10.",
    sparse="of_dense",
)


@operation("numpy", "Mod", takes=PAIR.takes)
def mod(x1: Any, x2: Any) -> Tensor:
    """The remainder of floor division, with the sign of x2."""
    a, b = met(x1, x2)
    if a.dtype.is_bool:
        a, b = casting.cast(a, dtypes.int32), casting.cast(b, dtypes.int32)
    return division.floormod(a, b)


@operation("numpy", "Power", takes=PAIR.takes)
def power(x1: Any, x2: Any) -> Tensor:
    """x1 to the power x2."""
    a, b = pair(x1, x2)
    if a.dtype.is_unsigned:  # the op does not support unsigned integers
        kind = result_type(a.dtype)
        power = exponents.pow(casting.cast(a, dtypes.int32), casting.cast(b, dtypes.int32))
        return casting.cast(power, kind)
    return exponents.pow(a, b)


@operation("numpy", "Logaddexp", takes=FLOATS.takes)
def logaddexp(x1: Any, x2: Any) -> Tensor:
    """log(exp(x1) + exp(x2)), without overflow."""
    a, b = (floating(x) for x in alike(x1, x2))
    return arithmetic.maximum(a, b) + exponents.log1p(exponents.exp(-polar.abs(a - b)))


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


@overload
def where(condition: Any) -> Any: ...


@overload
def where(condition: Any, x1: Any, x2: Any) -> Tensor: ...


@operation("numpy", "Where")
def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """x1 where the condition holds, else x2; with neither, `nonzero` of the condition.

    Args:
        condition: [...], cast to bool.
        x1: broadcastable to `condition`.
        x2: likewise; both are promoted to one dtype.

    Returns:
        The broadcast shape, the common dtype; or a tensor [n] per axis of `condition`, int32.

    Raises:
        ValueError: only one of `x1` and `x2` is given.
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("keras.ops.where: x1 and x2 must both be given, or neither, got one")
    return selecting.where(casting.cast(condition, "bool"), *pair(x1, x2))


@operation("core", "Cast", "dtype")
def cast(x: Any, dtype: Any) -> Tensor:
    """`x` in another dtype.

    Args:
        x: [...], any dtype.
        dtype: a dtype or its name; `floatx()` if None.

    Returns:
        The shape of `x`.
    """
    return casting.cast(x, floatx() if dtype is None else dtype)


@operation("numpy", "ZerosLike", "dtype", takes=_LIKE)
def zeros_like(x: Any, dtype: Any = None) -> Tensor:
    """Zeros of the shape of x."""
    return constants.zeros_like(x, None if dtype is None else dtypes.as_dtype(dtype))


@operation("numpy", "OnesLike", "dtype", takes=_LIKE)
def ones_like(x: Any, dtype: Any = None) -> Tensor:
    """Ones of the shape of x."""
    return constants.ones_like(x, None if dtype is None else dtypes.as_dtype(dtype))

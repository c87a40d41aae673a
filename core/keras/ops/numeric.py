"""Elementwise functions: angles, roots, signs, infinities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating, measured
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import (
    comparison,
    complexes,
    error_and_gamma,
    exponents,
    polar,
    rounding,
    tails,
    trigonometry,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _measured(x: Any) -> Tensor:
    return measured(x)[0]


def _is(x: Tensor, value: float) -> Tensor:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return constants.zeros_like(x, dtypes.bool)
    return comparison.equal(x, constants.constant(value, x.dtype))


arccosh = unary(
    "arccosh",
    trigonometry.acosh,
    "The number whose hyperbolic cosine is x; NaN below 1.",
    sparse="of_dense",
)
arcsinh = unary(
    "arcsinh", trigonometry.asinh, "The number whose hyperbolic sine is x.", sparse="of_values"
)
arctanh = unary(
    "arctanh",
    trigonometry.atanh,
    "The number whose hyperbolic tangent is x; NaN outside of [-1, 1].",
    sparse="of_values",
)
conj = unary(
    "conj", complexes.conj, "The complex conjugate; a real number itself.", None, sparse="of_values"
)
conjugate = unary(
    "conjugate",
    complexes.conj,
    "The complex conjugate; a real number itself.",
    None,
    sparse="of_values",
)
erfc = unary(
    "erfc", error_and_gamma.erfc, "1 - erf(x), exact where erf(x) is near 1.", module="math"
)
fabs = unary("fabs", polar.abs, "The absolute values; integers become floats.", sparse="of_values")
deg2rad = unary(
    "deg2rad", lambda x: x * (math.pi / 180.0), "Degrees as radians: x π / 180.", _measured
)
rad2deg = unary(
    "rad2deg", lambda x: x * (180.0 / math.pi), "Radians as degrees: x 180 / π.", _measured
)
isneginf = unary(
    "isneginf",
    lambda x: _is(x, -math.inf),
    "Whether elements are -∞; False for integers.",
    convert_to_tensor,
)
isposinf = unary(
    "isposinf",
    lambda x: _is(x, math.inf),
    "Whether elements are +∞; False for integers.",
    convert_to_tensor,
)


@operation("numpy", "Exp2", sparse="of_dense")
def exp2(x: Any) -> Tensor:
    """2 to the power x."""
    tensor = floating(x)
    return exponents.pow(constants.constant(2.0, tensor.dtype), tensor)


@operation("numpy", "Angle")
def angle(x: Any) -> Tensor:
    """The angle of a complex number, in radians; 0 or π for a real one.

    Args:
        x: [...], a number type; integers become floats.

    Returns:
        The shape of `x`, a float type.
    """
    return polar.angle(floating(x))


@operation("numpy", "Cbrt")
def cbrt(x: Any) -> Tensor:
    """The cube root, of negative numbers too.

    Args:
        x: [...], a real number type; int64 becomes float64, what else is no float `floatx()`.

    Returns:
        The shape of `x`, a float type.
    """
    tensor = _measured(x)
    return polar.sign(tensor) * exponents.pow(polar.abs(tensor), 1.0 / 3.0)


@operation("numpy", "I0")
def i0(x: Any) -> Tensor:
    """The modified Bessel function of order 0.

    Args:
        x: [...], a real number type; int64 becomes float64, what else is no float `floatx()`.

    Returns:
        The shape of `x`, a float type.
    """
    tensor = _measured(x)
    return tails.bessel_i0(tensor)


@operation("numpy", "Isreal")
def isreal(x: Any) -> Tensor:
    """Whether the imaginary part is 0; True for real dtypes."""
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype.is_complex:
        return comparison.equal(complexes.imag(tensor), 0.0)
    return constants.ones_like(tensor, dtypes.bool)


@operation("numpy", "Signbit", sparse="of_values")
def signbit(x: Any) -> Tensor:
    """Whether the sign bit is set, also for -0.0 and NaN.

    Args:
        x: [...], a real number type.

    Returns:
        The shape of `x`, bool.
    """
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype is dtypes.bool:
        return constants.zeros_like(tensor)
    if tensor.dtype.is_integer:
        return comparison.less(tensor, constants.zeros_like(tensor))
    bits = casting.bitcast(casting.cast(tensor, dtypes.float32), dtypes.int32)
    return comparison.less(bits, 0)


@operation("numpy", "Sinc")
def sinc(x: Any) -> Tensor:
    """sin(π x) / (π x), and 1 at 0."""
    tensor = floating(x)
    turned = tensor * math.pi
    at_zero = comparison.equal(tensor, constants.zeros_like(tensor))
    # Divide by 1 at 0: `where` multiplies the gradient of the other branch by 0, and 0 · inf is
    # NaN.
    divisor = selecting.where(at_zero, constants.ones_like(turned), turned)
    return selecting.where(
        at_zero, constants.ones_like(turned), trigonometry.sin(divisor) / divisor
    )


@operation("numpy", "Trunc")
def trunc(x: Any) -> Tensor:
    """x rounded towards 0; integers unchanged."""
    tensor: Tensor = convert_to_tensor(x)
    if not tensor.dtype.is_floating:
        return tensor
    negative = comparison.less(tensor, constants.zeros_like(tensor))
    return selecting.where(negative, rounding.ceil(tensor), rounding.floor(tensor))


@operation("core", "SaturateCast", "dtype")
def saturate_cast(x: Any, dtype: Any) -> Tensor:
    """Cast to another dtype, saturating at the ends of its range.

    Args:
        x: [...], a real number type.
        dtype: dtype of the result; `floatx()` if None.

    Returns:
        The shape of `x`.
    """
    from pinnace.ops.array import saturation

    dtype = floatx() if dtype is None else dtype
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype is dtypes.bool:
        tensor = casting.cast(tensor, dtypes.uint8)
    if dtypes.as_dtype(dtype) is dtypes.bool:
        # Keras: bool is clipped to [0, 1], so that negative values become False.
        return comparison.greater(tensor, constants.zeros_like(tensor))
    return saturation.saturate_cast(tensor, dtypes.as_dtype(dtype))


@operation("math", "ViewAsComplex")
def view_as_complex(x: Any) -> Tensor:
    """Pairs of real and imaginary parts as complex numbers.

    Args:
        x: [..., 2], a real number type.

    Returns:
        [...], complex64.

    Raises:
        ValueError: the last axis is not of size 2.
    """
    tensor: Tensor = convert_to_tensor(x)
    if not tensor.shape.rank or tensor.shape[-1] != 2:
        raise ValueError(
            "keras.ops.view_as_complex: the last axis must hold two numbers, real and imaginary, "
            f"got shape {tensor.shape.text}"
        )
    parts = casting.cast(tensor, dtypes.float32)
    return complexes.complex(parts[..., 0], parts[..., 1])


@operation("math", "ViewAsReal")
def view_as_real(x: Any) -> Tensor:
    """Complex numbers as pairs of real and imaginary parts.

    Args:
        x: [...], a complex type.

    Returns:
        [..., 2], the float type of the parts.
    """
    from pinnace.ops.array import joining

    tensor: Tensor = convert_to_tensor(x)
    return joining.stack([complexes.real(tensor), complexes.imag(tensor)], axis=-1)

"""Magnitudes and angles: Abs, ComplexAbs, Sign, Angle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, SIGNED
from pinnace.ops.array import constants, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, comparison, complexes, division
from pinnace.ops.registry import register, unary

if TYPE_CHECKING:
    from pinnace.framework import dtypes
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall

__all__ = ["abs", "angle", "sign"]


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of x; x / |x| for complex numbers.

    Args:
        x: [...], a signed number type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SIGN.entry(x, name)


def _sign_kernel(x: Array) -> Array:
    if x.dtype.kind != "c":
        return np.sign(x)
    size = np.abs(x)
    return np.where(size == 0, x.dtype.type(0), x / np.where(size == 0, 1, size)).astype(x.dtype)


def _sign_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    if call.inputs[0].dtype.is_complex:
        # On the unit circle, the derivative is the part perpendicular to the radius.
        y = call.outputs[0]
        along = complexes.real(complexes.conj(y) * dy)
        across = dy - y * complexes.complex(along, constants.zeros_like(along))
        size = abs(call.inputs[0])
        return (
            division.divide_no_nan(across, complexes.complex(size, constants.zeros_like(size))),
        )
    return (constants.zeros_like(call.inputs[0]),)


SIGN = register(
    unary(
        "Sign",
        _sign_kernel,
        _sign_gradient,
        types=SIGNED | COMPLEX,
        # x + 0 keeps NaN, and turns -0 into 0.
        fuse="T(1) if {x} > T(0) else T(-1) if {x} < T(0) else {x} + T(0)",
    )
)


@takes_composites(values=1, keeps_zero=True)
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """|x|; the modulus, a real number, for complex numbers.

    Args:
        x: [...], a number type.
        name: name of the node while tracing.

    Returns:
        The shape of `x`; float32 or float64 for a complex type, else dtype of `x`.

    Source:
        TensorFlow ops `Abs`, `ComplexAbs` (math_ops.cc).
    """
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return execute_one(COMPLEX_ABS, x, Tout=x.dtype.real_dtype, name=name)
    return ABS.entry(x, name)


def _abs_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * sign(call.inputs[0]),)


ABS = register(unary("Abs", np.abs, _abs_gradient, types=SIGNED, fuse="abs({x})"))


@takes_composites(values=1)
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle in the complex plane, in (-π, π]; for a real number 0, or π if it is negative.

    Args:
        input: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        The shape of `input`; float32 or float64 for a complex type, else dtype of `input`.
    """
    x = convert_to_tensor(input)
    if x.dtype.is_complex:
        return execute_one(ANGLE, x, Tout=x.dtype.real_dtype, name=name)
    half_turn = constants.constant(np.pi, x.dtype) * constants.ones_like(x)
    negative = comparison.less(x, constants.constant(0, x.dtype))
    return selecting.where(negative, half_turn, constants.zeros_like(x))


def _angle_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    complexes.check_kinds("Angle", x, Tout, x.real.dtype)
    return np.arctan2(x.imag, x.real)  # type: ignore[no-any-return]


def _angle_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = call.inputs[0]
    turned = complexes.complex(complexes.imag(x), complexes.real(x))
    return (arithmetic.negative(complexes.of_real(dy)) * arithmetic.reciprocal(turned),)


ANGLE = register(complexes.part("Angle", _angle_kernel, _angle_gradient))


def _complex_abs_kernel(x: Array, *, Tout: dtypes.DType) -> Array:  # noqa: N803 (TensorFlow's name)
    complexes.check_kinds("ComplexAbs", x, Tout, x.real.dtype)
    return np.abs(x)


def _complex_abs_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (
        complexes.of_real(dy)
        * division.divide_no_nan(call.inputs[0], complexes.of_real(call.outputs[0])),
    )


COMPLEX_ABS = register(
    complexes.part("ComplexAbs", _complex_abs_kernel, _complex_abs_gradient, "x: T -> y: Tout")
)

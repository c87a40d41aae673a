"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, FLOATS
from pinnace.ops.array import broadcasting
from pinnace.ops.math import arithmetic, complexes, exponents
from pinnace.ops.math.widening import widened
from pinnace.ops.registry import backward, binary, register, unary

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

_ANALYTIC = FLOATS | COMPLEX


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """`sin x`, x in radians.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SIN.entry(x, name)


def _sin_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * cos(complexes.conj(call.inputs[0])),)


SIN = register(unary("Sin", np.sin, _sin_gradient, types=_ANALYTIC, fuse="sin({x})"))


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """`cos x`, x in radians.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return COS.entry(x, name)


def _cos_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (arithmetic.negative(dy) * sin(complexes.conj(call.inputs[0])),)


COS = register(unary("Cos", np.cos, _cos_gradient, types=_ANALYTIC, fuse="cos({x})"))


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """`tan x`, x in radians.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return TAN.entry(x, name)


def _tan_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * arithmetic.square(arithmetic.reciprocal(cos(complexes.conj(call.inputs[0])))),)


TAN = register(unary("Tan", np.tan, _tan_gradient, types=_ANALYTIC, fuse="tan({x})"))


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle in [-π/2, π/2] whose sine is x; NaN outside of [-1, 1].

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ASIN.entry(x, name)


def _asin_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = complexes.conj(call.inputs[0])
    return (dy * arithmetic.reciprocal(exponents.sqrt(1 - arithmetic.square(x))),)


ASIN = register(unary("Asin", np.arcsin, _asin_gradient, types=_ANALYTIC, fuse="asin({x})"))


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle in [0, π] whose cosine is x; NaN outside of [-1, 1].

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ACOS.entry(x, name)


def _acos_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = complexes.conj(call.inputs[0])
    return (
        arithmetic.negative(dy) * arithmetic.reciprocal(exponents.sqrt(1 - arithmetic.square(x))),
    )


ACOS = register(unary("Acos", np.arccos, _acos_gradient, types=_ANALYTIC, fuse="acos({x})"))


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle in [-π/2, π/2] whose tangent is x.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ATAN.entry(x, name)


def _atan_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = complexes.conj(call.inputs[0])
    return (dy * arithmetic.reciprocal(1 + arithmetic.square(x)),)


ATAN = register(unary("Atan", np.arctan, _atan_gradient, types=_ANALYTIC, fuse="atan({x})"))


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), in [-π, π], with broadcasting.

    Args:
        y: [...], a float type.
        x: [...], dtype of `y`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `y`.
    """
    return ATAN2.entry(y, x, name)


def _atan2_gradient(call: OpCall, dz: Tensor) -> tuple[Any, ...]:
    y, x = call.inputs
    scaled = dz / (arithmetic.square(x) + arithmetic.square(y))
    return (
        broadcasting.reduced_to(scaled * x, y, x),
        broadcasting.reduced_to(scaled * arithmetic.negative(y), x, y),
    )


ATAN2 = register(
    binary(
        "Atan2",
        np.arctan2,
        _atan2_gradient,
        types=FLOATS,
        signature="y: T, x: T -> z: T",
        fuse="atan2({y}, {x})",
    )
)


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """(eˣ - e⁻ˣ) / 2.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SINH.entry(x, name)


def _sinh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * cosh(complexes.conj(call.inputs[0])),)


SINH = register(unary("Sinh", np.sinh, _sinh_gradient, types=_ANALYTIC, fuse="sinh({x})"))


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """(eˣ + e⁻ˣ) / 2.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return COSH.entry(x, name)


def _cosh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * sinh(complexes.conj(call.inputs[0])),)


COSH = register(unary("Cosh", np.cosh, _cosh_gradient, types=_ANALYTIC, fuse="cosh({x})"))


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """`sinh x / cosh x`.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return TANH.entry(x, name)


def _tanh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (TANH_GRAD.entry(complexes.conj(call.outputs[0]), dy),)


TANH = register(unary("Tanh", np.tanh, _tanh_gradient, types=_ANALYTIC, fuse="tanh({x})"))


@widened
def _tanh_grad_kernel(y: Array, dy: Array) -> Array:
    return dy * (y.dtype.type(1) - y * y)  # type: ignore[no-any-return]


def _tanh_grad_gradient(call: OpCall, dz: Tensor) -> tuple[Tensor, Tensor]:
    y, dy = complexes.conj(call.inputs[0]), complexes.conj(call.inputs[1])
    return dz * -2 * dy * y, TANH_GRAD.entry(y, dz)


TANH_GRAD = register(
    backward(
        "TanhGrad",
        _tanh_grad_kernel,
        _tanh_grad_gradient,
        types=_ANALYTIC,
        fuse="{dy} * (T(1) - {y} * {y})",
    )
)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """log(x + √(x² + 1)).

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ASINH.entry(x, name)


def _asinh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy / cosh(complexes.conj(call.outputs[0])),)


ASINH = register(unary("Asinh", np.arcsinh, _asinh_gradient, types=_ANALYTIC, fuse="asinh({x})"))


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """log(x + √(x² - 1)); NaN below 1.

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ACOSH.entry(x, name)


def _acosh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy / sinh(complexes.conj(call.outputs[0])),)


ACOSH = register(unary("Acosh", np.arccosh, _acosh_gradient, types=_ANALYTIC, fuse="acosh({x})"))


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """log((1 + x) / (1 - x)) / 2; NaN outside of [-1, 1].

    Args:
        x: [...], a float or complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ATANH.entry(x, name)


def _atanh_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = complexes.conj(call.inputs[0])
    return (dy * arithmetic.reciprocal(1 - arithmetic.square(x)),)


ATANH = register(unary("Atanh", np.arctanh, _atanh_gradient, types=_ANALYTIC, fuse="atanh({x})"))

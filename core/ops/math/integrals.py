"""Functions defined by integrals: Dawson, Fresnel, exponential integral, dilogarithm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.ops.array import constants, selecting
from pinnace.ops.kernels import integral_functions
from pinnace.ops.kernels.precision import in_float64
from pinnace.ops.math import arithmetic, comparison, exponents, trigonometry
from pinnace.ops.registry import register, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall, OpDef

__all__ = ["dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"]


def _of(name: str, function: Callable[[Array], Array], gradient: Any) -> OpDef:
    return register(unary(name, in_float64(function), gradient))


def dawsn(x: TensorLike, name: str | None = None) -> Tensor:
    """Dawson's integral: exp(-x²) ∫₀ˣ exp(t²) dt.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return DAWSN.entry(x, name)


def _dawsn_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (1 - 2 * x * y),)


DAWSN = _of("Dawsn", integral_functions.dawsn, _dawsn_gradient)


def expint(x: TensorLike, name: str | None = None) -> Tensor:
    """Ei(x): ∫ eᵗ/t dt from -∞ to x; -∞ at 0, NaN below and at ∞.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return EXPINT.entry(x, name)


def _expint_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = call.inputs[0]
    return (dy * (exponents.exp(x) / x),)


EXPINT = _of("Expint", integral_functions.expint, _expint_gradient)


def _quarter_turns(x: Tensor) -> Tensor:
    return arithmetic.square(x) * constants.constant(math.pi / 2, x.dtype)


def fresnel_cos(x: TensorLike, name: str | None = None) -> Tensor:
    """∫₀ˣ cos(πt²/2) dt.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return FRESNEL_COS.entry(x, name)


def _fresnel_cos_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * trigonometry.cos(_quarter_turns(call.inputs[0])),)


FRESNEL_COS = _of("FresnelCos", integral_functions.fresnel_cos, _fresnel_cos_gradient)


def fresnel_sin(x: TensorLike, name: str | None = None) -> Tensor:
    """∫₀ˣ sin(πt²/2) dt.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return FRESNEL_SIN.entry(x, name)


def _fresnel_sin_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * trigonometry.sin(_quarter_turns(call.inputs[0])),)


FRESNEL_SIN = _of("FresnelSin", integral_functions.fresnel_sin, _fresnel_sin_gradient)


def spence(x: TensorLike, name: str | None = None) -> Tensor:
    """The dilogarithm of 1 - x: -∫₁ˣ log t / (t - 1) dt; NaN below 0 and at ∞.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return SPENCE.entry(x, name)


def _spence_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = call.inputs[0]
    at_one = comparison.equal(x, 1)
    safe = selecting.where(at_one, constants.zeros_like(x), x)
    slope = exponents.log(x) / (1 - safe)
    return (dy * selecting.where(at_one, arithmetic.negative(constants.ones_like(x)), slope),)


SPENCE = _of("Spence", integral_functions.spence, _spence_gradient)

"""Bessel functions of orders 0 and 1: J, Y and the modified K; I is in tails.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import constants, selecting
from pinnace.ops.kernels import bessel_functions
from pinnace.ops.kernels.precision import in_float64
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.registry import register, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall, OpDef

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
]


def _of(name: str, function: Callable[[Array], Array], gradient: Any) -> OpDef:
    return register(unary(name, in_float64(function), gradient))


def bessel_j0(x: TensorLike, name: str | None = None) -> Tensor:
    """J₀(x), the Bessel function of the first kind of order 0; NaN where x is infinite.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_J0.entry(x, name)


def _j0_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (arithmetic.negative(dy * bessel_j1(call.inputs[0])),)


BESSEL_J0 = _of("BesselJ0", bessel_functions.j0, _j0_gradient)


def bessel_j1(x: TensorLike, name: str | None = None) -> Tensor:
    """J₁(x), the Bessel function of the first kind of order 1; NaN where x is infinite.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_J1.entry(x, name)


def _j1_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    at_zero = comparison.equal(x, 0)
    safe = selecting.where(at_zero, constants.ones_like(x), x)
    # J₁(x) / x is a half at 0.
    over = selecting.where(at_zero, constants.ones_like(x) * 0.5, y / safe)
    return (dy * (bessel_j0(x) - over),)


BESSEL_J1 = _of("BesselJ1", bessel_functions.j1, _j1_gradient)


def bessel_y0(x: TensorLike, name: str | None = None) -> Tensor:
    """Y₀(x), the Bessel function of the second kind of order 0; -∞ for x <= 0.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_Y0.entry(x, name)


def _y0_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (arithmetic.negative(dy * bessel_y1(call.inputs[0])),)


BESSEL_Y0 = _of("BesselY0", bessel_functions.y0, _y0_gradient)


def bessel_y1(x: TensorLike, name: str | None = None) -> Tensor:
    """Y₁(x), the Bessel function of the second kind of order 1; -∞ for x <= 0.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_Y1.entry(x, name)


def _y1_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (bessel_y0(x) - y / x),)


BESSEL_Y1 = _of("BesselY1", bessel_functions.y1, _y1_gradient)


def bessel_k0(x: TensorLike, name: str | None = None) -> Tensor:
    """K₀(x), the modified Bessel function of the second kind; ∞ for x <= 0.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_K0.entry(x, name)


def _k0_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (arithmetic.negative(dy * bessel_k1(call.inputs[0])),)


BESSEL_K0 = _of("BesselK0", bessel_functions.k0, _k0_gradient)


def bessel_k0e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) K₀(x), which does not underflow.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_K0E.entry(x, name)


def _k0e_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * (call.outputs[0] - bessel_k1e(call.inputs[0])),)


BESSEL_K0E = _of("BesselK0e", bessel_functions.k0e, _k0e_gradient)


def bessel_k1(x: TensorLike, name: str | None = None) -> Tensor:
    """K₁(x), the modified Bessel function of the second kind; ∞ for x <= 0.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_K1.entry(x, name)


def _k1_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (arithmetic.negative(dy * (bessel_k0(x) + y / x)),)


BESSEL_K1 = _of("BesselK1", bessel_functions.k1, _k1_gradient)


def bessel_k1e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) K₁(x), which does not underflow.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_K1E.entry(x, name)


def _k1e_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (y * (1 - arithmetic.reciprocal(x)) - bessel_k0e(x)),)


BESSEL_K1E = _of("BesselK1e", bessel_functions.k1e, _k1e_gradient)

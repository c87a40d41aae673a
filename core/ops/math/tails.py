"""Incomplete gamma functions: Igamma, Igammac; modified Bessel functions of orders 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import FLOATS, float32, float64
from pinnace.ops.array import broadcasting
from pinnace.ops.execute import execute
from pinnace.ops.kernels import gamma_tails
from pinnace.ops.math import arithmetic, error_and_gamma, exponents, polar
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, OpCall
from pinnace.ops.registry import binary, register, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpDef

__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "igamma", "igammac"]


def _in_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel for any float from `function` of float64 arrays; results are rounded once."""

    def kernel(*arrays: Array) -> Array:
        wide: Array = function(*[np.asarray(array, np.float64) for array in arrays])
        return wide.astype(arrays[0].dtype)

    return kernel


def _joined(name: str, function: Callable[..., Array], gradient: Any, types: Any = FLOATS) -> OpDef:
    return register(
        binary(name, _in_float64(function), gradient, types=types, signature="a: T, x: T -> z: T")
    )


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function: ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a).

    Args:
        a: above 0, floating point.
        x: not negative.
        name: name of the node while tracing.
    """
    return IGAMMA.entry(a, x, name)


def _density(a: Tensor, x: Tensor) -> Tensor:
    """xᵃ⁻¹ e⁻ˣ / Γ(a), the derivative of `igamma` with respect to x."""
    return exponents.exp(exponents.xlogy(a - 1, x) - x - error_and_gamma.lgamma(a))


def _igamma_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    a, x = call.inputs
    by_a = dy * execute(IGAMMA_GRAD_A, a, x)
    return broadcasting.reduced_to(by_a, a, x), broadcasting.reduced_to(dy * _density(a, x), x, a)


IGAMMA = _joined("Igamma", gamma_tails.igamma, _igamma_gradient)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function: 1 - igamma(a, x).

    Args:
        a: [...], a float type, above 0.
        x: [...], dtype of `a`, at least 0, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `a`.
    """
    return IGAMMAC.entry(a, x, name)


def _igammac_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    return _igamma_gradient(call, arithmetic.negative(dy))


IGAMMAC = _joined("Igammac", gamma_tails.igammac, _igammac_gradient)


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """I₀(x), the modified Bessel function of order 0.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_I0.entry(x, name)


def _i0_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * bessel_i1(call.inputs[0]),)


BESSEL_I0 = register(unary("BesselI0", _in_float64(gamma_tails.bessel_i0), _i0_gradient))


def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(-|x|) I₀(x), which does not overflow.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_I0E.entry(x, name)


def _i0e_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (bessel_i1e(x) - polar.sign(x) * y),)


BESSEL_I0E = register(unary("BesselI0e", _in_float64(gamma_tails.bessel_i0e), _i0e_gradient))


def _over(y: Tensor, x: Tensor) -> Tensor:
    """`y / x`, with the limit 1/2 at 0."""
    from pinnace.ops.array import constants, selecting
    from pinnace.ops.math import comparison

    at_zero = comparison.equal(x, 0)
    safe = selecting.where(at_zero, constants.ones_like(x), x)
    return selecting.where(at_zero, constants.ones_like(x) * 0.5, y / safe)


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """I₁(x), the modified Bessel function of order 1.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_I1.entry(x, name)


def _i1_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (bessel_i0(x) - _over(y, x)),)


BESSEL_I1 = register(unary("BesselI1", _in_float64(gamma_tails.bessel_i1), _i1_gradient))


def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(-|x|) I₁(x), which does not overflow.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return BESSEL_I1E.entry(x, name)


def _i1e_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x, y = call.inputs[0], call.outputs[0]
    return (dy * (bessel_i0e(x) - y * polar.sign(x) - _over(y, x)),)


BESSEL_I1E = register(unary("BesselI1e", _in_float64(gamma_tails.bessel_i1e), _i1e_gradient))


IGAMMA_GRAD_A = _joined(
    "IgammaGradA", gamma_tails.igamma_slope, NO_GRADIENT_DEFINED, {float32, float64}
)

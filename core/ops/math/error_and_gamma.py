"""Error functions, gamma functions, zeta, incomplete beta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32, float64
from pinnace.framework.shapes import Shape
from pinnace.ops.array import broadcasting, constants
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import special_functions
from pinnace.ops.math import arithmetic, exponents, reduction
from pinnace.ops.registry import binary, define, register, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = [
    "betainc",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "lbeta",
    "lgamma",
    "ndtri",
    "polygamma",
    "zeta",
]

_WIDE = frozenset({float32, float64})


def _in_float32_too(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel for any float from `function` of float32 and float64 arrays."""

    def kernel(x: Array) -> Array:
        if x.dtype.itemsize == 2:
            return function(np.asarray(x, np.float32)).astype(x.dtype)
        return function(np.asarray(x))

    return kernel


def _bell(x: Tensor, dy: Tensor, factor: float) -> Tensor:
    scale = constants.constant(float(factor), x.dtype)
    return scale * dy * exponents.exp(arithmetic.negative(arithmetic.square(x)))


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """2/√π ∫₀ˣ exp(-t²) dt.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ERF.entry(x, name)


def _erf_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (_bell(call.inputs[0], dy, 2 / np.sqrt(np.pi)),)


ERF = register(unary("Erf", _in_float32_too(special_functions.erf), _erf_gradient, fuse="erf({x})"))


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """1 - erf(x), exact where x is large.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ERFC.entry(x, name)


def _erfc_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (_bell(call.inputs[0], dy, -2 / np.sqrt(np.pi)),)


ERFC = register(
    unary("Erfc", _in_float32_too(special_functions.erfc), _erfc_gradient, fuse="erfc({x})")
)


def _in_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel for any float from `function` of float64 arrays; results are rounded once."""

    def kernel(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide: Array = function(*[np.asarray(array, np.float64) for array in arrays])
        return wide.astype(dtype)

    return kernel


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The y with erf(y) = x.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return ERFINV.entry(x, name)


def _erfinv_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    scale = constants.constant(float(np.sqrt(np.pi) / 2), dy.dtype)
    return (dy * (scale * exponents.exp(arithmetic.square(call.outputs[0]))),)


ERFINV = register(unary("Erfinv", _in_float64(special_functions.erfinv), _erfinv_gradient))


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """The quantile function of the normal distribution.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return NDTRI.entry(x, name)


def _ndtri_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    scale = constants.constant(float(np.sqrt(2 * np.pi)), dy.dtype)
    half = constants.constant(0.5, dy.dtype)
    return (dy * (scale * exponents.exp(arithmetic.square(call.outputs[0]) * half)),)


NDTRI = register(unary("Ndtri", _in_float64(special_functions.ndtri), _ndtri_gradient))


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """`log |Γ(x)|`.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return LGAMMA.entry(x, name)


def _lgamma_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (dy * digamma(call.inputs[0]),)


LGAMMA = register(unary("Lgamma", _in_float64(special_functions.lgamma), _lgamma_gradient))


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of log Γ(x).

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return DIGAMMA.entry(x, name)


def _digamma_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    x = call.inputs[0]
    return (dy * _trigamma(x),)


def _trigamma(x: Tensor) -> Tensor:
    if x.dtype in _WIDE:
        return polygamma(constants.constant(1, x.dtype), x)
    from pinnace.ops.array import casting

    wide = casting.cast(x, float32)
    return casting.cast(polygamma(constants.constant(1, float32), wide), x.dtype)


DIGAMMA = register(unary("Digamma", _in_float64(special_functions.digamma), _digamma_gradient))


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The a-th derivative of the digamma function at x.

    Args:
        a: [...], float32 or float64: whole numbers from 0 on; others give NaN.
        x: [...], dtype of `a`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `a`.
    """
    return POLYGAMMA.entry(a, x, name)


def _polygamma_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    a, x = call.inputs
    # TensorFlow has no gradient for the order.
    return None, broadcasting.reduced_to(dy * polygamma(a + 1, x), x, a)


POLYGAMMA = register(
    binary(
        "Polygamma",
        _in_float64(special_functions.polygamma),
        _polygamma_gradient,
        types=_WIDE,
        signature="a: T, x: T -> z: T",
    )
)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Hurwitz's zeta function: Σ 1/(q + k)ˣ over k ≥ 0.

    Args:
        x: [...], float32 or float64, above 1; NaN below.
        q: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.
    """
    return ZETA.entry(x, q, name)


def _zeta_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, q = call.inputs
    # TensorFlow has no gradient for x.
    return None, broadcasting.reduced_to(dy * (arithmetic.negative(x) * zeta(x + 1, q)), q, x)


ZETA = register(
    binary(
        "Zeta",
        _in_float64(special_functions.zeta),
        _zeta_gradient,
        types=_WIDE,
        signature="x: T, q: T -> z: T",
    )
)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function: ∫₀ˣ tᵃ⁻¹ (1-t)ᵇ⁻¹ dt / B(a, b).

    Args:
        a: [...], float32 or float64, above 0.
        b: the shape and dtype of `a`, above 0; or a scalar.
        x: the shape and dtype of `a`, in [0, 1]; or a scalar.
        name: name of the node while tracing.

    Returns:
        The shape of those that are no scalars, dtype of `a`.

    Raises:
        InvalidArgumentError: shapes differ.

    Source:
        TensorFlow op `Betainc` (math_ops.cc), which takes one shape or scalars.
    """
    return execute_one(BETAINC, a, b, x, name=name)


def _betainc_kernel(a: Array, b: Array, x: Array) -> Array:
    return _in_float64(special_functions.betainc)(a, b, x)


def _betainc_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    a, b, x = call.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    # TensorFlow has no gradients for a and b.
    slope = exponents.exp(
        exponents.xlog1py(b - 1, arithmetic.negative(x)) + exponents.xlogy(a - 1, x) - log_beta
    )
    dx = dy * slope
    return None, None, broadcasting.reduced_to(dx, x, dx)


def _infer_betainc(call: InferCall) -> Shape:
    """The common shape of all inputs except scalars."""
    shapes = [call.spec(index).shape for index in range(3)]
    shape = Shape(None if any(s.rank is None for s in shapes) else ())
    for one in shapes:
        if one.rank:
            if not shape.is_compatible_with(one) and shape.rank != 0:
                call.fail("a, b and x must have one shape, or be scalars")
            shape = one if shape.rank == 0 else shape.merge_with(one)
    return shape


BETAINC = define(
    name="Betainc",
    signature="a: T, b: T, x: T -> z: T",
    types={"T": _WIDE},
    infer=_infer_betainc,
    kernel=_betainc_kernel,
    gradient=_betainc_gradient,
)


@takes_composites(values=1)
def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The y with erfc(y) = x.

    Args:
        x: [...], a float type, in [0, 2].
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.
    """
    half = arithmetic.multiply(convert_to_tensor(x), 0.5)
    return arithmetic.multiply(ndtri(half), -np.sqrt(0.5).item(), name)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """`log |B(x)|` over the last axis: Σ log |Γ(xᵢ)| - log |Γ(Σ xᵢ)|.

    Args:
        x: [..., n], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    tensor = convert_to_tensor(x)
    parts = reduction.reduce_sum(lgamma(tensor), -1)
    return arithmetic.subtract(parts, lgamma(reduction.reduce_sum(tensor, -1)), name)

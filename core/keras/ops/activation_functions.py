"""Less common activation functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import piecewise
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.networks import hard_silu, silu
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import floating

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# Keras' aliases.
swish = silu
hard_swish = hard_silu


hard_tanh = unary("hard_tanh", piecewise.hard_tanh, "x clipped to [-1, 1].", module="nn")
sparse_plus = unary(
    "sparse_plus",
    piecewise.sparse_plus,
    "0 below -1, x above 1, (x + 1)² / 4 between.",
    module="nn",
)
sparse_sigmoid = unary(
    "sparse_sigmoid",
    piecewise.sparse_sigmoid,
    "0 below -1, 1 above 1, (x + 1) / 2 between.",
    module="nn",
)
tanh_shrink = unary("tanh_shrink", piecewise.tanh_shrink, "x - tanh(x).", module="nn")


@operation("nn", "Celu", "alpha")
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1).

    Args:
        x: [...]; integers become floats.
        alpha: minus the limit at -∞.

    Returns:
        The shape of `x`.
    """
    return piecewise.celu(floating(x), alpha)


@operation("nn", "Glu", "axis")
def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second.

    Args:
        x: [..., 2 n, ...]; integers become floats.
        axis: the axis that is halved.

    Returns:
        [..., n, ...].

    Raises:
        ValueError: the size of the axis is odd.
    """
    return piecewise.glu(floating(x), axis)


@operation("nn", "HardShrink", "threshold")
def hard_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """x where abs(x) is above the threshold, else 0.

    Args:
        x: [...]; integers become floats.
        threshold: not negative.

    Returns:
        The shape of `x`.
    """
    return piecewise.hard_shrink(floating(x), threshold)


@operation("nn", "SoftShrink", "threshold")
def soft_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """x moved towards 0 by the threshold, at most to 0.

    Args:
        x: [...]; integers become floats.
        threshold: not negative.

    Returns:
        The shape of `x`.
    """
    return piecewise.soft_shrink(floating(x), threshold)


@operation("nn", "Sparsemax", "axis")
def sparsemax(x: Any, axis: int = -1) -> Tensor:
    """The projection of x onto probabilities along an axis, many of which are 0.

    Args:
        x: [...]; integers become floats.
        axis: the axis along which they add up to 1.

    Returns:
        The shape of `x`.
    """
    return piecewise.sparsemax(floating(x), axis)


@operation("nn", "Squareplus", "b")
def squareplus(x: Any, b: float = 4) -> Tensor:
    """(x + sqrt(x² + b)) / 2: a smooth max(x, 0).

    Args:
        x: [...]; integers become floats.
        b: how round the corner is; 0 is max(x, 0).

    Returns:
        The shape of `x`.
    """
    return piecewise.squareplus(floating(x), b)


@operation("nn", "Threshold", "threshold", "default_value")
def threshold(x: Any, threshold: float, default_value: float) -> Tensor:
    """x where it is above the threshold, else another value.

    Args:
        x: [...]; integers become floats.
        threshold: the value that `x` must exceed.
        default_value: the other value.

    Returns:
        The shape of `x`.
    """
    return piecewise.threshold(floating(x), threshold, default_value)

"""Activation functions, elementwise or along an axis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import piecewise, registry
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.piecewise import celu as celu
from pinnace.keras.piecewise import glu as glu
from pinnace.keras.piecewise import hard_shrink as hard_shrink
from pinnace.keras.piecewise import hard_tanh as hard_tanh
from pinnace.keras.piecewise import soft_shrink as soft_shrink
from pinnace.keras.piecewise import sparse_plus as sparse_plus
from pinnace.keras.piecewise import sparse_sigmoid as sparse_sigmoid
from pinnace.keras.piecewise import sparsemax as sparsemax
from pinnace.keras.piecewise import squareplus as squareplus
from pinnace.keras.piecewise import tanh_shrink as tanh_shrink
from pinnace.keras.piecewise import threshold as threshold
from pinnace.keras.symbolic_activations import of_symbols_too
from pinnace.ops.array import casting, selecting
from pinnace.ops.math import arithmetic, comparison, exponents, reduction, trigonometry
from pinnace.ops.nn import rectifiers, smooth, softmaxes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

ActivationLike: TypeAlias = Callable[..., Any] | str | dict[str, Any] | None


def linear(x: Any) -> Any:
    """x itself."""
    return x


@of_symbols_too
def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """max(x, 0); optionally capped at max_value, and linear below threshold.

    Args:
        x: [...], any float dtype.
        negative_slope: slope of the line below `threshold`.
        max_value: upper bound of results; None for no bound.
        threshold: the x at which the line meets 0.
    """
    if threshold == 0.0 and max_value is None:
        return rectifiers.leaky_relu(x, negative_slope) if negative_slope else rectifiers.relu(x)
    if threshold == 0.0 and max_value == 6.0 and not negative_slope:
        return rectifiers.relu6(x)
    above = x if max_value is None else arithmetic.minimum(x, max_value)
    below = (x - threshold) * negative_slope
    return selecting.where(comparison.greater(x, threshold), above, below)


@of_symbols_too
def relu6(x: Any) -> Tensor:
    """min(max(x, 0), 6)."""
    return rectifiers.relu6(x)


@of_symbols_too
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Tensor:
    """x where positive, else negative_slope x.

    Args:
        x: [...], a float type.
        negative_slope: the slope below 0.

    Returns:
        [...], dtype of `x`.
    """
    return rectifiers.leaky_relu(x, negative_slope)


@of_symbols_too
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x) - 1).

    Args:
        x: [...], a float type.
        alpha: the limit for large negative x is -alpha.

    Returns:
        [...], dtype of `x`.
    """
    y = smooth.elu(x)
    if alpha == 1.0:
        return y
    return selecting.where(comparison.greater(x, 0.0), y, y * alpha)


@of_symbols_too
def selu(x: Any) -> Tensor:
    """The ELU that preserves mean 0 and variance 1 (Klambauer et al. 2017)."""
    return smooth.selu(x)


@of_symbols_too
def gelu(x: Any, approximate: bool = False) -> Tensor:
    """x times the standard normal distribution function of x.

    Args:
        x: [...], any float dtype.
        approximate: whether to approximate it with tanh.
    """
    return smooth.gelu(x, approximate)


@of_symbols_too
def silu(x: Any) -> Tensor:
    """x sigmoid(x)."""
    return smooth.silu(x)


@of_symbols_too
def sigmoid(x: Any) -> Tensor:
    """1 / (1 + exp(-x))."""
    return _with_logits(exponents.sigmoid(x), x)


@of_symbols_too
def hard_sigmoid(x: Any) -> Tensor:
    """min(max(x / 6 + 1/2, 0), 1)."""
    return rectifiers.relu6(x + 3.0) / 6.0


@of_symbols_too
def hard_silu(x: Any) -> Tensor:
    """x hard_sigmoid(x)."""
    return arithmetic.multiply(x, hard_sigmoid(x))


@of_symbols_too
def log_sigmoid(x: Any) -> Tensor:
    """log(sigmoid(x))."""
    return smooth.log_sigmoid(x)


@of_symbols_too
def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent."""
    return trigonometry.tanh(_as_floats(x))


@of_symbols_too
def softmax(x: Any, axis: int | Sequence[int] = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along one or several axes.

    Args:
        x: [...], a float type.
        axis: the axis of the classes, or several.

    Returns:
        [...], dtype of `x`.
    """
    if not isinstance(axis, int) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, int):
        return _with_logits(softmaxes.softmax(x, axis), x)
    shifted = arithmetic.subtract(x, reduction.reduce_max(x, list(axis), keepdims=True))
    powers = exponents.exp(shifted)
    return _with_logits(powers / reduction.reduce_sum(powers, list(axis), keepdims=True), x)


def _with_logits(shares: Tensor, x: Any) -> Tensor:
    """The probabilities of `x`, which crossentropies read instead: `losses.logits_behind`."""
    shares._keras_logits = convert_to_tensor(x)
    return shares


@of_symbols_too
def log_softmax(x: Any, axis: int | Sequence[int] = -1) -> Tensor:
    """log(softmax(x)).

    Args:
        x: [...], a float type.
        axis: the axis of the classes, or several.

    Returns:
        [...], dtype of `x`.
    """
    if isinstance(axis, int):
        return softmaxes.log_softmax(x, axis)
    if len(axis) == 1:
        return softmaxes.log_softmax(x, axis[0])
    # `reduce_logsumexp` would lose the logarithm beside the large numbers that masks add.
    shifted = arithmetic.subtract(x, reduction.reduce_max(x, list(axis), keepdims=True))
    total = reduction.reduce_sum(exponents.exp(shifted), list(axis), keepdims=True)
    return arithmetic.subtract(shifted, exponents.log(total))


@of_symbols_too
def softplus(x: Any) -> Tensor:
    """log(1 + exp(x))."""
    return smooth.softplus(x)


@of_symbols_too
def softsign(x: Any) -> Tensor:
    """x / (1 + abs(x))."""
    return smooth.softsign(x)


@of_symbols_too
def exponential(x: Any) -> Tensor:
    """exp(x)."""
    return exponents.exp(_as_floats(x))


@of_symbols_too
def mish(x: Any) -> Tensor:
    """x tanh(softplus(x))."""
    return arithmetic.multiply(x, trigonometry.tanh(smooth.softplus(x)))


def _as_floats(x: Any) -> Any:
    """Integers and bools as floats, as Keras computes; other values unchanged."""
    x = x if hasattr(x, "dtype") else convert_to_tensor(x)
    kind = dtypes.as_dtype(x.dtype)
    return casting.cast(x, floatx()) if kind.is_integer or kind is dtypes.bool else x


swish = silu
hard_swish = hard_silu

_FUNCTIONS = (
    *(linear, relu, relu6, leaky_relu, elu, selu, gelu, silu, sigmoid, hard_sigmoid, hard_silu),
    *(log_sigmoid, tanh, softmax, log_softmax, softplus, softsign, exponential, mish),
    *piecewise.FUNCTIONS,
)
_TABLE: dict[str, Any] = {
    **{function.__name__: function for function in _FUNCTIONS},
    "swish": silu,
    "hard_swish": hard_silu,
}


def get(identifier: ActivationLike) -> Callable[..., Any]:
    """The function that a name, configuration or function stands for; `linear` for None.

    Raises:
        ValueError: an unknown name.
    """
    found = registry.by_name("activation", identifier, _TABLE, none=linear)
    if not callable(found):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"activation: must be a name or a function, got {identifier!r}"
        )
    return found  # type: ignore[no-any-return]


def serialize(activation: Callable[..., Any]) -> Any:
    """The name of one of these functions, or a configuration of another one."""
    if inspect.isfunction(activation) and _TABLE.get(activation.__name__) is activation:
        return activation.__name__
    return registry.serialize_keras_object(activation)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The function with that name or configuration.

    Args:
        config: the result of `serialize`, or a name.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    if isinstance(config, str):
        return get(config)
    return registry.deserialize_keras_object(config, custom_objects)

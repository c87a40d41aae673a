"""Functions of tensors with the names and defaults of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.functions.control.conditional import cond
from pinnace.keras import activations
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.image_format import checked_format
from pinnace.ops.array import (
    casting,
    gathering,
    indicators,
    reshaping,
    selecting,
)
from pinnace.ops.array.casting import cast as cast
from pinnace.ops.math import (
    clipping,
    counting,
    cumulation,
    exponents,
    extremes,
    products,
    ranges,
    reduction,
    statistics,
)
from pinnace.ops.math.arithmetic import maximum as maximum
from pinnace.ops.math.arithmetic import minimum as minimum
from pinnace.ops.math.arithmetic import square as square
from pinnace.ops.math.comparison import equal as equal
from pinnace.ops.math.comparison import greater as greater
from pinnace.ops.math.comparison import greater_equal as greater_equal
from pinnace.ops.math.comparison import less as less
from pinnace.ops.math.comparison import less_equal as less_equal
from pinnace.ops.math.comparison import not_equal as not_equal
from pinnace.ops.math.exponents import exp as exp
from pinnace.ops.math.exponents import log as log
from pinnace.ops.math.exponents import sigmoid as sigmoid
from pinnace.ops.math.polar import abs as abs
from pinnace.ops.math.polar import sign as sign
from pinnace.ops.math.rounding import round as round
from pinnace.ops.math.trigonometry import cos as cos
from pinnace.ops.math.trigonometry import sin as sin
from pinnace.ops.math.trigonometry import tanh as tanh
from pinnace.ops.nn import dropouts, normalization, rectifiers, smooth

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    *("abs", "all", "any", "arange", "argmax", "argmin", "bias_add", "cast", "clip"),
    *("cos", "cumprod", "cumsum", "dot", "dropout", "elu", "equal", "exp", "gather"),
    *("greater", "greater_equal", "hard_sigmoid", "in_top_k", "l2_normalize", "less"),
    *("less_equal", "log", "max", "maximum", "mean", "min", "minimum", "not_equal"),
    *("one_hot", "prod", "relu", "round", "sigmoid", "sign", "sin", "softmax", "sqrt"),
    *("square", "std", "sum", "switch", "tanh", "var"),
]


# Reductions along axes.


def _numbers(x: Any) -> Tensor:
    """Bools as numbers; other tensors unchanged."""
    x = convert_to_tensor(x)
    return casting.cast(x, floatx()) if x.dtype.is_bool else x


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, of all elements if None.

    Args:
        x: [...], a number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_sum(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along axes; truth values count as 0 and 1.

    Args:
        x: [...], a number type or bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes.
    """
    return reduction.reduce_mean(_numbers(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The variance along axes.

    Args:
        x: [...], a number type or bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes.
    """
    return statistics.reduce_variance(_numbers(x), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The standard deviation along axes.

    Args:
        x: [...], a number type or bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes.
    """
    return statistics.reduce_std(_numbers(x), axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product along axes.

    Args:
        x: [...], a number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_prod(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element along axes.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element along axes.

    Args:
        x: [...], a real number type.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, dtype of `x`.
    """
    return reduction.reduce_min(x, axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all are true along axes.

    Args:
        x: [...], cast to bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, bool.
    """
    return reduction.reduce_all(casting.cast(x, "bool"), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element is true along axes.

    Args:
        x: [...], cast to bool.
        axis: an axis or several; all if None.
        keepdims: reduced axes stay, with size 1.

    Returns:
        [...] without the reduced axes, bool.
    """
    return reduction.reduce_any(casting.cast(x, "bool"), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Tensor:
    """The index of the largest element along `axis`.

    Args:
        x: [...], a real number type.
        axis: an axis; negative ones count from the end.

    Returns:
        [...] without `axis`, int64; the first of equal elements.
    """
    return extremes.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Tensor:
    """The index of the smallest element along `axis`.

    Args:
        x: [...], a real number type.
        axis: an axis; negative ones count from the end.

    Returns:
        [...] without `axis`, int64; the first of equal elements.
    """
    return extremes.argmin(x, axis)


def cumsum(x: Any, axis: int = 0) -> Tensor:
    """The cumulative sum.

    Args:
        x: [...], a number type.
        axis: an axis; negative ones count from the end.

    Returns:
        The shape and dtype of `x`.
    """
    return cumulation.cumsum(x, axis)


def cumprod(x: Any, axis: int = 0) -> Tensor:
    """The cumulative product.

    Args:
        x: [...], a number type.
        axis: an axis; negative ones count from the end.

    Returns:
        The shape and dtype of `x`.
    """
    return cumulation.cumprod(x, axis)


def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    """x normalized to length 1 along axes.

    Args:
        x: [...], a float type.
        axis: an axis or several; all if None.

    Returns:
        The shape and dtype of `x`.
    """
    return normalization.l2_normalize(x, axis)


# Elementwise functions.


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """x clipped to the interval between two numbers; None is no bound.

    Args:
        x: [...], a real number type.
        min_value: the lower bound.
        max_value: the upper bound; one below `min_value` counts as `min_value`.

    Returns:
        The shape and dtype of `x`.
    """
    low = -np.inf if min_value is None else min_value
    high = np.inf if max_value is None else max_value
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and high < low:
        high = low
    return clipping.clip_by_value(x, low, high)


def sqrt(x: Any) -> Tensor:
    """The square root; 0 for negative numbers."""
    x = convert_to_tensor(x)
    return exponents.sqrt(maximum(x, 0))


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """x clipped to max_value; below `threshold`, alpha (x - threshold).

    Args:
        x: [...], a real number type.
        alpha: the slope below `threshold`.
        max_value: largest result; None is none.
        threshold: the x at which the slope 1 begins.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    if not threshold and max_value is None:
        return rectifiers.leaky_relu(x, alpha) if alpha else rectifiers.relu(x)
    above = x if max_value is None else minimum(x, convert_to_tensor(max_value, x.dtype))
    return selecting.where(x > threshold, above, alpha * (x - threshold))


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha (exp(x) - 1) below.

    Args:
        x: [...], a float type.
        alpha: minus the limit at -∞.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    found = smooth.elu(x)
    return found if alpha == 1 else selecting.where(x > 0, found, alpha * found)


def hard_sigmoid(x: Any) -> Any:
    """0.2 x + 0.5 clipped to [0, 1], with the slope of older versions."""
    return clipping.clip_by_value(0.2 * convert_to_tensor(x) + 0.5, 0.0, 1.0)


def softmax(x: Any, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        x: [...], a float type, two axes or more.
        axis: the axis along which they are normalised.

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two axes.
    """
    x = convert_to_tensor(x)
    if len(x.shape) < 2:
        raise ValueError(f"softmax: x must have two axes or more, got shape {x.shape}")
    return activations.softmax(x, axis)


def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Tensor:
    """Set a share of `level` of the elements to 0, and scale the others up.

    Args:
        x: [...], a float type.
        level: probability of each element to become 0, from 0 to below 1.
        noise_shape: broadcastable to `x`: axes of size 1 are dropped as one.
        seed: an int; None draws other elements each time.

    Returns:
        The shape and dtype of `x`.
    """
    return dropouts.dropout(x, level, noise_shape, seed)


# Gathering, products and conditions.


def gather(reference: Any, indices: Any) -> Tensor:
    """The rows with these indices.

    Args:
        reference: [n, ...].
        indices: integers of any shape, below n.

    Returns:
        The shape of `indices`, then [...].
    """
    return gathering.gather(reference, indices)


def one_hot(indices: Any, num_classes: int) -> Tensor:
    """Rows with a one at each index.

    Args:
        indices: integers of any shape.
        num_classes: size of the new last axis.

    Returns:
        [*shape of indices, num_classes], float32.
    """
    return indicators.one_hot(indices, num_classes)


def in_top_k(predictions: Any, targets: Any, k: int) -> Tensor:
    """Whether each target is among the k largest of its row.

    Args:
        predictions: [b, classes], float32.
        targets: [b], class numbers.
        k: the number.

    Returns:
        [b], bool.
    """
    return counting.in_top_k(targets, predictions, k)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Tensor:
    """The numbers from `start` (default 0) up to, but excluding, `stop`.

    Args:
        start: the first number; with `stop` None the end instead.
        stop: the end, not included.
        step: distance of the numbers.
        dtype: dtype of the result.

    Returns:
        [n], dtype `dtype`.
    """
    if stop is None:
        start, stop = 0, start if start > 0 else 0
    return casting.cast(ranges.range(start, stop, step), as_dtype(dtype))


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """Add a number for each channel, or for each position and channel.

    Args:
        x: [b, ..., channels], or channels first.
        bias: [channels], or the shape of `x` without the batch.
        data_format: "channels_first" or "channels_last" (if None).

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: `bias` has another rank.
    """
    x, bias = convert_to_tensor(x), convert_to_tensor(bias)
    rank = len(x.shape)
    sizes = list(bias.shape)
    if len(sizes) not in {1, rank - 1}:
        raise ValueError(f"bias_add: bias must have 1 or {rank - 1} axes, got shape {bias.shape}")
    if checked_format("bias_add", data_format) == "channels_first":
        wanted = [1, sizes[-1], *(sizes[:-1] or [1] * (rank - 2))]
    else:
        wanted = [1, *sizes] if len(sizes) > 1 else sizes
    return x + reshaping.reshape(bias, wanted)


def dot(x: Any, y: Any) -> Tensor:
    """Products summed over the last axis of x and the last but one of y.

    Args:
        x: [..., k].
        y: [..., k, n].

    Returns:
        The other axes of `x`, then those of `y`.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    return products.tensordot(x, y, [[len(x.shape) - 1], [len(y.shape) - 2]])


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, by a scalar or elementwise condition that broadcasts from the left.

    Args:
        condition: [], or leading axes of both; cast to bool.
        then_expression: a tensor, or a function that gives it.
        else_expression: likewise, of the same shape and dtype.
    """
    condition = casting.cast(condition, "bool")
    then, other = (
        one if callable(one) else (lambda one=one: one)
        for one in (then_expression, else_expression)
    )
    if not len(condition.shape):
        return cond(condition, then, other)
    x, y = convert_to_tensor(then()), convert_to_tensor(other())
    sizes = [*condition.shape, *[1] * (len(x.shape) - len(condition.shape))]
    if None in sizes:
        sizes[sizes.index(None)] = -1
    return selecting.where(reshaping.reshape(condition, sizes), x, y)

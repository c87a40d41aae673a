"""Functions of networks: activations, products, pooling, one-hot encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.keras import activations
from pinnace.keras.batch_moments import batch_moments
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.formats import channels_last, channels_restored
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import alike, floating, pair
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, indicators, reshaping
from pinnace.ops.array.saturation import saturate_cast
from pinnace.ops.math import (
    arithmetic,
    division,
    einstein,
    error_and_gamma,
    exponents,
    polar,
    products,
    reduction,
)
from pinnace.ops.nn import convolutions, pooling, smooth, softmaxes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


erfinv = unary(
    "erfinv", error_and_gamma.erfinv, "The inverse of the error function.", module="math"
)
relu = unary("relu", activations.relu, "max(x, 0).", None, module="nn")
relu6 = unary("relu6", activations.relu6, "min(max(x, 0), 6).", None, module="nn")
sigmoid = unary("sigmoid", activations.sigmoid, "1 / (1 + exp(-x)).", module="nn")
softplus = unary("softplus", activations.softplus, "log(1 + exp(x)).", module="nn")
softsign = unary("softsign", activations.softsign, "x / (1 + |x|).", module="nn")
silu = unary("silu", activations.silu, "x sigmoid(x).", module="nn")
hard_sigmoid = unary("hard_sigmoid", activations.hard_sigmoid, "relu6(x + 3) / 6.", module="nn")
hard_silu = unary("hard_silu", activations.hard_silu, "x relu6(x + 3) / 6.", module="nn")
log_sigmoid = unary("log_sigmoid", smooth.log_sigmoid, "log(sigmoid(x)).", module="nn")
selu = unary(
    "selu", activations.selu, "A scaled `elu` that preserves mean 0 and variance 1.", module="nn"
)


@operation("nn", "LeakyRelu", "negative_slope")
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Tensor:
    """x where positive, else negative_slope x.

    Args:
        x: [...], a float type.
        negative_slope: factor of negative numbers.

    Returns:
        The shape and dtype of `x`.
    """
    return activations.leaky_relu(x, negative_slope)


@operation("nn", "Elu", "alpha")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x) - 1).

    Args:
        x: [...]; integers become floats.
        alpha: minus the limit at -∞.

    Returns:
        The shape of `x`.
    """
    return activations.elu(floating(x), alpha)


@operation("nn", "Gelu", "approximate")
def gelu(x: Any, approximate: bool = True) -> Tensor:
    """x times the standard normal distribution function of x.

    Args:
        x: [...]; integers become floats.
        approximate: whether by tanh instead of the error function.

    Returns:
        The shape of `x`.
    """
    return activations.gelu(floating(x), approximate)


@operation("nn", "Softmax", "axis")
def softmax(x: Any, axis: int = -1) -> Tensor:
    """exp(x), divided by its sum along an axis.

    Args:
        x: [...]; integers become floats.
        axis: the axis along which they are normalised, or several that are normalised together; all
            if None.

    Returns:
        The shape of `x`.
    """
    if not isinstance(axis, int):
        return exponents.exp(_normalised_logarithm(x, axis))
    return activations.softmax(floating(x), axis)


@operation("nn", "LogSoftmax", "axis")
def log_softmax(x: Any, axis: int = -1) -> Tensor:
    """log(softmax(x)).

    Args:
        x: [...]; integers become floats.
        axis: the axis along which they are normalised, or several that are normalised together.

    Returns:
        The shape of `x`.
    """
    if not isinstance(axis, int):
        return _normalised_logarithm(x, axis)
    return softmaxes.log_softmax(floating(x), axis)


def _normalised_logarithm(x: Any, axes: Any) -> Tensor:
    tensor = floating(x)
    axes = range(len(tensor.shape)) if axes is None else axes
    shifted: Tensor = tensor - reduction.reduce_max(tensor, list(axes), keepdims=True)
    summed = reduction.reduce_sum(exponents.exp(shifted), list(axes), keepdims=True)
    return shifted - exponents.log(summed)


@operation("nn", "OneHot", "num_classes", "axis", "dtype")
def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """1 at each class index, else 0.

    Args:
        x: integers of any shape.
        num_classes: size of the new axis.
        axis: position of the new axis in the result.
        dtype: dtype of the result; the default float type if None.
        sparse: whether the result is a SparseTensor, which holds the ones alone.
    """
    dense = indicators.one_hot(
        casting.cast(x, "int64"), num_classes, axis=axis, dtype=dtypes.as_dtype(dtype or floatx())
    )
    if not sparse:
        return dense
    from pinnace.ops.composites.sparse.functions import from_dense  # late: few ask for it

    return from_dense(dense)


@operation("nn", "Normalize", "axis", "order", "epsilon")
def normalize(x: Any, axis: int = -1, order: int = 2, epsilon: float | None = None) -> Tensor:
    """x divided by its norm along an axis, but at least by `epsilon`.

    Args:
        x: [...]; integers become floats.
        axis: the axis of the vectors.
        order: order of the norm, at least 1.
        epsilon: least length; 1e-7 if None.

    Returns:
        The shape of `x`.
    """
    x = floating(x)
    least = 1e-7 if epsilon is None else epsilon
    if not isinstance(order, int) or order < 1:
        raise ValueError(
            f"keras.ops.normalize: Argument `order` must be an int >= 1, got {order!r}"
        )
    if order == 2:
        size = exponents.sqrt(reduction.reduce_sum(arithmetic.square(x), axis, keepdims=True))
    elif order == 1:
        size = reduction.reduce_sum(polar.abs(x), axis, keepdims=True)
    else:
        powers = exponents.pow(polar.abs(x), order)
        size = exponents.pow(reduction.reduce_sum(powers, axis, keepdims=True), 1 / order)
    return division.divide(x, arithmetic.maximum(size, least))


@operation("nn", "Moments", "axes", "keepdims", "synchronized")
def moments(
    x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False
) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes.

    Args:
        x: [...]; integers become floats.
        axes: an axis or several.
        keepdims: reduced axes stay, with size 1.
        synchronized: whether the values of all replicas of a strategy count.

    Returns:
        Two tensors [...] without `axes`.
    """
    x = floating(x)
    over = [axes] if isinstance(axes, int) else list(axes)
    if x.dtype is not dtypes.float16:
        return batch_moments(x, over, synchronized=synchronized, keepdims=keepdims)
    # Keras: float16 overflows in sums of squares; compute in float32 and saturate.
    wide = casting.cast(x, dtypes.float32)
    mean, variance = batch_moments(wide, over, synchronized=synchronized, keepdims=keepdims)
    return saturate_cast(mean, x.dtype), saturate_cast(variance, x.dtype)


@operation("nn", "MaxPool", "pool_size", "strides", "padding", "data_format")
def max_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The maximum of each window.

    Args:
        inputs: [batch, *spatial, channels].
        pool_size: size of the window, a number or one per spatial axis.
        strides: its step, likewise; `pool_size` if None.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, *spatial', channels], dtype of `inputs`.
    """
    x, first = channels_last("max_pool", inputs, data_format)
    return channels_restored(_pooled(x, "MAX", pool_size, strides, padding), first)


@operation("nn", "AveragePool", "pool_size", "strides", "padding", "data_format")
def average_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """The mean of each window.

    Args:
        inputs: [batch, *spatial, channels].
        pool_size: size of the window, a number or one per spatial axis.
        strides: its step, likewise; `pool_size` if None.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, *spatial', channels], dtype of `inputs`.
    """
    x, first = channels_last("average_pool", inputs, data_format)
    return channels_restored(_pooled(x, "AVG", pool_size, strides, padding), first)


def _pooled(x: Tensor, kind: str, pool_size: Any, strides: Any, padding: str) -> Tensor:
    rank = len(x.shape) - 2
    window = [pool_size] * rank if isinstance(pool_size, int) else list(pool_size)
    steps = window if strides is None else strides
    steps = [steps] * rank if isinstance(steps, int) else list(steps)
    return pooling.pool(x, window, kind, strides=steps, padding=padding.upper())


@operation("nn", "Conv", "strides", "padding", "data_format", "dilation_rate")
def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """Convolution with a kernel [..., channels in, channels out].

    Args:
        inputs: [batch, *spatial, channels], a float type; one to three spatial axes.
        kernel: [*window, channels / groups, outputs].
        strides: a number, or one per spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.
        dilation_rate: distance of the taps, a number or one per spatial axis.

    Returns:
        [batch, *spatial', outputs].
    """
    x, first = channels_last("conv", inputs, data_format)
    rank = len(x.shape) - 2
    steps, spread = (
        [n] * rank if isinstance(n, int) else list(n) for n in (strides, dilation_rate)
    )
    y = convolutions.convolution(x, kernel, steps, padding.upper(), dilations=spread)
    return channels_restored(y, first)


# Products.


@operation("numpy", "Matmul", sparse="matmul")
def matmul(x1: Any, x2: Any) -> Tensor:
    """The product of the last two axes; a vector is a row on the left, a column on the right.

    Args:
        x1: [..., m, k], or [k].
        x2: [..., k, n], or [k]; both are promoted to one dtype.

    Returns:
        [..., m, n], without the axis that a vector was given.
    """
    a, b = alike(x1, x2)
    kind = None
    if a.dtype.is_bool or (a.dtype.is_integer and a.dtype not in {dtypes.int32, dtypes.int64}):
        # Keras: computed in floats; the product of two int8 matrices is int32.
        bytes_ = a.dtype is dtypes.int8 and min(len(a.shape), len(b.shape)) > 1
        kind = "int32" if bytes_ and _are_int8(x1, x2) else result_type(a.dtype)
        a, b = casting.cast(a, floatx()), casting.cast(b, floatx())
    ranks = (len(a.shape), len(b.shape))
    if ranks[0] == 1:
        a = reshaping.expand_dims(a, 0)
    if ranks[1] == 1:
        b = reshaping.expand_dims(b, -1)
    y = products.matmul(a, b)
    if ranks[1] == 1:
        y = reshaping.squeeze(y, [-1])
    if ranks[0] == 1:
        y = reshaping.squeeze(y, [-1 if ranks[1] == 1 else -2])
    return y if kind is None else casting.cast(y, kind)


def _are_int8(*values: Any) -> bool:
    return all(getattr(x, "dtype", None) == "int8" for x in values)


@operation("numpy", "Dot")
def dot(x1: Any, x2: Any) -> Tensor:
    """The sum over the last axis of x1 and the last but one of x2.

    Args:
        x1: [..., k], or a number.
        x2: [..., k, n], [k] or a number; both are promoted to one dtype.

    Returns:
        The other axes of `x1`, then those of `x2`.
    """
    a, b = alike(x1, x2)
    if not len(a.shape) or not len(b.shape):
        return a * b
    return products.tensordot(a, b, [[-1], [-1 if len(b.shape) == 1 else -2]])


@operation("numpy", "Tensordot", "axes")
def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Tensor:
    """The sum over pairs of axes.

    Args:
        x1: a tensor.
        x2: a tensor; both are promoted to one dtype.
        axes: how many of the last axes of `x1` and first of `x2`; or two lists of axes.

    Returns:
        The other axes of `x1`, then those of `x2`.
    """
    return products.tensordot(*pair(x1, x2), axes)


@operation("numpy", "Einsum", "subscripts")
def einsum(subscripts: str, *operands: Any) -> Tensor:
    """Products and sums by Einstein's notation.

    Args:
        subscripts: such as "ij,jk->ik".
        *operands: a tensor per term, promoted to one dtype.
    """
    return einstein.einsum(subscripts, *alike(*operands))


@operation("numpy", "Outer")
def outer(x1: Any, x2: Any) -> Tensor:
    """The outer product: each element of one times each of the other.

    Args:
        x1: a tensor of m elements.
        x2: a tensor of n elements; both are promoted to one dtype.

    Returns:
        [m, n].
    """
    a, b = alike(x1, x2)
    return reshaping.reshape(a, [-1, 1]) * reshaping.reshape(b, [1, -1])

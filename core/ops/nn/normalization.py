"""Normalisation: FusedBatchNorm, LRN, moments, and what is composed of them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import bfloat16, float16, float32
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import casting, constants, gathering, reshaping, shapes
from pinnace.ops.execute import execute
from pinnace.ops.kernels import normalization as kernels
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import arithmetic, exponents, reduction
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import register, same_as_input

__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "fused_batch_norm",
    "l2_normalize",
    "local_response_normalization",
    "lrn",
    "moments",
    "normalize_moments",
    "sufficient_statistics",
    "weighted_moments",
]


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Scale (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Args:
        x: any shape, any float dtype.
        mean: broadcastable to x, as are the following.
        variance: not negative.
        offset: None for 0.
        scale: None for 1.
        variance_epsilon: a small number.
        name: name of the node while tracing.

    Source:
        Ioffe and Szegedy, 2015; TensorFlow `tf.nn.batch_normalization`.
    """
    x = convert_to_tensor(x)
    mean = convert_to_tensor(mean, dtype_hint=x.dtype)
    variance = convert_to_tensor(variance, dtype_hint=x.dtype)
    factor = exponents.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    # Mean and offset as one number: two passes over x, not four.
    shift = -mean * factor if offset is None else offset - mean * factor
    return arithmetic.add(
        x * casting.cast(factor, x.dtype), casting.cast(convert_to_tensor(shift), x.dtype), name
    )


def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """`batch_normalization` under older names; `gamma` is used if `scale_after_normalization`.

    Source:
        TensorFlow `tf.nn.batch_norm_with_global_normalization`.
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation of images or volumes, in one op.

    Args:
        x: [batch, *spatial, channels], or channels first; float16, bfloat16 or float32.
        scale: [channels], float32, as are the following.
        offset: [channels].
        mean: [channels]; not needed while training with `exponential_avg_factor` 1.
        variance: [channels]; likewise.
        epsilon: added to the variance.
        data_format: "NHWC", "NCHW", "NDHWC" or "NCDHW".
        is_training: normalise by the moments of the batch, not by `mean` and `variance`.
        name: name of the node while tracing.
        exponential_avg_factor: weight of the moments of the batch in the running ones.

    Returns:
        y of the shape and dtype of x; running mean and variance (with Bessel's correction).

    Source:
        TensorFlow op `FusedBatchNormV3` (nn_ops.cc).
    """
    empty = np.zeros(0, np.float32)
    y, running_mean, running_variance, *_ = execute(
        FUSED_BATCH_NORM_V3,
        x,
        scale,
        offset,
        empty if mean is None else mean,
        empty if variance is None else variance,
        # TensorFlow: cuDNN's least epsilon, on every device.
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, running_mean, running_variance


def moments(
    x: TensorLike,
    axes: Any,
    shift: TensorLike | None = None,  # noqa: ARG001 (TensorFlow ignores it too)
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001 (of a scope, which has no node of its own)
) -> tuple[Tensor, Tensor]:
    """Mean and variance of x over `axes`.

    Args:
        x: [...], any float dtype; 16-bit floats are computed with in float32.
        axes: the axes that are reduced.
        shift: ignored.
        keepdims: reduced axes stay, with size 1.
        name: ignored.

    Returns:
        Both [...] without the reduced axes, dtype of x.

    Source:
        TensorFlow `tf.nn.moments`.
    """
    x = convert_to_tensor(x)
    wide = casting.cast(x, float32) if x.dtype in {float16, bfloat16} else x
    mean = reduction.reduce_mean(wide, axes, keepdims=True)
    # TensorFlow stops the gradient at this mean: right for first derivatives only.
    squares = arithmetic.squared_difference(wide, mean)
    variance = reduction.reduce_mean(squares, axes, keepdims=True)
    if not keepdims:
        mean, variance = _squeezed(mean, axes), _squeezed(variance, axes)
    if wide is x:
        return mean, variance
    return casting.cast(mean, x.dtype), casting.cast(variance, x.dtype)


def _squeezed(x: Tensor, axes: Any) -> Tensor:
    if isinstance(axes, Tensor):
        # The axes have size 1 now: a sum over them only takes them away.
        return reduction.reduce_sum(x, axes)
    return reshaping.squeeze(x, [axes] if isinstance(axes, int) else list(axes))


def sufficient_statistics(
    x: TensorLike,
    axes: Any,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum and sum of squares of x - shift over `axes`, and `shift`.

    Source:
        TensorFlow `tf.nn.sufficient_statistics`.
    """
    x = convert_to_tensor(x)
    reduced = [axes] if isinstance(axes, int) else list(axes)
    sizes = [x.shape[axis] if x.shape.rank is not None else None for axis in reduced]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        count = constants.constant(math.prod(known), x.dtype)
    else:
        found = gathering.gather(shapes.shape(x), [axis % len(x.shape) for axis in reduced])
        count = casting.cast(reduction.reduce_prod(found), x.dtype)
    if shift is None:
        shifted, squares = x, arithmetic.square(x)
    else:
        shift = convert_to_tensor(shift, dtype_hint=x.dtype)
        shifted, squares = x - shift, arithmetic.squared_difference(x, shift)
    total = reduction.reduce_sum(shifted, axes, keepdims=keepdims)
    return count, total, reduction.reduce_sum(squares, axes, keepdims=keepdims), shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Mean and variance from `sufficient_statistics`.

    Source:
        TensorFlow `tf.nn.normalize_moments`.
    """
    divisor = arithmetic.reciprocal(counts)
    shifted = arithmetic.multiply(mean_ss, divisor)
    mean = shifted if shift is None else shifted + shift
    variance = arithmetic.multiply(variance_ss, divisor) - arithmetic.square(shifted)
    return mean, variance


def weighted_moments(
    x: TensorLike,
    axes: Any,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Mean and variance of x over `axes`, every element counted `frequency_weights` times.

    Args:
        x: [...], any float dtype.
        axes: the axes that are reduced.
        frequency_weights: broadcastable to x.
        keepdims: reduced axes stay, with size 1.
        name: ignored.

    Source:
        TensorFlow `tf.nn.weighted_moments`.
    """
    x = convert_to_tensor(x)
    weights = convert_to_tensor(frequency_weights, dtype_hint=x.dtype)
    wide = casting.cast(x, float32) if x.dtype in {float16, bfloat16} else x
    weights = casting.cast(weights, wide.dtype)
    # Each element has a weight of its own: the weights alone may not have the reduced axes.
    every = weights + constants.zeros_like(wide)
    total = reduction.reduce_sum(every, axes, keepdims=True)
    mean = arithmetic.divide_no_nan(reduction.reduce_sum(every * wide, axes, keepdims=True), total)
    squares = arithmetic.squared_difference(wide, mean)
    variance = arithmetic.divide_no_nan(
        reduction.reduce_sum(every * squares, axes, keepdims=True), total
    )
    if not keepdims:
        mean, variance = _squeezed(mean, axes), _squeezed(variance, axes)
    if wide is x:
        return mean, variance
    return casting.cast(mean, x.dtype), casting.cast(variance, x.dtype)


def l2_normalize(
    x: TensorLike,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """X / sqrt(max(sum(x²), epsilon)), the sum over `axis`.

    Args:
        x: [...], any float or complex dtype.
        axis: the axes of a vector of length 1; all of them if None.
        epsilon: least square of a length.
        name: name of the node while tracing.
        dim: older name of `axis`.

    Source:
        TensorFlow `tf.math.l2_normalize`.
    """
    axis = dim if axis is None else axis
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        modulus = arithmetic.abs(x)
        total = reduction.reduce_sum(arithmetic.square(modulus), axis, keepdims=True)
        factor = exponents.rsqrt(arithmetic.maximum(total, epsilon))
        return arithmetic.multiply(x, casting.cast(factor, x.dtype), name)
    total = reduction.reduce_sum(arithmetic.square(x), axis, keepdims=True)
    return arithmetic.multiply(x, exponents.rsqrt(arithmetic.maximum(total, epsilon)), name)


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Input / (bias + alpha sum(input²))^beta, the sum over the channels nearby.

    Args:
        input: [batch, height, width, channels]; float16, bfloat16 or float32.
        depth_radius: how many channels on either side count.
        bias: keeps the divisor from 0.
        alpha: weight of the squares.
        beta: exponent.
        name: name of the node while tracing.

    Source:
        TensorFlow op `LRN` (nn_ops.cc); Krizhevsky, Sutskever and Hinton, 2012, section 3.3.
    """
    return execute(  # type: ignore[no-any-return]
        LRN,
        input,
        depth_radius=int(depth_radius),
        bias=float(bias),
        alpha=float(alpha),
        beta=float(beta),
        name=name,
    )


lrn = local_response_normalization


# Kernels.


def _batch_norm(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, Array, Array, Array, Array]:
    """y, running mean and variance, and the moments that y was normalised by."""
    last = layouts.channels_last(x, data_format)
    if not is_training:
        y = kernels.batch_norm_inference(last, scale, offset, mean, variance, epsilon)
        return layouts.as_format(y, data_format), mean, variance, mean, variance
    found = kernels.batch_norm_training(last, scale, offset, epsilon)
    running_mean, running_variance = found.mean, found.variance
    if exponential_avg_factor != 1:
        new = scale.dtype.type(exponential_avg_factor)
        old = scale.dtype.type(1 - exponential_avg_factor)
        running_mean = old * mean + new * running_mean
        running_variance = old * variance + new * running_variance
    y = layouts.as_format(found.y, data_format)
    return y, running_mean, running_variance, found.mean, found.biased_variance


def _fused_kernel(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    options = (epsilon, exponential_avg_factor, data_format, is_training)
    return _batch_norm(x, scale, offset, mean, variance, *options)


def _fused_v3_kernel(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    options = (epsilon, exponential_avg_factor, data_format, is_training)
    found = _batch_norm(x, scale, offset, mean, variance, *options)
    return (*found, np.zeros(0, scale.dtype))


def _fused_grad(
    dy: Array,
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    kernel = (
        kernels.batch_norm_training_gradient
        if is_training
        else kernels.batch_norm_inference_gradient
    )
    dx, dscale, doffset = kernel(
        layouts.channels_last(dy, data_format),
        layouts.channels_last(x, data_format),
        scale,
        mean,
        variance,
        epsilon,
    )
    # TensorFlow: the last two stand for gradients of the moments, which do not flow.
    nothing = np.zeros((), scale.dtype)
    return layouts.as_format(dx, data_format), dscale, doffset, nothing, nothing.copy()


def _fused_grad_kernel(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    options = (epsilon, data_format, is_training)
    return _fused_grad(y_backprop, x, scale, reserve_space_1, reserve_space_2, *options)


def _fused_grad_v3_kernel(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    reserve_space_3: Array,  # noqa: ARG001 (cuDNN's workspace)
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    options = (epsilon, data_format, is_training)
    return _fused_grad(y_backprop, x, scale, reserve_space_1, reserve_space_2, *options)


def _window_sums(x: Array, radius: int) -> Array:
    """Sums over 2 radius + 1 neighbours along the last axis, fewer at the ends."""
    size = x.shape[-1]
    total = x.copy()
    for shift in range(1, min(radius, size - 1) + 1):
        total[..., shift:] += x[..., :-shift]
        total[..., :-shift] += x[..., shift:]
    return total


def _lrn_kernel(
    input: Array,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Any:
    x = input.astype(computed_in(input.dtype), copy=False)
    number = x.dtype.type
    norm = number(bias) + number(alpha) * _window_sums(x * x, depth_radius)
    return (x * norm ** number(-beta)).astype(input.dtype, copy=False)


def _lrn_grad_kernel(
    input_grads: Array,
    input_image: Array,
    output_image: Array,  # noqa: ARG001 (recomputed in full precision)
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Any:
    compute = computed_in(input_image.dtype)
    x, dy = input_image.astype(compute, copy=False), input_grads.astype(compute, copy=False)
    number = x.dtype.type
    norm = number(bias) + number(alpha) * _window_sums(x * x, depth_radius)
    power = norm ** number(-beta)
    spread = _window_sums(dy * x * power / norm, depth_radius)
    return (dy * power - number(2 * alpha * beta) * x * spread).astype(
        input_image.dtype, copy=False
    )


# Inference.


def _image_shape(call: InferCall, index: int) -> tuple[Shape, int | None]:
    data_format = call.attrs["data_format"]
    shape = layouts.known_rank(call, index, len(data_format))
    return shape, shape[data_format.index("C")]


def _infer_fused(outputs: int) -> Callable[[InferCall], tuple[Shape, ...]]:
    def infer(call: InferCall) -> tuple[Shape, ...]:
        shape, channels = _image_shape(call, 0)
        training = call.attrs["is_training"]
        # While training from scratch the running moments are not read, and may be empty.
        unread = training and call.attrs["exponential_avg_factor"] == 1
        for index in range(1, 5):
            vector = call.spec(index).shape
            name = call.op.inputs[index].name
            if vector.rank not in {None, 1}:
                call.fail(f"{name} must be a vector, got rank {vector.rank}")
            size = vector[0] if vector.rank == 1 else None
            if index > 2 and unread:
                continue
            if size is not None and channels is not None and size != channels:
                call.fail(f"{name} must have one number per channel, got {size} for {channels}")
            channels = size if channels is None else channels
        sizes = shape.as_list()
        sizes[call.attrs["data_format"].index("C")] = channels
        vectors = (Shape([channels]),) * 4
        return (Shape(sizes), *vectors, *(Shape([None]),) * (outputs - 5))

    return infer


def _infer_fused_grad(call: InferCall) -> tuple[Shape, ...]:
    shape, channels = _image_shape(call, 1)
    if not shape.is_compatible_with(call.spec(0).shape):
        call.fail("y_backprop and x must have one shape")
    return shape, Shape([channels]), Shape([channels]), SCALAR, SCALAR


def _infer_lrn(call: InferCall) -> Shape:
    return layouts.known_rank(call, 0, 4)


# Gradients.


def _fused_gradient(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, dy: Tensor | None, *_: Tensor | None) -> tuple[Any, ...]:
        if dy is None:
            return (None,) * 5
        training = call.attr("is_training")
        moments = call.outputs[3:5] if training else call.inputs[3:5]
        dx, dscale, doffset, *_rest = execute(
            op(),
            dy,
            call.inputs[0],
            call.inputs[1],
            *moments,
            *call.outputs[5:],
            epsilon=call.attr("epsilon"),
            data_format=call.attr("data_format"),
            is_training=training,
        )
        return dx, dscale, doffset, None, None

    return gradient


def _fused_grad_gradient(
    call: OpCall,
    ddx: Tensor | None,
    ddscale: Tensor | None,
    ddoffset: Tensor | None,
    *_: Tensor | None,
) -> tuple[Any, ...]:
    """Second order: the first gradient is written out in ops, and each op is differentiated.

    With x̂ = (x - mean) inverse, s = scale inverse and mean over all axes but the channels:
    dx = s (dy - mean(dy) - x̂ mean(dy x̂)), dscale = sum(dy x̂), doffset = sum(dy).
    """
    dy, x, scale, mean, variance, *rest = call.inputs
    data_format, training = call.attr("data_format"), call.attr("is_training")
    rank, channel = len(data_format), data_format.index("C")
    axes = [axis for axis in range(rank) if axis != channel]

    def image(vector: Tensor) -> Tensor:
        sizes = [1] * rank
        sizes[channel] = -1
        return reshaping.reshape(casting.cast(vector, wide), sizes)

    def average(value: Tensor) -> Tensor:
        return reduction.reduce_mean(value, axes, keepdims=True)

    def total(value: Tensor) -> Tensor:
        return reduction.reduce_sum(value, axes)

    wide = scale.dtype
    dy, x32 = casting.cast(dy, wide), casting.cast(x, wide)
    inverse = exponents.rsqrt(image(variance) + call.attr("epsilon"))
    unit = (x32 - image(mean)) * inverse
    slope = image(scale) * inverse
    g = None if ddx is None else casting.cast(ddx, wide)
    # Gradients by dy (linear), by scale, and by x̂ and the inverse, which then flow to x.
    to_dy = constants.zeros_like(x32)
    to_unit = constants.zeros_like(x32)
    to_scale = constants.zeros_like(scale)
    to_inverse = constants.zeros_like(inverse)
    if g is not None and training:
        inner = average(dy * unit)
        centred = dy - average(dy) - unit * inner
        to_dy += slope * (g - average(g) - unit * average(g * unit))
        to_scale += total(g * centred * inverse)
        to_inverse += image(scale) * reduction.reduce_sum(g * centred, axes, keepdims=True)
        to_unit -= slope * (g * inner + dy * average(g * unit))
    elif g is not None:
        to_dy += slope * g
        to_scale += total(g * dy * inverse)
    if ddscale is not None:
        to_dy += unit * image(ddscale)
        to_unit += dy * image(ddscale)
    if ddoffset is not None:
        to_dy += image(ddoffset)
    to_x = to_unit * inverse
    if training:
        # Through mean and variance of the batch: x̂ is a function of x alone, and so is the inverse.
        to_x = to_x - average(to_x) - unit * average(to_x * unit)
        count = casting.cast(reduction.reduce_prod(_counted(x32, axes)), wide)
        to_x -= unit * inverse * inverse * to_inverse / count
    back = casting.cast
    return (
        back(to_dy, call.inputs[0].dtype),
        back(to_x, x.dtype),
        to_scale,
        *(None for _ in (mean, variance, *rest)),
    )


def _counted(x: Tensor, axes: list[int]) -> Tensor:
    return gathering.gather(shapes.shape(x), axes)


def _lrn_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    options = {name: call.attr(name) for name in _LRN_ATTRS}
    return (execute(LRN_GRAD, dy, call.inputs[0], call.outputs[0], **options),)


_FUSED_ATTRS = {
    "epsilon": attr("float", default=1e-4),
    "exponential_avg_factor": attr("float", default=1.0),
    "data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW")),
    "is_training": attr("bool", default=True),
}
_FUSED_V3_ATTRS = {
    **_FUSED_ATTRS,
    "data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW", "NDHWC", "NCDHW")),
}
_LRN_ATTRS = {
    "depth_radius": attr("int", default=5),
    "bias": attr("float", default=1.0),
    "alpha": attr("float", default=1.0),
    "beta": attr("float", default=0.5),
}


def _without(name: str, attrs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attrs.items() if key != name}


_X = "x: T, scale: {0}, offset: {0}, mean: {0}, variance: {0} -> "
_Y = "y: T, batch_mean: {0}, batch_variance: {0}, reserve_space_1: {0}, reserve_space_2: {0}"
_DX = "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}, "

FUSED_BATCH_NORM: OpDef = register(
    OpDef(
        name="FusedBatchNorm",
        signature=(_X + _Y).format("T"),
        types={"T": frozenset({float32})},
        attrs=_FUSED_ATTRS,
        infer=_infer_fused(5),
        kernel=_fused_kernel,
        gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD),
    )
)
FUSED_BATCH_NORM_V2: OpDef = register(
    OpDef(
        name="FusedBatchNormV2",
        signature=(_X + _Y).format("U"),
        types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
        attrs=_FUSED_ATTRS,
        infer=_infer_fused(5),
        kernel=_fused_kernel,
        gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD_V2),
    )
)
FUSED_BATCH_NORM_V3: OpDef = register(
    OpDef(
        name="FusedBatchNormV3",
        signature=(_X + _Y + ", reserve_space_3: {0}").format("U"),
        types={
            "T": frozenset({float16, bfloat16, float32}),
            "U": frozenset({bfloat16, float32}),
        },
        attrs=_FUSED_V3_ATTRS,
        infer=_infer_fused(6),
        kernel=_fused_v3_kernel,
        gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD_V3),
    )
)
FUSED_BATCH_NORM_GRAD: OpDef = register(
    OpDef(
        name="FusedBatchNormGrad",
        signature="y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> "
        + (_DX + "reserve_space_3: {0}, reserve_space_4: {0}").format("T"),
        types={"T": frozenset({float32})},
        attrs=_without("exponential_avg_factor", _FUSED_ATTRS),
        infer=_infer_fused_grad,
        kernel=_fused_grad_kernel,
        gradient=_fused_grad_gradient,
    )
)
FUSED_BATCH_NORM_GRAD_V2: OpDef = register(
    OpDef(
        name="FusedBatchNormGradV2",
        signature="y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U -> "
        + (_DX + "reserve_space_3: {0}, reserve_space_4: {0}").format("U"),
        types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
        attrs=_without("exponential_avg_factor", _FUSED_ATTRS),
        infer=_infer_fused_grad,
        kernel=_fused_grad_kernel,
        gradient=_fused_grad_gradient,
    )
)
FUSED_BATCH_NORM_GRAD_V3: OpDef = register(
    OpDef(
        name="FusedBatchNormGradV3",
        signature="y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, "
        "reserve_space_3: U -> " + (_DX + "reserve_space_4: {0}, reserve_space_5: {0}").format("U"),
        types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
        attrs=_without("exponential_avg_factor", _FUSED_V3_ATTRS),
        infer=_infer_fused_grad,
        kernel=_fused_grad_v3_kernel,
        gradient=_fused_grad_gradient,
    )
)
LRN: OpDef = register(
    OpDef(
        name="LRN",
        signature="input: T -> output: T",
        types={"T": typed({float16, bfloat16, float32}, float32)},
        attrs=_LRN_ATTRS,
        infer=_infer_lrn,
        kernel=_lrn_kernel,
        gradient=_lrn_gradient,
    )
)
LRN_GRAD: OpDef = register(
    OpDef(
        name="LRNGrad",
        signature="input_grads: T, input_image: T, output_image: T -> output: T",
        types={"T": typed({float16, bfloat16, float32}, float32)},
        attrs=_LRN_ATTRS,
        infer=same_as_input,
        kernel=_lrn_grad_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)

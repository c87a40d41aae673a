"""FusedBatchNorm and its gradient: normalization by batch moments or by given ones."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.dtypes import bfloat16, float16, float32
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.array import casting, constants, gathering, reshaping, shapes
from pinnace.ops.execute import execute
from pinnace.ops.kernels import normalization as kernels
from pinnace.ops.math import exponents, reduction
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define

__all__ = ["fused_batch_norm"]

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

_X = "x: T, scale: {0}, offset: {0}, mean: {0}, variance: {0} -> "

_Y = "y: T, batch_mean: {0}, batch_variance: {0}, reserve_space_1: {0}, reserve_space_2: {0}"

_DX = "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}, "


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


def _placed(y: Array, data_format: str, out: Array | None) -> Array:
    """y with its axes in the order of `data_format`, written to `out` if given."""
    made = layouts.as_format(y, data_format)
    return made if out is None or out is made else layouts.filled(out, made)


def forward(
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
    out: Array | None = None,
    rectified: bool = False,
) -> tuple[Array, Array, Array, Array, Array]:
    """y, running mean and variance, and the moments used for normalization.

    Args:
        x: images in the order of `data_format`.
        scale: [channels], as are the next three.
        offset: added.
        mean: given, or the running one.
        variance: given, or the running one.
        epsilon: added to the variance.
        exponential_avg_factor: as for `fused_batch_norm`.
        data_format: as for `fused_batch_norm`.
        is_training: as for `fused_batch_norm`.
        out: shape and dtype of x: y is written there if it is given.
        rectified: whether y is max(y, 0).
    """
    last = layouts.channels_last(x, data_format)
    own = out if layouts.is_channels_last(data_format) else None
    if not is_training:
        given = (scale, offset, mean, variance, epsilon)
        y = kernels.batch_norm_inference(last, *given, own, rectified=rectified)
        return _placed(y, data_format, out), mean, variance, mean, variance
    found = kernels.batch_norm_training(last, scale, offset, epsilon, own, rectified=rectified)
    running_mean, running_variance = found.mean, found.variance
    if exponential_avg_factor != 1:
        new = scale.dtype.type(exponential_avg_factor)
        old = scale.dtype.type(1 - exponential_avg_factor)
        running_mean = old * mean + new * running_mean
        running_variance = old * variance + new * running_variance
    y = _placed(found.y, data_format, out)
    return y, running_mean, running_variance, found.mean, found.biased_variance


def with_reserved(found: tuple[Array, ...], count: int) -> tuple[Array, ...]:
    """The op's outputs; V3 of the forward op has an additional one for cuDNN."""
    return found if len(found) == count else (*found, np.zeros(0, found[-1].dtype))


@functools.wraps(forward)
def _forward_v3(*arrays: Array, **options: Any) -> tuple[Array, ...]:
    return with_reserved(forward(*arrays, **options), 6)


def backward(
    dy: Array,
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    offset: Array | None = None,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
    out: Array | None = None,
    rectified: bool = False,
) -> tuple[Array, ...]:
    """Gradients of x, scale and offset, and placeholders for those of the moments.

    Args:
        dy: gradient of y.
        x: images in the order of `data_format`.
        scale: [channels], as are the next three.
        mean: the mean that y was normalised with.
        variance: likewise.
        offset: only read if y was rectified; version 3 of the op gives cuDNN's workspace here.
        epsilon: added to the variance.
        data_format: as for `fused_batch_norm`.
        is_training: as for `fused_batch_norm`.
        out: shape and dtype of x: its gradient is written there if it is given.
        rectified: whether y was max(y, 0), while training.
    """
    own = out if layouts.is_channels_last(data_format) else None
    images = (layouts.channels_last(dy, data_format), layouts.channels_last(x, data_format))
    if is_training:
        dx, dscale, doffset = kernels.batch_norm_training_gradient(
            *images, scale, mean, variance, epsilon, own, offset=offset if rectified else None
        )
    else:
        dx, dscale, doffset = kernels.batch_norm_inference_gradient(
            *images, scale, mean, variance, epsilon, own
        )
    # TensorFlow: the last two stand for gradients of the moments, which are not propagated.
    nothing = np.zeros((), scale.dtype)
    return _placed(dx, data_format, out), dscale, doffset, nothing, nothing.copy()


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


FUSED_BATCH_NORM_V3: OpDef = define(
    name="FusedBatchNormV3",
    signature=(_X + _Y + ", reserve_space_3: {0}").format("U"),
    types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({bfloat16, float32})},
    attrs=_FUSED_V3_ATTRS,
    infer=_infer_fused(6),
    kernel=_forward_v3,
    gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD_V3),
    out=True,
    flops=flops.each(2),
)


FUSED_BATCH_NORM: OpDef = define(
    name="FusedBatchNorm",
    signature=(_X + _Y).format("T"),
    types={"T": frozenset({float32})},
    attrs=_FUSED_ATTRS,
    infer=_infer_fused(5),
    kernel=forward,
    gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD),
    out=True,
    flops=flops.each(2),
)


def _infer_fused_grad(call: InferCall) -> tuple[Shape, ...]:
    shape, channels = _image_shape(call, 1)
    if not shape.is_compatible_with(call.spec(0).shape):
        call.fail("y_backprop and x must have one shape")
    return shape, Shape([channels]), Shape([channels]), SCALAR, SCALAR


def _fused_grad_gradient(
    call: OpCall,
    ddx: Tensor | None,
    ddscale: Tensor | None,
    ddoffset: Tensor | None,
    *_: Tensor | None,
) -> tuple[Any, ...]:
    """The second derivative: the first gradient is expressed in ops, which are differentiated.

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
    # Gradients of dy (linear), scale, x̂ and the inverse; the last two then flow to x.
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
        # Through the batch's mean and variance: x̂ and the inverse are functions of x alone.
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


def _without(name: str, attrs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attrs.items() if key != name}


FUSED_BATCH_NORM_GRAD: OpDef = define(
    name="FusedBatchNormGrad",
    signature="y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> "
    + (_DX + "reserve_space_3: {0}, reserve_space_4: {0}").format("T"),
    types={"T": frozenset({float32})},
    attrs=_without("exponential_avg_factor", _FUSED_ATTRS),
    infer=_infer_fused_grad,
    kernel=backward,
    gradient=_fused_grad_gradient,
    out=True,
)
FUSED_BATCH_NORM_GRAD_V2: OpDef = define(
    name="FusedBatchNormGradV2",
    signature="y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U -> "
    + (_DX + "reserve_space_3: {0}, reserve_space_4: {0}").format("U"),
    types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
    attrs=_without("exponential_avg_factor", _FUSED_ATTRS),
    infer=_infer_fused_grad,
    kernel=backward,
    gradient=_fused_grad_gradient,
    out=True,
)


FUSED_BATCH_NORM_V2: OpDef = define(
    name="FusedBatchNormV2",
    signature=(_X + _Y).format("U"),
    types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
    attrs=_FUSED_ATTRS,
    infer=_infer_fused(5),
    kernel=forward,
    gradient=_fused_gradient(lambda: FUSED_BATCH_NORM_GRAD_V2),
    out=True,
    flops=flops.each(2),
)


FUSED_BATCH_NORM_GRAD_V3: OpDef = define(
    name="FusedBatchNormGradV3",
    signature="y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U -> " + (_DX + "reserve_space_4: {0}, reserve_space_5: {0}").format("U"),
    types={"T": frozenset({float16, bfloat16, float32}), "U": frozenset({float32})},
    attrs=_without("exponential_avg_factor", _FUSED_V3_ATTRS),
    infer=_infer_fused_grad,
    kernel=backward,
    gradient=_fused_grad_gradient,
    out=True,
)


FORWARD = frozenset({FUSED_BATCH_NORM, FUSED_BATCH_NORM_V2, FUSED_BATCH_NORM_V3})
BACKWARD = frozenset({FUSED_BATCH_NORM_GRAD, FUSED_BATCH_NORM_GRAD_V2, FUSED_BATCH_NORM_GRAD_V3})

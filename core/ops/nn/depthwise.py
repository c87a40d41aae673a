"""Depthwise convolutions: DepthwiseConv2dNative and its gradients."""

from typing import Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import depthwise as kernels
from pinnace.ops.kernels.convolution import conv
from pinnace.ops.nn import convolutions, image_rows, layouts
from pinnace.ops.opdef import InferCall, OpCall, OpDef
from pinnace.ops.registry import define

__all__ = [
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "separable_conv2d",
]

_ATTRS = layouts.window_attrs(2, explicit=True, dilations=True)


def _options(
    function: str, strides: Any, padding: Any, data_format: str | None, dilations: Any
) -> dict[str, Any]:
    """The attributes of an op from the arguments of a public function."""
    data_format = layouts.checked_format(function, data_format, layouts.FORMATS[2])
    return {
        "strides": layouts.per_axis(function, "strides", strides, 2, data_format),
        **layouts.padding_attrs(function, padding),
        "data_format": data_format,
        "dilations": layouts.per_axis(function, "dilations", dilations, 2, data_format),
    }


# Gradients: linear in both inputs, so three ops are each other's gradients.


def _passed_on(call: OpCall) -> dict[str, Any]:
    return {name: call.attr(name) for name in call.op.attrs}


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cross-correlation of every channel with separate filters.

    Args:
        input: [batch, height, width, channels], or channels first for "NCHW"; any float dtype.
        filter: [rows, columns, channels, multiplier], dtype of `input`.
        strides: one entry per axis.
        padding: "SAME", "VALID", or a pair (before, after) for each of the 4 axes.
        data_format: "NHWC" (if None) or "NCHW".
        dilations: step between the taps of a filter, one per spatial axis; 1 if None.
        name: name of the node while tracing.

    Returns:
        [batch, height', width', channels * multiplier], filter m of channel c at c multiplier + m.

    Raises:
        InvalidArgumentError: the filter has other channels, or is larger than the image.
        ValueError: `strides`, `padding`, `data_format` or `dilations` of another form.
    """
    options = _options("depthwise_conv2d", strides, padding, data_format, dilations)
    return execute_one(DEPTHWISE_CONV2D, input, filter, name=name, **options)


def _kernel(
    input: Array,
    filter: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
) -> Array:
    x = layouts.channels_last(input, data_format)
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    steps, rates, pads, _ = layouts.placement(x.shape[1:-1], filter.shape[:-2], *rule)
    is_single = x.shape[-1] == filter.shape[-2] == 1  # one channel: all filters are of it
    convolved = conv if is_single else kernels.depthwise_conv
    return layouts.as_format(convolved(x, filter, steps, pads, rates), data_format)


def _infer(call: InferCall) -> Shape:
    data_format = call.attrs["data_format"]
    x, filters = layouts.known_rank(call, 0, 4), layouts.known_rank(call, 1, 4)
    channels, own = x[data_format.index("C")], filters[2]
    if channels is not None and own is not None and channels != own:
        call.fail(f"channels of the input must equal those of the filter, got {channels} and {own}")
    count = own if channels is None else channels
    outputs = None if count is None or filters[3] is None else count * filters[3]
    sizes = layouts.inner(x.as_list(), data_format)
    windows = layouts.inferred_windows(call, sizes, filters.as_list()[:2])
    return layouts.format_shape(x[0], windows.sizes, outputs, data_format)


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, w = call.inputs
    options = _passed_on(call)
    return (
        execute(DEPTHWISE_BACKPROP_INPUT, layouts.sizes_of(x), w, dy, **options)
        if call.needs(0)
        else None,
        execute(DEPTHWISE_BACKPROP_FILTER, x, layouts.sizes_of(w), dy, **options)
        if call.needs(1)
        else None,
    )


DEPTHWISE_CONV2D: OpDef = define(
    name="DepthwiseConv2dNative",
    signature="input: T, filter: T -> output: T",
    types={"T": FLOATS},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
    product="convolution",
    batch=image_rows.FOLDED,
    flops=flops.depthwise,
)


def _infer_gradient(argument: int) -> Any:
    def infer(call: InferCall) -> Shape:
        for index in {0, 1, 2} - {argument}:
            layouts.known_rank(call, index, 4)
        layouts.check_per_axis(call, "strides")
        layouts.check_per_axis(call, "dilations")
        sizes = call.shape_constant(argument)
        if sizes.rank not in {None, 4}:
            name = call.op.inputs[argument].name
            call.fail(f"{name} must have 4 entries, got {sizes.rank}")
        return Shape([None] * 4) if sizes.rank is None else sizes

    return infer


def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Gradient of `depthwise_conv2d` with respect to its input, of shape `input_sizes`.

    Args:
        input_sizes: [4], int32: the shape of the input.
        filter: [rows, columns, channels, multiplier], a float type.
        out_backprop: the shape of the output: its gradient, dtype of `filter`.
        strides: one entry per axis.
        padding: as for `depthwise_conv2d`.
        data_format: "NHWC" or "NCHW".
        dilations: one entry per axis.
        name: name of the node while tracing.

    Returns:
        The shape `input_sizes`, dtype of `filter`.
    """
    function = "depthwise_conv2d_backprop_input"
    options = _options(function, strides, padding, data_format, dilations)
    return execute_one(
        DEPTHWISE_BACKPROP_INPUT, input_sizes, filter, out_backprop, name=name, **options
    )


def _input_kernel(
    input_sizes: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
) -> Array:
    dy = layouts.channels_last(out_backprop, data_format)
    shape = layouts.last_shape(input_sizes.tolist(), data_format)
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    steps, rates, pads, _ = layouts.placement(shape[1:-1], filter.shape[:-2], *rule)
    dx = kernels.depthwise_conv_input_gradient(shape, filter, dy, steps, pads, rates)
    return layouts.as_format(dx, data_format)


def _input_gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
    _, w, dy = call.inputs
    options = _passed_on(call)
    return (
        None,
        execute(DEPTHWISE_BACKPROP_FILTER, ddx, layouts.sizes_of(w), dy, **options),
        execute(DEPTHWISE_CONV2D, ddx, w, **options),
    )


DEPTHWISE_BACKPROP_INPUT: OpDef = define(
    name="DepthwiseConv2dNativeBackpropInput",
    signature="input_sizes: int32, filter: T, out_backprop: T -> output: T",
    types={"T": FLOATS},
    attrs=_ATTRS,
    infer=_infer_gradient(0),
    kernel=_input_kernel,
    gradient=_input_gradient,
    flops=flops.depthwise_input_gradient,
)


def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Gradient of `depthwise_conv2d` with respect to its filter, of shape `filter_sizes`.

    Args:
        input: [batch, height, width, channels], or channels first; a float type.
        filter_sizes: [4], int32: the shape of the filter.
        out_backprop: the shape of the output: its gradient, dtype of `input`.
        strides: one entry per axis.
        padding: as for `depthwise_conv2d`.
        data_format: "NHWC" or "NCHW".
        dilations: one entry per axis.
        name: name of the node while tracing.

    Returns:
        The shape `filter_sizes`, dtype of `input`.
    """
    function = "depthwise_conv2d_backprop_filter"
    options = _options(function, strides, padding, data_format, dilations)
    return execute_one(
        DEPTHWISE_BACKPROP_FILTER, input, filter_sizes, out_backprop, name=name, **options
    )


def _filter_kernel(
    input: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
) -> Array:
    x = layouts.channels_last(input, data_format)
    dy = layouts.channels_last(out_backprop, data_format)
    sizes = filter_sizes.tolist()
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    steps, rates, pads, _ = layouts.placement(x.shape[1:-1], tuple(sizes[:-2]), *rule)
    return kernels.depthwise_conv_filter_gradient(x, sizes, dy, steps, pads, rates)


def _filter_gradient(call: OpCall, ddw: Tensor) -> tuple[Any, ...]:
    x, _, dy = call.inputs
    options = _passed_on(call)
    return (
        execute(DEPTHWISE_BACKPROP_INPUT, layouts.sizes_of(x), ddw, dy, **options),
        None,
        execute(DEPTHWISE_CONV2D, x, ddw, **options),
    )


DEPTHWISE_BACKPROP_FILTER: OpDef = define(
    name="DepthwiseConv2dNativeBackpropFilter",
    signature="input: T, filter_sizes: int32, out_backprop: T -> output: T",
    types={"T": FLOATS},
    attrs=_ATTRS,
    infer=_infer_gradient(1),
    kernel=_filter_kernel,
    gradient=_filter_gradient,
    flops=flops.depthwise_filter_gradient,
)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, then `conv2d` with filters of one tap.

    Args:
        input: [batch, height, width, channels], or channels first for "NCHW".
        depthwise_filter: [rows, columns, channels, multiplier].
        pointwise_filter: [1, 1, channels * multiplier, out].
        strides: strides of the first step.
        padding: padding of the first step.
        data_format: "NHWC" (if None) or "NCHW".
        dilations: dilations of the first step.
        name: name of the node while tracing.
    """
    data_format = layouts.checked_format("separable_conv2d", data_format, layouts.FORMATS[2])
    x = convert_to_tensor(input)
    x = depthwise_conv2d(x, depthwise_filter, strides, padding, data_format, dilations)
    return convolutions.conv2d(x, pointwise_filter, 1, "VALID", data_format, name=name)

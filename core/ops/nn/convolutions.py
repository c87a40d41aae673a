"""Convolutions with 1 to 3 spatial axes and their transposes: Conv2D, Conv3D, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.ops.array import casting, joining, reshaping, shapes
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.nn import layouts
from pinnace.ops.nn.spatial_convolutions import (
    CONV2D,
    CONV2D_BACKPROP_INPUT,
    CONV3D,
    CONV3D_BACKPROP_INPUT,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.opdef import OpDef

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
]


_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cross-correlation of images with filters.

    Args:
        input: [..., height, width, in], or [..., in, height, width] for "NCHW"; any float dtype.
        filters: [rows, columns, in / groups, out], dtype of `input`; the number of groups follows.
        strides: a number, one per spatial axis, or one per axis.
        padding: "SAME", "VALID", or a pair (before, after) for each of the 4 axes.
        data_format: "NHWC" or "NCHW".
        dilations: step between the taps of a filter, given as `strides` are; 1 if None.
        name: name of the node while tracing.

    Returns:
        [..., height', width', out] in the order of `data_format`, dtype of `input`.

    Raises:
        InvalidArgumentError: channels of both do not fit, or a filter is larger than the image.
        ValueError: `strides`, `padding`, `data_format` or `dilations` of another form.

    Source:
        TensorFlow op `Conv2D` (nn_ops.cc).
    """
    options = _options("conv2d", 2, strides, padding, data_format, dilations)
    return _batched(CONV2D, 2, input, filters, options, name)


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cross-correlation of volumes with filters; see `conv2d`.

    Args:
        input: [..., depth, height, width, in], or channels first for "NCDHW".
        filters: [planes, rows, columns, in / groups, out].
        strides: as for `conv2d`.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".
        dilations: as for `conv2d`.
        name: name of the node while tracing.

    Source:
        TensorFlow op `Conv3D` (nn_ops.cc).
    """
    options = _options("conv3d", 3, strides, padding, data_format, dilations)
    return _batched(CONV3D, 3, input, filters, options, name)


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: Any,
    padding: str,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Cross-correlation of sequences with filters: `conv2d` of images with one row.

    Args:
        input: [..., width, in], or [..., in, width] for "NCW".
        filters: [taps, in / groups, out].
        stride: a number.
        padding: "SAME", "VALID", or a pair (before, after) for each of the 3 axes.
        data_format: "NWC" or "NCW".
        dilations: a number.
        name: name of the node while tracing.
    """
    data_format = layouts.checked_format("conv1d", data_format, _FORMATS[1])
    x = convert_to_tensor(input)
    w = convert_to_tensor(filters, dtype_hint=x.dtype)
    row = -3 if data_format == "NWC" else -2
    y = conv2d(
        reshaping.expand_dims(x, row),
        reshaping.expand_dims(w, 0),
        _with_row("conv1d", "stride", stride, data_format),
        _padding_with_row(padding, data_format),
        "NHWC" if data_format == "NWC" else "NCHW",
        _with_row("conv1d", "dilations", dilations, data_format),
    )
    return reshaping.squeeze(y, [row], name=name)


def _with_row(function: str, argument: str, value: Any, data_format: str) -> tuple[int, ...]:
    """Per-axis options for a sequence as those for an image with one row."""
    entries = layouts.per_axis(function, argument, value, 1, data_format)
    row = 1 if data_format == "NWC" else 2
    return (*entries[:row], 1, *entries[row:])


def _padding_with_row(padding: Any, data_format: str) -> Any:
    if isinstance(padding, str):
        return padding
    row = 1 if data_format == "NWC" else 2
    return [*padding[:row], (0, 0), *padding[row:]]


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv1d`, `conv2d` or `conv3d`, by the number of the filters' spatial axes.

    Args:
        input: [batch, *spatial, channels], or channels first; a float type.
        filters: [*window, channels / groups, outputs], dtype of `input`.
        strides: a number, or one per spatial axis; 1 if None.
        padding: "VALID" or "SAME"; in two axes also a pair (before, after) per axis.
        data_format: "NWC", "NHWC", "NDHWC" (if None), or with the channels first.
        dilations: step between the taps of a filter, a number or one per spatial axis; 1 if None.
        name: name of the node while tracing.

    Returns:
        [batch, *spatial', outputs] in the order of `data_format`.

    Raises:
        ValueError: the filters have not 3, 4 or 5 axes.
    """
    x = convert_to_tensor(input)
    w = convert_to_tensor(filters, dtype_hint=x.dtype)
    spatial = _spatial_axes("convolution", w)
    data_format = layouts.checked_format("convolution", data_format, _FORMATS[spatial])
    function: Callable[..., Tensor] = {1: conv1d, 2: conv2d, 3: conv3d}[spatial]
    return function(x, w, 1 if strides is None else strides, padding, data_format, dilations, name)


def _spatial_axes(function: str, filters: Tensor) -> int:
    rank = filters.shape.rank
    if rank not in {3, 4, 5}:
        raise ValueError(
            f"{function}: filters must have 3, 4 or 5 axes, got shape {filters.shape.text}"
        )
    return rank - 2


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """`conv2d` with stride 1 and filters whose taps are `rate` apart.

    Args:
        value: [batch, height, width, channels], a float type.
        filters: [rows, columns, channels, outputs], dtype of `value`.
        rate: distance of the taps.
        padding: "VALID" or "SAME".
        name: name of the node while tracing.

    Returns:
        [batch, height', width', outputs], dtype of `value`.
    """
    return conv2d(value, filters, 1, padding, "NHWC", rate, name)


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: from the shape of its output to the shape of its input.

    Args:
        input: [batch, height, width, in], or channels first for "NCHW".
        filters: [rows, columns, out, in]: those of the convolution that this transposes.
        output_shape: [4], the shape of the result, which strides do not tell.
        strides: as for `conv2d`.
        padding: as for `conv2d`.
        data_format: "NHWC" or "NCHW".
        dilations: as for `conv2d`.
        name: name of the node while tracing.

    Returns:
        `output_shape`, dtype of `input`.

    Raises:
        InvalidArgumentError: no convolution leads from `output_shape` to the shape of `input`.

    Source:
        TensorFlow op `Conv2DBackpropInput` (nn_ops.cc).
    """
    options = _options("conv2d_transpose", 2, strides, padding, data_format, dilations)
    x = convert_to_tensor(input)
    return execute_one(
        CONV2D_BACKPROP_INPUT, _sizes(output_shape), filters, x, name=name, **options
    )


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv3d`; see `conv2d_transpose`.

    Args:
        input: [batch, depth', height', width', outputs], or channels first; a float type.
        filters: [planes, rows, columns, channels, outputs], dtype of `input`.
        output_shape: [5] or [3], the shape of the result or its spatial sizes.
        strides: a number, or one per spatial axis.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".
        dilations: a number, or one per spatial axis; 1 if None.
        name: name of the node while tracing.

    Returns:
        [batch, depth, height, width, channels] in the order of `data_format`.

    Raises:
        InvalidArgumentError: `output_shape` does not give the sizes of `input`.

    Source:
        TensorFlow op `Conv3DBackpropInputV2` (nn_ops.cc).
    """
    options = _options("conv3d_transpose", 3, strides, padding, data_format, dilations)
    x = convert_to_tensor(input)
    return execute_one(
        CONV3D_BACKPROP_INPUT, _sizes(output_shape), filters, x, name=name, **options
    )


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`; see `conv2d_transpose`.

    Args:
        input: [batch, width', outputs], or channels first; a float type.
        filters: [taps, channels, outputs], dtype of `input`.
        output_shape: [3], the shape of the result.
        strides: a number, or one per spatial axis.
        padding: "SAME" or "VALID".
        data_format: "NWC" or "NCW".
        dilations: a number; 1 if None.
        name: name of the node while tracing.

    Returns:
        [batch, width, channels] in the order of `data_format`.
    """
    data_format = layouts.checked_format("conv1d_transpose", data_format, _FORMATS[1])
    x = convert_to_tensor(input)
    w = convert_to_tensor(filters, dtype_hint=x.dtype)
    row = 1 if data_format == "NWC" else 2
    sizes = _sizes(output_shape)
    y = conv2d_transpose(
        reshaping.expand_dims(x, row),
        reshaping.expand_dims(w, 0),
        joining.concat([sizes[:row], [1], sizes[row:]], 0),
        _with_row("conv1d_transpose", "strides", strides, data_format),
        _padding_with_row(padding, data_format),
        "NHWC" if data_format == "NWC" else "NCHW",
        _with_row("conv1d_transpose", "dilations", dilations, data_format),
    )
    return reshaping.squeeze(y, [row], name=name)


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by the rank of the filters.

    Args:
        input: [batch, *spatial', outputs], or channels first; a float type.
        filters: [*window, channels, outputs], dtype of `input`.
        output_shape: the shape of the result.
        strides: a number, or one per spatial axis.
        padding: "SAME" or "VALID".
        data_format: "NWC", "NHWC", "NDHWC" (if None), or with the channels first.
        dilations: a number, or one per spatial axis; 1 if None.
        name: name of the node while tracing.

    Returns:
        [batch, *spatial, channels] in the order of `data_format`.

    Raises:
        ValueError: the filters have not 3, 4 or 5 axes.
    """
    x = convert_to_tensor(input)
    w = convert_to_tensor(filters, dtype_hint=x.dtype)
    spatial = _spatial_axes("conv_transpose", w)
    data_format = layouts.checked_format("conv_transpose", data_format, _FORMATS[spatial])
    functions = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}
    function: Callable[..., Tensor] = functions[spatial]
    return function(x, w, output_shape, strides, padding, data_format, dilations, name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d`.

    Args:
        value: [batch, height', width', outputs], a float type.
        filters: [rows, columns, channels, outputs], dtype of `value`.
        output_shape: [4], the shape of the result.
        rate: distance of the taps.
        padding: "VALID" or "SAME".
        name: name of the node while tracing.

    Returns:
        [batch, height, width, channels], dtype of `value`.
    """
    return conv2d_transpose(value, filters, output_shape, 1, padding, "NHWC", rate, name)


def _options(
    function: str, spatial: int, strides: Any, padding: Any, data_format: str, dilations: Any
) -> dict[str, Any]:
    """The attributes of an op from the arguments of a public function."""
    data_format = layouts.checked_format(function, data_format, _FORMATS[spatial])
    options = {
        "strides": layouts.per_axis(function, "strides", strides, spatial, data_format),
        **layouts.padding_attrs(function, padding),
        "data_format": data_format,
    }
    if spatial > 2 and options["padding"] == "EXPLICIT":
        raise ValueError(f"{function}: padding must be 'SAME' or 'VALID', got {padding!r}")
    if dilations is not None:
        options["dilations"] = layouts.per_axis(
            function, "dilations", dilations, spatial, data_format
        )
    return options


def _sizes(output_shape: Any) -> Tensor:
    """`output_shape` as int32."""
    if isinstance(output_shape, Operands):
        sizes = convert_to_tensor(output_shape)
        return sizes if sizes.dtype is int32 else casting.cast(sizes, int32)
    if isinstance(output_shape, Shape):
        output_shape = output_shape.as_list()
    return convert_to_tensor(output_shape, int32)


def _batched(
    op: OpDef,
    spatial: int,
    x: TensorLike,
    filters: TensorLike,
    options: dict[str, Any],
    name: str | None,
) -> Tensor:
    """The op with several leading axes merged before and restored afterwards."""
    x = convert_to_tensor(x)
    rank = x.shape.rank
    if rank is None or rank <= spatial + 2:
        return execute_one(op, x, filters, name=name, **options)
    lead = rank - spatial - 1
    y = execute(op, _flattened(x, lead), filters, **options)
    sizes = joining.concat([shapes.shape(x)[:lead], shapes.shape(y)[1:]], 0)
    if x.shape[:lead].is_fully_defined() and y.shape[1:].is_fully_defined():
        return reshaping.reshape(y, [*x.shape[:lead], *y.shape[1:]], name=name)
    return reshaping.reshape(y, sizes, name=name)


def _flattened(x: Tensor, lead: int) -> Tensor:
    if x.shape[lead:].is_fully_defined():
        return reshaping.reshape(x, [-1, *x.shape[lead:]])
    return reshaping.reshape(x, joining.concat([[-1], shapes.shape(x)[lead:]], 0))

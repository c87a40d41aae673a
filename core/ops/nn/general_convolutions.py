"""Conv, with any number of batch axes, and Conv2D's gradients with tensors instead of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, int32
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_one
from pinnace.ops.nn import layouts, spatial_convolutions
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__: list[str] = []

_FORMATS = {
    "CHANNELS_LAST": {2: "NHWC", 3: "NDHWC"},
    "CHANNELS_FIRST": {2: "NCHW", 3: "NCDHW"},
}


def conv(
    input: TensorLike,
    filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "CHANNELS_LAST",
    dilations: Sequence[int] = (),
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Cross-correlation with 2 or 3 spatial axes and any number of batch axes.

    Args:
        input: [*batch, *sizes, in], or [*batch, in, *sizes] for "CHANNELS_FIRST".
        filter: [*window, in / groups, out], dtype of `input`.
        strides: one per axis, of which there is one for the whole batch: 1 for it and channels.
        padding: "SAME", "VALID" or "EXPLICIT".
        explicit_paddings: before and after for each axis, for "EXPLICIT".
        data_format: "CHANNELS_LAST" or "CHANNELS_FIRST".
        dilations: one per axis, as `strides`; 1 everywhere if there are none.
        batch_dims: how many axes the batch has.
        groups: in how many parts the channels are convolved by themselves.
        name: name of the node while tracing.

    Returns:
        [*batch, *sizes', out] in the order of `data_format`. TensorFlow has no gradient of it:
        `tf.nn.convolution` has one.

    Raises:
        InvalidArgumentError: shapes or attributes do not fit.

    Source:
        TensorFlow op `Conv` (nn_ops.cc).
    """
    x = convert_to_tensor(input)
    return execute_one(
        CONV,
        x,
        convert_to_tensor(filter, x.dtype),
        strides=tuple(strides),
        padding=padding,
        explicit_paddings=tuple(explicit_paddings),
        data_format=data_format,
        dilations=tuple(dilations),
        batch_dims=batch_dims,
        groups=groups,
        name=name,
    )


def conv2d_backprop_filter_v2(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its filter, whose shape a tensor tells.

    Args:
        input: [batch, height, width, in], or in the order of `data_format`.
        filter: [rows, columns, in, out]; only its shape counts.
        out_backprop: [batch, height', width', out], the gradient of the result.
        strides: one per axis of `data_format`.
        padding: "SAME", "VALID" or "EXPLICIT".
        use_cudnn_on_gpu: changes nothing on a CPU.
        explicit_paddings: before and after for each axis, for "EXPLICIT".
        data_format: "NHWC" or "NCHW".
        dilations: one per axis.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `filter`. TensorFlow has no gradient of it, and
        runs it on GPUs alone.

    Raises:
        InvalidArgumentError: shapes or attributes do not fit.
    """
    return execute_one(
        CONV2D_BACKPROP_FILTER_V2,
        input,
        filter,
        out_backprop,
        strides=tuple(strides),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=tuple(explicit_paddings),
        data_format=data_format,
        dilations=tuple(dilations),
        name=name,
    )


def conv2d_backprop_input_v2(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its input, whose shape a tensor tells.

    Args:
        input: [batch, height, width, in], or in the order of `data_format`; only its shape counts.
        filter: [rows, columns, in, out].
        out_backprop: [batch, height', width', out], the gradient of the result.
        strides: one per axis of `data_format`.
        padding: "SAME", "VALID" or "EXPLICIT".
        use_cudnn_on_gpu: changes nothing on a CPU.
        explicit_paddings: before and after for each axis, for "EXPLICIT".
        data_format: "NHWC" or "NCHW".
        dilations: one per axis.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`. TensorFlow has no gradient of it, and
        runs it on GPUs alone.

    Raises:
        InvalidArgumentError: shapes or attributes do not fit.
    """
    return execute_one(
        CONV2D_BACKPROP_INPUT_V2,
        input,
        filter,
        out_backprop,
        strides=tuple(strides),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=tuple(explicit_paddings),
        data_format=data_format,
        dilations=tuple(dilations),
        name=name,
    )


def _run(op: OpDef, *args: Any, **attrs: Any) -> Array:
    assert op.kernel is not None  # noqa: S101 (convolutions have one)
    return np.asarray(op.kernel(*args, **attrs))


def _filter_kernel(
    input: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
) -> Array:
    return _run(
        spatial_convolutions.CONV2D_BACKPROP_FILTER,
        input,
        np.array(filter.shape, np.int32),
        out_backprop,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
    )


def _input_kernel(
    input: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
) -> Array:
    return _run(
        spatial_convolutions.CONV2D_BACKPROP_INPUT,
        np.array(input.shape, np.int32),
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
    )


def _infer_like(index: int) -> Callable[[InferCall], Shape]:
    """The shape of input `index`; the three must fit as those of a convolution do."""

    def infer(call: InferCall) -> Shape:
        x, filters, dy = (layouts.known_rank(call, i, 4) for i in range(3))
        layouts.check_per_axis(call, "strides")
        layouts.check_per_axis(call, "dilations")
        channels = call.attrs["data_format"].index("C")
        inputs, per_group, outputs = x[channels], filters[-2], filters[-1]
        if inputs is not None and per_group is not None and (not per_group or inputs % per_group):
            call.fail(f"input must have a multiple of {per_group} channels, got {inputs}")
        if dy[channels] is not None and outputs is not None and dy[channels] != outputs:
            call.fail(
                "channels of out_backprop must be those of the filter, "
                f"got {dy[channels]} and {outputs}"
            )
        return (x, filters)[index]

    return infer


_ATTRS_2D = {
    **layouts.window_attrs(2, explicit=True, dilations=True),
    "use_cudnn_on_gpu": attr("bool", default=True),
}
_GIVEN = "input: T, filter: T, out_backprop: T -> output: T"
CONV2D_BACKPROP_FILTER_V2 = define(
    name="Conv2DBackpropFilterV2",
    signature=_GIVEN,
    types={"T": FLOATS},
    attrs=_ATTRS_2D,
    infer=_infer_like(1),
    kernel=_filter_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
CONV2D_BACKPROP_INPUT_V2 = define(
    name="Conv2DBackpropInputV2",
    signature=_GIVEN,
    types={"T": FLOATS | {int32}},
    attrs=_ATTRS_2D,
    infer=_infer_like(0),
    kernel=_input_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _conv_kernel(
    input: Array,
    filter: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
    dilations: tuple[int, ...],
    batch_dims: int,
) -> Array:
    spatial = filter.ndim - 2
    batch = input.shape[:batch_dims]
    attrs: dict[str, Any] = {"explicit_paddings": explicit_paddings} if spatial == 2 else {}
    y = _run(
        spatial_convolutions.CONV2D if spatial == 2 else spatial_convolutions.CONV3D,
        input.reshape(-1, *input.shape[batch_dims:]),
        filter,
        strides=strides,
        padding=padding,
        data_format=_FORMATS[data_format][spatial],
        dilations=dilations or (1,) * (spatial + 2),
        **attrs,
    )
    return y.reshape(*batch, *y.shape[1:])


def _infer_conv(call: InferCall) -> Shape:
    x, filters = call.spec(0).shape, call.spec(1).shape
    attrs = call.attrs
    batch_dims, groups = attrs["batch_dims"], attrs["groups"]
    if batch_dims < 1 or groups < 1:
        call.fail(f"batch_dims and groups must be at least 1, got {batch_dims} and {groups}")
    if filters.rank is not None:
        spatial = filters.rank - 2
    elif x.rank is not None:
        spatial = x.rank - batch_dims - 1
    else:
        return Shape(None)
    if spatial not in {2, 3}:
        call.fail(f"filter must have 2 or 3 spatial axes, got {spatial}")
    if x.rank is not None and x.rank != batch_dims + spatial + 1:
        call.fail(
            f"input must have {batch_dims + spatial + 1} axes, {batch_dims} of them the batch, "
            f"got rank {x.rank}"
        )
    if spatial == 3 and attrs["padding"] == "EXPLICIT":
        call.fail("padding EXPLICIT goes with 2 spatial axes, got 3")
    return _conv_shape(call, x, filters, spatial)


def _conv_shape(call: InferCall, x: Shape, filters: Shape, spatial: int) -> Shape:
    attrs, batch_dims, groups = call.attrs, call.attrs["batch_dims"], call.attrs["groups"]
    sizes = x.as_list() if x.rank is not None else [None] * (batch_dims + spatial + 1)
    taps = filters.as_list() if filters.rank is not None else [None] * (spatial + 2)
    data_format = _FORMATS[attrs["data_format"]][spatial]
    folded = [None, *sizes[batch_dims:]]
    channels = folded[data_format.index("C")]
    if channels is not None and taps[-2] is not None and channels != taps[-2] * groups:
        call.fail(
            f"input must have {taps[-2]} channels for each of {groups} groups, got {channels}"
        )
    if taps[-1] is not None and taps[-1] % groups:
        call.fail(f"the filter's outputs must be a multiple of {groups} groups, got {taps[-1]}")
    of_two_axes = InferCall(
        spatial_convolutions.CONV2D if spatial == 2 else spatial_convolutions.CONV3D,
        call.inputs,
        {
            **attrs,
            "data_format": data_format,
            "dilations": tuple(attrs["dilations"]) or (1,) * (spatial + 2),
        },
    )
    windows = layouts.inferred_windows(of_two_axes, layouts.inner(folded, data_format), taps[:-2])
    rest = layouts.format_shape(None, windows.sizes, taps[-1], data_format)
    return Shape([*sizes[:batch_dims], *rest.as_list()[1:]])


CONV = define(
    name="Conv",
    signature="input: T, filter: T -> output: T",
    types={"T": FLOATS | {int32}},
    attrs={
        "strides": attr("list(int)"),
        "padding": attr("string", allowed=(*layouts.PADDINGS, "EXPLICIT")),
        "explicit_paddings": attr("list(int)", default=()),
        "data_format": attr("string", default="CHANNELS_LAST", allowed=tuple(_FORMATS)),
        "dilations": attr("list(int)", default=()),
        "batch_dims": attr("int", default=1),
        "groups": attr("int", default=1),
    },
    infer=_infer_conv,
    kernel=_conv_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

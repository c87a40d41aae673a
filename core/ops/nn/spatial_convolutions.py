"""Conv2D and Conv3D, and the ops of their gradients."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pinnace.framework.dtypes import FLOATS, INDEX, int32
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops import flops
from pinnace.ops.execute import execute
from pinnace.ops.kernels import convolution as kernels
from pinnace.ops.nn import image_rows, layouts
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import define

# Attributes of the windows' placement, as arguments of `layouts.placement` after the sizes.
_Rule: TypeAlias = tuple[tuple[int, ...], str, tuple[int, ...], str, tuple[int, ...]]


def _conv(x: Array, filters: Array, rule: _Rule, out: Array | None) -> Array:
    data_format = rule[3]
    if out is not None and not layouts.is_channels_last(data_format):
        return layouts.filled(out, _conv(x, filters, rule, None))
    x = layouts.channels_last(x, data_format)
    steps, rates, pads, _ = layouts.placement(x.shape[1:-1], filters.shape[:-2], *rule)
    return layouts.as_format(kernels.conv(x, filters, steps, pads, rates, out), data_format)


def _infer(spatial: int) -> Callable[[InferCall], Shape]:
    """[batch, *sizes, out], arranged by `data_format`."""

    def infer(call: InferCall) -> Shape:
        data_format = call.attrs["data_format"]
        x = layouts.known_rank(call, 0, spatial + 2)
        filters = layouts.known_rank(call, 1, spatial + 2)
        batch, channels = x[0], x[data_format.index("C")]
        _check_groups(call, channels, filters)
        sizes = layouts.inner(x.as_list(), data_format)
        windows = layouts.inferred_windows(call, sizes, filters.as_list()[:-2])
        return layouts.format_shape(batch, windows.sizes, filters[-1], data_format)

    return infer


def _check_groups(call: InferCall, channels: int | None, filters: Shape) -> None:
    per_group, outputs = filters[-2], filters[-1]
    if channels is None or per_group is None:
        return
    if per_group == 0 or channels % per_group:
        call.fail(
            "channels of the input must equal those of the filter, or be a multiple for groups, "
            f"got {channels} and {per_group}"
        )
    if outputs is not None and channels and outputs % (channels // per_group):
        call.fail(
            f"output channels must be a multiple of the {channels // per_group} groups, "
            f"got {outputs}"
        )


def _passed_on(call: OpCall) -> dict[str, Any]:
    return {name: call.attr(name) for name in call.op.attrs}


def _gradients(
    conv: Callable[[], OpDef], to_input: Callable[[], OpDef], to_filter: Callable[[], OpDef]
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Gradients of a convolution, of its input gradient and its filter gradient."""

    def of_conv(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        x, w = call.inputs
        options = _passed_on(call)
        return (
            execute(to_input(), layouts.sizes_of(x), w, dy, **options) if call.needs(0) else None,
            execute(to_filter(), x, layouts.sizes_of(w), dy, **options) if call.needs(1) else None,
        )

    def of_input_gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        _, w, dy = call.inputs
        options = _passed_on(call)
        return (
            None,
            execute(to_filter(), ddx, layouts.sizes_of(w), dy, **options),
            execute(conv(), ddx, w, **options),
        )

    def of_filter_gradient(call: OpCall, ddw: Tensor) -> tuple[Any, ...]:
        x, _, dy = call.inputs
        options = _passed_on(call)
        return (
            execute(to_input(), layouts.sizes_of(x), ddw, dy, **options),
            None,
            execute(conv(), x, ddw, **options),
        )

    return of_conv, of_input_gradient, of_filter_gradient


def _attrs(spatial: int) -> dict[str, Any]:
    attrs = layouts.window_attrs(spatial, explicit=spatial == 2, dilations=True)
    if spatial == 2:
        attrs["use_cudnn_on_gpu"] = attr("bool", default=True)
    return attrs


_of_conv2d, _of_conv2d_input, _of_conv2d_filter = _gradients(
    lambda: CONV2D, lambda: CONV2D_BACKPROP_INPUT, lambda: CONV2D_BACKPROP_FILTER
)


def _conv_kernel(
    input: Array,
    filter: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    dilations: tuple[int, ...],
    explicit_paddings: tuple[int, ...] = (),
    out: Array | None = None,
) -> Array:
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    return _conv(input, filter, rule, out)


CONV2D: OpDef = define(
    name="Conv2D",
    signature="input: T, filter: T -> output: T",
    types={"T": FLOATS | {int32}},
    attrs=_attrs(2),
    infer=_infer(2),
    kernel=_conv_kernel,
    gradient=_of_conv2d,
    out=True,
    product="convolution",
    packs=True,
    batch=image_rows.FOLDED,
    flops=flops.convolution,
)


def _input_gradient(
    sizes: list[int], filters: Array, dy: Array, rule: _Rule, out: Array | None
) -> Array:
    data_format = rule[3]
    if out is not None and not layouts.is_channels_last(data_format):
        return layouts.filled(out, _input_gradient(sizes, filters, dy, rule, None))
    dy = layouts.channels_last(dy, data_format)
    if len(sizes) == dy.ndim - 2:  # TensorFlow: the spatial sizes only
        shape = (len(dy), *sizes, filters.shape[-2])
    else:
        shape = layouts.last_shape(sizes, data_format)
    steps, rates, pads, _ = layouts.placement(shape[1:-1], filters.shape[:-2], *rule)
    dx = kernels.conv_input_gradient(shape, filters, dy, steps, pads, rates, out)
    return layouts.as_format(dx, data_format)


def _infer_input_gradient(spatial: int) -> Callable[[InferCall], Shape]:
    def infer(call: InferCall) -> Shape:
        data_format = call.attrs["data_format"]
        sizes = call.shape_constant(0)
        filters = layouts.known_rank(call, 1, spatial + 2)
        dy = layouts.known_rank(call, 2, spatial + 2)
        outputs = dy[data_format.index("C")]
        if outputs is not None and filters[-1] is not None and outputs != filters[-1]:
            call.fail(
                "channels of out_backprop must be those of the filter, "
                f"got {outputs} and {filters[-1]}"
            )
        layouts.check_per_axis(call, "strides")
        layouts.check_per_axis(call, "dilations")
        if sizes.rank == spatial:
            return layouts.format_shape(dy[0], sizes.as_list(), filters[-2], data_format)
        if sizes.rank not in {None, spatial + 2}:
            call.fail(f"input_sizes must have {spatial + 2} entries, got {sizes.rank}")
        rest = [None] * (spatial + 1) if sizes.rank is None else sizes.as_list()[1:]
        batch = None if sizes.rank is None else sizes[0]
        return Shape([dy[0] if batch is None else batch, *rest])

    return infer


def _conv_input_kernel(
    input_sizes: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    dilations: tuple[int, ...],
    explicit_paddings: tuple[int, ...] = (),
    out: Array | None = None,
) -> Array:
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    return _input_gradient(input_sizes.tolist(), filter, out_backprop, rule, out)


CONV2D_BACKPROP_INPUT: OpDef = define(
    name="Conv2DBackpropInput",
    signature="input_sizes: int32, filter: T, out_backprop: T -> output: T",
    types={"T": FLOATS | {int32}},
    attrs=_attrs(2),
    infer=_infer_input_gradient(2),
    kernel=_conv_input_kernel,
    gradient=_of_conv2d_input,
    out=True,
    product="convolution",
    flops=flops.input_gradient,
)


def _filter_gradient(x: Array, sizes: list[int], dy: Array, rule: _Rule) -> Array:
    data_format = rule[3]
    x, dy = layouts.channels_last(x, data_format), layouts.channels_last(dy, data_format)
    steps, rates, pads, _ = layouts.placement(x.shape[1:-1], tuple(sizes[:-2]), *rule)
    return kernels.conv_filter_gradient(x, sizes, dy, steps, pads, rates)


def _infer_filter_gradient(spatial: int) -> Callable[[InferCall], Shape]:
    def infer(call: InferCall) -> Shape:
        layouts.known_rank(call, 0, spatial + 2)
        layouts.known_rank(call, 2, spatial + 2)
        layouts.check_per_axis(call, "strides")
        layouts.check_per_axis(call, "dilations")
        sizes = call.shape_constant(1)
        if sizes.rank not in {None, spatial + 2}:
            call.fail(f"filter_sizes must have {spatial + 2} entries, got {sizes.rank}")
        x = call.spec(0).shape
        if x.rank and sizes.rank and sizes[-2]:
            channels = x[-1 if layouts.is_channels_last(call.attrs["data_format"]) else 1]
            if channels is not None and (not channels or channels % sizes[-2]):
                call.fail(f"input must have a multiple of {sizes[-2]} channels, got {channels}")
        return Shape([None] * (spatial + 2)) if sizes.rank is None else sizes

    return infer


def _conv_filter_kernel(
    input: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    dilations: tuple[int, ...],
    explicit_paddings: tuple[int, ...] = (),
) -> Array:
    rule = (strides, padding, explicit_paddings, data_format, dilations)
    return _filter_gradient(input, filter_sizes.tolist(), out_backprop, rule)


CONV2D_BACKPROP_FILTER: OpDef = define(
    name="Conv2DBackpropFilter",
    signature="input: T, filter_sizes: int32, out_backprop: T -> output: T",
    types={"T": FLOATS},
    attrs=_attrs(2),
    infer=_infer_filter_gradient(2),
    kernel=_conv_filter_kernel,
    gradient=_of_conv2d_filter,
    product="convolution",
    fresh=True,
    flops=flops.filter_gradient,
)


_of_conv3d, _of_conv3d_input, _of_conv3d_filter = _gradients(
    lambda: CONV3D, lambda: CONV3D_BACKPROP_INPUT, lambda: CONV3D_BACKPROP_FILTER
)


CONV3D: OpDef = define(
    name="Conv3D",
    signature="input: T, filter: T -> output: T",
    types={"T": FLOATS},
    attrs=_attrs(3),
    infer=_infer(3),
    kernel=_conv_kernel,
    gradient=_of_conv3d,
    out=True,
    product="convolution",
    flops=flops.convolution,
)


CONV3D_BACKPROP_INPUT: OpDef = define(
    name="Conv3DBackpropInputV2",
    signature="input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    types={"T": FLOATS, "Tshape": typed(INDEX, int32)},
    attrs=_attrs(3),
    infer=_infer_input_gradient(3),
    kernel=_conv_input_kernel,
    gradient=_of_conv3d_input,
    out=True,
    product="convolution",
    flops=flops.input_gradient,
)


CONV3D_BACKPROP_FILTER: OpDef = define(
    name="Conv3DBackpropFilterV2",
    signature="input: T, filter_sizes: int32, out_backprop: T -> output: T",
    types={"T": FLOATS},
    attrs=_attrs(3),
    infer=_infer_filter_gradient(3),
    kernel=_conv_filter_kernel,
    gradient=_of_conv3d_filter,
    product="convolution",
    fresh=True,
    flops=flops.filter_gradient,
)

"""Maxima and means over windows: MaxPool, AvgPool and their gradients, 1 to 3 spatial axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import (
    FLOATS,
    INDEX,
    REAL,
    DType,
    as_dtype,
    float32,
    float64,
    int64,
)
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import constants, reshaping
from pinnace.ops.execute import execute
from pinnace.ops.kernels import pooling as kernels
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import AttrDef, InferCall, OpCall, OpDef, attr, typed
from pinnace.ops.registry import register, same_as_input

__all__ = [
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "pool",
]

_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def max_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The maximum of every window, per channel.

    Args:
        input: [batch, height, width, channels], or channels first for "NCHW"; a real type.
        ksize: size of the windows: a number, one per spatial axis, or one per axis.
        strides: step between windows, given as `ksize` is.
        padding: "SAME", "VALID", or a pair (before, after) for each axis; it never wins.
        data_format: "NHWC" or "NCHW".
        name: name of the node while tracing.

    Returns:
        [batch, height', width', channels] in the order of `data_format`, dtype of `input`.

    Raises:
        InvalidArgumentError: a window is larger than the padded image.
        ValueError: an argument of another form.

    Source:
        TensorFlow op `MaxPool` (nn_ops.cc).
    """
    options = _options("max_pool2d", 2, ksize, strides, padding, data_format)
    return execute(MAX_POOL, input, name=name, **options)  # type: ignore[no-any-return]


def avg_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of every window, per channel; padding does not count.

    Args:
        input: [batch, height, width, channels], or channels first for "NCHW"; any float dtype.
        ksize: as for `max_pool2d`.
        strides: as for `max_pool2d`.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW".
        name: name of the node while tracing.

    Source:
        TensorFlow op `AvgPool` (nn_ops.cc).
    """
    options = _options("avg_pool2d", 2, ksize, strides, padding, data_format)
    return execute(AVG_POOL, input, name=name, **options)  # type: ignore[no-any-return]


def max_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The maximum of every window of a volume, per channel; see `max_pool2d`.

    Source:
        TensorFlow op `MaxPool3D` (nn_ops.cc).
    """
    options = _options("max_pool3d", 3, ksize, strides, padding, data_format)
    return execute(MAX_POOL_3D, input, name=name, **options)  # type: ignore[no-any-return]


def avg_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of every window of a volume, per channel; see `avg_pool2d`.

    Source:
        TensorFlow op `AvgPool3D` (nn_ops.cc).
    """
    options = _options("avg_pool3d", 3, ksize, strides, padding, data_format)
    return execute(AVG_POOL_3D, input, name=name, **options)  # type: ignore[no-any-return]


def max_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool2d` of sequences, [batch, width, channels] or [batch, channels, width].

    Source:
        TensorFlow `tf.nn.max_pool1d`.
    """
    return _pool1d("max_pool1d", max_pool2d, input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """`avg_pool2d` of sequences, [batch, width, channels] or [batch, channels, width].

    Source:
        TensorFlow `tf.nn.avg_pool1d`.
    """
    return _pool1d("avg_pool1d", avg_pool2d, input, ksize, strides, padding, data_format, name)


def _pool1d(
    function: str,
    pool2d: Callable[..., Tensor],
    x: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    name: str | None,
) -> Tensor:
    """A sequence is an image one row high."""
    data_format = layouts.checked_format(function, data_format, _FORMATS[1])
    row = 1 if data_format == "NWC" else 2

    def with_row(argument: str, value: Any) -> tuple[int, ...]:
        entries = layouts.per_axis(function, argument, value, 1, data_format)
        return (*entries[:row], 1, *entries[row:])

    if not isinstance(padding, str):
        padding = [*padding[:row], (0, 0), *padding[row:]]
    y = pool2d(
        reshaping.expand_dims(x, row),
        with_row("ksize", ksize),
        with_row("strides", strides),
        padding,
        "NHWC" if data_format == "NWC" else "NCHW",
    )
    return reshaping.squeeze(y, [row], name=name)


def max_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool1d`, `max_pool2d` or `max_pool3d`, by the rank of `input`.

    Source:
        TensorFlow `tf.nn.max_pool`.
    """
    x = convert_to_tensor(input)
    spatial = _spatial_axes("max_pool", x, data_format)
    data_format = layouts.checked_format("max_pool", data_format, _FORMATS[spatial])
    function: Callable[..., Tensor] = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}[spatial]
    return function(x, ksize, strides, padding, data_format, name)


def avg_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool1d`, `avg_pool2d` or `avg_pool3d`, by the rank of `input`.

    Source:
        TensorFlow `tf.nn.avg_pool`.
    """
    x = convert_to_tensor(input)
    spatial = _spatial_axes("avg_pool", x, data_format)
    data_format = layouts.checked_format("avg_pool", data_format, _FORMATS[spatial])
    function: Callable[..., Tensor] = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[spatial]
    return function(x, ksize, strides, padding, data_format, name)


def _spatial_axes(function: str, x: Tensor, data_format: str | None) -> int:
    rank = len(data_format) if data_format is not None else x.shape.rank
    if rank not in {3, 4, 5}:
        message = f"{function}: input must have 3, 4 or 5 axes, got shape {x.shape.text}"
        raise ValueError(message)
    return rank - 2


def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool` or `avg_pool`, by name.

    Args:
        input: [batch, *spatial, channels], or channels first.
        window_shape: taps per spatial axis.
        pooling_type: "MAX" or "AVG".
        strides: step between windows, per spatial axis; 1 if None.
        padding: "SAME" or "VALID".
        data_format: where batch and channels are; channels last if None.
        dilations: step between the taps of a window, per spatial axis; 1 if None.
        name: name of the node while tracing.

    Raises:
        ValueError: another `pooling_type`; strides or "SAME" together with dilations.

    Source:
        TensorFlow `tf.nn.pool`.
    """
    functions: dict[str, Callable[..., Tensor]] = {"MAX": max_pool, "AVG": avg_pool}
    if pooling_type not in functions:
        message = f"pool: pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}"
        raise ValueError(message)
    x = convert_to_tensor(input)
    spatial = _spatial_axes("pool", x, data_format)
    data_format = layouts.checked_format("pool", data_format, _FORMATS[spatial])
    rates = layouts.inner(
        layouts.per_axis("pool", "dilations", dilations, spatial, data_format), data_format
    )
    steps = 1 if strides is None else strides
    if all(rate == 1 for rate in rates):
        return functions[pooling_type](x, window_shape, steps, padding, data_format, name)
    if padding != "VALID" or any(step != 1 for step in np.asarray(steps).reshape(-1)):
        message = "pool: dilations go with padding 'VALID' and strides 1 only"
        raise ValueError(message)
    return _dilated(functions[pooling_type], x, window_shape, rates, data_format, name)


def _dilated(
    function: Callable[..., Tensor],
    x: Tensor,
    window_shape: Any,
    rates: tuple[int, ...],
    data_format: str,
    name: str | None,
) -> Tensor:
    """Every phase of the image is an image of its own, whose neighbours are `rates` apart."""
    from pinnace.ops.array import space_depth

    last = [0, *range(2, len(rates) + 2), 1]
    first = [0, len(rates) + 1, *range(1, len(rates) + 1)]
    if data_format[-1] != "C":
        x = reshaping.transpose(x, last)
    sizes = [n if n is not None else 0 for n in x.shape[1:-1]]
    ends = [(0, -size % rate) for size, rate in zip(sizes, rates, strict=True)]
    y = function(space_depth.space_to_batch(x, list(rates), ends), window_shape, 1, "VALID")
    y = space_depth.batch_to_space(y, list(rates), ends)
    if data_format[-1] != "C":
        y = reshaping.transpose(y, first)
    return y if name is None else reshaping.reshape(y, y.shape, name=name)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The maximum of every window and where it stood.

    Args:
        input: [batch, height, width, channels], a real type.
        ksize: as for `max_pool2d`.
        strides: as for `max_pool2d`.
        padding: "SAME" or "VALID".
        data_format: "NHWC".
        output_dtype: int32 or int64, of the places.
        include_batch_in_index: count places from the start of the batch, not of their image.
        name: name of the node while tracing.

    Returns:
        The maxima, and (row * width + column) * channels + channel of each.

    Source:
        TensorFlow op `MaxPoolWithArgmax` (nn_ops.cc).
    """
    layouts.checked_format("max_pool_with_argmax", data_format, ("NHWC",))
    options = _options("max_pool_with_argmax", 2, ksize, strides, padding, data_format)
    del options["data_format"]
    return execute(  # type: ignore[no-any-return]
        MAX_POOL_WITH_ARGMAX,
        input,
        Targmax=as_dtype(output_dtype),
        include_batch_in_index=include_batch_in_index,
        name=name,
        **options,
    )


def _options(
    function: str, spatial: int, ksize: Any, strides: Any, padding: Any, data_format: str
) -> dict[str, Any]:
    """Public arguments as attributes."""
    data_format = layouts.checked_format(function, data_format, _FORMATS[spatial])
    return {
        "ksize": layouts.per_axis(function, "ksize", ksize, spatial, data_format),
        "strides": layouts.per_axis(function, "strides", strides, spatial, data_format),
        **layouts.padding_attrs(function, padding),
        "data_format": data_format,
    }


# Kernels: NumPy works channels last; the other order is a view before and a copy after.


class _Windows:
    """The attributes of a pooling, and arrays in the order that the kernels take."""

    __slots__ = ("across", "data_format", "explicit", "ksize", "padding", "strides")

    def __init__(
        self,
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str = "NHWC",
        explicit: tuple[int, ...] = (),
    ) -> None:
        self.padding = padding
        self.data_format = data_format
        self.explicit = explicit
        channel = data_format.index("C")
        # Windows over channels: these are one more spatial axis, of a single channel.
        self.across = ksize[channel] != 1 or strides[channel] != 1
        if self.across:
            self.data_format = f"{data_format}c" if data_format[-1] == "C" else data_format
            self.ksize, self.strides = (*ksize[1:],), (*strides[1:],)
        else:
            self.ksize = layouts.inner(ksize, data_format)
            self.strides = layouts.inner(strides, data_format)

    def last(self, x: Array) -> Array:
        """[batch, ..., channels]."""
        return x[..., None] if self.across else layouts.channels_last(x, self.data_format)

    def given(self, y: Array) -> Array:
        """The inverse."""
        return y[..., 0] if self.across else layouts.as_format(y, self.data_format)

    def shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """`last` for a shape."""
        return (*sizes, 1) if self.across else layouts.last_shape(sizes, self.data_format)

    def pads(self, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """(before, after) per spatial axis of an input of this shape, channels last."""
        if self.across:
            strides, data_format = (1, *self.strides, 1), "N" + "X" * len(self.strides) + "C"
        else:
            channel_first = self.data_format[-1] != "C"
            strides = (1, 1, *self.strides) if channel_first else (1, *self.strides, 1)
            data_format = self.data_format
        return layouts.placement(
            shape[1:-1], self.ksize, strides, self.padding, self.explicit, data_format
        ).pads


def _max(x: Array, windows: _Windows) -> Array:
    x = windows.last(x)
    y = kernels.max_pool(x, windows.ksize, windows.strides, windows.pads(x.shape))
    return windows.given(y)


def _max_gradient(x: Array, y: Array, dy: Array, windows: _Windows, ties: kernels.Ties) -> Array:
    x, y, dy = windows.last(x), windows.last(y), windows.last(dy)
    pads = windows.pads(x.shape)
    dx = kernels.max_pool_gradient(x, y, dy, windows.ksize, windows.strides, pads, ties)
    return windows.given(dx)


def _at_maxima(x: Array, values: Array, windows: _Windows) -> Array:
    """`values`, of the shape of x, where the maxima stand: the shape of the output."""
    x, values = windows.last(x), windows.last(values)
    pads = windows.pads(x.shape)
    _, places = kernels.max_pool_with_argmax(
        x, windows.ksize, windows.strides, pads, include_batch_in_index=True
    )
    return windows.given(values.reshape(-1)[places])


def _avg(x: Array, windows: _Windows) -> Array:
    x = windows.last(x)
    y = kernels.avg_pool(x, windows.ksize, windows.strides, windows.pads(x.shape))
    return windows.given(y)


def _avg_gradient(sizes: Array, dy: Array, windows: _Windows) -> Array:
    shape = windows.shape(tuple(sizes.tolist()))
    dy = windows.last(dy)
    if dy.shape[0] != shape[0] or dy.shape[-1] != shape[-1]:
        raise InvalidArgumentError(
            f"the gradient of an average must have as many images and channels as its input, "
            f"{shape[0]} and {shape[-1]}, got {dy.shape[0]} and {dy.shape[-1]}"
        )
    dx = kernels.avg_pool_gradient(shape, dy, windows.ksize, windows.strides, windows.pads(shape))
    return windows.given(dx)


def _max_pool_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
) -> Array:
    return _max(input, _Windows(ksize, strides, padding, data_format, explicit_paddings))


def _max_pool_v2_kernel(
    input: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
    data_format: str,
) -> Array:
    return _max(input, _Windows(ksize.tolist(), strides.tolist(), padding, data_format))


def _max_pool_3d_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _max(input, _Windows(ksize, strides, padding, data_format))


def _max_pool_grad_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
    data_format: str,
) -> Array:
    windows = _Windows(ksize, strides, padding, data_format, explicit_paddings)
    return _max_gradient(orig_input, orig_output, grad, windows, "first")


def _max_pool_grad_v2_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
    data_format: str,
) -> Array:
    windows = _Windows(ksize.tolist(), strides.tolist(), padding, data_format)
    return _max_gradient(orig_input, orig_output, grad, windows, "first")


def _max_pool_3d_grad_kernel(
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    # TensorFlow: in volumes every maximum of a window gets its gradient, in images the first.
    windows = _Windows(ksize, strides, padding, data_format)
    return _max_gradient(orig_input, orig_output, grad, windows, "every")


def _max_pool_grad_grad_kernel(
    orig_input: Array,
    orig_output: Array,  # noqa: ARG001 (the places follow from the input)
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _at_maxima(orig_input, grad, _Windows(ksize, strides, padding, data_format))


def _max_pool_grad_grad_v2_kernel(
    orig_input: Array,
    orig_output: Array,  # noqa: ARG001
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
    data_format: str,
) -> Array:
    windows = _Windows(ksize.tolist(), strides.tolist(), padding, data_format)
    return _at_maxima(orig_input, grad, windows)


def _argmax_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    include_batch_in_index: bool,
    Targmax: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array]:
    windows = _Windows(ksize, strides, padding)
    y, places = kernels.max_pool_with_argmax(
        input, windows.ksize, windows.strides, windows.pads(input.shape), include_batch_in_index
    )
    return y, places.astype(Targmax.numpy, copy=False)


def _argmax_grad_kernel(
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: bool,
) -> Array:
    return kernels.max_pool_with_argmax_gradient(grad, argmax, input.shape, include_batch_in_index)


def _argmax_grad_grad_kernel(
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: bool,
) -> Array:
    places = argmax.astype(np.int64)
    if not include_batch_in_index:
        per_image = int(np.prod(input.shape[1:], dtype=np.int64))
        places += (np.arange(len(input)) * per_image).reshape(-1, 1, 1, 1)
    return grad.reshape(-1)[places]


def _avg_pool_kernel(
    value: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _avg(value, _Windows(ksize, strides, padding, data_format))


def _avg_pool_3d_kernel(
    input: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _avg(input, _Windows(ksize, strides, padding, data_format))


def _avg_pool_grad_kernel(
    orig_input_shape: Array,
    grad: Array,
    *,
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
) -> Array:
    return _avg_gradient(orig_input_shape, grad, _Windows(ksize, strides, padding, data_format))


# Inference.


def _pooled(call: InferCall, ksize: Any, strides: Any) -> Shape:
    data_format = call.attrs.get("data_format", "NHWC")
    x = layouts.known_rank(call, 0, len(data_format))
    for name, values in (("ksize", ksize), ("strides", strides)):
        if len(values) != len(data_format):
            call.fail(f"{name} must have {len(data_format)} entries, got {list(values)}")
        if values[0] != 1:
            call.fail(f"{name} must be 1 for the batch, got {list(values)}")
        if min(values) < 1:
            call.fail(f"{name} must be positive, got {list(values)}")
    windows = _Windows(ksize, strides, call.attrs["padding"], data_format)
    if windows.across:
        if data_format[-1] != "C" or call.attrs["padding"] == "EXPLICIT":
            call.fail("windows over channels need channels last and no explicit padding")
        pooled = [
            _pooled_size(call, size, taps, step)
            for size, taps, step in zip(
                x.as_list()[1:], windows.ksize, windows.strides, strict=True
            )
        ]
        return Shape([x[0], *pooled])
    sizes = layouts.inner(x.as_list(), data_format)
    view = InferCall(
        call.op, call.inputs, {**call.attrs, "strides": tuple(strides), "data_format": data_format}
    )
    found = layouts.inferred_windows(view, sizes, windows.ksize)
    return layouts.format_shape(x[0], found.sizes, x[data_format.index("C")], data_format)


def _pooled_size(call: InferCall, size: int | None, taps: int, step: int) -> int | None:
    if size is None:
        return None
    if call.attrs["padding"] == "SAME":
        return -(-size // step)
    if size < taps:
        call.fail(f"a window must not be larger than the input, got {taps} and {size}")
    return (size - taps) // step + 1


def _infer(call: InferCall) -> Shape:
    return _pooled(call, call.attrs["ksize"], call.attrs["strides"])


def _infer_argmax(call: InferCall) -> tuple[Shape, Shape]:
    shape = _infer(call)
    return shape, shape


def _infer_v2(call: InferCall) -> Shape:
    ksize, strides = call.constant(1), call.constant(2)
    if ksize is None or strides is None:
        return Shape([call.spec(0).shape[0], None, None, None])
    return _pooled(call, tuple(ksize.tolist()), tuple(strides.tolist()))


def _infer_from_shape(call: InferCall) -> Shape:
    shape = call.shape_constant(0)
    return (
        layouts.known_rank(call, 1, len(call.attrs["data_format"])).most_general_compatible_shape()
        if shape.rank is None
        else shape
    )


def _image(call: InferCall, index: int) -> Shape:
    """The shape of an input that must be a batch of images, or of volumes."""
    shape = call.spec(index).shape
    rank = len(call.attrs["ksize"]) if "ksize" in call.attrs else 4
    if shape.rank not in {None, rank}:
        call.fail(f"{call.op.inputs[index].name} must have {rank} axes, got {shape.rank}")
    return shape if shape.rank is not None else Shape([None] * rank)


def _infer_like_input(call: InferCall) -> Shape:
    if not _image(call, 1).is_compatible_with(_image(call, 2)):
        call.fail("grad must have the shape of orig_output")
    return _image(call, 0)


def _infer_like_output(call: InferCall) -> Shape:
    for index in (0, 2):
        _image(call, index)
    return _image(call, 1)


def _infer_like_argmax(call: InferCall) -> Shape:
    return call.spec(2).shape


# Gradients.


def _passed_on(call: OpCall, op: OpDef) -> dict[str, Any]:
    """The attributes that `op` has too."""
    return {name: call.attr(name) for name in call.op.attrs if name in op.attrs}


def _to_grad(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    """The gradient of a maximum: input, output and dy go to `op`."""

    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        x, *rest = call.inputs
        options = _passed_on(call, op())
        dx = execute(op(), x, call.outputs[0], dy, *rest, **options)
        return (dx, *(None for _ in rest))

    return gradient


def _to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    """The gradient of a gradient of a maximum, linear in its third input; places do not move."""

    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        x, y, _, *rest = call.inputs
        options = _passed_on(call, op())
        return (
            constants.zeros_like(x),
            constants.zeros_like(y),
            execute(op(), x, y, ddx, *rest, **options),
            *(None for _ in rest),
        )

    return gradient


def _argmax_gradient(call: OpCall, dy: Tensor, _: Tensor | None) -> tuple[Any, ...]:
    op = MAX_POOL_GRAD_WITH_ARGMAX
    return (execute(op, call.inputs[0], dy, call.outputs[1], **_passed_on(call, op)),)


def _argmax_to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        x, _, argmax = call.inputs
        options = _passed_on(call, op())
        return constants.zeros_like(x), execute(op(), x, ddx, argmax, **options), None

    return gradient


def _avg_to_grad(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        options = _passed_on(call, op())
        return (execute(op(), layouts.sizes_of(call.inputs[0]), dy, **options),)

    return gradient


def _avg_to_other(op: Callable[[], OpDef]) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, ddx: Tensor) -> tuple[Any, ...]:
        return None, execute(op(), ddx, **_passed_on(call, op()))

    return gradient


def _attrs(spatial: int, *, explicit: bool = False) -> dict[str, AttrDef]:
    return {"ksize": attr("list(int)"), **layouts.window_attrs(spatial, explicit=explicit)}


_V2_ATTRS = {
    name: definition for name, definition in _attrs(2).items() if name not in {"ksize", "strides"}
}
_ARGMAX_ATTRS = {
    **{name: definition for name, definition in _attrs(2).items() if name != "data_format"},
    "include_batch_in_index": attr("bool", default=False),
}
# MaxPool3D's are those that TensorFlow's CPU kernels have, and float64, which they lack.
_POOLED = REAL - {dtypes.uint32, dtypes.uint64}
_VOLUME_FLOATS = FLOATS | {float64}

MAX_POOL: OpDef = register(
    OpDef(
        name="MaxPool",
        signature="input: T -> output: T",
        types={"T": typed(_POOLED, float32)},
        attrs=_attrs(2, explicit=True),
        infer=_infer,
        kernel=_max_pool_kernel,
        gradient=_to_grad(lambda: MAX_POOL_GRAD),
    )
)
MAX_POOL_GRAD: OpDef = register(
    OpDef(
        name="MaxPoolGrad",
        signature="orig_input: T, orig_output: T, grad: T -> output: T",
        types={"T": typed(REAL, float32)},
        attrs=_attrs(2, explicit=True),
        infer=_infer_like_input,
        kernel=_max_pool_grad_kernel,
        gradient=_to_other(lambda: MAX_POOL_GRAD_GRAD),
    )
)
MAX_POOL_GRAD_GRAD: OpDef = register(
    OpDef(
        name="MaxPoolGradGrad",
        signature="orig_input: T, orig_output: T, grad: T -> output: T",
        types={"T": REAL},
        attrs=_attrs(2),
        infer=_infer_like_output,
        kernel=_max_pool_grad_grad_kernel,
        gradient=_to_other(lambda: MAX_POOL_GRAD),
    )
)
MAX_POOL_V2: OpDef = register(
    OpDef(
        name="MaxPoolV2",
        signature="input: T, ksize: int32, strides: int32 -> output: T",
        types={"T": typed(_POOLED, float32)},
        attrs=_V2_ATTRS,
        infer=_infer_v2,
        kernel=_max_pool_v2_kernel,
        gradient=_to_grad(lambda: MAX_POOL_GRAD_V2),
    )
)
MAX_POOL_GRAD_V2: OpDef = register(
    OpDef(
        name="MaxPoolGradV2",
        signature="orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32"
        " -> output: T",
        types={"T": typed(REAL, float32)},
        attrs=_V2_ATTRS,
        infer=same_as_input,
        kernel=_max_pool_grad_v2_kernel,
        gradient=_to_other(lambda: MAX_POOL_GRAD_GRAD_V2),
    )
)
MAX_POOL_GRAD_GRAD_V2: OpDef = register(
    OpDef(
        name="MaxPoolGradGradV2",
        signature="orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32"
        " -> output: T",
        types={"T": REAL},
        attrs=_V2_ATTRS,
        infer=_infer_like_output,
        kernel=_max_pool_grad_grad_v2_kernel,
        gradient=_to_other(lambda: MAX_POOL_GRAD_V2),
    )
)
MAX_POOL_WITH_ARGMAX: OpDef = register(
    OpDef(
        name="MaxPoolWithArgmax",
        signature="input: T -> output: T, argmax: Targmax",
        types={"T": REAL, "Targmax": typed(INDEX, int64)},
        attrs=_ARGMAX_ATTRS,
        infer=_infer_argmax,
        kernel=_argmax_kernel,
        gradient=_argmax_gradient,
    )
)
MAX_POOL_GRAD_WITH_ARGMAX: OpDef = register(
    OpDef(
        name="MaxPoolGradWithArgmax",
        signature="input: T, grad: T, argmax: Targmax -> output: T",
        types={"T": REAL, "Targmax": INDEX},
        attrs=_ARGMAX_ATTRS,
        infer=same_as_input,
        kernel=_argmax_grad_kernel,
        gradient=_argmax_to_other(lambda: MAX_POOL_GRAD_GRAD_WITH_ARGMAX),
    )
)
MAX_POOL_GRAD_GRAD_WITH_ARGMAX: OpDef = register(
    OpDef(
        name="MaxPoolGradGradWithArgmax",
        signature="input: T, grad: T, argmax: Targmax -> output: T",
        types={"T": REAL, "Targmax": INDEX},
        attrs=_ARGMAX_ATTRS,
        infer=_infer_like_argmax,
        kernel=_argmax_grad_grad_kernel,
        gradient=_argmax_to_other(lambda: MAX_POOL_GRAD_WITH_ARGMAX),
    )
)
MAX_POOL_3D: OpDef = register(
    OpDef(
        name="MaxPool3D",
        signature="input: T -> output: T",
        types={"T": _VOLUME_FLOATS},
        attrs=_attrs(3),
        infer=_infer,
        kernel=_max_pool_3d_kernel,
        gradient=_to_grad(lambda: MAX_POOL_3D_GRAD),
    )
)
MAX_POOL_3D_GRAD: OpDef = register(
    OpDef(
        name="MaxPool3DGrad",
        signature="orig_input: TInput, orig_output: TInput, grad: T -> output: T",
        types={"T": typed(_VOLUME_FLOATS, float32), "TInput": typed(_VOLUME_FLOATS, float32)},
        attrs=_attrs(3),
        infer=_infer_like_input,
        kernel=_max_pool_3d_grad_kernel,
        gradient=_to_other(lambda: MAX_POOL_3D_GRAD_GRAD),
    )
)
MAX_POOL_3D_GRAD_GRAD: OpDef = register(
    OpDef(
        name="MaxPool3DGradGrad",
        signature="orig_input: T, orig_output: T, grad: T -> output: T",
        types={"T": REAL},
        attrs=_attrs(3),
        infer=_infer_like_output,
        kernel=_max_pool_grad_grad_kernel,
        gradient=_to_other(lambda: MAX_POOL_3D_GRAD),
    )
)
AVG_POOL: OpDef = register(
    OpDef(
        name="AvgPool",
        signature="value: T -> output: T",
        types={"T": FLOATS},
        attrs=_attrs(2),
        infer=_infer,
        kernel=_avg_pool_kernel,
        gradient=_avg_to_grad(lambda: AVG_POOL_GRAD),
    )
)
AVG_POOL_GRAD: OpDef = register(
    OpDef(
        name="AvgPoolGrad",
        signature="orig_input_shape: int32, grad: T -> output: T",
        types={"T": FLOATS},
        attrs=_attrs(2),
        infer=_infer_from_shape,
        kernel=_avg_pool_grad_kernel,
        gradient=_avg_to_other(lambda: AVG_POOL),
    )
)
AVG_POOL_3D: OpDef = register(
    OpDef(
        name="AvgPool3D",
        signature="input: T -> output: T",
        types={"T": FLOATS},
        attrs=_attrs(3),
        infer=_infer,
        kernel=_avg_pool_3d_kernel,
        gradient=_avg_to_grad(lambda: AVG_POOL_3D_GRAD),
    )
)
AVG_POOL_3D_GRAD: OpDef = register(
    OpDef(
        name="AvgPool3DGrad",
        signature="orig_input_shape: int32, grad: T -> output: T",
        types={"T": FLOATS},
        attrs=_attrs(3),
        infer=_infer_from_shape,
        kernel=_avg_pool_grad_kernel,
        gradient=_avg_to_other(lambda: AVG_POOL_3D),
    )
)

"""Pooling functions for 1 to 3 spatial axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype, int64
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.ops.array import permutations, reshaping
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.nn import layouts
from pinnace.ops.nn.pooling.maxima import MAX_POOL, MAX_POOL_3D
from pinnace.ops.nn.pooling.means import AVG_POOL, AVG_POOL_3D
from pinnace.ops.nn.pooling.places import MAX_POOL_WITH_ARGMAX
from pinnace.ops.nn.pooling.windows import FORMATS, options_of


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
    options = options_of("max_pool2d", 2, ksize, strides, padding, data_format)
    return execute_one(MAX_POOL, input, name=name, **options)


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
    options = options_of("avg_pool2d", 2, ksize, strides, padding, data_format)
    return execute_one(AVG_POOL, input, name=name, **options)


def max_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The maximum of every window of a volume, per channel; see `max_pool2d`.

    Args:
        input: [batch, depth, height, width, channels], or channels first; a float type.
        ksize: size of the window, a number or one per axis.
        strides: step of the window, likewise.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".
        name: name of the node while tracing.

    Returns:
        [batch, depth', height', width', channels] in the order of `data_format`.

    Source:
        TensorFlow op `MaxPool3D` (nn_ops.cc).
    """
    options = options_of("max_pool3d", 3, ksize, strides, padding, data_format)
    return execute_one(MAX_POOL_3D, input, name=name, **options)


def avg_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of every window of a volume, per channel; see `avg_pool2d`.

    Args:
        input: [batch, depth, height, width, channels], or channels first; a float type.
        ksize: size of the window, a number or one per axis.
        strides: step of the window, likewise.
        padding: "SAME" or "VALID"; padded places do not count.
        data_format: "NDHWC" or "NCDHW".
        name: name of the node while tracing.

    Returns:
        [batch, depth', height', width', channels] in the order of `data_format`.

    Source:
        TensorFlow op `AvgPool3D` (nn_ops.cc).
    """
    options = options_of("avg_pool3d", 3, ksize, strides, padding, data_format)
    return execute_one(AVG_POOL_3D, input, name=name, **options)


def max_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool2d` of sequences, [batch, width, channels] or [batch, channels, width].

    Args:
        input: [batch, width, channels], or [batch, channels, width] for "NCW".
        ksize: size of the window.
        strides: step of the window.
        padding: "SAME", "VALID", or pairs (before, after) per axis.
        data_format: "NWC" or "NCW".
        name: name of the node while tracing.

    Returns:
        [batch, width', channels] in the order of `data_format`, dtype of `input`.
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

    Args:
        input: [batch, width, channels], or [batch, channels, width] for "NCW".
        ksize: size of the window.
        strides: step of the window.
        padding: "SAME" or "VALID"; padded places do not count.
        data_format: "NWC" or "NCW".
        name: name of the node while tracing.

    Returns:
        [batch, width', channels] in the order of `data_format`, dtype of `input`.
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
    """Pooling of a sequence as an image with one row."""
    data_format = layouts.checked_format(function, data_format, FORMATS[1])
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

    Args:
        input: [batch, *spatial, channels], or channels first; one to three spatial axes.
        ksize: size of the window, a number or one per axis.
        strides: step of the window, likewise.
        padding: "SAME" or "VALID"; in two axes also pairs (before, after) per axis.
        data_format: "NWC", "NHWC", "NDHWC" (if None), or with the channels first.
        name: name of the node while tracing.

    Returns:
        [batch, *spatial', channels] in the order of `data_format`, dtype of `input`.
    """
    x = convert_to_tensor(input)
    spatial = _spatial_axes("max_pool", x, data_format)
    data_format = layouts.checked_format("max_pool", data_format, FORMATS[spatial])
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

    Args:
        input: [batch, *spatial, channels], or channels first; one to three spatial axes.
        ksize: size of the window, a number or one per axis.
        strides: step of the window, likewise.
        padding: "SAME" or "VALID"; padded places do not count.
        data_format: "NWC", "NHWC", "NDHWC" (if None), or with the channels first.
        name: name of the node while tracing.

    Returns:
        [batch, *spatial', channels] in the order of `data_format`, dtype of `input`.
    """
    x = convert_to_tensor(input)
    spatial = _spatial_axes("avg_pool", x, data_format)
    data_format = layouts.checked_format("avg_pool", data_format, FORMATS[spatial])
    function: Callable[..., Tensor] = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[spatial]
    return function(x, ksize, strides, padding, data_format, name)


def _spatial_axes(function: str, x: Tensor, data_format: str | None) -> int:
    rank = len(data_format) if data_format is not None else x.shape.rank
    if rank not in {3, 4, 5}:
        raise ValueError(f"{function}: input must have 3, 4 or 5 axes, got shape {x.shape.text}")
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
        data_format: order of the axes; channels last if None.
        dilations: step between the taps of a window, per spatial axis; 1 if None.
        name: name of the node while tracing.

    Raises:
        ValueError: unknown `pooling_type`; strides or "SAME" together with dilations.
    """
    functions: dict[str, Callable[..., Tensor]] = {"MAX": max_pool, "AVG": avg_pool}
    if pooling_type not in functions:
        raise ValueError(f"pool: pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}")
    x = convert_to_tensor(input)
    spatial = _spatial_axes("pool", x, data_format)
    data_format = layouts.checked_format("pool", data_format, FORMATS[spatial])
    rates = layouts.inner(
        layouts.per_axis("pool", "dilations", dilations, spatial, data_format), data_format
    )
    steps = 1 if strides is None else strides
    if all(rate == 1 for rate in rates):
        return functions[pooling_type](x, window_shape, steps, padding, data_format, name)
    if padding != "VALID" or any(step != 1 for step in np.asarray(steps).reshape(-1)):
        raise ValueError("pool: dilations go with padding 'VALID' and strides 1 only")
    return _dilated(functions[pooling_type], x, window_shape, rates, data_format, name)


def _dilated(
    function: Callable[..., Tensor],
    x: Tensor,
    window_shape: Any,
    rates: tuple[int, ...],
    data_format: str,
    name: str | None,
) -> Tensor:
    """Dilated pooling: each phase of the image is pooled as an image of its own."""
    from pinnace.ops.array import space_depth

    last = [0, *range(2, len(rates) + 2), 1]
    first = [0, len(rates) + 1, *range(1, len(rates) + 1)]
    if data_format[-1] != "C":
        x = permutations.transpose(x, last)
    sizes = [n if n is not None else 0 for n in x.shape[1:-1]]
    ends = [(0, -size % rate) for size, rate in zip(sizes, rates, strict=True)]
    y = function(space_depth.space_to_batch(x, list(rates), ends), window_shape, 1, "VALID")
    y = space_depth.batch_to_space(y, list(rates), ends)
    if data_format[-1] != "C":
        y = permutations.transpose(y, first)
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
    """The maximum of every window and its position.

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
    options = options_of("max_pool_with_argmax", 2, ksize, strides, padding, data_format)
    del options["data_format"]
    return execute(  # type: ignore[no-any-return]
        MAX_POOL_WITH_ARGMAX,
        input,
        Targmax=as_dtype(output_dtype),
        include_batch_in_index=include_batch_in_index,
        name=name,
        **options,
    )

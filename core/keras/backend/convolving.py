"""Convolutions, pooling and resizing under the names of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.backend.shaping import repeat_elements, temporal_padding
from pinnace.keras.config import image_data_format
from pinnace.ops.array import permutations, shapes
from pinnace.ops.array.joining import stack
from pinnace.ops.array.padding import pad
from pinnace.ops.image.resizing import resize
from pinnace.ops.nn import convolutions, depthwise, pooling

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "depthwise_conv2d",
    "pool2d",
    "pool3d",
    "resize_images",
    "resize_volumes",
    "separable_conv2d",
    "spatial_3d_padding",
]

_FORMATS = ("channels_first", "channels_last")
_METHODS = (
    *("area", "bicubic", "bilinear", "gaussian"),
    *("lanczos3", "lanczos5", "mitchellcubic", "nearest"),
)


def _is_first(data_format: str | None) -> bool:
    chosen = image_data_format() if data_format is None else data_format
    if chosen not in _FORMATS:
        raise ValueError(f"Unknown data_format: {data_format}")
    return chosen == "channels_first"


def _padding(padding: str) -> str:
    if padding not in {"same", "valid"}:
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def _to_last(x: Any, first: bool) -> Tensor:
    x = convert_to_tensor(x)
    rank = len(x.shape)
    return permutations.transpose(x, [0, *range(2, rank), 1]) if first else x


def _restored(x: Tensor, first: bool) -> Tensor:
    rank = len(x.shape)
    return permutations.transpose(x, [0, rank - 1, *range(1, rank - 1)]) if first else x


def _convolved(
    x: Any, kernel: Any, strides: Any, padding: str, first: bool, dilation_rate: Any
) -> Tensor:
    found = convolutions.convolution(
        _to_last(x, first), kernel, strides, _padding(padding), dilations=dilation_rate
    )
    return _restored(found, first)


def conv1d(
    x: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """Convolution over steps.

    Args:
        x: [b, steps, channels], or channels first.
        kernel: [window, channels, outputs].
        strides: step of the window.
        padding: "valid", "same", or "causal": zeros before the first step.
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distance of the taps.
    """
    first = _is_first(data_format)
    if padding == "causal":
        # TensorFlow's Keras pads the second axis, whichever that is.
        window = int(convert_to_tensor(kernel).shape[0] or 0)
        x = temporal_padding(x, (dilation_rate * (window - 1), 0))
        padding = "valid"
    return _convolved(x, kernel, strides, padding, first, dilation_rate)


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Convolution of images.

    Args:
        x: [b, rows, columns, channels], or channels first.
        kernel: [rows, columns, channels, outputs].
        strides: steps of the window.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distances of the taps.
    """
    return _convolved(x, kernel, strides, padding, _is_first(data_format), dilation_rate)


def conv3d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Tensor:
    """Convolution of volumes.

    Args:
        x: [b, depth, rows, columns, channels], or channels first.
        kernel: [depth, rows, columns, channels, outputs].
        strides: steps of the window.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distances of the taps.
    """
    return _convolved(x, kernel, strides, padding, _is_first(data_format), dilation_rate)


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """The transpose of `conv2d`: from the shape of its output to the shape of its input.

    Args:
        x: [b, rows, columns, channels], or channels first.
        kernel: [rows, columns, outputs, channels].
        output_shape: shape of the result, in its format; the first size may be None.
        strides: steps of the window.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distances of the taps, both the same.

    Raises:
        ValueError: two distances.
    """
    first = _is_first(data_format)
    if dilation_rate[0] != dilation_rate[1]:
        raise ValueError(
            "Expected the 2 dimensions of the `dilation_rate` argument to be equal to each other. "
            f"Received: dilation_rate={dilation_rate}"
        )
    moved = _to_last(x, first)
    sizes = output_shape
    if isinstance(sizes, (tuple, list)):
        sizes = [sizes[0], sizes[2], sizes[3], sizes[1]] if first else list(sizes)
        sizes[0] = shapes.shape(moved)[0] if sizes[0] is None else sizes[0]
        sizes = stack(sizes)
    found = convolutions.conv2d_transpose(
        moved, kernel, sizes, strides, _padding(padding), dilations=dilation_rate
    )
    return _restored(found, first)


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """Each channel of images convolved separately, with several filters.

    Args:
        x: [b, rows, columns, channels], or channels first.
        depthwise_kernel: [rows, columns, channels, multiplier].
        strides: steps of the window.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distances of the taps.
    """
    first = _is_first(data_format)
    found = depthwise.depthwise_conv2d(
        _to_last(x, first),
        depthwise_kernel,
        [1, *strides, 1],
        _padding(padding),
        dilations=dilation_rate,
    )
    return _restored(found, first)


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:
    """`depthwise_conv2d`, followed by a pointwise convolution.

    Args:
        x: [b, rows, columns, channels], or channels first.
        depthwise_kernel: [rows, columns, channels, multiplier].
        pointwise_kernel: [1, 1, channels · multiplier, outputs].
        strides: steps of the window.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        dilation_rate: distances of the taps.

    Raises:
        ValueError: not two strides.
    """
    if len(strides) != 2:
        raise ValueError("`strides` must be a tuple of 2 integers.")
    mixed = convolutions.convolution(
        _to_last(
            depthwise_conv2d(x, depthwise_kernel, strides, padding, data_format, dilation_rate),
            _is_first(data_format),
        ),
        pointwise_kernel,
        padding="VALID",
    )
    return _restored(mixed, _is_first(data_format))


def _pooled(
    x: Any, pool_size: Any, strides: Any, padding: str, data_format: str | None, pool_mode: str
) -> Tensor:
    first = _is_first(data_format)
    kinds = {"max": "MAX", "avg": "AVG"}
    if pool_mode not in kinds:
        raise ValueError(f"Invalid pooling mode: {pool_mode}")
    found = pooling.pool(
        _to_last(x, first),
        list(pool_size),
        kinds[pool_mode],
        strides=list(strides),
        padding=_padding(padding),
    )
    return _restored(found, first)


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """The largest, or the mean, of each window of pictures.

    Args:
        x: [b, rows, columns, channels], or channels first.
        pool_size: sizes of the window.
        strides: its steps.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        pool_mode: "max" or "avg".

    Raises:
        ValueError: unknown mode, or not two sizes and strides.
    """
    for what, sizes in (("pool_size", pool_size), ("strides", strides)):
        if len(sizes) != 2:
            raise ValueError(f"`{what}` must be a tuple of 2 integers.")
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """The largest, or the mean, of each window of volumes.

    Args:
        x: [b, depth, rows, columns, channels], or channels first.
        pool_size: sizes of the window.
        strides: its steps.
        padding: "valid" or "same".
        data_format: "channels_first" or "channels_last"; the global one if None.
        pool_mode: "max" or "avg".
    """
    return _pooled(x, pool_size, strides, padding, data_format, pool_mode)


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images enlarged by integer factors.

    Args:
        x: [b, rows, columns, channels], or channels first.
        height_factor: factor of the rows.
        width_factor: factor of the columns.
        data_format: "channels_first" or "channels_last".
        interpolation: a method of `tf.image.resize`, or "nearest".

    Raises:
        ValueError: unknown format or method.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    if interpolation not in _METHODS:
        listed = '", "'.join(_METHODS)
        raise ValueError(
            f'`interpolation` argument should be one of: "{listed}". Received: "{interpolation}".'
        )
    first = data_format == "channels_first"
    moved = _to_last(x, first)
    size = shapes.shape(moved)[1:3] * [height_factor, width_factor]
    return _restored(resize(moved, size, interpolation), first)


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Volumes enlarged by integer factors, by repeating elements.

    Args:
        x: [b, depth, rows, columns, channels], or channels first.
        depth_factor: factor of the depth.
        height_factor: factor of the rows.
        width_factor: factor of the columns.
        data_format: "channels_first" or "channels_last".

    Raises:
        ValueError: unknown format.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format}")
    begin = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), begin):
        x = repeat_elements(x, factor, axis)
    return convert_to_tensor(x)


def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Volumes padded with zeros.

    Args:
        x: [b, depth, rows, columns, channels], or channels first.
        padding: pairs (before, behind) for depth, rows and columns.
        data_format: "channels_first" or "channels_last"; the global one if None.

    Raises:
        ValueError: not three pairs.
    """
    if len(padding) != 3 or any(len(pair) != 2 for pair in padding):
        raise ValueError(
            "Expected `padding` to be a tuple of 3 tuples of 2 integers. "
            f"Received: padding={padding}"
        )
    inner = [list(pair) for pair in padding]
    if _is_first(data_format):
        return pad(x, [[0, 0], [0, 0], *inner])
    return pad(x, [[0, 0], *inner, [0, 0]])

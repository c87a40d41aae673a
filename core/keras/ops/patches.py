"""Windows of images: adaptive pooling, im2col and its inverse, depth to space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.formats import channels_last, channels_restored
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import joining, permutations, reshaping, shapes, space_depth
from pinnace.ops.array import padding as _padding
from pinnace.ops.image import patches
from pinnace.ops.math import arithmetic, reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


@operation("nn", "AdaptiveAveragePool", "output_size", "data_format")
def adaptive_average_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Tensor:
    """The mean of each window, with one window per output position.

    Args:
        inputs: [batch, *spatial, channels], a float type; one to three spatial axes, of known size.
        output_size: a number, or one per spatial axis.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, *output_size, channels], dtype of `inputs`.

    Raises:
        ValueError: sizes are unknown, or `output_size` has another length.
    """
    way = reduction.reduce_mean
    return _adaptive("adaptive_average_pool", inputs, output_size, data_format, way)


@operation("nn", "AdaptiveMaxPool", "output_size", "data_format")
def adaptive_max_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Tensor:
    """The maximum of each window, with one window per output position.

    Args:
        inputs: [batch, *spatial, channels], a float type; one to three spatial axes, of known size.
        output_size: a number, or one per spatial axis.
        data_format: "channels_last" or "channels_first"; as `keras.config` says if None.

    Returns:
        [batch, *output_size, channels], dtype of `inputs`.

    Raises:
        ValueError: sizes are unknown, or `output_size` has another length.
    """
    way = reduction.reduce_max
    return _adaptive("adaptive_max_pool", inputs, output_size, data_format, way)


def _adaptive(
    name: str, inputs: Any, output_size: Any, data_format: str | None, way: Callable[..., Tensor]
) -> Tensor:
    """Window i of n, for each i: from floor(i size / n) to ceil((i + 1) size / n)."""
    x, first = channels_last(name, inputs, data_format)
    rank = len(x.shape) - 2
    counts = [output_size] * rank if isinstance(output_size, int) else list(output_size)
    if len(counts) != rank or None in x.shape[1:-1]:
        raise ValueError(
            f"keras.ops.{name}: output_size must be a number or one per spatial axis, whose sizes "
            f"must be known, got {output_size!r} for shape {x.shape.text}"
        )
    for axis, count in enumerate(counts, 1):
        before = (slice(None),) * axis
        size: Any = x.shape[axis]
        parts = []
        for i in range(count):
            window = slice(i * size // count, -(-(i + 1) * size // count))
            parts.append(way(x[(*before, window)], axis, keepdims=True))
        x = joining.concat(parts, axis)
    return channels_restored(x, first)


def _pair(given: Any) -> tuple[int, int]:
    first, second = (given, given) if isinstance(given, int) else given
    return first, second


@operation("nn", "Unfold", "kernel_size", "dilation", "padding", "stride")
def unfold(
    x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of pictures as columns.

    Args:
        x: [batch, channels, height, width].
        kernel_size: rows and columns of a window, a number or two.
        dilation: distance of the places in a window, likewise.
        padding: zeros around the pictures, likewise.
        stride: distance of the windows, likewise.

    Returns:
        [batch, channels · rows · columns, windows], dtype of `x`.

    Raises:
        ValueError: not four axes.
    """
    tensor: Tensor = convert_to_tensor(x)
    if tensor.shape.rank != 4:
        raise ValueError(
            "keras.ops.unfold: x must be [batch, channels, height, width], got shape "
            f"{tensor.shape.text}"
        )
    (rows, columns), rates, steps = _pair(kernel_size), _pair(dilation), _pair(stride)
    high, wide = _pair(padding)
    if high or wide:
        tensor = _padding.pad(tensor, [[0, 0], [0, 0], [high, high], [wide, wide]])
    channels = shapes.axis_sizes(tensor)[1]
    found = patches.extract_patches(
        permutations.transpose(tensor, [0, 2, 3, 1]),
        [1, rows, columns, 1],
        [1, *steps, 1],
        [1, *rates, 1],
        "VALID",
    )
    batch, down, across, _ = shapes.axis_sizes(found)
    apart = reshaping.reshape(found, [batch, down * across, rows * columns, channels])
    turned = permutations.transpose(apart, [0, 3, 2, 1])
    return reshaping.reshape(turned, [batch, channels * rows * columns, down * across])


@operation("nn", "Fold", "output_size", "kernel_size", "dilation", "padding", "stride")
def fold(
    x: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """The sum of windows, given as columns, at their positions in a picture.

    Args:
        x: [batch, channels · rows · columns, windows].
        output_size: height and width of the pictures, a number or two.
        kernel_size: rows and columns of a window, likewise.
        dilation: distance of the places in a window, likewise.
        padding: the border cut off around the pictures, likewise.
        stride: distance of the windows, likewise.

    Returns:
        [batch, channels, height, width], dtype of `x`.

    Raises:
        ValueError: the number of rows or windows contradicts the sizes.
    """
    tensor: Tensor = convert_to_tensor(x)
    (rows, columns), rates, steps = _pair(kernel_size), _pair(dilation), _pair(stride)
    (height, width), (high, wide) = _pair(output_size), _pair(padding)
    tall, broad = height + 2 * high, width + 2 * wide
    down = (tall - rates[0] * (rows - 1) - 1) // steps[0] + 1
    across = (broad - rates[1] * (columns - 1) - 1) // steps[1] + 1
    known = tensor.shape.as_list() if tensor.shape.rank == 3 else [None, -1, -1]
    if (known[1] or 0) % (rows * columns) or known[2] not in {None, down * across}:
        raise ValueError(
            f"keras.ops.fold: x must be [batch, channels · {rows * columns}, {down * across}], got "
            f"shape {tensor.shape.text}"
        )
    batch, depth, _ = shapes.axis_sizes(tensor)
    channels = depth // (rows * columns)
    windows = reshaping.reshape(tensor, [batch, channels, rows, columns, down, across])
    placed = []
    for i in range(rows):
        for j in range(columns):
            part = _spread(windows[:, :, i, j], steps)
            above, left = i * rates[0], j * rates[1]
            below = tall - above - ((down - 1) * steps[0] + 1)
            right = broad - left - ((across - 1) * steps[1] + 1)
            placed.append(_padding.pad(part, [[0, 0], [0, 0], [above, below], [left, right]]))
    total = arithmetic.add_n(placed)
    return total[:, :, high : tall - high, wide : broad - wide]


def _spread(x: Tensor, steps: tuple[int, int]) -> Tensor:
    """[batch, channels, m, n] with zeros inserted between neighbours."""
    for axis, step in zip((2, 3), steps, strict=True):
        if step == 1:
            continue
        sizes = shapes.axis_sizes(x)
        count = sizes[axis]
        wide = reshaping.expand_dims(x, axis + 1)
        pads = [[0, 0]] * 5
        pads[axis + 1] = [0, step - 1]
        sizes[axis] = count * step
        whole = reshaping.reshape(_padding.pad(wide, pads), sizes)
        x = whole[(slice(None),) * axis + (slice(0, (count - 1) * step + 1),)]
    return x


@operation("nn", "DepthToSpace", "block_size", "data_format")
def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Channels rearranged to blocks of pixels.

    Args:
        x: [batch, height, width, channels].
        block_size: rows and columns of a block; its square divides the channels.
        data_format: "channels_last" or "channels_first".

    Returns:
        [batch, height · block_size, width · block_size, channels / block_size²].
    """
    tensor, first = channels_last("depth_to_space", x, data_format)
    return channels_restored(space_depth.depth_to_space(tensor, block_size), first)


@operation("nn", "SpaceToDepth", "block_size", "data_format")
def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Blocks of pixels rearranged to channels.

    Args:
        x: [batch, height, width, channels].
        block_size: rows and columns of a block; it divides height and width.
        data_format: "channels_last" or "channels_first".

    Returns:
        [batch, height / block_size, width / block_size, channels · block_size²].
    """
    tensor, first = channels_last("space_to_depth", x, data_format)
    return channels_restored(space_depth.space_to_depth(tensor, block_size), first)

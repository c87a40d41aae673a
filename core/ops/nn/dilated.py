"""with_space_to_batch: dilated windows for any op with windows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.ops.array import constants, joining, shapes, space_depth
from pinnace.ops.array.broadcasting import known_value

__all__ = ["required_space_to_batch_paddings", "with_space_to_batch"]


def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The paddings of `space_to_batch` and crops of `batch_to_space` for whole blocks.

    Args:
        input_shape: [n], int32, sizes.
        block_shape: [n], int32, sizes of the blocks; n must be known.
        base_paddings: [n, 2], int32: what is padded anyway; nothing if None.
        name: accepted for TensorFlow's sake.

    Returns:
        paddings [n, 2] and crops [n, 2], int32. What the blocks need is added at the end.

    Raises:
        ValueError: n is unknown, or differs.
    """
    del name
    blocks = convert_to_tensor(block_shape, int32)
    if blocks.shape.rank != 1 or blocks.shape[0] is None:
        raise ValueError(f"block_shape must be a vector of known length, got shape {blocks.shape}")
    count = blocks.shape[0]
    sizes = convert_to_tensor(input_shape, int32)
    base = convert_to_tensor(
        np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings, int32
    )
    if not sizes.shape.is_compatible_with([count]):
        raise ValueError(f"input_shape must have {count} entries, got shape {sizes.shape}")
    if not base.shape.is_compatible_with([count, 2]):
        raise ValueError(f"base_paddings must have shape [{count}, 2], got {base.shape}")
    before, after = base[:, 0], base[:, 1]
    more = (blocks - (sizes + before + after) % blocks) % blocks
    paddings = joining.stack([before, after + more], 1)
    crops = joining.stack([constants.zeros([count], int32), more], 1)
    return _static(paddings), _static(crops)


def _static(x: Tensor) -> Tensor:
    """x as a constant if its value is known, so that shapes can be inferred from it."""
    value = known_value(x)
    return x if value is None else constants.constant(value, x.dtype)


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: TensorLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """`op` with dilated windows, by applying it to every `dilation_rate`-th element.

    Args:
        input: its rank is above the last of the spatial axes.
        dilation_rate: [n], int32: the spread along each spatial axis, 1 or more.
        padding: "VALID" or "SAME".
        op: called as `op(x, n, padding)`; with spread windows the padding is "VALID", for "SAME"
            is done before.
        filter_shape: [n] or longer, int32: sizes of the windows; needed for "SAME" alone.
        spatial_dims: n axes in rising order, from 1; the first n after the batch (and, if they
            come first, the channels) if None.
        data_format: channels are the second axis if it begins with "NC", else the last.

    Returns:
        The result of `op`, put together again.

    Raises:
        ValueError: a rate below 1, axes out of order, a padding of another name, or "SAME"
            without `filter_shape`.
    """
    x = convert_to_tensor(input)
    rates = convert_to_tensor(dilation_rate, int32)
    if rates.shape.rank != 1 or rates.shape[0] is None:
        raise ValueError(f"dilation_rate must be a vector of known length, got shape {rates.shape}")
    count = rates.shape[0]
    axes = _axes(x, count, spatial_dims, data_format)
    known = known_value(rates)
    if known is not None and (known < 1).any():
        raise ValueError(f"dilation_rate must be 1 or more, got {known.tolist()}")
    if known is not None and (known == 1).all():
        return op(x, count, padding)
    base = _base_paddings(padding, filter_shape, rates, count)
    sizes = shapes.shape(x)
    spatial = joining.stack([sizes[axis] for axis in axes])
    paddings, crops = required_space_to_batch_paddings(spatial, rates, base)
    blocks = _for_all_axes(rates, axes, 1)
    parts = space_depth.space_to_batch_nd(x, blocks, _for_all_axes(paddings, axes, 0))
    found = op(parts, count, "VALID")
    return space_depth.batch_to_space_nd(found, blocks, _for_all_axes(crops, axes, 0))


def _axes(
    x: Tensor, count: int, spatial_dims: Sequence[int] | None, data_format: str | None
) -> list[int]:
    channels_first = data_format is not None and data_format.startswith("NC")
    if spatial_dims is None:
        axes = list(range(1 + channels_first, 1 + channels_first + count))
    else:
        axes = [int(axis) for axis in spatial_dims]
    if axes != sorted(set(axes)) or not axes or axes[0] < 1 or len(axes) != count:
        raise ValueError(f"spatial_dims must be {count} axes in rising order, from 1, got {axes}")
    least = axes[-1] + (not channels_first)
    if x.shape.rank is not None and x.shape.rank < least:
        raise ValueError(f"input must have {least} axes or more, got shape {x.shape}")
    return axes


def _base_paddings(padding: str, filter_shape: Any, rates: Tensor, count: int) -> Any:
    """The paddings of "SAME", with one more at the end if the total is odd."""
    if padding == "VALID":
        return None
    if padding != "SAME":
        raise ValueError(f'padding must be "SAME" or "VALID", got {padding!r}')
    if filter_shape is None:
        raise ValueError('filter_shape must be given for padding "SAME"')
    total = (convert_to_tensor(filter_shape, int32)[:count] - 1) * rates
    before = total // 2
    return joining.stack([before, total - before], 1)


def _for_all_axes(values: Tensor, axes: list[int], other: int) -> Tensor:
    """Rows of `values` at their axes, counted from 1, and rows of `other` elsewhere."""
    places = {axis: at for at, axis in enumerate(axes)}
    rest = constants.constant(np.full(values.shape.as_list()[1:], other, np.int32))
    rows = [values[places[axis]] if axis in places else rest for axis in range(1, axes[-1] + 1)]
    return _static(joining.stack(rows))

"""The windows of a convolution or pooling: padding and output sizes, per spatial axis.

Used by the kernels with known sizes and by shape inference with unknown ones (None).
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pinnace.framework.errors import InvalidArgumentError

Pads: TypeAlias = tuple[tuple[int, int], ...]


class Windows(NamedTuple):
    """Placement of windows along each spatial axis.

    Attributes:
        pads: (before, after) per axis; None where it depends on an unknown size.
        sizes: number of windows per axis; None where the input size is unknown.
    """

    pads: tuple[tuple[int, int] | None, ...]
    sizes: tuple[int | None, ...]


def effective_size(window: int, dilation: int) -> int:
    """The number of input positions spanned by `window` taps, `dilation` apart."""
    return (window - 1) * dilation + 1


def place_windows(
    sizes: Sequence[int | None],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Windows:
    """Padding and number of windows along each spatial axis.

    Args:
        sizes: input size per spatial axis, None if unknown.
        window: taps per spatial axis.
        strides: step between windows, per spatial axis, at least 1.
        dilations: step between taps, per spatial axis, at least 1.
        padding: "SAME", "VALID" or "EXPLICIT".
        explicit: (before, after) per spatial axis, for "EXPLICIT" only.

    Returns:
        `Windows`; with SAME and stride 1 the padding is known even where the size is not.

    Raises:
        InvalidArgumentError: a window is longer than the padded input; a number out of range.

    Source:
        TensorFlow `GetWindowedOutputSizeVerbose` (core/framework/kernel_shape_util.cc).
    """
    rank = len(sizes)
    if not len(window) == len(strides) == len(dilations) == rank:
        raise InvalidArgumentError(
            f"window, strides and dilations must each have {rank} entries, one per spatial axis, "
            f"got {tuple(window)}, {tuple(strides)} and {tuple(dilations)}"
        )
    if padding == "EXPLICIT":
        if len(explicit) != rank:
            raise InvalidArgumentError(
                f"explicit padding must have {rank} pairs, one per spatial axis, got "
                f"{tuple(explicit)}"
            )
        given: Sequence[tuple[int, int] | None] = explicit
    elif padding == "VALID":
        given = ((0, 0),) * rank
    elif padding == "SAME":
        given = (None,) * rank
    else:
        raise InvalidArgumentError(f"padding must be SAME, VALID or EXPLICIT, got {padding!r}")
    axes = [
        _place_along(axis, sizes[axis], window[axis], strides[axis], dilations[axis], given[axis])
        for axis in range(rank)
    ]
    return Windows(tuple(pads for pads, _ in axes), tuple(count for _, count in axes))


def _place_along(
    axis: int,
    size: int | None,
    window: int,
    stride: int,
    dilation: int,
    pads: tuple[int, int] | None,
) -> tuple[tuple[int, int] | None, int | None]:
    """(before, after) and the number of windows along an axis; `pads` None means SAME."""
    if window < 1 or stride < 1 or dilation < 1:
        raise InvalidArgumentError(
            f"window, stride and dilation must be at least 1 along spatial axis {axis}, "
            f"got {window}, {stride} and {dilation}"
        )
    reach = effective_size(window, dilation)
    if pads is not None:
        if min(pads) < 0:
            raise InvalidArgumentError(
                f"padding along spatial axis {axis} must not be negative, got {pads}"
            )
        if size is None:
            return pads, None
        padded = size + pads[0] + pads[1]
        if padded < reach:
            # TensorFlow: eager kernels accept some of these as an empty output if the stride is
            # large, its shape inference never does; one rule for both here.
            raise InvalidArgumentError(
                f"window along spatial axis {axis} must not be longer than the padded input, "
                f"got {reach} ({window} taps, dilation {dilation}) and {padded}: "
                "Computed output size would be zero or negative. Negative dimension size."
            )
        return pads, (padded - reach) // stride + 1
    if size is None:
        # The total, (size - 1) + reach - size, does not depend on the size at stride 1.
        return (_halves(reach - 1) if stride == 1 else None), None
    count = -(-size // stride)
    return _halves(max((count - 1) * stride + reach - size, 0)), count


def _halves(total: int) -> tuple[int, int]:
    """Split the padding; an odd one goes after, ONNX's SAME_UPPER."""
    return total // 2, total - total // 2


def window_counts(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> tuple[int, ...]:
    """The number of windows per spatial axis, given sizes and padding; negative padding crops."""
    return tuple(
        (size + before + after - (taps - 1) * dilation - 1) // stride + 1
        for size, taps, stride, dilation, (before, after) in zip(
            sizes, window, strides, dilations, pads, strict=True
        )
    )


def channel_axis(data_format: str) -> int:
    """The axis of channels in `data_format`: "NWC", "NHWC", "NDHWC", "NCW", "NCHW" or "NCDHW"."""
    return data_format.index("C")


def spatial_axes(data_format: str) -> tuple[int, ...]:
    """The axes of `data_format` along which windows slide, in order."""
    return tuple(axis for axis, letter in enumerate(data_format) if letter not in "NC")


def explicit_pairs(
    explicit_paddings: Sequence[int], data_format: str
) -> tuple[tuple[int, int], ...]:
    """Spatial (before, after) pairs of an `explicit_paddings` attribute.

    Args:
        explicit_paddings: two numbers per axis of `data_format`, in its order.
        data_format: for example "NHWC".

    Returns:
        One pair per spatial axis.

    Raises:
        InvalidArgumentError: wrong length, a negative number, or padding of the batch or channels.
    """
    if len(explicit_paddings) != 2 * len(data_format):
        raise InvalidArgumentError(
            f"explicit_paddings must have {2 * len(data_format)} numbers, a pair for each axis of "
            f"{data_format}, got {len(explicit_paddings)}"
        )
    pairs = [
        (int(before), int(after))
        for before, after in zip(explicit_paddings[::2], explicit_paddings[1::2], strict=True)
    ]
    for letter, pair in zip(data_format, pairs, strict=True):
        if min(pair) < 0 or (letter in "NC" and max(pair) > 0):
            raise InvalidArgumentError(
                "explicit_paddings must be non-negative, and 0 for batch and channels, got "
                f"{pair} for axis {letter!r} of {data_format}"
            )
    return tuple(pairs[axis] for axis in spatial_axes(data_format))

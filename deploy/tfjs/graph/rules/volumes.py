"""3D pooling and convolution, rewritten where the kernels are wrong."""

from collections.abc import Sequence

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.deploy.tfjs.graph.rules.networks import FIRST, with_channels_last
from pinnace.graph.graph import Value

_INNER = (0, 2, 3, 4, 1)
_OUTER = (0, 4, 1, 2, 3)


@rule("MaxPool3D")
def max_pool(r: Rewrite) -> Value:
    """3D max pooling as 2D pooling over height and width, then over depth.

    In WebAssembly the maximum starts from a positive number, so that windows of negative numbers
    give a wrong result.
    """
    x, first = r.inputs[0], r.attr("data_format") in FIRST
    r.needs(x.shape.rank is not None, "of a tensor with an unknown number of axes")
    if first:
        x = r.transposed(x, _INNER)
    axes = slice(2, 5) if first else slice(1, 4)
    windows, strides = (tuple(r.attr(name)[axes]) for name in ("ksize", "strides"))
    rows, depth, height, width, channels = (r.size(x, axis) for axis in range(5))
    flat = r.reshaped(x, [r.product([rows, depth]), height, width, channels])
    flat = _pooled(r, flat, windows[1:], strides[1:])
    height, width = (r.size(flat, axis) for axis in (1, 2))
    flat = r.reshaped(flat, [rows, depth, r.product([height, width]), channels])
    flat = _pooled(r, flat, (windows[0], 1), (strides[0], 1))
    made = r.reshaped(flat, [rows, r.size(flat, 1), height, width, channels])
    return r.transposed(made, _OUTER) if first else made


def _pooled(r: Rewrite, x: Value, windows: Sequence[int], strides: Sequence[int]) -> Value:
    return r.op(
        "MaxPool",
        x,
        ksize=(1, *windows, 1),
        strides=(1, *strides, 1),
        padding=r.attr("padding"),
    )


@rule("AvgPool3D", "Conv3D")
def in_volumes(r: Rewrite) -> tuple[Value, ...] | None:
    """The op in NDHWC, with elements that no window reaches cropped."""
    x, first = r.inputs[0], r.attr("data_format") in FIRST
    places = (2, 3, 4) if first else (1, 2, 3)
    if r.node.op.name == "Conv3D":
        r.needs(r.inputs[1].shape.rank is not None, "with a filter of unknown size")
        known = list(r.inputs[1].shape)[:3]
        r.needs(None not in known, "with a filter of unknown size")
        spread = r.attr("dilations")
        windows = [
            (int(size or 0) - 1) * spread[place] + 1
            for size, place in zip(known, places, strict=True)
        ]
    else:
        windows = [r.attr("ksize")[place] for place in places]
    cropped = _cropped(r, x, places, windows)
    if first:
        return with_channels_last(r, 0, {0: cropped})
    return None if cropped is x else r.same(cropped, *r.inputs[1:])


def _cropped(r: Rewrite, x: Value, places: Sequence[int], windows: Sequence[int]) -> Value:
    """Crop the input to the end of the last window.

    With SAME padding, TensorFlow.js takes the elements beyond it as negative padding, and begins in
    front of the first element.
    """
    sizes: list[int | Value] = [-1] * 5
    for place, window in zip(places, windows, strict=True):
        stride = r.attr("strides")[place]
        if r.attr("padding") != "SAME" or window >= stride:
            continue
        r.needs(x.shape.rank is not None, "of a tensor with an unknown number of axes")
        sizes[place] = _reached(r, r.size(x, place), window, stride)
    if all(size == -1 for size in sizes):
        return x
    return r.op("Slice", x, r.constant([0] * 5, np.int32), r.numbers(sizes))


def _reached(r: Rewrite, size: int | Value, window: int, stride: int) -> int | Value:
    """The end of the last window: one begins every `stride` elements, as long as any are left."""
    if not isinstance(size, Value):
        return min(size, (-(-size // stride) - 1) * stride + window)
    before = r.op("FloorDiv", r.op("Sub", size, r.scalar(1)), r.scalar(stride))
    end = r.op("AddV2", r.op("Mul", before, r.scalar(stride)), r.scalar(window))
    return r.op("Minimum", size, end)

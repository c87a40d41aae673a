"""Convolutions that pad first: FusedPadConv2D, FusedResizeAndPadConv2D.

Tools that prepare graphs for phones fuse these ops; nothing else writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import bfloat16, float16, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import padding as pads
from pinnace.ops.image import resizing
from pinnace.ops.kernels import convolution
from pinnace.ops.kernels.windows import place_windows
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

__all__: list[str] = []

_TYPES = frozenset({float16, bfloat16, float32, float64})
_ATTRS = {
    "mode": attr("string", allowed=("REFLECT", "SYMMETRIC")),
    "strides": attr("list(int)"),
    "padding": attr("string", allowed=layouts.PADDINGS),
}


def _convolved(
    x: Array, paddings: Array, filter: Array, mode: str, strides: tuple[int, ...], padding: str
) -> Array:
    mirrored: Any = pads.MIRROR_PAD.kernel
    padded = mirrored(x, paddings, mode=mode)
    steps, rates, places, _ = layouts.placement(
        padded.shape[1:3], filter.shape[:2], tuple(strides), padding
    )
    return convolution.conv(np.ascontiguousarray(padded), filter, steps, places, rates)


def _pad_kernel(
    input: Array,
    paddings: Array,
    filter: Array,
    *,
    mode: str,
    strides: tuple[int, ...],
    padding: str,
) -> Array:
    return _convolved(input, paddings, filter, mode, strides, padding)


def _inferred(call: InferCall, sizes: list[int | None], paddings: int) -> Shape:
    x, filters = layouts.known_rank(call, 0, 4), layouts.known_rank(call, paddings + 1, 4)
    strides = call.attrs["strides"]
    if len(strides) != 4 or strides[0] != 1 or strides[3] != 1:
        call.fail(f"strides must have 4 entries, 1 for batch and channels, got {list(strides)}")
    if None not in {x[3], filters[2]} and x[3] != filters[2]:
        call.fail(f"input must have as many channels as filter takes, got {x[3]} and {filters[2]}")
    pairs = call.constant(paddings)
    if pairs is None or None in filters.as_list()[:2]:
        return Shape([x[0], None, None, filters[3]])
    wide = [
        None if size is None else size + int(sum(pair))
        for size, pair in zip(sizes, pairs[1:3], strict=True)
    ]
    try:
        taps = [int(n) for n in filters.as_list()[:2] if n is not None]
        found = place_windows(wide, taps, strides[1:3], (1, 1), call.attrs["padding"], ())
    except InvalidArgumentError as error:
        call.fail(str(error))
    return Shape([x[0], *found.sizes, filters[3]])


def _infer_pad(call: InferCall) -> Shape:
    return _inferred(call, layouts.known_rank(call, 0, 4).as_list()[1:3], 1)


PAD_CONV2D = define(
    name="FusedPadConv2D",
    signature="input: T, paddings: int32, filter: T -> output: T",
    types={"T": _TYPES - {bfloat16}},
    attrs=_ATTRS,
    infer=_infer_pad,
    kernel=_pad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _resize_kernel(
    input: Array,
    size: Array,
    paddings: Array,
    filter: Array,
    *,
    resize_align_corners: bool,
    mode: str,
    strides: tuple[int, ...],
    padding: str,
) -> Array:
    resize: Any = resizing.RESIZE_BILINEAR.kernel
    resized = resize(
        input, size, align_corners=resize_align_corners, half_pixel_centers=False
    ).astype(input.dtype, copy=False)
    return _convolved(resized, paddings, filter, mode, strides, padding)


def _infer_resize(call: InferCall) -> Shape:
    size = call.constant(1)
    sizes: list[int | None] = [None, None] if size is None else [int(n) for n in size.reshape(-1)]
    return _inferred(call, sizes, 2)


RESIZE_AND_PAD_CONV2D = define(
    name="FusedResizeAndPadConv2D",
    signature="input: T, size: int32, paddings: int32, filter: T -> output: T",
    types={"T": _TYPES - {bfloat16}},
    attrs={"resize_align_corners": attr("bool", default=False), **_ATTRS},
    infer=_infer_resize,
    kernel=_resize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

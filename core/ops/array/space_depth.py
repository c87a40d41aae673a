"""Blocks of neighbours moved between axes: SpaceToBatchND, SpaceToDepth and their inverses."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

__all__ = [
    "batch_to_space",
    "batch_to_space_nd",
    "depth_to_space",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
]

_FORMATS = ("NHWC", "NCHW")


def _block_of(
    op: str, x: Array, block_shape: Array, borders: Array, what: str
) -> tuple[list[int], Any]:
    blocks = block_shape.reshape(-1).tolist()
    if len(blocks) >= x.ndim or borders.shape != (len(blocks), 2):
        raise InvalidArgumentError(
            f"{op}: block_shape must have one entry per spatial axis, and {what} a pair, "
            f"got {blocks} and {borders.tolist()}\n  input: shape {list(x.shape)}"
        )
    if min(blocks, default=1) < 1 or (borders.size and borders.min() < 0):
        raise InvalidArgumentError(
            f"{op}: block_shape must be at least 1 and {what} at least 0, got {blocks} and "
            f"{borders.tolist()}"
        )
    return blocks, borders.tolist()


def _spatial(call: InferCall) -> tuple[Shape, list[int] | None, list[list[int]] | None]:
    """The input's shape, the blocks and borders, as far as known and consistent."""
    shape, blocks = call.spec(0).shape, call.spec(1).shape
    if blocks.rank not in {None, 1}:
        call.fail("block_shape must be a vector")
    m = blocks[0] if blocks.rank == 1 else None
    if not call.spec(2).shape.is_compatible_with([m, 2]):
        call.fail("there must be a pair of borders per entry of block_shape")
    if m is not None and shape.rank is not None and shape.rank <= m:
        call.fail(f"input must have more than {m} axes")
    sizes, borders = call.constant(1), call.constant(2)
    if sizes is not None and sizes.size and sizes.min() < 1:
        call.fail(f"block_shape must be at least 1, got {sizes.tolist()}")
    if borders is not None and borders.size and borders.min() < 0:
        call.fail(f"borders must be at least 0, got {borders.tolist()}")
    return (
        shape,
        None if sizes is None else sizes.tolist(),
        None if borders is None else borders.tolist(),
    )


def _beyond_blocks(call: InferCall, shape: Shape) -> Shape:
    """The static shape with unknown blocks: the axes behind them."""
    blocks = call.spec(1).shape
    if not blocks.rank or blocks[0] is None:
        return unknown_shape(shape.rank)
    return Shape([None] * (blocks[0] + 1)).concatenate(shape[blocks[0] + 1 :])


def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Blocks of spatial positions moved to the batch axis, one batch per position in the block.

    Args:
        input: [batch, s, ...], s being m axes.
        block_shape: [m], int32 or int64, at least 1.
        paddings: [m, 2], zeros around s, which then must be a multiple of the blocks.
        name: name of the node while tracing.

    Returns:
        [batch · ∏ block_shape, s / block_shape, ...], dtype of `input`.

    Raises:
        InvalidArgumentError: the padded axes are no multiple of the blocks.
    """
    return execute_one(SPACE_TO_BATCH_ND, input, block_shape, paddings, name=name)


def _space_to_batch_kernel(input: Array, block_shape: Array, paddings: Array) -> Array:
    op = "SpaceToBatchND"
    blocks, pairs = _block_of(op, input, block_shape, paddings, "paddings")
    m = len(blocks)
    space = [n + sum(pair) for n, pair in zip(input.shape[1:], pairs, strict=False)]
    for axis, (n, block) in enumerate(zip(space, blocks, strict=True), 1):
        if n % block:
            raise InvalidArgumentError(
                f"{op}: axis {axis}, padded, must be a multiple of its block, got {n} and {block}\n"
                f"  input: shape {list(input.shape)}"
            )
    batch, rest = input.shape[0], input.shape[m + 1 :]
    x = input
    if any(any(pair) for pair in pairs):
        x = np.zeros((batch, *space, *rest), input.dtype)
        x[
            (
                slice(None),
                *[slice(a, a + n) for n, (a, _) in zip(input.shape[1:], pairs, strict=False)],
            )
        ] = input
    split = [size for n, block in zip(space, blocks, strict=True) for size in (n // block, block)]
    wide = x.reshape(batch, *split, *rest)
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m, 2), *range(2 * m + 1, wide.ndim)]
    return wide.transpose(order).reshape(batch * math.prod(blocks), *split[::2], *rest)


def _infer_space_to_batch(call: InferCall) -> Shape:
    shape, blocks, pads = _spatial(call)
    if shape.rank is None:
        return shape
    if blocks is None:
        return _beyond_blocks(call, shape)
    sizes = list(shape)
    out: list[int | None] = [None if sizes[0] is None else sizes[0] * math.prod(blocks)]
    for axis, block in enumerate(blocks, 1):
        n = sizes[axis]
        if n is None or pads is None:
            out.append(None)
            continue
        whole = n + sum(pads[axis - 1])
        if whole % block:
            call.fail(
                f"axis {axis}, padded, must be a multiple of its block, got {whole} and {block}"
            )
        out.append(whole // block)
    return Shape([*out, *sizes[len(blocks) + 1 :]])


def _space_to_batch_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return batch_to_space_nd(dy, call.inputs[1], call.inputs[2]), None, None


SPACE_TO_BATCH_ND = define(
    name="SpaceToBatchND",
    signature="input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    types={
        "T": ANY_VALUE,
        "Tblock_shape": typed(INDEX, default=int32),
        "Tpaddings": typed(INDEX, default=int32),
    },
    infer=_infer_space_to_batch,
    kernel=_space_to_batch_kernel,
    gradient=_space_to_batch_gradient,
)


def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """The inverse of `space_to_batch_nd`: batches become places of blocks.

    Args:
        input: [batch · ∏ block_shape, s, ...], s being m axes.
        block_shape: [m], int32 or int64, at least 1.
        crops: [m, 2], what is cut off before and after each axis of the result.
        name: name of the node while tracing.

    Returns:
        [batch, s · block_shape - crops, ...], dtype of `input`.

    Raises:
        InvalidArgumentError: the batch is no multiple of the blocks, or more is cut off than there
            is.
    """
    return execute_one(BATCH_TO_SPACE_ND, input, block_shape, crops, name=name)


def _batch_to_space_kernel(input: Array, block_shape: Array, crops: Array) -> Array:
    op = "BatchToSpaceND"
    blocks, pairs = _block_of(op, input, block_shape, crops, "crops")
    m, count = len(blocks), math.prod(blocks)
    if input.shape[0] % count:
        raise InvalidArgumentError(
            f"{op}: the batch must be a multiple of the product of block_shape, got "
            f"{input.shape[0]} and {count}"
        )
    batch, space, rest = input.shape[0] // count, input.shape[1 : m + 1], input.shape[m + 1 :]
    wide = input.reshape(*blocks, batch, *space, *rest)
    order = [m]
    for axis in range(m):
        order += [m + 1 + axis, axis]
    order += range(2 * m + 1, wide.ndim)
    whole = [n * block for n, block in zip(space, blocks, strict=True)]
    for axis, (n, pair) in enumerate(zip(whole, pairs, strict=True), 1):
        if sum(pair) > n:
            raise InvalidArgumentError(
                f"{op}: crops of axis {axis} must be at most its size, got {pair} and {n}"
            )
    full = wide.transpose(order).reshape(batch, *whole, *rest)
    return full[(slice(None), *[slice(a, n - b) for n, (a, b) in zip(whole, pairs, strict=True)])]


def _infer_batch_to_space(call: InferCall) -> Shape:
    shape, blocks, crops = _spatial(call)
    if shape.rank is None:
        return shape
    if blocks is None:
        return _beyond_blocks(call, shape)
    sizes = list(shape)
    count = math.prod(blocks)
    if sizes[0] is not None and sizes[0] % count:
        call.fail(
            f"the batch must be a multiple of the product of block_shape, got {sizes[0]} and "
            f"{count}"
        )
    out: list[int | None] = [None if sizes[0] is None else sizes[0] // count]
    for axis, block in enumerate(blocks, 1):
        n = sizes[axis]
        if n is None or crops is None:
            out.append(None)
            continue
        left = n * block - sum(crops[axis - 1])
        if left < 0:
            call.fail(
                f"crops of axis {axis} must be at most its size, got {crops[axis - 1]} and "
                f"{n * block}"
            )
        out.append(left)
    return Shape([*out, *sizes[len(blocks) + 1 :]])


def _batch_to_space_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return space_to_batch_nd(dy, call.inputs[1], call.inputs[2]), None, None


BATCH_TO_SPACE_ND = define(
    name="BatchToSpaceND",
    signature="input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    types={
        "T": ANY_VALUE,
        "Tblock_shape": typed(INDEX, default=int32),
        "Tcrops": typed(INDEX, default=int32),
    },
    infer=_infer_batch_to_space,
    kernel=_batch_to_space_kernel,
    gradient=_batch_to_space_gradient,
)


def _picture(op: str, x: Array, data_format: str) -> Sequence[int]:
    if x.ndim != 4 or data_format not in _FORMATS:
        raise InvalidArgumentError(
            f"{op}: input must have the four axes of NHWC or NCHW, got shape {list(x.shape)} in "
            f"{data_format}"
        )
    if data_format == "NHWC":
        return tuple(int(size) for size in x.shape)
    n, c, h, w = (int(size) for size in x.shape)
    return n, h, w, c


def _infer_picture(call: InferCall, shrinks: bool) -> Shape:
    shape, b = call.spec(0).shape, call.attrs["block_size"]
    if b < 2:
        call.fail(f"block_size must be at least 2, got {b}")
    if shape.rank is None:
        return unknown_shape(4)
    if shape.rank != 4:
        call.fail("input must have four axes")
    channels_first = call.attrs["data_format"] == "NCHW"
    n, h, w, c = (shape[i] for i in ((0, 2, 3, 1) if channels_first else (0, 1, 2, 3)))
    if shrinks:
        if (h is not None and h % b) or (w is not None and w % b):
            call.fail(f"height and width must be multiples of block_size, got {h}, {w} and {b}")
        h, w, c = _over(h, b), _over(w, b), None if c is None else c * b * b
    else:
        if c is not None and c % (b * b):
            call.fail(f"channels must be a multiple of block_size², got {c} and {b * b}")
        h, w, c = None if h is None else h * b, None if w is None else w * b, _over(c, b * b)
    return Shape([n, c, h, w] if channels_first else [n, h, w, c])


def _over(size: int | None, by: int) -> int | None:
    return None if size is None else size // by


def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Blocks of pixels moved to channels.

    Args:
        input: [batch, height, width, channels], or channels first.
        block_size: height and width of a block, at least 2.
        data_format: "NHWC" or "NCHW".
        name: name of the node while tracing.

    Returns:
        [batch, height / block, width / block, block² · channels], dtype of `input`.

    Raises:
        InvalidArgumentError: height or width is no multiple of the block.
    """
    return execute_one(
        SPACE_TO_DEPTH, input, block_size=int(block_size), data_format=data_format, name=name
    )


def _space_to_depth_kernel(input: Array, *, block_size: int, data_format: str) -> Array:
    n, h, w, c = _picture("SpaceToDepth", input, data_format)
    b = block_size
    if h % b or w % b:
        raise InvalidArgumentError(
            f"SpaceToDepth: height and width must be multiples of block_size, got {h}, {w} and {b}"
        )
    if data_format == "NHWC":
        wide = input.reshape(n, h // b, b, w // b, b, c)
        return wide.transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)
    wide = input.reshape(n, c, h // b, b, w // b, b)
    return wide.transpose(0, 3, 5, 1, 2, 4).reshape(n, b * b * c, h // b, w // b)


def _infer_space_to_depth(call: InferCall) -> Shape:
    return _infer_picture(call, shrinks=True)


def _space_to_depth_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (depth_to_space(dy, call.attr("block_size"), call.attr("data_format")),)


SPACE_TO_DEPTH = define(
    name="SpaceToDepth",
    signature="input: T -> output: T",
    types={"T": ANY_VALUE},
    attrs={
        "block_size": attr("int"),
        "data_format": attr("string", default="NHWC", allowed=(*_FORMATS, "NCHW_VECT_C")),
    },
    infer=_infer_space_to_depth,
    kernel=_space_to_depth_kernel,
    gradient=_space_to_depth_gradient,
)


def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The inverse of `space_to_depth`: channels become blocks of a picture.

    Args:
        input: [batch, height, width, channels], or channels first.
        block_size: height and width of a block, at least 2.
        data_format: "NHWC" or "NCHW".
        name: name of the node while tracing.

    Returns:
        [batch, height · block, width · block, channels / block²], dtype of `input`.

    Raises:
        InvalidArgumentError: the channels are no multiple of block².
    """
    return execute_one(
        DEPTH_TO_SPACE, input, block_size=int(block_size), data_format=data_format, name=name
    )


def _depth_to_space_kernel(input: Array, *, block_size: int, data_format: str) -> Array:
    n, h, w, c = _picture("DepthToSpace", input, data_format)
    b = block_size
    if c % (b * b):
        raise InvalidArgumentError(
            f"DepthToSpace: channels must be a multiple of block_size², got {c} and {b * b}"
        )
    rest = c // (b * b)
    if data_format == "NHWC":
        wide = input.reshape(n, h, w, b, b, rest)
        return wide.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, rest)
    wide = input.reshape(n, b, b, rest, h, w)
    return wide.transpose(0, 3, 4, 1, 5, 2).reshape(n, rest, h * b, w * b)


def _infer_depth_to_space(call: InferCall) -> Shape:
    return _infer_picture(call, shrinks=False)


def _depth_to_space_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (space_to_depth(dy, call.attr("block_size"), call.attr("data_format")),)


DEPTH_TO_SPACE = define(
    name="DepthToSpace",
    signature="input: T -> output: T",
    types={"T": ANY_VALUE},
    attrs={
        "block_size": attr("int"),
        "data_format": attr("string", default="NHWC", allowed=(*_FORMATS, "NCHW_VECT_C")),
    },
    infer=_infer_depth_to_space,
    kernel=_depth_to_space_kernel,
    gradient=_depth_to_space_gradient,
)


def _picture_sizes(call: InferCall) -> list[int | None]:
    shape = call.spec(0).shape
    if shape.rank not in {None, 4}:
        call.fail("input must have four axes")
    if not call.spec(1).shape.is_compatible_with([2, 2]):
        call.fail("borders must be two pairs")
    if call.attrs["block_size"] < 2:
        call.fail(f"block_size must be at least 2, got {call.attrs['block_size']}")
    return [None] * 4 if shape.rank is None else list(shape)


def _border_sums(call: InferCall) -> list[int | None]:
    borders = call.constant(1)
    return [None, None] if borders is None else [int(pair.sum()) for pair in borders]


# The two ops that TensorFlow 1 had for two axes take the block as an attribute.


def _space_to_batch_2d_kernel(input: Array, paddings: Array, *, block_size: int) -> Array:
    return _space_to_batch_kernel(input, np.array([block_size] * 2), paddings)


def _infer_space_to_batch_2d(call: InferCall) -> Shape:
    n, h, w, c = _picture_sizes(call)
    b, pads = call.attrs["block_size"], _border_sums(call)
    space = []
    for axis, (size, pad) in enumerate(zip((h, w), pads, strict=True), 1):
        whole = None if size is None or pad is None else size + pad
        if whole is not None and whole % b:
            call.fail(f"axis {axis}, padded, must be a multiple of block_size, got {whole} and {b}")
        space.append(_over(whole, b))
    return Shape([None if n is None else n * b * b, *space, c])


def _space_to_batch_2d_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(BATCH_TO_SPACE, dy, call.inputs[1], block_size=call.attr("block_size")), None


SPACE_TO_BATCH = define(
    name="SpaceToBatch",
    signature="input: T, paddings: Tpaddings -> output: T",
    types={"T": ANY_VALUE, "Tpaddings": typed(INDEX, default=int32)},
    attrs={"block_size": attr("int")},
    infer=_infer_space_to_batch_2d,
    kernel=_space_to_batch_2d_kernel,
    gradient=_space_to_batch_2d_gradient,
)


def _batch_to_space_2d_kernel(input: Array, crops: Array, *, block_size: int) -> Array:
    return _batch_to_space_kernel(input, np.array([block_size] * 2), crops)


def _infer_batch_to_space_2d(call: InferCall) -> Shape:
    n, h, w, c = _picture_sizes(call)
    b, crops = call.attrs["block_size"], _border_sums(call)
    if n is not None and n % (b * b):
        call.fail(f"the batch must be a multiple of block_size², got {n} and {b * b}")
    space = [
        None if size is None or crop is None else max(size * b - crop, 0)
        for size, crop in zip((h, w), crops, strict=True)
    ]
    return Shape([_over(n, b * b), *space, c])


def _batch_to_space_2d_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(SPACE_TO_BATCH, dy, call.inputs[1], block_size=call.attr("block_size")), None


BATCH_TO_SPACE = define(
    name="BatchToSpace",
    signature="input: T, crops: Tidx -> output: T",
    types={"T": ANY_VALUE, "Tidx": typed(INDEX, default=int32)},
    attrs={"block_size": attr("int")},
    infer=_infer_batch_to_space_2d,
    kernel=_batch_to_space_2d_kernel,
    gradient=_batch_to_space_2d_gradient,
)


def space_to_batch(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """The same as `space_to_batch_nd`.

    Args:
        input: [batch, *spatial, ...], any dtype.
        block_shape: [k], sizes of the blocks of the first k spatial axes.
        paddings: [k, 2], zeros before and after each of them.
        name: name of the node while tracing.

    Returns:
        As of `space_to_batch_nd`.
    """
    return space_to_batch_nd(input, block_shape, paddings, name)


def batch_to_space(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """The same as `batch_to_space_nd`, for which a block may also be one size.

    Args:
        input: [batch · prod(block_shape), *spatial, ...], any dtype.
        block_shape: [k], sizes of the blocks of the first k spatial axes; an integer stands for
            [size, size].
        crops: [k, 2], what is cut off before and after each of them.
        name: name of the node while tracing.

    Returns:
        As of `batch_to_space_nd`.
    """
    if isinstance(block_shape, int):
        block_shape = [block_shape, block_shape]
    return batch_to_space_nd(input, block_shape, crops, name)

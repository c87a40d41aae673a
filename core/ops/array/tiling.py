"""Repetition: Tile, and repeat."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    indicators,
    masking,
    reshaping,
    shapes,
)
from pinnace.ops.array.axes import normal_axis
from pinnace.ops.array.joining import concat, stack
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, ranges, reduction
from pinnace.ops.opdef import InferCall, OpCall, typed
from pinnace.ops.registry import define

__all__ = ["repeat", "tile"]


@takes_composites(ragged="shaping:tile")
def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """`input` repeated: multiples[i] times along axis i.

    Args:
        input: [...], any dtype.
        multiples: [rank], int32 or int64, at least 0.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: not one multiple per axis, or a negative one.
    """
    return execute_one(TILE, input, multiples, name=name)


def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Each slice of `input` along `axis`, repeated `repeats` times.

    Args:
        input: [...], any dtype.
        repeats: how often: a scalar for all, or [n], one number for each of the n parts.
        axis: the axis; None flattens `input` first.
        name: name of the node while tracing.

    Returns:
        The shape of `input` with sum(repeats) along `axis`.

    Raises:
        InvalidArgumentError: `repeats` has neither one number nor one per part.
    """
    x = convert_to_tensor(input)
    if axis is None:
        x, axis = reshaping.reshape(x, [-1]), 0
    counts = convert_to_tensor(repeats, dtype_hint=int32)
    rank = x.shape.rank
    if rank is None:
        rows_now = shapes.shape(x)[axis]
        return gathering.gather(x, repeat(ranges.range(rows_now), counts), axis=axis, name=name)
    at = normal_axis("repeat", axis, rank)
    if counts.shape.rank is None:  # one number or one per part: as a vector either is one per part
        parts = reshaping.reshape(shapes.shape(x)[at], [1])
        counts = broadcasting.broadcast_to(reshaping.reshape(counts, [-1]), parts)
    if counts.shape.rank == 1 and counts.shape[0] == 1:
        counts = reshaping.reshape(counts, [])
    if counts.shape.rank == 0:
        return _repeated_alike(x, counts, at, name)
    rows = x.shape[at]
    if not counts.shape.is_compatible_with([rows]):
        raise InvalidArgumentError(
            "repeat: repeats must be a scalar or have one number per part, got "
            f"{counts.shape.text} for {x.shape.text}"
        )
    # Row i of the mask has counts[i] leading trues, the copies to keep.
    most = (
        reduction.reduce_max(counts)
        if rows is None or rows
        else constants.constant(0, counts.dtype)
    )
    mask = indicators.sequence_mask(
        counts, arithmetic.maximum(most, constants.constant(0, counts.dtype))
    )
    wide = reshaping.expand_dims(x, at + 1)
    multiples = [casting.cast(most, int32) if i == at + 1 else 1 for i in range(rank + 1)]
    spread = tile(wide, convert_to_tensor(multiples, int32))
    made = masking.boolean_mask(spread, mask, axis=at, name=name)
    total = broadcasting.known_value(counts)
    if total is not None and not made.shape.is_fully_defined():
        made.set_shape([*x.shape[:at], int(np.maximum(total, 0).sum()), *x.shape[at + 1 :]])
    return made


def _repeated_alike(x: Tensor, count: Tensor, axis: int, name: str | None) -> Tensor:
    wide = reshaping.expand_dims(x, axis + 1)
    rank = len(x.shape)
    sizes: Any = [count if i == axis + 1 else 1 for i in range(rank + 1)]
    spread = tile(wide, convert_to_tensor(sizes, count.dtype))
    if x.shape.is_fully_defined():
        known: list[Any] = x.shape.as_list()
        rows = -1 if 0 not in known else known[axis] * casting.cast(count, int32)
        return reshaping.reshape(spread, [*known[:axis], rows, *known[axis + 1 :]], name)
    before = shapes.shape(x)
    rows = before[axis] * casting.cast(count, int32)
    target = concat([before[:axis], reshaping.reshape(rows, [1]), before[axis + 1 :]], 0)
    return reshaping.reshape(spread, target, name)


def _tile_kernel(input: Array, multiples: Array) -> Array:
    counts = multiples.tolist()
    if len(counts) != input.ndim or min(counts, default=0) < 0:
        raise InvalidArgumentError(
            f"Tile: multiples must hold one number of at least 0 per axis, got {counts}\n"
            f"  input: shape {list(input.shape)}"
        )
    wide = input.reshape([n for size in input.shape for n in (1, size)])
    target = [n for pair in zip(counts, input.shape, strict=True) for n in pair]
    return np.broadcast_to(wide, target).reshape(
        [count * size for count, size in zip(counts, input.shape, strict=True)]
    )


def _infer_tile(call: InferCall) -> Shape:
    shape, given = call.spec(0).shape, call.spec(1).shape
    if given.rank not in {None, 1}:
        call.fail("multiples must be a vector")
    length = given[0] if given.rank == 1 else None
    if shape.rank is None:
        known = call.shape_constant(1)
        if known.rank is None:
            return unknown_shape(length)
        return Shape([0 if n == 0 else None for n in known])
    if length not in {None, shape.rank}:
        call.fail("multiples must hold one number per axis of input")
    counts = call.shape_constant(1)
    if counts.rank is None:
        return Shape([0 if n == 0 else None for n in shape])
    return Shape(
        [
            0 if 0 in (n, m) else None if n is None or m is None else n * m
            for n, m in zip(shape, counts, strict=True)
        ]
    )


def _tile_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, multiples = call.inputs
    sizes = shapes.shape(x, multiples.dtype)
    pairs = reshaping.reshape(stack([multiples, sizes], axis=1), [-1])
    rank = x.shape.rank
    if rank is None:
        axes: Any = ranges.range(0, 2 * shapes.rank(x), 2)
    else:
        axes = list(range(0, 2 * rank, 2))
    return reduction.reduce_sum(reshaping.reshape(dy, pairs), axes), None


TILE = define(
    name="Tile",
    signature="input: T, multiples: Tmultiples -> output: T",
    types={"T": ANY, "Tmultiples": typed(INDEX, default=int32)},
    infer=_infer_tile,
    kernel=_tile_kernel,
    gradient=_tile_gradient,
    moves="repeat",
    batch=batch_rules.leading(1),
    flops=flops.none,
)

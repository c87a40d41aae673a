"""The largest or smallest values along an axis: ApproxTopK, exact on a CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import bfloat16, float16, float32
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import gathering, permutations, reshaping, scattering, shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import ranges
from pinnace.ops.opdef import OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = ["approx_max_k", "approx_min_k"]


def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` greatest values along an axis, greatest first; exact on CPUs.

    Args:
        operand: [..., n, ...], float16, bfloat16 or float32.
        k: the number.
        reduction_dimension: the axis.
        recall_target: the share that must be right; here all are.
        reduction_input_size_override: the size of the whole axis, where operand is a part of it.
        aggregate_to_topk: False gives all values that a TPU's parts would find, of which the `k`
            are a few: how many they are depends on the size, on `k` and on the two arguments above.
        name: name of the node while tracing.

    Returns:
        [..., k, ...], dtype of `operand`, and the places along the axis, int32.

    Raises:
        InvalidArgumentError: no such axis, or fewer than `k` values along it.
    """
    whole = reduction_input_size_override
    return approx_top_k(
        *(operand, k, reduction_dimension, recall_target, True, whole, aggregate_to_topk, name)
    )


def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` least values along an axis, least first; see `approx_max_k`.

    Args:
        operand: [..., n, ...], float16, bfloat16 or float32.
        k: the number.
        reduction_dimension: the axis.
        recall_target: the share that must be right; here all are.
        reduction_input_size_override: the size of the whole axis, where operand is a part of it.
        aggregate_to_topk: see `approx_max_k`.
        name: name of the node while tracing.

    Returns:
        [..., k, ...], dtype of `operand`, and the places along the axis, int32.
    """
    whole = reduction_input_size_override
    return approx_top_k(
        *(operand, k, reduction_dimension, recall_target, False, whole, aggregate_to_topk, name)
    )


def approx_top_k(
    input: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`approx_max_k`, or `approx_min_k`; TensorFlow itself runs it on TPUs only.

    Args:
        input: [..., n, ...], float16, bfloat16 or float32.
        k: the number.
        reduction_dimension: the axis.
        recall_target: the share that must be right; here all are.
        is_max_k: whether the greatest values are wanted, or the least.
        reduction_input_size_override: the size of the whole axis, where input is a part of it.
        aggregate_to_topk: see `approx_max_k`.
        name: name of the node while tracing.

    Returns:
        [..., k, ...], dtype of `input`, and the places along the axis, int32.
    """
    return execute(  # type: ignore[no-any-return]
        APPROX_TOP_K,
        input,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=is_max_k,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
        name=name,
    )


def found_values(size: int, rank: int, k: int, recall_target: float, whole_size: int = -1) -> int:
    """The number of values that a TPU would keep of `size` before selecting `k` of them.

    Each keeps the best of every 2^n tiles, with the greatest n that reaches the share.

    Args:
        size: size of the axis.
        rank: rank of the operand; vectors have tiles of 1024 values, others of 128.
        k: how many are wanted.
        recall_target: the share of them that must be found.
        whole_size: size of the axis of which this is a part; -1 if it is the whole.

    Source:
        The approximate top-k of Chern et al., "TPU-KNN" (2022); sizes as XLA has them.
    """
    tile = 1024 if rank == 1 else 128
    if size <= tile or recall_target == 1:
        return size
    if k == 1:
        return tile
    least: float = min(max((1 - k) / math.log(recall_target), tile), size)
    folds = int((size if whole_size < 0 else whole_size) / least)
    if folds < 2:
        return size
    tiles = -(-size // tile)
    # At most all tiles but one are folded into one.
    halvings: int = min(folds.bit_length() - 1, (tiles - 2).bit_length())
    return min(-(-tiles // (1 << halvings)) * tile, size)


def _kernel(
    x: Array,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> tuple[Array, Array]:
    keys = x.astype(np.float32)
    order = np.argsort(-keys if is_max_k else keys, axis=reduction_dimension, kind="stable")
    size = x.shape[reduction_dimension]
    if not aggregate_to_topk:
        k = found_values(size, x.ndim, k, recall_target, reduction_input_size_override)
    at = np.take(order, range(k), axis=reduction_dimension)
    return np.take_along_axis(x, at, reduction_dimension), at.astype(np.int32)


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    shape, k = call.spec(0).shape, call.attrs["k"]
    if shape.rank is None:
        return shape, shape
    axis = call.attrs["reduction_dimension"]
    if not -shape.rank <= axis < shape.rank:
        call.fail(f"reduction_dimension must be in [{-shape.rank}, {shape.rank}), got {axis}")
    recall = call.attrs["recall_target"]
    if not 0 < recall <= 1:
        call.fail(f"recall_target must be in (0, 1], got {recall}")
    sizes = shape.as_list()
    size = sizes[axis]
    if k < 0 or (size is not None and k > size):
        call.fail(f"k must be from 0 to the size of the axis, got {k}")
    sizes[axis] = k
    if not call.attrs["aggregate_to_topk"]:
        whole = call.attrs["reduction_input_size_override"]
        if size is not None and 0 <= whole < size:
            call.fail(
                f"reduction_input_size_override must be at least the size of the axis, {size}, "
                f"got {whole}"
            )
        sizes[axis] = None if size is None else found_values(size, shape.rank, k, recall, whole)
    return Shape(sizes), Shape(sizes)


def _gradient(call: OpCall, dy: Tensor | None, _: Tensor | None) -> tuple[Tensor | None]:
    (x,) = call.inputs
    if dy is None:
        return (None,)
    at = call.outputs[1]
    rank = x.shape.rank
    if rank is None:
        raise UnimplementedError("ApproxTopK: the gradient requires an operand of known rank")
    axis = call.attr("reduction_dimension") % rank
    order = [n for n in range(rank) if n != axis] + [axis]
    back = np.argsort(order).tolist()
    places = permutations.transpose(at, order)
    size = shapes.shape(x)[axis]
    flat = reshaping.reshape(places, [-1, shapes.shape(at)[axis]])
    lines = ranges.range(shapes.shape(flat)[0])
    flat = flat + reshaping.reshape(lines * size, [-1, 1])
    turned = gathering.gather(shapes.shape(x), order)
    spread = scattering.scatter_nd(
        reshaping.reshape(flat, [-1, 1]),
        reshaping.reshape(permutations.transpose(dy, order), [-1]),
        reshaping.reshape(shapes.size(x), [1]),
    )
    return (permutations.transpose(reshaping.reshape(spread, turned), back),)


APPROX_TOP_K: OpDef = define(
    name="ApproxTopK",
    signature="input: T -> values: T, indices: int32",
    types={"T": frozenset({float16, bfloat16, float32})},
    attrs={
        "k": attr("int"),
        "reduction_dimension": attr("int", default=-1),
        "recall_target": attr("float", default=0.95),
        "is_max_k": attr("bool", default=True),
        "reduction_input_size_override": attr("int", default=-1),
        "aggregate_to_topk": attr("bool", default=True),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

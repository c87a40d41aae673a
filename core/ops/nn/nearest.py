"""The greatest or least values along an axis: ApproxTopK, exact on a CPU."""

from __future__ import annotations

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
    """The `k` greatest values along an axis, greatest first: on a CPU all of them are right.

    Args:
        operand: [..., n, ...], float16, bfloat16 or float32.
        k: how many.
        reduction_dimension: the axis.
        recall_target: the share that must be right; it changes nothing here.
        reduction_input_size_override: likewise.
        aggregate_to_topk: must be True: it is for computers whose parts search on their own.
        name: name of the node while tracing.

    Returns:
        [..., k, ...], dtype of `operand`, and the places along the axis, int32.

    Raises:
        InvalidArgumentError: no such axis, or fewer than `k` values along it.
        UnimplementedError: `aggregate_to_topk` is False.
    """
    return execute(  # type: ignore[no-any-return]
        APPROX_TOP_K,
        operand,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=True,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
        name=name,
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
        k: how many.
        reduction_dimension: the axis.
        recall_target: the share that must be right; it changes nothing here.
        reduction_input_size_override: likewise.
        aggregate_to_topk: must be True.
        name: name of the node while tracing.

    Returns:
        [..., k, ...], dtype of `operand`, and the places along the axis, int32.
    """
    return execute(  # type: ignore[no-any-return]
        APPROX_TOP_K,
        operand,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=False,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
        name=name,
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
    """`approx_max_k`, or `approx_min_k`; TensorFlow itself runs it on TPUs alone.

    Args:
        input: [..., n, ...], float16, bfloat16 or float32.
        k: how many.
        reduction_dimension: the axis.
        recall_target: the share that must be right; it changes nothing here.
        is_max_k: whether the greatest values are wanted, or the least.
        reduction_input_size_override: changes nothing here.
        aggregate_to_topk: must be True.
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


def _kernel(
    x: Array, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool
) -> tuple[Array, Array]:
    if not aggregate_to_topk:
        raise UnimplementedError(
            "ApproxTopK: aggregate_to_topk must be True: a CPU has no parts to collect from"
        )
    keys = x.astype(np.float32)
    order = np.argsort(-keys if is_max_k else keys, axis=reduction_dimension, kind="stable")
    at = np.take(order, range(k), axis=reduction_dimension)
    return np.take_along_axis(x, at, reduction_dimension), at.astype(np.int32)


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    shape, k = call.spec(0).shape, call.attrs["k"]
    if shape.rank is None:
        return shape, shape
    axis = call.attrs["reduction_dimension"]
    if not -shape.rank <= axis < shape.rank:
        call.fail(f"reduction_dimension must be in [{-shape.rank}, {shape.rank}), got {axis}")
    sizes = shape.as_list()
    size = sizes[axis]
    if k < 0 or (size is not None and k > size):
        call.fail(f"k must be from 0 to the size of the axis, got {k}")
    sizes[axis] = k
    return Shape(sizes), Shape(sizes)


def _gradient(call: OpCall, dy: Tensor | None, _: Tensor | None) -> tuple[Tensor | None]:
    (x,) = call.inputs
    if dy is None:
        return (None,)
    at = call.outputs[1]
    rank = x.shape.rank
    if rank is None:
        raise UnimplementedError(
            "ApproxTopK: the gradient needs to know how many axes the operand has"
        )
    axis = call.attr("reduction_dimension") % rank
    order = [n for n in range(rank) if n != axis] + [axis]
    back = np.argsort(order).tolist()
    places = permutations.transpose(at, order)
    size = shapes.shape(x)[axis]
    k = call.attr("k")
    flat = reshaping.reshape(places, [-1, k])
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

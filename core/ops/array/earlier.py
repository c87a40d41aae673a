"""Earlier versions of array ops in older graphs: Reverse and TopK, ConcatOffset.

Reverse has a bool for each axis, TopK its number as an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import INDEX, REAL, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import permutations, sorting
from pinnace.ops.array.axes import normal_axis, require_rank
from pinnace.ops.execute import execute
from pinnace.ops.kernels.sorting import top_k
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []


def _reverse_kernel(tensor: Array, dims: Array) -> Array:
    if dims.shape != (tensor.ndim,):
        raise InvalidArgumentError(
            f"Reverse: dims must hold {tensor.ndim} bools, got shape {list(dims.shape)}"
        )
    return tensor[tuple(slice(None, None, -1 if turned else None) for turned in dims.tolist())]


def _infer_reverse(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    require_rank(call, 1, 1, "dims must be a vector of one bool per axis of tensor")
    count = call.spec(1).shape[0] if call.spec(1).shape.rank == 1 else None
    if shape.rank is not None and count is not None and count != shape.rank:
        call.fail(f"dims must hold {shape.rank} bools, got {count}")
    return Shape([None] * count) if shape.rank is None and count is not None else shape


def _reverse_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(REVERSE, dy, call.inputs[1]), None


REVERSE = define(
    name="Reverse",
    signature="tensor: T, dims: bool -> output: T",
    types={"T": permutations.REVERSE_V2.type_sets["T"]},
    infer=_infer_reverse,
    kernel=_reverse_kernel,
    gradient=_reverse_gradient,
)


def _top_k_kernel(input: Array, *, k: int) -> tuple[Array, Array]:
    return top_k(input, k, np.dtype(np.int32))


def _infer_top_k(call: InferCall) -> tuple[Shape, Shape]:
    shape, k = call.spec(0).shape, call.attrs["k"]
    if shape.rank is None:
        return shape, shape
    if shape.rank == 0:
        call.fail("input must have at least one axis")
    size = shape[-1]
    if k < 0 or (size is not None and k > size):
        call.fail(f"k must be from 0 to the size of the last axis, {size}, got {k}")
    out = shape[:-1].concatenate([k])
    return out, out


TOP_K = define(
    name="TopK",
    signature="input: T -> values: T, indices: int32",
    types={"T": REAL},
    attrs={"k": attr("int"), "sorted": attr("bool", default=True)},
    infer=_infer_top_k,
    kernel=_top_k_kernel,
    gradient=lambda call, *dys: sorting.top_k_gradient(call, *dys)[:1],
)


def _offset_kernel(concat_dim: Array, shape: tuple[Array, ...]) -> tuple[Array, ...]:
    axis = normal_axis("ConcatOffset", int(concat_dim), shape[0].size, "concat_dim")
    others = np.arange(shape[0].size) != axis
    found, start = [], 0
    for index, sizes in enumerate(shape):
        if sizes.shape != shape[0].shape or (sizes != shape[0])[others].any():
            raise InvalidArgumentError(
                f"ConcatOffset: all sizes but that of axis {axis} must agree, "
                f"got {shape[0].tolist()} and, of input {index}, {sizes.tolist()}"
            )
        place = np.zeros_like(sizes)
        place[axis] = start
        start += int(sizes[axis])
        found.append(place)
    return tuple(found)


def _infer_offset(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {None, 0}:
        call.fail("concat_dim must be a scalar")
    rank = Shape([None])
    for spec in call.specs(1):
        if not spec.shape.is_compatible_with(rank):
            call.fail("every shape must be a vector, all of one size")
        rank = rank.merge_with(spec.shape)
    return (rank,) * len(call.specs(1))


CONCAT_OFFSET = define(
    name="ConcatOffset",
    signature="concat_dim: int32, shape: N*shape_type -> offset: N*shape_type",
    types={"shape_type": typed(INDEX, default=int32)},
    infer=_infer_offset,
    kernel=_offset_kernel,
    gradient=NOT_DIFFERENTIABLE,
)

"""Reordered and reshaped sparse tensors: SparseReorder, SparseReshape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import gathering, permutations, shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import ranges
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import (
    check_inside,
    check_parts,
    count_of,
    numbers,
    order_of,
    rank_of,
)

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall


def _reorder_kernel(
    input_indices: Array, input_values: Array, input_shape: Array
) -> tuple[Array, Array]:
    check_parts("SparseReorder", input_indices, input_values, input_shape)
    check_inside("SparseReorder", input_indices, input_shape.tolist())
    order = order_of(input_indices)
    return input_indices[order], input_values[order]


def _infer_reorder(call: InferCall) -> tuple[Shape, ...]:
    count, rank = count_of(call, 0, 1), rank_of(call, 2)
    if rank is None and call.spec(0).shape.rank == 2:
        rank = call.spec(0).shape[1]
    return Shape([count, rank]), Shape([count])


def _reorder_gradient(call: OpCall, _: Any, dy: Tensor) -> tuple[Any, ...]:
    # Reordering the values' numbers shows where each came from.
    indices, values, shape = call.inputs
    _, places = execute(SPARSE_REORDER, indices, ranges.range(shapes.size(values)), shape)
    return None, gathering.gather(dy, permutations.invert_permutation(places)), None


SPARSE_REORDER = define(
    name="SparseReorder",
    signature=(
        "input_indices: int64, input_values: T, input_shape: int64 -> "
        "output_indices: int64, output_values: T"
    ),
    types={"T": ANY},
    infer=_infer_reorder,
    kernel=_reorder_kernel,
    gradient=_reorder_gradient,
)


def _reshape_kernel(
    input_indices: Array, input_shape: Array, new_shape: Array
) -> tuple[Array, Array]:
    if input_indices.ndim != 2 or input_shape.ndim != 1 or new_shape.ndim != 1:
        raise InvalidArgumentError(
            "SparseReshape: input_indices must be a matrix and both shapes vectors, got shapes "
            f"{list(input_indices.shape)}, {list(input_shape.shape)} and {list(new_shape.shape)}"
        )
    old = input_shape.tolist()
    new = new_shape.tolist()
    if any(size < 0 for size in old):
        raise InvalidArgumentError(
            f"SparseReshape: input_shape must have no negative size, got {old}"
        )
    total = math.prod(old)
    unknown = [axis for axis, size in enumerate(new) if size == -1]
    if len(unknown) > 1 or any(size < -1 for size in new):
        raise InvalidArgumentError(
            f"SparseReshape: new_shape may have one -1 and no other negative size, got {new}"
        )
    if unknown:
        rest = math.prod(size for size in new if size != -1)
        if rest == 0 or total % rest:
            raise InvalidArgumentError(
                f"SparseReshape: the {total} elements of {old} do not fill new_shape {new}"
            )
        new[unknown[0]] = total // rest
    if math.prod(new) != total:
        raise InvalidArgumentError(
            f"SparseReshape: new_shape must have as many elements as {old}: {total}, got {new}"
        )
    if input_indices.ndim != 2 or input_indices.shape[1] != len(old):
        raise InvalidArgumentError(
            "SparseReshape: input_indices must have a column for each entry of input_shape, got "
            f"shape {list(input_indices.shape)} for {len(old)} axes"
        )
    check_inside("SparseReshape", input_indices, old)
    places = numbers(input_indices, old)
    out = np.empty((len(places), len(new)), np.int64)
    for axis in range(len(new) - 1, -1, -1):
        places, out[:, axis] = np.divmod(places, max(new[axis], 1))
    return out, np.array(new, np.int64)


def _infer_reshape(call: InferCall) -> tuple[Shape, ...]:
    rank = rank_of(call, 2)
    return Shape([count_of(call, 0), rank]), Shape([rank])


SPARSE_RESHAPE = define(
    name="SparseReshape",
    signature=(
        "input_indices: int64, input_shape: int64, new_shape: int64 -> "
        "output_indices: int64, output_shape: int64"
    ),
    infer=_infer_reshape,
    kernel=_reshape_kernel,
    gradient=NOT_DIFFERENTIABLE,
)

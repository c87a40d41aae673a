"""Concatenation of sparse tensors: SparseConcat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import gathering, joining, permutations, shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import ranges
from pinnace.ops.opdef import attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_parts, order_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall


def _kernel(
    indices: tuple[Array, ...],
    values: tuple[Array, ...],
    shapes: tuple[Array, ...],
    *,
    concat_dim: int,
) -> tuple[Array, Array, Array]:
    rank = len(shapes[0])
    if not -rank <= concat_dim < rank:
        raise InvalidArgumentError(
            f"SparseConcat: concat_dim must be in [{-rank}, {rank}), got {concat_dim}"
        )
    axis = concat_dim % rank
    total = shapes[0].copy()
    total[axis] = 0
    moved = []
    for one, part, shape in zip(indices, values, shapes, strict=True):
        check_parts("SparseConcat", one, part, shape)
        same = len(shape) == rank and all(shape[i] == total[i] for i in range(rank) if i != axis)
        if not same:
            raise InvalidArgumentError(
                f"SparseConcat: shapes must agree on all axes but {axis}, got "
                f"{shapes[0].tolist()} and {shape.tolist()}\n"
                "  Try: expand_nonconcat_dims=True"
            )
        shifted = one.copy()
        shifted[:, axis] += total[axis]
        total[axis] += shape[axis]
        moved.append(shifted)
    joined = np.concatenate(moved)
    order = order_of(joined)
    return joined[order], np.concatenate(values)[order], total


def _infer(call: InferCall) -> tuple[Shape, ...]:
    ranks = [spec.shape[0] for spec in call.specs(2) if spec.shape.rank]
    ranks += [spec.shape[1] for spec in call.specs(0) if spec.shape.rank == 2]
    rank = next((rank for rank in ranks if rank is not None), None)
    total: int | None = 0
    for places, values in zip(call.specs(0), call.specs(1), strict=True):
        count = places.shape[0] if places.shape.rank else None
        if count is None and values.shape.rank:
            count = values.shape[0]
        total = None if total is None or count is None else total + count
    return Shape([total, rank]), Shape([total]), Shape([rank])


def _gradient(call: OpCall, _: Any, dy: Tensor, __: Any) -> tuple[Any, ...]:
    indices, values, sizes = call.inputs
    count = len(values)
    lengths = [shapes.size(part) for part in values]
    # Applying the op to the values' numbers shows where each went.
    starts = [0, *lengths[:-1]]
    numbers: list[Any] = []
    before: Any = 0
    for length, start in zip(lengths, starts, strict=True):
        before = before + start
        numbers.append(ranges.range(before, before + length))
    _, places, _ = execute(
        SPARSE_CONCAT, indices, numbers, sizes, concat_dim=call.attr("concat_dim")
    )
    back = gathering.gather(dy, permutations.invert_permutation(places))
    return [None] * count, joining.split(back, joining.stack(lengths), num=count), [None] * count


SPARSE_CONCAT = define(
    name="SparseConcat",
    signature=(
        "indices: N*int64, values: N*T, shapes: N*int64 -> "
        "output_indices: int64, output_values: T, output_shape: int64"
    ),
    types={"T": ANY},
    attrs={"concat_dim": attr("int")},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

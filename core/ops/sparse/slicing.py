"""Parts of sparse tensors: SparseSlice, SparseSplit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY, NUMBERS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, rank_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall


def _slice_kernel(
    indices: Array, values: Array, shape: Array, start: Array, size: Array
) -> tuple[Array, Array, Array]:
    check_parts("SparseSlice", indices, values, shape)
    if start.shape != shape.shape or size.shape != shape.shape:
        raise InvalidArgumentError(
            f"SparseSlice: start and size must have one entry per axis ({len(shape)}), got shapes "
            f"{list(start.shape)} and {list(size.shape)}"
        )
    if (start < 0).any() or (size < 0).any():
        raise InvalidArgumentError(
            "SparseSlice: start and size must not be negative, got "
            f"{start.tolist()} and {size.tolist()}"
        )
    sizes = np.maximum(np.minimum(size, shape - start), 0)
    inside = ((indices >= start) & (indices < start + sizes)).all(axis=1)
    return indices[inside] - start, values[inside], sizes.astype(np.int64)


def _infer_slice(call: InferCall) -> tuple[Shape, ...]:
    rank = rank_of(call, 2)
    return Shape([None, rank]), Shape([None]), Shape([rank])


def _slice_gradient(call: OpCall, _: Any, dy: Tensor, __: Any) -> tuple[Any, ...]:
    indices, _values, _shape, start, _size = call.inputs
    return None, execute(SPARSE_SLICE_GRAD, dy, indices, start, call.outputs[0]), None, None, None


SPARSE_SLICE = define(
    name="SparseSlice",
    signature=(
        "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
        "output_indices: int64, output_values: T, output_shape: int64"
    ),
    types={"T": ANY},
    infer=_infer_slice,
    kernel=_slice_kernel,
    gradient=_slice_gradient,
)


def _slice_grad_kernel(
    backprop_val_grad: Array, input_indices: Array, input_start: Array, output_indices: Array
) -> Array:
    wanted = {tuple(row): at for at, row in enumerate((output_indices + input_start).tolist())}
    out = np.zeros(len(input_indices), backprop_val_grad.dtype)
    for at, row in enumerate(input_indices.tolist()):
        source = wanted.get(tuple(row))
        if source is not None:
            out[at] = backprop_val_grad[source]
    return out


SPARSE_SLICE_GRAD = define(
    name="SparseSliceGrad",
    signature=(
        "backprop_val_grad: T, input_indices: int64, input_start: int64, "
        "output_indices: int64 -> val_grad: T"
    ),
    types={"T": NUMBERS},
    infer=lambda call: Shape([call.spec(1).shape[0] if call.spec(1).shape.rank else None]),
    kernel=_slice_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _split_kernel(
    split_dim: Array, indices: Array, values: Array, shape: Array, *, num_split: int
) -> tuple[Array, ...]:
    check_parts("SparseSplit", indices, values, shape)
    if split_dim.ndim:
        raise InvalidArgumentError(
            f"SparseSplit: split_dim must be a scalar, got shape {list(split_dim.shape)}"
        )
    check_inside("SparseSplit", indices, shape.tolist())
    axis, rank = int(split_dim), len(shape)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"SparseSplit: split_dim must be in [{-rank}, {rank}), got {axis}"
        )
    axis %= rank
    size = int(shape[axis])
    if not 1 <= num_split <= size:
        raise InvalidArgumentError(
            f"SparseSplit: num_split must be from 1 to {size}, the size of axis {axis}, "
            f"got {num_split}"
        )
    # The first parts are one longer, as many as the remainder.
    lengths = [size // num_split + (part < size % num_split) for part in range(num_split)]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    part_of = np.searchsorted(starts, indices[:, axis], side="right") - 1
    found_indices, found_values, found_shapes = [], [], []
    for part, length in enumerate(lengths):
        chosen = part_of == part
        moved = indices[chosen]
        moved[:, axis] -= starts[part]
        sizes = shape.copy()
        sizes[axis] = length
        found_indices.append(moved)
        found_values.append(values[chosen])
        found_shapes.append(sizes)
    return (*found_indices, *found_values, *found_shapes)


def _infer_split(call: InferCall) -> tuple[Shape, ...]:
    rank, count = rank_of(call, 3), int(call.attrs["num_split"])
    return (*[Shape([None, rank])] * count, *[Shape([None])] * count, *[Shape([rank])] * count)


SPARSE_SPLIT = define(
    name="SparseSplit",
    signature=(
        "split_dim: int64, indices: int64, values: T, shape: int64 -> "
        "output_indices: num_split*int64, output_values: num_split*T, "
        "output_shape: num_split*int64"
    ),
    types={"T": ANY},
    attrs={"num_split": attr("int")},
    infer=_infer_split,
    kernel=_split_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

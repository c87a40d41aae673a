"""Ragged components to dense and sparse tensors: RaggedTensorToTensor, RaggedTensorToSparse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY, INDEX, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import joining, reshaping
from pinnace.ops.array import shapes as shape_ops
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, ranges, reduction, segments
from pinnace.ops.opdef import attr, typed
from pinnace.ops.ragged.splits import check_splits, splits_of
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_WHO = "RaggedTensorToTensor"
_KINDS = ("FIRST_DIM_SIZE", "ROW_SPLITS", "VALUE_ROWIDS")


def _nested(parts: tuple[Array, ...], kinds: tuple[Any, ...], values: int) -> list[Array]:
    """The row splits that correspond to a row partition."""
    kinds = tuple(kind.decode() if isinstance(kind, bytes) else kind for kind in kinds)
    if any(kind not in _KINDS for kind in kinds) or len(kinds) != len(parts):
        raise InvalidArgumentError(
            f"{_WHO}: row_partition_types must be one of {', '.join(_KINDS)} for each of "
            f"{len(parts)} tensors, got {list(kinds)}"
        )
    found: list[Array] = []
    rows: int | None = None
    for part, kind in zip(parts, kinds, strict=True):
        if kind != "FIRST_DIM_SIZE" and part.ndim != 1:
            raise InvalidArgumentError(
                f"{_WHO}: row splits and row ids must be vectors, got shape {list(part.shape)}"
            )
        if kind == "FIRST_DIM_SIZE":
            rows = int(part.reshape(()))
        elif kind == "ROW_SPLITS":
            found.append(part)
            rows = int(part[-1]) if part.size else 0
        else:
            if rows is None:
                raise InvalidArgumentError(
                    f"{_WHO}: VALUE_ROWIDS must come after FIRST_DIM_SIZE or ROW_SPLITS"
                )
            if part.size and (part[0] < 0 or part[-1] >= rows or (part[1:] < part[:-1]).any()):
                raise InvalidArgumentError(
                    f"{_WHO}: value_rowids must be sorted and in [0, {rows}), got {part}"
                )
            found.append(splits_of(np.bincount(part, minlength=rows), part.dtype))
            rows = len(part)
    check_splits(_WHO, found, values)
    return found


def _kernel(
    shape: Array,
    values: Array,
    default_value: Array,
    row_partition_tensors: tuple[Array, ...],
    *,
    row_partition_types: tuple[Any, ...],
) -> Array:
    if not values.ndim:
        raise InvalidArgumentError(f"{_WHO}: values must have at least one axis, got a scalar")
    if shape.ndim > 1:
        raise InvalidArgumentError(
            f"{_WHO}: shape must be a scalar or a vector, got shape {list(shape.shape)}"
        )
    if default_value.ndim and default_value.ndim >= values.ndim:
        raise InvalidArgumentError(
            f"{_WHO}: default_value must have fewer axes than values, got shapes "
            f"{list(default_value.shape)} and {list(values.shape)}"
        )
    nested = _nested(row_partition_tensors, row_partition_types, len(values))
    rank = len(nested) + values.ndim
    inner = values.shape[1:]
    natural = [len(nested[0]) - 1, *[int(np.diff(splits).max(initial=0)) for splits in nested]]
    sizes = [*natural, *inner]
    if shape.ndim == 1:
        if len(shape) != rank:
            raise InvalidArgumentError(
                f"{_WHO}: shape must have one size for each of {rank} axes, got {shape.tolist()}"
            )
        if (shape < -1).any():
            raise InvalidArgumentError(
                f"{_WHO}: shape must hold sizes, -1 for unknown ones, got {shape.tolist()}"
            )
        sizes = [
            size if wanted < 0 else int(wanted)
            for size, wanted in zip(sizes, shape.tolist(), strict=True)
        ]
        if tuple(sizes[len(natural) :]) != inner:
            raise InvalidArgumentError(
                f"{_WHO}: shape must end with that of the values, {list(inner)}, got "
                f"{shape.tolist()}"
            )
    out = np.empty(sizes, values.dtype)
    out[...] = default_value
    # The place of each value, axis by axis from the outermost; values beyond `sizes` are dropped.
    place = np.arange(len(nested[0]) - 1)
    kept = place < sizes[0]
    for splits, size in zip(nested, sizes[1:], strict=False):
        lengths = np.diff(splits)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.arange(len(rows)) - np.repeat(splits[:-1], lengths)
        kept = kept[rows] & (columns < size)
        place = place[rows] * size + columns
    outer = math.prod(sizes[: len(natural)])
    if not kept.all():
        place, values = place[kept], values[kept]
    _put(out.reshape(outer, *inner), place, values)
    return out


def _put(rows: Array, places: Array, values: Array) -> None:
    """rows[places] = values, with each row as one item: NumPy copies its numbers one by one."""
    if rows.ndim > 1 and rows.dtype != object and values.size:
        item = f"V{values[0].nbytes}"
        rows = rows.reshape(len(rows), -1).view(item).reshape(-1)
        values = np.ascontiguousarray(values).reshape(len(values), -1).view(item).reshape(-1)
    rows[places] = values


def _infer(call: InferCall) -> Shape:
    wanted = call.shape_constant(0) if call.spec(0).shape.rank else Shape(None)
    values = call.spec(1).shape
    kinds = [
        kind.decode() if isinstance(kind, bytes) else kind
        for kind in call.attrs["row_partition_types"]
    ]
    depth = sum(kind != "FIRST_DIM_SIZE" for kind in kinds)
    if values.rank is None:
        return wanted
    first = None
    if kinds and kinds[0] == "ROW_SPLITS":
        outer = call.specs(3)[0].shape
        first = None if not outer.rank or outer[0] is None else outer[0] - 1
    elif kinds and kinds[0] == "FIRST_DIM_SIZE":
        first = None
    found = [first, *[None] * depth, *values[1:]]
    if wanted.rank is None:
        return Shape(found)
    if wanted.rank != len(found):
        call.fail(f"shape must have one size for each of {len(found)} axes, got {wanted.rank}")
    return Shape([b if b is not None else a for a, b in zip(found, wanted, strict=True)])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    shape, values, default, parts = call.inputs
    count = shape_ops.shape(values, out_type="int64")[0]
    # Apply the op to the values' numbers to find the place of each; 0 marks no value.
    sizes = shape_ops.shape(dy, out_type="int64")
    depth = sum(
        kind not in {"FIRST_DIM_SIZE", b"FIRST_DIM_SIZE"}
        for kind in call.attr("row_partition_types")
    )
    numbers = execute(
        RAGGED_TENSOR_TO_TENSOR,
        sizes[: depth + 1],
        ranges.range(np.int64(1), arithmetic.add(count, np.int64(1))),
        np.int64(0),
        parts,
        row_partition_types=call.attr("row_partition_types"),
    )
    inner = shape_ops.shape(values, out_type="int64")[1:]
    flat_ids = reshaping.reshape(numbers, [-1])

    flat = reshaping.reshape(dy, joining.concat([np.array([-1], np.int64), inner], 0))
    sums = segments.unsorted_segment_sum(flat, flat_ids, arithmetic.add(count, np.int64(1)))
    d_values = sums[1:]
    d_default = sums[0]
    if default.shape.rank == 0:
        d_default = reduction.reduce_sum(d_default)
    elif default.shape.rank != values.shape.rank - 1:
        raise InvalidArgumentError(
            f"{_WHO}: the gradient needs a default_value that is a scalar or one value, got shape "
            f"{default.shape.text}"
        )
    del shape
    return None, d_values, d_default, None


RAGGED_TENSOR_TO_TENSOR = define(
    name=_WHO,
    signature=(
        "shape: Tshape, values: T, default_value: T, "
        "row_partition_tensors: num_row_partition_tensors*Tindex -> result: T"
    ),
    types={"T": ANY, "Tindex": INDEX, "Tshape": INDEX},
    attrs={"row_partition_types": attr("list(string)")},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)


def _sparse_kernel(
    rt_nested_splits: tuple[Array, ...], rt_dense_values: Array
) -> tuple[Array, Array, Array]:
    who = "RaggedTensorToSparse"
    values = rt_dense_values
    if not values.ndim:
        raise InvalidArgumentError(f"{who}: values must have at least one axis, got a scalar")
    check_splits(who, rt_nested_splits, len(values))
    inner = values.shape[1:]
    columns: list[Array] = [np.arange(len(rt_nested_splits[0]) - 1)]
    for splits in rt_nested_splits:
        lengths = np.diff(splits)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = [column[rows] for column in columns]
        columns.append(np.arange(len(rows)) - splits[:-1][rows])
    width = math.prod(inner)
    columns = [np.repeat(column, width) for column in columns]
    for index in np.indices(inner).reshape(len(inner), width):
        columns.append(np.tile(index, len(values)))
    shape = [
        len(rt_nested_splits[0]) - 1,
        *[int(np.diff(splits).max(initial=0)) for splits in rt_nested_splits],
        *inner,
    ]
    return np.stack(columns, 1).astype(np.int64), values.reshape(-1), np.array(shape, np.int64)


def _infer_sparse(call: InferCall) -> tuple[Shape, ...]:
    values = call.spec(1).shape
    rank = None if values.rank is None else values.rank + len(call.specs(0))
    count = values.num_elements() if values.rank is not None else None
    return Shape([count, rank]), Shape([count]), Shape([rank])


def _sparse_gradient(call: OpCall, _: Any, dy: Tensor, __: Any) -> tuple[Any, ...]:
    splits, values = call.inputs
    return [None] * len(splits), reshaping.reshape(dy, shape_ops.shape(values))


RAGGED_TENSOR_TO_SPARSE = define(
    name="RaggedTensorToSparse",
    signature=(
        "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T -> "
        "sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64"
    ),
    types={"T": ANY, "Tsplits": typed(INDEX, default=int64)},
    infer=_infer_sparse,
    kernel=_sparse_kernel,
    gradient=_sparse_gradient,
)

"""Sets in the last axis: DenseToDenseSetOperation and others, SetSize."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, order_of, rank_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_OPERATIONS: dict[str, Any] = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}
# The set at each position of the leading axes, and the sizes of these axes.
_Sets: TypeAlias = tuple[dict[tuple[int, ...], set[Any]], tuple[int, ...]]


def _dense_sets(who: str, values: Array) -> _Sets:
    if values.ndim < 2:
        raise InvalidArgumentError(
            f"{who}: a dense set must have at least two axes, got shape {list(values.shape)}"
        )
    groups = values.shape[:-1]
    return {place: set(values[place].tolist()) for place in np.ndindex(*groups)}, groups


def _combined(who: str, operation: str, a: _Sets, b: _Sets, dtype: Any) -> tuple[Array, ...]:
    if a[1] != b[1]:
        raise InvalidArgumentError(
            f"{who}: both must have the same leading axes, got {list(a[1])} and {list(b[1])}"
        )
    combine = _OPERATIONS[operation.lower()]
    nothing: set[Any] = set()
    places: list[tuple[int, ...]] = []
    values: list[Any] = []
    widest = 0
    for group in product(*map(range, a[1])) if b[0] or a[0] else ():
        found = sorted(combine(a[0].get(group, nothing), b[0].get(group, nothing)))
        places.extend((*group, at) for at in range(len(found)))
        values.extend(found)
        widest = max(widest, len(found))
    array = np.empty(len(values), dtype)
    array[:] = values
    indices = np.array(places, np.int64).reshape(len(places), len(a[1]) + 1)
    return indices, array, np.array([*a[1], widest], np.int64)


def _infer_result(call: InferCall) -> tuple[Shape, ...]:
    ranks = [_rank_of_set(call, arg.name) for arg in call.op.inputs]
    rank = next((found for found in ranks if found is not None), None)
    return Shape([None, rank]), Shape([None]), Shape([rank])


def _rank_of_set(call: InferCall, name: str) -> int | None:
    index = [arg.name for arg in call.op.inputs].index(name)
    if name.endswith("_shape"):
        return rank_of(call, index)
    return None if "_" in name else call.spec(index).shape.rank


def _register(name: str, inputs: str, kernel: Any) -> OpDef:
    return define(
        name=name,
        signature=f"{inputs} -> result_indices: int64, result_values: T, result_shape: int64",
        types={"T": _TYPES},
        attrs={"set_operation": attr("string"), "validate_indices": attr("bool", default=True)},
        infer=_infer_result,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
    )


def _dense_dense(
    set1: Array, set2: Array, *, set_operation: str, validate_indices: bool
) -> tuple[Array, ...]:
    del validate_indices
    who = "DenseToDenseSetOperation"
    return _combined(who, set_operation, _dense_sets(who, set1), _dense_sets(who, set2), set1.dtype)


_TYPES = frozenset(
    {
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.string,
    }
)


DENSE_TO_DENSE = _register("DenseToDenseSetOperation", "set1: T, set2: T", _dense_dense)


def _sparse_sets(
    who: str, indices: Array, values: Array, shape: Array, validate: bool, least: int = 2
) -> _Sets:
    check_parts(who, indices, values, shape)
    if len(shape) < least:
        raise InvalidArgumentError(
            f"{who}: a sparse set must have at least two axes, got shape {shape.tolist()}"
        )
    check_inside(who, indices, shape.tolist())
    if validate and (order_of(indices) != np.arange(len(indices))).any():
        raise InvalidArgumentError(
            f"{who}: indices of a sparse set are out of order: they must be in row-major order\n"
            "  Try: sparse.reorder"
        )
    found: dict[tuple[int, ...], set[Any]] = {}
    for row, value in zip(indices[:, :-1].tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(row), set()).add(value)
    return found, tuple(shape[:-1].tolist())


def _dense_sparse(
    set1: Array,
    set2_indices: Array,
    set2_values: Array,
    set2_shape: Array,
    *,
    set_operation: str,
    validate_indices: bool,
) -> tuple[Array, ...]:
    who = "DenseToSparseSetOperation"
    second = _sparse_sets(who, set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(who, set_operation, _dense_sets(who, set1), second, set1.dtype)


DENSE_TO_SPARSE = _register(
    "DenseToSparseSetOperation",
    "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64",
    _dense_sparse,
)


def _sparse_sparse(
    set1_indices: Array,
    set1_values: Array,
    set1_shape: Array,
    set2_indices: Array,
    set2_values: Array,
    set2_shape: Array,
    *,
    set_operation: str,
    validate_indices: bool,
) -> tuple[Array, ...]:
    who = "SparseToSparseSetOperation"
    first = _sparse_sets(who, set1_indices, set1_values, set1_shape, validate_indices)
    second = _sparse_sets(who, set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(who, set_operation, first, second, set1_values.dtype)


SPARSE_TO_SPARSE = _register(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, "
    "set2_indices: int64, set2_values: T, set2_shape: int64",
    _sparse_sparse,
)


def _size_kernel(
    set_indices: Array, set_values: Array, set_shape: Array, *, validate_indices: bool
) -> Array:
    found, groups = _sparse_sets(
        "SetSize", set_indices, set_values, set_shape, validate_indices, least=1
    )
    out = np.zeros(groups, np.int32)
    for place, members in found.items():
        out[place] = len(members)
    return out


def _infer_size(call: InferCall) -> Shape:
    sizes = call.shape_constant(2)
    return Shape(None) if sizes.rank is None else sizes[:-1]


SET_SIZE = define(
    name="SetSize",
    signature="set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    types={"T": _TYPES},
    attrs={"validate_indices": attr("bool", default=True)},
    infer=_infer_size,
    kernel=_size_kernel,
    gradient=NOT_DIFFERENTIABLE,
)

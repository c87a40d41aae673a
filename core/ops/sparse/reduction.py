"""Sums and maxima over axes: SparseReduceSum, SparseReduceMax, and their sparse results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, NUMBERS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, gathering, reshaping
from pinnace.ops.array import shapes as shape_ops
from pinnace.ops.math import arithmetic, comparison, division, ranges, reduction
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, OpDef, attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import (
    check_inside,
    check_parts,
    numbers,
    rank_of,
    row_starts,
    split_axes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_REAL = NUMBERS - COMPLEX


def _groups(
    who: str, ufunc: np.ufunc, indices: Array, values: Array, shape: Array, axes: Array
) -> tuple[Array, Array, list[int], list[int]]:
    """The kept indices of each group with values, and the group's result."""
    check_parts(who, indices, values, shape)
    check_inside(who, indices, shape.tolist())
    if axes.ndim > 1:
        raise InvalidArgumentError(
            f"{who}: reduction_axes must be a scalar or a vector, got shape {list(axes.shape)}"
        )
    gone, kept = split_axes(len(shape), axes, who)
    own = indices[:, kept]
    keys = numbers(own, [int(shape[axis]) for axis in kept])
    order = np.argsort(keys, kind="stable")
    starts, _ = row_starts(keys[order])
    found = ufunc.reduceat(values[order], starts) if len(starts) else values[:0]
    return own[order][starts], found.astype(values.dtype, copy=False), gone, kept


def _dense_kernel(who: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def kernel(
        input_indices: Array,
        input_values: Array,
        input_shape: Array,
        reduction_axes: Array,
        *,
        keep_dims: bool,
    ) -> Array:
        places, found, gone, kept = _groups(
            who, ufunc, input_indices, input_values, input_shape, reduction_axes
        )
        out = np.zeros([int(input_shape[axis]) for axis in kept], input_values.dtype)
        if len(found):
            out[tuple(places.T)] = found if kept else found[0]
        if keep_dims:
            out = out.reshape([1 if axis in gone else int(n) for axis, n in enumerate(input_shape)])
        return out

    return kernel


def _sparse_kernel(who: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def kernel(
        input_indices: Array,
        input_values: Array,
        input_shape: Array,
        reduction_axes: Array,
        *,
        keep_dims: bool,
    ) -> tuple[Array, Array, Array]:
        places, found, gone, kept = _groups(
            who, ufunc, input_indices, input_values, input_shape, reduction_axes
        )
        if not keep_dims:
            return places, found, input_shape[kept]
        wide = np.zeros((len(places), len(input_shape)), np.int64)
        wide[:, kept] = places
        sizes = input_shape.copy()
        sizes[gone] = 1
        return wide, found, sizes

    return kernel


def _infer_dense(call: InferCall) -> Shape:
    rank, axes = rank_of(call, 2), call.constant(3)
    if rank is None or axes is None:
        return Shape([None] * rank) if rank is not None and call.attrs["keep_dims"] else Shape(None)
    sizes = call.shape_constant(2)
    gone, kept = split_axes(rank, axes, call.op.name)
    if call.attrs["keep_dims"]:
        return Shape([1 if axis in gone else sizes[axis] for axis in range(rank)])
    return Shape([sizes[axis] for axis in kept])


def _infer_sparse(call: InferCall) -> tuple[Shape, ...]:
    rank, axes = rank_of(call, 2), call.constant(3)
    left = rank
    if rank is not None and not call.attrs["keep_dims"]:
        left = None if axes is None else len(split_axes(rank, axes, call.op.name)[1])
    return Shape([None, left]), Shape([None]), Shape([left])


def _reduced(
    name: str, ufunc: np.ufunc, types: frozenset[Any], gradient: Any, sparse: bool
) -> OpDef:
    outputs = (
        "output_indices: int64, output_values: T, output_shape: int64" if sparse else "output: T"
    )
    return define(
        name=name,
        signature=(
            "input_indices: int64, input_values: T, input_shape: int64, "
            f"reduction_axes: int32 -> {outputs}"
        ),
        types={"T": types},
        attrs={"keep_dims": attr("bool", default=False)},
        infer=_infer_sparse if sparse else _infer_dense,
        kernel=(_sparse_kernel if sparse else _dense_kernel)(name, ufunc),
        gradient=gradient,
    )


def _kept_places(call: OpCall) -> tuple[Tensor, Tensor, Tensor]:
    """The index of each value in the result with all axes kept, its sizes, and kept axes."""
    indices, _, shape, axes = call.inputs
    rank = shape_ops.size(shape)
    everything = ranges.range(rank)
    wanted = division.floormod(reshaping.reshape(axes, [-1]), rank)
    hit = reduction.reduce_any(
        comparison.equal(reshaping.expand_dims(everything, 1), reshaping.expand_dims(wanted, 0)), 1
    )
    kept = casting.cast(hit, "int64")
    inverse = arithmetic.subtract(np.int64(1), kept)
    sizes = arithmetic.add(arithmetic.multiply(shape, inverse), kept)
    return arithmetic.multiply(indices, inverse), sizes, kept


def _sum_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    places, sizes, _ = _kept_places(call)
    return None, gathering.gather_nd(reshaping.reshape(dy, sizes), places), None, None


SPARSE_REDUCE_SUM = _reduced("SparseReduceSum", np.add, NUMBERS, _sum_gradient, False)
SPARSE_REDUCE_MAX = _reduced("SparseReduceMax", np.maximum, _REAL, NO_GRADIENT_DEFINED, False)
SPARSE_REDUCE_SUM_SPARSE = _reduced(
    "SparseReduceSumSparse", np.add, NUMBERS, NO_GRADIENT_DEFINED, True
)
SPARSE_REDUCE_MAX_SPARSE = _reduced(
    "SparseReduceMaxSparse", np.maximum, _REAL, NO_GRADIENT_DEFINED, True
)

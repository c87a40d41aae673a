"""Sums, products and extremes with sparse tensors, and their softmax.

SparseAdd, SparseTensorDenseAdd, SparseDenseCwiseAdd/Mul/Div, SparseSparseMaximum/Minimum,
SparseSoftmax.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, NUMBERS, bfloat16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import gathering, scattering, shapes
from pinnace.ops.array import reshaping as reshaping
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, division, reduction
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import (
    check_inside,
    check_parts,
    count_of,
    numbers,
    order_of,
    rank_of,
    row_starts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_REAL = NUMBERS - COMPLEX


def _both(
    who: str, a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array, Array]:
    """The sorted union of two index sets, and each side's values there (0 where missing)."""
    check_parts(who, *a)
    check_parts(who, *b)
    if a[2].tolist() != b[2].tolist():
        raise InvalidArgumentError(
            f"{who}: shapes must be equal, got {a[2].tolist()} and {b[2].tolist()}"
        )
    shape = a[2].tolist()
    check_inside(who, a[0], shape)
    check_inside(who, b[0], shape)
    joined = np.concatenate((a[0], b[0]))
    keys, first, back = np.unique(numbers(joined, shape), return_index=True, return_inverse=True)
    back = back.reshape(-1)
    left = np.zeros(len(keys), a[1].dtype)
    right = np.zeros(len(keys), b[1].dtype)
    left[back[: len(a[1])]] = a[1]
    right[back[len(a[1]) :]] = b[1]
    return joined[first], left, right, back


def _add_kernel(
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
    thresh: Array,
) -> tuple[Array, Array, Array]:
    if thresh.ndim:
        raise InvalidArgumentError(
            f"SparseAdd: thresh must be a scalar, got shape {list(thresh.shape)}"
        )
    indices, left, right, _ = _both(
        "SparseAdd", (a_indices, a_values, a_shape), (b_indices, b_values, b_shape)
    )
    total = left + right
    kept = np.abs(total) >= thresh
    return indices[kept], total[kept], a_shape


def _infer_add(call: InferCall) -> tuple[Shape, ...]:
    rank = rank_of(call, 2)
    return Shape([None, rank]), Shape([None]), Shape([rank])


def _add_gradient(call: OpCall, _: Any, dy: Tensor, __: Any) -> tuple[Any, ...]:
    a, b = call.inputs[0], call.inputs[3]
    da, db = execute(SPARSE_ADD_GRAD, dy, a, b, call.outputs[0])
    return None, da, None, None, db, None, None


SPARSE_ADD = define(
    name="SparseAdd",
    signature=(
        "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
        "b_shape: int64, thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64"
    ),
    types={"T": NUMBERS, "Treal": _REAL},
    infer=_infer_add,
    kernel=_add_kernel,
    gradient=_add_gradient,
)


def _extreme_gradient(call: OpCall, _: Any, dy: Tensor) -> tuple[Any, ...]:
    a, a_values, shape, b, b_values, _shape = call.inputs
    da, db = execute(SPARSE_ADD_GRAD, dy, a, b, call.outputs[0])
    # The winner follows from the values at the joint indices; a missing value counts as 0.
    winners = call.outputs[1]
    mine, theirs = execute(SPARSE_ADD_GRAD, winners, a, b, call.outputs[0])
    from pinnace.ops.array import casting
    from pinnace.ops.math import comparison

    won = casting.cast(comparison.equal(a_values, mine), dy.dtype)
    lost = casting.cast(comparison.equal(b_values, theirs), dy.dtype)
    del shape
    return (None, arithmetic.multiply(da, won), None, None, arithmetic.multiply(db, lost), None)


def _add_grad_kernel(
    backprop_val_grad: Array, a_indices: Array, b_indices: Array, sum_indices: Array
) -> tuple[Array, Array]:
    places = (a_indices, b_indices, sum_indices)
    same = len({one.shape[1:] for one in places}) == 1 and all(one.ndim == 2 for one in places)
    if not same or backprop_val_grad.shape != sum_indices.shape[:1]:
        raise InvalidArgumentError(
            "SparseAddGrad: backprop_val_grad must be a vector, the indices matrices of one width, "
            "and sum_indices have a row per entry of it, got shapes "
            f"{list(backprop_val_grad.shape)}, {[list(one.shape) for one in places]}"
        )
    at = {tuple(row): place for place, row in enumerate(sum_indices.tolist())}

    def taken(indices: Array) -> Array:
        out = np.zeros(len(indices), backprop_val_grad.dtype)
        for place, row in enumerate(indices.tolist()):
            source = at.get(tuple(row))
            if source is not None:
                out[place] = backprop_val_grad[source]
        return out

    return taken(a_indices), taken(b_indices)


SPARSE_ADD_GRAD = define(
    name="SparseAddGrad",
    signature=(
        "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 -> "
        "a_val_grad: T, b_val_grad: T"
    ),
    types={"T": NUMBERS},
    infer=lambda call: (Shape([count_of(call, 1)]), Shape([count_of(call, 2)])),
    kernel=_add_grad_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _dense_add_kernel(a_indices: Array, a_values: Array, a_shape: Array, b: Array) -> Array:
    check_parts("SparseTensorDenseAdd", a_indices, a_values, a_shape)
    if tuple(a_shape.tolist()) != b.shape:
        raise InvalidArgumentError(
            f"SparseTensorDenseAdd: shapes must be equal, got {a_shape.tolist()} and "
            f"{list(b.shape)}"
        )
    check_inside("SparseTensorDenseAdd", a_indices, b.shape)
    out = b.copy()
    np.add.at(out.reshape(-1), numbers(a_indices, b.shape), a_values)
    return out


def _dense_add_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return None, gathering.gather_nd(dy, call.inputs[0]), None, dy


SPARSE_TENSOR_DENSE_ADD = define(
    name="SparseTensorDenseAdd",
    signature="a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    types={"T": NUMBERS, "Tindices": INDEX},
    infer=lambda call: call.spec(3).shape,
    kernel=_dense_add_kernel,
    gradient=_dense_add_gradient,
)


def _spread(who: str, dense: Array, shape: Array) -> Array:
    """`dense` broadcast to the sparse shape; the reverse is not allowed."""
    try:
        return np.broadcast_to(dense, tuple(shape.tolist()))
    except ValueError:
        raise InvalidArgumentError(
            f"{who}: dense must broadcast to the shape of the sparse tensor {shape.tolist()}, got "
            f"{list(dense.shape)}"
        ) from None


def _cwise(name: str, function: Callable[..., Any], gradient: Any) -> OpDef:
    def kernel(sp_indices: Array, sp_values: Array, sp_shape: Array, dense: Array) -> Array:
        check_parts(name, sp_indices, sp_values, sp_shape)
        spread = _spread(name, dense, sp_shape)
        check_inside(name, sp_indices, spread.shape)
        return np.asarray(function(sp_values, spread[tuple(sp_indices.T)]), sp_values.dtype)

    return define(
        name=name,
        signature="sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        types={"T": NUMBERS},
        infer=lambda call: Shape([count_of(call, 0)]),
        kernel=kernel,
        gradient=gradient,
    )


def _picked(call: OpCall) -> tuple[Tensor, Tensor, Any]:
    """The dense operand at each value's index; the flat index there; its shape."""
    indices, _, _, dense = call.inputs
    rank = dense.shape.rank
    sizes = shapes.shape(dense, out_type="int64")
    # Axes that `dense` lacks, or has with size 1, are broadcast.
    own = indices[:, -rank:] if rank else indices[:, :0]
    places = division.floormod(own, sizes) if rank else own
    return gathering.gather_nd(dense, places), places, sizes


def _cwise_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    values = call.inputs[1]
    factor, places, sizes = _picked(call)
    if call.op.name == "SparseDenseCwiseMul":
        d_values, d_picked = arithmetic.multiply(dy, factor), arithmetic.multiply(dy, values)
    elif call.op.name == "SparseDenseCwiseDiv":
        d_values = division.divide(dy, factor)
        squares = arithmetic.multiply(factor, factor)
        d_picked = arithmetic.negative(division.divide(arithmetic.multiply(dy, values), squares))
    else:
        d_values = d_picked = dy
    if call.inputs[3].shape.rank == 0:
        return None, d_values, None, reduction.reduce_sum(d_picked)
    return None, d_values, None, scattering.scatter_nd(places, d_picked, sizes)


SPARSE_DENSE_CWISE_ADD = _cwise("SparseDenseCwiseAdd", np.add, _cwise_gradient)
SPARSE_DENSE_CWISE_MUL = _cwise("SparseDenseCwiseMul", np.multiply, _cwise_gradient)


def _divided(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        if not y.all():
            raise InvalidArgumentError("SparseDenseCwiseDiv: integer division by zero")
        quotient = np.abs(x) // np.abs(y)
        return np.where((x < 0) != (y < 0), -quotient, quotient)
    return np.asarray(np.divide(x, y))


SPARSE_DENSE_CWISE_DIV = _cwise("SparseDenseCwiseDiv", _divided, _cwise_gradient)


def _extreme(name: str, function: Callable[..., Any], types: frozenset[Any]) -> OpDef:
    def kernel(
        a_indices: Array,
        a_values: Array,
        a_shape: Array,
        b_indices: Array,
        b_values: Array,
        b_shape: Array,
    ) -> tuple[Array, Array]:
        indices, left, right, _ = _both(
            name, (a_indices, a_values, a_shape), (b_indices, b_values, b_shape)
        )
        return indices, function(left, right)

    return define(
        name=name,
        signature=(
            "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
            "b_shape: int64 -> output_indices: int64, output_values: T"
        ),
        types={"T": types},
        infer=lambda call: (Shape([None, rank_of(call, 2)]), Shape([None])),
        kernel=kernel,
        gradient=_extreme_gradient,
    )


SPARSE_SPARSE_MAXIMUM = _extreme("SparseSparseMaximum", np.maximum, _REAL)
SPARSE_SPARSE_MINIMUM = _extreme("SparseSparseMinimum", np.minimum, _REAL)


def _softmax_kernel(sp_indices: Array, sp_values: Array, sp_shape: Array) -> Array:
    check_parts("SparseSoftmax", sp_indices, sp_values, sp_shape)
    if len(sp_shape) < 2:
        raise InvalidArgumentError(
            f"SparseSoftmax: sp_shape must have at least two axes, got {sp_shape.tolist()}"
        )
    check_inside("SparseSoftmax", sp_indices, sp_shape.tolist())
    order = order_of(sp_indices)
    rows = numbers(sp_indices[:, :-1], sp_shape[:-1].tolist())[order]
    starts, ends = row_starts(rows)
    out = np.empty_like(sp_values)
    if len(starts):
        # float32 for half precision: sums of many small terms lose too much in it.
        wide = np.float32 if sp_values.dtype.itemsize < 4 else sp_values.dtype
        values = sp_values[order].astype(wide)
        lengths = ends - starts
        exps = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), lengths))
        sums = np.repeat(np.add.reduceat(exps, starts), lengths)
        out[order] = (exps / sums).astype(sp_values.dtype)
    return out


def _softmax_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    from pinnace.ops.sparse.reduction import SPARSE_REDUCE_SUM

    indices, _, shape = call.inputs
    y = call.outputs[0]
    product = arithmetic.multiply(dy, y)
    rank = indices.shape[-1]
    axes = np.array([-1], np.int32) if rank is None else np.array([rank - 1], np.int32)
    sums = execute(SPARSE_REDUCE_SUM, indices, product, shape, axes)
    mine = gathering.gather_nd(sums, indices[:, :-1])
    return None, arithmetic.multiply(arithmetic.subtract(dy, mine), y), None


SPARSE_SOFTMAX = define(
    name="SparseSoftmax",
    signature="sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    types={"T": FLOATS - {bfloat16}},
    infer=lambda call: Shape([count_of(call, 0, 1)]),
    kernel=_softmax_kernel,
    gradient=_softmax_gradient,
)

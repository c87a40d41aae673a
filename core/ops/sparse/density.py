"""Sparse components to dense tensors: SparseToDense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import ANY, INDEX
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import gathering, reshaping
from pinnace.ops.math import arithmetic, reduction
from pinnace.ops.opdef import attr
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, numbers

if TYPE_CHECKING:
    from typing import Any

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_WHO = "SparseToDense"


def _kernel(
    sparse_indices: Array,
    output_shape: Array,
    sparse_values: Array,
    default_value: Array,
    *,
    validate_indices: bool,
) -> Array:
    shape = tuple(output_shape.tolist())
    indices = sparse_indices
    if indices.ndim < 2:  # one index, or one per value, into a vector
        indices = indices.reshape(-1, 1)
    if indices.ndim != 2 or indices.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"{_WHO}: sparse_indices must be [values, {len(shape)}], got {list(indices.shape)}"
        )
    if sparse_values.ndim and sparse_values.shape != (len(indices),):
        raise InvalidArgumentError(
            f"{_WHO}: sparse_values must be a scalar or [{len(indices)}], one per index, got "
            f"{list(sparse_values.shape)}"
        )
    check_inside(_WHO, indices, shape)
    places = numbers(indices, shape)
    if validate_indices:
        steps = places[1:] - places[:-1]
        wrong = np.flatnonzero(steps <= 0)
        if len(wrong):
            at = int(wrong[0]) + 1
            how = "is repeated" if steps[wrong[0]] == 0 else "is out of order"
            raise InvalidArgumentError(
                f"{_WHO}: indices[{at}] = {indices[at].tolist()} {how}\n"
                "  Try: sparse.reorder, or validate_indices=False"
            )
    out = np.empty(shape, sparse_values.dtype)
    out[...] = default_value
    out.reshape(-1)[places] = sparse_values
    return out


def _infer(call: InferCall) -> Shape:
    if call.spec(3).shape.rank not in {0, None}:
        call.fail("default_value must be a scalar")
    return call.shape_constant(1)


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    indices, _, values, _ = call.inputs
    rank = indices.shape.rank
    if rank == 0:
        indices = reshaping.reshape(indices, [1, 1])
    elif rank == 1:
        indices = reshaping.expand_dims(indices, -1)
    rows = gathering.gather_nd(dy, indices)
    d_default = arithmetic.subtract(reduction.reduce_sum(dy), reduction.reduce_sum(rows))
    if values.shape.rank == 0:
        rows = reduction.reduce_sum(rows)
    return None, None, rows, d_default


SPARSE_TO_DENSE = define(
    name=_WHO,
    signature=(
        "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
        "default_value: T -> dense: T"
    ),
    types={"Tindices": INDEX, "T": ANY},
    attrs={"validate_indices": attr("bool", default=True)},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

"""A default value for each empty row: SparseFillEmptyRows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NO_GRADIENT_DEFINED
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, count_of, rank_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_WHO = "SparseFillEmptyRows"


def _kernel(
    indices: Array, values: Array, dense_shape: Array, default_value: Array
) -> tuple[Array, Array, Array, Array]:
    check_parts(_WHO, indices, values, dense_shape)
    if not len(dense_shape):
        raise InvalidArgumentError(f"{_WHO}: dense_shape must have at least one axis, got none")
    check_inside(_WHO, indices, dense_shape.tolist())
    count = int(dense_shape[0])
    empty = np.bincount(indices[:, 0], minlength=count) == 0
    missing = np.flatnonzero(empty)
    added = np.zeros((len(missing), indices.shape[1]), np.int64)
    added[:, 0] = missing
    joined = np.concatenate((indices, added))
    filled = np.concatenate((values, np.full(len(missing), default_value, values.dtype)))
    # A stable sort by rows keeps the order within each row.
    order = np.argsort(joined[:, 0], kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return joined[order], filled[order], empty, back[: len(values)]


def _infer(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(3).shape.rank not in {0, None}:
        call.fail("default_value must be a scalar")
    sizes = call.shape_constant(2)
    return (
        Shape([None, rank_of(call, 2)]),
        Shape([None]),
        Shape([sizes[0] if sizes.rank else None]),
        Shape([count_of(call, 0, 1)]),
    )


def _gradient(call: OpCall, _: Any, dy: Tensor, *__: Any) -> tuple[Any, ...]:
    d_values, d_default = execute(SPARSE_FILL_EMPTY_ROWS_GRAD, call.outputs[3], dy)
    return None, d_values, None, d_default


SPARSE_FILL_EMPTY_ROWS = define(
    name=_WHO,
    signature=(
        "indices: int64, values: T, dense_shape: int64, default_value: T -> "
        "output_indices: int64, output_values: T, empty_row_indicator: bool, "
        "reverse_index_map: int64"
    ),
    types={"T": ANY},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)


def _grad_kernel(reverse_index_map: Array, grad_values: Array) -> tuple[Array, Array]:
    if len(reverse_index_map) and not (
        reverse_index_map.min() >= 0 and reverse_index_map.max() < len(grad_values)
    ):
        raise InvalidArgumentError(
            f"{_WHO}Grad: reverse_index_map must be in [0, {len(grad_values)})"
        )
    rest = np.ones(len(grad_values), np.bool_)
    rest[reverse_index_map] = False
    return grad_values[reverse_index_map], grad_values[rest].sum(dtype=grad_values.dtype)


SPARSE_FILL_EMPTY_ROWS_GRAD = define(
    name="SparseFillEmptyRowsGrad",
    signature="reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    types={"T": ANY},
    infer=lambda call: (Shape([count_of(call, 0)]), Shape(())),
    kernel=_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

"""A default value for each empty row: RaggedFillEmptyRows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_all
from pinnace.ops.opdef import NO_GRADIENT_DEFINED
from pinnace.ops.registry import define
from pinnace.ops.sparse import filling

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall, OpCall

_OP = "RaggedFillEmptyRows"


def ragged_fill_empty_rows(
    value_rowids: TensorLike,
    values: TensorLike,
    nrows: TensorLike,
    default_value: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The values of a ragged tensor, with one added to each empty row.

    Args:
        value_rowids: [n], int64: the row of each value.
        values: [n], any dtype.
        nrows: how many rows there are, an int64 scalar.
        default_value: the value of an empty row, a scalar of the dtype of `values`.
        name: name of the node while tracing.

    Returns:
        output_value_rowids: [m], int64, row by row; output_values: [m]; empty_row_indicator:
        [nrows], bool; reverse_index_map: [n], int64, where each value is in the output.

    Raises:
        InvalidArgumentError: `value_rowids` is not as long as `values`, or a row is not in
            [0, nrows).
    """
    return execute_all(
        RAGGED_FILL_EMPTY_ROWS,
        convert_to_tensor(value_rowids, int64),
        values,
        convert_to_tensor(nrows, int64),
        default_value,
        name=name,
    )


def ragged_fill_empty_rows_grad(
    reverse_index_map: TensorLike, grad_values: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The gradients of `ragged_fill_empty_rows`.

    Args:
        reverse_index_map: [n], int64, as that gave it.
        grad_values: [m], the gradient of its output_values.
        name: name of the node while tracing.

    Returns:
        d_values: [n], and d_default_value: a scalar, dtype of `grad_values`.
    """
    return execute_all(
        RAGGED_FILL_EMPTY_ROWS_GRAD,
        convert_to_tensor(reverse_index_map, int64),
        grad_values,
        name=name,
    )


def _kernel(
    value_rowids: Array, values: Array, nrows: Array, default_value: Array
) -> tuple[Array, Array, Array, Array]:
    if len(value_rowids) != len(values):
        raise InvalidArgumentError(
            f"{_OP}: value_rowids and values must be of one length, got {len(value_rowids)} and "
            f"{len(values)}"
        )
    count = int(nrows)
    outside = (value_rowids < 0) | (value_rowids >= count)
    if outside.any():
        raise InvalidArgumentError(
            f"{_OP}: value_rowids must be in [0, {count}), got {value_rowids[outside][0]}"
        )
    fill = filling.SPARSE_FILL_EMPTY_ROWS.kernel
    assert fill is not None  # noqa: S101 (it has one)
    places, filled, empty, back = fill(
        value_rowids.reshape(-1, 1), values, np.array([count], np.int64), default_value
    )
    return places[:, 0], filled, empty, back


def _infer(call: InferCall) -> tuple[Shape, ...]:
    for index, rank in enumerate((1, 1, 0, 0)):
        if call.spec(index).shape.rank not in {None, rank}:
            what = "a vector" if rank else "a scalar"
            call.fail(f"{call.op.inputs[index].name} must be {what}")
    nrows = call.constant(2)
    rows, values = call.spec(0).shape, call.spec(1).shape
    if not rows.is_compatible_with(values):
        call.fail("value_rowids and values must be of one length")
    length = rows.merge_with(values)
    return (
        Shape([None]),
        Shape([None]),
        Shape([None if nrows is None else int(nrows)]),
        Shape([None]) if length.rank is None else length,
    )


def _gradient(call: OpCall, _: Any, dy: Tensor, *__: Any) -> tuple[Any, ...]:
    d_values, d_default = execute(RAGGED_FILL_EMPTY_ROWS_GRAD, call.outputs[3], dy)
    return None, d_values, None, d_default


RAGGED_FILL_EMPTY_ROWS = define(
    name=_OP,
    signature=(
        "value_rowids: int64, values: T, nrows: int64, default_value: T -> "
        "output_value_rowids: int64, output_values: T, empty_row_indicator: bool, "
        "reverse_index_map: int64"
    ),
    types={"T": ANY},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)


def _grad_kernel(reverse_index_map: Array, grad_values: Array) -> tuple[Array, Array]:
    back = reverse_index_map
    if len(back) and not (back.min() >= 0 and back.max() < len(grad_values)):
        raise InvalidArgumentError(
            f"{_OP}Grad: reverse_index_map must be in [0, {len(grad_values)})"
        )
    rest = np.ones(len(grad_values), np.bool_)
    rest[back] = False
    return grad_values[back], grad_values[rest].sum(dtype=grad_values.dtype)


def _infer_grad(call: InferCall) -> tuple[Shape, Shape]:
    for index in (0, 1):
        if call.spec(index).shape.rank not in {None, 1}:
            call.fail(f"{call.op.inputs[index].name} must be a vector")
    back = call.spec(0).shape
    return Shape([None]) if back.rank is None else back, Shape(())


RAGGED_FILL_EMPTY_ROWS_GRAD = define(
    name="RaggedFillEmptyRowsGrad",
    signature="reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    types={"T": ANY},
    infer=_infer_grad,
    kernel=_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)

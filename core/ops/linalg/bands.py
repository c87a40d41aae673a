"""Bands and diagonals of matrices: extraction, replacement, construction."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, COMPLEX, FLOATS, INDEX, NUMBERS, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.array import casting, constants, joining, reshaping
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.diagonals import (
    band_limits,
    longest,
    matrix_of_diagonals,
    matrix_size,
    put_diagonals,
    take_diagonals,
)
from pinnace.ops.math import reduction
from pinnace.ops.opdef import InferCall, OpCall, attr, typed
from pinnace.ops.registry import define

__all__ = [
    "band_part",
    "diag",
    "diag_part",
    "eye",
    "set_diag",
    "tensor_diag",
    "tensor_diag_part",
    "trace",
]

_ALIGN = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _infer_band(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank is not None and shape.rank < 2:
        call.fail("input must have at least two axes")
    return shape


def band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """Matrices with zeros outside of a band around the main diagonal.

    Args:
        input: [..., m, n].
        num_lower: how many diagonals below the main one stay; negative keeps all.
        num_upper: how many above it stay; negative keeps all.
        name: name of the node while tracing.
    """
    if not isinstance(num_lower, Operands) and not isinstance(num_upper, Operands):
        num_lower = convert_to_tensor(num_lower, dtype_hint=int64)
        num_upper = convert_to_tensor(num_upper, num_lower.dtype)
    return execute_one(MATRIX_BAND_PART, input, num_lower, num_upper, name=name)


def _band_kernel(input: Array, num_lower: Array, num_upper: Array) -> Array:
    rows, columns = input.shape[-2:]
    if num_lower > rows or num_upper > columns:
        raise InvalidArgumentError(
            f"MatrixBandPart: num_lower and num_upper must be at most {rows} and {columns}, "
            f"got {num_lower} and {num_upper}"
        )
    low = rows if num_lower < 0 else int(num_lower)
    high = columns if num_upper < 0 else int(num_upper)
    band = np.tri(rows, columns, high, dtype=bool)
    if low < rows:
        band &= ~np.tri(rows, columns, -low - 1, dtype=bool)
    return np.where(band, input, input.dtype.type(0))


def _infer_band_part(call: InferCall) -> Shape:
    shape = _infer_band(call)
    for index, name, axis in ((1, "num_lower", -2), (2, "num_upper", -1)):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{name} must be a scalar")
        width = call.constant(index)
        size = None if shape.rank is None else shape[axis]
        if width is not None and size is not None and width > size:
            call.fail(f"{name} must be at most {size}, got {width}")
    return shape


def _band_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return band_part(dy, call.inputs[1], call.inputs[2]), None, None


MATRIX_BAND_PART = define(
    name="MatrixBandPart",
    signature="input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    types={"T": NUMBERS | {dtypes.bool}, "Tindex": typed(INDEX, default=int64)},
    infer=_infer_band_part,
    kernel=_band_kernel,
    gradient=_band_gradient,
)


def _padding(value: TensorLike, like: Tensor) -> Tensor:
    if like.dtype.is_bool and isinstance(value, int):
        value = bool(value)
    return convert_to_tensor(value, like.dtype)


def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with these diagonals.

    Args:
        diagonal: [..., length], or [..., k₁ - k₀ + 1, longest] for several.
        name: name of the node while tracing.
        k: the diagonal, above the main one if positive; or a pair (k₀, k₁): those from k₀ to
            k₁.
        num_rows: -1 is as many as are needed.
        num_cols: -1 is as many as are needed.
        padding_value: the value elsewhere.
        align: alignment of shorter diagonals: of superdiagonals, then of subdiagonals.

    Returns:
        [..., num_rows, num_cols].
    """
    values = convert_to_tensor(diagonal)
    padding = _padding(padding_value, values)
    return execute_one(
        MATRIX_DIAG_V3, values, k, num_rows, num_cols, padding, align=align, name=name
    )


def _diag_kernel(
    diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array, *, align: str
) -> Array:
    return matrix_of_diagonals(diagonal, k, int(num_rows), int(num_cols), padding_value, align)


def _infer_diag(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("diagonal must have at least one axis")
    if call.spec(1).shape.rank not in {None, 0, 1}:
        call.fail("k must be a scalar or a vector")
    for index, name in ((2, "num_rows"), (3, "num_cols"), (4, "padding_value")):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{name} must be a scalar")
    k, rows, columns = (call.constant(index) for index in (1, 2, 3))
    if shape.rank is None or k is None:
        return Shape(None)
    low, high = band_limits(k)
    lead = shape[:-1] if low == high else shape[:-2]
    width = shape[-1]
    if rows is None or columns is None:
        return lead.concatenate(Shape([None, None]))
    if width is None:
        given = [None if n < 0 else int(n) for n in (rows, columns)]
        return lead.concatenate(Shape(given if None not in given else [None, None]))
    return lead.concatenate(Shape(list(matrix_size(width, low, high, int(rows), int(columns)))))


def _diag_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    # TensorFlow gives padding_value no gradient.
    part = diag_part(dy, k=call.inputs[1], align=call.attr("align"))
    return part, None, None, None, None


MATRIX_DIAG_V3 = define(
    name="MatrixDiagV3",
    signature=(
        "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T"
    ),
    types={"T": ANY_VALUE},
    attrs={"align": attr("string", default="RIGHT_LEFT", allowed=_ALIGN)},
    infer=_infer_diag,
    kernel=_diag_kernel,
    gradient=_diag_gradient,
)


def _diagonal_shape(matrix: Shape, k: Array) -> Shape:
    low, high = band_limits(k)
    count = [] if low == high else [high - low + 1]
    rows, columns = matrix[-2], matrix[-1]
    known = rows is not None and columns is not None
    return Shape([*count, max(longest(rows, columns, low, high), 0) if known else None])  # type: ignore[arg-type]  # known


@takes_composites()
def diag_part(
    input: TensorLike,
    name: str | None = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Diagonals of matrices: [..., length], or [..., k₁ - k₀ + 1, longest] for several.

    Args:
        input: [..., m, n].
        name: name of the node while tracing.
        k: the diagonal, above the main one if positive; or a pair (k₀, k₁): those from k₀ to
            k₁.
        padding_value: the value that fills the rows of shorter diagonals.
        align: alignment of shorter diagonals: of superdiagonals, then of subdiagonals.
    """
    matrices = convert_to_tensor(input)
    padding = _padding(padding_value, matrices)
    return execute_one(MATRIX_DIAG_PART_V3, matrices, k, padding, align=align, name=name)


def _part_kernel(input: Array, k: Array, padding_value: Array, *, align: str) -> Array:
    return take_diagonals(input, k, padding_value, align)


def _infer_part(call: InferCall) -> Shape:
    shape = _infer_band(call)
    if call.spec(1).shape.rank not in {None, 0, 1}:
        call.fail("k must be a scalar or a vector")
    k = call.constant(1)
    if shape.rank is None or k is None:
        return Shape(None)
    return shape[:-2].concatenate(_diagonal_shape(shape, k))


def _part_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    empty = constants.zeros_like(call.inputs[0])
    return set_diag(empty, dy, k=call.inputs[1], align=call.attr("align")), None, None


MATRIX_DIAG_PART_V3 = define(
    name="MatrixDiagPartV3",
    signature="input: T, k: int32, padding_value: T -> diagonal: T",
    types={"T": ANY_VALUE},
    attrs={"align": attr("string", default="RIGHT_LEFT", allowed=_ALIGN)},
    infer=_infer_part,
    kernel=_part_kernel,
    gradient=_part_gradient,
)


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = "set_diag",
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with their diagonals replaced; `diag_part` with this k and align returns them.

    Args:
        input: [..., m, n], any dtype.
        diagonal: [..., d], or [..., diagonals, d] for several; dtype of `input`.
        name: name of the node while tracing.
        k: offset of the diagonal, above the main one if positive; or [2], lowest and highest of a
            band.
        align: how shorter diagonals of a band lie in their row: superdiagonals, then subdiagonals,
            "LEFT" or "RIGHT".

    Returns:
        [..., m, n], dtype of `input`.

    Raises:
        InvalidArgumentError: `diagonal` does not have the shape that `k` asks for.
    """
    return execute_one(MATRIX_SET_DIAG_V3, input, diagonal, k, align=align, name=name)


def _set_kernel(input: Array, diagonal: Array, k: Array, *, align: str) -> Array:
    return put_diagonals(input, diagonal, k, align)


def _infer_set(call: InferCall) -> Shape:
    shape = _infer_band(call)
    if call.spec(2).shape.rank not in {None, 0, 1}:
        call.fail("k must be a scalar or a vector")
    k = call.constant(2)
    if k is not None and shape.rank is not None:
        wanted = shape[:-2].concatenate(_diagonal_shape(shape, k))
        if not wanted.is_compatible_with(call.spec(1).shape):
            call.fail(f"diagonal must have shape {wanted}")
    diagonal = call.spec(1).shape
    if k is None or not diagonal.rank:
        return shape
    low, high = band_limits(k)
    lead = diagonal[:-1] if low == high else diagonal[:-2]
    return shape.merge_with(lead.concatenate(Shape([None, None])))


def _set_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, diagonal, k = call.inputs
    rest = set_diag(dy, constants.zeros_like(diagonal), k=k, align=call.attr("align"))
    return rest, diag_part(dy, k=k, align=call.attr("align")), None


MATRIX_SET_DIAG_V3 = define(
    name="MatrixSetDiagV3",
    signature="input: T, diagonal: T, k: int32 -> output: T",
    types={"T": ANY_VALUE},
    attrs={"align": attr("string", default="RIGHT_LEFT", allowed=_ALIGN)},
    infer=_infer_set,
    kernel=_set_kernel,
    gradient=_set_gradient,
)


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape [..., ...] from one of shape [...], zero where the index halves differ.

    Args:
        diagonal: [...], a float or complex type, int32 or int64.
        name: name of the node while tracing.

    Returns:
        Twice the axes of `diagonal`, its dtype.
    """
    return execute_one(DIAG, diagonal, name=name)


def _tensor_diag_kernel(diagonal: Array) -> Array:
    return np.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


def _infer_tensor_diag(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("diagonal must have at least one axis")
    return shape.concatenate(shape)


def _tensor_diag_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (tensor_diag_part(dy),)


DIAG = define(
    name="Diag",
    signature="diagonal: T -> output: T",
    types={"T": FLOATS | COMPLEX | INDEX},
    infer=_infer_tensor_diag,
    kernel=_tensor_diag_kernel,
    gradient=_tensor_diag_gradient,
)


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The elements of shape [...] of a tensor [..., ...] where both halves of the index agree.

    Args:
        input: an even number of axes, both halves of equal sizes; a float or complex type, int32 or
            int64.
        name: name of the node while tracing.

    Returns:
        The first half of the axes, dtype of `input`.

    Raises:
        InvalidArgumentError: the halves differ.
    """
    return execute_one(DIAG_PART, input, name=name)


def _tensor_part_kernel(input: Array) -> Array:
    half = input.shape[: input.ndim // 2]
    if input.shape != half * 2:
        raise InvalidArgumentError(
            f"DiagPart: input must have a shape whose halves agree, got {list(input.shape)}"
        )
    size = int(np.prod(half, dtype=np.int64))
    return np.diagonal(input.reshape(size, size)).reshape(half).copy()


def _infer_tensor_part(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank is None:
        return Shape(None)
    half = shape.rank // 2
    if shape.rank % 2 or not shape.rank or not shape[:half].is_compatible_with(shape[half:]):
        call.fail("input must have a shape whose halves agree")
    return shape[:half].merge_with(shape[half:])


def _tensor_part_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (tensor_diag(dy),)


DIAG_PART = define(
    name="DiagPart",
    signature="input: T -> diagonal: T",
    types={"T": FLOATS | COMPLEX | INDEX},
    infer=_infer_tensor_part,
    kernel=_tensor_part_kernel,
    gradient=_tensor_part_gradient,
)


@takes_composites()
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sums of the main diagonals: [..., m, n] gives [...].

    Args:
        x: [..., m, n], a number type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return reduction.reduce_sum(diag_part(x), [-1], name=name)


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices.

    Args:
        num_rows: a scalar.
        num_columns: a scalar; None is `num_rows`.
        batch_shape: the axes before those of the matrix.
        dtype: dtype of the result.
        name: name of the node while tracing.

    Returns:
        [*batch_shape, num_rows, num_columns].
    """
    kind = dtypes.as_dtype(dtype)
    columns = num_rows if num_columns is None else num_columns
    batch = () if batch_shape is None else batch_shape
    sizes_of_batch = batch if isinstance(batch, (list, tuple)) else [batch]
    if not any(isinstance(n, Operands) for n in (num_rows, columns, *sizes_of_batch)):
        one = np.eye(int(num_rows), int(columns), dtype=kind.numpy)  # type: ignore[arg-type]
        lead: Any = Shape(batch).as_list()
        array = np.broadcast_to(one, (*lead, *one.shape))
        return constants.constant(array, kind, name=name)
    rows, cols = (
        casting.cast(convert_to_tensor(n, dtype_hint=int32), int32) for n in (num_rows, columns)
    )
    length = reduction.reduce_min(joining.stack([rows, cols]))
    sizes = reshaping.reshape(length, [1])
    if batch_shape is not None:
        sizes = joining.concat([convert_to_tensor(batch, dtype_hint=int32), sizes], 0)
    made = diag(constants.ones(sizes, kind), name, num_rows=rows, num_cols=cols)
    if made.shape.rank is not None:
        known = [None if isinstance(n, Operands) else int(n) for n in (num_rows, columns)]  # type: ignore[arg-type]
        made.set_shape([*[None] * (made.shape.rank - 2), *known])
    return made

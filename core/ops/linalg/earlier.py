"""Earlier versions of diagonal ops in older graphs: MatrixDiag and others, V1, V2.

V1 only supports the main diagonal; V2 aligns diagonals to the left, without an option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.shapes import Shape
from pinnace.ops.kernels.diagonals import matrix_of_diagonals, put_diagonals, take_diagonals
from pinnace.ops.linalg import bands
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall, OpDef

__all__: list[str] = []

_MAIN = np.zeros((), np.int32)
_LEFT = "LEFT_LEFT"


def _diag_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    k = call.inputs[1] if len(call.inputs) > 1 else 0
    return bands.diag_part(dy, k=k, align=_LEFT), *(None for _ in call.inputs[1:])


def _form(name: str, signature: str, infer: Any, kernel: Any, gradient: Any) -> OpDef:
    return define(
        name=name,
        signature=signature,
        types={"T": ANY_VALUE},
        infer=infer,
        kernel=kernel,
        gradient=gradient,
    )


def _diag_kernel(diagonal: Array) -> Array:
    nothing = np.zeros((), diagonal.dtype)
    return matrix_of_diagonals(diagonal, _MAIN, -1, -1, nothing, _LEFT)


def _infer_diag(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("diagonal must have at least one axis")
    return shape if shape.rank is None else shape.concatenate(Shape([shape[-1]]))


DIAG_V1 = _form("MatrixDiag", "diagonal: T -> output: T", _infer_diag, _diag_kernel, _diag_gradient)


def _diag_v2_kernel(
    diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array
) -> Array:
    return matrix_of_diagonals(diagonal, k, int(num_rows), int(num_cols), padding_value, _LEFT)


DIAG_V2 = _form(
    "MatrixDiagV2",
    "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T",
    bands.MATRIX_DIAG_V3.infer,
    _diag_v2_kernel,
    _diag_gradient,
)


def _part_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    k = call.inputs[1] if len(call.inputs) > 1 else 0
    empty = call.inputs[0] * 0
    return bands.set_diag(empty, dy, k=k, align=_LEFT), *(None for _ in call.inputs[1:])


def _part_kernel(input: Array) -> Array:
    return take_diagonals(input, _MAIN, np.zeros((), input.dtype), _LEFT)


def _infer_part(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank is None:
        return shape
    if shape.rank < 2:
        call.fail("input must have at least two axes")
    rows, columns = shape[-2], shape[-1]
    least = None if rows is None or columns is None else min(rows, columns)
    return shape[:-2].concatenate(Shape([least]))


PART_V1 = _form(
    "MatrixDiagPart", "input: T -> diagonal: T", _infer_part, _part_kernel, _part_gradient
)


def _part_v2_kernel(input: Array, k: Array, padding_value: Array) -> Array:
    return take_diagonals(input, k, padding_value, _LEFT)


PART_V2 = _form(
    "MatrixDiagPartV2",
    "input: T, k: int32, padding_value: T -> diagonal: T",
    bands.MATRIX_DIAG_PART_V3.infer,
    _part_v2_kernel,
    _part_gradient,
)


def _set_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    k = call.inputs[2] if len(call.inputs) > 2 else 0
    rest = bands.set_diag(dy, call.inputs[1] * 0, k=k, align=_LEFT)
    return rest, bands.diag_part(dy, k=k, align=_LEFT), *(None for _ in call.inputs[2:])


def _set_kernel(input: Array, diagonal: Array) -> Array:
    return put_diagonals(input, diagonal, _MAIN, _LEFT)


def _infer_set(call: InferCall) -> Shape:
    wanted = _infer_part(call)
    if not wanted.is_compatible_with(call.spec(1).shape):
        call.fail(f"diagonal must have shape {wanted}")
    shape, diagonal = call.spec(0).shape, call.spec(1).shape
    if not diagonal.rank:
        return shape
    return shape.merge_with(diagonal[:-1].concatenate(Shape([None, None])))


SET_V1 = _form(
    "MatrixSetDiag", "input: T, diagonal: T -> output: T", _infer_set, _set_kernel, _set_gradient
)


def _set_v2_kernel(input: Array, diagonal: Array, k: Array) -> Array:
    return put_diagonals(input, diagonal, k, _LEFT)


SET_V2 = _form(
    "MatrixSetDiagV2",
    "input: T, diagonal: T, k: int32 -> output: T",
    bands.MATRIX_SET_DIAG_V3.infer,
    _set_v2_kernel,
    _set_gradient,
)

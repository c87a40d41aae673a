"""Products of matrices with many zeros: SparseMatMul."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import bfloat16, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting
from pinnace.ops.math import products
from pinnace.ops.opdef import attr, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

__all__: list[str] = []

_OP = "SparseMatMul"


def _kernel(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    left = np.asarray(a.T if transpose_a else a, np.float32)
    right = np.asarray(b.T if transpose_b else b, np.float32)
    if left.shape[1] != right.shape[0]:
        raise InvalidArgumentError(
            f"{_OP}: columns of a must equal rows of b, got {left.shape[1]} and {right.shape[0]}"
        )
    return left @ right


def _infer(call: InferCall) -> Shape:
    a, b = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("a", a), ("b", b)):
        if shape.rank not in {None, 2}:
            call.fail(f"{name} must be a matrix, got {shape.rank} axes")
    a, b = (shape if shape.rank == 2 else Shape([None, None]) for shape in (a, b))
    m, k = (a[1], a[0]) if call.attrs["transpose_a"] else (a[0], a[1])
    rows, n = (b[1], b[0]) if call.attrs["transpose_b"] else (b[0], b[1])
    if k is not None and rows is not None and k != rows:
        call.fail(f"columns of a must equal rows of b, got {k} and {rows}")
    return Shape([m, n])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    a, b = (casting.cast(x, float32) for x in call.inputs)
    flip_a, flip_b = call.attr("transpose_a"), call.attr("transpose_b")
    times = products.matmul
    da = times(b, dy, flip_b, True) if flip_a else times(dy, b, False, not flip_b)
    db = times(dy, a, True, flip_a) if flip_b else times(a, dy, not flip_a, False)
    return casting.cast(da, call.inputs[0].dtype), casting.cast(db, call.inputs[1].dtype)


SPARSE_MAT_MUL = define(
    name=_OP,
    signature="a: Ta, b: Tb -> product: float32",
    types={
        "Ta": typed({float32, bfloat16}, default=float32),
        "Tb": typed({float32, bfloat16}, default=float32),
    },
    attrs={
        name: attr("bool", default=False)
        for name in ("transpose_a", "transpose_b", "a_is_sparse", "b_is_sparse")
    },
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

"""Common parts of matrix ops: types, shapes, the transpose, kernels that may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, float16, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import joining, permutations, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall

__all__ = ["adjoint", "matrix_transpose"]

MATRIX_TYPES = frozenset({float32, float64}) | COMPLEX
WIDE_TYPES = MATRIX_TYPES | {float16}


def matrix_transpose(
    a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Each matrix transposed: [..., m, n] gives [..., n, m].

    Args:
        a: [..., m, n].
        name: name of the node while tracing.
        conjugate: complex values are conjugated too.
    """
    x = convert_to_tensor(a)
    rank = x.shape.rank
    if rank is None:
        count = shapes.rank(x)
        order: Any = joining.concat(
            [ranges.range(count - 2), joining.stack([count - 1, count - 2])], 0
        )
    elif rank < 2:
        raise ValueError(f"matrix_transpose: a must have at least two axes, got {rank}")
    else:
        order = [*range(rank - 2), rank - 1, rank - 2]
    return permutations.transpose(x, order, conjugate=conjugate and x.dtype.is_complex, name=name)


@takes_composites()
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transpose of each matrix: [..., m, n] gives [..., n, m].

    Args:
        matrix: [..., m, n], any dtype.
        name: name of the node while tracing.

    Returns:
        [..., n, m], dtype of `matrix`.
    """
    return matrix_transpose(matrix, name, conjugate=True)


def matrix_shape(call: InferCall, index: int = 0) -> Shape:
    """The shape of an input with matrices."""
    shape = call.spec(index).shape
    if shape.rank is not None and shape.rank < 2:
        call.fail(f"{call.op.inputs[index].name} must have at least two axes")
    return shape


def square_shape(call: InferCall, index: int = 0) -> Shape:
    """The shape of an input of square matrices; a known side determines the other."""
    shape = matrix_shape(call, index)
    if shape.rank is None:
        return shape
    rows, columns = shape[-2], shape[-1]
    if rows is not None and columns is not None and rows != columns:
        call.fail(f"{call.op.inputs[index].name} must be square, got {rows} by {columns}")
    size = rows if columns is None else columns
    return shape[:-2].concatenate(Shape([size, size]))


def solved(
    name: str, problem: str, function: Callable[..., Any], *arrays: Array, **options: Any
) -> Any:
    """A LAPACK function's result (float16 in float32); InvalidArgumentError if it fails."""
    dtype = arrays[0].dtype
    half = dtype.itemsize == 2
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN are results
            result = function(*[x.astype(np.float32) if half else x for x in arrays], **options)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(f"{name}: {problem}\n  {dtype}{list(arrays[0].shape)}") from None
    return result.astype(dtype) if half else result

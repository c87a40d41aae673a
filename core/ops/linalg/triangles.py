"""LU decomposition, and solving with its factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, as_dtype, int32
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, gathering, sorting
from pinnace.ops.execute import execute_all
from pinnace.ops.linalg import bands, solving
from pinnace.ops.linalg.matrices import WIDE_TYPES, adjoint, matrix_shape
from pinnace.ops.math import products
from pinnace.ops.opdef import InferCall, OpCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve"]


def lu(
    input: TensorLike, output_idx_type: Any = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(lu, p): U on and above the diagonal, L below it with implied ones; input[p] = L U.

    Args:
        input: [..., n, n].
        output_idx_type: int32 or int64, of p.
        name: name of the node while tracing.

    Returns:
        [..., n, n] and [..., n].

    Raises:
        InvalidArgumentError: a matrix is singular.
    """
    return execute_all(LU, input, output_idx_type=as_dtype(output_idx_type), name=name)


_CHECKED = "shapes are checked always, values never"


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution x of `A x = rhs`, from the factors that `lu` returned for A.

    Args:
        lower_upper: [..., n, n].
        perm: [..., n].
        rhs: [..., n, m].
        validate_args: shapes are checked in any case.
        name: name of the node while tracing.
    """
    ignored("lu_solve", _CHECKED, False, validate_args=validate_args)
    factors = convert_to_tensor(lower_upper)
    ordered = _rows(convert_to_tensor(rhs, factors.dtype), convert_to_tensor(perm))
    lower, _ = _triangles(factors)
    middle = solving.triangular_solve(lower, ordered)
    return solving.triangular_solve(factors, middle, lower=False, name=name)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of A [..., n, n], from the factors that `lu` returned for it.

    Args:
        lower_upper: [..., n, n], both triangles in one matrix, as `lu` gives them.
        perm: [..., n], int32 or int64: the permutation of `lu`.
        validate_args: as for `lu_solve`.
        name: name of the node while tracing.

    Returns:
        [..., n, n], dtype of `lower_upper`.
    """
    factors = convert_to_tensor(lower_upper)
    one = bands.set_diag(
        constants.zeros_like(factors), constants.ones_like(bands.diag_part(factors))
    )
    return lu_solve(factors, perm, one, validate_args, name)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix A [..., n, n] with the factors that `lu` returned.

    Args:
        lower_upper: [..., n, n], both triangles in one matrix, as `lu` gives them.
        perm: [..., n], int32 or int64: the permutation of `lu`.
        validate_args: accepted.
        name: name of the node while tracing.

    Returns:
        [..., n, n], dtype of `lower_upper`.
    """
    ignored("lu_reconstruct", _CHECKED, False, validate_args=validate_args)
    factors, order = convert_to_tensor(lower_upper), convert_to_tensor(perm)
    whole = products.matmul(*_triangles(factors))
    return _rows(whole, sorting.argsort(order, axis=-1), name)


def _triangles(factors: Tensor) -> tuple[Tensor, Tensor]:
    lower = bands.band_part(factors, -1, 0)
    ones = constants.ones_like(bands.diag_part(factors))
    return bands.set_diag(lower, ones), bands.band_part(factors, 0, -1)


def _rows(x: Tensor, order: Tensor, name: str | None = None) -> Tensor:
    """The rows of each matrix, reordered."""
    batch = max((order.shape.rank or 1) - 1, 0)
    if batch and x.shape.rank == 2:
        return gathering.gather(x, order, axis=0, name=name)
    return gathering.gather(x, order, axis=batch, batch_dims=batch, name=name)


def _lu_kernel(input: Array, *, output_idx_type: Any) -> tuple[Array, Array]:
    half = input.dtype.itemsize == 2
    a = input.astype(np.float32) if half else input.copy()
    size = a.shape[-1]
    flat = a.reshape(int(np.prod(a.shape[:-2], dtype=np.int64)), size, size)
    order = np.tile(np.arange(size), (len(flat), 1))
    each = np.arange(len(flat))
    for column in range(size):
        pivot = column + np.argmax(np.abs(flat[:, column:, column]), axis=1)
        for rows in (flat, order):
            first, second = rows[each, column].copy(), rows[each, pivot].copy()
            rows[each, column], rows[each, pivot] = second, first
        if not flat[:, column, column].all():
            raise InvalidArgumentError(
                f"Lu: input must be invertible\n  input: {input.dtype}{list(input.shape)}"
            )
        below = flat[:, column + 1 :, column] / flat[:, column, None, column]
        flat[:, column + 1 :, column] = below
        flat[:, column + 1 :, column + 1 :] -= (
            below[:, :, None] * flat[:, column, None, column + 1 :]
        )
    p = order.reshape(input.shape[:-1]).astype(output_idx_type.numpy)
    return flat.reshape(input.shape).astype(input.dtype, copy=False), p


def _infer_lu(call: InferCall) -> tuple[Shape, Shape]:
    shape = matrix_shape(call)
    if shape.rank is None:
        return Shape(None), Shape(None)
    if None not in (shape[-1], shape[-2]) and shape[-1] != shape[-2]:
        call.fail(f"input must be square, got {shape[-2]} by {shape[-1]}")
    size = shape[-2] if shape[-1] is None else shape[-1]
    shape = shape[:-2].concatenate(Shape([size, size]))
    return shape, shape[:-1]


def _lu_gradient(call: OpCall, dlu: Tensor | None, _: Any) -> tuple[Tensor | None]:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2012)."""
    if dlu is None:
        return (None,)
    factors, order = call.outputs
    if factors.shape.rank is None:
        raise UnimplementedError("Lu: the gradient needs a tensor of known rank")
    lower, upper = _triangles(factors)
    # Only the entries that each factor determines count.
    strict = bands.band_part(dlu, -1, 0)
    strict = bands.set_diag(strict, constants.zeros_like(bands.diag_part(strict)))
    d_lower = bands.band_part(products.matmul(lower, strict, adjoint_a=True), -1, 0)
    d_lower = bands.set_diag(d_lower, constants.zeros_like(bands.diag_part(d_lower)))
    d_upper = bands.band_part(
        products.matmul(bands.band_part(dlu, 0, -1), upper, adjoint_b=True), 0, -1
    )
    # L⁻ᴴ (d_lower + d_upper) U⁻ᴴ, with the rows put back.
    left = solving.triangular_solve(lower, d_lower + d_upper, adjoint=True)
    both = adjoint(solving.triangular_solve(upper, adjoint(left), lower=False))
    return (_rows(both, sorting.argsort(order, axis=-1)),)


LU = define(
    name="Lu",
    signature="input: T -> lu: T, p: output_idx_type",
    types={"T": WIDE_TYPES, "output_idx_type": typed(INDEX, default=int32)},
    infer=_infer_lu,
    kernel=_lu_kernel,
    gradient=_lu_gradient,
)

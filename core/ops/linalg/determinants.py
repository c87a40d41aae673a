"""Determinants and their logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.shapes import Shape
from pinnace.ops import batch_rules
from pinnace.ops.array import constants, reshaping
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.linalg import bands, factorization, solving
from pinnace.ops.linalg.matrices import MATRIX_TYPES, WIDE_TYPES, solved, square_shape
from pinnace.ops.math import arithmetic, complexes, exponents, reduction
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = ["det", "logdet", "slogdet"]


def _as_matrices(x: Tensor) -> Tensor:
    return reshaping.expand_dims(reshaping.expand_dims(x, -1), -1)


@takes_composites()
def det(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinants of [..., n, n], of shape [...].

    Args:
        input: [..., n, n], float16, float32, float64 or a complex type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `input`.

    Raises:
        InvalidArgumentError: matrices are not square.
    """
    return execute_one(MATRIX_DETERMINANT, input, name=name)


def _infer(call: InferCall) -> Shape:
    shape = square_shape(call)
    return Shape(None) if shape.rank is None else shape[:-2]


def _det_kernel(input: Array) -> Array:
    found = solved("MatrixDeterminant", "input must be square", np.linalg.det, input)
    if not np.all(found):  # a product with zero, which is NaN if another factor is not finite
        found = np.where((found == 0) & ~np.isfinite(input).all((-2, -1)), np.nan, found)
    return np.asarray(found, input.dtype)


def _det_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    inverse = solving.inv(call.inputs[0], adjoint=True)
    return (_as_matrices(dy * complexes.conj(call.outputs[0])) * inverse,)


MATRIX_DETERMINANT = define(
    name="MatrixDeterminant",
    signature="input: T -> output: T",
    types={"T": WIDE_TYPES},
    infer=_infer,
    kernel=_det_kernel,
    gradient=_det_gradient,
    batch=batch_rules.AS_IT_IS,
)


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(sign, log |determinant|), without overflow.

    Args:
        input: [..., n, n], float32, float64 or a complex type.
        name: name of the node while tracing.

    Returns:
        Two tensors [...], dtype of `input`: the sign (of modulus 1), and the logarithm; 0 and -inf
        if singular.

    Raises:
        InvalidArgumentError: matrices are not square.
    """
    return execute_all(LOG_MATRIX_DETERMINANT, input, name=name)


def _infer_log(call: InferCall) -> tuple[Shape, Shape]:
    shape = _infer(call)
    return shape, shape


def _log_kernel(input: Array) -> tuple[Array, Array]:
    with np.errstate(invalid="ignore"):
        sign, log = np.linalg.slogdet(input)
    # LAPACK counts a NaN pivot as positive.
    sign = np.where(np.isnan(log), np.asarray(np.nan, input.dtype), sign)
    return np.asarray(sign, input.dtype), np.asarray(log, input.dtype)


def _log_gradient(call: OpCall, _: Any, dy: Tensor | None) -> tuple[Tensor | None]:
    if dy is None:
        return (constants.zeros_like(call.inputs[0]),)
    return (_as_matrices(dy) * solving.inv(call.inputs[0], adjoint=True),)


LOG_MATRIX_DETERMINANT = define(
    name="LogMatrixDeterminant",
    signature="input: T -> sign: T, log_abs_determinant: T",
    types={"T": MATRIX_TYPES},
    infer=_infer_log,
    kernel=_log_kernel,
    gradient=_log_gradient,
    batch=batch_rules.AS_IT_IS,
)


@takes_composites()
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of Hermitian positive definite matrices.

    Args:
        matrix: [..., n, n], float32, float64 or a complex type.
        name: name of the node while tracing.

    Returns:
        [...], the real type of `matrix`; NaN where a matrix is not positive definite.
    """
    factor = factorization.cholesky(matrix)
    logs = exponents.log(complexes.real(bands.diag_part(factor)))
    return arithmetic.multiply(reduction.reduce_sum(logs, [-1]), 2, name)

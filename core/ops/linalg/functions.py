"""Matrix functions: exponential, logarithm, square root; pseudo-inverse and rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, float16, int32
from pinnace.framework.no_effect import ignored
from pinnace.ops.array import broadcasting, casting, constants, reshaping, selecting, shapes
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import matrix_functions
from pinnace.ops.linalg import bands, factorization, solving
from pinnace.ops.linalg.matrices import WIDE_TYPES, adjoint, matrix_transpose, square_shape
from pinnace.ops.math import (
    arithmetic,
    comparison,
    exponents,
    logic,
    polar,
    products,
    reduction,
    rounding,
)
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, OpCall
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["expm", "logm", "matrix_rank", "pinv", "sqrtm"]

# Padé's numerator of degree 13 of the exponential; Higham, "The scaling and squaring method for
# the matrix exponential revisited" (2005), with the norm up to which it has all digits.
_PADE = [math.comb(13, k) * math.factorial(26 - k) // math.factorial(13) for k in range(14)]
_PADE_NORM = 5.371920351148152
# While tracing, the norm and thus the number of squarings are unknown: at most this many.
_MOST_SQUARINGS = 32


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of matrices: the sum of their powers divided by factorials.

    Args:
        input: [..., n, n], floating point or complex.
        name: name of the node while tracing.

    Source:
        Higham, 2005: Padé's approximation of a matrix halved until it is small, then squared.
    """
    x = convert_to_tensor(input)
    if x.dtype is float16:
        return casting.cast(expm(casting.cast(x, "float32")), float16, name)
    sums = reduction.reduce_sum(polar.abs(x), axis=-2, keepdims=True)
    norm = reduction.reduce_max(sums, axis=-1, keepdims=True)
    halvings = rounding.ceil(
        exponents.log(arithmetic.maximum(norm, _PADE_NORM) / _PADE_NORM) / math.log(2.0)
    )
    small = x / casting.cast(exponents.pow(constants.constant(2.0, norm.dtype), halvings), x.dtype)
    y = _pade(small)
    known = broadcasting.known_value(reduction.reduce_max(halvings)) if _size(x) else 0
    count = _MOST_SQUARINGS if known is None else _whole(known)
    for step in range(count):
        y = selecting.where(comparison.greater(halvings, step), products.matmul(y, y), y)
    # Larger than can be squared back, or not finite.
    wrong = logic.logical_not(comparison.less_equal(halvings, _MOST_SQUARINGS))
    nan = constants.constant(np.nan, x.dtype)
    return selecting.where(wrong, nan, y, name)


def _size(x: Tensor) -> bool:
    return not (x.shape.is_fully_defined() and 0 in x.shape.as_list())


def _whole(known: Any) -> int:
    return min(int(known), _MOST_SQUARINGS) if np.isfinite(known) else 0


def _pade(a: Tensor) -> Tensor:
    squared = products.matmul(a, a)
    fourth = products.matmul(squared, squared)
    sixth = products.matmul(squared, fourth)
    one = bands.set_diag(constants.zeros_like(a), constants.ones_like(bands.diag_part(a)))
    # Divided by the first coefficient, so that float32 holds them all.
    c = [constants.constant(n / _PADE[0], a.dtype) for n in _PADE]
    odd = products.matmul(sixth, c[13] * sixth + c[11] * fourth + c[9] * squared)
    odd = products.matmul(a, odd + c[7] * sixth + c[5] * fourth + c[3] * squared + c[1] * one)
    even = products.matmul(sixth, c[12] * sixth + c[10] * fourth + c[8] * squared)
    even = even + c[6] * sixth + c[4] * fourth + c[2] * squared + c[0] * one
    return solving.solve(even - odd, even + odd)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithm of matrices: the X with expm(X) = input.

    Args:
        input: [..., n, n], complex64 or complex128, without eigenvalues of 0 or below.
        name: name of the node while tracing.
    """
    return execute_one(MATRIX_LOGARITHM, input, name=name)


MATRIX_LOGARITHM = define(
    name="MatrixLogarithm",
    signature="input: T -> output: T",
    types={"T": COMPLEX},
    infer=square_shape,
    kernel=matrix_functions.logarithm,
    gradient=NO_GRADIENT_DEFINED,
)


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square root of matrices: the X with X X = input.

    Args:
        input: [..., n, n]; real ones must have no eigenvalue below 0.
        name: name of the node while tracing.
    """
    return execute_one(MATRIX_SQUARE_ROOT, input, name=name)


def _sqrtm_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    """The gradient: dX solves Xᴴ dA + dA Xᴴ = dX, a system of n² equations."""
    root = call.outputs[0]
    size = shapes.axis_sizes(root)[-1]
    one = bands.set_diag(constants.zeros_like(root), constants.ones_like(bands.diag_part(root)))
    flipped = adjoint(root)
    turned = matrix_transpose(flipped)
    lead = shapes.axis_sizes(root)[:-2]
    system = _kronecker(flipped, one, lead, size) + _kronecker(one, turned, lead, size)
    flat = reshaping.reshape(dy, [*lead, size * size, 1])
    return (reshaping.reshape(solving.solve(system, flat), shapes.shape(dy)),)


def _kronecker(a: Tensor, b: Tensor, lead: list[Any], size: Any) -> Tensor:
    """Each entry of `a` times the whole matrix `b`."""
    left = reshaping.reshape(a, [*lead, size, 1, size, 1])
    right = reshaping.reshape(b, [*lead, 1, size, 1, size])
    return reshaping.reshape(left * right, [*lead, size * size, size * size])


MATRIX_SQUARE_ROOT = define(
    name="MatrixSquareRoot",
    signature="input: T -> output: T",
    types={"T": WIDE_TYPES},
    infer=square_shape,
    kernel=matrix_functions.square_root,
    gradient=_sqrtm_gradient,
)


_CHECKED = "shapes are checked always, values never"


def pinv(
    a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The pseudo-inverse of matrices, by their singular values.

    Args:
        a: [..., m, n], floating point.
        rcond: [...], singular values of this share of the largest, or less, count as 0; None is
            10 max(m, n) times the dtype's epsilon.
        validate_args: shapes are checked in any case.
        name: name of the node while tracing.

    Returns:
        [..., n, m].
    """
    ignored("pinv", _CHECKED, False, validate_args=validate_args)
    x = convert_to_tensor(a)
    if rcond is None:
        rcond = _epsilon(x, 10.0)
    share = reshaping.expand_dims(convert_to_tensor(rcond, x.dtype), -1)
    s, u, v = factorization.svd(x)
    cutoff = share * reduction.reduce_max(s, axis=-1, keepdims=True)
    kept = selecting.where(comparison.greater(s, cutoff), s, constants.constant(np.inf, s.dtype))
    scaled = v / reshaping.expand_dims(kept, -2)
    return products.matmul(scaled, u, adjoint_b=True, name=name)


def matrix_rank(
    a: TensorLike, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The number of singular values of [..., m, n] above `tol`: [...], int32.

    Args:
        a: the matrices.
        tol: None is max(m, n) times the dtype's epsilon times the largest singular value.
        validate_args: shapes are checked in any case.
        name: name of the node while tracing.
    """
    ignored("matrix_rank", _CHECKED, False, validate_args=validate_args)
    x = convert_to_tensor(a)
    s = factorization.svd(x, compute_uv=False)
    if tol is None:
        tol = _epsilon(x, 1.0) * reduction.reduce_max(s, axis=-1, keepdims=True)
    above = casting.cast(comparison.greater(s, tol), int32)
    return reduction.reduce_sum(above, axis=-1, name=name)


def _epsilon(x: Tensor, factor: float) -> Any:
    """Factor · max(m, n) · ε; a tensor if the sizes are unknown."""
    epsilon = float(np.finfo(x.dtype.numpy).eps)
    rows, columns = shapes.axis_sizes(x)[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        return factor * max(rows, columns) * epsilon
    longest = casting.cast(arithmetic.maximum(rows, columns), x.dtype)
    return longest * (factor * epsilon)

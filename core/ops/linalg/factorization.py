"""Factorisations: Cholesky, QR, singular values, eigenvalues of Hermitian matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops import batch_rules
from pinnace.ops.array import casting, constants, joining, reshaping, selecting
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_all, execute_one
from pinnace.ops.linalg import bands, solving
from pinnace.ops.linalg.matrices import WIDE_TYPES, adjoint, matrix_shape, square_shape
from pinnace.ops.math import arithmetic, comparison, complexes, division, products
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["cholesky", "eigh", "eigvalsh", "qr", "svd"]


def _half_diagonal(x: Tensor) -> Tensor:
    return bands.set_diag(x, bands.diag_part(x) * 0.5)


@takes_composites()
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """The lower triangular L with L Lᴴ = input; only the lower triangle of `input` is read.

    Args:
        input: [..., n, n], Hermitian and positive definite.
        name: name of the node while tracing.

    Returns:
        [..., n, n], the upper triangle 0; where a matrix is not positive definite, the lower
        triangle is NaN.
    """
    return execute_one(CHOLESKY, input, name=name)


def _cholesky_kernel(input: Array) -> Array:
    narrow = input.dtype.itemsize == 2
    result = _factors(input.astype(np.float32) if narrow else input)
    return result.astype(input.dtype) if narrow else result


def _factors(matrices: Array) -> Array:
    """The Cholesky factors; NaN for matrices without one."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        pass
    # NumPy raises for the whole batch if one matrix has no factor: factorize them one by one.
    if matrices.ndim > 2:
        return np.stack([_factors(one) for one in matrices])
    return np.tril(np.full_like(matrices, np.nan))


def _cholesky_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    """Murray, "Differentiation of the Cholesky decomposition" (2016)."""
    factor = call.outputs[0]
    middle = products.matmul(factor, dy, adjoint_a=True)
    middle = bands.band_part(_half_diagonal(middle), -1, 0)
    left = solving.triangular_solve(factor, middle, adjoint=True)
    # left L⁻¹ = (L⁻ᴴ leftᴴ)ᴴ
    dx = adjoint(solving.triangular_solve(factor, adjoint(left), adjoint=True))
    return ((dx + adjoint(dx)) * 0.5,)


CHOLESKY = define(
    name="Cholesky",
    signature="input: T -> output: T",
    types={"T": WIDE_TYPES},
    infer=square_shape,
    kernel=_cholesky_kernel,
    gradient=_cholesky_gradient,
    batch=batch_rules.AS_IT_IS,
)


def _cholesky_grad_kernel(l: Array, grad: Array) -> Array:  # noqa: E741 (the op's name for it)
    """The same formula on arrays, for the op that TensorFlow's gradients of graphs contain."""
    if not l.size:
        return l
    inverse = np.linalg.inv(np.tril(l))
    turned = inverse.conj().swapaxes(-1, -2)
    middle = np.tril(np.tril(l).conj().swapaxes(-1, -2) @ np.tril(grad))
    middle = middle - 0.5 * middle * np.eye(l.shape[-1], dtype=l.dtype)
    dx = turned @ middle @ inverse
    return np.asarray(0.5 * (dx + dx.conj().swapaxes(-1, -2)), l.dtype)


def _infer_cholesky_grad(call: InferCall) -> Shape:
    factor, grad = square_shape(call), call.spec(1).shape
    if not factor.is_compatible_with(grad):
        call.fail(f"grad must have the shape of l, got {grad.text} and {factor.text}")
    return factor.merge_with(grad)


CHOLESKY_GRAD = define(
    name="CholeskyGrad",
    signature="l: T, grad: T -> output: T",
    types={"T": frozenset({float32, float64})},
    infer=_infer_cholesky_grad,
    kernel=_cholesky_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _least(m: int | None, n: int | None) -> int | None:
    return None if m is None or n is None else min(m, n)


def qr(
    input: TensorLike, full_matrices: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(q, r) with q r = input, where q has orthonormal columns and r is upper triangular.

    Args:
        input: [..., m, n].
        full_matrices: q is [..., m, m], else [..., m, min(m, n)].
        name: name of the node while tracing.
    """
    return execute_all(QR, input, full_matrices=bool(full_matrices), name=name)


def _qr_kernel(input: Array, *, full_matrices: bool) -> tuple[Array, Array]:
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    q, r = np.linalg.qr(wide, mode="complete" if full_matrices else "reduced")
    return q.astype(input.dtype, copy=False), r.astype(input.dtype, copy=False)


def _infer_qr(call: InferCall) -> tuple[Shape, Shape]:
    shape = matrix_shape(call)
    if shape.rank is None:
        return Shape(None), Shape(None)
    rows, columns = shape[-2], shape[-1]
    inner = rows if call.attrs["full_matrices"] else _least(rows, columns)
    lead = shape[:-2]
    return lead.concatenate(Shape([rows, inner])), lead.concatenate(Shape([inner, columns]))


def _qr_gradient(call: OpCall, dq: Tensor | None, dr: Tensor | None) -> tuple[Tensor]:
    """Roberts and Roberts, "QR and LQ decomposition matrix backpropagation" (2020)."""
    x = call.inputs[0]
    q, r = call.outputs
    dq = constants.zeros_like(q) if dq is None else dq
    dr = constants.zeros_like(r) if dr is None else dr
    rows, columns = x.shape[-2], x.shape[-1]
    if rows is None or columns is None:
        raise InvalidArgumentError("Qr: the gradient needs a matrix of known sizes")
    if call.attr("full_matrices") and rows > columns:
        raise InvalidArgumentError(
            "Qr: with full_matrices there is no gradient for more rows than columns, "
            f"got {rows} and {columns}"
        )
    if rows >= columns:
        return (_deep_qr(q, r, dq, dr),)
    # The columns past the square part are q times those of r.
    left, right = r[..., :rows], r[..., rows:]
    del right
    rest = x[..., rows:]
    d_left, d_right = dr[..., :rows], dr[..., rows:]
    square = _deep_qr(q, left, dq + products.matmul(rest, d_right, adjoint_b=True), d_left)
    return (joining.concat([square, products.matmul(q, d_right)], -1),)


def _deep_qr(q: Tensor, r: Tensor, dq: Tensor, dr: Tensor) -> Tensor:
    qdq = products.matmul(q, dq, adjoint_a=True)
    rdr = products.matmul(r, dr, adjoint_b=True)
    lower = bands.band_part(qdq - adjoint(qdq) + rdr - adjoint(rdr), -1, 0)
    if q.dtype.is_complex:
        # The diagonal was counted twice: q's columns are free up to a phase.
        lower = bands.set_diag(lower, bands.diag_part(lower) * 0.5)
    first = products.matmul(q, dr + _over(lower, r))
    return first + _over(dq - products.matmul(q, qdq), r)


def _over(x: Tensor, r: Tensor) -> Tensor:
    """`x r⁻ᴴ` for upper triangular r."""
    return adjoint(solving.triangular_solve(r, adjoint(x), lower=False))


QR = define(
    name="Qr",
    signature="input: T -> q: T, r: T",
    types={"T": WIDE_TYPES},
    attrs={"full_matrices": attr("bool", default=False)},
    infer=_infer_qr,
    kernel=_qr_kernel,
    gradient=_qr_gradient,
)


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Singular values s in descending order; with u and v, where tensor = u diag(s) vᴴ.

    Args:
        tensor: [..., m, n].
        full_matrices: u and v are square, else they have min(m, n) columns.
        compute_uv: u and v are wanted.
        name: name of the node while tracing.

    Returns:
        (s, u, v), or s alone.
    """
    s, u, v = execute(
        SVD, tensor, compute_uv=bool(compute_uv), full_matrices=bool(full_matrices), name=name
    )
    # TensorFlow: singular values are real.
    s = complexes.real(s)
    return (s, u, v) if compute_uv else s


def _svd_kernel(
    input: Array, *, compute_uv: bool, full_matrices: bool
) -> tuple[Array, Array, Array]:
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    dtype = input.dtype
    try:
        if not compute_uv:
            none = np.empty(0, dtype)
            return np.linalg.svd(wide, compute_uv=False).astype(dtype), none, none
        u, s, vh = np.linalg.svd(wide, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(
            f"Svd: it did not converge\n  input: {dtype}{list(input.shape)}"
        ) from None
    v = vh.swapaxes(-1, -2).conj()
    return s.astype(dtype), u.astype(dtype, copy=False), v.astype(dtype, copy=False)


def _infer_svd(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape = matrix_shape(call)
    wanted = call.attrs["compute_uv"]
    if shape.rank is None:
        none = Shape(None) if wanted else Shape([0])
        return Shape(None), none, none
    lead, rows, columns = shape[:-2], shape[-2], shape[-1]
    inner = _least(rows, columns)
    s = lead.concatenate(Shape([inner]))
    if not wanted:
        return s, Shape([0]), Shape([0])
    full = call.attrs["full_matrices"]
    u = lead.concatenate(Shape([rows, rows if full else inner]))
    return s, u, lead.concatenate(Shape([columns, columns if full else inner]))


def _svd_gradient(
    call: OpCall, ds: Tensor | None, du: Tensor | None, dv: Tensor | None
) -> tuple[Tensor]:
    """Townsend, "Differentiating the singular value decomposition" (2016), for real matrices."""
    x = call.inputs[0]
    if not call.attr("compute_uv") or (du is None and dv is None):
        s, u, v = call.outputs
        if not call.attr("compute_uv") or call.attr("full_matrices"):
            s, u, v = execute(SVD, x, compute_uv=True, full_matrices=False)
        ds = constants.zeros_like(s) if ds is None else ds
        return (products.matmul(u, _times_row(v, ds), adjoint_b=True),)
    if x.dtype.is_complex:
        raise InvalidArgumentError("Svd: there is no gradient of u and v for complex matrices")
    s, u, v = call.outputs
    if call.attr("full_matrices") and u.shape[-1] != v.shape[-1]:
        raise InvalidArgumentError(
            "Svd: with full_matrices there is no gradient of u and v unless the matrix is square, "
            f"got {x.shape}"
        )
    return (_full_svd_gradient(s, u, v, ds, du, dv),)


def _times_row(x: Tensor, row: Tensor) -> Tensor:
    """`x diag(row)`."""
    return x * casting.cast(reshaping.expand_dims(row, -2), x.dtype)


def _full_svd_gradient(
    s: Tensor, u: Tensor, v: Tensor, ds: Tensor | None, du: Tensor | None, dv: Tensor | None
) -> Tensor:
    ds = constants.zeros_like(s) if ds is None else ds
    du = constants.zeros_like(u) if du is None else du
    dv = constants.zeros_like(v) if dv is None else dv
    squares = arithmetic.square(s)
    apart = reshaping.expand_dims(squares, -2) - reshaping.expand_dims(squares, -1)
    f = division.divide_no_nan(constants.ones_like(apart), apart)
    u_du = products.matmul(u, du, transpose_a=True)
    v_dv = products.matmul(v, dv, transpose_a=True)
    inner_u = _times_row(f * (u_du - adjoint(u_du)), s)
    inner_v = reshaping.expand_dims(s, -1) * (f * (v_dv - adjoint(v_dv)))
    dx = products.matmul(
        u, products.matmul(inner_u + inner_v + bands.diag(ds), v, transpose_b=True)
    )
    per_s = division.divide_no_nan(constants.ones_like(s), s)
    # The parts outside of the column spaces of u and v.
    beyond_u = _times_row(du - products.matmul(u, u_du), per_s)
    beyond_v = _times_row(dv - products.matmul(v, v_dv), per_s)
    return (
        dx
        + products.matmul(beyond_u, v, transpose_b=True)
        + products.matmul(u, beyond_v, transpose_b=True)
    )


SVD = define(
    name="Svd",
    signature="input: T -> s: T, u: T, v: T",
    types={"T": WIDE_TYPES},
    attrs={"compute_uv": attr("bool", default=True), "full_matrices": attr("bool", default=False)},
    infer=_infer_svd,
    kernel=_svd_kernel,
    gradient=_svd_gradient,
)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(e, v): eigenvalues in ascending order, and eigenvectors as columns, of Hermitian matrices.

    Args:
        tensor: [..., n, n], float16, float32, float64 or a complex type; only the lower triangle is
            read.
        name: name of the node while tracing.

    Returns:
        e [..., n] and v [..., n, n], dtype of `tensor`.

    Raises:
        InvalidArgumentError: matrices are not square.

    Source:
        TensorFlow op `SelfAdjointEigV2` (linalg_ops.cc), which reads the lower triangle.
    """
    return execute_all(SELF_ADJOINT_EIG_V2, tensor, compute_v=True, name=name)


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices, in rising order.

    Args:
        tensor: [..., n, n], float16, float32, float64 or a complex type; only the lower triangle is
            read.
        name: name of the node while tracing.

    Returns:
        [..., n], dtype of `tensor`.

    Raises:
        InvalidArgumentError: matrices are not square.
    """
    return execute(SELF_ADJOINT_EIG_V2, tensor, compute_v=False, name=name)[0]  # type: ignore[no-any-return]


def _eig_kernel(input: Array, *, compute_v: bool) -> tuple[Array, Array]:
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    dtype = input.dtype
    if not compute_v:
        return np.linalg.eigvalsh(wide).astype(dtype), np.empty(0, dtype)
    e, v = np.linalg.eigh(wide)
    return e.astype(dtype), v.astype(dtype, copy=False)


def _infer_eig(call: InferCall) -> tuple[Shape, Shape]:
    shape = square_shape(call)
    if shape.rank is None:
        return Shape(None), Shape(None) if call.attrs["compute_v"] else Shape([0])
    return shape[:-1], shape if call.attrs["compute_v"] else Shape([0])


def _eig_gradient(call: OpCall, de: Tensor | None, dv: Tensor | None) -> tuple[Tensor]:
    """Giles, "Collected matrix derivative results" (2008), on the triangle that is read."""
    e, v = call.outputs
    if not call.attr("compute_v"):
        e, v = eigh(call.inputs[0])
        dv = None
    middle = bands.diag(constants.zeros_like(e) if de is None else de)
    if dv is not None:
        apart = reshaping.expand_dims(e, -2) - reshaping.expand_dims(e, -1)
        same = comparison.equal(apart, constants.zeros_like(apart))
        safe = selecting.where(same, constants.ones_like(apart), apart)
        f = selecting.where(same, constants.zeros_like(apart), arithmetic.reciprocal(safe))
        middle = middle + f * products.matmul(v, dv, adjoint_a=True)
    dx = products.matmul(v, products.matmul(middle, v, adjoint_b=True))
    return (_half_diagonal(bands.band_part(dx + adjoint(dx), -1, 0)),)


SELF_ADJOINT_EIG_V2 = define(
    name="SelfAdjointEigV2",
    signature="input: T -> e: T, v: T",
    types={"T": WIDE_TYPES},
    attrs={"compute_v": attr("bool", default=True)},
    infer=_infer_eig,
    kernel=_eig_kernel,
    gradient=_eig_gradient,
)

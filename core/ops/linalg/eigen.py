"""Eigenvalues of general square matrices, and of tridiagonal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, complex64, complex128, float32
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, constants, masking, reshaping
from pinnace.ops.execute import execute, execute_all
from pinnace.ops.linalg import bands, factorization, solving
from pinnace.ops.linalg.matrices import MATRIX_TYPES, adjoint, solved, square_shape
from pinnace.ops.math import comparison, complexes, division, logic, products
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["eig", "eigh_tridiagonal", "eigvals"]


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(e, v): unordered eigenvalues, and eigenvectors of length 1 as columns, both complex.

    Args:
        tensor: [..., n, n].
        name: name of the node while tracing.
    """
    x = convert_to_tensor(tensor)
    return execute_all(EIG, x, compute_v=True, Tout=_complex_of(x), name=name)


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of [..., n, n], in no order, complex.

    Args:
        tensor: [..., n, n], float32, float64 or a complex type.
        name: name of the node while tracing.

    Returns:
        [..., n], complex64 or complex128.
    """
    x = convert_to_tensor(tensor)
    return execute(EIG, x, compute_v=False, Tout=_complex_of(x), name=name)[0]  # type: ignore[no-any-return]


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues of a Hermitian tridiagonal matrix, in ascending order.

    Args:
        alpha: [n], the diagonal, of which the real part counts.
        beta: [n - 1], the diagonal above it; below stand its conjugates.
        eigvals_only: False also gives the eigenvectors, as columns.
        select: "a" all; "i" those of the indices, "v" those of the values, in `select_range`.
        select_range: (first, last), for "i" with both, for "v" without the first.
        tol: not needed here: values are as good as the dtype.
        name: name of the node while tracing.

    Returns:
        [m] real, or that and [n, m].

    Raises:
        ValueError: dtypes differ, or another `select`.
    """
    ignored("eigh_tridiagonal", "LAPACK works to full precision", tol=tol)
    diagonal, above = convert_to_tensor(alpha), convert_to_tensor(beta)
    if diagonal.dtype is not above.dtype:
        raise ValueError(
            "eigh_tridiagonal: alpha and beta must have one dtype, got "
            f"{diagonal.dtype.name} and {above.dtype.name}"
        )
    centre = casting.cast(complexes.real(diagonal), above.dtype)
    matrix = bands.diag(centre) + bands.diag(above, k=1) + bands.diag(complexes.conj(above), k=-1)
    if eigvals_only:
        values, vectors = factorization.eigvalsh(matrix, name), None
    else:
        values, vectors = factorization.eigh(matrix, name)
    values = complexes.real(values)
    if select == "i":
        chosen = slice(select_range[0], select_range[1] + 1)
        values = values[chosen]
        vectors = None if vectors is None else vectors[:, chosen]
    elif select == "v":
        within = logic.logical_and(
            comparison.greater(values, select_range[0]),
            comparison.less_equal(values, select_range[1]),
        )
        values = masking.boolean_mask(values, within)
        vectors = None if vectors is None else masking.boolean_mask(vectors, within, axis=1)
    elif select != "a":
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v', got {select!r}")
    return values if vectors is None else (values, vectors)


def _complex_of(x: Any) -> Any:
    return complex64 if x.dtype in {float32, complex64} else complex128


def _eig_kernel(input: Array, *, compute_v: bool, Tout: Any) -> tuple[Array, Array]:  # noqa: N803 (TensorFlow's name)
    problem = "the eigenvalues did not converge"
    if not compute_v:
        found = solved("Eig", problem, np.linalg.eigvals, input)
        return found.astype(Tout.numpy), np.empty(0, Tout.numpy)

    def both(x: Array) -> Array:
        e, v = np.linalg.eig(x)
        return np.concatenate([e[..., None, :].astype(v.dtype), v], -2)

    joined = solved("Eig", problem, _complex_safe(both), input).astype(Tout.numpy)
    return np.ascontiguousarray(joined[..., 0, :]), np.ascontiguousarray(joined[..., 1:, :])


def _complex_safe(function: Any) -> Any:
    """A kernel with one complex dtype, since real matrices may have complex eigenvectors."""
    return lambda x: function(x.astype(np.result_type(x, np.complex64)) if x.size == 0 else x)


def _infer_eig(call: InferCall) -> tuple[Shape, Shape]:
    shape = square_shape(call)
    wanted, dtype = call.attrs["compute_v"], call.attrs["Tout"]
    if dtype is not _complex_of(call.spec(0)):
        call.fail(f"Tout must be the complex type of the input's precision, got {dtype.name}")
    if shape.rank is None:
        return Shape(None), Shape(None) if wanted else Shape([0])
    return shape[:-1], shape if wanted else Shape([0])


def _eig_gradient(call: OpCall, de: Tensor | None, dv: Tensor | None) -> tuple[Tensor]:
    """Boeddeker et al., "On the computation of complex-valued gradients" (2017)."""
    x = call.inputs[0]
    e, v = call.outputs
    if not call.attr("compute_v"):
        v, dv = execute(EIG, x, compute_v=True, Tout=e.dtype)[1], None
    middle = bands.diag(constants.zeros_like(e) if de is None else de)
    vh = adjoint(v)
    if dv is not None:
        apart = reshaping.expand_dims(e, -2) - reshaping.expand_dims(e, -1)
        f = complexes.conj(division.divide_no_nan(constants.ones_like(apart), apart))
        inner = products.matmul(vh, dv)
        # Eigenvectors keep their length.
        along = casting.cast(complexes.real(bands.diag_part(inner)), inner.dtype)
        middle = middle + f * (inner - products.matmul(vh, v) * reshaping.expand_dims(along, -2))
    dx = solving.solve(vh, products.matmul(middle, vh))
    return (dx if x.dtype.is_complex else casting.cast(complexes.real(dx), x.dtype),)


EIG = define(
    name="Eig",
    signature="input: T -> e: Tout, v: Tout",
    types={"T": MATRIX_TYPES, "Tout": COMPLEX},
    attrs={"compute_v": attr("bool", default=True)},
    infer=_infer_eig,
    kernel=_eig_kernel,
    gradient=_eig_gradient,
)

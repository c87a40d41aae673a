"""Default implementations of operators' methods, by dense matrices."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.linear_operators import batches
from pinnace.linear_operators.description import Described
from pinnace.ops.array import reshaping
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg import bands, determinants, factorization
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import exponents, polar, reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.operator import LinearOperator


class DenseAnswers(Described, abc.ABC):
    """The base of LinearOperator: the methods that a subclass gives, and those it may override.

    Each is called by the public method of its name, which has checked the arguments.
    """

    if TYPE_CHECKING:  # of LinearOperator
        matmul: Callable[..., Any]
        solve: Callable[..., Any]
        to_dense: Callable[..., Tensor]

        def __getattr__(self, name: str) -> Any: ...

    @abc.abstractmethod
    def _shape(self) -> Shape: ...

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: _shape_tensor is not implemented.")

    @abc.abstractmethod
    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any: ...

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        column = reshaping.expand_dims(x, -1)
        return reshaping.squeeze(self.matmul(column, adjoint=adjoint), -1)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        self._check_square("Solve")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return batches.cholesky_solve(factorization.cholesky(self.to_dense()), rhs)
        return batches.solve(self.to_dense(), rhs, adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        column = reshaping.expand_dims(rhs, -1)
        return reshaping.squeeze(self.solve(column, adjoint=adjoint), -1)

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return exponents.exp(self.log_abs_determinant())
        return determinants.det(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            diagonal = bands.diag_part(factorization.cholesky(self.to_dense()))
            return 2 * reduction.reduce_sum(exponents.log(diagonal), [-1])
        return determinants.slogdet(self.to_dense())[1]

    def _to_dense(self) -> Tensor:
        known = self.domain_dimension
        size = self.domain_dimension_tensor() if known is None else known
        batch = batches.sizes_of(self.batch_shape, self.batch_shape_tensor)
        return self.matmul(bands.eye(size, batch_shape=batch, dtype=self.dtype))  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        return bands.diag_part(self.to_dense())

    def _trace(self) -> Tensor:
        return reduction.reduce_sum(self.diag_part(), -1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def _eigvals(self) -> Tensor:
        return factorization.eigvalsh(self.to_dense())

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values: Any = polar.abs(self._eigvals())
        else:
            values = factorization.svd(self.to_dense(), compute_uv=False)
        return reduction.reduce_max(values, -1) / reduction.reduce_min(values, -1)

    def _assert_non_singular(self) -> None:
        if self._can_use_cholesky():
            self.assert_positive_definite()
            return
        values: Any = factorization.svd(self.to_dense(), compute_uv=False)
        cond = reduction.reduce_max(values, -1) / reduction.reduce_min(values, -1)
        # TensorFlow: a matrix counts as singular from this condition number on.
        real = cond.dtype
        size = cast(reduction.reduce_max(self.shape_tensor()[-2:]), real)
        least = reduction.reduce_max([100.0, size]) * float(np.finfo(real.as_numpy_dtype).eps)
        assertions.assert_less(cond, 1.0 / least, "Singular matrix up to precision epsilon.")

    def _assert_positive_definite(self) -> None:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"{self.name}: assert_positive_definite is not implemented for a matrix that is "
                "not said to be self-adjoint"
            )
        diagonal = bands.diag_part(factorization.cholesky(self.to_dense()))
        assertions.assert_positive(polar.abs(diagonal), "Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> None:
        dense = self.to_dense()
        assertions.assert_equal(dense, adjoint_of(dense), "Matrix was not equal to its adjoint.")

    def _linop_adjoint(self: Any) -> LinearOperator:
        return late.derived_operators.adjoint(self)

    def _linop_inverse(self: Any) -> LinearOperator:
        return late.derived_operators.inverse(self)

    def _linop_cholesky(self: Any) -> LinearOperator:
        return late.derived_operators.cholesky(self)

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        return late.derived_operators.product(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        return late.derived_operators.quotient(left_operator, right_operator)

"""LinearOperatorDiag: diagonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import batches, checks, hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.linear_operators.triangular import LinearOperatorLowerTriangular
from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg import bands
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import complexes, exponents, polar, reduction

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorDiag"]


@composite
class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices, [..., n, n].

    Products and solutions cost O(n r) for r columns, the determinant O(n).

    Args:
        diag: [..., n], any float or complex dtype; a variable is read when it is used.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; a real diagonal settles it.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `diag` is a scalar, or a hint is wrong.
    """

    _fields = ("diag",)

    def __init__(
        self,
        diag: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._diag = kept(diag)
        check_rank(name, "diag", self._diag, 1)
        if not self._diag.dtype.is_complex:
            message = "A real diagonal operator is always self adjoint."
            is_self_adjoint = hints.always(is_self_adjoint, True, message)
        super().__init__(
            dtype=self._diag.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=hints.always(
                is_square, True, "Only square diagonal operators currently supported."
            ),
            name=name,
            parameters=parameters,
        )

    @property
    def diag(self) -> Any:
        """The diagonal, [..., n]."""
        return self._diag

    def _shape(self) -> Shape:
        shape: Shape = self._diag.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = shapes.shape(self._diag)
        return joining.concat([shape, shape[-1:]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"diag": 1}

    def _conjugate(self, wanted: bool) -> Tensor:
        return complexes.conj(self._diag) if wanted else convert_to_tensor(self._diag)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return reshaping.expand_dims(self._conjugate(adjoint), -1) * x

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._conjugate(adjoint) * x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * (1.0 / reshaping.expand_dims(self._conjugate(adjoint), -1))

    def _determinant(self) -> Tensor:
        return reduction.reduce_prod(self._diag, [-1])

    def _log_abs_determinant(self) -> Tensor:
        # TensorFlow: in the operator's dtype, also if it is complex.
        found = reduction.reduce_sum(exponents.log(polar.abs(self._diag)), [-1])
        return cast(found, self.dtype)

    def _to_dense(self) -> Tensor:
        return bands.diag(self._diag)

    def _diag_part(self) -> Tensor:
        return convert_to_tensor(self._diag)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return add_diagonal(x, convert_to_tensor(self._diag), self)

    def _eigvals(self) -> Tensor:
        return convert_to_tensor(self._diag)

    def _cond(self) -> Tensor:
        moduli = polar.abs(self._diag)
        return reduction.reduce_max(moduli, -1) / reduction.reduce_min(moduli, -1)

    def _assert_non_singular(self) -> None:
        checks.assert_no_zeros(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> None:
        message = "Real diagonal operator had non-positive diagonal entries"
        if self.dtype.is_complex:
            message = "Diagonal operator had diagonal entries with non-positive real part"
        assertions.assert_positive(
            complexes.real(self._diag), f"{message}, thus was not positive definite."
        )

    def _assert_self_adjoint(self) -> None:
        checks.assert_real(
            self._diag,
            "This diagonal operator contained non-zero imaginary values.  "
            "Thus it was not self-adjoint.",
        )

    def _linop_adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(complexes.conj(self._diag), **hints.hints_of(self))

    def _linop_inverse(self) -> LinearOperator:
        return LinearOperatorDiag(1.0 / self._diag, **hints.hints_of(self))

    def _linop_cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(
            exponents.sqrt(self._diag),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
        )

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        found = hints.commuting(left_operator, right_operator)
        factor = diagonal_factor(right_operator)
        if factor is not None:
            return LinearOperatorDiag(left_operator.diag * factor, **found)
        if isinstance(right_operator, LinearOperatorLowerTriangular):
            rows = reshaping.expand_dims(left_operator.diag, -1)
            return LinearOperatorLowerTriangular(
                rows * right_operator.to_dense(), **{**found, "is_positive_definite": None}
            )
        return super()._linop_matmul(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        found = hints.commuting(left_operator, right_operator)
        factor = diagonal_factor(right_operator)
        if factor is not None:
            return LinearOperatorDiag(factor / left_operator.diag, **found)
        if isinstance(right_operator, LinearOperatorLowerTriangular):
            rows = reshaping.expand_dims(left_operator.diag, -1)
            return LinearOperatorLowerTriangular(
                right_operator.to_dense() / rows, **{**found, "is_positive_definite": None}
            )
        return super()._linop_solve(left_operator, right_operator)


def diagonal_factor(operator: Any) -> Any:
    """[..., n] or [..., 1]: the diagonal of a diagonal operator; None for other operators."""
    if isinstance(operator, LinearOperatorDiag):
        return operator.diag
    multiplier = getattr(operator, "multiplier", None)
    return None if multiplier is None else reshaping.expand_dims(multiplier, -1)


def add_diagonal(x: Tensor, diagonal: Tensor, operator: LinearOperator) -> Tensor:
    """x with numbers added to its diagonal, broadcast to an operator's batch.

    Args:
        x: [..., n, n].
        diagonal: [..., n] or [..., 1].
        operator: an operator whose batch counts too.
    """
    both = batches.static([x.shape, operator.shape])
    whole = batches.sizes_of(
        both, lambda: batches.dynamic([shapes.shape(x), operator.shape_tensor()])
    )
    x = broadcast_to(x, whole)
    return bands.set_diag(x, bands.diag_part(x) + diagonal)

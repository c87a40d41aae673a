"""LinearOperatorLowerTriangular: matrices with zeros above the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import checks, hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import shapes
from pinnace.ops.linalg import bands, solving
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import exponents, polar, products, reduction

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorLowerTriangular"]


@composite
class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices, [..., n, n].

    Products and solutions cost O(n² r) for r columns, the determinant O(n).

    Args:
        tril: [..., n, n], any float or complex dtype; entries above the diagonal do not count.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `tril` has fewer than two axes, or a hint is wrong.
    """

    _fields = ("tril",)

    def __init__(
        self,
        tril: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        parameters = constructor_arguments(locals())
        message = "Only square lower triangular operators supported at this time."
        is_square = hints.always(is_square, True, message)
        self._tril = kept(tril)
        check_rank(name, "tril", self._tril, 2)
        super().__init__(
            dtype=self._tril.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
            parameters=parameters,
        )

    @property
    def tril(self) -> Any:
        """The constructor's argument, [..., n, n]."""
        return self._tril

    def _shape(self) -> Shape:
        shape: Shape = self._tril.shape
        return shape

    def _shape_tensor(self) -> Tensor:
        return shapes.shape(self._tril)

    def _part_ranks(self) -> dict[str, Any]:
        return {"tril": 2}

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return products.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return solving.triangular_solve(self._to_dense(), rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduction.reduce_prod(self._diag_part(), [-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduction.reduce_sum(exponents.log(polar.abs(self._diag_part())), [-1])

    def _to_dense(self) -> Tensor:
        return bands.band_part(convert_to_tensor(self._tril), -1, 0)

    def _diag_part(self) -> Tensor:
        return bands.diag_part(self._tril)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _assert_non_singular(self) -> None:
        checks.assert_no_zeros(
            self._diag_part(), "Singular operator:  Diagonal contained zero values."
        )

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        diagonal = getattr(right_operator, "diag", None)
        if diagonal is None:
            return super()._linop_matmul(left_operator, right_operator)
        found = hints.commuting(right_operator, left_operator)
        columns = convert_to_tensor(diagonal)[..., None, :]
        return LinearOperatorLowerTriangular(
            left_operator.to_dense() * columns, **{**found, "is_positive_definite": None}
        )

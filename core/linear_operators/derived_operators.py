"""Operators derived from others: adjoint, inverse, Cholesky factor, product and quotient.

They are above all classes that they consist of; the methods of the base class, below these, call
them through `late`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.linear_operators import algebra, hints
from pinnace.linear_operators.composition import LinearOperatorComposition
from pinnace.linear_operators.triangular import LinearOperatorLowerTriangular
from pinnace.linear_operators.wrapped import LinearOperatorAdjoint, LinearOperatorInversion
from pinnace.ops.linalg import factorization

if TYPE_CHECKING:
    from pinnace.linear_operators.operator import LinearOperator


def adjoint(operator: LinearOperator) -> LinearOperator:
    """The adjoint of any operator, as a wrapper."""
    return LinearOperatorAdjoint(operator, **hints.hints_of(operator))


def inverse(operator: LinearOperator) -> LinearOperator:
    """The inverse of any operator, as a wrapper."""
    return LinearOperatorInversion(operator, **hints.hints_of(operator))


def cholesky(operator: LinearOperator) -> LinearOperator:
    """The lower triangular factor of the dense matrix."""
    return LinearOperatorLowerTriangular(
        factorization.cholesky(operator.to_dense()),
        is_non_singular=True,
        is_self_adjoint=False,
        is_square=True,
    )


def product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """left right, for any classes."""
    if right._is_identity:
        return left
    if right._is_zero:
        algebra.check_square_zeros(left, right)
        return right
    return LinearOperatorComposition([left, right], **hints.of_product(left, right))


def quotient(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """left⁻¹ right, for any classes."""
    if right._is_identity:
        return left.inverse()
    return LinearOperatorComposition(
        [LinearOperatorInversion(left), right], **hints.of_product(left, right)
    )

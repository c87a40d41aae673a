"""Sums of operators, of the class that preserves the most structure."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pinnace.linear_operators.dense import LinearOperatorFullMatrix
from pinnace.linear_operators.diagonal import LinearOperatorDiag
from pinnace.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from pinnace.linear_operators.triangular import LinearOperatorLowerTriangular
from pinnace.ops.array import constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.operator import LinearOperator

_SCALED = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
_DIAGONAL = (*_SCALED, LinearOperatorDiag)
_TRIANGULAR = (*_DIAGONAL, LinearOperatorLowerTriangular)


def total(operators: Sequence[LinearOperator]) -> LinearOperator:
    """The sum of operators of one size.

    Args:
        operators: one or more.
    """
    if len(operators) == 1:
        return operators[0]
    # Diagonal ones first, so that their sum is diagonal.
    return reduce(_sum, sorted(operators, key=_structure))


def negated(operator: LinearOperator) -> LinearOperator:
    """-I, with the size and dtype of a square operator."""
    known = operator.domain_dimension
    count = operator.domain_dimension_tensor() if known is None else known
    minus = constants.constant(-1, operator.dtype)
    return LinearOperatorScaledIdentity(count, minus, is_non_singular=True)


def _structure(operator: LinearOperator) -> int:
    for place, classes in enumerate((_SCALED, _DIAGONAL, _TRIANGULAR)):
        if isinstance(operator, classes):
            return place
    return 3


def _sum(x: LinearOperator, y: LinearOperator) -> LinearOperator:
    definite = True if x.is_positive_definite and y.is_positive_definite else None
    found: dict[str, Hint] = {
        "is_self_adjoint": True if x.is_self_adjoint and y.is_self_adjoint else None,
        "is_positive_definite": definite,
        "is_non_singular": definite,
    }
    made: Any = (_scaled, _diagonal, _triangular, _full)[max(_structure(x), _structure(y))]
    return made(x, y, found)  # type: ignore[no-any-return]


def _scaled(x: Any, y: Any, found: Any) -> LinearOperator:
    known = x.domain_dimension
    count = x.domain_dimension_tensor() if known is None else known
    return LinearOperatorScaledIdentity(count, _multiplier(x) + _multiplier(y), **found)


def _multiplier(operator: Any) -> Any:
    if isinstance(operator, LinearOperatorScaledIdentity):
        return operator.multiplier
    return constants.ones(operator._batch_sizes(), operator.dtype)


def _diagonal(x: Any, y: Any, found: Any) -> LinearOperator:
    return LinearOperatorDiag(x.diag_part() + y.diag_part(), **found)


def _triangular(x: Any, y: Any, found: Any) -> LinearOperator:
    return LinearOperatorLowerTriangular(x.add_to_tensor(y.to_dense()), **found)


def _full(x: Any, y: Any, found: Any) -> LinearOperator:
    return LinearOperatorFullMatrix(x.add_to_tensor(y.to_dense()), **found)

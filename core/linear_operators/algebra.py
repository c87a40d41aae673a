"""Properties of products of operators, known before they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.linear_operators.operator import LinearOperator


def is_adjoint_pair(x: LinearOperator, y: LinearOperator) -> bool:
    """Whether one is known to be the adjoint of the other."""
    if x is y and x.is_self_adjoint is not None:
        return bool(x.is_self_adjoint)
    return _known_adjoint(x) is y or _known_adjoint(y) is x


def _known_adjoint(operator: LinearOperator) -> LinearOperator | None:
    """The adjoint if no op must run for it, since constructors of composite values ask."""
    if operator.is_self_adjoint:
        return operator
    return operator._adjoint_of


def is_symmetric_product(operators: Sequence[LinearOperator]) -> bool:
    """Whether the product is known to be A Aᴴ, by adjoint pairs from the ends inwards."""
    count = len(operators)
    return count % 2 == 0 and all(
        is_adjoint_pair(operators[i], operators[count - 1 - i]) for i in range(count // 2)
    )


def check_square_zeros(left: LinearOperator, right: LinearOperator) -> None:
    """Raise for a product with zeros that are not square, which would change its shape.

    Raises:
        ValueError: one is not square.
    """
    if not left.is_square or not right.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            f"supported at this time, got {left!r} and {right!r}\n  Try: operator.to_dense()"
        )

"""The common part of operators made of several operators."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pinnace.ops.array.casting import cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.operator import LinearOperator


def checked(who: str, operators: Any) -> list[LinearOperator]:
    """The operators as a list.

    Raises:
        TypeError: the argument is no list or tuple, or the operators differ in dtype.
        ValueError: the list is empty.
    """
    if not isinstance(operators, (list, tuple)):
        raise TypeError(f"{who}: operators must be a list of linear operators, got {operators!r}")
    if not operators:
        raise ValueError(f"{who}: Expected a non-empty list of operators. Found: {operators!r}")
    same_dtype(who, operators)
    return list(operators)


def same_dtype(who: str, operators: Sequence[LinearOperator]) -> None:
    """Raise for operators with different dtypes.

    Raises:
        TypeError: the dtypes differ.
    """
    if len({operator.dtype for operator in operators}) > 1:
        found = "  ".join(f"{operator.name}: {operator.dtype.name}" for operator in operators)
        raise TypeError(f"{who}: Expected all operators to have the same dtype.  Found {found}")


def implied(given: Hint, what: str, word: str) -> bool:
    """A hint that the operators imply: True.

    Raises:
        ValueError: False was given.
    """
    if given is False:
        raise ValueError(f"The {what} is always {word}.")
    return True


def product(parts: Sequence[Tensor]) -> Tensor:
    """The product of tensors, with broadcasting."""
    return reduce(lambda x, y: x * y, parts)


def total_of_logs(logs: Sequence[Tensor], dtype: DType) -> Tensor:
    """The sum of logarithms of determinants.

    Args:
        logs: logarithms of determinants; some classes give real ones for complex operators.
        dtype: dtype of the operator, to which they are cast if theirs differs.
    """
    if len({log.dtype for log in logs}) > 1:
        logs = [cast(log, dtype) for log in logs]
    return total(logs)


def total(parts: Sequence[Tensor]) -> Tensor:
    """The sum of tensors, with broadcasting."""
    return reduce(lambda x, y: x + y, parts)

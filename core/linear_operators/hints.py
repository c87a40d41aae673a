"""Hints about matrices, and their consequences for products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.linear_operators.operator import LinearOperator

# True or False: the caller promises it. None: unknown.
Hint = bool | None
NAMES = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


class Hints(TypedDict):
    """The hints of an operator, as arguments of its constructor."""

    is_non_singular: Hint
    is_self_adjoint: Hint
    is_positive_definite: Hint
    is_square: Hint


def hints_of(operator: LinearOperator) -> Hints:
    """The hints of an operator."""
    return Hints(
        is_non_singular=operator.is_non_singular,
        is_self_adjoint=operator.is_self_adjoint,
        is_positive_definite=operator.is_positive_definite,
        is_square=operator.is_square,
    )


def settled(
    is_non_singular: Hint, is_self_adjoint: Hint, is_positive_definite: Hint, is_square: Hint
) -> Hints:
    """The hints, completed by their implications.

    Raises:
        ValueError: the hints contradict each other.
    """
    if is_positive_definite:
        if is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        is_non_singular = True
    for promised, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
        if promised:
            if is_square is False:
                raise ValueError(f"A {what} matrix is always square.")
            is_square = True
    return Hints(
        is_non_singular=is_non_singular,
        is_self_adjoint=is_self_adjoint,
        is_positive_definite=is_positive_definite,
        is_square=is_square,
    )


def always(given: Hint, truth: bool, message: str) -> bool:
    """A hint whose value is determined by the operator's class.

    Raises:
        ValueError: the given hint contradicts it.
    """
    if given is not None and given is not truth:
        raise ValueError(message)
    return truth


def inherited(operator: LinearOperator, given: dict[str, Hint], relation: str) -> Hints:
    """The hints of the adjoint or inverse: given, or derived from the operator's.

    Args:
        operator: the operator.
        given: hints by name, those of the adjoint or inverse.
        relation: "adjoint" or "inverse", for the error.

    Raises:
        ValueError: one is promised, the other denied.
    """
    found: dict[str, Hint] = {}
    for name in NAMES:
        own, wish = getattr(operator, name), given[name]
        if own is not None and wish is not None and own is not wish:
            word = name.removeprefix("is_").replace("_", "-")
            raise ValueError(
                f"An operator is {word} if and only if its {relation} is {word}."
                f"\n  {name} of {operator.name}: {own}; given: {wish}"
            )
        found[name] = wish if own is None else own
    return cast("Hints", found)  # of these names


def shared(operators: Sequence[LinearOperator], name: str, given: Hint, of: str) -> Hint:
    """A hint that holds for the whole if it holds for all parts.

    Raises:
        ValueError: the hint holds, but False was given.
    """
    if not all(getattr(operator, name) for operator in operators):
        return given
    if given is False:
        word = name.removeprefix("is_").replace("_", "-")
        raise ValueError(f"The {of} of {word} operators is always {word}.")
    return True


def non_singular(left: LinearOperator, right: LinearOperator) -> Hint:
    """Whether a product of square matrices is non-singular."""
    if left.is_non_singular is False or right.is_non_singular is False:
        return False
    return True if left.is_non_singular and right.is_non_singular else None


def square(left: LinearOperator, right: LinearOperator) -> Hint:
    """Whether a product is square."""
    if left.is_square and right.is_square:
        return True
    rows, columns = left.range_dimension, right.domain_dimension
    if left.is_square is False and right.is_square is False:
        return None if rows is None or columns is None else rows == columns
    return None if left.is_square is None or right.is_square is None else False


def commuting(left: LinearOperator, right: LinearOperator) -> dict[str, Any]:
    """Hints of the product of two square matrices that commute."""
    self_adjoint: Hint = None
    if left.is_self_adjoint and right.is_self_adjoint:
        self_adjoint = True
    elif {left.is_self_adjoint, right.is_self_adjoint} == {True, False}:
        self_adjoint = False
    both = (left, right)
    definite = all(one.is_positive_definite and one.is_self_adjoint for one in both)
    return {
        "is_non_singular": non_singular(left, right),
        "is_self_adjoint": self_adjoint,
        "is_positive_definite": True if definite else None,
        "is_square": True,
    }


def of_product(left: LinearOperator, right: LinearOperator) -> Hints:
    """Hints of the product of any two matrices."""
    is_square = square(left, right)
    if is_square is False:
        return Hints(
            is_non_singular=False,
            is_self_adjoint=False,
            is_positive_definite=False,
            is_square=False,
        )
    return Hints(
        is_non_singular=non_singular(left, right) if is_square else None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=is_square,
    )

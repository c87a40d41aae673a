"""The common part of operators that consist of a list of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pinnace.linear_operators import hints, lists
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.linear_operators.hints import Hint, Hints


class Compound(LinearOperator):
    """The base of operators made of others with one dtype; derives hints of the whole."""

    _fields = ("operators",)
    # The separator of the operators' names in the name of the whole.
    _joint: ClassVar[str]

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        parameters = constructor_arguments(locals())
        given = lists.checked(type(self).__name__, operators)
        self._operators: Any = list(given)
        promised = hints.Hints(
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
        )
        super().__init__(
            dtype=given[0].dtype,
            name=name or self._joint.join(operator.name for operator in given),
            parameters=parameters,
            **self._implied(given, promised),
        )

    def _implied(self, operators: list[LinearOperator], given: Hints) -> Hints:
        """The given hints, completed by those that follow from the operators.

        Raises:
            ValueError: the hints contradict each other.
        """
        raise NotImplementedError

    @property
    def operators(self) -> Any:
        """The operators it is made of, a list."""
        return self._operators

    def _part_ranks(self) -> dict[str, Any]:
        return {"operators": [0] * len(self._operators)}

    def _all_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)


class Separable(Compound):
    """The base of operators whose adjoint, inverse and Cholesky factor derive from their parts."""

    # The word for the whole in error messages.
    _whole: ClassVar[str]

    def _implied(self, operators: list[LinearOperator], given: Hints) -> Hints:
        def shared(name: str, hint: Hint) -> Hint:
            return hints.shared(operators, name, hint, self._whole)

        return hints.Hints(
            is_non_singular=shared("is_non_singular", given["is_non_singular"]),
            is_self_adjoint=shared("is_self_adjoint", given["is_self_adjoint"]),
            is_positive_definite=shared("is_positive_definite", given["is_positive_definite"]),
            is_square=given["is_square"],
        )

    def _assert_non_singular(self) -> None:
        for operator in self._operators:
            operator.assert_non_singular()

    def _assert_self_adjoint(self) -> None:
        for operator in self._operators:
            operator.assert_self_adjoint()

    def _of(self, operators: list[Any], **found: Any) -> LinearOperator:
        """An operator of this class with other parts."""
        raise NotImplementedError

    def _of_each(self, method: str, **found: Any) -> LinearOperator:
        return self._of([getattr(operator, method)() for operator in self._operators], **found)

    def _linop_adjoint(self) -> LinearOperator:
        return self._of_each("adjoint", **hints.hints_of(self))

    def _linop_inverse(self) -> LinearOperator:
        return self._of_each("inverse", **hints.hints_of(self))

    def _linop_cholesky(self) -> LinearOperator:
        return self._of_each("cholesky", is_non_singular=True, is_square=True)

"""LinearOperatorAdjoint and LinearOperatorInversion: views of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.linear_operators import hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import joining
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import complexes

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorAdjoint", "LinearOperatorInversion"]


class Wrapped(LinearOperator):
    """The base of both."""

    _fields = ("operator",)
    _relation = ""

    def __init__(
        self,
        operator: LinearOperator,
        name: str,
        parameters: dict[str, Any],
        given: dict[str, Hint],
    ) -> None:
        self._operator = operator
        super().__init__(
            dtype=operator.dtype,
            name=name,
            parameters=parameters,
            **hints.inherited(operator, given, self._relation),
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator that the constructor was given."""
        return self._operator

    def _part_ranks(self) -> dict[str, Any]:
        return {"operator": 0}

    def _cond(self) -> Tensor:
        return self._operator.cond()

    def _assert_non_singular(self) -> None:
        self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> None:
        self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> None:
        self._operator.assert_self_adjoint()


def _hints(arguments: dict[str, Any]) -> dict[str, Hint]:
    return {name: arguments[name] for name in hints.NAMES}


@composite
class LinearOperatorAdjoint(Wrapped):
    """The conjugate transpose of an operator: [..., n, m] for one of [..., m, n].

    Args:
        operator: the operator.
        is_non_singular: hint, see `LinearOperator`; that of the operator if None.
        is_self_adjoint: hint, likewise.
        is_positive_definite: hint, likewise.
        is_square: hint, likewise.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: a hint contradicts that of the operator.
    """

    _relation = "adjoint"

    @property
    def _adjoint_of(self) -> LinearOperator:
        return self._operator

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        arguments = constructor_arguments(locals())
        super().__init__(operator, name or f"{operator.name}_adjoint", arguments, _hints(arguments))

    def _shape(self) -> Shape:
        shape = self._operator.shape
        return shape if shape.rank is None else shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Tensor:
        shape = self._operator.shape_tensor()
        return joining.concat([shape[:-2], shape[-1:], shape[-2:-1]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _conjugated(self, x: Tensor) -> Tensor:
        return x if self.is_self_adjoint else complexes.conj(x)

    def _determinant(self) -> Tensor:
        return self._conjugated(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return self._conjugated(self._operator.trace())

    def _diag_part(self) -> Tensor:
        return self._conjugated(self._operator.diag_part())

    def _to_dense(self) -> Tensor:
        dense = self._operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)

    def _eigvals(self) -> Tensor:
        return self._operator.eigvals()

    def _linop_adjoint(self) -> LinearOperator:
        return self._operator


@composite
class LinearOperatorInversion(Wrapped):
    """The inverse of an operator: its products are solutions, and the reverse.

    Args:
        operator: the operator, square and not singular.
        is_non_singular: hint, see `LinearOperator`; that of the operator if None.
        is_self_adjoint: hint, likewise.
        is_positive_definite: hint, likewise.
        is_square: hint, likewise.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: a hint says that one of both is singular or not square, or contradicts that of
            the operator.
    """

    _relation = "inverse"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        arguments = constructor_arguments(locals())
        for hint in ("is_non_singular", "is_square"):
            if getattr(operator, hint) is False or arguments[hint] is False:
                raise ValueError(
                    f"LinearOperatorInversion: {hint} of the operator and of its inverse must be "
                    f"True or None, got {getattr(operator, hint)} and {arguments[hint]}"
                )
        super().__init__(operator, name or f"{operator.name}_inv", arguments, _hints(arguments))

    def _shape(self) -> Shape:
        return self._operator.shape

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator.log_abs_determinant()

    def _eigvals(self) -> Tensor:
        return 1.0 / self._operator.eigvals()

    def _linop_inverse(self) -> LinearOperator:
        return self._operator

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        return left_operator.operator.matmul(right_operator)  # type: ignore[no-any-return]

"""LinearOperatorComposition: products kept as factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.shapes import Shape
from pinnace.linear_operators import algebra, batches, lists
from pinnace.linear_operators.compound import Compound
from pinnace.linear_operators.specs import composite
from pinnace.linear_operators.triangular import LinearOperatorLowerTriangular
from pinnace.ops.array import joining, reshaping
from pinnace.ops.math import polar

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hints
    from pinnace.linear_operators.operator import LinearOperator

__all__ = ["LinearOperatorComposition"]


@composite
class LinearOperatorComposition(Compound):
    """The product of operators; the last one is applied first.

    Products and solutions cost what those of all operators cost.

    Args:
        operators: one or more, of one dtype; each has as many rows as the one before has columns.
        is_non_singular: hint, see `LinearOperator`; true if those of all operators are.
        is_self_adjoint: hint; true for one operator with it, and for A Aᴴ.
        is_positive_definite: hint; true for A Aᴴ that is not singular.
        is_square: hint; true for A Aᴴ.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: the operators differ in dtype.
        ValueError: the list is empty, sizes do not fit, or a hint is wrong.
    """

    _joint = "_o_"

    def _implied(self, operators: list[LinearOperator], given: Hints) -> Hints:
        symmetric = algebra.is_symmetric_product(operators)
        if all(operator.is_non_singular for operator in operators):
            given["is_non_singular"] = lists.implied(
                given["is_non_singular"], "composition of non-singular operators", "non-singular"
            )
        if symmetric or (len(operators) == 1 and operators[0].is_self_adjoint):
            given["is_self_adjoint"] = lists.implied(
                given["is_self_adjoint"], "composition A @ A.H", "self-adjoint"
            )
        if symmetric:
            given["is_square"] = lists.implied(given["is_square"], "composition A @ A.H", "square")
            if given["is_non_singular"]:
                given["is_positive_definite"] = lists.implied(
                    given["is_positive_definite"],
                    "non-singular composition A @ A.H",
                    "positive-definite",
                )
        return given

    def _shape(self) -> Shape:
        columns = self._operators[0].domain_dimension
        for operator in self._operators[1:]:
            rows = operator.range_dimension
            if None not in {rows, columns} and rows != columns:
                raise ValueError(
                    f"{self.name}: Dimensions {columns} and {rows} are not compatible: an operator "
                    "must have as many rows as the one before it has columns"
                )
            columns = operator.domain_dimension
        batch = batches.static([operator.batch_shape for operator in self._operators])
        return batch.concatenate(Shape([self._operators[0].range_dimension, columns]))

    def _shape_tensor(self) -> Tensor:
        sizes = joining.stack(
            [
                self._operators[0].range_dimension_tensor(),
                self._operators[-1].domain_dimension_tensor(),
            ]
        )
        batch = batches.dynamic([operator.batch_shape_tensor() for operator in self._operators])
        return joining.concat([batch, sizes], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        order = list(self._operators) if adjoint else list(reversed(self._operators))
        result: Any = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        order = list(reversed(self._operators)) if adjoint else list(self._operators)
        result: Any = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.solve(result, adjoint=adjoint)
        return result

    def _determinant(self) -> Tensor:
        if not self._all_square():
            return super()._determinant()
        return lists.product([operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        if not self._all_square():
            return super()._log_abs_determinant()
        logs = [operator.log_abs_determinant() for operator in self._operators]
        return lists.total_of_logs(logs, self.dtype)

    def _assert_non_singular(self) -> None:
        if not self._all_square():
            super()._assert_non_singular()
            return
        for operator in self._operators:
            operator.assert_non_singular()

    def _linop_cholesky(self) -> LinearOperator:
        first = self._operators[0]
        if (
            len(self._operators) != 2
            or not isinstance(first, LinearOperatorLowerTriangular)
            or not algebra.is_symmetric_product(self._operators)
        ):
            return super()._linop_cholesky()
        if first.is_positive_definite:
            return first
        # L Lᴴ is a Cholesky factorization once the columns of L have positive diagonal entries.
        diagonal = first.diag_part()
        sign = diagonal / polar.abs(diagonal) if not first.dtype.is_complex else None
        if sign is None:
            return super()._linop_cholesky()
        return LinearOperatorLowerTriangular(
            first.tril / reshaping.expand_dims(sign, -2),
            is_non_singular=first.is_non_singular,
            is_self_adjoint=first.is_self_adjoint,
            is_square=True,
        )

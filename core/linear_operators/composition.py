"""LinearOperatorComposition: products that are not multiplied out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.shapes import Shape
from pinnace.linear_operators import algebra, batches, lists
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments
from pinnace.linear_operators.specs import composite
from pinnace.linear_operators.triangular import LinearOperatorLowerTriangular
from pinnace.ops.array import joining, reshaping
from pinnace.ops.math import polar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorComposition"]


@composite
class LinearOperatorComposition(LinearOperator):
    """The product of operators, the last of which is applied first.

    Products and solutions cost what those of all operators cost.

    Args:
        operators: one or more, of one dtype; each has as many rows as the one before it columns.
        is_non_singular: hint, see `LinearOperator`; true if those of all operators are.
        is_self_adjoint: hint; true for one operator with it, and for A Aᴴ.
        is_positive_definite: hint; true for A Aᴴ that is not singular.
        is_square: hint; true for A Aᴴ.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: the operators differ in dtype.
        ValueError: there is none, their sizes do not fit, or a hint is wrong.
    """

    _fields = ("operators",)

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
        given = lists.checked("LinearOperatorComposition", operators)
        symmetric = algebra.is_symmetric_product(given)
        if all(operator.is_non_singular for operator in given):
            is_non_singular = lists.implied(
                is_non_singular, "composition of non-singular operators", "non-singular"
            )
        if symmetric or (len(given) == 1 and given[0].is_self_adjoint):
            is_self_adjoint = lists.implied(is_self_adjoint, "composition A @ A.H", "self-adjoint")
        if symmetric:
            is_square = lists.implied(is_square, "composition A @ A.H", "square")
            if is_non_singular:
                is_positive_definite = lists.implied(
                    is_positive_definite, "non-singular composition A @ A.H", "positive-definite"
                )
        self._operators: Any = list(given)
        super().__init__(
            dtype=given[0].dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name or "_o_".join(operator.name for operator in given),
            parameters=parameters,
        )

    @property
    def operators(self) -> Any:
        """The factors, a list."""
        return self._operators

    def _shape(self) -> Shape:
        columns = self._operators[0].domain_dimension
        for operator in self._operators[1:]:
            rows = operator.range_dimension
            if None not in {rows, columns} and rows != columns:
                raise ValueError(
                    f"{self.name}: Dimensions {columns} and {rows} are not compatible: an operator "
                    "must have as many rows as the one before it columns"
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

    def _part_ranks(self) -> dict[str, Any]:
        return {"operators": [0] * len(self._operators)}

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

    def _all_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

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
        # L Lᴴ is that: it takes columns with a positive diagonal.
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

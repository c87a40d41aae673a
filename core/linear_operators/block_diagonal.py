"""LinearOperatorBlockDiag: operators along the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, hints, lists
from pinnace.linear_operators.blocks import OfBlocks, joined_vectors, zeros_beside
from pinnace.linear_operators.compound import Separable
from pinnace.linear_operators.parameters import constructor_arguments
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import joining

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.operator import LinearOperator

__all__ = ["LinearOperatorBlockDiag"]


@composite
class LinearOperatorBlockDiag(Separable, OfBlocks):
    """Operators along the diagonal and zeros elsewhere: their direct sum.

    Products, solutions and determinants cost those of the operators.

    Args:
        operators: one or more, of one dtype.
        is_non_singular: hint, see `LinearOperator`; true if those of all operators are.
        is_self_adjoint: hint, likewise.
        is_positive_definite: hint, likewise.
        is_square: hint.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: the operators differ in dtype.
        ValueError: the list is empty, or a hint is wrong.
    """

    _joint = "_ds_"
    _whole = "direct sum"

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str | None = None,
    ) -> None:
        super().__init__(**constructor_arguments(locals()))

    def _diagonal(self) -> list[LinearOperator]:
        return self._operators  # type: ignore[no-any-return]

    def _shape(self) -> Shape:
        batch = batches.static([operator.batch_shape for operator in self._operators])
        rows = self._known_sizes(of_rows=True)
        columns = self._known_sizes(of_rows=False)
        return batch.concatenate(Shape([_sum(rows), _sum(columns)]))

    def _shape_tensor(self) -> Tensor:
        batch = batches.dynamic([operator.batch_shape_tensor() for operator in self._operators])
        rows = lists.total([one.range_dimension_tensor() for one in self._operators])
        columns = lists.total([one.domain_dimension_tensor() for one in self._operators])
        return joining.concat([batch, [rows], [columns]], 0)

    def _times_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        return [
            operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, x in zip(self._operators, xs, strict=True)
        ]

    def _solved_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        return [
            operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, x in zip(self._operators, xs, strict=True)
        ]

    def _determinant(self) -> Tensor:
        self._check_blocks("determinant")
        return lists.product([operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        self._check_blocks("log_abs_determinant")
        logs = [operator.log_abs_determinant() for operator in self._operators]
        return lists.total_of_logs(logs, self.dtype)

    def _diag_part(self) -> Tensor:
        self._check_blocks("diag_part")
        return joined_vectors([operator.diag_part() for operator in self._operators])

    def _trace(self) -> Tensor:
        self._check_blocks("trace")
        return lists.total([operator.trace() for operator in self._operators])

    def _eigvals(self) -> Tensor:
        self._check_blocks("eigvals")
        return joined_vectors([operator.eigvals() for operator in self._operators])

    def _to_dense(self) -> Tensor:
        blocks = batches.broadcast([operator.to_dense() for operator in self._operators])
        rows = []
        for i, block in enumerate(blocks):
            # Zeros with the rows of this block and the columns of each other block.
            parts = [
                block if j == i else zeros_beside(block, other) for j, other in enumerate(blocks)
            ]
            rows.append(joining.concat(parts, -1))
        return joining.concat(rows, -2)

    def _check_blocks(self, method: str) -> None:
        if any(operator.is_square is False for operator in self._operators):
            raise NotImplementedError(
                f"{self.name}: `{method}` not implemented for an operator whose blocks are not "
                "square.\n  Try: operator.to_dense()"
            )

    def _assert_positive_definite(self) -> None:
        for operator in self._operators:
            operator.assert_positive_definite()

    def _of(self, operators: list[Any], **found: Any) -> LinearOperator:
        return LinearOperatorBlockDiag(operators, **found)

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        if not isinstance(right_operator, LinearOperatorBlockDiag):
            return super()._linop_matmul(left_operator, right_operator)
        return _blockwise(left_operator, right_operator, "matmul")

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        if not isinstance(right_operator, LinearOperatorBlockDiag):
            return super()._linop_solve(left_operator, right_operator)
        return _blockwise(left_operator, right_operator, "solve")


def _blockwise(left: Any, right: Any, method: str) -> LinearOperator:
    """The blocks of one operator, applied to those of another.

    Raises:
        ValueError: the blocks differ in number or size.
    """
    if len(left.operators) != len(right.operators):
        raise ValueError(
            f"{left.name}.{method}: Can not efficiently {method} two `LinearOperatorBlockDiag`s "
            f"when number of blocks differ, got {len(left.operators)} and {len(right.operators)}"
        )
    return LinearOperatorBlockDiag(
        [
            getattr(one, method)(other)
            for one, other in zip(left.operators, right.operators, strict=True)
        ],
        is_non_singular=hints.non_singular(left, right),
        is_square=True,
    )


def _sum(sizes: list[int | None]) -> int | None:
    return None if None in sizes else sum(size for size in sizes if size is not None)

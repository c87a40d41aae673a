"""LinearOperatorBlockLowerTriangular: blocks of operators, with zeros above the diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, hints, lists
from pinnace.linear_operators.addition import negated, total
from pinnace.linear_operators.blocks import OfBlocks, joined_vectors, zeros_beside
from pinnace.linear_operators.parameters import constructor_arguments
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import joining
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import exponents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.operator import LinearOperator

__all__ = ["LinearOperatorBlockLowerTriangular"]


@composite
class LinearOperatorBlockLowerTriangular(OfBlocks):
    """Operators in blocks, and zeros above the diagonal.

    Products cost those of all blocks; solutions cost those of the blocks of the diagonal, and the
    products of the others; determinants cost those of the diagonal.

    Args:
        operators: one list per row of blocks, row i of i + 1 operators; all of one dtype, those of
            the diagonal square, and those of a row and of a column of one size.
        is_non_singular: hint, see `LinearOperator`; the blocks of the diagonal settle it.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: the operators differ in dtype.
        ValueError: rows are of the wrong length, sizes do not fit, or a hint is wrong.
    """

    _fields = ("operators",)

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        parameters = constructor_arguments(locals())
        rows = [list(row) for row in operators]
        if not rows:
            raise ValueError(f"{name}: Argument `operators` must be a list of >=1 operators.")
        for i, row in enumerate(rows):
            if len(row) != i + 1:
                raise ValueError(
                    f"{name}: Argument `operators[{i}]` must contain {i + 1} blocks.  "
                    f"Received: {len(row)} blocks."
                )
        lists.same_dtype(name, [operator for row in rows for operator in row])
        self._operators: Any = rows
        super().__init__(
            dtype=rows[0][0].dtype,
            is_non_singular=_non_singular(name, rows, is_non_singular),
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=_square(name, rows, is_square),
            name=name,
            parameters=parameters,
        )
        _check_sizes(name, rows)

    @property
    def operators(self) -> Any:
        """The rows of blocks, a list of lists."""
        return self._operators

    def _diagonal(self) -> list[LinearOperator]:
        return [row[-1] for row in self._operators]

    def _all_blocks(self) -> list[LinearOperator]:
        return [operator for row in self._operators for operator in row]

    def _shape(self) -> Shape:
        batch = batches.static([operator.batch_shape for operator in self._all_blocks()])
        sizes = self._known_sizes(of_rows=True)
        order = None if None in sizes else sum(size for size in sizes if size is not None)
        return batch.concatenate(Shape([order, order]))

    def _shape_tensor(self) -> Tensor:
        batch = batches.dynamic([one.batch_shape_tensor() for one in self._all_blocks()])
        order = lists.total([one.domain_dimension_tensor() for one in self._diagonal()])
        return joining.concat([batch, [order], [order]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"operators": [[0] * len(row) for row in self._operators]}

    def _times_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        count = len(xs)
        found = []
        for i in range(count):
            # Row i of the adjoint consists of the blocks at and below the diagonal in column i.
            pairs = (
                [(self._operators[j][i], xs[j]) for j in range(i, count)]
                if adjoint
                else [(self._operators[i][j], xs[j]) for j in range(i + 1)]
            )
            found.append(
                lists.total(
                    [
                        operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
                        for operator, x in pairs
                    ]
                )
            )
        return found

    def _solved_blocks(self, xs: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        if adjoint_arg:
            xs = [adjoint_of(x) for x in xs]
        count = len(xs)
        found: dict[int, Any] = {}
        for i in reversed(range(count)) if adjoint else range(count):
            rest = xs[i]
            for j, known in found.items():
                block = self._operators[j][i] if adjoint else self._operators[i][j]
                rest = rest - block.matmul(known, adjoint=adjoint)
            found[i] = self._operators[i][i].solve(rest, adjoint=adjoint)
        return [found[i] for i in range(count)]

    def _determinant(self) -> Tensor:
        diagonal = self._diagonal()
        if all(operator.is_positive_definite for operator in diagonal):
            return exponents.exp(self._log_abs_determinant())
        return lists.product([operator.determinant() for operator in diagonal])

    def _log_abs_determinant(self) -> Tensor:
        logs = [operator.log_abs_determinant() for operator in self._diagonal()]
        return lists.total_of_logs(logs, self.dtype)

    def _diag_part(self) -> Tensor:
        return joined_vectors([operator.diag_part() for operator in self._diagonal()])

    def _trace(self) -> Tensor:
        return lists.total([operator.trace() for operator in self._diagonal()])

    def _eigvals(self) -> Tensor:
        return joined_vectors([operator.eigvals() for operator in self._diagonal()])

    def _to_dense(self) -> Tensor:
        rows = []
        blocks = iter(batches.broadcast([operator.to_dense() for operator in self._all_blocks()]))
        dense = [[next(blocks) for _ in row] for row in self._operators]
        for i, row in enumerate(dense):
            zeros = [zeros_beside(row[-1], later[-1]) for later in dense[i + 1 :]]
            rows.append(joining.concat([*row, *zeros], -1))
        return joining.concat(rows, -2)

    def _assert_non_singular(self) -> None:
        for operator in self._diagonal():
            operator.assert_non_singular()

    def _linop_inverse(self) -> LinearOperator:
        """The inverse, row by row, by forward substitution."""
        found: list[list[LinearOperator]] = []
        for i, row in enumerate(self._operators):
            last = row[-1].inverse()
            new = []
            for j in range(i):
                parts = [row[k].matmul(found[k][j]) for k in range(j, i)]
                new.append(negated(last).matmul(last.matmul(total(parts))))
            found.append([*new, last])
        return LinearOperatorBlockLowerTriangular(found, **hints.hints_of(self))


def _non_singular(name: str, rows: list[list[LinearOperator]], given: Hint) -> Hint:
    found = [row[-1].is_non_singular for row in rows]
    if all(found):
        message = f"{name}: non-singular operators on the diagonal make it non-singular."
        return hints.always(given, True, message)
    if any(one is False for one in found):
        message = f"{name}: a singular operator on the diagonal makes it singular."
        return hints.always(given, False, message)
    return given


def _square(name: str, rows: list[list[LinearOperator]], given: Hint) -> Hint:
    for i, row in enumerate(rows):
        if row[-1].is_square is False:
            raise ValueError(
                f"{name}: Matrices on the diagonal must be square, but operators[{i}][-1].is_square"
                " is False."
            )
    return hints.always(given, True, f"{name} must be square.")


def _check_sizes(name: str, rows: list[list[LinearOperator]]) -> None:
    """Raise for blocks that differ in size within a row or column.

    Raises:
        ValueError: the sizes differ.
    """
    for i, row in enumerate(rows):
        for j, operator in enumerate(row[:-1]):
            for other, dimension, where in (
                (row[-1], "range_dimension", f"operators[{i}][{i}]"),
                (rows[j][-1], "domain_dimension", f"operators[{j}][{j}]"),
            ):
                mine, theirs = getattr(operator, dimension), getattr(other, dimension)
                if None not in {mine, theirs} and mine != theirs:
                    raise ValueError(
                        f"{name}: Argument `operators[{i}][{j}].{dimension}` ({mine}) must be the "
                        f"same as `{where}.{dimension}` ({theirs})."
                    )

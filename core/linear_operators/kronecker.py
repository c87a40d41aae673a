"""LinearOperatorKronecker: Kronecker products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, lists
from pinnace.linear_operators.compound import Separable
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.linalg.matrices import matrix_transpose
from pinnace.ops.math import complexes, exponents

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.operator import LinearOperator

__all__ = ["LinearOperatorKronecker"]


@composite
class LinearOperatorKronecker(Separable):
    """The Kronecker product of operators; its sizes are the products of theirs.

    Products and solutions cost those of the operators, each with the product of the others' sizes
    as the number of columns.

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

    _joint = "_x_"
    _whole = "Kronecker product"

    def _shape(self) -> Shape:
        batch = batches.static([operator.batch_shape for operator in self._operators])
        rows, columns = 1, 1
        for operator in self._operators:
            rows = _times(rows, operator.range_dimension)  # type: ignore[assignment]
            columns = _times(columns, operator.domain_dimension)  # type: ignore[assignment]
        return batch.concatenate(Shape([rows, columns]))

    def _shape_tensor(self) -> Tensor:
        batch = batches.dynamic([operator.batch_shape_tensor() for operator in self._operators])
        rows = lists.product([one.range_dimension_tensor() for one in self._operators])
        columns = lists.product([one.domain_dimension_tensor() for one in self._operators])
        return joining.concat([batch, [rows], [columns]], 0)

    def _applied(self, x: Tensor, method: str, adjoint: bool, adjoint_arg: bool) -> Tensor:
        """Each operator, applied to its own axis of the rows n₁ n₂ ⋯ of x.

        The axis of the first operator is in front; the others and the columns behind it count as
        columns. After its product the axis is moved behind all others, so that the next one is in
        front.
        """
        x = adjoint_of(x) if adjoint_arg else x
        columns = batches.sizes_of(x.shape[-1:], lambda: shapes.shape(x)[-1:])
        of_rows = (method == "solve") is not adjoint
        for operator in self._operators:
            known = operator.range_dimension if of_rows else operator.domain_dimension
            if known is None:
                known = (
                    operator.range_dimension_tensor()
                    if of_rows
                    else operator.domain_dimension_tensor()
                )
            x = _in_front(x, known)
            x = matrix_transpose(getattr(operator, method)(x, adjoint=adjoint))
        # At this point the columns precede the rows.
        return matrix_transpose(_in_front(x, columns[0]))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(x, "matmul", adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._applied(rhs, "solve", adjoint, adjoint_arg)

    def _powers(self) -> list[tuple[LinearOperator, Tensor]]:
        """Each operator, with the multiplicity of its eigenvalues in the product."""
        total = self.domain_dimension_tensor()
        return [
            (one, cast(total // one.domain_dimension_tensor(), self.dtype))
            for one in self._operators
        ]

    def _determinant(self) -> Tensor:
        if not self._all_square():
            return super()._determinant()
        return lists.product(
            [exponents.pow(one.determinant(), power) for one, power in self._powers()]
        )

    def _log_abs_determinant(self) -> Tensor:
        if not self._all_square():
            return super()._log_abs_determinant()
        pairs = [(one.log_abs_determinant(), power) for one, power in self._powers()]
        return lists.total_of_logs(
            [log * cast(complexes.real(power), log.dtype) for log, power in pairs], self.dtype
        )

    def _trace(self) -> Tensor:
        if not self._all_square():
            return super()._trace()
        return lists.product([operator.trace() for operator in self._operators])

    def _diag_part(self) -> Tensor:
        if not self._all_square():
            return super()._diag_part()
        return _outer([operator.diag_part() for operator in self._operators])

    def _eigvals(self) -> Tensor:
        return _outer([operator.eigvals() for operator in self._operators])

    def _to_dense(self) -> Tensor:
        dense = [operator.to_dense() for operator in self._operators]
        whole: Tensor = dense[0]
        for one in dense[1:]:
            whole = whole[..., :, None, :, None] * one[..., None, :, None, :]
            sizes = shapes.shape(whole)
            rows, columns = sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]
            if whole.shape.is_fully_defined():
                found: Any = whole.shape.as_list()
                found = [*found[:-4], found[-4] * found[-3], found[-2] * found[-1]]
            else:
                found = joining.concat([sizes[:-4], [rows], [columns]], 0)
            whole = reshaping.reshape(whole, found)
        return whole

    def _assert_non_singular(self) -> None:
        self._check_factors("invertible")
        super()._assert_non_singular()

    def _assert_self_adjoint(self) -> None:
        self._check_factors("self-adjoint")
        super()._assert_self_adjoint()

    def _check_factors(self, what: str) -> None:
        if not self._all_square():
            raise InvalidArgumentError(
                f"{self.name}: All Kronecker factors must be square for the product to be {what}."
            )

    def _of(self, operators: list[Any], **found: Any) -> LinearOperator:
        return LinearOperatorKronecker(operators, **found)


def _times(m: int | None, n: int | None) -> int | None:
    return None if m is None or n is None else m * n


def _in_front(x: Tensor, size: Any) -> Tensor:
    """[..., a, b] as [..., size, ab / size]."""
    known = x.shape
    if known.is_fully_defined() and type(size) is int:
        sizes = known.as_list()
        rest = sizes[-2] * sizes[-1] // size if size else 0  # type: ignore[operator] # known
        return reshaping.reshape(x, [*sizes[:-2], size, rest])
    vector = shapes.shape(x)
    return reshaping.reshape(x, joining.concat([vector[:-2], [size], [-1]], 0))


def _outer(parts: list[Tensor]) -> Tensor:
    """All products of one entry each of [..., n₁], [..., n₂], ...: [..., n₁ n₂ ⋯]."""
    whole = parts[0]
    for part in parts[1:]:
        table = whole[..., :, None] * part[..., None, :]
        if table.shape.is_fully_defined():
            sizes: Any = table.shape.as_list()
            whole = reshaping.reshape(table, [*sizes[:-2], sizes[-2] * sizes[-1]])
        else:
            whole = reshaping.reshape(table, joining.concat([shapes.shape(table)[:-2], [-1]], 0))
    return whole

"""LinearOperatorZeros: matrices of zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import as_dtype, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.linear_operators import algebra, batches, sizes
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, joining, shapes
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorZeros"]


@composite
class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros, [*batch_shape, m, n].

    Args:
        num_rows: m, a number or integer scalar.
        num_columns: n, likewise; m if None.
        batch_shape: a shape or integer vector; no batch if None.
        dtype: dtype of the entries; float32 if None.
        is_non_singular: hint, see `LinearOperator`; always false.
        is_self_adjoint: hint; always true of square ones.
        is_positive_definite: hint; always false.
        is_square: hint; to be false where n is not m.
        assert_proper_shapes: whether sizes that are known only when a graph runs are checked then.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative or of the wrong rank, or a hint is wrong.
    """

    _fields = ("num_rows", "num_columns", "batch_shape", "dtype", "assert_proper_shapes")
    _static_fields = ("num_rows", "num_columns", "batch_shape")
    _is_zero = True

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: Hint = False,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = False,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        parameters = constructor_arguments(locals())
        if not is_self_adjoint and is_square:
            raise ValueError(f"{name}: A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError(f"{name}: A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError(f"{name}: A zero operator is always not positive-definite.")
        self._check = assert_proper_shapes
        columns = num_rows if num_columns is None else num_columns
        self._rows = sizes.Sizes(name, "num_rows", num_rows, 0, assert_proper_shapes)
        self._columns = sizes.Sizes(name, "num_columns", columns, 0, assert_proper_shapes)
        self._batch = (
            None
            if batch_shape is None
            else sizes.Sizes(name, "batch_shape", batch_shape, 1, assert_proper_shapes)
        )
        known = {self._rows.known, self._columns.known}
        if is_square and None not in known and len(known) == 2:
            raise ValueError(
                f"{name}: LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({self._rows.known}) != num_columns({self._columns.known})"
            )
        super().__init__(
            dtype=float32 if dtype is None else as_dtype(dtype),
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
            parameters=parameters,
        )

    def _shape(self) -> Shape:
        batch = Shape([]) if self._batch is None else self._batch.shape
        return batch.concatenate(Shape([self._rows.known, self._columns.known]))

    def _shape_tensor(self) -> Tensor:
        batch = [] if self._batch is None else [self._batch.vector]
        return joining.concat([*batch, self._rows.vector, self._columns.vector], 0)

    def _field(self, name: str) -> Any:
        if name == "batch_shape":
            return Shape([]) if self._batch is None else self._batch.spec_field
        found = {"num_rows": self._rows, "num_columns": self._columns}.get(name)
        return super()._field(name) if found is None else found.field

    def _zeros(self, *last: int) -> Tensor:
        """Zeros in the shape of the batch, followed by other sizes."""
        shape = batches.joined(self._batch_sizes(), list(last)) if last else self._batch_sizes()
        return constants.zeros(shape, self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        x = sizes.check_columns(self, x) if self._check and not adjoint else x
        rows = self._columns if adjoint else self._rows
        known = x.shape[:-2].concatenate(Shape([rows.known, x.shape[-1]])) if x.shape.rank else None
        if known is not None and known.is_fully_defined():
            shape: Any = known.as_list()
        else:
            sizes_ = shapes.shape(x)
            shape = joining.concat([sizes_[:-2], rows.vector, sizes_[-1:]], 0)
        zeros = constants.zeros(shape, self.dtype)
        return batches.with_batch(zeros, self.batch_shape, self.batch_shape_tensor)

    def _determinant(self) -> Tensor:
        return self._zeros()

    def _trace(self) -> Tensor:
        return self._zeros()

    def _to_dense(self) -> Tensor:
        return constants.zeros(batches.sizes_of(self.shape, self.shape_tensor), self.dtype)

    def _diag_part(self) -> Tensor:
        rows, columns = self._rows.known, self._columns.known
        if rows is not None and columns is not None:
            return self._zeros(min(rows, columns))
        least = reduction.reduce_min(self.shape_tensor()[-2:], keepdims=True)
        return constants.zeros(joining.concat([self.batch_shape_tensor(), least], 0), self.dtype)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return batches.with_batch(x, self.batch_shape, self.batch_shape_tensor)

    def _assert_non_singular(self) -> None:
        raise InvalidArgumentError(f"{self.name}: Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> None:
        raise InvalidArgumentError(f"{self.name}: Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> None:
        if not self.is_square:
            raise InvalidArgumentError(f"{self.name}: it is not square")

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        algebra.check_square_zeros(left_operator, right_operator)
        return left_operator  # type: ignore[no-any-return]

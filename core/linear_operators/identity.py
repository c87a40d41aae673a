"""LinearOperatorIdentity and LinearOperatorScaledIdentity: a constant diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype, float32
from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, checks, hints, sizes
from pinnace.linear_operators.diagonal import LinearOperatorDiag, add_diagonal, diagonal_factor
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, joining, reshaping, selecting, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import comparison, complexes, exponents, polar

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorIdentity", "LinearOperatorScaledIdentity"]


class OfOneSize(LinearOperator):
    """The base of both: square matrices whose size is given as a number."""

    _rows: sizes.Sizes
    _check = False

    def _square_shape(self) -> Shape:
        return Shape([self._rows.known, self._rows.known])

    def _square_sizes(self) -> Tensor:
        return joining.concat([self._rows.vector, self._rows.vector], 0)

    def _ones(self, *, diagonal: bool) -> Tensor:
        """Ones in the shape of the batch, or of all diagonals."""
        count = 1 if diagonal else 2
        known = self.shape if diagonal else self.batch_shape
        shape = known[:-1] if diagonal else known
        whole = batches.sizes_of(shape, lambda: self.shape_tensor()[:-count])
        return constants.ones(whole, self.dtype)

    def _argument_of(self, x: Tensor, adjoint_arg: bool) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return sizes.check_columns(self, x) if self._check else x

    def _field(self, name: str) -> Any:
        return self._rows.field if name == "num_rows" else super()._field(name)


@composite
class LinearOperatorIdentity(OfOneSize):
    """Identity matrices, [*batch_shape, n, n].

    Products and solutions cost nothing, except that tensors broadcast to the batch are copied.

    Args:
        num_rows: n, a number or integer scalar.
        batch_shape: a shape or integer vector; no batch if None.
        dtype: dtype of the entries; float32 if None.
        is_non_singular: hint, see `LinearOperator`; always true.
        is_self_adjoint: hint; always true.
        is_positive_definite: hint; always true.
        is_square: hint; always true.
        assert_proper_shapes: whether sizes that are known only when a graph runs are checked then.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative or of the wrong rank, or a hint is wrong.
    """

    _fields = ("num_rows", "batch_shape", "dtype", "assert_proper_shapes")
    _static_fields = ("num_rows", "batch_shape")
    _is_identity = True

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: Hint = True,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = True,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        parameters = constructor_arguments(locals())
        for given, word in (
            (is_self_adjoint, "self adjoint"),
            (is_non_singular, "non-singular"),
            (is_positive_definite, "positive-definite"),
            (is_square, "square"),
        ):
            if not given:
                raise ValueError(f"{name}: An identity operator is always {word}.")
        self._check = assert_proper_shapes
        self._rows = sizes.Sizes(name, "num_rows", num_rows, 0, assert_proper_shapes)
        self._batch = (
            None
            if batch_shape is None
            else sizes.Sizes(name, "batch_shape", batch_shape, 1, assert_proper_shapes)
        )
        super().__init__(
            dtype=float32 if dtype is None else as_dtype(dtype),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
            name=name,
            parameters=parameters,
        )

    def _shape(self) -> Shape:
        batch = Shape([]) if self._batch is None else self._batch.shape
        return batch.concatenate(self._square_shape())

    def _shape_tensor(self) -> Tensor:
        own = self._square_sizes()
        return own if self._batch is None else joining.concat([self._batch.vector, own], 0)

    def _field(self, name: str) -> Any:
        if name == "batch_shape":
            return Shape([]) if self._batch is None else self._batch.spec_field
        return super()._field(name)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        del adjoint  # it is its own adjoint
        x = self._argument_of(x, adjoint_arg)
        return batches.with_batch(x, self.batch_shape, self.batch_shape_tensor)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._ones(diagonal=False)

    def _log_abs_determinant(self) -> Tensor:
        return constants.zeros_like(self._ones(diagonal=False))

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), self.dtype) * self._ones(diagonal=False)

    def _diag_part(self) -> Tensor:
        return self._ones(diagonal=True)

    def _eigvals(self) -> Tensor:
        return self._ones(diagonal=True)

    def _cond(self) -> Tensor:
        return self._ones(diagonal=False)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return add_diagonal(x, constants.ones([1], self.dtype), self)

    def _assert_non_singular(self) -> None:
        """Do nothing: it always holds."""

    def _assert_positive_definite(self) -> None:
        """Do nothing: it always holds."""

    def _assert_self_adjoint(self) -> None:
        """Do nothing: it always holds."""

    def _linop_inverse(self) -> LinearOperator:
        return self

    def _linop_cholesky(self) -> LinearOperator:
        return self

    def _linop_matmul(self, left_operator: Any, right_operator: LinearOperator) -> LinearOperator:
        del left_operator
        return right_operator

    def _linop_solve(self, left_operator: Any, right_operator: LinearOperator) -> LinearOperator:
        del left_operator
        return right_operator


@composite
class LinearOperatorScaledIdentity(OfOneSize):
    """Multiples of the identity matrix, [..., n, n].

    Products and solutions cost O(n r) for r columns, the determinant O(1).

    Args:
        num_rows: n, a number or integer scalar.
        multiplier: [...], any float or complex dtype: the number on the diagonal.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; a real multiplier settles it.
        is_positive_definite: hint.
        is_square: hint; always true.
        assert_proper_shapes: whether sizes that are known only when a graph runs are checked then.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: `num_rows` is not an integer.
        ValueError: the number of rows is negative or no scalar, or a hint is wrong.
    """

    _fields = ("num_rows", "multiplier", "assert_proper_shapes")
    _static_fields = ("num_rows",)

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._check = assert_proper_shapes
        self._multiplier = kept(multiplier)
        if not self._multiplier.dtype.is_complex:
            message = "A real diagonal operator is always self adjoint."
            is_self_adjoint = hints.always(is_self_adjoint, True, message)
        if not is_square:
            raise ValueError(f"{name}: A ScaledIdentity operator is always square.")
        self._rows = sizes.Sizes(name, "num_rows", num_rows, 0, assert_proper_shapes)
        super().__init__(
            dtype=self._multiplier.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=True,
            name=name,
            parameters=parameters,
        )

    @property
    def multiplier(self) -> Any:
        """The number on the diagonal, [...]."""
        return self._multiplier

    def _shape(self) -> Shape:
        return self._multiplier.shape.concatenate(self._square_shape())  # type: ignore[no-any-return]

    def _shape_tensor(self) -> Tensor:
        return joining.concat([shapes.shape(self._multiplier), self._square_sizes()], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"multiplier": 0}

    def _factor(self, conjugate: bool) -> Tensor:
        """The multiplier, [..., 1, 1]."""
        number = convert_to_tensor(self._multiplier)
        number = complexes.conj(number) if conjugate else number
        return reshaping.expand_dims(reshaping.expand_dims(number, -1), -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._argument_of(x, adjoint_arg) * self._factor(adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._argument_of(rhs, adjoint_arg) / self._factor(adjoint)

    def _determinant(self) -> Tensor:
        return exponents.pow(self._multiplier, cast(self.domain_dimension_tensor(), self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        # TensorFlow: in the real dtype, unlike LinearOperatorDiag.
        logs = exponents.log(polar.abs(self._multiplier))
        return cast(self.domain_dimension_tensor(), logs.dtype) * logs

    def _trace(self) -> Tensor:
        return self._multiplier * cast(self.domain_dimension_tensor(), self.dtype)  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        return self._ones(diagonal=True) * reshaping.expand_dims(self._multiplier, -1)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _cond(self) -> Tensor:
        # TensorFlow: in the operator's own dtype.
        one = constants.ones_like(self._multiplier)
        return selecting.where(comparison.equal(self._multiplier, 0), one * np.nan, one)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return add_diagonal(x, reshaping.expand_dims(self._multiplier, -1), self)

    def _assert_non_singular(self) -> None:
        checks.assert_no_zeros(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> None:
        assertions.assert_positive(
            complexes.real(self._multiplier), "LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self) -> None:
        checks.assert_real(self._multiplier, "LinearOperator was not self-adjoint")

    def _like(self, multiplier: Any, found: Any) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows.field, multiplier, **found)

    def _linop_adjoint(self) -> LinearOperator:
        return self._like(complexes.conj(self._multiplier), hints.hints_of(self))

    def _linop_inverse(self) -> LinearOperator:
        return self._like(1.0 / self._multiplier, hints.hints_of(self))

    def _linop_cholesky(self) -> LinearOperator:
        root = exponents.sqrt(self._multiplier)
        return self._like(root, {"is_non_singular": True, "is_self_adjoint": True})

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        found = hints.commuting(left_operator, right_operator)
        if isinstance(right_operator, LinearOperatorScaledIdentity):
            return self._like(left_operator.multiplier * right_operator.multiplier, found)
        if isinstance(right_operator, LinearOperatorDiag):
            factor = diagonal_factor(left_operator)
            return LinearOperatorDiag(right_operator.diag * factor, **found)
        return super()._linop_matmul(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        found = hints.commuting(left_operator, right_operator)
        if isinstance(right_operator, LinearOperatorScaledIdentity):
            return self._like(right_operator.multiplier / left_operator.multiplier, found)
        if isinstance(right_operator, LinearOperatorDiag):
            factor = diagonal_factor(left_operator)
            return LinearOperatorDiag(right_operator.diag / factor, **found)
        return super()._linop_solve(left_operator, right_operator)

"""LinearOperatorPermutation: rows in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32
from pinnace.graph.static_values import get_static_value
from pinnace.linear_operators import batches, hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, gathering, joining, reshaping, shapes, sorting
from pinnace.ops.array.casting import cast
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import comparison, ranges

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorPermutation"]


@composite
class LinearOperatorPermutation(LinearOperator):
    """Permutation matrices, [..., n, n]: row i of A x is row perm[i] of x.

    Products and solutions cost O(n r) for r columns.

    Args:
        perm: [..., n], integers: each of 0 to n - 1 once.
        dtype: of the entries.
        is_non_singular: hint, see `LinearOperator`; always true.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: `perm` is not of an integer dtype.
        ValueError: it is no permutation, or a hint is wrong.
    """

    _fields = ("perm", "dtype")

    def __init__(
        self,
        perm: Any,
        dtype: Any = float32,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._perm = kept(perm)
        self._check_perm(name)
        what = "A Permutation operator is always"
        if is_non_singular is False:
            raise ValueError(f"{name}: {what} non-singular.")
        super().__init__(
            dtype=dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=hints.always(is_square, True, f"{what} square."),
            name=name,
            parameters=parameters,
        )

    def _check_perm(self, name: str) -> None:
        check_rank(name, "`perm`", self._perm, 1)
        if not self._perm.dtype.is_integer:
            raise TypeError(
                f"{name}: Argument `perm` must be integer dtype.  Received: {self._perm.dtype.name}"
            )
        known = get_static_value(convert_to_tensor(self._perm))
        if known is not None and (np.sort(known, -1) != np.arange(known.shape[-1])).any():
            raise ValueError(
                f"{name}: Argument `perm` must be a vector of unique integers from 0 to "
                f"{known.shape[-1] - 1}, got {known.tolist()}"
            )

    @property
    def perm(self) -> Any:
        """The row of x that each row of A x is, [..., n]."""
        return self._perm

    def _shape(self) -> Shape:
        shape = self._perm.shape
        return shape.concatenate(shape[-1:])  # type: ignore[no-any-return]

    def _shape_tensor(self) -> Tensor:
        shape = shapes.shape(self._perm)
        return joining.concat([shape, shape[-1:]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"perm": 1}

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rows = convert_to_tensor(self._perm)
        if adjoint and not self.is_self_adjoint:
            rows = sorting.argsort(rows, axis=-1)
        x = adjoint_of(x) if adjoint_arg else x
        if rows.shape.rank == 1:
            return gathering.gather(x, rows, axis=-2)
        column, x = batches.broadcast([reshaping.expand_dims(rows, -1), x])
        # `gather` wants to know the number of batch axes: one does for all.
        sizes = shapes.shape(x)
        found = gathering.gather(
            reshaping.reshape(x, joining.concat([[-1], sizes[-2:]], 0)),
            reshaping.reshape(column, joining.concat([[-1], sizes[-2:-1]], 0)),
            axis=1,
            batch_dims=1,
        )
        return reshaping.reshape(found, shapes.sizes(x))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _log_abs_determinant(self) -> Tensor:
        return constants.zeros(self._batch_sizes(), self.dtype)

    def _places(self) -> Tensor:
        """0 to n - 1."""
        return ranges.range(0, self.domain_dimension_tensor(), dtype=self._perm.dtype)

    def _to_dense(self) -> Tensor:
        rows = reshaping.expand_dims(self._perm, -1)
        return cast(comparison.equal(self._places(), rows), self.dtype)

    def _diag_part(self) -> Tensor:
        return cast(comparison.equal(self._places(), self._perm), self.dtype)

    def _cond(self) -> Tensor:
        return constants.ones(self._batch_sizes(), self.dtype)

    def _assert_non_singular(self) -> None:
        """It always holds."""

"""The static properties of an operator: dtype, hints and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.context import name_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import batches
from pinnace.ops.array import shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint


class Described:
    """The base of LinearOperator with the constructor's arguments and the shapes."""

    if TYPE_CHECKING:  # of LinearOperator
        name: str
        _dtype: DType
        _graph_parents: list[Any]
        _hinted_square: Hint
        _is_non_singular: Hint
        _is_positive_definite: Hint
        _is_self_adjoint: Hint
        _parameters: dict[str, Any]
        _shape: Callable[[], Shape]
        _shape_tensor: Callable[[], Tensor]

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Any]:
        """The constructor's argument of this name."""
        return self._graph_parents

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def is_non_singular(self) -> Hint:
        """Whether there is an inverse; None if unknown."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> Hint:
        """Whether the matrix equals its conjugate transpose; None if unknown."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> Hint:
        """Whether the matrix is positive definite; None if unknown."""
        return self._is_positive_definite

    @property
    def is_square(self) -> Hint:
        """Whether the matrix is square; None if unknown.

        Raises:
            ValueError: the matrix is square, but the hint says that it is not.
        """
        rows, columns = self.range_dimension, self.domain_dimension
        seen = None if rows is None or columns is None else rows == columns
        if self._hinted_square is False and seen:
            raise ValueError(
                f"{self.name}: User set is_square hint to False, but the operator was square."
            )
        return seen if self._hinted_square is None else self._hinted_square

    @property
    def shape(self) -> Shape:
        """[..., m, n], as far as known."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """[..., m, n] as an int32 vector.

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._sizes(self.shape, self._shape_tensor)

    @property
    def batch_shape(self) -> Shape:
        """The axes before those of the matrix, as far as known."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The axes before those of the matrix as a vector of int32.

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._sizes(self.batch_shape, lambda: self.shape_tensor()[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes; None if unknown."""
        return self.shape.rank

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of axes as an int32 scalar.

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            rank = self.tensor_rank
            return shapes.size(self.shape_tensor()) if rank is None else convert_to_tensor(rank)

    @property
    def domain_dimension(self) -> int | None:
        """n, the number of columns; None if unknown."""
        return None if self.shape.rank is None else self.shape[-1]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """n, the number of columns, as an int32 scalar.

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            known = self.domain_dimension
            return self.shape_tensor()[-1] if known is None else convert_to_tensor(known)

    @property
    def range_dimension(self) -> int | None:
        """m, the number of rows; None if unknown."""
        return None if self.shape.rank is None else self.shape[-2]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """m, the number of rows, as an int32 scalar.

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            known = self.range_dimension
            return self.shape_tensor()[-2] if known is None else convert_to_tensor(known)

    def _named(self, name: str | None) -> AbstractContextManager[Any]:
        return name_scope(f"{self.name}/{name}" if name else self.name)

    def _sizes(self, known: Shape, unknown: Any) -> Tensor:
        """The sizes as an int32 vector, if all are known."""
        if known.is_fully_defined():
            return convert_to_tensor(np.array(known.as_list(), np.int32))
        return unknown()  # type: ignore[no-any-return]

    def _batch_sizes(self) -> Any:
        """The batch shape for ops: a list if it is fully known."""
        return batches.sizes_of(self.batch_shape, self.batch_shape_tensor)

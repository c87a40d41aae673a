"""Vectors of indices, as gather and scatter have them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.operands import Operand, constant, op, size_tensor
from pinnace.saved_model.stablehlo.lowering.shapes import transposed
from pinnace.saved_model.stablehlo.lowering.units import core_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.registry import Call


class Indices:
    """Vectors of indices: `batch` axes, along which there are vectors, then the vector.

    Args:
        call: the op.
        operand: the tensor that is indexed.
        vector_axis: the axis of the vectors; one past the last if each index is a vector.
    """

    def __init__(self, call: Call, operand: Operand, vector_axis: int) -> None:
        if not 0 <= vector_axis <= operand.rank:
            call.refuse(f"its indices have no axis {vector_axis}")
        self._vector_axis = vector_axis
        self._is_bare = vector_axis == operand.rank
        order = [*(n for n in range(operand.rank) if n != vector_axis), vector_axis]
        if not self._is_bare:
            operand = transposed(operand, order)
        known = operand.known
        # The only index there is, if it is a size.
        self.number: Dim | None = None if known is None or known.size != 1 else known.reshape(-1)[0]
        length = 1 if self._is_bare else operand.shape[-1]
        self.batch: tuple[Dim, ...] = operand.shape if self._is_bare else operand.shape[:-1]
        self._tensor = operand.full
        core = core_of(operand) if length == 1 and not self._is_bare else None
        if core is not None and core[1] == tuple(range(len(self.batch))):
            self._tensor, self._is_bare = core[0], True  # each vector is an index by itself
        if self._tensor.dtype not in {dtypes.int32, dtypes.int64}:
            self._tensor = as_type(self._tensor, dtypes.int64)
        if not isinstance(length, int):
            call.refuse("index vectors of unknown length are not translated")
        self.length = length

    @property
    def dtype(self) -> DType:
        """The indices' dtype, int32 or int64."""
        return self._tensor.dtype

    def wide(self) -> Indices:
        """These indices as int64."""
        found = copy.copy(self)
        found._tensor = as_type(self._tensor, dtypes.int64)
        return found

    def component(self, index: int) -> Tensor:
        """One component of all vectors."""
        return self._tensor if self._is_bare else self._tensor[..., index]

    def batch_axis(self, axis: int) -> int:
        """The position of an axis of the indices among the batch axes."""
        return axis - 1 if axis > self._vector_axis else axis

    def size(self, dim: Dim) -> Tensor:
        """A size as a scalar of the indices' dtype."""
        if isinstance(dim, int):
            return constant(dim, self.dtype)
        return as_type(size_tensor(dim), self.dtype)

    def clamped(self, index: int, most: Dim | None) -> Tensor:
        """One component, clamped from 0 to `most`."""
        limit = constant(0, self.dtype) if most is None else self.size(most)
        low = op("Minimum", self.component(index), limit)
        return op("Maximum", low, constant(0, self.dtype))

    def counted(self, dim: Dim, axis: int, rank: int) -> Tensor:
        """0, 1, 2, … along one axis of several."""
        if isinstance(dim, int) and dim < 1 << 16:
            numbers = constant(np.arange(dim), self.dtype)
        else:
            start, step = constant(0, self.dtype), constant(1, self.dtype)
            numbers = op("Range", start, self.size(dim), step)
        return op("Reshape", numbers, [-1, *[1] * (rank - axis - 1)])


def with_axes(x: Tensor, count: int) -> Tensor:
    """A tensor with this many axes of size 1 appended."""
    for _ in range(count):
        x = op("ExpandDims", x, -1)
    return x


def check_axes(call: Call, rank: int, *groups: Sequence[int]) -> None:
    """Check that axes are in range and unique."""
    named = [axis for group in groups for axis in group]
    if len(set(named)) != len(named) or any(not 0 <= axis < rank for axis in named):
        call.refuse(f"axes {named} must be unique and below {rank}")

"""Methods of ragged tensors defined in higher layers: construction, indexing, description.

Each creates ragged tensors by functions that need the class, so they are bound to it here;
`ragged/__init__` imports this file, so that every ragged tensor has them.
"""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.ops.composites.ragged import construction, indexing, shaping
from pinnace.ops.composites.ragged.spec import RaggedTensorSpec
from pinnace.ops.composites.ragged.tensor import RaggedTensor


def from_tensor(
    cls: type[RaggedTensor],
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """The rows of a tensor, without padding. See `ragged.construction`."""
    del cls
    return construction.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)


def from_sparse(
    cls: type[RaggedTensor],
    st_input: Any,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """The rows of a sparse matrix whose values begin at column 0 without gaps."""
    del cls
    return construction.from_sparse(st_input, name, row_splits_dtype)


def merge_dims(self: RaggedTensor, outer_axis: Any, inner_axis: Any) -> Any:
    """The tensor with the axes from outer_axis to inner_axis merged."""
    return shaping.merge_dims(self, outer_axis, inner_axis)


def _getitem(self: RaggedTensor, key: Any) -> Any:
    return indexing.getitem(self, key)


def _spec_of_shape(self: RaggedTensor, shape: Any) -> RaggedTensorSpec:
    return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)


RaggedTensor.from_tensor = classmethod(from_tensor)  # type: ignore[assignment,method-assign]
RaggedTensor.from_sparse = classmethod(from_sparse)  # type: ignore[assignment,method-assign]
RaggedTensor.merge_dims = merge_dims  # type: ignore[method-assign]
RaggedTensor.__getitem__ = _getitem  # type: ignore[method-assign]
RaggedTensor._spec_of_shape = _spec_of_shape  # type: ignore[method-assign]

"""The samples of a ragged or sparse tensor, sliced and selected like those of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


class CompositeRows:
    """A ragged or a sparse tensor with the part of an array's interface that batching needs.

    Args:
        value: [samples, ...], with values.
    """

    ndim: int

    def __init__(self, value: Any) -> None:
        self._value = value
        self.shape = tuple(value.shape)
        self.ndim = len(self.shape)
        self._sparse = hasattr(value, "dense_shape")
        if not self._sparse:
            self._size = int(value.nrows())
            return
        indices = value.indices.numpy()
        order = np.argsort(indices[:, 0], kind="stable")
        self._indices: Array = indices[order]
        self._values: Array = value.values.numpy()[order]
        self._sizes: Array = value.dense_shape.numpy()
        self._size = int(self._sizes[0])
        self._splits = np.searchsorted(self._indices[:, 0], np.arange(self._size + 1))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> CompositeRows:
        return self.take(np.arange(self._size)[part])

    def take(self, chosen: Array, axis: int = 0) -> CompositeRows:
        """The samples with these indices, in this order; `axis` must be 0, as for arrays."""
        assert axis == 0  # noqa: S101 - what batches ask for
        if not self._sparse:
            from pinnace.ops.composites.ragged.gathering import gather

            return CompositeRows(gather(self._value, np.asarray(chosen, np.int64)))
        from pinnace.ops.composites.sparse.tensor import SparseTensor

        starts = self._splits[chosen]
        counts = self._splits[np.asarray(chosen) + 1] - starts
        first = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum())) + np.repeat(starts - first, counts)
        indices = self._indices[places]
        indices[:, 0] = np.repeat(np.arange(len(counts)), counts)
        sizes = np.array([len(counts), *self._sizes[1:]], np.int64)
        return CompositeRows(SparseTensor(indices, self._values[places], sizes))

    def tensor(self) -> Any:
        """The samples as a ragged or sparse tensor."""
        return self._value

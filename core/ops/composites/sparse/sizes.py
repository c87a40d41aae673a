"""Size and rank of sparse tensors, counting zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import shapes
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.ops.composites.sparse.tensor import SparseTensor

__all__: list[str] = []


def size(input: SparseTensor, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of elements, including zeros; see `tf.size`."""
    sizes = shapes.shape(input, out_type)  # type: ignore[arg-type]  # it takes composites
    return reduction.reduce_prod(sizes, 0, name=name)


def rank(input: SparseTensor, name: str | None = None) -> Tensor:
    """The number of axes; see `tf.rank`."""
    return shapes.size(input.dense_shape, name=name)

"""Rows over a vocabulary that is not known yet: the last size is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import is_composite
from pinnace.ops.array import constants, joining, shapes
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def with_open_rows(x: Any) -> Any:
    """Rows with a last axis of unknown size in a graph.

    Args:
        x: a tensor or SparseTensor, [..., n], of a graph.

    Returns:
        The same, [..., ?].
    """
    open_shape = [*x.shape.as_list()[:-1], None]
    if not is_composite(x):
        opened: Tensor = execute(constants.PLACEHOLDER_WITH_DEFAULT, x, shape=open_shape)
        return opened
    # A size computed from the values, so that shape inference cannot know it.
    size = x.dense_shape[-1:] + 0 * shapes.size(x.values, out_type=x.dense_shape.dtype)
    sparse = type(x)(x.indices, x.values, joining.concat([x.dense_shape[:-1], size], 0))
    sparse.set_shape(open_shape)
    return sparse

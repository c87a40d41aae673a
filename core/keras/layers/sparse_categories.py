"""Category indices encoded as sparse rows, for vocabularies of any size.

The modules of sparse tensors are imported on first use: few models need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    joining,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.math import comparison, logic

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

_MATRIX = 2


def refuse_numbers(who: str, output_mode: str, sparse: bool) -> None:
    """Raise an error: category indices are never sparse.

    Raises:
        ValueError: the output is to be sparse.
    """
    if sparse and output_mode == "int":
        raise ValueError(
            f"{who}: `sparse` may only be true if `output_mode` is not 'int', got sparse=True and "
            "output_mode='int'\n  Try: output_mode='multi_hot', 'one_hot' or 'count'"
        )


def sparsely_encoded(x: Any, mode: str, depth: int, kind: DType, weights: Any = None) -> Any:
    """`categories.encoded` as a SparseTensor, in index order.

    Args:
        x: integers, [...], or samples of some elements each as a ragged or a sparse matrix; one
            of `depth` or more counts nowhere.
        mode: `one_hot`, `multi_hot` or `count`.
        depth: number of categories.
        kind: kind of the result.
        weights: factors of the counts, in the form of x.

    Raises:
        ValueError: `one_hot` of ragged or sparse categories, which are not of one length.
    """
    if is_composite(x):
        if mode == "one_hot":
            raise ValueError(
                "output_mode one_hot with sparse=True: categories must be a tensor, got "
                f"{type(x).__name__}\n  Try: output_mode='multi_hot', or x.to_tensor()"
            )
        return _counted(x, mode, depth, kind, weights)
    if not len(x.shape):
        x = reshaping.expand_dims(x, -1)
        weights = None if weights is None else reshaping.reshape(weights, [1])
    if mode == "one_hot":
        if len(x.shape) > 1 and x.shape[-1] == 1:
            x = reshaping.squeeze(x, [-1])
        return _ones(x, depth, kind)
    if len(x.shape) <= _MATRIX:
        return _counted(x, mode, depth, kind, weights)
    return _counted_over_second_axis(x, mode, depth, kind, weights)


def weighted(x: Any, weights: Tensor) -> Any:
    """The values of a sparse tensor times the weights of their categories, [depth]."""
    factors = gathering.gather(weights, x.indices[:, -1])
    return x.with_values(casting.cast(x.values, weights.dtype) * factors)


def _counted(x: Any, mode: str, depth: int, kind: DType, weights: Any) -> Any:
    """The counts of a vector, or of each row of a matrix."""
    from pinnace.ops.composites.sparse import counting, tensor

    if x.dtype not in dtypes.INDEX:
        x = casting.cast(x, dtypes.int64)
    if weights is not None and not is_composite(weights):
        weights = casting.cast(convert_to_tensor(weights), kind)
    found = counting.bincount(
        x,
        weights,
        axis=-1,
        minlength=depth,
        maxlength=depth,
        binary_output=mode == "multi_hot",
    )
    counts = tensor.SparseTensor(found.indices, casting.cast(found.values, kind), found.dense_shape)
    counts.set_shape([*x.shape.as_list()[:-1], depth])
    return counts


def _ones(x: Tensor, depth: int, kind: DType, weights: Any = None) -> Any:
    """A one, or the weight, at each index: [...] → [..., depth]."""
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    numbers = casting.cast(x, dtypes.int64)
    # Out-of-range indices are not allowed in a sparse tensor.
    places = selecting.where(
        logic.logical_and(comparison.greater_equal(numbers, 0), comparison.less(numbers, depth))
    )
    found = gathering.gather_nd(numbers, places)
    indices = joining.concat([places, reshaping.expand_dims(found, -1)], 1)
    if weights is None:
        values = constants.ones([shapes.shape(found)[0]], kind)
    else:
        values = casting.cast(gathering.gather_nd(convert_to_tensor(weights), places), kind)
    sizes = shapes.shape(x, out_type=dtypes.int64)
    made = SparseTensor(
        indices, values, joining.concat([sizes, constants.constant([depth], dtypes.int64)], 0)
    )
    made.set_shape([*x.shape.as_list(), depth])
    return made


def _counted_over_second_axis(x: Tensor, mode: str, depth: int, kind: DType, weights: Any) -> Any:
    """The counts over the second axis of higher ranks: [b, n, ...] → [b, ..., depth], as Keras."""
    from pinnace.ops.composites.sparse import arithmetic

    ones = _ones(x, depth, kind, weights)
    reduce = arithmetic.reduce_max if mode == "multi_hot" else arithmetic.reduce_sum
    found = reduce(ones, 1, output_is_sparse=True)
    sizes = x.shape.as_list()
    found.set_shape([sizes[0], *sizes[2:], depth])
    return found

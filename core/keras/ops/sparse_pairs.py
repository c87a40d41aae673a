"""Sums, products and quotients with a SparseTensor or IndexedSlices as an operand.

The first argument of each is the function of dense tensors. A sum of two sparse tensors has the
indices of both, a product those common to both; a sum of a sparse and a dense one is dense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.keras.result_types import result_type
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    joining,
    scattering,
    selecting,
    shapes,
    sorting,
)
from pinnace.ops.composites.sparse import arithmetic as sparse_arithmetic
from pinnace.ops.composites.sparse.functions import map_values, retain, to_dense
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.math import arithmetic, comparison, cumulation, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

    Function = Callable[..., Any]


def with_values(x: Any, values: Any) -> Any:
    """The same places with other values."""
    if isinstance(x, SparseTensor):
        return x.with_values(values)
    return IndexedSlices(values, x.indices, x.dense_shape)


def dense(x: Any) -> Any:
    """A sparse tensor as a dense one; any other value unchanged."""
    if isinstance(x, SparseTensor):
        return to_dense(x)
    return convert_to_tensor(x) if isinstance(x, IndexedSlices) else x


def of_values(function: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of the stored values, at unchanged indices."""
    return with_values(x, function(x.values, *args, **kwargs))


def of_dense(function: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of the tensor."""
    return function(dense(x), *args, **kwargs)


def add(function: Function, x1: Any, x2: Any) -> Any:
    """x1 + x2."""
    return _union(function, x1, x2, sparse_arithmetic.add)


def subtract(function: Function, x1: Any, x2: Any) -> Any:
    """x1 - x2."""
    return _union(
        function, x1, x2, lambda a, b: sparse_arithmetic.add(a, map_values(arithmetic.negative, b))
    )


def maximum(function: Function, x1: Any, x2: Any) -> Any:
    """The larger of both."""
    return _union(function, x1, x2, sparse_arithmetic.maximum)


def minimum(function: Function, x1: Any, x2: Any) -> Any:
    """The smaller of both."""
    return _union(function, x1, x2, sparse_arithmetic.minimum)


def multiply(function: Function, x1: Any, x2: Any) -> Any:
    """x1 x2, at indices that both have."""
    if isinstance(x1, SparseTensor) and isinstance(x2, SparseTensor):
        if x1.indices is x2.indices:
            return x1.with_values(function(x1.values, x2.values))
        kept1, kept2 = _shared(x1, x2), _shared(x2, x1)
        return _shaped(kept1.with_values(function(kept1.values, kept2.values)), x1, x2)
    if isinstance(x1, IndexedSlices) and isinstance(x2, IndexedSlices):
        if x1.indices is x2.indices:
            return with_values(x1, function(x1.values, x2.values))
        rows = _rows(x1, x2, logic.logical_and)
        return IndexedSlices(
            function(*(gathering.gather(dense(x), rows) for x in (x1, x2))), rows, x1.dense_shape
        )
    if isinstance(x1, (SparseTensor, IndexedSlices)):
        return _shaped(with_values(x1, function(x1.values, _there(x2, x1))), x1, x2)
    return _shaped(with_values(x2, function(_there(x1, x2), x2.values)), x1, x2)


def divide(function: Function, x1: Any, x2: Any) -> Any:
    """x1 / x2; sparse if x1 is and x2 is not, with indices added where x2 is 0 or NaN."""
    if isinstance(x2, (SparseTensor, IndexedSlices)):
        return function(dense(x1), dense(x2))
    if not _is_scalar(x2):
        divisor = convert_to_tensor(x2)
        missing = comparison.not_equal(divisor, divisor)  # NaN
        x1 = _with_places(x1, logic.logical_or(comparison.equal(divisor, 0), missing))
        x2 = divisor
    return _shaped(with_values(x1, function(x1.values, _there(x2, x1))), x1, x2)


def _union(function: Function, x1: Any, x2: Any, sparse_function: Function) -> Any:
    if isinstance(x1, SparseTensor) and isinstance(x2, SparseTensor):
        if x1.indices is x2.indices:
            return x1.with_values(function(x1.values, x2.values))
        kind = result_type(x1.dtype, x2.dtype)
        made = sparse_function(*(x.with_values(casting.cast(x.values, kind)) for x in (x1, x2)))
        return _shaped(made, x1, x2)
    if isinstance(x1, IndexedSlices) and isinstance(x2, IndexedSlices):
        if x1.indices is x2.indices:
            return with_values(x1, function(x1.values, x2.values))
        rows = _rows(x1, x2, logic.logical_or)
        return IndexedSlices(
            function(*(gathering.gather(dense(x), rows) for x in (x1, x2))), rows, x1.dense_shape
        )
    return function(dense(x1), dense(x2))


def _shaped(made: Any, *operands: Any) -> Any:
    """The result, with static shape information from the inputs."""
    for x in operands if isinstance(made, SparseTensor) else ():
        shape = getattr(x, "shape", ())
        if len(shape) == len(made.shape) and made.shape.is_compatible_with(shape):
            made.set_shape(shape)
    return made


def _is_scalar(x: Any) -> bool:
    return not isinstance(x, (list, tuple)) and len(getattr(x, "shape", ())) == 0


def _there(x: Any, sparse: Any) -> Any:
    """The values of `x` at a sparse tensor's indices; a scalar unchanged."""
    if _is_scalar(x):
        return x
    if isinstance(sparse, SparseTensor):
        return gathering.gather_nd(x, sparse.indices)
    return gathering.gather(x, sparse.indices)


def _keys(x: SparseTensor) -> Tensor:
    """A number for each index: its row-major position."""
    steps = cumulation.cumprod(x.dense_shape, exclusive=True, reverse=True)
    return reduction.reduce_sum(x.indices * steps, axis=1)


def _shared(x: SparseTensor, other: SparseTensor) -> SparseTensor:
    """The part of `x` at indices that `other` has, too."""
    mine, theirs = _keys(x), sorting.sort(_keys(other))
    # A sentinel at the end, for keys larger than all others.
    theirs = joining.concat([theirs, reduction.reduce_prod(x.dense_shape, keepdims=True)], 0)
    place = sorting.searchsorted(theirs, mine)
    return retain(x, comparison.equal(gathering.gather(theirs, place), mine))


def _rows(x1: IndexedSlices, x2: IndexedSlices, both: Function) -> Tensor:
    """The sorted indices of rows that one or both have."""
    shape = convert_to_tensor(x1.dense_shape)[:1]

    def has(x: IndexedSlices) -> Tensor:
        at = x.indices[:, None]
        count = scattering.scatter_nd(
            at, constants.ones_like(x.indices), casting.cast(shape, x.indices.dtype)
        )
        return comparison.greater(count, 0)

    return selecting.where(both(has(x1), has(x2)))[:, 0]


def _with_places(x: Any, marked: Tensor) -> Any:
    """x with zeros stored at marked indices without a value."""
    if isinstance(x, IndexedSlices):
        axes = list(range(1, len(marked.shape)))
        rows = selecting.where(reduction.reduce_any(marked, axis=axes))[:, 0]
        zeros = IndexedSlices(
            constants.zeros_like(gathering.gather(dense(x), rows)), rows, x.dense_shape
        )
        rows = _rows(x, zeros, logic.logical_or)
        return IndexedSlices(gathering.gather(dense(x), rows), rows, x.dense_shape)
    at = selecting.where(marked)
    nothing = constants.zeros(shapes.shape(at)[:1], x.dtype)
    made = sparse_arithmetic.add(x, SparseTensor(at, nothing, x.dense_shape))
    made.set_shape(x.shape)
    return made

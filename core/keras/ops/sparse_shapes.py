"""SparseTensors and IndexedSlices: reshaping, joining, matrix products, reductions.

The first argument of each is the function of dense tensors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.keras.ops.promotion import summable
from pinnace.keras.ops.sparse_pairs import dense
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, gathering, joining, scattering
from pinnace.ops.composites.sparse import arithmetic as sparse_arithmetic
from pinnace.ops.composites.sparse import functions as sparse_functions
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


def concatenate(function: Function, xs: Any, axis: int = 0) -> Any:
    """The concatenation; dense if one input is."""
    if all(isinstance(x, SparseTensor) for x in xs):
        kind = result_type(*(x.dtype for x in xs))
        alike = [x.with_values(casting.cast(x.values, kind)) for x in xs]
        made = sparse_functions.concat(axis, alike)
        sizes = [x.shape.as_list() for x in xs]
        known: list[int | None] = [
            next((size for size in along if size is not None), None)
            for along in zip(*sizes, strict=True)
        ]
        along = [one[axis] for one in sizes]
        known[axis] = None if None in along else sum(along)
        made.set_shape(known)
        return made
    return function([dense(x) for x in xs], axis)


def matmul(function: Function, x1: Any, x2: Any) -> Any:
    """The product of the last two axes: sparse if both are."""
    both = isinstance(x1, SparseTensor) and isinstance(x2, SparseTensor)
    plain = len(x1.shape) == 2 == len(x2.shape)
    kind = result_type(x1.dtype, x2.dtype)
    if isinstance(x1, SparseTensor) and plain and kind in {"float32", "float64"}:
        left = x1.with_values(casting.cast(x1.values, kind))
        y = sparse_arithmetic.sparse_dense_matmul(left, casting.cast(dense(x2), kind))
        y.set_shape([x1.shape[0], x2.shape[1]])
    else:
        y = function(dense(x1), dense(x2))
    if not both:
        return y
    made = sparse_functions.from_dense(y)
    made.set_shape(y.shape)
    return made


def expand_dims(function: Function, x: Any, axis: Any) -> Any:
    """Insert axes of size 1."""
    if isinstance(x, IndexedSlices):
        return function(dense(x), axis)
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    rank = len(x.shape) + len(axes)
    for one in sorted(one + rank if one < 0 else one for one in axes):
        x = sparse_functions.expand_dims(x, one)
    return x


def reshape(function: Function, x: Any, newshape: Any) -> Any:
    """The same values in another shape."""
    if isinstance(x, IndexedSlices):
        return function(dense(x), newshape)
    made = sparse_functions.reshape(x, newshape)
    sizes, size = list(newshape), x.shape.num_elements()
    if size and -1 in sizes and all(isinstance(one, int) for one in sizes):
        sizes[sizes.index(-1)] = -size // math.prod(sizes)
        made.set_shape(sizes)
    return made


def squeeze(function: Function, x: Any, axis: Any = None) -> Any:
    """x without axes of size 1."""
    if isinstance(x, IndexedSlices):
        return function(dense(x), axis)
    sizes = x.shape.as_list()
    rank = len(sizes)
    if axis is None:
        gone = {at for at, size in enumerate(sizes) if size == 1}
    else:
        gone = {at % rank for at in (axis if isinstance(axis, (list, tuple)) else [axis])}
        for at in gone:
            if sizes[at] != 1:
                raise ValueError(
                    f"keras.ops.squeeze: Cannot squeeze axis={at}, because the dimension is not 1: "
                    f"got shape {x.shape.text}"
                )
    kept = [at for at in range(rank) if at not in gone]
    made = SparseTensor(
        gathering.gather(x.indices, kept, axis=1), x.values, gathering.gather(x.dense_shape, kept)
    )
    made.set_shape([sizes[at] for at in kept])
    return made


def transpose(function: Function, x: Any, axes: Any = None) -> Any:
    """The axes in another order."""
    if isinstance(x, IndexedSlices):
        return function(dense(x), axes)
    return sparse_functions.transpose(x, axes)


def total(function: Function, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along axes; sparse for a sparse tensor."""
    if isinstance(x, IndexedSlices):
        return function(dense(x), axis, keepdims)
    axes = _axes(axis, len(x.shape))
    whole = axes if axes or axis is not None else None
    if not axes:
        return x.with_values(summable(x.values))
    made = sparse_arithmetic.reduce_sum(
        x.with_values(summable(x.values)), whole, keepdims, output_is_sparse=True
    )
    made.set_shape(_reduced(x.shape.as_list(), axes, keepdims))
    return made


def take(function: Function, x: Any, indices: Any, axis: int | None = None) -> Any:
    """The values at sparse indices; 0 where there is no index."""
    return function(dense(x), dense(indices), axis)


def _axes(axis: Any, rank: int) -> list[int]:
    if axis is None:
        return list(range(rank))
    return sorted(at % rank for at in (axis if isinstance(axis, (list, tuple)) else [axis]))


def _reduced(sizes: list[int | None], axes: list[int], keepdims: bool) -> list[int | None]:
    if keepdims:
        return [1 if at in axes else size for at, size in enumerate(sizes)]
    return [size for at, size in enumerate(sizes) if at not in axes]


def mean(function: Function, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean along axes; for IndexedSlices, other axes than the first keep the slices."""
    rank = len(x.shape)
    axes = _axes(axis, rank)
    if isinstance(x, SparseTensor):
        kind = result_type(x.dtype, "float32")
        floats = x.with_values(casting.cast(x.values, kind))
        summed = total(function, floats, axes, keepdims)
        count = reduction.reduce_prod(gathering.gather(x.dense_shape, axes or [0]))
        values = summed.values / casting.cast(count, kind) if axes else summed.values
        wanted = x.dtype if x.dtype.is_floating else kind
        return summed.with_values(casting.cast(values, wanted))
    if not axes:
        return x
    if axes[0] == 0:
        return function(dense(x), axis, keepdims)
    values = function(x.values, axes, keepdims)
    if keepdims:
        sizes = casting.cast(values.shape.as_list()[1:], x.dense_shape.dtype)
        return IndexedSlices(values, x.indices, joining.concat([x.dense_shape[:1], sizes], 0))
    if rank == len(axes) + 1:
        return scattering.scatter_nd(
            x.indices[:, None], values, casting.cast(x.dense_shape[:1], x.indices.dtype)
        )
    kept = [at for at in range(rank) if at not in axes]
    return IndexedSlices(values, x.indices, gathering.gather(x.dense_shape, kept))

"""Sparse and ragged inputs of layers for dense tensors.

The modules of sparse tensors are imported on first use: few models need them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import is_composite
from pinnace.framework.dtypes import as_dtype
from pinnace.keras.forms import is_sparse
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, joining, permutations, reshaping, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def holds_sparse(*values: Any) -> bool:
    """Whether any of them is a SparseTensor."""
    return any(is_composite(x) and is_sparse(x.spec) for x in values)


def product(x: Any, kernel: Any) -> Tensor:
    """x @ kernel, [..., in] and [in, out] → [..., out], for a sparse x."""
    from pinnace.ops.composites.sparse import arithmetic, functions

    rank = len(x.shape)
    if rank == 2:
        y = arithmetic.sparse_dense_matmul(x, kernel)
        y.set_shape([x.shape[0], kernel.shape[-1]])
        return y
    sizes = shapes.shape(kernel, out_type="int64")
    leading = x.dense_shape[:-1]
    rows = functions.reshape(x, joining.concat([[-1], x.dense_shape[-1:]], 0))
    rows.set_shape([None, kernel.shape[0]])
    flat = arithmetic.sparse_dense_matmul(rows, kernel)
    y = reshaping.reshape(flat, joining.concat([leading, sizes[-1:]], 0))
    y.set_shape([*x.shape.as_list()[:-1], kernel.shape[-1]])
    return y


def concatenated(xs: Sequence[Any], axis: int) -> Any:
    """Concatenate along an axis: sparse if all are; ragged if one is."""
    from pinnace.ops.composites.sparse import functions

    alike = _alike(xs)
    if not all(map(holds_sparse, alike)):
        return joining.concat([densified(x) for x in alike], axis)
    made = functions.concat(axis, alike)
    rank = alike[0].shape.rank
    if rank is not None:
        along = [x.shape[axis] for x in alike]
        known: list[int | None] = alike[0].shape.as_list()
        known[axis] = None if None in along else sum(along)
        made.set_shape(known)
    return made


def added(xs: Sequence[Any]) -> Any:
    """The sum: sparse if all are; ragged if one is."""
    from pinnace.ops.composites.sparse import arithmetic

    def add(x: Any, y: Any) -> Any:
        return arithmetic.add(x, y) if holds_sparse(x, y) else x + y

    return functools.reduce(add, _alike(xs))


def joined(kind: str, xs: Sequence[Any]) -> Any:
    """The difference, product, maximum or minimum: sparse if all are, a product if one is.

    Args:
        kind: "subtract", "multiply", "maximum" or "minimum".
        xs: tensors, sparse ones among them.
    """
    from pinnace.ops.composites.sparse import arithmetic as of_sparse
    from pinnace.ops.math import arithmetic

    def one(x: Any, y: Any) -> Any:
        if kind == "subtract":
            return of_sparse.add(x, y.with_values(arithmetic.negative(y.values)))
        return getattr(of_sparse, kind)(x, y)

    alike = _alike(xs)
    if kind == "multiply":
        found = functools.reduce(_product_of_two, alike)
    elif all(map(holds_sparse, alike)):
        found = functools.reduce(one, alike)
    else:
        return functools.reduce(getattr(arithmetic, kind), map(densified, alike))
    found.set_shape(alike[0].shape)
    return found


def _product_of_two(x: Any, y: Any) -> Any:
    return x * densified(y) if holds_sparse(x) else y * x


def scaled(x: Any, factor: float) -> Any:
    """A tensor times a number, in the tensor's form."""
    return x.with_values(x.values * factor) if holds_sparse(x) else x * factor


def _alike(xs: Sequence[Any]) -> list[Any]:
    kind = as_dtype(result_type(*(x.dtype for x in xs)))
    return [_cast(x, kind) for x in xs]


def _cast(x: Any, kind: Any) -> Any:
    """A tensor of any form in another dtype; its shape stays known."""
    if not holds_sparse(x):
        return casting.cast(x, kind)
    return x if x.dtype is kind else x.with_values(casting.cast(x.values, kind))


def densified(x: Any) -> Any:
    """A sparse tensor as a dense one with static shape; any other value unchanged."""
    if not holds_sparse(x):
        return x
    from pinnace.ops.composites.sparse.functions import to_dense

    dense = to_dense(x)
    dense.set_shape(x.shape)
    return dense


def reshaped(x: Any, target: list[int]) -> Any:
    """A tensor, sparse or not, reshaped after its batch axis; one size may be -1."""
    batch = x.shape[0]
    if not holds_sparse(x):
        return reshaping.reshape(x, _batched(x, batch, target))
    from pinnace.ops.composites.sparse import functions

    made = functions.reshape(x, _batched(x, batch, target))
    made.set_shape([batch, *(None if n == -1 else n for n in target)])
    return made


def transposed(x: Any, axes: list[int]) -> Any:
    """A tensor, sparse or not, with its axes in another order."""
    if not holds_sparse(x):
        return permutations.transpose(x, axes)
    from pinnace.ops.composites.sparse import functions

    return functions.transpose(x, axes)


def _batched(x: Any, batch: int | None, target: list[int]) -> Any:
    """`target` after the batch axis; a tensor if a single -1 is not enough."""
    if batch is not None:
        return [batch, *target]
    if -1 not in target:
        return [-1, *target]
    sizes = x.dense_shape if holds_sparse(x) else shapes.shape(x)
    return joining.stack([casting.cast(sizes[0], "int32"), *target])


def sparse(x: Any) -> Any:
    """A dense tensor as a sparse one of known shape."""
    from pinnace.ops.composites.sparse.functions import from_dense

    made = from_dense(x)
    made.set_shape(x.shape)
    return made

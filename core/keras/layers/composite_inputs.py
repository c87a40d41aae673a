"""What layers of dense tensors make of sparse and ragged inputs.

The modules of sparse tensors are imported when one is there: few models need them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import is_composite
from pinnace.framework.dtypes import as_dtype
from pinnace.keras.forms import is_sparse
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, joining, reshaping, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def holds_sparse(*values: Any) -> bool:
    """Whether a SparseTensor is among them."""
    return any(is_composite(x) and is_sparse(x.spec) for x in values)


def product(x: Any, kernel: Any) -> Tensor:
    """x @ kernel, [..., in] and [in, out] → [..., out], for a sparse x."""
    from pinnace.ops.composites.sparse import arithmetic, functions

    rank = len(x.shape)
    if rank == 2:
        return arithmetic.sparse_dense_matmul(x, kernel)
    sizes = shapes.shape(kernel, out_type="int64")
    leading = x.dense_shape[:-1]
    rows = functions.reshape(x, joining.concat([[-1], x.dense_shape[-1:]], 0))
    rows.set_shape([None, kernel.shape[0]])
    flat = arithmetic.sparse_dense_matmul(rows, kernel)
    y = reshaping.reshape(flat, joining.concat([leading, sizes[-1:]], 0))
    y.set_shape([*x.shape.as_list()[:-1], kernel.shape[-1]])
    return y


def concatenated(xs: Sequence[Any], axis: int) -> Any:
    """One after the other along an axis: sparse if all are; ragged if one is."""
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


def _alike(xs: Sequence[Any]) -> list[Any]:
    kind = as_dtype(result_type(*(x.dtype for x in xs)))
    return [_cast(x, kind) for x in xs]


def _cast(x: Any, kind: Any) -> Any:
    """A tensor of any form in another dtype; its shape stays known."""
    if not holds_sparse(x):
        return casting.cast(x, kind)
    return x if x.dtype is kind else x.with_values(casting.cast(x.values, kind))


def densified(x: Any) -> Any:
    """A sparse tensor as a dense one of known shape; anything else as it is."""
    if not holds_sparse(x):
        return x
    from pinnace.ops.composites.sparse.functions import to_dense

    dense = to_dense(x)
    dense.set_shape(x.shape)
    return dense

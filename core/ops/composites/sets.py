"""`tf.sets`: sets in the last axis of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.sparse import sets

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["difference", "intersection", "size", "union"]


def size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of distinct values in each row of the last axis.

    Args:
        a: SparseTensor with sorted indices.
        validate_indices: whether to check that they are.

    Source:
        TensorFlow op `SetSize` (set_ops.cc).
    """
    x = as_sparse(a, "sets.size")
    if x.dtype not in sets.SET_SIZE.type_sets["T"].allowed:
        raise TypeError(f"sets.size: values of {x.dtype.name} make no sets")
    found: Tensor = execute(
        sets.SET_SIZE, x.indices, x.values, x.dense_shape, validate_indices=bool(validate_indices)
    )
    return found


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The intersection of both, row by row of the last axis, sorted.

    Args:
        a: [..., n], integers or strings, tensor or SparseTensor.
        b: [..., m], with the same leading axes; sparse if `a` is.
        validate_indices: whether to check that sparse indices are sorted.
    """
    return _operation(a, b, "intersection", validate_indices)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The values of `a` that are not in `b`; reversed if not `aminusb`.

    Args:
        a: [..., n], tensor or SparseTensor of integers or strings.
        b: [..., m], dtype of `a`; the leading axes are the same.
        aminusb: whether it is a - b.
        validate_indices: whether indices of sparse tensors must be in order.

    Returns:
        A SparseTensor: the values of each row, sorted.
    """
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The union of both, row by row of the last axis, sorted.

    Args:
        a: [..., n], tensor or SparseTensor of integers or strings.
        b: [..., m], dtype of `a`; the leading axes are the same.
        validate_indices: whether indices of sparse tensors must be in order.

    Returns:
        A SparseTensor.
    """
    return _operation(a, b, "union", validate_indices)


def _operation(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    options: dict[str, Any] = {"set_operation": operation, "validate_indices": bool(validate)}
    if isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):
            # TensorFlow has no op for sparse and dense: swap the operands.
            turned = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
            return _operation(b, a, turned, validate)
        parts: list[Any] = [a.indices, a.values, a.dense_shape]
        parts += [b.indices, b.values, b.dense_shape]
        op = sets.SPARSE_TO_SPARSE
    elif isinstance(b, SparseTensor):
        parts = [convert_to_tensor(a, b.dtype), b.indices, b.values, b.dense_shape]
        op = sets.DENSE_TO_SPARSE
    else:
        first = convert_to_tensor(a)
        parts = [first, convert_to_tensor(b, first.dtype)]
        op = sets.DENSE_TO_DENSE
    return SparseTensor(*execute(op, *parts, **options))

"""Sequences that contain tensors, packed to one tensor for `convert_to_tensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor, holds_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Operands
from pinnace.ops.array import casting, joining

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

__all__: list[str] = []


def packed(value: list[Any] | tuple[Any, ...], dtype: DType | None, hint: Any) -> Tensor:
    """A nested sequence with tensors among its leaves, as one tensor.

    Args:
        value: the sequence.
        dtype: the element type that it must have.
        hint: the element type to take where the leaves leave a choice.

    Raises:
        ValueError: the sequence is not rectangular, or a leaf has another dtype.
    """
    if dtype is None and hint is not None:
        try:
            return packed(value, dtypes.as_dtype(hint), None)
        except (TypeError, ValueError):
            pass
    if dtype is None:
        leaf = _first_tensor(value)
        dtype = leaf.dtype
        parts = [convert_to_tensor(item, dtype) for item in value]
    else:
        parts = [_part(item, dtype) for item in value]
    try:
        return joining.stack(parts)
    except InvalidArgumentError as error:
        raise ValueError(f"a nested sequence of tensors must be rectangular: {error}") from None


def _part(item: Any, dtype: DType) -> Tensor:
    """A part of a sequence that is to be of a dtype.

    Source:
        TensorFlow refuses one tensor of another dtype, and casts those inside of sequences.
    """
    if isinstance(item, Operands):
        tensor = convert_to_tensor(item)
        numbers = all(kind.is_numeric or kind.is_bool for kind in (tensor.dtype, dtype))
        if numbers and tensor.dtype is not dtype:
            return casting.cast(tensor, dtype)
        return convert_to_tensor(tensor, dtype)
    if isinstance(item, (list, tuple)) and holds_tensor(item):
        return packed(item, dtype, None)
    return convert_to_tensor(item, dtype)


def _first_tensor(value: object) -> Any:
    if isinstance(value, (list, tuple)):
        for item in value:
            found = _first_tensor(item)
            if found is not None:
                return found
        return None
    return value if isinstance(value, Operands) else None

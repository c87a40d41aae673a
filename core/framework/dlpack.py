"""`tf.experimental.dlpack`: tensors as DLPack capsules for other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap

__all__ = ["from_dlpack", "to_dlpack"]


class _Holder:
    """Wraps a capsule for NumPy: an object on the CPU with `__dlpack__`."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack(tf_tensor: Tensor) -> Any:
    """A tensor as a capsule of DLPack's.

    Args:
        tf_tensor: numbers or bools, not bfloat16, which NumPy's DLPack lacks.

    Returns:
        A capsule named `dltensor`, to be consumed once. It holds a copy, which the consumer may
        write.

    Raises:
        InvalidArgumentError: no tensor, one of a function that is being traced, or a dtype that
            cannot be told.
    """
    if not isinstance(tf_tensor, Tensor) or isinstance(tf_tensor, SymbolicTensor):
        raise InvalidArgumentError(
            f"to_dlpack: tf_tensor must be a tensor with a value, got {tf_tensor!r}"
        )
    try:
        return np.array(tf_tensor).__dlpack__()
    except (BufferError, TypeError):
        raise InvalidArgumentError(
            f"to_dlpack: {tf_tensor.dtype.name} has no DLPack representation\n"
            "  Try: cast(x, 'float32') of bfloat16"
        ) from None


def from_dlpack(dlcapsule: Any) -> Tensor:
    """The tensor of a capsule.

    Args:
        dlcapsule: a DLPack capsule on the CPU that was not consumed yet.

    Returns:
        A tensor with a copy of the values, since tensors are immutable and foreign memory is not.

    Raises:
        TypeError: no capsule, or one of a dtype that no tensor can have.
        InvalidArgumentError: one that was taken already.
    """
    if type(dlcapsule).__name__ != "PyCapsule":
        raise TypeError(
            f"from_dlpack: dlcapsule must be a capsule, got {dlcapsule!r}\n"
            "  Try: from_dlpack(x.__dlpack__())"
        )
    try:
        array = np.from_dlpack(_Holder(dlcapsule))
    except (BufferError, ValueError, RuntimeError) as error:
        raise InvalidArgumentError(f"from_dlpack: the capsule cannot be taken: {error}") from None
    return wrap(np.array(array), dtypes.from_numpy(array.dtype))

"""4-bit integers, two per byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import ops

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_BYTES = ("int8", "uint8")


def pack_int4(arr: Any, axis: int = 0, dtype: str = "int8") -> tuple[Tensor, tuple[int, ...], int]:
    """Neighbours along an axis as low and high half of one byte.

    Args:
        arr: [...], int8 or uint8 with values of 4 bits.
        axis: the axis; filled up with a 0 if its size is odd.
        dtype: "int8" or "uint8": that of `arr` and of the result.

    Returns:
        The bytes, their shape, and the size of the axis before.

    Raises:
        ValueError: unsupported dtype is asked for.
        TypeError: `arr` is not of that dtype.
    """
    _check_dtype("pack_int4", dtype)
    x = np.asarray(ops.convert_to_numpy(arr))
    if x.dtype.name != dtype:
        raise TypeError(f"pack_int4: Expected {dtype} tensor for packing, got {x.dtype.name}")
    x = np.moveaxis(x, axis, 0)
    size = len(x)
    if size % 2:
        x = np.concatenate([x, np.zeros_like(x[:1])])
    halves = x.view(np.uint8) & 0x0F
    packed = np.moveaxis(halves[::2] | (halves[1::2] << 4), 0, axis)
    packed = np.ascontiguousarray(packed).view(dtype)
    return convert_to_tensor(packed), packed.shape, size


def unpack_int4(packed: Any, orig_len: int, axis: int = 0, dtype: str = "int8") -> Tensor:
    """The inverse of `pack_int4`.

    Args:
        packed: [...], int8 or uint8.
        orig_len: the size of the axis before it was packed.
        axis: the axis.
        dtype: "int8" for values from -8 to 7, "uint8" for 0 to 15.

    Raises:
        ValueError: unsupported dtype is asked for.
        TypeError: `packed` holds no bytes.
    """
    _check_dtype("unpack_int4", dtype)
    x = ops.convert_to_tensor(packed)
    if x.dtype.name not in _BYTES:
        raise TypeError(
            f"unpack_int4: Expected int8 or uint8 tensor for unpacking, got {x.dtype.name}"
        )
    x = ops.moveaxis(x, axis, 0)
    halves = ops.stack([ops.bitwise_and(x, 15), ops.bitwise_and(ops.right_shift(x, 4), 15)], axis=1)
    if dtype == "int8":
        halves = ops.subtract(ops.bitwise_xor(halves, 8), 8)  # 8 to 15 are -8 to -1
    flat = ops.reshape(ops.cast(halves, dtype), (-1, *x.shape[1:]))
    return ops.moveaxis(flat[:orig_len], 0, axis)


def _check_dtype(who: str, dtype: str) -> None:
    if dtype not in _BYTES:
        raise ValueError(f"{who}: Expected dtype to be 'int8' or 'uint8', but got '{dtype}'.")

"""DType ↔ the numbers of types.proto."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType


def encode_dtype(dtype: DType) -> int:
    """The number of a dtype."""
    return dtype.enum


def decode_dtype(number: int, where: str = "DataType") -> DType:
    """The inverse of `encode_dtype`.

    A reference type of TensorFlow 1 becomes the type that it refers to.

    Raises:
        InvalidArgumentError: no dtype has the number.
    """
    try:
        return as_dtype(number)
    except TypeError:
        raise InvalidArgumentError(f"{where}: {number} is no dtype's number") from None

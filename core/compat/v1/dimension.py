"""`Dimension`, version 1's class for sizes; shapes here contain integers and None."""

from __future__ import annotations

import operator
from typing import SupportsIndex, cast


class Dimension:
    """The size of an axis.

    Args:
        value: an integer of at least 0, another Dimension, or None if it is not known.

    Raises:
        TypeError: the value is no integer.
        ValueError: the value is negative.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        if isinstance(value, Dimension):
            value = value.value
        if value is not None and not hasattr(value, "__index__"):
            raise TypeError(f"Dimension value must be integer or None, got {value!r}")
        self._value = None if value is None else operator.index(cast("SupportsIndex", value))
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The integer; None if it is not known."""
        return self._value

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("Dimension: an unknown size is no integer")
        return self._value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dimension):
            other = other.value
        return self._value is not None and self._value == other

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


__all__ = ["Dimension"]

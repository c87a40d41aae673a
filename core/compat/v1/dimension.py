"""`Dimension`, version 1's class for sizes; shapes here contain integers and None."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

if TYPE_CHECKING:
    from collections.abc import Callable


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

    # Nothing is known about an unknown size: not whether it equals another, nor the sum.

    def __eq__(self, other: object) -> Any:
        return self._with(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._with(other, operator.ne)

    def __lt__(self, other: object) -> Any:
        return self._with(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._with(other, operator.le)

    def __gt__(self, other: object) -> Any:
        return self._with(other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return self._with(other, operator.ge)

    def __add__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(a + b))

    def __sub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(a - b))

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(b - a))

    def __mul__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(a * b))

    def __floordiv__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(a // b))

    def __rfloordiv__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(b // a))

    def __mod__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(a % b))

    def __rmod__(self, other: object) -> Any:
        return self._with(other, lambda a, b: Dimension(b % a))

    __radd__, __rmul__, __div__ = __add__, __mul__, __floordiv__
    __hash__ = None  # type: ignore[assignment]  # two unknown sizes may be equal or not

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __reduce__(self) -> tuple[type[Dimension], tuple[int | None]]:
        return Dimension, (self._value,)

    def is_compatible_with(self, other: object) -> bool:
        """Whether both may be one size: they are equal, or one is not known."""
        other = Dimension(other)
        return None in (self._value, other._value) or self._value == other._value

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise ValueError where both cannot be one size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """The one of both that is known; ValueError where they differ."""
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else Dimension(self._value)

    def _with(self, other: object, op: Callable[[int, int], Any]) -> Any:
        """`op` of both sizes: None of a comparison, an unknown size of arithmetic with one."""
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if None not in (self._value, other._value):
            return op(cast("int", self._value), cast("int", other._value))
        return None if getattr(op, "__module__", "") == "_operator" else Dimension(None)


__all__ = ["Dimension"]

"""Python's operators on ragged tensors: the functions that tensors' operators are."""

from __future__ import annotations

from typing import Any

from pinnace.framework.dispatch import operators

__all__ = ["TensorOperators"]


class TensorOperators:
    """The arithmetic and comparison operators, element by element."""

    # NumPy arrays give way: array + ragged is ragged.
    __array_priority__ = 200

    def __add__(self, other: Any) -> Any:
        return operators.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return operators.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return operators.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return operators.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return operators.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return operators.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return operators.truediv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return operators.truediv(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return operators.floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return operators.floordiv(other, self)

    def __mod__(self, other: Any) -> Any:
        return operators.mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return operators.mod(other, self)

    def __pow__(self, other: Any) -> Any:
        return operators.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return operators.power(other, self)

    def __matmul__(self, other: Any) -> Any:
        return operators.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return operators.matmul(other, self)

    def __neg__(self) -> Any:
        return operators.negative(self)

    def __abs__(self) -> Any:
        return operators.abs(self)

    def __and__(self, other: Any) -> Any:
        return operators.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return operators.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return operators.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return operators.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return operators.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return operators.bitwise_xor(other, self)

    def __invert__(self) -> Any:
        return operators.bitwise_not(self)

    def __lt__(self, other: Any) -> Any:
        return operators.less(self, other)

    def __le__(self, other: Any) -> Any:
        return operators.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return operators.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return operators.greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return operators.equal(self, other) if other is not None else False

    def __ne__(self, other: object) -> Any:
        return operators.not_equal(self, other) if other is not None else True

    def __hash__(self) -> int:
        message = f"a {type(self).__name__} is unhashable, since == compares element by element"
        raise TypeError(message)

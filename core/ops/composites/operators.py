"""Python's operators for ragged tensors: the functions behind tensors' operators."""

from __future__ import annotations

from typing import Any

from pinnace.ops import operators
from pinnace.ops.math import arithmetic, comparison, division, exponents, polar, products

__all__ = ["TensorOperators"]


class TensorOperators:
    """The arithmetic and comparison operators, element by element."""

    # NumPy arrays defer: array + ragged is ragged.
    __array_priority__ = 200

    def __add__(self: Any, other: Any) -> Any:
        return arithmetic.add(self, other)

    def __radd__(self: Any, other: Any) -> Any:
        return arithmetic.add(other, self)

    def __sub__(self: Any, other: Any) -> Any:
        return arithmetic.subtract(self, other)

    def __rsub__(self: Any, other: Any) -> Any:
        return arithmetic.subtract(other, self)

    def __mul__(self: Any, other: Any) -> Any:
        return arithmetic.multiply(self, other)

    def __rmul__(self: Any, other: Any) -> Any:
        return arithmetic.multiply(other, self)

    def __truediv__(self: Any, other: Any) -> Any:
        return division.truediv(self, other)

    def __rtruediv__(self: Any, other: Any) -> Any:
        return division.truediv(other, self)

    def __floordiv__(self: Any, other: Any) -> Any:
        return division.floordiv(self, other)

    def __rfloordiv__(self: Any, other: Any) -> Any:
        return division.floordiv(other, self)

    def __mod__(self: Any, other: Any) -> Any:
        return division.floormod(self, other)

    def __rmod__(self: Any, other: Any) -> Any:
        return division.floormod(other, self)

    def __pow__(self: Any, other: Any) -> Any:
        return exponents.pow(self, other)

    def __rpow__(self: Any, other: Any) -> Any:
        return exponents.pow(other, self)

    def __matmul__(self: Any, other: Any) -> Any:
        return products.matmul(self, other)

    def __rmatmul__(self: Any, other: Any) -> Any:
        return products.matmul(other, self)

    def __neg__(self: Any) -> Any:
        return arithmetic.negative(self)

    def __abs__(self: Any) -> Any:
        return polar.abs(self)

    def __and__(self: Any, other: Any) -> Any:
        return operators.and_(self, other)

    def __rand__(self: Any, other: Any) -> Any:
        return operators.and_(other, self)

    def __or__(self: Any, other: Any) -> Any:
        return operators.or_(self, other)

    def __ror__(self: Any, other: Any) -> Any:
        return operators.or_(other, self)

    def __xor__(self: Any, other: Any) -> Any:
        return operators.xor(self, other)

    def __rxor__(self: Any, other: Any) -> Any:
        return operators.xor(other, self)

    def __invert__(self: Any) -> Any:
        return operators.invert(self)

    def __lt__(self: Any, other: Any) -> Any:
        return comparison.less(self, other)

    def __le__(self: Any, other: Any) -> Any:
        return comparison.less_equal(self, other)

    def __gt__(self: Any, other: Any) -> Any:
        return comparison.greater(self, other)

    def __ge__(self: Any, other: Any) -> Any:
        return comparison.greater_equal(self, other)

    def __eq__(self: Any, other: object) -> Any:
        return comparison.same(self, other) if other is not None else False

    def __ne__(self: Any, other: object) -> Any:
        return comparison.differs(self, other) if other is not None else True

    def __hash__(self) -> int:
        raise TypeError(
            f"a {type(self).__name__} is unhashable, since == compares element by element"
        )

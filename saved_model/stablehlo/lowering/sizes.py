"""Arithmetic on sizes, and ops that move them, so that known shapes remain known."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import (
    Operand,
    Size,
    op,
    size_tensor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.saved_model.stablehlo.attributes import Constant
    from pinnace.saved_model.stablehlo.lowering.operands import Dim

# A vector with more numbers is not a shape.
_MOST = 64
_WHOLE = frozenset({dtypes.int32, dtypes.int64})
_LIMIT = 1 << 31


def _quotient(x: int, y: int) -> int | None:
    return None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _rest(x: int, y: int) -> int | None:
    q = _quotient(x, y)
    return None if q is None else x - q * y


# StableHLO op -> the function of ints, and TensorFlow's op.
_ARITHMETIC: dict[str, tuple[Callable[[int, int], int | None], str]] = {
    "add": (operator.add, "AddV2"),
    "subtract": (operator.sub, "Sub"),
    "multiply": (operator.mul, "Mul"),
    "maximum": (max, "Maximum"),
    "minimum": (min, "Minimum"),
    "divide": (_quotient, "TruncateDiv"),
    "remainder": (_rest, "TruncateMod"),
}


class Sizes:
    """The sizes of one translation: the same arithmetic on the same sizes gives the same object."""

    def __init__(self) -> None:
        self._combined: dict[tuple[str, Any, Any], Size] = {}

    def of_constant(self, constant: Constant) -> Operand | None:
        """The operand of a constant that may be sizes, else None."""
        if constant.type.dtype not in _WHOLE or constant.content.size > _MOST:
            return None
        shape = tuple(n or 0 for n in constant.type.shape)
        if len(shape) > 2 or math.prod(shape) > _MOST:
            return None
        known = np.empty(shape, object)
        known[...] = np.broadcast_to(constant.content, shape).astype(object)
        return Operand.of_sizes(known, constant.type.dtype)

    def arithmetic(self, name: str, x: Operand, y: Operand) -> Operand | None:
        """An op on two operands of sizes; None for other operands or ops."""
        if x.known is None or y.known is None or x.known.shape != y.known.shape:
            return None
        if name not in _ARITHMETIC or x.known.size > _MOST:
            return None
        pairs = zip(x.known.ravel(), y.known.ravel(), strict=True)
        sizes = [self.combined(name, one, other) for one, other in pairs]
        if any(size is None for size in sizes):
            return None
        found = np.empty(len(sizes), object)
        found[:] = sizes
        return Operand.of_sizes(found.reshape(x.known.shape), x.dtype)

    def combined(self, name: str, x: Dim, y: Dim) -> Dim | None:
        """Two sizes combined by an op; None if the result is not an int32."""
        compute, tensorflow_op = _ARITHMETIC[name]
        if isinstance(x, int) and isinstance(y, int):
            number = compute(x, y)
            return number if number is not None and -_LIMIT <= number < _LIMIT else None
        plain = self._moved(name, x, y) if name in {"add", "subtract"} else _chosen(name, x, y)
        if plain is not None:
            return plain
        if name in {"multiply", "divide"} and y == 1:
            return x
        if name == "multiply" and x == 1:
            return y
        if name in {"divide", "remainder"} and y == 0:
            return None
        if name in {"divide", "remainder"} and isinstance(y, Size):
            return None  # it may be zero: the op itself handles that
        key = (name, _key(x), _key(y))
        if key not in self._combined:
            size = Size(lambda: op(tensorflow_op, size_tensor(x), size_tensor(y)), x, y)
            here, there = bounds_of(x), bounds_of(y)
            if name == "subtract" and here is not None and there is not None:
                size.bounds = here[0] - there[1], here[1] - there[0]
            self._combined[key] = size
        return self._combined[key]

    def _moved(self, name: str, x: Dim, y: Dim) -> Dim | None:
        """A sum or difference as a size plus a number, or as a number; else None."""
        if isinstance(x, Size) and isinstance(y, Size):
            same = name == "subtract" and x.base is y.base
            return x.offset - y.offset if same else None
        if isinstance(x, int):
            if name == "subtract":
                return None
            x, y = y, x
        if not isinstance(x, Size) or not isinstance(y, int):
            return None
        base, offset = x.base, x.offset + (y if name == "add" else -y)
        if offset == 0:
            return base
        key = ("offset", base.number, offset)
        if key not in self._combined:
            size = Size(lambda: op("AddV2", base.tensor, size_tensor(offset)), base)
            self._combined[key] = size.beyond(base, offset)
        return self._combined[key]

    def total(self, name: str, sizes: Sequence[Dim], start: int) -> Dim:
        """Several sizes combined by an op, from an initial value."""
        found: Dim = start
        for size in sizes:
            more = self.combined(name, found, size)
            # Beyond int32: an op with such a size is refused where it is created.
            found = _LIMIT if more is None else more
        return found


def bounds_of(dim: Dim) -> tuple[int, int] | None:
    """The minimum and maximum of a size, or None."""
    if isinstance(dim, int):
        return dim, dim
    if dim.base.bounds is None:
        return None
    least, most = dim.base.bounds
    return least + dim.offset, most + dim.offset


def _chosen(name: str, x: Dim, y: Dim) -> Dim | None:
    """The operand that a maximum or minimum always selects, or None."""
    larger = _larger(x, y) if name in {"maximum", "minimum"} else None
    if larger is None or name == "maximum":
        return larger
    return y if larger is x else x


def _larger(x: Dim, y: Dim) -> Dim | None:
    """The one of two sizes that is never the smaller, or None."""
    if x is y:
        return x
    here, there = bounds_of(x), bounds_of(y)
    if here is None or there is None:
        return None
    if here[0] >= there[1]:
        return x
    return y if there[0] >= here[1] else None


def _key(dim: Dim) -> Any:
    return ("size", dim.number) if isinstance(dim, Size) else dim


def known_dims(x: Operand) -> tuple[Dim, ...] | None:
    """The elements of a vector if they are known sizes, else None."""
    return tuple(x.known) if x.known is not None and x.known.ndim == 1 else None


def with_sizes(x: Operand, known: Array) -> Operand:
    """An operand with these sizes and the dtype of another."""
    return Operand.of_sizes(known, x.dtype)

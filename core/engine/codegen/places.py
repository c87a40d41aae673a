"""Storage of the values of array steps in a kernel, whose shapes are known.

A value is rows of numbers at an address; slices and reshaped values are views of the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Scratch memory is aligned to this many numbers: a cache line.
_LINE = 16
# Most columns of a packed panel on any processor.
PANEL = 64
# Dtypes of the constants that the source reads.
_STORED = frozenset({dtypes.float32, dtypes.int32, dtypes.int64})
NO_SCALARS: Mapping[Value, str] = MappingProxyType({})


@dataclass(frozen=True)
class Place:
    """The storage of a value: an address, and the row stride.

    A row is the last axis; if `whole`, rows are contiguous.
    """

    address: str
    step: str
    whole: bool


class Places:
    """The storage of values in the source so far, and the tables it needs.

    Args:
        sizes: the shape of each value at one call.
        known: values that are the same at every call with these sizes, besides constants.
        scalars: names of the scalars in registers, by value.

    Attributes:
        before: statements that run once, before a loop.
        constants: the arrays `k0`, `k1`, …
        places: the storage of each value.
        scratch: float32 numbers of the memory at the address `w`.
        variables: handles of the variables that the source reads, and the shapes of their values,
            at the addresses `held0`, `held1`, …
        in_parts: whether the source computes only rows `first` to `end` of all arrays it writes.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        known: Mapping[Value, Array],
        scalars: Mapping[Value, str] = NO_SCALARS,
    ) -> None:
        self._sizes = sizes
        self._scalars = scalars
        self._known = known
        self.before: list[str] = []
        self.constants: list[Array] = []
        self.places: dict[Value, Place] = {}
        self.variables: list[tuple[Value, tuple[int, ...]]] = []
        self.in_parts = False
        self.scratch = 0
        self._steady: set[Value] = set()
        # The stored shape of broadcast values, which are stored once. Also the shapes of values
        # that exist only in the source.
        self._narrow: dict[Value, tuple[int, ...]] = {}

    def _reserve(self, count: int) -> str:
        """The address of scratch memory for this many numbers."""
        at = 4 * self.scratch
        self.scratch += -(-count // _LINE) * _LINE
        return f"(w + {at})"

    def reserve(self, shape: tuple[int, ...]) -> Place:
        """Scratch memory for a value of this shape."""
        return self.at(self._reserve(math.prod(shape)), shape)

    def at(self, address: str, shape: tuple[int, ...]) -> Place:
        """The storage of a value of this shape at an address, with contiguous rows."""
        return Place(address, str(shape[-1] if shape else 1), True)

    def variable(self, handle: Value, shape: tuple[int, ...]) -> Place:
        """The storage of a variable's value."""
        if (handle, shape) not in self.variables:
            self.variables.append((handle, shape))
        return self.at(f"held{self.variables.index((handle, shape))}", shape)

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value at the call; for a broadcast one, its stored shape."""
        found = self._narrow.get(value)
        if found is None:
            found = self._sizes.get(value)
        if found is None:
            array = self._constant(value)
            if array is None:
                raise UnsupportedError(f"{value}: its shape is unknown")
            return np.shape(array)
        return found

    def _constant(self, value: Value) -> Array | None:
        """The array of a value that never changes; None for others."""
        found = self._known.get(value)
        return constant_of(value) if found is None else found

    def steady(self, value: Value, place: Place) -> None:
        """Set the storage of a value that exists before the kernel starts, and does not change."""
        self.places[value] = place
        self._steady.add(value)

    def _place(self, value: Value) -> Place:
        found = self.places.get(value)
        if found is None:
            array = self._constant(value)
            if array is None or value.dtype not in _STORED:
                raise UnsupportedError(f"{value}: it is not stored, and not a constant")
            if not array.size:
                raise UnsupportedError(f"{value}: an empty array")
            self.constants.append(np.ascontiguousarray(array).reshape(-1))
            found = self.at(f"at(k{len(self.constants) - 1})", array.shape)
            self.steady(value, found)
        return found

    def _is_there(self, value: Value) -> bool:
        return value in self.places or value in self._scalars or self._constant(value) is not None

    def copy(self, value: Value, target: Place) -> str:
        """A statement that copies a value."""
        shape, source = self.size(value), self._place(value)
        if value.dtype is not dtypes.bool:
            return self.copied_rows(shape, source, target)
        begin, count = "", str(math.prod(shape))
        if self.in_parts:
            each = math.prod(shape[1:])
            begin, count = f" + first * {each}", f"(end - first) * {each}"
        return f"copy_truths({source.address}{begin}, {target.address}{begin}, {count})"

    def copied_rows(self, shape: tuple[int, ...], source: Place, target: Place) -> str:
        """A statement that copies numbers of this shape."""
        rows, width = str(math.prod(shape[:-1])), shape[-1] if shape else 1
        begins = [source.address, target.address]
        if self.in_parts:
            each = math.prod(shape[1:-1])
            rows = f"(end - first) * {each}"
            begins = [
                f"{one.address} + 4 * first * {each} * {one.step}" for one in (source, target)
            ]
        a, b = begins
        return f"copy_rows({a}, {source.step}, {b}, {target.step}, {rows}, {width})"

    def _part(self, each: int) -> str:
        """The range of some rows, each with this many numbers."""
        return f"first * {each}, end * {each}"


def fit(array: Array) -> Array:
    """An array in the form that kernels take.

    An array in a mapped file may be unaligned; a NumPy scalar, such as an iterator over a dataset
    returns, is not an array.
    """
    if not isinstance(array, np.ndarray):
        return np.asarray(array)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")

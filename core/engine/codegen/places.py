"""Storage of the values of array steps in a kernel, and the names of sizes in its source.

The generator knows each value's shape at one call. The source names sizes only by their indices in
a table, so that calls with other sizes may share it. A value is rows of numbers at an address;
slices and reshaped values are views of the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
# Numbers in a loop from which full 64-byte registers are faster than half ones.
_WHOLE = 32
# Most columns of a packed panel and rows of a tile on any processor.
PANEL, _TILE_ROWS = 64, 16


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
        scalars: names of the scalars in registers, by value.
        known: what is the same at every call with these sizes, besides constants.

    Attributes:
        before: statements that run once, before a loop.
        numbers: the table `n`.
        constants: arrays that are the arguments `k0`, `k1`, …
        places: the storage of each value.
        narrowest: numbers of the narrowest elementwise loop; None before there is one.
        in_parts: whether the source computes only rows `first` to `end` of all arrays it writes.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        scalars: Mapping[Value, str],
        known: Mapping[Value, Array],
    ) -> None:
        self._sizes = sizes
        self._scalars = scalars
        self._known = known
        self.before: list[str] = []
        self.numbers: list[int] = []
        self.constants: list[Array] = []
        self.places: dict[Value, Place] = {}
        self.in_parts = False
        self.narrowest: int | None = None
        self._scratch = 0
        self._steady: set[Value] = set()
        # The stored shape of values that are broadcast: they are stored once. Also the shapes of
        # values that exist only in the source.
        self._narrow: dict[Value, tuple[int, ...]] = {}

    def number(self, value: int) -> str:
        """An entry of the table of sizes."""
        self.numbers.append(value)
        return f"n[{len(self.numbers) - 1}]"

    def _reserve(self, count: int) -> str:
        """The address of scratch memory for this many numbers."""
        at = self.number(4 * self._scratch)
        self._scratch += -(-count // _LINE) * _LINE
        return f"(w + {at})"

    def memory(self) -> list[str]:
        """The initial statements: the kernel's scratch memory."""
        wide = self.narrowest is not None and self.narrowest >= _WHOLE
        return [
            # A loop over fewer numbers than a full register has would be scalar.
            *(["whole_vectors()"] if wide else []),
            f"t = np.empty({2 * _TILE_ROWS + 1}, np.int64)",
            f"scratch = np.empty({self.number(self._scratch + 1)}, np.float32)",
            "w = at(scratch)",
        ]

    @staticmethod
    def release() -> str:
        """The final statement: without it Numba would free the memory too early."""
        return "scratch[0] = 0"

    def reserve(self, shape: tuple[int, ...]) -> Place:
        """Scratch memory for a value."""
        return self.at(self._reserve(math.prod(shape)), shape)

    def at(self, address: str, shape: tuple[int, ...]) -> Place:
        """A value of this shape with contiguous rows."""
        return Place(address, self.number(shape[-1] if shape else 1), True)

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value at the call; for a broadcast one, its stored shape."""
        found = self._narrow.get(value)
        if found is None:
            found = self._sizes.get(value)
        if found is None:
            array = self._constant(value)
            if array is None:
                raise UnsupportedError(f"{value}: no shape")
            return np.shape(array)
        return found

    def _constant(self, value: Value) -> Array | None:
        """The value of what never changes."""
        found = self._known.get(value)
        return constant_of(value) if found is None else found

    def steady(self, value: Value, place: Place) -> None:
        """A value that is available before the kernel starts, and does not change."""
        self.places[value] = place
        self._steady.add(value)

    def _place(self, value: Value) -> Place:
        found = self.places.get(value)
        if found is None:
            array = self._constant(value)
            if array is None or value.dtype is not dtypes.float32:
                raise UnsupportedError(f"{value}: not at hand")
            if not array.size:
                raise UnsupportedError(f"{value}: empty")
            self.constants.append(np.ascontiguousarray(array).reshape(-1))
            found = self.at(f"at(k{len(self.constants) - 1})", array.shape)
            self.steady(value, found)
        return found

    def _is_there(self, value: Value) -> bool:
        return value in self.places or value in self._scalars or self._constant(value) is not None

    def copy(self, value: Value, target: Place) -> str:
        """A statement that copies a value."""
        shape = self.size(value)
        source = self._place(value)
        if self.in_parts:
            return self._copy_part(shape, source, target, value.dtype is dtypes.bool)
        if value.dtype is dtypes.bool:
            count = self.number(math.prod(shape))
            return f"copy_truths({source.address}, {target.address}, {count})"
        return self.copied_rows(shape, source, target)

    def copied_rows(self, shape: tuple[int, ...], source: Place, target: Place) -> str:
        """A statement that copies numbers of this shape."""
        if self.in_parts:
            return self._copy_part(shape, source, target, False)
        rows, width = self.number(math.prod(shape[:-1])), self.number(shape[-1] if shape else 1)
        return (
            f"copy_rows({source.address}, {source.step}, {target.address}, {target.step}, "
            f"{rows}, {width})"
        )

    def _part(self, each: int) -> str:
        """The range of some rows, each with this many numbers."""
        count = self.number(each)
        return f"first * {count}, end * {count}"

    def _copy_part(
        self, shape: tuple[int, ...], source: Place, target: Place, is_truth: bool
    ) -> str:
        if is_truth:
            count = self.number(math.prod(shape[1:]))
            return (
                f"copy_truths({source.address} + first * {count}, "
                f"{target.address} + first * {count}, (end - first) * {count})"
            )
        each, width = self.number(math.prod(shape[1:-1])), self.number(shape[-1])
        return (
            f"copy_rows({source.address} + 4 * first * {each} * {source.step}, {source.step}, "
            f"{target.address} + 4 * first * {each} * {target.step}, {target.step}, "
            f"(end - first) * {each}, {width})"
        )


def fit(array: Array) -> Array:
    """An array in the form that kernels take.

    An array in a mapped file may be unaligned; a NumPy scalar, such as an iterator over a dataset
    returns, is not an array.
    """
    if not isinstance(array, np.ndarray):
        return np.asarray(array)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")

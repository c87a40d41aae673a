"""Where the values of array steps lie while a kernel runs, and how its text names sizes.

The writer knows each value's shape at one call. What it writes names sizes only by their places in
a table, so that calls with other sizes may share the text. A value is rows of numbers at an
address; parts and reshaped values are the same numbers seen otherwise.
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

# Scratch begins at multiples of this many numbers: a line of the cache.
_LINE = 16
# Numbers in a loop from which whole registers of 64 bytes are quicker than halves.
_WHOLE = 32
# Columns of a packed panel and rows of a tile on any processor, at most.
PANEL, _TILE_ROWS = 64, 16


@dataclass(frozen=True)
class Place:
    """Where a value lies: an address, and how many numbers there are from row to row.

    A row is the last axis; what is `whole` has its rows one after another.
    """

    address: str
    step: str
    whole: bool


class Places:
    """The values that text has reached so far, and the tables that it needs.

    Args:
        sizes: the shape of each value at one call.
        scalars: how the text calls the numbers that lie in registers, by value.
        known: what is the same at every call with these sizes, beside constants.

    Attributes:
        before: statements that run once, ahead of a loop.
        numbers: the table `n`.
        constants: arrays that the text reads as arguments `k0`, `k1`, …
        places: where each value lies.
        narrowest: numbers side by side in the narrowest elementwise loop; None before there is one.
        in_parts: whether the text is of the rows from `first` to `end` alone, of all arrays that it
            writes.
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
        # The shape that a value lies in, where that is not its own: repeated, it lies there once.
        # And the shapes of values that a text alone has.
        self._narrow: dict[Value, tuple[int, ...]] = {}

    def number(self, value: int) -> str:
        """A number of the table."""
        self.numbers.append(value)
        return f"n[{len(self.numbers) - 1}]"

    def _reserve(self, count: int) -> str:
        """The address of scratch for this many numbers."""
        at = self.number(4 * self._scratch)
        self._scratch += -(-count // _LINE) * _LINE
        return f"(w + {at})"

    def memory(self) -> list[str]:
        """The statements that come first: the kernel's own memory."""
        wide = self.narrowest is not None and self.narrowest >= _WHOLE
        return [
            # A loop of fewer numbers than a whole register holds would go by one at a time.
            *(["whole_vectors()"] if wide else []),
            f"t = np.empty({2 * _TILE_ROWS + 1}, np.int64)",
            f"scratch = np.empty({self.number(self._scratch + 1)}, np.float32)",
            "w = at(scratch)",
        ]

    @staticmethod
    def release() -> str:
        """The statement that comes last: without it Numba would free the memory at its first."""
        return "scratch[0] = 0"

    def reserve(self, shape: tuple[int, ...]) -> Place:
        """Scratch for a value."""
        return self.at(self._reserve(math.prod(shape)), shape)

    def at(self, address: str, shape: tuple[int, ...]) -> Place:
        """A value of this shape whose rows lie one after another."""
        return Place(address, self.number(shape[-1] if shape else 1), True)

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value at the call; of one that is repeated, what there is of it."""
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
        """A value that is there before the kernel begins, and does not change while it runs."""
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
        """The range of what some rows have, each so many."""
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


def array_type(shape: tuple[int, ...], kind: str, readonly: bool) -> str:
    """The type of an array that a kernel is given."""
    return f"types.Array(types.{kind}, {len(shape)}, 'C', readonly={readonly})"


def fit(array: Array) -> Array:
    """An array as kernels take it.

    One in a mapped file may lie at any address; a single number that NumPy has taken out of an
    array, as an iterator over a dataset does, is none.
    """
    if not isinstance(array, np.ndarray):
        return np.asarray(array)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")

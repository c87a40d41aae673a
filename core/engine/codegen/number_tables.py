"""The scalars of a loop in the tables that its kernel takes: one of integers, one of reals.

The last integer is additional: it says why a call has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen.scalar_text import SCALARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array


class Slot(NamedTuple):
    """An entry of a table.

    Attributes:
        dtype: the scalar's dtype.
        place: its index among the loop variables, or else among the loop invariants.
        changes: whether it is a loop variable that an iteration changes.
    """

    dtype: DType
    place: int
    changes: bool


class NumberTables:
    """Both tables, `q` and `f` in the source.

    Attributes:
        integers, reals: their entries.
    """

    def __init__(self) -> None:
        self.integers: list[Slot] = []
        self.reals: list[Slot] = []

    def add(self, slot: Slot) -> str:
        """The name of one more scalar in the source."""
        letter, table = ("r", self.reals) if slot.dtype.is_floating else ("i", self.integers)
        table.append(slot)
        return f"{letter}{len(table) - 1}"

    def named(self) -> list[tuple[str, str, Slot]]:
        """The name and the entry of each scalar in the source."""
        tables = ("i", "q", self.integers), ("r", "f", self.reals)
        return [
            (f"{letter}{at}", f"{table}[{at}]", slot)
            for letter, table, slots in tables
            for at, slot in enumerate(slots)
        ]

    def framed(self, lines: Sequence[str]) -> list[str]:
        """The lines, enclosed by others that load all scalars and store those that change."""
        named = self.named()
        loaded = [f"{name} = {SCALARS[slot.dtype.name]}({entry})" for name, entry, slot in named]
        stored = [f"{entry} = {name}" for name, entry, slot in named if slot.changes]
        return [*loaded, *lines, *stored]

    def arrays(self, values: Sequence[Array], others: Sequence[Array]) -> tuple[Array, Array]:
        """The tables for these loop variables and loop invariants."""
        integers, reals = np.zeros(len(self.integers) + 1, np.int64), np.zeros(len(self.reals) + 1)
        for table, slots in ((integers, self.integers), (reals, self.reals)):
            for at, slot in enumerate(slots):
                table[at] = (values if slot.changes else others)[slot.place]
        return integers, reals

    def take(self, values: list[Array], integers: Array, reals: Array) -> None:
        """Store the scalars that have changed among the loop variables."""
        with np.errstate(all="ignore"):
            for table, slots in ((integers, self.integers), (reals, self.reals)):
                for at, slot in enumerate(slots):
                    if slot.changes:
                        values[slot.place] = np.asarray(table[at].astype(slot.dtype.numpy))

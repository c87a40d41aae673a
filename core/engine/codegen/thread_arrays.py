"""What each of several threads that take the iterations of a loop has for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.framework.tensor import Array


class ThreadArrays:
    """A thread's own among a kernel's arguments.

    Args:
        states: the arrays among the loop variables, before the first iteration.
        after: room for them after the last.
        buffers: of the lists that elements are set of.
        flags: which of these are.
        summed: the places of those states that iterations add to.
    """

    def __init__(
        self,
        states: Sequence[Array],
        after: Sequence[Array],
        buffers: Sequence[Array],
        flags: Sequence[Array],
        summed: Collection[int],
    ) -> None:
        self._states, self._after, self._summed = states, after, summed
        self._buffers, self._flags = buffers, flags

    def another(self) -> ThreadArrays:
        """The same for a thread more: sums of its rows alone, and flags that no other one sets."""
        states, after = list(self._states), list(self._after)
        for place in self._summed:
            states[place], after[place] = (np.zeros_like(one[place]) for one in (states, after))
        flags = [one.copy() for one in self._flags]
        return ThreadArrays(states, after, self._buffers, flags, self._summed)

    def given(self, ahead: Sequence[Array], rest: Sequence[Array]) -> list[Array]:
        """All arrays, in the kernel's order."""
        changed = zip(self._buffers, self._flags, strict=True)
        return [
            *(*ahead, *self._states, *self._after, *rest),
            *(one for pair in changed for one in pair),
        ]

    def add(self, others: Sequence[ThreadArrays]) -> None:
        """The sums of all rows."""
        for other in others:
            for place in self._summed:
                self._after[place] += other._after[place]

"""The private arrays of each thread that runs the iterations of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.framework.tensor import Array


class ThreadArrays:
    """One thread's private arguments of a kernel.

    Args:
        states: the arrays among the loop variables, before the first iteration.
        after: memory for them after the last.
        buffers: of the lists whose elements are set.
        flags: which elements are set.
        summed: the indices of the accumulated states.
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
        """The same for another thread: partial sums of its rows, and separate flags."""
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

"""Where machine code of one thread offers work to machine code of others, without Python between.

A mailbox is an array of int64, whose words lie in cache lines of their own. Who has work writes
what it is behind `JOB` and opens the gate (an odd number); who waits counts itself in at `INSIDE`,
looks whether the gate is still open, and takes part. To close, the gate is made even, and everybody
inside waited for: the counts are read and changed in one step each, so that either the gate is seen
closed, or who came in is seen inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Words of a cache line.
_LINE = 8
# Odd while there is work; how many are at it, and how many wait for it in machine code; a number
# that changes if they are to stop; how often they look before they stop by themselves.
GATE, INSIDE, WAITING, LEAVE, LIMIT = (_LINE * place for place in range(5))
# The first word of what the work is, and how many there are.
JOB, JOB_WORDS = 5 * _LINE, 2 * _LINE


def make() -> Array:
    """A mailbox, its gate closed."""
    return lines(JOB + JOB_WORDS)


def lines(words: int) -> Array:
    """So many int64 zeros, from the begin of a cache line on."""
    memory = np.zeros(words + _LINE, np.int64)
    first = -memory.ctypes.data // memory.itemsize % _LINE
    return memory[first : first + words]


# Of who offers nothing.
NONE = np.zeros(0, np.int64)

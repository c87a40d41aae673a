"""A mailbox through which machine code of one thread offers work to others, without Python.

A mailbox is an array of int64, whose words are in separate cache lines. The owner writes a job
after `JOB` and opens the gate (an odd number); a waiting thread increments `INSIDE`, checks that
the gate is still open, and takes part. To close, the gate is made even, and the owner waits for
everybody inside: counts are read and changed atomically, so that either the gate is seen closed, or
the thread is seen inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Words of a cache line.
_LINE = 8
# Odd while there is work; the number of threads working, and of threads waiting in machine code; a
# number whose change stops them; the number of polls before they stop.
GATE, INSIDE, WAITING, LEAVE, LIMIT = (_LINE * place for place in range(5))
# The first word of the job, and the number of its words.
JOB, JOB_WORDS = 5 * _LINE, 2 * _LINE


def make() -> Array:
    """A new mailbox with a closed gate."""
    return lines(JOB + JOB_WORDS)


def lines(words: int) -> Array:
    """A vector of int64 zeros, aligned to a cache line."""
    memory = np.zeros(words + _LINE, np.int64)
    first = -memory.ctypes.data // memory.itemsize % _LINE
    return memory[first : first + words]


# For threads that offer nothing.
NONE = np.zeros(0, np.int64)

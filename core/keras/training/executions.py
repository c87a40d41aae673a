"""Executions: groups of `steps_per_execution` batches that callbacks see as one."""

from __future__ import annotations


def begins(index: int, steps: int) -> bool:
    """Whether an execution begins with this batch, counted from 0 in each epoch."""
    return index % steps == 0


def ends(index: int, steps: int) -> bool:
    """Whether an execution ends with this batch."""
    return index % steps == steps - 1


def last_of(index: int, steps: int) -> int:
    """The index of the last batch of a full execution that contains this one.

    Callbacks get this number, as in Keras, even if the data ends before it.
    """
    return index - index % steps + steps - 1

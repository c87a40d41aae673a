"""The rows that scans have written last, which are states of their loops, too.

A recurrent layer of Keras on JAX gives its last state as the last of all rows. Taken from the state
itself, nobody reads the others, and a plan's loop writes none of them.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_made: weakref.WeakKeyDictionary[Any, dict[Any, tuple[int, Tensor]]] = weakref.WeakKeyDictionary()


def remember(rows: Tensor, place: int, row: Tensor) -> None:
    """Record which tensor is the same as one of the rows of another one."""
    value = getattr(rows, "value", None)
    if state.tracer is not None and value is not None:
        _made.setdefault(state.tracer, {})[value] = place, row


def known_row(rows: Tensor, place: int) -> Tensor | None:
    """The tensor that is the same as a row; None if there is none."""
    made = {} if state.tracer is None else _made.get(state.tracer, {})
    known, row = made.get(getattr(rows, "value", None), (None, None))
    return row if known == place else None

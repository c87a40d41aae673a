"""The last rows that scans write, which are also states of their loops.

A recurrent layer of Keras on JAX returns its last state as the last of all rows. With the state
itself in its place, the rows may be unused, and then a plan's loop does not write them.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_made: weakref.WeakKeyDictionary[Any, dict[Any, tuple[int, Tensor]]] = weakref.WeakKeyDictionary()


def remember(rows: Tensor, place: int, row: Tensor) -> None:
    """Record the tensor that equals one row of another tensor."""
    value = getattr(rows, "value", None)
    if state.tracer is not None and value is not None:
        _made.setdefault(state.tracer, {})[value] = place, row


def known_row(rows: Tensor, place: int) -> Tensor | None:
    """The tensor that equals a row, or None."""
    made = {} if state.tracer is None else _made.get(state.tracer, {})
    known, row = made.get(getattr(rows, "value", None), (None, None))
    return row if known == place else None

"""Loops that are part of a plan's kernel: which are, and what an iteration of them is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.iteration import iteration_of
from pinnace.ops.state.list_values import TensorList, handle_of_list, list_of_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.iteration_steps import Variables
    from pinnace.engine.codegen.iteration_text import IterationText
    from pinnace.engine.codegen.loop_lists import Lists
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Multiplications in all that a call may take without a look at whether it is to end.
_MULTIPLICATIONS = 1 << 26
# Rows from which threads share a loop, if it is long enough to.
_SHARED_ROWS, _SHARED_MULTIPLICATIONS = 8, 1 << 21


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A loop as a function in another kernel, for one set of shapes.

    Attributes:
        variables: of the loop.
        lists: among them.
        text: the function's.
        sizes: the shape of each value of an iteration.
        inputs: places of the loop variables, by the body's value.
        hoisted: the steps that give the same in each iteration.
        values: the loop variables before the first iteration.
    """

    variables: Variables
    lists: Lists
    text: IterationText
    sizes: Mapping[Value, tuple[int, ...]]
    inputs: Mapping[Value, int]
    hoisted: Sequence[Node]
    values: Sequence[Array]

    def length(self, place: int) -> int:
        """How long a list is."""
        held: Any = self.values[place][()]
        return int(held.length)


def inner_loop_of(test: Plan, body: Plan, values: Sequence[Array], count: int) -> InnerLoop:
    """A loop that may be part of a plan's kernel; one iteration is watched.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration; neither has effects.
        values: the loop variables.
        count: iterations that there are from these on.

    Raises:
        UnsupportedError: it takes long, or does what kernels do not.
    """
    values = [_own_rows(value) for value in values]
    with np.errstate(all="ignore"):
        watched = body.source.recording()(values)
        iteration = iteration_of(test, body, values, watched, count)
    text, lists = iteration.kernel, iteration.lists
    rows = text.rows or 1
    most = _SHARED_MULTIPLICATIONS if rows >= _SHARED_ROWS else _MULTIPLICATIONS
    if text.work * count > most:
        raise UnsupportedError("a loop that takes long")
    if lists.pushed or lists.popped or lists.repeated or lists.twins:
        raise UnsupportedError("lists that grow, shrink or are added")
    for place in (*lists.read, *lists.changed):
        held: Any = values[place][()]
        kind = lists.holds(place)
        if kind != "float32" and (
            kind != "bool" or place in lists.changed or not lists.items[place]
        ):
            raise UnsupportedError(f"a list of {kind}")
        if place in lists.changed and held.snapshot_size():
            raise UnsupportedError("elements are set of a list that has some")
    return InnerLoop(
        variables=iteration.variables,
        lists=lists,
        text=text,
        sizes={value: np.shape(array) for value, array in watched.items()},
        inputs={value: place for place, value in enumerate(body.graph.inputs)},
        hoisted=[body.steps[position].node for position in iteration.hoisted],
        values=values,
    )


def _own_rows(value: Array) -> Array:
    """A list whose rows are all there: that they are one and the same array is of this call."""
    held = value[()] if value.dtype.kind == "O" and not value.ndim else None
    if not isinstance(held, TensorList) or held.whole is None:
        return value
    rows = np.ascontiguousarray(held.whole)
    return handle_of_list(list_of_rows(rows, held.dtype, held.shape))

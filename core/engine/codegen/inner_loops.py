"""Loops that are part of a plan's kernel, and their iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.iteration import iteration_of
from pinnace.framework import dtypes
from pinnace.ops.state.list_values import TensorList, handle_of_list, list_of_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.iteration_steps import Variables
    from pinnace.engine.codegen.iteration_text import IterationText
    from pinnace.engine.codegen.loop_lists import Lists
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most multiplications of a call without polling the stop flag.
_MULTIPLICATIONS = 1 << 26
# Rows from which threads share a loop, if it is long enough.
_SHARED_ROWS, _SHARED_MULTIPLICATIONS = 8, 1 << 21


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A loop as a function in another kernel, for one set of shapes.

    Attributes:
        variables: of the loop.
        lists: the loop variables that are lists.
        text: the function's source.
        sizes: the shape of each value of an iteration.
        inputs: indices of the loop variables, by the body's value.
        hoisted: the loop-invariant steps.
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
    """A loop that may be part of a plan's kernel; one iteration is executed and recorded.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration; neither has effects.
        values: the loop variables.
        count: number of iterations from these values.

    Raises:
        UnsupportedError: it takes long, or contains steps that kernels do not support.
    """
    values = [_own_rows(value) for value in values]
    with np.errstate(all="ignore"):
        try:
            watched = body.source.recording()(values)
        except Exception as error:  # such as an index out of range, if there are no iterations
            raise UnsupportedError(f"an iteration cannot be recorded: {error}") from error
        iteration = iteration_of(test, body, values, watched, count)
    text, lists = iteration.kernel, iteration.lists
    carried = (body.graph.inputs[place] for place in iteration.variables.carried)
    if any(value.dtype is not dtypes.float32 for value in carried):
        raise UnsupportedError("integers that an iteration changes")
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
    """A list with separate rows: that all are the same array holds for this call only."""
    held = value[()] if value.dtype.kind == "O" and not value.ndim else None
    if not isinstance(held, TensorList) or held.whole is None:
        return value
    rows = np.ascontiguousarray(held.whole)
    return handle_of_list(list_of_rows(rows, held.dtype, held.shape))

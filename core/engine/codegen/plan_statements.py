"""Statements of a whole plan: steps on arrays, tensor lists, and loops over both.

A recurrent layer with one row is some ten steps around a loop, each with a microsecond or two of
Python for less arithmetic; here they and the loop are one kernel. A list is the rows of an array;
the loop is the function of its `Iteration`, called with parts of the kernel's memory.
If a call differs from the recorded one, for example in the number of iterations, the plan runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import row_statements, whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.loop_calls import LoopCall
from pinnace.engine.codegen.row_statements import RowStatements
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.engine.codegen.walks import Function
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


class PlanStatements(RowStatements):
    """The source of a plan's steps, and of the loops among them.

    Args:
        sizes: the shape of each value at one call.
        known: what is the same at every call with these sizes, besides constants.
        watched: each value at that call.
        counts: iterations of each loop at that call.

    Attributes:
        functions: the loops, by the names that statements call them by.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        known: Mapping[Value, Array],
        watched: Mapping[Value, Any],
        counts: Mapping[Node, int],
    ) -> None:
        # Including values in loops.
        self._inner: Mapping[Value, tuple[int, ...]] = {}
        super().__init__(sizes, known)
        self._watched, self._counts = watched, counts
        self.functions: dict[str, Function] = {}

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value, also in a loop."""
        found = self._inner.get(value)
        return super().size(value) if found is None else found

    def _is_there(self, value: Value) -> bool:
        return value.dtype is dtypes.resource or super()._is_there(value)

    def _single(self, node: Node) -> None:
        write = _writer(node)
        if write is None:
            super()._single(node)
        else:
            write(self, node)

    # Lists.

    def _from_rows(self, node: Node) -> None:
        place = self._place(node.inputs[0])
        kind = node.inputs[0].dtype
        if kind is not dtypes.float32 and not (place.whole and kind is dtypes.bool):
            raise UnsupportedError(f"{node}: a list of {node.inputs[0].dtype.name}")
        self.places[node.outputs[0]] = self._whole(node.inputs[0])

    def _to_rows(self, node: Node) -> None:
        value = node.outputs[0]
        if value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: a list of {value.dtype.name}")
        place = self._place(node.inputs[0])
        self._hand_on(value, self.at(place.address, self.size(value)))

    # Loops.

    def _loop(self, node: Node) -> None:
        found = [self._watched_one(value) for value in node.inputs]
        name = f"loop{len(self.functions)}"
        call = LoopCall(self, node, found, self._counts[node], name)
        self._inner = {**self._inner, **call.sizes}
        self.functions[name] = call.iteration.function
        call.write()

    def _watched_one(self, value: Value) -> Array:
        found = self._constant(value)
        return np.asarray(self._watched[value] if found is None else found)


def _writer(node: Node) -> Callable[[PlanStatements, Node], None] | None:
    """The method for a step that only plans support."""
    if node.op.runs == "loop":
        return PlanStatements._loop
    if node.op.name == "TensorListFromTensor":
        return PlanStatements._from_rows
    return PlanStatements._to_rows if node.op.name == "TensorListStack" else None


def has_statement(node: Node, *, with_whole: bool) -> bool:
    """Whether there may be a statement for a step of a plan.

    Args:
        node: the step.
        with_whole: including those on integers.
    """
    if _writer(node) is not None:
        return True
    is_whole = whole_numbers.writer_of(node) is not None
    return row_statements.has_statement(node) and (with_whole or not is_whole)

"""Statements of a whole plan: steps on arrays, tensor lists, and loops over both.

A recurrent layer with one row is some ten steps around a loop, each with a microsecond or two of
Python for less arithmetic; here they and the loop are one kernel. A list is the rows of an array;
the loop is the function of its `Iteration`, called with parts of the kernel's memory.
If a call differs from the recorded one, for example in the number of iterations, the plan runs it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import row_statements, whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError, flips
from pinnace.engine.codegen.loop_calls import LoopCall
from pinnace.engine.codegen.places import PANEL
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
        known: values that are the same at every call with these sizes, besides constants.
        watched: the array of each value at that call.
        counts: iterations of each loop at that call.
        parts: number of tables like this one that a call runs.

    Attributes:
        functions: the loops, by the names that statements call them by.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        known: Mapping[Value, Array],
        watched: Mapping[Value, Any],
        counts: Mapping[Node, int],
        parts: int = 1,
    ) -> None:
        # The shapes of values in loops.
        self._inner: Mapping[Value, tuple[int, ...]] = {}
        # For transposed matrices that are not stored: the matrices before.
        self._turned: dict[Value, Value] = {}
        super().__init__(sizes, known)
        self._watched, self._counts, self.parts = watched, counts, parts
        self.functions: dict[str, Function] = {}

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value, also in a loop."""
        found = self._inner.get(value)
        return super().size(value) if found is None else found

    def _is_there(self, value: Value) -> bool:
        is_here = value.dtype is dtypes.resource or value in self._turned
        return is_here or super()._is_there(value)

    def _single(self, node: Node) -> None:
        write = _writer(node)
        # Only beside loops: networks have products of many matrices.
        has_many = bool(self._counts) and math.prod(self.size(node.outputs[0])[:-2]) > 1
        if has_many and self._turns(node):
            self._turned[node.outputs[0]] = node.inputs[0]
        elif has_many and node.op.product == "matrix":
            self._products(node)
        elif write is None:
            super()._single(node)
        else:
            write(self, node)

    def _turns(self, node: Node) -> bool:
        """Whether a step transposes many matrices: products read them as they are."""
        order = self._constant(node.inputs[1]) if node.op.view == "permuted" else None
        turned = order is not None and [int(one) for one in order] == [0, 2, 1]
        return turned and min(self.size(node.outputs[0])) > 1

    def _products(self, node: Node) -> None:
        """Generate products of many matrices, such as those of attention, one after the other."""
        left, right = node.inputs
        flip_a, flip_b = flips(node)
        if right in self._turned:
            right, flip_b = self._turned[right], not flip_b
        (*some, m, k), (*others, columns, n) = map(self.size, (left, right))
        count = math.prod(some)
        if flip_a or some != others or node in self._added or node in self.sums:
            raise UnsupportedError(f"{node}: a batched product with a shared matrix")
        a, b = (
            f"({self._whole(value).address} + 4 * i * {math.prod(self.size(value)[-2:])})"
            for value in (left, right)
        )
        panels = f"{b}, {n}, ACROSS"
        self.lines.append(f"for i in range({count}):")
        if flip_b:
            n = columns
            packed = self._reserve(k * -(-n // PANEL) * PANEL)
            self.lines.append(f"    pack({b}, 1, {k}, {k}, {n}, {packed})")
            panels = f"{packed}, ACROSS, {k} * ACROSS"
        home = self._home(node.outputs[0])
        into = f"{home.address} + 4 * i * {m} * {home.step}, {home.step}"
        given = f"{a}, {k}, 1, {panels}, {into}, {m}, {k}, {n}, {self._zeros}, 0"
        self.lines.append(f"    multiply({given})")

    # Lists.

    def _from_rows(self, node: Node) -> None:
        place = self._place(node.inputs[0])
        kind = node.inputs[0].dtype
        if kind is not dtypes.float32 and not (place.whole and kind is dtypes.bool):
            raise UnsupportedError(
                f"{node}: a list with elements of dtype {node.inputs[0].dtype.name}"
            )
        self.places[node.outputs[0]] = self._whole(node.inputs[0])

    def _to_rows(self, node: Node) -> None:
        value = node.outputs[0]
        if value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: a list with elements of dtype {value.dtype.name}")
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
        with_whole: whether steps on integers have statements.
    """
    if _writer(node) is not None:
        return True
    is_whole = whole_numbers.writer_of(node) is not None
    return row_statements.has_statement(node) and (with_whole or not is_whole)

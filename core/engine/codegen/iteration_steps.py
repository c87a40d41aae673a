"""The roles of a loop's variables and of the steps of its body, for one set of shapes.

Loop variables are scalars, which are in registers; float32 arrays, double-buffered; lists, of which
an iteration may read elements, pop or push the last one, set some, or add to some; and loop
invariants. Scalars come first in an iteration, with every check that can fail: a refused iteration
has changed nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError, multiplications
from pinnace.engine.codegen.number_tables import NumberTables, Slot
from pinnace.engine.codegen.row_statements import has_statement
from pinnace.engine.codegen.scalar_flow import ScalarFlow, Scope, checked_index
from pinnace.engine.codegen.scalar_text import SCALARS, literal
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.loop_lists import Lists
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Dtypes of the arrays that an iteration may change: numbers of four bytes.
CARRIED = frozenset({dtypes.float32, dtypes.int32})
# Functions that the source of a scalar step may call.
FUNCTIONS = frozenset({"abs", "max", "min", "sqrt"})
# The statement that refuses an iteration.
REFUSAL = "q[-1] = 1"


class Variables(Scope):
    """The variables of a loop, as the scope of the steps on scalars.

    Args:
        body: the plan of an iteration.
        values: the loop variables.
        sizes: the shape of each value of an iteration.

    Attributes:
        fixed: the loop-invariant values, by index.
        known: values that depend on shapes alone.
        carried: the loop variables that are arrays and change.
        shapes: their shapes, by loop variable.
        numbers: the kernel's tables of scalars.

    Raises:
        UnsupportedError: a loop variable has none of these roles.
    """

    def __init__(
        self, body: Plan, values: Sequence[Array], sizes: Mapping[Value, tuple[int, ...]]
    ) -> None:
        super().__init__()
        self.fixed: dict[Value, int] = {}
        self.known: dict[Value, Array] = {}
        self.carried: list[int] = []
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.numbers = NumberTables()
        self._sizes = sizes
        graph = body.graph
        for place, (value, result) in enumerate(zip(graph.inputs, graph.outputs, strict=True)):
            array = values[place]
            if result is value:
                self.fix(value)
            elif value.dtype is dtypes.variant:
                continue
            elif np.shape(array) != sizes.get(result, np.shape(array)):
                raise UnsupportedError(f"loop variable {place} changes its shape")
            elif array.ndim == 0 and value.dtype.name in SCALARS:
                self.names[value] = self.numbers.add(Slot(value.dtype, place, True))
            elif value.dtype in CARRIED and array.size:
                self.carried.append(place)
                self.shapes[place] = array.shape
            else:
                raise UnsupportedError(
                    f"loop variable {place} is {value.dtype.name}{list(array.shape)}"
                )

    def fix(self, value: Value) -> None:
        """Mark a value as loop invariant."""
        self.fixed.setdefault(value, len(self.fixed))

    def is_constant(self, value: Value) -> bool:
        """Whether a value is known before the loop runs."""
        return value in self.known or constant_of(value) is not None

    def name(self, value: Value) -> str | None:
        """The name of a scalar in the source; None if it is not a scalar."""
        found = self.names.get(value)
        if found is None:
            known = self.known.get(value)
            array = constant_of(value) if known is None else known
            if array is not None:
                return literal(array, value.dtype.name)
            if value in self.fixed and self._sizes[value] == () and value.dtype.name in SCALARS:
                slot = Slot(value.dtype, self.fixed[value], False)
                found = self.names[value] = self.numbers.add(slot)
        return found


class Steps:
    """The steps of an iteration: loop invariants, and steps on scalars and on arrays.

    Args:
        body: the plan of an iteration.
        watched: every value of an iteration.
        sizes: their shapes.
        variables: the loop's variables; updated with invariant values, known values, and scalars.
        lists: the loop variables that are lists.

    Attributes:
        hoisted: indices of the steps that are computed before the first iteration.
        ahead: the source of the scalar steps, and the checks of indices.
        arrays: steps on arrays.
        items: values that are elements of lists: the list, and the name of the index.
        slices: values that are slices of an invariant array: the array, the index's name and its
            axis.

    Raises:
        UnsupportedError: a step cannot be part of a kernel.
    """

    def __init__(
        self,
        body: Plan,
        watched: Mapping[Value, Array],
        sizes: Mapping[Value, tuple[int, ...]],
        variables: Variables,
        lists: Lists,
    ) -> None:
        self.hoisted: list[int] = []
        self.ahead: list[str] = []
        self.arrays: list[Node] = []
        self.items: dict[Value, tuple[int, str]] = {}
        self.slices: dict[Value, tuple[Value, str, int]] = {}
        self._watched, self._sizes = watched, sizes
        self._variables, self._lists = variables, lists
        self._flow = ScalarFlow(FUNCTIONS, REFUSAL)
        for position, step in enumerate(body.steps):
            if not (self._list_step(step.node) or self._constant_step(step.node)):
                self._step(position, step.node)
        if sum(multiplications(node, sizes) for node in self.arrays) > team.WORTH_PRODUCTS:
            raise UnsupportedError("matrix products are large enough for several threads")

    def _list_step(self, node: Node) -> bool:
        """Handle a step on a list."""
        lists = self._lists
        if node in lists.pops:
            self._item(node.outputs[1], lists.pops[node], None)
        elif node in lists.gets:
            self._item(node.outputs[0], lists.gets[node], node.inputs[1])
        return node in lists.steps

    def _constant_step(self, node: Node) -> bool:
        """Handle a step whose result depends on shapes alone, or is a vector of scalars."""
        variables = self._variables
        if node.op.effect is None and self._is_known(node):
            for value in node.outputs:
                variables.known[value] = np.asarray(self._watched[value])
            return True
        if node.op.name == "Pack" and all(
            self._sizes[value] == () and variables.name(value) is not None for value in node.inputs
        ):
            variables.vectors[node.outputs[0]] = [str(variables.name(v)) for v in node.inputs]
            return True
        return False

    def _step(self, position: int, node: Node) -> None:
        """Handle any other step."""
        variables = self._variables
        if node.inputs and node.inputs[0] in variables.fixed and self._slice(node):
            return
        if all(one in variables.fixed or variables.is_constant(one) for one in node.inputs):
            self.hoisted.append(position)
            for value in node.outputs:
                variables.fix(value)
            return
        if self._flow.has_text(node, variables):
            self.ahead += self._flow.step(node, variables)
            return
        if not has_statement(node):
            raise UnsupportedError(f"{node.op.name} has no statement")
        self.arrays.append(node)

    def _is_known(self, node: Node) -> bool:
        """Whether a step's result depends on shapes alone."""
        if node.op.shape_query:
            return all(value.dtype is not dtypes.variant for value in node.inputs)
        return bool(node.inputs) and all(map(self._variables.is_constant, node.inputs))

    def _item(self, item: Value, place: int, index: Value | None) -> None:
        """Read an element at the start of an iteration, after its index has been checked."""
        name = f"o{len(self.ahead)}"
        length = self._lists.length(place)
        at = f"{length} - iterations - 1" if index is None else self._variables.name(index)
        if at is None:
            raise UnsupportedError(f"the index {index} is not a scalar")
        self.ahead += checked_index(name, at, length, REFUSAL)
        self.items[item] = (place, name)
        if not self._lists.items[place]:
            if place in self._lists.changed:
                raise UnsupportedError(f"list {place}: scalars are both read and set")
            self._variables.names[item] = f"v{name}"
            self.ahead.append(f"v{name} = {SCALARS[item.dtype.name]}(l{place}[{name}])")

    def _is_a_row(self, array: Value, axis: int) -> bool:
        """Whether indexing this axis selects rows with a stride."""
        return axis == 0 or (axis == 1 and len(self._sizes[array]) == 3)

    def _slice(self, node: Node) -> bool:
        """Handle a slice of an invariant array, if it is an index on the first or second axis."""
        array, item = node.inputs[0], node.outputs[0]
        if node.op.name == "StridedSlice":
            begin = self._variables.vectors.get(node.inputs[1])
            if begin is None or node.attrs["ellipsis_mask"] or node.attrs["new_axis_mask"]:
                return False
            axis = len(begin) - 1
            before = (1 << axis) - 1  # all of the axes before
            if node.attrs["shrink_axis_mask"] != 1 << axis or node.attrs["begin_mask"] != before:
                return False
            if node.attrs["end_mask"] & before != before or not self._is_a_row(array, axis):
                return False
            steps = constant_of(node.inputs[3])
            if steps is None or (steps != 1).any():
                return False
            index, backwards = begin[axis], True
        elif node.op.name == "GatherV2":
            known = constant_of(node.inputs[2])
            name = self._variables.name(node.inputs[1])
            if name is None or known is None or int(known) or node.attrs.get("batch_dims"):
                return False
            index, backwards, axis = name, False, 0
        else:
            return False
        shape = self._sizes[item]
        # Booleans, such as the mask of a step, are read only from contiguous rows.
        are_rows = array.dtype is dtypes.bool and axis == 0 and bool(shape)
        if not (array.dtype is dtypes.float32 or are_rows) or not math.prod(shape):
            return False
        name = f"o{len(self.ahead)}"
        whole = f"x{self._variables.fixed[array]}"
        length = f"{whole}.shape[{axis}]"
        self.ahead += checked_index(name, index, length, REFUSAL, backwards=backwards)
        self.slices[item] = (array, name, axis)
        if not shape:
            self._variables.names[item] = f"v{name}"
            self.ahead.append(f"v{name} = T({whole}[{name}])")
        return True

"""Statements of an iteration that only a table has: reductions of rows, functions of the system.

Beside them there are those of plans, on integers and booleans too. An iteration that numbers
forbid, such as an index out of range, is left to the plan, unless something is written in place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import plan_statements, whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise
from pinnace.engine.codegen.function_numbers import BINARY, UNARY
from pinnace.engine.codegen.plan_statements import PlanStatements
from pinnace.engine.codegen.statements import is_known as is_plainly_known
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import slicing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.places import Place
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most numbers whose places in a slice are examined at each making of a table.
_MOST_PLACED = 1 << 14
# Most integers of an elementwise step: each takes some dozen rows of the table.
_MOST_WHOLE = 256


class IterationStatements(PlanStatements):
    """The statements of a loop that a table runs.

    Args:
        sizes: the shape of each value of an iteration.
        scalars: names of the scalars in registers, by value.
        known: what is the same at every call with these sizes, besides constants.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        scalars: Mapping[Value, str],
        known: Mapping[Value, Array],
    ) -> None:
        super().__init__(sizes, known, {}, {}, scalars)

    def write(self, nodes: Sequence[Node], homes: dict[Value, Place], wanted: set[Value]) -> None:
        """Generate the statements of these steps; see `Statements.write`.

        Raises:
            UnsupportedError: one has no statement, or an array is empty: reductions begin with the
                first number of a row.
        """
        for value in {value for node in nodes for value in (*node.inputs, *node.outputs)}:
            if 0 in self._sizes.get(value, ()) and self._constant(value) is None:
                raise UnsupportedError(f"{value}: empty")
        super().write(nodes, homes, wanted)

    def _single(self, node: Node) -> None:
        write = _writer_of(node)
        if write is None:
            super()._single(node)
        else:
            write(self, node)

    def _give_up(self, condition: str, indent: str) -> list[str]:
        if not self.may_leave:
            raise UnsupportedError("an iteration that is left when something is written")
        return [f"{indent}{line}" for line in (f"if {condition}:", "    q[-1] = 1", "    leave()")]

    def _each(self, node: Node) -> None:
        if math.prod(self.size(node.outputs[0])) > _MOST_WHOLE:
            raise UnsupportedError(f"{node}: many integers")
        super()._each(node)

    def _rows_of(self, value: Value, axes: int = 1) -> tuple[str, str, str, str]:
        """Rows of the last axes of a value: their address, stride, number and width."""
        shape = self.size(value)
        place = self._place(value) if axes == 1 else self._whole(value)
        rows, width = math.prod(shape[: len(shape) - axes]), math.prod(shape[len(shape) - axes :])
        step = place.step if axes == 1 else self.number(width)
        return place.address, step, self.number(rows), self.number(width)

    def _whole_home(self, value: Value) -> Place:
        home = self._home(value)
        if not home.whole:
            raise UnsupportedError(f"{value}: part of another value")
        return home

    def _reduced(self, node: Node) -> None:
        """The sum, mean or largest number of the last axes; others as in all statements."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        if axes is None:
            raise UnsupportedError(f"{node}: over axes that are not known")
        gone = {int(one) % max(len(shape), 1) for one in axes.reshape(-1)} if shape else set()
        many = len(gone)
        if not gone or gone != {*range(len(shape) - many, len(shape))}:
            if node.op.name != "Sum":
                raise UnsupportedError(f"{node}: only over the last axes")
            self._sum(node)
            return
        address, step, rows, width = self._rows_of(value, many)
        home = self._whole_home(node.outputs[0]).address
        if node.op.name == "Max":
            self.lines.append(f"row_largest({address}, {step}, {home}, {rows}, {width})")
            return
        by = width if node.op.name == "Mean" else "1"
        self.lines.append(f"row_totals({address}, {step}, {home}, {rows}, {width}, {by})")

    def _softmax(self, node: Node) -> None:
        address, step, rows, width = self._rows_of(node.inputs[0])
        home = self._whole_home(node.outputs[0]).address
        self.lines.append(f"row_softmax({address}, {step}, {home}, {rows}, {width})")

    def _largest_places(self, node: Node) -> None:
        value, made = node.inputs[0], node.outputs[0]
        axis, shape = self._constant(node.inputs[1]), self.size(value)
        if axis is None or int(axis) % len(shape) != len(shape) - 1:
            raise UnsupportedError(f"{node}: only along the last axis")
        address, step, rows, width = self._rows_of(value)
        self._result(made)
        home, size = self.places[made].address, made.dtype.size
        self.lines.append(f"row_places({address}, {step}, {home}, {rows}, {width}, {size})")

    def _function(self, node: Node) -> None:
        which = UNARY.index(node.op.name.lower())
        source, home = self._whole(node.inputs[0]), self._whole_home(node.outputs[0])
        count = self.number(math.prod(self.size(node.outputs[0])))
        self.lines.append(f"apply({which}, {source.address}, {home.address}, {count})")

    def _function_of_two(self, node: Node) -> None:
        first, second = node.inputs
        shape = self.size(node.outputs[0])
        count, others = math.prod(shape), math.prod(self.size(second))
        if self.size(first) != shape or others not in {1, count}:
            raise UnsupportedError(f"{node}: rows of one, columns of the other")
        a, b = self._whole(first), self._whole(second)
        home = self._whole_home(node.outputs[0])
        which, step = BINARY.index(node.op.name.lower()), int(others == count)
        given = f"{a.address}, {b.address}, {step}, {home.address}, {self.number(count)}"
        self.lines.append(f"apply_two({which}, {given})")

    # Columns.

    def _column(self, source: str, step: str, target: Place, count: int) -> None:
        """Copy numbers with a stride to contiguous ones."""
        many = self.number(count)
        self.lines.append(f"copy_rows({source}, {step}, {target.address}, 1, {many}, 1)")

    def _unpack(self, node: Node) -> None:
        value = node.inputs[0]
        shape = self.size(value)
        axis = node.attrs["axis"] % max(len(shape), 1)
        if axis != len(shape) - 1 or math.prod(shape[:-1]) == 1:
            super()._unpack(node)
            return
        source = self._place(value)
        for index, part in enumerate(node.outputs):
            target = self._whole_home(part)
            self._column(
                f"({source.address} + {self.number(4 * index)})",
                source.step,
                target,
                math.prod(shape[:-1]),
            )

    def _stack(self, node: Node) -> None:
        value = node.outputs[0]
        shape = self.size(value)
        if node.attrs["axis"] % len(shape) != len(shape) - 1 or len(shape) == 1:
            super()._stack(node)
            return
        home, count = self._whole_home(value), self.number(math.prod(shape[:-1]))
        for index, part in enumerate(node.inputs):
            source = self._whole(part)
            at = f"({home.address} + {self.number(4 * index)})"
            self.lines.append(f"copy_rows({source.address}, 1, {at}, {home.step}, {count}, 1)")

    def _element(self, node: Node) -> None:
        before = len(self.lines)
        try:
            super()._element(node)
        except UnsupportedError:
            del self.lines[before:]
            self._spaced(node)

    def _spaced(self, node: Node) -> None:
        """A slice whose numbers are equally far apart."""
        value, *bounds = node.inputs
        made = node.outputs[0]
        shape, known = self.size(value), [self._constant(one) for one in bounds]
        count = math.prod(shape)
        if any(one is None for one in known) or value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: bounds that are not known")
        if not 0 < count <= _MOST_PLACED:
            raise UnsupportedError(f"{node}: many numbers")
        begin, end, strides = (np.asarray(one).tolist() for one in known)
        masks = tuple(node.attrs[name] for name in slicing.MASKS)
        try:
            index = slicing.index_of(node.op.name, shape, (begin, end, strides), masks)
        except InvalidArgumentError as error:
            raise UnsupportedError(str(error)) from None
        places = np.arange(count).reshape(shape)[index[:-1]].reshape(-1)
        apart = np.unique(np.diff(places))
        if len(apart) > 1 or not places.size:
            raise UnsupportedError(f"{node}: numbers in other places")
        source, target = self._whole(value), self._whole_home(made)
        step = self.number(int(apart[0]) if apart.size else 1)
        first = self.number(4 * int(places[0]))
        self._column(f"({source.address} + {first})", step, target, places.size)


_FUNCTIONS = {
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Floor", "Log",
    "Log1p", "Rint", "Sin", "Sinh", "Tan",
}  # fmt: skip
_MOVERS: dict[str, Callable[[IterationStatements, Node], None]] = {
    "slice": IterationStatements._element,
    "stack": IterationStatements._stack,
    "unstack": IterationStatements._unpack,
}
_WRITERS: dict[str, Callable[[IterationStatements, Node], None]] = {
    "BroadcastTo": IterationStatements._repeat,
    "Softmax": IterationStatements._softmax,
    "Sum": IterationStatements._reduced,
    "Mean": IterationStatements._reduced,
    "Max": IterationStatements._reduced,
    **dict.fromkeys(_FUNCTIONS, IterationStatements._function),
    "Pow": IterationStatements._function_of_two,
    "Atan2": IterationStatements._function_of_two,
}


def _writer_of(node: Node) -> Callable[[IterationStatements, Node], None] | None:
    """The method for a step that only iterations have."""
    if not node.inputs or node.inputs[0].dtype is not dtypes.float32:
        return None
    made = node.outputs[0].dtype
    if node.op.name == "ArgMax" and made in {dtypes.int32, dtypes.int64}:
        return IterationStatements._largest_places
    if made is not dtypes.float32 or is_elementwise(node):
        return None
    return _WRITERS.get(node.op.name) or _MOVERS.get(node.op.moves or "")


def is_known(node: Node) -> bool:
    """Whether there may be a statement for a step of an iteration."""
    if _writer_of(node) is not None or is_plainly_known(node):
        return True
    if node.op.runs or any(one.dtype is dtypes.variant for one in (*node.inputs, *node.outputs)):
        return False
    return (
        plan_statements.has_statement(node, with_whole=False)
        or whole_numbers.writer_of(node) is not None
        or whole_numbers.is_reshaped(node)
    )

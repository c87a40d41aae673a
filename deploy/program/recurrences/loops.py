"""A program's While loops as recurrent layers: the step counter, and the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.deploy.program.recurrences.cells import Body
from pinnace.deploy.program.recurrences.sums import (
    ITEM,
    OTHER,
    UNARY,
    Forms,
    added,
    alone,
    constant,
    scaled,
)
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.engine.passes.fold import outcome
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pinnace.deploy.program.recurrences.cells import Cell
    from pinnace.deploy.program.recurrences.sums import Atom, Sum
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value

    # The constant value of something outside the loop; None if it is not constant.
    Known = Callable[[Value], Array | None]

_PLUS = {"Add", "AddV2"}
_SAME = {"Identity", "ReadVariableOp", "StopGradient", "PreventGradient", "Snapshot"}
_CHOICES = {"Select", "SelectV2"}
# Ops that keep the elements of a column of bools, and change its shape only.
_SHAPED = {"Identity", "Tile", "Reshape", "ExpandDims", "Squeeze", "BroadcastTo"}
_FILLED = {"OnesLike": 1, "ZerosLike": 0}
_SLOPES = {"LeakyRelu": 0.2, "Elu": 1.0}


class Write(NamedTuple):
    """A write of a loop into a list, one item per step.

    Attributes:
        item: the cell's output that is written.
        is_last: whether every step writes to the same index, so that the last item remains.
    """

    item: Atom
    is_last: bool


class Loop:
    """A While loop that consists of recurrent cells.

    Args:
        node: the While.
        test: its condition, with calls inlined.
        body: its body, with calls inlined.
        known: returns the constant values outside the loop.

    Attributes:
        node: the argument.
        cells: the cells, in an order in which they can be computed.
        limits: the number of steps is the least of these numbers and outside values.

    Raises:
        UnconvertibleError: the loop's end depends on more than numbers of steps.
    """

    def __init__(self, node: Node, test: Graph, body: Graph, known: Known) -> None:
        self.node = node
        self._body = body
        self._known = known
        self._constants: dict[Value, Array | None] = {}
        places = range(len(body.inputs))
        self.fixed = {i for i in places if body.outputs[i] is body.inputs[i]}
        self.counters = {i for i in places if self._counts(i)}
        self.limits = self._limits(test)
        self._forms = _ProgramForms(self)
        self._cells = Body(self._forms, body.outputs)
        self.cells: list[Cell] = self._cells.cells

    # The step counter.

    def _counts(self, place: int) -> bool:
        """Whether a state is the step counter."""
        after = self._body.outputs[place].node
        if after.op.name not in _PLUS or after.outputs[0].shape.rank != 0:
            return False
        state = self._body.inputs[place]
        a, b = after.inputs
        one = constant_of(b if a is state else a)
        if (a is not state and b is not state) or one is None or one != 1:
            return False
        start = self._known(self.node.inputs[place])
        return start is not None and start.size == 1 and int(start.reshape(-1)[0]) == 0

    def _limits(self, test: Graph) -> list[int | Value]:
        found: list[int | Value] = []
        queue = [test.outputs[0]]
        while queue:
            node = queue.pop().node
            if node.op.name in _SAME | {"LogicalAnd"}:
                queue.extend(node.inputs)
                continue
            if node.op.name not in {"Less", "Greater"}:
                raise UnconvertibleError
            counter, limit = node.inputs if node.op.name == "Less" else node.inputs[::-1]
            if counter not in test.inputs or test.inputs.index(counter) not in self.counters:
                raise UnconvertibleError
            number = constant_of(limit)
            if number is not None and number.size == 1:
                found.append(int(number.reshape(-1)[0]))
            elif limit in test.inputs and test.inputs.index(limit) in self.fixed:
                found.append(self.node.inputs[test.inputs.index(limit)])
            else:
                raise UnconvertibleError
        return found

    # Values of the body.

    @property
    def states(self) -> Mapping[Value, tuple[int, int]]:
        """Value of the body -> index and size, for states that are a row per example."""
        found = {}
        for i, value in enumerate(self._body.inputs):
            width = value.shape[-1] if value.shape.rank == 2 else None
            if i not in self.fixed and width is not None and value.dtype.is_floating:
                found[value] = (i, int(width))
        return found

    @property
    def names(self) -> set[Value]:
        """The states after a step, and their new values before masking."""
        found = set(self._body.outputs)
        for value in self._body.outputs:
            if value.node.op.name in _CHOICES:
                found.add(value.node.inputs[1])
        return found

    def outside(self, value: Value) -> Value | None:
        """The value outside the loop that equals a value of the body in every step; else None."""
        while value.node.op.name in _SAME and value not in self._body.inputs:
            value = value.node.inputs[0]
        if value not in self._body.inputs:
            return None
        place = self._body.inputs.index(value)
        return self.node.inputs[place] if place in self.fixed else None

    def constant(self, value: Value) -> Array | None:
        """The constant value of a value of the body; None if it is not constant."""
        if value not in self._constants:
            self._constants[value] = self._constant(value)
        return self._constants[value]

    def _constant(self, value: Value) -> Array | None:
        node = value.node
        outer = self.outside(value)
        if outer is not None:
            return self._known(outer)
        if value in self._body.inputs:
            return None
        if node.op.name == "Const":
            return constant_of(value)
        if node.op.name in _FILLED and value.shape.rank == 2:
            # A dropout mask that drops nothing; the number of its rows does not matter.
            return np.full((1, 1), _FILLED[node.op.name], value.dtype.numpy)
        if node.op.stateful or node.op.wants_ctx:
            return None
        arrays = [self.constant(one) for one in node.inputs]
        given = [array for array in arrays if array is not None]
        if len(given) < max(len(arrays), 1):
            return None
        found = outcome(node, given)
        return None if found is None else np.asarray(found[value.index])

    def is_step(self, value: Value) -> bool:
        """Whether a value of the body is the step counter."""
        while value.node.op.name in {"Cast", "Identity"} and value not in self._body.inputs:
            value = value.node.inputs[0]
        return value in self._body.inputs and self._body.inputs.index(value) in self.counters

    def item(self, value: Value) -> Value | None:
        """The sequence outside the loop of which a value is the row at this step.

        The sequence is a list, or a tensor with the steps along its first axis.
        """
        node = value.node
        if node.op.name == "TensorListGetItem":
            return self.outside(node.inputs[0]) if self.is_step(node.inputs[1]) else None
        if node.op.name == "GatherV2" and not node.attrs.get("batch_dims"):
            axis = self.constant(node.inputs[2])
            if axis is not None and int(axis) == 0 and self.is_step(node.inputs[1]):
                return self.outside(node.inputs[0])
        return None

    # The loop's outputs.

    def written(self, place: int) -> Write | None:
        """The write into a list; None if it is not a cell's output in every step."""
        node = self._body.outputs[place].node
        if node.op.name != "TensorListSetItem" or node.inputs[0] is not self._body.inputs[place]:
            return None
        is_step = self.is_step(node.inputs[1])
        number = self.constant(node.inputs[1])
        if not is_step and (number is None or int(number) != 0):
            return None
        atom = self._output(node.inputs[2])
        return None if atom is None else Write(atom, not is_step)

    def held(self, place: int) -> Atom | None:
        """The cell's output that a state equals after each step; None if it is something else."""
        return self._output(self._body.outputs[place])

    def _output(self, value: Value) -> Atom | None:
        try:
            atom = alone(self._forms.of(value))
        except UnconvertibleError:
            return None
        return atom if any(cell.output is atom for cell in self.cells) else None


class _ProgramForms(Forms["Value"]):
    """The values of a loop's body as sums.

    Args:
        loop: the loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        super().__init__(loop.states, loop.names)

    def is_inside(self, value: Value) -> bool:
        """Whether a value is not constant: all such values belong to the body."""
        return self._loop.constant(value) is None

    def made(self, value: Value) -> Sum:
        """The sum that the value's op computes."""
        if self._loop.constant(value) is not None:
            raise UnconvertibleError
        outer = self._loop.outside(value)
        if outer is not None:
            return self.one(self.atom(OTHER, (outer,), _width(value)))
        sequence = self._loop.item(value)
        if sequence is not None:
            return self.one(self.atom(ITEM, (sequence,), _width(value)))
        node = value.node
        name = node.op.name
        if name in {"Split", "SplitV"}:
            return self._split(node, value)
        if name in UNARY:
            numbers = (float(node.attrs.get("alpha", _SLOPES[name])),) if name in _SLOPES else ()
            return self.activated(name, self.of(node.inputs[0]), *numbers)
        rule = _RULES.get(name)
        if rule is None:
            raise UnconvertibleError
        return rule(self, node)

    def _same(self, node: Node) -> Sum:
        return self.of(node.inputs[0])

    def _turned(self, node: Node) -> Sum:
        return scaled(self.of(node.inputs[0]), np.array(-1.0))

    def _sum(self, node: Node) -> Sum:
        return added(*self._pair(node))

    def _difference(self, node: Node) -> Sum:
        a, b = self._pair(node)
        return added(a, scaled(b, np.array(-1.0)))

    def _scaled(self, node: Node) -> Sum:
        a, b = self._pair(node)
        return self.ratio(a, b) if node.op.name == "RealDiv" else self.both(a, b)

    def _clip(self, node: Node) -> Sum:
        """A clip to two bounds, by Clip or by Minimum and Maximum."""
        if node.op.name == "Relu6":
            return self.activated("Clip", self.of(node.inputs[0]), 0.0, 6.0)
        inner, low = node.inputs[0].node, self._loop.constant(node.inputs[1])
        if node.op.name == "ClipByValue":
            high, value = self._loop.constant(node.inputs[2]), node.inputs[0]
        elif inner.op.name == "Minimum":
            high, value = self._loop.constant(inner.inputs[1]), inner.inputs[0]
        else:
            raise UnconvertibleError
        if low is None or high is None or low.size != 1 or high.size != 1:
            raise UnconvertibleError
        ends = (float(bound.reshape(-1)[0]) for bound in (low, high))
        return self.activated("Clip", self.of(value), *ends)

    def _pair(self, node: Node) -> tuple[Sum, Sum]:
        (a, first), (b, second) = ((v, self._loop.constant(v)) for v in node.inputs)
        if first is not None:
            other = self.of(b)
            return constant(first, other.width), other
        one = self.of(a)
        other = self.of(b) if second is None else constant(second, one.width)
        if one.width != other.width:
            raise UnconvertibleError
        return one, other

    def _product(self, node: Node) -> Sum:
        weights = self._loop.constant(node.inputs[1])
        if weights is None or weights.ndim != 2 or node.attrs.get("transpose_a"):
            raise UnconvertibleError
        if node.attrs.get("transpose_b"):
            weights = weights.T
        return self.product(self._parts(node.inputs[0]), weights.astype(np.float64))

    def _parts(self, value: Value) -> list[Sum]:
        """The rows whose concatenation a value is."""
        node = value.node
        if node.op.name != "ConcatV2":
            return [self.of(value)]
        axis = self._loop.constant(node.inputs[-1])
        if axis is None or int(axis) not in {-1, 1}:
            raise UnconvertibleError
        return [part for one in node.inputs[:-1] for part in self._parts(one)]

    def _choice(self, node: Node) -> Sum:
        first, second = node.inputs[1:]
        one, numbers = self.of(first), self._loop.constant(second)
        other = self.of(second) if numbers is None else constant(numbers, one.width)
        return self.chosen(self._truth(node.inputs[0]), one, other)

    def _truth(self, value: Value) -> Value:
        """The sequence outside the loop of which a column of bools is an item."""
        while value.node.op.name in _SHAPED:
            value = value.node.inputs[0]
        found = self._loop.item(value)
        if found is None or not value.dtype.is_bool:
            raise UnconvertibleError
        return found

    def _split(self, node: Node, value: Value) -> Sum:
        is_even = node.op.name == "Split"
        axis = self._loop.constant(node.inputs[0 if is_even else 2])
        if axis is None or int(axis) not in {-1, 1}:
            raise UnconvertibleError
        total = self.of(node.inputs[1 if is_even else 0])
        widths = [_width(output) for output in node.outputs]
        start = sum(widths[: value.index])
        return self.columns(total, start, start + widths[value.index])

    def _slice(self, node: Node) -> Sum:
        """A slice that keeps all rows, and consecutive columns."""
        bounds = [self._loop.constant(value) for value in node.inputs[1:]]
        if any(bound is None or bound.shape != (2,) for bound in bounds):
            raise UnconvertibleError
        (row, first), (rows, last) = (np.asarray(bound).tolist() for bound in bounds[:2])
        total = self.of(node.inputs[0])
        if node.op.name == "Slice":
            if row != 0 or rows != -1:
                raise UnconvertibleError
            last = total.width if last == -1 else first + last
            return self.columns(total, first, last)
        masks = {name: int(node.attrs.get(f"{name}_mask", 0)) for name in _MASKS}
        is_all = (masks["begin"] & 1 or row == 0) and masks["end"] & 1
        odd = any(masks[name] for name in _MASKS[2:])
        if not is_all or odd or np.any(np.asarray(bounds[2]) != 1):
            raise UnconvertibleError
        begin = None if masks["begin"] & 2 else first
        end = None if masks["end"] & 2 else last
        start, stop, _ = slice(begin, end).indices(total.width)
        return self.columns(total, start, stop)


_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
_RULES: Mapping[str, Callable[[_ProgramForms, Node], Sum]] = {
    "Add": _ProgramForms._sum,
    "AddV2": _ProgramForms._sum,
    "BiasAdd": _ProgramForms._sum,
    "ClipByValue": _ProgramForms._clip,
    "MatMul": _ProgramForms._product,
    "Maximum": _ProgramForms._clip,
    "Mul": _ProgramForms._scaled,
    "Neg": _ProgramForms._turned,
    "RealDiv": _ProgramForms._scaled,
    "Relu6": _ProgramForms._clip,
    "Select": _ProgramForms._choice,
    "SelectV2": _ProgramForms._choice,
    "Slice": _ProgramForms._slice,
    "StridedSlice": _ProgramForms._slice,
    "Sub": _ProgramForms._difference,
    **dict.fromkeys(_SAME, _ProgramForms._same),
}


def _width(value: Value) -> int:
    """The number of columns of a value.

    Raises:
        UnconvertibleError: the value is not a row per example.
    """
    width = value.shape[-1] if value.shape.rank == 2 else None
    if width is None:
        raise UnconvertibleError
    return int(width)


def states_of(cells: Collection[Cell]) -> set[int]:
    """The indices of the states of cells."""
    return {place for cell in cells for place in (cell.hidden, cell.memory) if place is not None}

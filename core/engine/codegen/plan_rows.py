"""Whether the rows of a plan's arguments are independent, so that threads may share them.

Two recorded calls are compared, one with all rows and one with the first of them: the axis in which
a value's shapes differ is that of the rows. If each step keeps rows apart along it, a table for
some rows computes for them what one for all rows would.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError, flips
from pinnace.engine.codegen.loop_rows import work_of
from pinnace.engine.codegen.strides import key_of
from pinnace.engine.codegen.watching import plans_of_loop
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

    Recorded = Mapping[Value, Array]
    Rule = Callable[["PlanRows", Node, Value, Value, int], bool]

# The inputs that only determine a result's shape: they may depend on the number of rows.
_SHAPES = {
    "BroadcastTo": 1, "Fill": 0, "Reshape": 1, "TensorListFromTensor": 1, "TensorListGetItem": 2,
    "TensorListReserve": 0, "TensorListStack": 1, "Tile": 1,
}  # fmt: skip
# The axis of the rows in a list without elements.
_EMPTY = -1


class PlanRows:
    """The rows in the values of a plan.

    Args:
        rows: the number of rows in the first call.
        part: the number of rows in the second call.
        calls: the array of every value in each call.

    Attributes:
        axes: the axis of the rows, by value; for a list, in its stacked elements.
        work: the approximate cost of all loops so far, in multiplications.
    """

    def __init__(self, rows: int, part: int, calls: tuple[Recorded, Recorded]) -> None:
        self._rows, self._part, self._calls = rows, part, calls
        self.axes: dict[Value, int] = {}
        self.work = 0
        # Values without rows that depend on the number of rows, such as shapes.
        self._apart: set[Value] = set()

    def follow(self, nodes: Iterable[Node], counts: Mapping[Node, int]) -> None:
        """Find the rows in the results of these steps, and in their inputs.

        Args:
            nodes: the steps.
            counts: the iterations of each loop.

        Raises:
            UnsupportedError: a step mixes rows, or is not known to keep them apart.
        """
        nodes = list(nodes)
        made = {value for node in nodes for value in node.outputs}
        for value in {value for node in nodes for value in node.inputs} - made - {*self.axes}:
            axis = self.axis(value)
            if axis is not None:
                self.axes[value] = axis
        for node in nodes:
            has_lists = any(v.dtype is dtypes.variant for v in (*node.inputs, *node.outputs))
            has_rows = not node.op.shape_query and any(v in self.axes for v in node.inputs)
            if node.op.runs == "loop":
                self._loop(node, counts[node])
            elif not has_lists and not has_rows:
                for value in node.outputs:
                    self._without(node, value)
            else:
                self._check_shapes(node)
                for value in node.outputs:
                    axis = self._listed(node) if has_lists else self._kept(node, value)
                    if axis is not None:
                        self.axes[value] = axis

    def axis(self, value: Value) -> int | None:
        """The axis in which the shapes of a value differ; None if they do not.

        Raises:
            UnsupportedError: they differ otherwise.
        """
        one, other = (np.shape(self._array(value, call)) for call in self._calls)
        found = [
            axis for axis, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1
        ]
        if one == other:
            return None
        if len(one) == len(other) and len(found) == 1:
            each, left = divmod(one[found[0]], self._rows)
            if not left and other[found[0]] == each * self._part:
                return found[0]
        raise UnsupportedError(
            f"{value}: shapes {list(one)} and {list(other)} for different numbers of rows"
        )

    def _array(self, value: Value, call: Recorded | None = None) -> Array:
        found = (self._calls[0] if call is None else call).get(value)
        found = constant_of(value) if found is None else found
        if found is None:
            raise UnsupportedError(f"{value}: not recorded")
        return found

    def _shape(self, value: Value) -> tuple[int, ...]:
        return np.shape(self._array(value))

    def _check_shapes(self, node: Node) -> None:
        for place, value in enumerate(node.inputs):
            if value in self._apart and place != _SHAPES.get(node.op.name):
                raise UnsupportedError(f"{node}: {value} depends on the number of rows")

    def _without(self, node: Node, value: Value) -> None:
        """Check the result of a step whose inputs have no rows, or matter only by their shapes."""
        axis = self.axis(value)
        if axis is not None:  # the same numbers for all rows
            self._check_shapes(node)
            place, shape = axis - len(self._shape(value)), self._shape(node.inputs[0])
            is_one = len(shape) < -place or shape[place] == 1
            if node.op.name != "Fill" and not (node.op.name in {"BroadcastTo", "Tile"} and is_one):
                raise UnsupportedError(f"{node}: creates a batch axis")
            self.axes[value] = axis
        elif node.op.shape_query or not self._apart.isdisjoint(node.inputs):
            first, second = (self._array(value, call) for call in self._calls)
            if not np.array_equal(first, second):
                self._apart.add(value)

    # Steps on arrays.

    def _kept(self, node: Node, made: Value) -> int:
        """The axis of the rows in a result of a step that keeps them apart."""
        axis, rule = self.axis(made), _rule(node)
        value = next(one for one in node.inputs if one in self.axes)
        if axis is None or rule is None or not rule(self, node, value, made, axis):
            raise UnsupportedError(f"{node}: mixes rows")
        return axis

    def _in_place(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        """Whether all rows are where they were, if the last axes belong together."""
        del value
        given, b = [one for one in node.inputs if one in self.axes], self._shape(made)
        return node.attrs.get("data_format") != "NCHW" and all(
            self.axes[one] - len(a) == axis - len(b) and a[self.axes[one]] == b[axis]
            for one, a in zip(given, map(self._shape, given), strict=True)
        )

    def _beside(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        """The same, if another axis is the one that is joined, reversed or normalised."""
        along = -1 if node.op.name == "Softmax" else self._array(node.inputs[-1])
        others = {int(one) % len(self._shape(made)) for one in np.reshape(along, -1)}
        return axis not in others and self._in_place(node, value, made, axis)

    def _multiplied(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        del value
        left, right = node.inputs
        beyond = axis - len(self._shape(made))  # -3 or less: a product for each row
        is_left = right not in self.axes and beyond == -2 and not flips(node)[0]
        return (is_left or beyond < -2) and self._in_place(node, left, made, axis)

    def _reshaped(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        del node
        before = math.prod(self._shape(value)[: self.axes[value]])
        return before == math.prod(self._shape(made)[:axis])

    def _permuted(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        return int(self._array(node.inputs[1])[axis]) % len(self._shape(made)) == self.axes[value]

    def _stacked(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        del value
        place, own = node.attrs["axis"] % len(self._shape(made)), map(self.axes.get, node.inputs)
        return all(one is not None and one + (place <= one) == axis for one in own)

    def _left(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        """Whether the remaining axes keep their order, including that of the rows."""
        del node
        return self._shape(value)[self.axes[value]] == self._shape(made)[axis]

    def _sliced(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        key = key_of(node, self._shape(value), self._array) or []
        taken = [one for one in key if one is not None][self.axes[value] :][:1]
        forward = all(isinstance(one, slice) and (one.step or 1) > 0 for one in taken)
        return bool(key) and forward and self._left(node, value, made, axis)

    def _gathered(self, node: Node, value: Value, made: Value, axis: int) -> bool:
        del made
        table, indices, *along = node.inputs
        if node.attrs.get("batch_dims") or (table in self.axes and indices in self.axes):
            return False
        at = int(self._array(along[0])) % len(self._shape(table)) if along else 0
        own, more = self.axes[value], len(self._shape(indices)) - 1
        if value is indices:
            return axis == at + own
        return own != at and axis == own + (more if at < own else 0)

    # Lists, and loops.

    def _listed(self, node: Node) -> int | None:
        """The axis of the rows in the result of a step on a list."""
        axes, own = [self.axes.get(value) for value in node.inputs], None
        if node.outputs[0].dtype is not dtypes.variant:
            own = self.axis(node.outputs[0])
        match node.op.name, axes:
            case "TensorListReserve", [None, None]:
                return _EMPTY
            case "TensorListFromTensor", [axis, None] if axis != 0:
                return axis
            case "TensorListGetItem", [axis, None, None] if axis == (
                own if own is None else own + 1
            ):
                return own
            case "TensorListSetItem", [None, None, None]:
                return None
            case "TensorListSetItem", [int(axis), None, int(item)] if axis in {_EMPTY, item + 1}:
                return item + 1
            case "TensorListStack", [axis, None] if axis == own:
                return own
        raise UnsupportedError(f"{node}: a list operation on a batch")

    def _loop(self, node: Node, count: int) -> None:
        """Follow the rows through a loop whose iterations keep them apart."""
        test, body = plans_of_loop(node)
        record = body.source.recording()
        steps = [one.node for one in body.steps if one.node.outputs]
        with np.errstate(all="ignore"):
            whole, part = (
                record([np.asarray(self._array(value, call)) for value in node.inputs])
                for call in self._calls
            )
        inputs, results = body.graph.inputs, body.graph.outputs
        inner = PlanRows(self._rows, self._part, (whole, part))
        inner._apart = {
            value for value, given in zip(inputs, node.inputs, strict=True) if given in self._apart
        }
        apart = set(inner._apart)
        ends = [self.axes.get(value) for value in node.inputs]
        axes: list[int | None] = []
        while axes != ends:  # again if lists have got their first elements
            axes = ends
            found = zip(inputs, axes, strict=True)
            inner.axes = {value: axis for value, axis in found if axis is not None}
            inner.follow(steps, {})
            ends = [inner.axes.get(value) for value in results]
            if any(a not in {b, _EMPTY} for a, b in zip(axes, ends, strict=True)):
                raise UnsupportedError(f"{node}: the batch axis moves")
        used = {value for one in test.steps for value in one.node.inputs} | {*test.graph.outputs}
        places = zip(inputs, results, test.graph.inputs, axes, node.outputs, strict=True)
        for value, end, tested, axis, made in places:
            depends = value in apart or end in inner._apart
            if (depends and value is not end) or (tested in used and (depends or axis is not None)):
                raise UnsupportedError(f"{node}: depends on the number of rows")
            if depends:
                self._apart.add(made)
            if axis is not None:
                self.axes[made] = axis
        known = {value for one in steps for value in (*one.inputs, *one.outputs)}
        self.work += count * work_of(steps, {value: inner._shape(value) for value in known})


_RULES: Mapping[str, Rule] = {
    "ArgMax": PlanRows._left,
    "BroadcastTo": PlanRows._in_place,
    "Bucketize": PlanRows._in_place,
    "Cast": PlanRows._in_place,
    "GatherV2": PlanRows._gathered,
    "ResourceGather": PlanRows._gathered,
    "Softmax": PlanRows._beside,
    "concatenate": PlanRows._beside,
    "matrix": PlanRows._multiplied,
    "permuted": PlanRows._permuted,
    "repeat": PlanRows._in_place,
    "reshaped": PlanRows._reshaped,
    "reverse": PlanRows._beside,
    "slice": PlanRows._sliced,
    "split": PlanRows._in_place,
    "stack": PlanRows._stacked,
}


def _rule(node: Node) -> Rule | None:
    """A method that says whether a step keeps rows apart; None if nothing is known."""
    op = node.op
    kind = op.product or op.view or op.moves
    if kind is not None or op.name in _RULES:
        return _RULES.get(kind or op.name)
    if op.fuse_row is not None:
        return PlanRows._left
    is_same = op.alias and len(node.inputs) == 1
    return PlanRows._in_place if op.fuse is not None or is_same else None

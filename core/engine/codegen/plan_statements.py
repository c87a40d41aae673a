"""Statements of a whole plan: steps on arrays, tensor lists, and loops over both.

A recurrent layer with one row is some ten steps around a loop, each with a microsecond or two of
Python for less arithmetic; here they and the loop are one kernel. A list is the rows of an array;
the loop is the function that `iteration_text` generates, called with parts of the kernel's memory.
If a call differs from the recorded one, for example in the number of iterations, the plan runs it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.engine.codegen import whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.inner_loops import inner_loop_of
from pinnace.engine.codegen.loop_calls import LoopCall
from pinnace.engine.codegen.places import Place
from pinnace.engine.codegen.statements import is_known
from pinnace.engine.codegen.whole_numbers import WholeNumbers
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import slicing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.inner_loops import InnerLoop
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


# Most numbers of an array that is sliced: the offset of each is examined.
_MOST_PLACED = 1 << 17


class PlanStatements(WholeNumbers):
    """The source of a plan's steps, and of the loops among them.

    Args:
        sizes: the shape of each value at one call.
        known: what is the same at every call with these sizes, besides constants.
        watched: each value at that call.
        counts: iterations of each loop at that call.
        scalars: names of the scalars in registers, by value.

    Attributes:
        functions: the sources of the loops, which precede the kernel's.
        loops: what they are.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        known: Mapping[Value, Array],
        watched: Mapping[Value, Any],
        counts: Mapping[Node, int],
        scalars: Mapping[Value, str] | None = None,
    ) -> None:
        # Including values in loops.
        self._inner: Mapping[Value, tuple[int, ...]] = {}
        super().__init__(sizes, known, scalars)
        self._watched, self._counts = watched, counts
        self.functions: list[str] = []
        self.loops: list[InnerLoop] = []

    def size(self, value: Value) -> tuple[int, ...]:
        """The shape of a value, also in a loop."""
        found = self._inner.get(value)
        return super().size(value) if found is None else found

    def _is_there(self, value: Value) -> bool:
        return value.dtype is dtypes.resource or super()._is_there(value)

    def _single(self, node: Node) -> None:
        write, whole = _writer(node), whole_numbers.writer_of(node)
        if whole is not None:
            whole(self, node)
        elif write is not None:
            kinds = _MOVED if node.op.moves == "split" else _KEPT
            if node.op.moves and any(value.dtype not in kinds for value in node.outputs):
                raise UnsupportedError(f"{node.op.name} of {node.outputs[0].dtype.name}")
            write(self, node)
        elif whole_numbers.is_reshaped(node):
            self._pass(node)
        else:
            super()._single(node)

    def _whole(self, value: Value) -> Place:
        """The storage of a value with contiguous rows."""
        place = self._place(value)
        if place.whole:
            return place
        whole = self.reserve(self.size(value))
        self.lines.append(self.copy(value, whole))
        return whole

    def _same(self, node: Node) -> None:
        if node.inputs[0].dtype is not dtypes.float32 and not whole_numbers.is_reshaped(node):
            raise UnsupportedError(f"{node}: {node.inputs[0].dtype.name}")
        self._pass(node)

    # Transposes and reversals.

    def _transpose(self, node: Node) -> None:
        """A transpose that swaps the first two axes longer than 1, or none."""
        value = node.inputs[0]
        shape, order = self.size(value), self._constant(node.inputs[1])
        if order is None:
            raise UnsupportedError(f"{node}: an order that is not known")
        long = [axis for axis in (int(one) % len(shape) for one in order) if shape[axis] > 1]
        if long == sorted(long):
            self._pass(node)
            return
        swapped = [*long[1::-1], *long[2:]] == sorted(long)
        if not swapped or value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: only two axes change places, the first")
        inner, outer = (shape[axis] for axis in long[:2])
        width = math.prod(shape[axis] for axis in long[2:])
        source, home = self._whole(value), self._home(node.outputs[0])
        if not home.whole:
            raise UnsupportedError(f"{node}: part of another value")
        many, each, row = (self.number(one) for one in (inner, outer, width))
        self.lines.append(f"for i in range({many}):")
        self.lines.append(
            f"    copy_rows({source.address} + 4 * i * {row}, {many} * {row}, "
            f"{home.address} + 4 * i * {each} * {row}, {row}, {each}, {row})"
        )

    def _reverse(self, node: Node) -> None:
        """Rows in reverse order."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        if axes is None or not shape:
            raise UnsupportedError(f"{node}: axes that are not known")
        long = {axis for axis in (int(one) % len(shape) for one in axes) if shape[axis] > 1}
        if not long:
            self._pass(node)
            return
        if len(long) > 1 or math.prod(shape[: min(long)]) > 1:
            raise UnsupportedError(f"{node}: only the first axis")
        count = shape[min(long)]
        source, home = self._whole(value), self._home(node.outputs[0])
        if not home.whole:
            raise UnsupportedError(f"{node}: part of another value")
        many, row = self.number(count), self.number(math.prod(shape) // count)
        self.lines.append(f"for i in range({many}):")
        if value.dtype is dtypes.bool:
            from_a, to = (
                f"{source.address} + i * {row}",
                f"{home.address} + ({many} - 1 - i) * {row}",
            )
            self.lines.append(f"    copy_truths({from_a}, {to}, {row})")
            return
        self.lines.append(
            f"    copy_rows({source.address} + 4 * i * {row}, {row}, "
            f"{home.address} + 4 * ({many} - 1 - i) * {row}, {row}, 1, {row})"
        )

    def _element(self, node: Node) -> None:
        """A single index on an axis; other slices are handled by `Statements`."""
        value, *bounds = node.inputs
        shape, known = self.size(value), [self._constant(one) for one in bounds]
        if any(one is None for one in known):
            raise UnsupportedError(f"{node}: bounds that are not known")
        begin, end, strides = (np.asarray(one).tolist() for one in known)
        masks: Any = tuple(node.attrs[name] for name in slicing.MASKS)
        try:
            chosen = slicing.index_of(node.op.name, shape, (begin, end, strides), masks)
        except InvalidArgumentError as error:
            raise UnsupportedError(str(error)) from None
        first = _first_of_row(shape, chosen)
        if first is not None:
            self._hand_on(node.outputs[0], self._from(value, first, self.size(node.outputs[0])))
            return
        if value.dtype is dtypes.bool:
            raise UnsupportedError(f"{node}: truth values apart")
        *index, _ = chosen
        index += [slice(None)] * (len(shape) - len(index))
        axes = [axis for axis, part in enumerate(index) if not isinstance(part, slice)]
        rest = all(
            part.indices(size) == (0, size, 1)
            for part, size in zip(index, shape, strict=False)
            if isinstance(part, slice)
        )
        if len(axes) != 1 or not isinstance(index[axes[0]], int) or not rest:
            self._slice(node)
            return
        (axis,) = axes
        rows, width = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        if rows > 1 and axis != len(shape) - 2:
            raise UnsupportedError(f"{node}: not rows of numbers")
        source = self._whole(value)
        address = f"({source.address} + {self.number(4 * (index[axis] % shape[axis]) * width)})"
        if rows == 1:
            place = self.at(address, self.size(node.outputs[0]))
        else:
            place = Place(address, self.number(shape[axis] * width), False)
        self._hand_on(node.outputs[0], place)

    def _unpack(self, node: Node) -> None:
        """Unstack along an axis, if all axes before it have size 1."""
        value = node.inputs[0]
        shape, axis = self.size(value), node.attrs["axis"]
        axis %= max(len(shape), 1)
        if value.dtype is not dtypes.float32 or math.prod(shape[:axis]) != 1:
            raise UnsupportedError(f"{node}: only along the first axis")
        self._cut(value, node.outputs)

    def _cut(self, value: Value, parts: Sequence[Value]) -> None:
        """Contiguous slices."""
        source, first = self._whole(value), 0
        for part in parts:
            at = f"({source.address} + {self.number(4 * first)})"
            first += math.prod(self.size(part))
            self._hand_on(part, self.at(at, self.size(part)))

    def _split(self, node: Node) -> None:
        by_size = node.op.name == "SplitV"
        value = node.inputs[0 if by_size else 1]
        shape, axis = self.size(value), self._constant(node.inputs[2 if by_size else 0])
        if axis is None or not shape or value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: an axis that is not known")
        place = int(axis.reshape(-1)[0]) % len(shape)
        if place < len(shape) - 1 and math.prod(shape[:place]) == 1:
            self._cut(value, node.outputs)
        else:
            super()._split(node)

    def _from(self, value: Value, first: int, shape: tuple[int, ...]) -> Place:
        """Contiguous numbers of a value, with this shape."""
        source = self._place(value) if value.dtype is dtypes.bool else self._whole(value)
        if not source.whole:
            raise UnsupportedError(f"{value}: part of another value")
        each = 1 if value.dtype is dtypes.bool else 4
        return self.at(f"({source.address} + {self.number(each * first)})", shape)

    def _total(self, node: Node) -> None:
        """Sums of rows; those over all rows are handled by `Statements`."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        named = axes.reshape(-1).tolist() if shape and axes is not None else []
        summed = {one % len(shape) for one in named}
        first = min(summed, default=0)
        is_of_rows = bool(summed) and summed == {*range(first, len(shape))}
        if not is_of_rows or value.dtype is not dtypes.float32 or math.prod(shape[first:]) == 1:
            self._sum(node)
            return
        source, home = self._whole(value), self._home(node.outputs[0])
        if not home.whole:
            raise UnsupportedError(f"{node}: part of another value")
        rows, width = (self.number(math.prod(part)) for part in (shape[:first], shape[first:]))
        given, result = self._name("v"), self._name("z")
        self.lines += [
            f"{given} = floats({source.address}, {self.number(math.prod(shape))})",
            f"{result} = floats({home.address}, {rows})",
            f"for r in range({rows}):",
            "    total = T(0)",
            f"    for c in range({width}):",
            f"        total = plus(total, {given}[r * {width} + c])",
            f"    {result}[r] = total",
        ]

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
        test, body = (late.plan_of(node.attrs[name].graph) for name in ("cond", "body"))
        found = [self._watched_one(value) for value in node.inputs]
        loop = inner_loop_of(test, body, found, self._counts[node])
        self._inner = {**self._inner, **loop.sizes}
        name = f"loop{len(self.loops)}"
        self.loops.append(loop)
        self.functions.append(loop.text.function(name))
        LoopCall(self, node, loop, name).write()

    def _watched_one(self, value: Value) -> Array:
        found = self._constant(value)
        return np.asarray(self._watched[value] if found is None else found)


# Steps that move numbers support these dtypes; those that reverse rows or slice also support
# booleans.
_MOVED = frozenset({dtypes.float32, dtypes.int32})
_KEPT = _MOVED | {dtypes.bool}
_MOVERS: dict[str, Callable[[PlanStatements, Node], None]] = {
    "reverse": PlanStatements._reverse,
    "slice": PlanStatements._element,
    "split": PlanStatements._split,
    "unstack": PlanStatements._unpack,
}


def _first_of_row(shape: tuple[int, ...], index: Any) -> int | None:
    """The offset of an indexed slice, if it is contiguous."""
    count = math.prod(shape)
    if not 0 < count <= _MOST_PLACED:
        return None
    places = np.arange(count).reshape(shape)[index].reshape(-1)
    first = int(places[0]) if places.size else -1
    return (
        first if first >= 0 and places[-1] == first + places.size - 1 and _rises(places) else None
    )


def _rises(places: Array) -> bool:
    return bool((places[1:] > places[:-1]).all())


def _writer(node: Node) -> Callable[[PlanStatements, Node], None] | None:
    """The method for a step that only plans support, or support in more forms."""
    op = node.op
    if op.runs == "loop":
        return PlanStatements._loop
    if op.name == "TensorListFromTensor":
        return PlanStatements._from_rows
    if op.name == "TensorListStack":
        return PlanStatements._to_rows
    if op.alias and len(node.inputs) == 1:
        return PlanStatements._same
    if op.fuse_row == ("sum", "{total}"):
        return PlanStatements._total
    return PlanStatements._transpose if op.view == "permuted" else _MOVERS.get(op.moves or "")


def has_statement(node: Node, *, with_whole: bool) -> bool:
    """Whether there may be a statement for a step of a plan.

    Args:
        node: the step.
        with_whole: including those on integers.
    """
    if _writer(node) is not None or is_known(node):
        return True
    return with_whole and whole_numbers.writer_of(node) is not None

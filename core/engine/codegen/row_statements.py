"""Statements of steps on whole arrays that move numbers, or reduce or transform rows.

They belong to plans as well as to iterations of loops.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise
from pinnace.engine.codegen.function_numbers import BINARY, UNARY, WHOLE, WHOLE_DTYPES
from pinnace.engine.codegen.places import Place
from pinnace.engine.codegen.strides import Part, contiguous, key_of, sliced
from pinnace.engine.codegen.whole_numbers import WholeNumbers
from pinnace.framework import dtypes
from pinnace.ops.array.broadcasting import BROADCAST_TO
from pinnace.ops.nn.softmaxes import SOFTMAX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import OpDef


class RowStatements(WholeNumbers):
    """The source of steps that move numbers, or work on rows, besides elementwise steps."""

    def write(self, nodes: Sequence[Node], homes: dict[Value, Place], wanted: set[Value]) -> None:
        """Generate the statements of these steps; see `Statements.write`.

        Raises:
            UnsupportedError: one has no statement, or an array is empty: reductions begin with the
                first number of a row.
        """
        for value in {value for node in nodes for value in (*node.inputs, *node.outputs)}:
            if 0 in self._sizes.get(value, ()) and self._constant(value) is None:
                raise UnsupportedError(f"{value}: an empty array")
        super().write(nodes, homes, wanted)

    def _single(self, node: Node) -> None:
        whole, write = whole_numbers.writer_of(node), _writer(node)
        if whole is not None:
            whole(self, node)
            return
        if write is None:
            raise UnsupportedError(f"{node.op.name} has no statement")
        kinds = _MOVED if node.op.moves == "split" else _KINDS.get(write)
        if kinds is not None and any(value.dtype not in kinds for value in node.outputs):
            raise UnsupportedError(
                f"{node.op.name} has no statement for {node.outputs[0].dtype.name}"
            )
        write(self, node)

    # Storage.

    def _same(self, node: Node) -> None:
        if node.inputs[0].dtype not in {dtypes.float32, dtypes.int32, dtypes.int64}:
            raise UnsupportedError(f"{node}: no statement for {node.inputs[0].dtype.name}")
        self._pass(node)

    # Moves of numbers.

    def _transpose(self, node: Node) -> None:
        """A transpose that swaps the first two axes longer than 1, or none."""
        value = node.inputs[0]
        shape, order = self.size(value), self._constant(node.inputs[1])
        if order is None:
            raise UnsupportedError(f"{node}: the permutation is not a constant")
        long = [axis for axis in (int(one) % len(shape) for one in order) if shape[axis] > 1]
        if long == sorted(long):
            self._pass(node)
            return
        swapped = [*long[1::-1], *long[2:]] == sorted(long)
        inner, outer = (shape[axis] for axis in long[:2])
        width = math.prod(shape[axis] for axis in long[2:])
        is_whole = value.dtype is not dtypes.float32
        if not swapped or (is_whole and (width > 1 or value.dtype not in _KEPT | {dtypes.int64})):
            raise UnsupportedError(f"{node}: only the first two axes can be swapped")
        if is_whole:  # such as the masks of steps
            kind = WHOLE_DTYPES.index(value.dtype.name)
            numbers = f"{self._whole(value).address}, {kind}"
            self._result(node.outputs[0])
            into = self.places[node.outputs[0]].address
            given = (
                f"{WHOLE.index('move')}, {inner}, {outer}, {numbers}, 1, {inner}, {numbers}, 0, 0"
            )
            self.lines.append(f"apply_whole({given}, {into}, {kind})")
            return
        source, home = self._whole(value), self._whole_home(node.outputs[0])
        self.lines.append(f"for i in range({inner}):")
        self.lines.append(
            f"    copy_rows({source.address} + 4 * i * {width}, {inner} * {width}, "
            f"{home.address} + 4 * i * {outer} * {width}, {width}, {outer}, {width})"
        )

    def _reverse(self, node: Node) -> None:
        """Rows in reverse order."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        if axes is None or not shape:
            raise UnsupportedError(f"{node}: the axes are not a constant")
        long = {axis for axis in (int(one) % len(shape) for one in axes) if shape[axis] > 1}
        if not long:
            self._pass(node)
            return
        if len(long) > 1:
            raise UnsupportedError(f"{node}: only one axis can be reversed")
        before, count = math.prod(shape[: min(long)]), shape[min(long)]
        source, home = self._whole(value), self._whole_home(node.outputs[0])
        row = math.prod(shape) // (before * count)
        each = 1 if value.dtype is dtypes.bool else 4
        from_, to = (
            f"{place.address} + {each} * (j * {count} + {at}) * {row}"
            for place, at in ((source, "i"), (home, f"({count} - 1 - i)"))
        )
        copy = f"copy_truths({from_}, {to}, {row})"
        if value.dtype is not dtypes.bool:
            copy = f"copy_rows({from_}, {row}, {to}, {row}, 1, {row})"
        self.lines += [f"for j in range({before}):", f"    for i in range({count}):"]
        self.lines.append(f"        {copy}")

    # Slices.

    def _slices(self, node: Node) -> None:
        """The outputs of a slice, a split, or an unstack."""
        value, keys = self._keys(node)
        shape = self.size(value)
        for made, key in zip(node.outputs, keys, strict=True):
            self._slice(value, made, sliced(shape, contiguous(shape), key))

    def _keys(self, node: Node) -> tuple[Value, list[Any]]:
        """The value that is sliced, and the index that selects each output."""
        if node.op.moves == "slice":
            key = key_of(node, self.size(node.inputs[0]), self._constant)
            if key is None:
                raise UnsupportedError(f"{node}: the bounds are not constants")
            return node.inputs[0], [key]
        is_split = node.op.moves == "split"
        value = node.inputs[1 if is_split and node.op.name != "SplitV" else 0]
        shape, axis = self.size(value), node.attrs.get("axis")
        if is_split:
            axis = self._constant(node.inputs[0 if value is node.inputs[1] else 2])
        if axis is None or not shape or value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: the axis is not a constant, or the dtype not float32")
        place = int(np.reshape(axis, -1)[0]) % len(shape)
        ahead = [slice(None)] * place
        if not is_split:
            return value, [[*ahead, index] for index in range(shape[place])]
        ends = [0, *itertools.accumulate(self.size(made)[place] for made in node.outputs)]
        return value, [[*ahead, slice(*pair)] for pair in itertools.pairwise(ends)]

    def _slice(self, value: Value, made: Value, part: Part) -> None:
        """A slice as rows of the value, or as a copy if its numbers have a constant stride."""
        shape, size, step = self.size(value), self.size(made), part.step
        along = contiguous(shape)
        each = 1 if value.dtype is dtypes.bool else 4
        if step == 1:
            place = self.at(f"({self._whole(value).address} + {each * part.first})", size)
        elif value.dtype is dtypes.bool:
            raise UnsupportedError(f"{made}: elements of dtype bool that are not contiguous")
        elif (part.shape[:-1], part.along) == (shape[:-1], along):  # adjacent columns
            source = self._place(value)
            place = Place(f"({source.address} + {4 * part.first})", source.step, False)
        elif (part.shape, part.along) == ((*shape[:-2], shape[-1]), (*along[:-2], 1)):
            address = f"({self._whole(value).address} + {4 * part.first})"
            place = Place(address, str(along[-3]), False)
        else:
            if step is None or value.dtype is not dtypes.float32:
                raise UnsupportedError(
                    f"{made}: an irregular stride, or another dtype than float32"
                )
            source, target = self._whole(value), self._whole_home(made)
            address, count = f"({source.address} + {4 * part.first})", math.prod(size)
            self.lines.append(f"copy_rows({address}, {step}, {target.address}, 1, {count}, 1)")
            return
        self._hand_on(made, place)

    def _stack(self, node: Node) -> None:
        """Stack values along a new axis, each at once or number by number."""
        value = node.outputs[0]
        shape = self.size(value)
        if value.dtype is not dtypes.float32 or len(shape) < 2:
            raise UnsupportedError(
                f"{node}: only float32 arrays can be stacked, not {value.dtype.name} or scalars"
            )
        place = node.attrs["axis"] % len(shape)
        if place not in {0, len(shape) - 1}:
            raise UnsupportedError(
                f"{node}: arrays can be stacked only along the first or the last axis"
            )
        home, count = self._whole_home(value), math.prod(self.size(node.inputs[0]))
        for index, source in enumerate(node.inputs):
            part = sliced(shape, contiguous(shape), [slice(None)] * place + [index])
            address = f"({home.address} + {4 * part.first})"
            if part.step == 1:
                self.lines.append(self.copy(source, self.at(address, self.size(source))))
            else:
                given = f"{self._whole(source).address}, 1, {address}, {part.step}, {count}, 1"
                self.lines.append(f"copy_rows({given})")

    # Rows.

    def _rows_of(self, value: Value, axes: int = 1) -> tuple[str, str, str, str]:
        """Rows of the last axes of a value: their address, stride, number and width."""
        shape = self.size(value)
        place = self._place(value) if axes == 1 else self._whole(value)
        rows, width = math.prod(shape[: len(shape) - axes]), math.prod(shape[len(shape) - axes :])
        step = place.step if axes == 1 else str(width)
        return place.address, step, str(rows), str(width)

    def _reduced(self, node: Node) -> None:
        """The sum, mean or largest number over adjacent axes."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        if axes is None or not shape:
            raise UnsupportedError(f"{node}: the reduced axes are not a constant")
        gone = {int(one) % len(shape) for one in axes.reshape(-1)}
        # Axes of size 1 may be either.
        over = [axis for axis in sorted(gone) if shape[axis] > 1]
        if not over:
            self._pass(node)
            return
        first, last = over[0], over[-1]
        if any(shape[axis] > 1 for axis in range(first, last) if axis not in gone):
            raise UnsupportedError(f"{node}: the reduced axes are not adjacent")
        blocks, width = math.prod(shape[:first]), math.prod(shape[last + 1 :])
        rows = math.prod(shape[first : last + 1])
        what = "largest" if node.op.name == "Max" else "totals"
        by = [] if what == "largest" else [str(rows) if node.op.name == "Mean" else "1"]
        if width == 1:
            address, step, _, _ = self._rows_of(value, len(shape) - first)
            given = [address, step, self._whole_home(node.outputs[0]).address, blocks, rows, *by]
            self.lines.append(f"row_{what}({', '.join(map(str, given))})")
        elif blocks == 1 and node.op.name == "Sum" and width == shape[-1]:
            self._sum(node)  # its rows may have a stride
        else:
            home = self._whole_home(node.outputs[0]).address
            given = [self._whole(value).address, home, blocks, rows, width, *by]
            self.lines.append(f"column_{what}({', '.join(map(str, given))})")

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
        which = UNARY.index(_function_of(node.op))
        source, home = self._whole(node.inputs[0]), self._whole_home(node.outputs[0])
        count = math.prod(self.size(node.outputs[0]))
        self.lines.append(f"apply({which}, {source.address}, {home.address}, {count})")

    def _function_of_two(self, node: Node) -> None:
        first, second = node.inputs
        shape = self.size(node.outputs[0])
        count, others = math.prod(shape), math.prod(self.size(second))
        if self.size(first) != shape or others not in {1, count}:
            raise UnsupportedError(f"{node}: only a scalar second operand can broadcast")
        a, b = self._whole(first), self._whole(second)
        home = self._whole_home(node.outputs[0])
        which, step = BINARY.index(_function_of(node.op)), int(others == count)
        given = f"{a.address}, {b.address}, {step}, {home.address}, {count}"
        self.lines.append(f"apply_two({which}, {given})")


# An expression that is a function of the operands, in their order.
_CALL = re.compile(r"(\w+)\(\{\w+\}(?:, \{\w+\})?\)")
_MOVERS: dict[str, Callable[[RowStatements, Node], None]] = {
    "concatenate": RowStatements._concat,
    "repeat": RowStatements._repeat,
    "reverse": RowStatements._reverse,
    "stack": RowStatements._stack,
    **dict.fromkeys(("slice", "split", "unstack"), RowStatements._slices),
}
# The dtypes of results, unless a method checks them itself; parts of a split are copied.
_FLOATS = frozenset({dtypes.float32})
_MOVED = _FLOATS | {dtypes.int32}
_KEPT = _MOVED | {dtypes.bool}
_KINDS: dict[Callable[[RowStatements, Node], None], frozenset[DType]] = {
    **dict.fromkeys((RowStatements._concat, RowStatements._product, RowStatements._sum), _FLOATS),
    **dict.fromkeys((RowStatements._reverse, RowStatements._slices, RowStatements._stack), _KEPT),
    RowStatements._pass: _KEPT | {dtypes.int64},
    RowStatements._repeat: _FLOATS | {dtypes.bool},
}
_SUM = ("sum", "{total}")
_BY_OP = {BROADCAST_TO: RowStatements._repeat, SOFTMAX: RowStatements._softmax}


def _function_of(op: OpDef) -> str:
    """The function of the system that computes an op; "" if there is none."""
    called = _CALL.fullmatch(op.fuse or "")
    return "pow" if op.name == "Pow" else called[1] if called else ""


def _writer(node: Node) -> Callable[[RowStatements, Node], None] | None:
    """The method for a step that is neither elementwise nor on integers alone."""
    op = node.op
    if op.alias and len(node.inputs) == 1:
        return RowStatements._same
    if op.view is not None:
        return RowStatements._transpose if op.view == "permuted" else RowStatements._pass
    if op.moves in _MOVERS:
        return _MOVERS[op.moves]
    if op.product == "matrix":
        return RowStatements._product
    total = RowStatements._sum if op.fuse_row == _SUM or op.name == "BiasAddGrad" else None
    if not node.inputs or node.inputs[0].dtype is not dtypes.float32 or is_elementwise(node):
        return total
    made, function = node.outputs[0].dtype, _function_of(op)
    if op.name == "ArgMax" and made in {dtypes.int32, dtypes.int64}:
        return RowStatements._largest_places
    if made is not dtypes.float32:
        return total
    if function in UNARY or function in BINARY:
        return RowStatements._function if function in UNARY else RowStatements._function_of_two
    if op.fuse_row is not None:
        return RowStatements._reduced
    return _BY_OP.get(op, total)


def has_statement(node: Node) -> bool:
    """Whether there may be a statement for a step, unless it is a loop."""
    if node.op.runs or any(one.dtype is dtypes.variant for one in (*node.inputs, *node.outputs)):
        return False
    return is_elementwise(node) or any(one(node) for one in (_writer, whole_numbers.writer_of))

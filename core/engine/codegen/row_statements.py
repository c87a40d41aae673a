"""Statements of steps on whole arrays: what moves numbers, and what reduces or transforms rows.

They belong to plans as well as to iterations of loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import whole_numbers
from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise
from pinnace.engine.codegen.function_numbers import BINARY, UNARY
from pinnace.engine.codegen.places import Place
from pinnace.engine.codegen.statements import is_known
from pinnace.engine.codegen.whole_numbers import WholeNumbers
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import slicing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most numbers of an array that is sliced: the offset of each is examined.
_MOST_PLACED, _MOST_SPACED = 1 << 17, 1 << 14


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
                raise UnsupportedError(f"{value}: empty")
        super().write(nodes, homes, wanted)

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

    # Storage.

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

    # What moves numbers.

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
        many, each, row = inner, outer, width
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
        many, row = count, math.prod(shape) // count
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

    def _contiguous(self, node: Node) -> None:
        """A slice without copies, or of columns."""
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
        address = f"({source.address} + {4 * (index[axis] % shape[axis]) * width})"
        if rows == 1:
            place = self.at(address, self.size(node.outputs[0]))
        else:
            place = Place(address, str(shape[axis] * width), False)
        self._hand_on(node.outputs[0], place)

    def _cut(self, value: Value, parts: Sequence[Value]) -> None:
        """Contiguous slices."""
        source, first = self._whole(value), 0
        for part in parts:
            at = f"({source.address} + {4 * first})"
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
        return self.at(f"({source.address} + {each * first})", shape)

    # Rows.

    def _rows_of(self, value: Value, axes: int = 1) -> tuple[str, str, str, str]:
        """Rows of the last axes of a value: their address, stride, number and width."""
        shape = self.size(value)
        place = self._place(value) if axes == 1 else self._whole(value)
        rows, width = math.prod(shape[: len(shape) - axes]), math.prod(shape[len(shape) - axes :])
        step = place.step if axes == 1 else str(width)
        return place.address, step, str(rows), str(width)

    def _whole_home(self, value: Value) -> Place:
        home = self._home(value)
        if not home.whole:
            raise UnsupportedError(f"{value}: part of another value")
        return home

    def _reduced(self, node: Node) -> None:
        """The sum, mean or largest number over neighbouring axes."""
        value = node.inputs[0]
        shape, axes = self.size(value), self._constant(node.inputs[1])
        if axes is None or not shape:
            raise UnsupportedError(f"{node}: over axes that are not known")
        gone = {int(one) % len(shape) for one in axes.reshape(-1)}
        # Axes of size 1 may be either.
        over = [axis for axis in sorted(gone) if shape[axis] > 1]
        if not over:
            self._pass(node)
            return
        first, last = over[0], over[-1]
        if any(shape[axis] > 1 for axis in range(first, last) if axis not in gone):
            raise UnsupportedError(f"{node}: over axes that are no neighbours")
        blocks, width = math.prod(shape[:first]), math.prod(shape[last + 1 :])
        rows = math.prod(shape[first : last + 1])
        what = "largest" if node.op.name == "Max" else "totals"
        by = [] if what == "largest" else [str(rows) if node.op.name == "Mean" else "1"]
        if width == 1:
            address, step, _, _ = self._rows_of(value, len(shape) - first)
            given = [address, step, self._whole_home(node.outputs[0]).address, blocks, rows, *by]
            self.lines.append(f"row_{what}({', '.join(map(str, given))})")
        elif blocks == 1 and node.op.name == "Sum" and width == shape[-1]:
            self._sum(node)  # whose rows may lie apart
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
        which = UNARY.index(node.op.name.lower())
        source, home = self._whole(node.inputs[0]), self._whole_home(node.outputs[0])
        count = math.prod(self.size(node.outputs[0]))
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
        given = f"{a.address}, {b.address}, {step}, {home.address}, {count}"
        self.lines.append(f"apply_two({which}, {given})")

    # Columns.

    def _column(self, source: str, step: str, target: Place, count: int) -> None:
        """Copy numbers with a stride to contiguous ones."""
        many = count
        self.lines.append(f"copy_rows({source}, {step}, {target.address}, 1, {many}, 1)")

    def _unpack(self, node: Node) -> None:
        """Unstack along the last axis, or one before which all have size 1."""
        value = node.inputs[0]
        shape = self.size(value)
        if value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: {value.dtype.name} apart")
        axis = node.attrs["axis"] % max(len(shape), 1)
        if math.prod(shape[:axis]) == 1:
            self._cut(value, node.outputs)
            return
        if axis != len(shape) - 1:
            raise UnsupportedError(f"{node}: only along the first or the last axis")
        source = self._place(value)
        for index, part in enumerate(node.outputs):
            target = self._whole_home(part)
            self._column(
                f"({source.address} + {4 * index})",
                source.step,
                target,
                math.prod(shape[:-1]),
            )

    def _stack(self, node: Node) -> None:
        value = node.outputs[0]
        shape = self.size(value)
        if value.dtype is not dtypes.float32:
            raise UnsupportedError(f"{node}: {value.dtype.name} together")
        if node.attrs["axis"] % len(shape) != len(shape) - 1 or len(shape) == 1:
            super()._stack(node)
            return
        home, count = self._whole_home(value), math.prod(shape[:-1])
        for index, part in enumerate(node.inputs):
            source = self._whole(part)
            at = f"({home.address} + {4 * index})"
            self.lines.append(f"copy_rows({source.address}, 1, {at}, {home.step}, {count}, 1)")

    def _element(self, node: Node) -> None:
        """A slice; a copy if nothing else is possible."""
        before = len(self.lines)
        try:
            self._contiguous(node)
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
        if not 0 < count <= _MOST_SPACED:
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
        step = str(int(apart[0]) if apart.size else 1)
        first = 4 * int(places[0])
        self._column(f"({source.address} + {first})", step, target, places.size)


# Steps that move numbers support these dtypes; those that reverse rows or slice also support
# booleans.
_MOVED = frozenset({dtypes.float32, dtypes.int32})
_KEPT = _MOVED | {dtypes.bool}
_MOVERS: dict[str, Callable[[RowStatements, Node], None]] = {
    "reverse": RowStatements._reverse,
    "slice": RowStatements._element,
    "split": RowStatements._split,
    "stack": RowStatements._stack,
    "unstack": RowStatements._unpack,
}
_FUNCTIONS = {
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Floor", "Log",
    "Log1p", "Rint", "Sin", "Sinh", "Tan",
}  # fmt: skip
_WRITERS: dict[str, Callable[[RowStatements, Node], None]] = {
    "BroadcastTo": RowStatements._repeat,
    "Softmax": RowStatements._softmax,
    "Sum": RowStatements._reduced,
    "Mean": RowStatements._reduced,
    "Max": RowStatements._reduced,
    **dict.fromkeys(_FUNCTIONS, RowStatements._function),
    "Pow": RowStatements._function_of_two,
    "Atan2": RowStatements._function_of_two,
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


def _writer(node: Node) -> Callable[[RowStatements, Node], None] | None:
    """The method for a step that is neither elementwise nor on integers alone."""
    op = node.op
    if op.alias and len(node.inputs) == 1:
        return RowStatements._same
    if op.view == "permuted":
        return RowStatements._transpose
    if op.moves in _MOVERS:
        return _MOVERS[op.moves]
    if not node.inputs or node.inputs[0].dtype is not dtypes.float32 or is_elementwise(node):
        return None
    made = node.outputs[0].dtype
    if op.name == "ArgMax" and made in {dtypes.int32, dtypes.int64}:
        return RowStatements._largest_places
    return _WRITERS.get(op.name) if made is dtypes.float32 else None


def has_statement(node: Node) -> bool:
    """Whether there may be a statement for a step, if it is no loop."""
    if node.op.runs or any(one.dtype is dtypes.variant for one in (*node.inputs, *node.outputs)):
        return False
    return (
        _writer(node) is not None
        or is_known(node)
        or whole_numbers.writer_of(node) is not None
        or whole_numbers.is_reshaped(node)
    )

"""A loop inside a plan's kernel: the lines that call its function, and where its results are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise
from pinnace.engine.codegen.iteration import Iteration
from pinnace.engine.codegen.watching import ITERATIONS, plans_of_loop
from pinnace.framework import dtypes
from pinnace.ops.state.list_values import TensorList, handle_of_list, list_of_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.places import Place
    from pinnace.engine.codegen.plan_statements import PlanStatements
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Most multiplications of a loop without polling the stop flag; most of all parts of a plan.
_MULTIPLICATIONS, PARTS_MULTIPLICATIONS = 1 << 26, 1 << 28
# Rows from which threads share a loop, if it is long enough.
SHARED_ROWS, SHARED_MULTIPLICATIONS = 8, 1 << 21
# Below this number of rows, sharing takes this many times more: products of few rows are slow.
FEW_ROWS, OF_FEW = 16, 16


class LoopCall:
    """The lines that call a loop; one of its iterations is executed and recorded.

    Args:
        writer: the enclosing plan's writer.
        node: the loop's node; it has no effects.
        values: the loop variables at the recorded call.
        count: number of iterations from these.
        name: its function's name.

    Attributes:
        iteration: the loop's function.
        sizes: the shape of each value of an iteration.

    Raises:
        UnsupportedError: the loop takes long, or contains steps that kernels do not support.
    """

    def __init__(
        self, writer: PlanStatements, node: Node, values: Sequence[Array], count: int, name: str
    ) -> None:
        self._writer, self._node, self._name = writer, node, name
        self._values = [_own_rows(value) for value in values]
        test, body = plans_of_loop(node)
        with np.errstate(all="ignore"):
            try:
                watched = body.source.recording()(self._values)
            except Exception as error:  # such as an index out of range, if there are no iterations
                raise UnsupportedError(f"an iteration cannot be recorded: {error}") from error
            self.iteration = Iteration(test, body, self._values, watched, count)
        self.sizes = {value: np.shape(array) for value, array in watched.items()}
        self._inputs = {value: place for place, value in enumerate(body.graph.inputs)}
        self._hoisted = [body.steps[position].node for position in self.iteration.hoisted]
        # The addresses of lists, by loop variable.
        self._lists: dict[int, str] = {}
        self._check(self.iteration, count)

    def _check(self, iteration: Iteration, count: int) -> None:
        lists = iteration.lists
        states = [self._node.inputs[place] for place in iteration.variables.carried]
        if any(value.dtype is not dtypes.float32 for value in states):
            raise UnsupportedError("loop variables with an integer dtype")
        most = _MULTIPLICATIONS
        if self._writer.parts > 1:
            most = PARTS_MULTIPLICATIONS // self._writer.parts
        elif iteration.rows is not None and iteration.rows >= SHARED_ROWS:
            most = SHARED_MULTIPLICATIONS * (OF_FEW if iteration.rows < FEW_ROWS else 1)
        if iteration.work * count > most:
            raise UnsupportedError("the loop takes too long for one thread")
        if lists.pushed or lists.popped or lists.repeated or lists.twins:
            raise UnsupportedError("lists that grow, shrink or are summed")
        for place in (*lists.read, *lists.changed):
            kind = lists.holds(place)
            if kind != "float32" and (
                kind != "bool" or place in lists.changed or not lists.items[place]
            ):
                raise UnsupportedError(f"a list with elements of dtype {kind}")
            if place in lists.changed and self._list(place).snapshot_size():
                raise UnsupportedError("elements are set in a list that is not empty")

    def _list(self, place: int) -> Any:
        return self._values[place][()]

    def write(self) -> None:
        """Generate these lines, and record where the loop's results are stored."""
        writer, name = self._writer, self._name
        variables = self.iteration.variables
        self._hoist()
        arguments = [str(ITERATIONS)]
        if self.iteration.rows is not None:
            arguments += ["0", str(self.iteration.rows)]
        arguments += [*self._tables(), self._lengths()]
        fixed = list(variables.fixed)
        arguments += [
            self._shaped(*self._fixed(fixed[place])) for place in self.iteration.fixed_arrays
        ]
        states = [self._node.inputs[place] for place in variables.carried]
        arguments += [self._shaped(writer._whole(one), writer.size(one)) for one in states]
        made: dict[int, str] = {}
        for place in variables.carried:
            size = math.prod(variables.shapes[place])
            count = size if place in self.iteration.summed else 2 * size
            address = made[place] = writer._reserve(count)
            arguments.append(f"floats({address}, {count})")
        arguments += [self._read(place) for place in self.iteration.lists.read]
        for place in self.iteration.lists.changed:
            arguments += self._changed(place)
        writer.lines += [
            f"{name}_taken = {name}({', '.join(arguments)})",
            f"if {name}_taken < 1 or {name}_taken >= {ITERATIONS} or {name}_q[-1]:",
            "    return 1",
        ]
        self._results(made)

    def _tables(self) -> list[str]:
        """Allocate and fill the loop's tables of scalars, known in advance; returns their names."""
        variables, fixed = self.iteration.variables, list(self.iteration.variables.fixed)
        names = []
        for letter, kind, sources in (
            ("q", "int64", variables.numbers.integers),
            ("f", "float64", variables.numbers.reals),
        ):
            name = f"{self._name}_{letter}"
            self._writer.lines.append(f"{name} = np.zeros({len(sources) + 1}, np.{kind})")
            for index, (_, place, changes) in enumerate(sources):
                value = self._node.inputs[place] if changes else self._outer(fixed[place])
                known = self._writer._constant(value)
                if known is None or (letter == "f" and value.dtype is not dtypes.float32):
                    raise UnsupportedError(f"{value}: not a constant")
                if letter == "q":
                    number = str(int(known))
                else:
                    number = f"floats({self._writer._place(value).address}, 1)[0]"
                self._writer.lines.append(f"{name}[{index}] = {number}")
            names.append(name)
        return names

    def _lengths(self) -> str:
        name, used = f"{self._name}_lengths", self.iteration.lists.used
        self._writer.lines.append(f"{name} = np.zeros({len(used) + 1}, np.int64)")
        for index, place in enumerate(used):
            self._writer.lines.append(f"{name}[{index}] = {self._list(place).length}")
        return name

    def _outer(self, value: Value) -> Value:
        """The plan's value for an input of the loop."""
        place = self._inputs.get(value)
        if place is None:
            raise UnsupportedError(f"{value}: computed inside the loop")
        return self._node.inputs[place]

    def _hoist(self) -> None:
        """Generate the statements of the loop-invariant steps."""
        writer = self._writer
        for node in self._hoisted:
            if node.op.name == "ReadVariableOp":
                (value,) = node.outputs
                if value.dtype is dtypes.float32:
                    handle = self._outer(node.inputs[0])
                    writer.places[value] = writer.variable(handle, self.sizes[value])
                continue
            for value in node.inputs:
                if value in self._inputs and value.dtype in {dtypes.float32, dtypes.bool}:
                    writer.places[value] = writer._place(self._outer(value))
            if is_elementwise(node) or not all(map(writer._is_there, node.inputs)):
                raise UnsupportedError(f"{node}: cannot be moved before the loop")
            writer._single(node)

    def _fixed(self, value: Value) -> tuple[Place, tuple[int, ...]]:
        """The storage of an invariant value, and its shape."""
        if value in self._inputs:
            value = self._outer(value)
        return self._writer._whole(value), self._writer.size(value)

    def _shaped(self, place: Place, shape: tuple[int, ...]) -> str:
        sizes = "".join(f"{size}, " for size in shape)
        return f"shaped({place.address}, ({sizes}))"

    def _shape(self, place: int) -> tuple[int, ...]:
        """The shape of all elements of a list together."""
        return (self._list(place).length, *self.iteration.lists.items[place])

    def _read(self, place: int) -> str:
        items = self._writer._place(self._node.inputs[place])
        self._lists[place] = items.address
        return self._shaped(items, self._shape(place))

    def _changed(self, place: int) -> list[str]:
        """Allocate a list without set elements: zeros, with cleared flags; returns its arrays."""
        writer, shape = self._writer, self._shape(place)
        home = writer.reserve(shape)
        self._lists[place] = home.address
        writer.lines += [
            f"fill({home.address}, {math.prod(shape)}, 0.0)",
            f"{self._name}_g{place} = np.zeros({shape[0]}, np.uint8)",
        ]
        return [self._shaped(home, shape), f"{self._name}_g{place}"]

    def _results(self, made: Mapping[int, str]) -> None:
        """Record the storage of the values after the last iteration."""
        writer, node, variables = self._writer, self._node, self.iteration.variables
        for place, (given, value) in enumerate(zip(self._inputs, node.outputs, strict=True)):
            if place in made:
                shape = variables.shapes[place]
                address = made[place]
                if place not in self.iteration.summed:
                    size = 4 * math.prod(shape)
                    address = f"({address} + {size} * (({self._name}_taken - 1) & 1))"
                writer._hand_on(value, writer.at(address, shape))
            elif place in self._lists:
                writer.places[value] = writer.at(self._lists[place], self._shape(place))
            elif given in variables.fixed and value.dtype is dtypes.float32:
                writer._hand_on(value, writer._whole(node.inputs[place]))


def _own_rows(value: Array) -> Array:
    """A list with separate rows: only in this call are they known to be one array."""
    held = value[()] if value.dtype.kind == "O" and not value.ndim else None
    if not isinstance(held, TensorList) or held.whole is None:
        return value
    rows = np.ascontiguousarray(held.whole)
    return handle_of_list(list_of_rows(rows, held.dtype, held.shape))

"""The lines of a plan's kernel that call one of its loops, and the storage of its results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import UnsupportedError, is_elementwise
from pinnace.engine.codegen.watching import ITERATIONS
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.codegen.inner_loops import InnerLoop
    from pinnace.engine.codegen.places import Place
    from pinnace.engine.codegen.plan_statements import PlanStatements
    from pinnace.graph.graph import Node, Value


class LoopCall:
    """The lines that call a loop.

    Args:
        writer: of the enclosing plan.
        node: the loop's.
        loop: the loop's function.
        name: of its function.
    """

    def __init__(self, writer: PlanStatements, node: Node, loop: InnerLoop, name: str) -> None:
        self._writer, self._node, self._loop, self._name = writer, node, loop, name
        self._lists: dict[int, str] = {}

    def write(self) -> None:
        """Generate them, and record where the loop's results are stored."""
        writer, loop, name = self._writer, self._loop, self._name
        variables, text = loop.variables, loop.text
        self._hoist()
        arguments = [str(ITERATIONS)]
        if text.rows is not None:
            arguments += ["0", str(text.rows)]
        arguments += [*self._tables(), self._lengths()]
        fixed = list(variables.fixed)
        arguments += [self._shaped(*self._fixed(fixed[place])) for place in text.fixed_arrays]
        states = [self._node.inputs[place] for place in variables.carried]
        arguments += [self._shaped(writer._whole(one), writer.size(one)) for one in states]
        made: dict[int, str] = {}
        for place in variables.carried:
            size = math.prod(variables.shapes[place])
            address = made[place] = writer._reserve(size if place in text.summed else 2 * size)
            count = size if place in text.summed else 2 * size
            arguments.append(f"floats({address}, {count})")
        arguments += [self._read(place) for place in loop.lists.read]
        for place in loop.lists.changed:
            arguments += self._changed(place)
        writer.lines += [
            f"{name}_taken = {name}({', '.join(arguments)})",
            f"if {name}_taken < 1 or {name}_taken >= {ITERATIONS} or {name}_q[-1]:",
            "    return 1",
        ]
        self._results(made)

    def _tables(self) -> list[str]:
        """The loop's tables of scalars; all are known before."""
        variables, fixed = self._loop.variables, list(self._loop.variables.fixed)
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
                    raise UnsupportedError(f"{value}: a number that is not known")
                if letter == "q":
                    number = str(int(known))
                else:
                    number = f"floats({self._writer._place(value).address}, 1)[0]"
                self._writer.lines.append(f"{name}[{index}] = {number}")
            names.append(name)
        return names

    def _lengths(self) -> str:
        name, used = f"{self._name}_lengths", self._loop.lists.used
        self._writer.lines.append(f"{name} = np.zeros({len(used) + 1}, np.int64)")
        for index, place in enumerate(used):
            length = self._loop.length(place)
            self._writer.lines.append(f"{name}[{index}] = {length}")
        return name

    def _outer(self, value: Value) -> Value:
        """The plan's value for an input of the loop."""
        place = self._loop.inputs.get(value)
        if place is None:
            raise UnsupportedError(f"{value}: made in the loop")
        return self._node.inputs[place]

    def _hoist(self) -> None:
        """The statements of the loop-invariant steps."""
        writer, loop = self._writer, self._loop
        for node in loop.hoisted:
            if node.op.name == "ReadVariableOp":
                (value,) = node.outputs
                if value.dtype is dtypes.float32:
                    handle = self._outer(node.inputs[0])
                    writer.places[value] = writer.variable(handle, loop.sizes[value])
                continue
            for value in node.inputs:
                if value in loop.inputs and value.dtype in {dtypes.float32, dtypes.bool}:
                    outer = self._outer(value)
                    writer.places[value] = writer._place(outer)
            if is_elementwise(node) or not all(map(writer._is_there, node.inputs)):
                raise UnsupportedError(f"{node}: before the loop")
            writer._single(node)

    def _fixed(self, value: Value) -> tuple[Place, tuple[int, ...]]:
        """The storage of an invariant value, and its shape."""
        if value in self._loop.inputs:
            value = self._outer(value)
        return self._writer._whole(value), self._writer.size(value)

    def _shaped(self, place: Place, shape: tuple[int, ...]) -> str:
        sizes = "".join(f"{size}, " for size in shape)
        return f"shaped({place.address}, ({sizes}))"

    def _read(self, place: int) -> str:
        items = self._writer._place(self._node.inputs[place])
        shape = (self._loop.length(place), *self._loop.lists.items[place])
        self._lists[place] = items.address
        if self._loop.lists.holds(place) == "bool":
            return f"truths({items.address}, {math.prod(shape)})"
        return self._shaped(items, shape)

    def _changed(self, place: int) -> list[str]:
        """A list of which no element is set: zeros, with cleared flags."""
        writer, shape = self._writer, (self._loop.length(place), *self._loop.lists.items[place])
        home = writer.reserve(shape)
        self._lists[place] = home.address
        writer.lines += [
            f"fill({home.address}, {math.prod(shape)}, 0.0)",
            f"{self._name}_g{place} = np.zeros({shape[0]}, np.uint8)",
        ]
        return [self._shaped(home, shape), f"{self._name}_g{place}"]

    def _results(self, made: Mapping[int, str]) -> None:
        """The storage of the values after the last iteration."""
        writer, loop, node = self._writer, self._loop, self._node
        for place, (given, value) in enumerate(zip(loop.inputs, node.outputs, strict=True)):
            if place in made:
                shape = loop.variables.shapes[place]
                address = made[place]
                if place not in loop.text.summed:
                    size = 4 * math.prod(shape)
                    address = f"({address} + {size} * (({self._name}_taken - 1) & 1))"
                writer._hand_on(value, writer.at(address, shape))
            elif place in self._lists:
                shape = (loop.length(place), *loop.lists.items[place])
                writer.places[value] = writer.at(self._lists[place], shape)
            elif given in loop.variables.fixed and value.dtype is dtypes.float32:
                writer._hand_on(value, writer._whole(node.inputs[place]))

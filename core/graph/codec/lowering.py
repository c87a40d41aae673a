"""Loops and conditionals of TensorFlow 1 become While and If; their bodies become functions.

`dead_branches.py` finds them; a `Lowering` belongs to one Body, whose nodes may be parts of them,
and makes a Body with a Lowering of its own for each function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import UNKNOWN
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.body import Body
from pinnace.graph.codec.dead_branches import (
    Choice,
    Level,
    Loop,
    control_inputs,
    data_inputs,
    flow_op,
    has_flow,
    is_flow,
    place_of,
)
from pinnace.graph.graph import FunctionRef, GraphBuilder
from pinnace.graph.walk import needed
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.functional.conditions import IF, STATELESS_IF
from pinnace.ops.functional.loops import STATELESS_WHILE, WHILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinnace.framework.shapes import Shape
    from pinnace.graph.codec.dead_branches import OutputPlace
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import Node, Value
    from pinnace.proto.node_def_pb2 import NodeDef

# How often the shapes of loop variables are widened axis by axis, before they become unknown.
_WIDENINGS = 3
_DEEPEST = 32


def body_with_flow(
    graph: GraphBuilder,
    messages: Mapping[str, NodeDef],
    library: FunctionLibrary,
    where: str,
    given: Callable[[str, int], Value | None],
    wanted: Iterable[OutputPlace],
) -> Body:
    """A body of a main graph that may have loops and conditionals of TensorFlow 1.

    Args:
        graph: the graph that gets the nodes.
        messages: name -> node.
        library: the functions that nodes may call.
        where: the graph, for errors.
        given: values that replace outputs of nodes.
        wanted: the places of the graph's outputs.
    """
    if not has_flow(messages.values()):
        return Body(graph, messages, library, where, given=given)
    lowering = Lowering(graph, messages, library, where, given)
    lowering.level.ask(wanted)
    return lowering.body


class Lowering:
    """Builds the loops and conditionals of one body.

    Args:
        graph: the graph that gets its nodes.
        messages: name -> node.
        library: the functions that nodes may call.
        where: the graph, for errors.
        given: values that replace outputs of nodes.
        stands: whether there is such a thing, asked without making it; of a node that is only
            waited for, whether it runs outside. None asks `given`.
        depth: how many functions this body is inside.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        messages: Mapping[str, NodeDef],
        library: FunctionLibrary,
        where: str,
        given: Callable[[str, int], Value | None],
        stands: Callable[[str, int], bool] | None = None,
        depth: int = 0,
    ) -> None:
        if depth > _DEEPEST:
            raise InvalidArgumentError(
                f"{where}: more than {_DEEPEST} loops and conditions are inside one another"
            )
        self.graph = graph
        self.messages = messages
        self.given = given
        self._stands = stands
        self.level = Level(messages, self.stands_outside, where)
        self.body = Body(graph, messages, library, where, given=given, flow=self)
        self._library = library
        self._where = where
        self._depth = depth

    def study(self, names: Iterable[str]) -> None:
        """Analyse the nodes that will be built."""
        self.level.study(names)

    def before(self, name: str) -> Iterable[str]:
        """References that must be built before a node."""
        return self.level.before(name)

    def is_pivot(self, name: str) -> bool:
        """Whether a node is a pivot, whose control edges only place a node in a branch or loop."""
        for _ in range(_DEEPEST):
            message = self.messages.get(name)
            if message is None:
                return False
            if self.stands_outside(name, 0):
                return True
            if flow_op(message) != "Identity" or len(message.input) != 1:
                ends = name in self.level.choices or name in self.level.exits
                return is_flow(message) and not ends
            name, position = place_of(message.input[0])
            if self.stands_outside(name, position):
                return True
        return False

    def lower(self, name: str) -> tuple[Node, dict[str, tuple[Value, ...]]] | None:
        """Build the loop or conditional that a node ends.

        Returns:
            The node added, and the outputs of each node of the level that it ends; None for other
            nodes.
        """
        if name in self.level.exits:
            return self._loop(self.level.exits[name][0])
        if name in self.level.choices:
            return self._choice(self.level.choices[name])
        message = self.messages[name]
        if is_flow(message):
            raise UnimplementedError(
                f"{self._where}, node {name!r}: a {message.op} cannot be requested by itself: its "
                "value may never be computed\n"
                "  Try: request the Merge that joins a condition's sides, or the Exit of a loop"
            )
        return None

    def stands_outside(self, name: str, position: int) -> bool:
        """Whether an output of a node is supplied from outside or was computed before."""
        if self._stands is not None:
            return self._stands(name, position)
        return self.given(name, position) is not None

    # Loops.

    def _loop(self, loop: Loop) -> tuple[Node, dict[str, tuple[Value, ...]]]:
        variables = list(loop.variables)
        starts = [
            self.body.value(self._data(loop.variables[name][0]), f"loop variable {name!r}")
            for name in variables
        ]
        shapes = [value.shape for value in starts]
        for iteration in range(_WIDENINGS + 1):
            step = self._step(loop, starts, shapes)
            wider = [
                shape.most_specific_compatible_shape(value.shape)
                for shape, value in zip(shapes, step.graph.outputs, strict=True)
            ]
            if wider == shapes:
                break
            # Sizes may change one axis per iteration, ranks grow without end.
            shapes = [
                a if a == b else b if iteration + 1 < _WIDENINGS else UNKNOWN
                for a, b in zip(shapes, wider, strict=True)
            ]
        test = self._test(loop, starts, shapes)
        captured = list(dict.fromkeys([*step.captured, *test.captured]))
        for function in (step, test):
            function.take(captured)
        results = [*step.graph.outputs, *step.graph.inputs[len(variables) :]]
        step.graph.set_outputs(results, step.graph.input_names)
        values = [*starts, *(self.value(place) for place in captured)]
        self._check_types(loop, values, step)
        node = self.graph.add(
            WHILE if step.graph.effects or test.graph.effects else STATELESS_WHILE,
            values,
            {
                "T": tuple(value.dtype for value in values),
                "cond": test.finish(),
                "body": step.finish(),
                "output_shapes": (*shapes, *(value.shape for value in values[len(starts) :])),
            },
            loop.test,
            self._controls(loop.before),
        )
        ends: dict[str, tuple[Value, ...]] = {
            end: (node.outputs[variables.index(merge)],)
            for end, (other, merge) in self.level.exits.items()
            if other is loop
        }
        return node, ends

    def _check_types(self, loop: Loop, values: list[Value], step: _Function) -> None:
        for name, value, result in zip(loop.variables, values, step.graph.outputs, strict=False):
            if value.dtype is not result.dtype:
                raise InvalidArgumentError(
                    f"{self._where}: loop variable {name!r} is {value.dtype.name}, but the body "
                    f"gives {result.dtype.name}"
                )

    def _step(self, loop: Loop, starts: list[Value], shapes: list[Shape]) -> _Function:
        ends = [again for _, again in loop.variables.values()]
        return self._in_loop(loop, f"{loop.test}_body", starts, shapes, ends)

    def _test(self, loop: Loop, starts: list[Value], shapes: list[Shape]) -> _Function:
        return self._in_loop(loop, f"{loop.test}_cond", starts, shapes, [loop.test])

    def _in_loop(
        self, loop: Loop, name: str, starts: list[Value], shapes: list[Shape], ends: list[str]
    ) -> _Function:
        function = _Function(self, name)
        held = {
            variable: function.argument(TensorSpec.of(shape, start.dtype), variable, start.handle)
            for variable, start, shape in zip(loop.variables, starts, shapes, strict=True)
        }

        def stands(name: str, position: int) -> bool:
            is_inner = loop.variable_at(self.messages, name, position) or self._enters(loop, name)
            return bool(is_inner) or self.stands_outside(name, position)

        def given(name: str, position: int) -> Value | None:
            variable = loop.variable_at(self.messages, name, position)
            if variable:
                return held[variable]
            if self._enters(loop, name):
                return function.capture(place_of(self._data(name)))
            return function.capture((name, position)) if stands(name, position) else None

        function.decode(given, stands, [self._data(end) for end in ends], self._waits(ends))
        return function

    def _enters(self, loop: Loop, name: str) -> bool:
        """Whether a node passes a value into a loop."""
        message = self.messages.get(name)
        return message is not None and flow_op(message) == "Enter" and name in loop.seen

    def _waits(self, names: Iterable[str]) -> list[str]:
        return [one for name in names for one in control_inputs(self.messages[name])]

    def _data(self, name: str) -> str:
        inputs = data_inputs(self.messages[name])
        if len(inputs) != 1:
            raise InvalidArgumentError(
                f"{self._where}, node {name!r}: takes 1 input, got {len(inputs)}"
            )
        return inputs[0]

    # Choices.

    def _choice(self, choice: Choice) -> tuple[Node, dict[str, tuple[Value, ...]]]:
        sides = [self._side(choice, index) for index in (0, 1)]
        captured = list(dict.fromkeys(place for side in sides for place in side.captured))
        for side in sides:
            side.take(captured)
        kinds = [tuple(value.dtype for value in side.graph.outputs) for side in sides]
        if kinds[0] != kinds[1]:
            raise InvalidArgumentError(
                f"{self._where}: the sides of {', '.join(map(repr, choice.merges))} give "
                f"{[kind.name for kind in kinds[0]]} and {[kind.name for kind in kinds[1]]}"
            )
        values = [self.value(place) for place in captured]
        condition = self.value(choice.condition)
        node = self.graph.add(
            IF if any(side.graph.effects for side in sides) else STATELESS_IF,
            [condition, *values],
            {
                "Tcond": condition.dtype,
                "Tin": tuple(value.dtype for value in values),
                "Tout": kinds[0],
                "then_branch": sides[1].finish(),
                "else_branch": sides[0].finish(),
            },
            next(iter(choice.merges)),
            self._controls(choice.before),
        )
        outputs = iter(node.outputs)
        ends = {
            name: tuple(next(outputs) for _ in range(1 + (name in self.level.asked)))
            for name in choice.merges
        }
        return node, ends

    def _side(self, choice: Choice, index: int) -> _Function:
        first = next(iter(choice.merges))
        function = _Function(self, f"{first}_{'then' if index else 'else'}")

        def given(name: str, position: int) -> Value | None:
            text = self.level.outside(choice.condition, (name, position))
            return function.capture(place_of(text)) if text else None

        def stands(name: str, position: int) -> bool:
            return self.level.outside(choice.condition, (name, position)) is not None

        references = [sides[index] for sides in choice.merges.values()]
        function.decode(given, stands, references, [])
        results: list[Value] = []
        for name, value in zip(choice.merges, function.graph.outputs, strict=True):
            results.append(value)
            if name in self.level.asked:
                place = index ^ (name in choice.swapped)
                attrs = {"value": np.asarray(place, np.int32), "dtype": dtypes.int32}
                results.append(function.graph.add(CONST, [], attrs, "value_index").outputs[0])
        function.graph.set_outputs(results)
        return function

    # Shared by loops and conditionals.

    def value(self, place: OutputPlace) -> Value:
        """A value of this body."""
        name, position = place
        return self.body.value(f"{name}:{position}", "a loop or condition")

    def _controls(self, texts: Iterable[str]) -> list[Node]:
        names = (text[1:] for text in texts if text[:1] == "^")
        return [self.body.node(name) for name in names if self.body.has_node(name)]

    def inner(
        self,
        graph: GraphBuilder,
        given: Callable[[str, int], Value | None],
        stands: Callable[[str, int], bool],
    ) -> Lowering:
        """The builder of a function nested in this body."""
        depth = self._depth + 1
        return Lowering(graph, self.messages, self._library, self._where, given, stands, depth)


class _Function:
    """The function of a loop or a branch, under construction."""

    def __init__(self, outer: Lowering, name: str) -> None:
        self.graph = GraphBuilder(name)
        self._outer = outer
        self._own = 0
        # Its captures, by their places outside.
        self._held: dict[OutputPlace, Value] = {}

    @property
    def captured(self) -> list[OutputPlace]:
        """The places of its captures."""
        return list(self._held)

    def finish(self) -> FunctionRef:
        """The reference for a node's attribute; the function is complete afterwards."""
        return FunctionRef(self.graph.name, self.graph.finish())

    def argument(self, spec: TensorSpec, name: str, handle: TensorSpec | None) -> Value:
        """An argument that precedes the captured ones."""
        self._own += 1
        return self.graph.add_input(PLACEHOLDER, spec, f"argument/{name}", handle)

    def capture(self, place: OutputPlace) -> Value:
        """The argument for a captured value."""
        found = self._held.get(place)
        if found is None:
            value = self._outer.value(place)
            spec = TensorSpec.of(value.shape, value.dtype)
            name = f"captured/{place[0]}"
            found = self.graph.add_input(PLACEHOLDER, spec, name, value.handle)
            self._held[place] = found
        return found

    def take(self, places: list[OutputPlace]) -> None:
        """Set the captures, in this order."""
        own = self.graph.inputs[: self._own]
        self.graph.set_inputs([*own, *[self.capture(place) for place in places]])

    def decode(
        self,
        given: Callable[[str, int], Value | None],
        stands: Callable[[str, int], bool],
        references: list[str],
        waits: list[str],
    ) -> None:
        """Build everything that the references and controls depend on."""
        inner = self._outer.inner(self.graph, given, stands)
        places = [place_of(text) for text in references]
        names = [name for name, position in places if given(name, position) is None]
        waits = [name for name in waits if not stands(name, 0)]
        inner.body.decode([*names, *waits])
        waiting = [inner.body.node(name) for name in waits]
        self.graph.set_outputs([inner.value(place) for place in places])
        self.graph.effects = [
            node for node in needed(self.graph.outputs, waiting) if node.op.stateful
        ]

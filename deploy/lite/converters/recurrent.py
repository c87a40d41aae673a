"""Loops that compute LSTM layers as UNIDIRECTIONAL_SEQUENCE_LSTM.

The operator keeps its state in variable tensors from one run to the next, and a file cannot
initialise them: a second run of a file with the bare operator would continue the first. Therefore
the operator is in a subgraph that has these tensors as arguments, and an IF passes them in every
run. So a run depends on its inputs only; the initial state and the batch size may vary.

The conversion is optional: LiteRT's CompiledModel API and LiteRT.js load no variable tensors
("Variable tensors not yet supported", ai-edge-litert 2.3), and XNNPACK runs the loop, but not this
operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.deploy.lite.converters.sequences import has_steps, rows_of
from pinnace.deploy.lite.converters.tensor_lists import Reserved
from pinnace.deploy.lite.ir.builder import GraphBuilder, carried
from pinnace.deploy.lite.ir.kinds import ACTIVATIONS
from pinnace.deploy.lite.ir.model import Tensor
from pinnace.deploy.program.recurrences.cells import Given, entries
from pinnace.deploy.program.recurrences.loops import Loop, Write, states_of
from pinnace.deploy.program.recurrences.sums import ITEM
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.graph.graph import constant_of
from pinnace.graph.known import known_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.converters.sequences import Rows
    from pinnace.deploy.program.recurrences.cells import Cell
    from pinnace.deploy.program.recurrences.sums import Atom
    from pinnace.framework.tensor import Array
    from pinnace.graph import graph

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
_USUAL = ["Sigmoid", "Tanh", "Tanh"]
_MEMORY = "the state of its cells after the last step is wanted, which the operator does not give"
# The gates of a cell in the operator's order: input, forget, cell, output.
_ORDER = (0, 2, 3, 1)


class _Outputs(NamedTuple):
    """The outputs of a layer at all steps.

    Attributes:
        value: rank 3.
        time: the axis of the steps.
        units: the size of a step's output.
    """

    value: Tensor
    time: int
    units: int


def as_layer(
    g: GraphBuilder,
    call: NodeView,
    state: Sequence[Any],
    programs: tuple[graph.Graph, graph.Graph],
) -> tuple[Any, ...] | None:
    """The results of a While that computes LSTM layers only; None if it must stay a loop.

    The reason why an LSTM stays a loop is kept for the report.

    Args:
        g: the builder to add operators to.
        call: the While.
        state: the initial loop variables.
        programs: the loop's condition and body.
    """

    def known(value: graph.Value) -> Array | None:
        found = call.values.get(value)
        return found.data if isinstance(found, Tensor) else known_value(value)

    try:
        loop = Loop(call.node, *programs, known)
    except UnconvertibleError:
        return None
    if not loop.cells or any(cell.kind != "LSTM" for cell in loop.cells):
        return None
    before = len(g.subgraph.operators)
    try:
        return _Layers(g, call, state, loop).results()
    except UnconvertibleError as error:
        del g.subgraph.operators[before:]
        call.lowering.loops[call.name] = error.message
        return None


class _Layers:
    """The operators that replace a loop.

    Args:
        g: the builder to add them to.
        call: the While.
        state: the initial loop variables.
        loop: the cells that the loop computes.
    """

    def __init__(self, g: GraphBuilder, call: NodeView, state: Sequence[Any], loop: Loop) -> None:
        self.g = g
        self.call = call
        self.state = state
        self.loop = loop
        self.made: dict[Atom, _Outputs] = {}

    def results(self) -> tuple[Any, ...]:
        """The loop's results; None for those that are not used."""
        call, loop = self.call, self.loop
        outputs = call.node.outputs
        wanted = [i for i, value in enumerate(outputs) if call.takers.get(value)]
        moving = [i for i in wanted if i not in loop.fixed]
        for cell in loop.cells:
            self._check(cell)
        taken: dict[int, Atom | Write] = {}
        for i in moving:
            one = loop.written(i) if outputs[i].dtype is dtypes.variant else loop.held(i)
            if one is None:
                is_memory = i in {cell.memory for cell in loop.cells}
                call.fail(_MEMORY if is_memory else "it computes more than an LSTM")
            taken[i] = one
        for cell in loop.cells:
            self._add(cell)
        found: list[Any] = [self.state[i] if i in loop.fixed else None for i in range(len(outputs))]
        for i, one in taken.items():
            if isinstance(one, Write):
                found[i] = self._list(i, self.made[one.item], is_last=one.is_last)
            else:
                found[i] = self._last(self.made[one])
        return tuple(found)

    # Layers.

    def _check(self, cell: Cell) -> None:
        """Refuse a cell that the operator does not compute."""
        call = self.call
        if cell.mask is not None:
            call.fail("it has a mask, and the operator cannot skip steps")
        if [function.name for function in cell.activations] != _USUAL:
            names = [function.name.lower() for function in cell.activations[:2]]
            call.fail(
                f"its activations are {names[1]} and {names[0]}, the operator's tanh and sigmoid"
            )
        if any(carried(call.dtype(i)) is not dtypes.float32 for i in states_of([cell])):
            call.fail("it is not computed in float32")

    def _add(self, cell: Cell) -> None:
        """Add the operator for a cell."""
        call = self.call
        sources = {rows.source for gate in cell.gates for rows in gate.rows}
        if len(sources) != 1:
            call.fail("its input must be exactly one sequence")
        (source,) = sources
        if source.kind == ITEM:
            x, time, given = self._sequence(source.of[0])
        else:
            before = self.made[source]
            x, time, given = before.value, before.time, Given(before.units)
        self.made[cell.output] = _Outputs(
            self._operator(cell, source, x, time, given), time, cell.units
        )

    def _sequence(self, value: graph.Value) -> tuple[Tensor, int, Given]:
        """A sequence as a tensor, its axis of steps, and the weights applied before the loop."""
        call, g = self.call, self.g
        rows = rows_of(value)
        if not all(has_steps(rows, limit) for limit in self.loop.limits):
            call.fail("its number of steps must equal that of its input")
        x = call.values.get(rows.value)
        if not isinstance(x, Tensor) or x.rank != 3 or x.dtype is not dtypes.float32:
            call.fail("its input must be a tensor of floats")
        if rows.is_reversed:
            x = g.op("REVERSE_V2", x, g.ints([rows.time]), shape=x.shape)
        width = x.shape[-1]
        return x, rows.time, Given(None if width is None else int(width), *_before(rows))

    def _operator(self, cell: Cell, source: Atom, x: Tensor, time: int, given: Given) -> Tensor:
        """Build the operator in a subgraph, and the IF that runs it."""
        g, call = self.g, self.call
        batch = g.size(x, 1 - time)
        places = (cell.hidden, cell.memory or 0)
        states = [self._first(place, batch, cell.units) for place in places]
        shape = Shape([*list(x.shape)[:2], cell.units])
        inner = GraphBuilder(f"{call.name}_lstm")
        of_x = inner.input("x", x.dtype, x.shape)
        rows = [inner.input(name, dtypes.float32, states[0].shape) for name in ("h", "c")]
        for one in rows:
            one.is_state = True
        with inner.scope(call.name):
            gates = [cell.gates[i] for i in _ORDER]
            parts = [entries(gate, {source: given}) for gate in gates]
            numbers = [
                *(weights.T for weights, _ in parts),
                *(gate.recurrent.T for gate in gates),
                *(shift for _, shift in parts),
            ]
            tensors = [inner.constant(x.astype(np.float32)) for x in numbers]
            none: list[Tensor | None] = [None] * 4
            (found,) = inner.ops(
                LSTM,
                [of_x, *tensors[:8], *none[:3], *tensors[8:], *none[:2], *rows, *none],
                [(dtypes.float32, shape)],
                fused_activation_function=ACTIVATIONS["TANH"],
                time_major=time == 0,
            )
        inner.subgraph.outputs.append(found)
        (made,) = g.ops(
            "IF",
            [g.constant(True, dtypes.bool), x, *states],
            [(dtypes.float32, shape)],
            then_subgraph_index=inner.subgraph,
            else_subgraph_index=inner.subgraph,
        )
        return made

    def _first(self, place: int, batch: int | Tensor, units: int) -> Tensor:
        """The initial state in a tensor of its own, which the operator overwrites."""
        g = self.g
        shape = [batch if isinstance(batch, int) else None, units]
        zeros = g.op(
            "FILL",
            g.packed([batch, units]),
            g.constant(np.float32(0)),
            dtype=dtypes.float32,
            shape=shape,
        )
        given = self.state[place]
        if not isinstance(given, Tensor) or given.rank != 2:
            self.call.fail("its initial state must be a tensor")
        if self._is_zero(place, given):
            return zeros
        return g.op("ADD", zeros, given, shape=shape)

    def _is_zero(self, place: int, given: Tensor) -> bool:
        if given.data is not None:
            return not np.any(given.data)
        node = self.call.node.inputs[place].node
        number = constant_of(node.inputs[1]) if node.op.name == "Fill" else None
        return node.op.name == "ZerosLike" or (number is not None and not np.any(number))

    # The loop's results.

    def _list(self, place: int, rows: _Outputs, *, is_last: bool) -> Tensor:
        """A list that the loop writes."""
        g, call = self.g, self.call
        given = self.state[place]
        if not isinstance(given, Reserved):
            call.fail("its outputs are written into a list that existed before the loop")
        count = call.node.inputs[place].node.inputs[1]
        if is_last:
            number = known_value(count)
            if number is None or int(number) != 1:
                call.fail("its outputs are written into a list longer than its number of steps")
            last = self._last(rows)
            return g.op("EXPAND_DIMS", last, g.ints(0), shape=[1, *last.shape])
        if not any(_is_same(limit, count) for limit in self.loop.limits):
            call.fail("its outputs are written into a list longer than its number of steps")
        return rows.value if rows.time == 0 else g.transpose(rows.value, [1, 0, 2])

    def _last(self, rows: _Outputs) -> Tensor:
        """The output of the last step."""
        g = self.g
        sizes = list(rows.value.shape)
        sizes.pop(rows.time)
        begin = [0, 0, 0]
        begin[rows.time] = -1
        free = 0b111 ^ 1 << rows.time
        return g.op(
            "STRIDED_SLICE",
            rows.value,
            g.ints(begin),
            g.ints([0, 0, 0]),
            g.ints([1, 1, 1]),
            shape=sizes,
            begin_mask=free,
            end_mask=free,
            shrink_axis_mask=1 << rows.time,
        )


def _before(rows: Rows) -> tuple[Array | None, Array | None]:
    return rows.weights, rows.shift


def _is_same(limit: int | graph.Value, count: graph.Value) -> bool:
    """Whether the loop's number of steps is the length of a list."""
    if limit is count:
        return True
    known = known_value(count)
    number = limit if isinstance(limit, int) else known_value(limit)
    return known is not None and number is not None and int(known) == int(number)

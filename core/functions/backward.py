"""The gradient of a graph as two graphs: forward, which saves values for backward, and backward."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.autodiff.backward import Entry, Gradients, accumulate
from pinnace.autodiff.tape import carries_gradient
from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.functions.control import branches
from pinnace.functions.control.expansion import expand
from pinnace.functions.differentiable import (
    Differentiated,
    active_values,
    call_graph,
    gradient_spec,
    zeros_of,
)
from pinnace.functions.tracer import FunctionTracer
from pinnace.graph.caches import PerGraph
from pinnace.graph.graph import Graph, GraphBuilder, Value
from pinnace.graph.operation import symbol_of
from pinnace.graph.walk import ordered
from pinnace.ops.array import constants
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.execute import execute
from pinnace.ops.functional import conditions, loops
from pinnace.ops.registry import gradient_of
from pinnace.ops.state.variables import VARIABLE_SHAPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.graph.graph import Graph, Value
    from pinnace.ops.opdef import OpCall


def apply(
    pair: Differentiated,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    kept: Sequence[Tensor],
    dys: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The gradients of the inputs from those of the outputs, recorded by enclosing tapes."""
    seeds = []
    for index in pair.targets:
        dy = dys[index]
        if dy is None:
            dy = _zero_seed(pair.forward.outputs[index], outputs[index])
        seeds.append(dy)
    found = iter(call_recorded(pair.backward, (*seeds, *kept, *pair.outside), stateful=False))
    gradients: list[Any] = [None] * len(inputs)
    for index in pair.sources:
        if index in pair.slices:
            gradients[index] = IndexedSlices(next(found), next(found), next(found))
        else:
            gradients[index] = next(found)
    return gradients


def call_recorded(graph: Graph, inputs: tuple[Tensor, ...], stateful: bool) -> tuple[Tensor, ...]:
    """Call a graph so that tapes can differentiate it, as often as there are tapes.

    The innermost tape needs the gradient of the outputs; the next outer one also the gradient of
    the first gradient's inputs, and so on. All of it is computed in this one call, with the values
    of this call.
    """
    tapes: tuple[Any, ...] = state.tapes
    wanted = tuple(any(tape.watches(x) for tape in tapes) for x in inputs)
    if not any(wanted):
        return call_graph(graph, inputs, stateful)
    watching = [tape for tape in tapes if any(tape.watches(x) for x in inputs)]
    depth = len(watching) + any(tape.persistent for tape in watching)
    pairs: list[Differentiated] = []
    sizes = [len(graph.outputs)]
    deepest = graph
    for _ in range(depth):
        pair = _differentiated(deepest, wanted)
        pairs.append(pair)
        deepest = pair.forward
        sizes.append(len(deepest.outputs))
    everything = call_graph(deepest, inputs, stateful)
    visible = everything[: sizes[-2]]

    def backward(*dys: Tensor | None) -> list[Tensor | None]:
        level = 0
        for index, dy in enumerate(dys):
            if dy is not None:
                while index >= sizes[level]:
                    level += 1
        kept = everything[sizes[level] : sizes[level + 1]]
        return apply(pairs[level], inputs, visible[: sizes[level]], kept, dys)

    for tape in watching:
        tape.record_call(inputs, visible, backward)
    return everything[: sizes[0]]


_lock = threading.RLock()
# Keyed by the inputs that need gradients.
_gradients: PerGraph[dict[tuple[bool, ...], Differentiated]] = PerGraph()


def _differentiated(graph: Graph, wanted: tuple[bool, ...]) -> Differentiated:
    """`differentiate`, cached per graph and differentiated inputs."""
    known = _gradients.get(graph)
    found = None if known is None else known.get(wanted)
    if found is None:
        with _lock:
            known = _gradients.get(graph)
            if known is None:
                known = _gradients.keep(graph, {})
            found = known.get(wanted)
            if found is None:
                found = known[wanted] = differentiate(graph, wanted, slices=True)
    return found


def differentiate(
    graph: Graph, wanted: Sequence[bool], complete: bool = False, slices: bool = False
) -> Differentiated:
    """The gradient of `graph` with respect to some inputs.

    Calls are inlined first, so that the two graphs share every intermediate value; conditionals and
    loops get theirs as extra outputs.

    Args:
        graph: the graph.
        wanted: one per input.
        complete: whether wanted inputs that no output depends on get zeros, not nothing.
        slices: whether a gradient may be IndexedSlices; it becomes a tensor otherwise.
    """
    forward = inline(graph)
    forward, special = expand(forward, wanted, differentiate)
    active = active_values(forward, wanted)
    tracer = FunctionTracer(f"{graph.name}_backward", None, borrowed=(forward,))
    symbol = _symbols(forward)
    targets = [
        index
        for index, value in enumerate(forward.outputs)
        if value in active and gradient_spec(value) is not None
    ]
    sources = [
        index
        for index, want in enumerate(wanted)
        if want and (complete or carries_gradient(forward.inputs[index].dtype))
    ]
    saved = state.tracer, state.tapes, state.scope
    state.tracer, state.tapes, state.scope = tracer, state.observers, ""
    try:
        gradients = Gradients()
        for index in targets:
            spec = gradient_spec(forward.outputs[index])
            assert spec is not None  # noqa: S101 (the targets were chosen so)
            seed = tracer.graph.add_input(
                PLACEHOLDER, TensorSpec.of(spec.shape, spec.dtype), f"dy_{index}"
            )
            gradients.add(symbol(forward.outputs[index]), tracer.tensor_of(seed))
        kept = {id(symbol(forward.inputs[index])) for index in sources}
        actives = {id(symbol(value)) for value in active}
        accumulate(_entries(forward, active, symbol, special), gradients, kept, actives)
        found: list[Tensor] = []
        sliced: set[int] = set()
        for index in list(sources):
            source = symbol(forward.inputs[index])
            gradient: Any = gradients.total(source)
            if type(gradient) is IndexedSlices and slices and gradient.dense_shape is not None:
                sliced.add(index)
                found += [gradient.values, gradient.indices, gradient.dense_shape]
                continue
            gradient = dense(gradient)
            if gradient is None and complete:
                found.append(zeros_of(source))
            elif gradient is None:
                sources.remove(index)
            else:
                found.append(gradient)
        results = [tracer.value_of(gradient) for gradient in found]
    finally:
        state.tracer, state.tapes, state.scope = saved
    tracer.graph.set_outputs(
        results,
        [
            f"dx_{index}{part}"
            for index in sources
            for part in (("_values", "_indices", "_shape") if index in sliced else ("",))
        ],
    )
    inside, outside = _split_captures(tracer, forward, len(targets))
    keeping = GraphBuilder(f"{graph.name}_forward", forward)
    keeping.set_outputs(
        [*forward.outputs, *inside],
        [*forward.output_names, *(f"kept_{index}" for index in range(len(inside)))],
    )
    backward = tracer.graph.finish()
    return Differentiated(keeping.finish(), backward, targets, sources, outside, sliced)


def _split_captures(
    tracer: FunctionTracer, forward: Graph, seeds: int
) -> tuple[list[Value], list[Tensor]]:
    """Captures of the forward graph, then those from outside; the backward inputs likewise."""
    inside: list[Value] = []
    outside: list[Tensor] = []
    inner: list[Value] = []
    outer: list[Value] = []
    for tensor, value in tracer.captures.values():
        if isinstance(tensor, SymbolicTensor) and tensor.graph is forward:
            inside.append(tensor.value)
            inner.append(value)
        else:
            outside.append(tensor)
            outer.append(value)
    tracer.graph.set_inputs([*tracer.graph.inputs[:seeds], *inner, *outer])
    return inside, outside


def _symbols(graph: Graph) -> Callable[[Value], SymbolicTensor]:
    return lambda value: symbol_of(value, graph)


def _zero_seed(value: Value, output: Tensor) -> Tensor:
    """Zeros for an output without a gradient."""
    spec = gradient_spec(value)
    if value.dtype is dtypes.resource and spec is not None:
        if spec.shape.is_fully_defined():
            return constants.zeros(spec.shape, spec.dtype)
        return constants.zeros(execute(VARIABLE_SHAPE, output), spec.dtype)
    return constants.zeros_like(output)


def _entries(
    graph: Graph,
    active: set[Value],
    symbol: Callable[[Value], SymbolicTensor],
    special: dict[Any, Any],
) -> list[Entry]:
    found: list[Entry] = []
    for node in ordered(graph):
        if any(value in active for value in node.outputs):
            if node in special:
                inputs = tuple(symbol(value) for value in node.inputs)
                outputs = tuple(symbol(value) for value in node.outputs)
                found.append((None, inputs, {}, outputs, special[node]))
                continue
            if not node.inputs or node.op is PLACEHOLDER:
                continue
            packed = node.op.pack_inputs([symbol(value) for value in node.inputs], node.attrs)
            outputs = tuple(symbol(value) for value in node.outputs)
            found.append((node.op, packed, node.attrs, outputs, None))
    return found


@gradient_of(
    *(conditions.IF, conditions.STATELESS_IF, conditions.CASE, conditions.STATELESS_CASE),
    *(loops.WHILE, loops.STATELESS_WHILE),
)
def _gradient_of_control_flow(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    """The gradient of a single If, Case or While, which is computed again in expanded form.

    Needed by tapes that recorded one run outside of `functions`.
    """
    graph = branches.alone(call.op, call.inputs, dict(call.attrs))
    flat = [*call.inputs[:-1], *call.inputs[-1]]
    pair = differentiate(graph, [carries_gradient(x.dtype) for x in flat])
    everything = call_graph(pair.forward, flat, call.op.stateful)
    count = len(graph.outputs)
    found = apply(pair, flat, everything[:count], everything[count:], dys)
    single = len(call.inputs) - 1
    return (*found[:single], tuple(found[single:]))

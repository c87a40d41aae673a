"""The gradient of a graph as two: a forward graph that keeps what a backward graph needs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.backward import Entry, Gradients, accumulate
from pinnace.autodiff.tape import carries_gradient
from pinnace.engine.build import plan_of
from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.functions.tracer import FunctionTracer
from pinnace.graph.graph import FunctionRef, Graph, Value
from pinnace.graph.walk import ordered
from pinnace.ops.array import constants
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.execute import execute
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.ops.opdef import NotDifferentiable
from pinnace.ops.state.variables import VARIABLE_SHAPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Differentiated:
    """A graph and its gradient.

    Attributes:
        forward: the graph's outputs, then what the backward graph needs of the inside.
        backward: takes one gradient per entry of `targets`, then those; gives one gradient per
            entry of `sources`.
        targets: the outputs that carry gradients, by index.
        sources: the inputs whose gradients it gives, by index.
        slices: those of them whose gradient is IndexedSlices: three results each, not one.
        outside: tensors from outside that the backward graph captured by itself.
    """

    __slots__ = ("backward", "forward", "outside", "slices", "sources", "targets")

    def __init__(
        self,
        forward: Graph,
        backward: Graph,
        targets: list[int],
        sources: list[int],
        outside: list[Tensor],
        slices: set[int],
    ) -> None:
        self.slices = slices
        self.forward = forward
        self.backward = backward
        self.targets = targets
        self.sources = sources
        self.outside = outside

    def apply(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        kept: Sequence[Tensor],
        dys: Sequence[Tensor | None],
    ) -> list[Tensor | None]:
        """The gradients of the inputs from those of the outputs; tapes still around see how."""
        seeds = []
        for index in self.targets:
            dy = dys[index]
            if dy is None:
                dy = _zero_seed(self.forward.outputs[index], outputs[index])
            seeds.append(dy)
        found = iter(call_recorded(self.backward, (*seeds, *kept, *self.outside), stateful=False))
        gradients: list[Any] = [None] * len(inputs)
        for index in self.sources:
            if index in self.slices:
                gradients[index] = IndexedSlices(next(found), next(found), next(found))
            else:
                gradients[index] = next(found)
        return gradients


def call_graph(graph: Graph, inputs: Sequence[Tensor], stateful: bool) -> tuple[Tensor, ...]:
    """Call a graph: a node while tracing, its plan otherwise. No tape sees it."""
    if state.tracer is None:
        results = plan_of(graph)([np.asarray(t._array) for t in inputs])
        return tuple(
            wrap(array, value.spec.dtype)
            for array, value in zip(results, graph.outputs, strict=True)
        )
    op = STATEFUL_PARTITIONED_CALL if stateful else PARTITIONED_CALL
    kinds = tuple(value.spec.dtype for value in graph.outputs)
    with tapes_hidden():
        return tuple(execute(op, list(inputs), f=FunctionRef(graph.name, graph), Tout=kinds))


def call_recorded(graph: Graph, inputs: tuple[Tensor, ...], stateful: bool) -> tuple[Tensor, ...]:
    """Call a graph so that tapes can differentiate it, as often as there are tapes.

    The innermost tape needs the gradient of the outputs; one around it also that of what the first
    gradient is computed from, and so on. What all of them need is computed in this one call, from
    values as of this call.
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
        return pairs[level].apply(inputs, visible[: sizes[level]], kept, dys)

    for tape in watching:
        tape.record_call(inputs, visible, backward)
    return everything[: sizes[0]]


_lock = threading.RLock()


def _differentiated(graph: Graph, wanted: tuple[bool, ...]) -> Differentiated:
    """`differentiate`, once per graph and choice of inputs."""
    found = graph.gradients.get(wanted)
    if found is None:
        with _lock:
            found = graph.gradients.get(wanted)
            if found is None:
                found = graph.gradients[wanted] = differentiate(graph, wanted, slices=True)
    return found


# Makes conditions and loops keep what their gradients need; `functions/control` fills it.
_expand: Callable[..., tuple[Graph, dict[Any, Any]]] | None = None


def install_expansion(expand: Callable[..., tuple[Graph, dict[Any, Any]]]) -> None:
    """Fill the slot: `expand(graph, wanted)` gives another graph, and gradients by its nodes."""
    global _expand
    _expand = expand


def differentiate(
    graph: Graph, wanted: Sequence[bool], complete: bool = False, slices: bool = False
) -> Differentiated:
    """The gradient of `graph` with respect to the inputs that are wanted.

    Calls are inlined first, so that the two graphs share every intermediate value; conditions and
    loops are made to give theirs.

    Args:
        graph: the graph.
        wanted: one per input.
        complete: whether wanted inputs that no output depends on get zeros, not nothing.
        slices: whether a gradient may be IndexedSlices; it becomes a tensor otherwise.
    """
    forward = inline(graph)
    special: dict[Any, Any] = {}
    if _expand is not None:
        forward, special = _expand(forward, wanted)
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
    state.tracer, state.tapes, state.scope = tracer, (), ""
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
    backward = tracer.graph
    backward.outputs = results
    backward.output_names = [
        f"dx_{index}{part}"
        for index in sources
        for part in (("_values", "_indices", "_shape") if index in sliced else ("",))
    ]
    inside, outside = _split_captures(tracer, forward, backward, len(targets))
    forward.outputs = [*forward.outputs, *inside]
    forward.output_names = [
        *forward.output_names,
        *(f"kept_{index}" for index in range(len(inside))),
    ]
    forward.name = f"{graph.name}_forward"
    return Differentiated(forward, backward, targets, sources, outside, sliced)


def _split_captures(
    tracer: FunctionTracer, forward: Graph, backward: Graph, seeds: int
) -> tuple[list[Value], list[Tensor]]:
    """Captures of the forward graph, then those from outside; the backward inputs likewise."""
    inside: list[Value] = []
    outside: list[Tensor] = []
    inner: list[tuple[Value, str]] = []
    outer: list[tuple[Value, str]] = []
    names = dict(zip(backward.inputs, backward.input_names, strict=True))
    for tensor, value in tracer.captures.values():
        if isinstance(tensor, SymbolicTensor) and tensor.graph is forward:
            inside.append(tensor.value)
            inner.append((value, names[value]))
        else:
            outside.append(tensor)
            outer.append((value, names[value]))
    first = [(value, names[value]) for value in backward.inputs[:seeds]]
    backward.inputs = [value for value, _ in (*first, *inner, *outer)]
    backward.input_names = [name for _, name in (*first, *inner, *outer)]
    return inside, outside


def _symbols(graph: Graph) -> Callable[[Value], SymbolicTensor]:
    return lambda value: symbol_of(value, graph)


def symbol_of(value: Value, graph: Graph) -> SymbolicTensor:
    """The one symbolic tensor that stands for a value."""
    if value.tensor is None:
        value.tensor = SymbolicTensor(value, graph)
    return value.tensor  # type: ignore[no-any-return]


def gradient_spec(value: Value) -> TensorSpec | None:
    """The spec of the gradient of a value, None if it has none; a handle has its variable's."""
    if not carries_gradient(value.dtype):
        return None
    if value.dtype is dtypes.resource:
        handle = value.handle
        return handle if handle is not None and carries_gradient(handle.dtype) else None
    return value.spec


def _zero_seed(value: Value, output: Tensor) -> Tensor:
    """Zeros for an output that nothing flowed to."""
    spec = gradient_spec(value)
    if value.dtype is dtypes.resource and spec is not None:
        if spec.shape.is_fully_defined():
            return constants.zeros(spec.shape, spec.dtype)
        return constants.zeros(execute(VARIABLE_SHAPE, output), spec.dtype)
    return constants.zeros_like(output)


def zeros_of(tensor: Any) -> Tensor:
    """A gradient of zeros for a symbolic tensor, a variable's handle or a list."""
    if tensor.dtype is dtypes.resource:
        spec = tensor.value.handle
        if spec.shape.is_fully_defined():
            return constants.zeros(spec.shape, spec.dtype)
        return constants.zeros(execute(VARIABLE_SHAPE, tensor), spec.dtype)
    if tensor.shape.is_fully_defined() and tensor.dtype is not dtypes.variant:
        return constants.zeros(tensor.shape, tensor.dtype)
    return constants.zeros_like(tensor)


def active_values(graph: Graph, wanted: Sequence[bool]) -> set[Value]:
    """The values that depend on a wanted input in a way that has a derivative."""
    active = {value for value, want in zip(graph.inputs, wanted, strict=True) if want}
    for node in ordered(graph):
        if isinstance(node.op.gradient, NotDifferentiable):
            continue
        if any(value in active for value in node.inputs):
            active.update(value for value in node.outputs if carries_gradient(value.dtype))
    return active


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

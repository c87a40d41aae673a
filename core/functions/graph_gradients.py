"""gradients and hessians: derivatives within the function being traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.autodiff.backward import Entry, Gradients, accumulate
from pinnace.autodiff.tape import UnconnectedGradients, carries_gradient
from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.indexed_slices import dense
from pinnace.framework.no_effect import ignored
from pinnace.framework.variable import Variable
from pinnace.functions import backward, customised
from pinnace.functions.control import branches
from pinnace.functions.differentiable import call_graph
from pinnace.graph.gradients import custom_gradient_of
from pinnace.graph.operation import symbol_of
from pinnace.ops.array import constants, joining, reshaping
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.ops.opdef import NotDifferentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import SymbolicTensor, Tensor
    from pinnace.functions.tracer import FunctionTracer
    from pinnace.graph.graph import Graph, GraphBuilder, Node, Value


class AggregationMethod:
    """Names of methods to sum gradients; all are equivalent here."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivatives of the sum of `ys` by each of `xs`, inside a function that is being traced.

    Args:
        ys: a tensor of the function, or a list of them.
        xs: tensors or variables, or one of them, to differentiate by.
        grad_ys: factors of the gradient of each y; ones where None.
        name: accepted for TensorFlow's sake.
        gate_gradients: accepted for TensorFlow's sake.
        aggregation_method: accepted for TensorFlow's sake.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: the result where no y depends on an x: "none" or "zero".

    Returns:
        One entry per x: a tensor, IndexedSlices where rows were gathered, or None.

    Raises:
        RuntimeError: no function is being traced: `GradientTape` sees what runs at once.
        UnimplementedError: something on the way has effects, and would have to run again.
    """
    del name
    _tell_ignored("gradients", gate_gradients, aggregation_method)
    tracer: Any = state.tracer
    if tracer is None:
        raise RuntimeError(
            "gradients works on the graph of a function that is being traced, and none is\n"
            "  Try: GradientTape, or call it inside a function"
        )
    wish = getattr(unconnected_gradients, "value", unconnected_gradients)
    if wish not in {UnconnectedGradients.NONE, UnconnectedGradients.ZERO}:
        raise ValueError(
            f"unconnected_gradients must be 'none' or 'zero', got {unconnected_gradients!r}"
        )
    targets = [_inside(y, tracer) for y in structure.flatten(ys)]
    sources = structure.flatten(xs)
    places = [_inside(x, tracer) for x in sources]
    seeds = [None] * len(targets) if grad_ys is None else structure.flatten(grad_ys)
    if len(seeds) != len(targets):
        raise ValueError(
            f"gradients: there must be a grad_y per y, got {len(seeds)} and {len(targets)}"
        )
    stopped = {_inside(x, tracer).value for x in structure.flatten(stop_gradients or [])}
    found = _walked_back(tracer, targets, places, seeds, stopped)
    if wish == UnconnectedGradients.ZERO:
        found = [
            constants.zeros_like(source) if one is None else one
            for one, source in zip(found, sources, strict=True)
        ]
    return found


def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Tensor]:
    """The second derivatives of the sum of `ys` by each of `xs`, inside a function being traced.

    Args:
        ys: a tensor of the function, or a list of them.
        xs: tensors or variables of known shape, or one of them.
        gate_gradients: accepted for TensorFlow's sake.
        aggregation_method: accepted for TensorFlow's sake.
        name: accepted for TensorFlow's sake.

    Returns:
        For each x a tensor of shape [*x.shape, *x.shape].

    Raises:
        RuntimeError: no function is being traced.
        ValueError: an x has no fully known shape, or no y depends on it.
    """
    del name
    _tell_ignored("hessians", gate_gradients, aggregation_method)
    found = []
    sources = structure.flatten(xs)
    for x, slope in zip(sources, gradients(ys, sources), strict=True):
        if slope is None:
            raise ValueError(f"hessians: nothing depends on {x!r}")
        if not x.shape.is_fully_defined():
            raise ValueError(f"hessians: x must have a fully known shape, got {x.shape.text}")
        sizes = x.shape.as_list()
        flat = reshaping.reshape(dense(slope), [-1])
        rows = [
            dense(gradients(flat[index], x, unconnected_gradients="zero")[0])
            for index in range(x.shape.num_elements())
        ]
        found.append(reshaping.reshape(joining.stack(rows), [*sizes, *sizes]))
    return found


def _inside(item: Any, tracer: FunctionTracer) -> SymbolicTensor:
    """The tensor in the graph that is being traced."""
    if isinstance(item, Variable):
        item = item.handle
    return tracer.tensor_of(tracer.value_of(convert_to_tensor(item)))


def _walked_back(
    tracer: FunctionTracer,
    targets: Sequence[SymbolicTensor],
    sources: Sequence[SymbolicTensor],
    seeds: Sequence[Any],
    stopped: set[Value],
) -> list[Any]:
    graph = tracer.graph
    active: set[Value] = {source.value for source in sources}
    entries = []
    for node in list(graph.nodes):
        if isinstance(node.op.gradient, NotDifferentiable) and not _holds_functions(node):
            continue
        if not any(value in active for value in node.inputs):
            continue
        active.update(
            value
            for value in node.outputs
            if carries_gradient(value.dtype) and value not in stopped
        )
        if any(value in active and value not in stopped for value in node.outputs):
            entries.append(_entry(node, graph))
    total = Gradients()
    for target, seed in zip(targets, seeds, strict=True):
        total.add(target, _seed(target, seed))
    kept = {id(source) for source in sources}
    wanted = {id(symbol_of(value, graph)) for value in active}
    accumulate(entries, total, kept, wanted | kept)
    return [total.total(source) for source in sources]


def _seed(target: SymbolicTensor, given: Any) -> Tensor:
    if given is None:
        return constants.ones_like(target)
    seed = convert_to_tensor(given, target.dtype)
    if not seed.shape.is_compatible_with(target.shape):
        raise ValueError(
            f"grad_ys must have the shape of its y, {target.shape.text}, got {seed.shape.text}"
        )
    return seed


def _holds_functions(node: Node) -> bool:
    return any("func" in attribute.kind for attribute in node.op.attrs.values())


def _entry(node: Node, graph: GraphBuilder) -> Entry:
    inputs = tuple(symbol_of(value, graph) for value in node.inputs)
    outputs = tuple(symbol_of(value, graph) for value in node.outputs)
    custom = custom_gradient_of(node)
    if custom is not None:
        return (None, inputs, {}, outputs, customised.gradient_of(node, custom, graph))
    if node.op is PLACEHOLDER or not _holds_functions(node):
        packed = node.op.pack_inputs(list(inputs), node.attrs)
        return (node.op, packed, node.attrs, outputs, None)
    if node.op in {PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL}:
        inner: Graph = node.attrs["f"].graph
    else:
        packed = node.op.pack_inputs(list(inputs), node.attrs)
        inner = branches.alone(node.op, packed, dict(node.attrs), node.name)

    def back(*dys: Tensor | None) -> Sequence[Any]:
        reads = any(one.op.effect == "read" for one in inner.nodes)
        later = graph.nodes[graph.nodes.index(node) + 1 :]
        changed = reads and any(one.op.effect == "write" for one in later)
        if changed or any(one.op.stateful and one.op.effect != "read" for one in inner.nodes):
            raise UnimplementedError(
                f"gradients: node {node.name!r} has effects, or reads what changes after it, and "
                "would have to run again for its gradient\n"
                "  Try: GradientTape around the call, which keeps what is needed"
            )
        wanted = tuple(carries_gradient(x.dtype) for x in inputs)
        pair = backward._differentiated(inner, wanted)
        # Duplicates created here are merged by common subexpression elimination.
        everything = call_graph(pair.forward, inputs, stateful=False)
        return backward.apply(pair, inputs, outputs, everything[len(outputs) :], dys)

    return (None, inputs, {}, outputs, back)


__all__ = ["gradients", "hessians"]


def _tell_ignored(who: str, gates: Any, aggregation: Any) -> None:
    why = "gradients are added up in one way, each where it is computed"
    ignored(who, why, gate_gradients=gates or None, aggregation_method=aggregation or None)

"""Initial values of variables that a traced function creates, computed while tracing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.build import plan_of
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.execute import run_eagerly

if TYPE_CHECKING:
    from pinnace.functions.tracer import FunctionTracer
    from pinnace.graph.graph import Node, Value


def value_now(tensor: SymbolicTensor, tracer: FunctionTracer) -> Tensor:
    """The value of a tensor of a function that is being traced, before that function runs.

    Only the ops that the tensor depends on run, without the function's assignments.

    Args:
        tensor: a tensor of the graph of `tracer`, or of one around it.
        tracer: the active tracer.

    Returns:
        An eager tensor.

    Raises:
        ValueError: the value depends on an argument without one yet: a TensorSpec's, a loop's.
    """
    found: FunctionTracer | None = tracer
    while found is not None and found.graph is not tensor.graph:
        found = found.outer
    if found is None:
        raise _unknown(tensor, "a value of another function")
    known = {id(value): outside for outside, value in found.captures.values()}
    known.update((id(value), given) for value, given in found.given.items())
    copy = Copy(GraphBuilder("initial_value"))
    inputs: list[Tensor] = []
    for node in _nodes_behind(tensor.value):
        if _told_by_shapes(node):
            inputs += _of_shapes(node)
            for value in node.outputs:
                copy.values[value] = copy.target.add_input(PLACEHOLDER, value.spec, node.name)
            continue
        if node.op.name != "Placeholder":
            copy.node(node)
            continue
        (value,) = node.outputs
        given = known.get(id(value))
        if given is None:
            raise _unknown(tensor, f"{node.name!r}")
        inputs.append(value_now(given, found) if isinstance(given, SymbolicTensor) else given)
        copy.values[value] = copy.target.add_input(node.op, value.spec, node.name, value.handle)
    copy.target.set_outputs([copy.values[tensor.value]])
    (array,) = plan_of(copy.target.finish())([one._array for one in inputs])
    return wrap(np.asarray(array), tensor.dtype)


def _nodes_behind(value: Value) -> list[Node]:
    """The nodes that a value is computed from, each after those it takes values from."""
    ordered: dict[Node, None] = {}
    waiting = [(value.node, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            ordered[node] = None
        elif node not in ordered:
            waiting.append((node, True))
            if _told_by_shapes(node):
                continue
            waiting += [(one.node, False) for one in node.inputs if one.node not in ordered]
    return list(ordered)


def _told_by_shapes(node: Node) -> bool:
    """Whether a node's result depends on shapes alone: a size, or zeros like another tensor."""
    asks = node.op.shape_query or (node.op.fuse is not None and "{" not in node.op.fuse)
    return asks and all(value.shape.is_fully_defined() for value in node.inputs)


def _of_shapes(node: Node) -> list[Tensor]:
    """The result of such a node, which is the same for all values with these shapes."""
    anything = [_zeros(value) for value in node.inputs]
    inputs = (tuple(anything),) if node.op.inputs[0].number_attr else tuple(anything)
    return list(run_eagerly(node.op, inputs, node.attrs))


def _zeros(value: Value) -> Tensor:
    sizes = [int(size or 0) for size in value.shape]
    return wrap(np.broadcast_to(np.zeros((), value.dtype.numpy), sizes), value.dtype)


def _unknown(tensor: Tensor, what: str) -> ValueError:
    return ValueError(
        f"Variable: the initial value {tensor!r} is computed by the function that is being traced, "
        f"from {what}, which has no value yet.\n  Try: call the function with values before "
        "get_concrete_function, or pass a function of nothing that is traced, Variable(lambda: ...)"
    )

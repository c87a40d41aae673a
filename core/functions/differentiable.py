"""Building blocks of gradients: values of a graph as tensors, zeros, calls of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.tape import carries_gradient
from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.tensor import Tensor, wrap
from pinnace.graph.graph import FunctionRef, Graph, Value
from pinnace.graph.walk import ordered
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.ops.opdef import NotDifferentiable
from pinnace.ops.state.variables import VARIABLE_SHAPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec


class Differentiated:
    """A graph and its gradient.

    Attributes:
        forward: the graph's outputs, then what the backward graph needs of the inside.
        backward: takes one gradient per entry of `targets`, then those; gives one gradient per
            entry of `sources`.
        targets: the outputs that carry gradients, by index.
        sources: the inputs whose gradients it gives, by index.
        slices: the ones whose gradient is IndexedSlices: three results each, not one.
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


def call_graph(graph: Graph, inputs: Sequence[Tensor], stateful: bool) -> tuple[Tensor, ...]:
    """Call a graph, as a node while tracing, otherwise through its plan; unseen by tapes."""
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


def gradient_spec(value: Value) -> TensorSpec | None:
    """The spec of a value's gradient; None if it has none. A handle's is its variable's."""
    if not carries_gradient(value.dtype):
        return None
    if value.dtype is dtypes.resource:
        handle = value.handle
        return handle if handle is not None and carries_gradient(handle.dtype) else None
    return value.spec


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
    """The values that depend differentiably on an input that needs a gradient."""
    active = {value for value, want in zip(graph.inputs, wanted, strict=True) if want}
    for node in ordered(graph):
        if isinstance(node.op.gradient, NotDifferentiable):
            continue
        if any(value in active for value in node.inputs):
            active.update(value for value in node.outputs if carries_gradient(value.dtype))
    return active

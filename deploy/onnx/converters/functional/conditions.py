"""If and Case."""

from collections.abc import Sequence

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.converters.state.tensor_lists import dense
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph.graph import FunctionRef


@converts("If", "StatelessIf")
def condition(
    g: GraphBuilder, call: NodeView, test: Value, inputs: tuple[Value, ...]
) -> tuple[Value, ...]:
    """If; the branches capture outer values by name. A constant condition keeps one branch only."""
    then, other = call.attr("then_branch"), call.attr("else_branch")
    known = _known(call, test)
    if known is not None and not known.ndim:
        return tuple(call.inline(g, then if known[()] else other, inputs))
    return _chosen(g, call, truth(g, call, test), then, other, inputs)


def _known(call: NodeView, value: Value) -> Array | None:
    """The value of the condition if it is constant or follows from known sizes, else None."""
    return value.array if value.array is not None else call.constant(0)


def truth(g: GraphBuilder, call: NodeView, test: Value) -> Value:
    """The condition as a bool."""
    if test.rank or test.dtype is dtypes.string:
        call.fail("the condition must be a number or bool of rank 0")
    return g.cast(test, dtypes.bool)


def _chosen(
    g: GraphBuilder,
    call: NodeView,
    test: Value,
    then: FunctionRef,
    other: FunctionRef,
    inputs: Sequence[Value],
) -> tuple[Value, ...]:
    bodies = []
    for ref in (then, other):
        body = g.body()
        for value in call.inline(body, ref, inputs):
            body.result(dense(body, value))
        bodies.append(body)
    return _node(g, call, test, bodies[0], bodies[1])


def _node(
    g: GraphBuilder, call: NodeView, test: Value, then: GraphBuilder, other: GraphBuilder
) -> tuple[Value, ...]:
    specs = [
        _spec(output.spec, one, other_one)
        for output, (_, one), (_, other_one) in zip(
            call.node.outputs, then.outputs, other.outputs, strict=True
        )
    ]
    if not specs:
        return ()
    return g.with_bodies("If", specs, test, then_branch=then, else_branch=other)


def _spec(spec: TensorSpec, one: Value, other: Value) -> TensorSpec:
    """The spec of a result of both branches; lists are represented by their tensors."""
    if spec.dtype.onnx is not None:
        return spec
    return TensorSpec.of(one.shape.most_specific_compatible_shape(other.shape), one.dtype)


@converts("Case", "StatelessCase")
def case(
    g: GraphBuilder, call: NodeView, index: Value, inputs: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Nested Ifs; an index out of range chooses the last branch."""
    branches: tuple[FunctionRef, ...] = call.attr("branches")
    known = _known(call, index)
    if known is not None:
        place = int(known)
        return tuple(call.inline(g, branches[place if 0 <= place < len(branches) else -1], inputs))
    return _case(g, call, index, branches, 0, inputs)


def _case(
    g: GraphBuilder,
    call: NodeView,
    index: Value,
    branches: tuple[FunctionRef, ...],
    place: int,
    inputs: tuple[Value, ...],
) -> tuple[Value, ...]:
    if place == len(branches) - 1:
        return tuple(call.inline(g, branches[place], inputs))
    then, other = g.body(), g.body()
    for value in call.inline(then, branches[place], inputs):
        then.result(dense(then, value))
    for value in _case(other, call, index, branches, place + 1, inputs):
        other.result(dense(other, value))
    return _node(g, call, g.binary("Equal", index, place), then, other)


@converts("FakeParam")
def fake_param(g: GraphBuilder, call: NodeView) -> Value:
    """An empty placeholder of the right type, which is never read."""
    dtype = call.dtype("dtype")
    sizes = [0 if size is None else int(size) for size in call.attr("shape")]
    return g.constant(np.zeros(sizes, dtype.numpy), dtype=dtype)

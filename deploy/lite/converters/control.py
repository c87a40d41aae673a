"""If, Case and While as subgraphs, whose arguments are all values they use except constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.converters.recurrent import as_layer
from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.lite.converters.tensor_lists import Reserved, dense
from pinnace.deploy.lite.ir.builder import GraphBuilder
from pinnace.deploy.lite.ir.model import Tensor
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline as inlined
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.model import Subgraph
    from pinnace.graph import graph
    from pinnace.graph.graph import FunctionRef


def program_of(function: FunctionRef) -> graph.Graph:
    """The body of a function with calls inlined and constants folded."""
    return fold(inlined(function.graph))


@converts("ReadVariableOp")
def read_variable(g: GraphBuilder, call: NodeView, x: Any) -> Any:
    """The value of the variable behind the handle."""
    del g, call
    return x


@converts("VariableShape", to="SHAPE")
def variable_shape(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SHAPE of the variable's value."""
    return g.cast(g.sizes(x), call.dtype())


@converts("VarIsInitializedOp")
def is_initialized(g: GraphBuilder, call: NodeView, x: Any) -> Tensor:
    """The constant true: variables have values when they are exported."""
    del call, x
    return g.constant(True, dtypes.bool)


def _is_passed(value: Any) -> bool:
    """Whether a value becomes an argument of a subgraph; constants are copied into it instead."""
    return isinstance(value, Tensor) and value.data is None


def _arguments(inner: GraphBuilder, values: Sequence[Any], shapes: Sequence[Shape]) -> list[Any]:
    """The values as they are called in a subgraph: new arguments, or the constants themselves."""
    return [
        inner.input(value.name, value.dtype, shape) if _is_passed(value) else value
        for value, shape in zip(values, shapes, strict=True)
    ]


def _results(inner: GraphBuilder, values: Sequence[Tensor], own: Sequence[Tensor | None]) -> None:
    """Set a subgraph's results, copying constants, repeated results and other arguments.

    Args:
        inner: the builder of the subgraph.
        values: the results.
        own: for each, the argument that may be returned without a copy, or None.
    """
    for value, same in zip(values, own, strict=True):
        outputs = inner.subgraph.outputs
        is_other = value in inner.subgraph.inputs and value is not same
        if value.data is not None or is_other or value in outputs:
            value = inner.copied(value)
        outputs.append(value)


def truth(g: GraphBuilder, call: NodeView, test: Tensor) -> Tensor:
    """The condition as a bool of one element."""
    if test.rank or test.dtype is dtypes.string:
        call.fail("the condition must be a number or bool of rank 0")
    if test.dtype is dtypes.bool:
        return test
    return g.op("NOT_EQUAL", test, g.like(test, 0), dtype=dtypes.bool)


@converts("If", "StatelessIf", to="IF")
def condition(
    g: GraphBuilder, call: NodeView, test: Tensor, inputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """IF; a constant condition converts the chosen branch alone."""
    branches = (call.attr("then_branch"), call.attr("else_branch"))
    known = call.constant(0)
    if known is not None and not known.ndim:
        taken = branches[0] if known[()] else branches[1]
        return tuple(call.lowering.nodes(g, program_of(taken), inputs))
    return _chosen(g, call, truth(g, call, test), branches, inputs)


def _chosen(
    g: GraphBuilder,
    call: NodeView,
    test: Tensor,
    branches: Sequence[Any],
    inputs: Sequence[Any],
) -> tuple[Any, ...]:
    """IF with two branches: functions, or the remaining branches of a Case."""
    if not call.node.outputs:
        return ()
    bodies: list[Subgraph] = []
    for branch in branches:
        inner = GraphBuilder(f"{call.name}_{len(bodies)}")
        arguments = _arguments(inner, inputs, [_shape(value) for value in inputs])
        if isinstance(branch, tuple):
            found = _case(inner, call, branch, arguments)
        elif isinstance(branch, _Branch):
            found = call.lowering.nodes(inner, program_of(branch.function), arguments[1:])
        else:
            found = call.lowering.nodes(inner, program_of(branch), arguments)
        _results(inner, [dense(inner, value) for value in found], [None] * len(found))
        bodies.append(inner.subgraph)
    then, other = bodies
    outputs = [
        (one.dtype, one.shape.most_specific_compatible_shape(two.shape))
        for one, two in zip(then.outputs, other.outputs, strict=True)
    ]
    given = [test, *(value for value in inputs if _is_passed(value))]
    return tuple(g.ops("IF", given, outputs, then_subgraph_index=then, else_subgraph_index=other))


def _shape(value: Any) -> Shape:
    return value.shape if isinstance(value, Tensor) else Shape(None)


@converts("Case", "StatelessCase", to="IF")
def case(
    g: GraphBuilder, call: NodeView, index: Tensor, inputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Nested IFs; an index out of range chooses the last branch."""
    branches = tuple(call.attr("branches"))
    known = call.constant(0)
    if known is not None:
        place = int(known)
        taken = branches[place if 0 <= place < len(branches) else -1]
        return tuple(call.lowering.nodes(g, program_of(taken), inputs))
    found = _case(g, call, (0, branches), [index, *inputs])
    return tuple(found)


def _case(
    g: GraphBuilder, call: NodeView, left: tuple[Any, ...], inputs: Sequence[Any]
) -> list[Any]:
    """The branches from one on; the first input is the index."""
    place, branches = left
    index, rest = inputs[0], inputs[1:]
    if place == len(branches) - 1:
        return call.lowering.nodes(g, program_of(branches[place]), rest)
    is_here = g.op("EQUAL", index, g.ints(place), dtype=dtypes.bool, shape=[])
    here = _Branch(branches[place])
    return list(_chosen(g, call, is_here, (here, (place + 1, branches)), inputs))


class _Branch:
    """A branch of a Case, which is called without the index."""

    def __init__(self, function: FunctionRef) -> None:
        self.function = function


@converts("While", "StatelessWhile", to="WHILE")
def loop(g: GraphBuilder, call: NodeView, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """WHILE; constant loop variables are copied into the subgraphs. An LSTM may be one operator."""
    test, body = program_of(call.attr("cond")), program_of(call.attr("body"))
    layer = as_layer(g, call, state, (test, body)) if call.lowering.fused_lstm else None
    if layer is not None:
        return layer
    values = [_with_element(value, body) for value in state]
    if any(_is_open(value, body, i) for i, value in enumerate(values)):
        if not _runs_once(call, test):
            call.fail(
                "the shape of a list's elements must be known, or that the loop runs at least once"
            )
        # The elements' shape is that of the first one that is written.
        values = call.lowering.nodes(g, body, values)
    fixed = {i for i in range(len(values)) if body.outputs[i] is body.inputs[i]}
    kept = [i for i, value in enumerate(values) if not (i in fixed and not _is_passed(value))]
    given = [_moving(g, values[i]) if i not in fixed else values[i] for i in kept]
    shapes = [_loop_shape(call, i, value) for i, value in zip(kept, given, strict=True)]
    subgraphs = []
    for name, program in (("cond", test), ("body", body)):
        inner = GraphBuilder(f"{call.name}_{name}")
        arguments = list(values)
        own: list[Tensor | None] = []
        for i, value, shape in zip(kept, given, shapes, strict=True):
            arguments[i] = inner.input(value.name, value.dtype, shape)
            own.append(arguments[i])
        found = call.lowering.nodes(inner, program, arguments)
        if name == "cond":
            _results(inner, [truth(inner, call, found[0])], [None])
        else:
            _results(inner, [dense(inner, found[i]) for i in kept], own)
        subgraphs.append(inner.subgraph)
    cond, done = subgraphs
    outputs = [(value.dtype, shape) for value, shape in zip(given, shapes, strict=True)]
    made = g.ops("WHILE", given, outputs, cond_subgraph_index=cond, body_subgraph_index=done)
    results: list[Any] = list(values)
    for i, value in zip(kept, made, strict=True):
        results[i] = value
    return tuple(results)


def _moving(g: GraphBuilder, value: Any) -> Tensor:
    """A loop variable as a tensor that no other variable shares."""
    return dense(g, value)


def _loop_shape(call: NodeView, i: int, value: Tensor) -> Shape:
    output = call.node.outputs[i]
    if output.dtype in {dtypes.variant, dtypes.resource}:
        return value.shape
    return output.shape


def _with_element(value: Any, body: graph.Graph) -> Any:
    """A list of unknown element shape, with the shape of the elements that the loop writes."""
    if not isinstance(value, Reserved) or value.element.is_fully_defined():
        return value
    writes = [n for n in ordered(body) if n.op.name in {"TensorListSetItem", "TensorListPushBack"}]
    shapes = {
        tuple(n.inputs[-1].shape) if n.inputs[-1].shape.is_fully_defined() else None for n in writes
    }
    if len(shapes) != 1 or None in shapes:
        return value
    return Reserved(value.dtype, value.count, Shape(shapes.pop()))


def _is_open(value: Any, body: graph.Graph, i: int) -> bool:
    """Whether the loop writes this list and the shape of its elements is unknown."""
    is_written = body.outputs[i] is not body.inputs[i]
    return is_written and isinstance(value, Reserved) and not value.element.is_fully_defined()


def _runs_once(call: NodeView, test: graph.Graph) -> bool:
    """Whether the loop surely has an iteration: a counter from 0 is less than positive bounds."""
    queue = [test.outputs[0]]
    while queue:
        value = queue.pop()
        node = value.node
        if node.op.name == "LogicalAnd":
            queue.extend(node.inputs)
            continue
        if node.op.name not in {"Less", "Greater"}:
            return False
        counter, limit = node.inputs if node.op.name == "Less" else node.inputs[::-1]
        start = _outer(call, test, counter)
        first = None if start is None else constant_of(start)
        if first is None or first.ndim or first != 0:
            return False
        bound = constant_of(limit)
        if bound is None:
            outer = _outer(call, test, limit)
            if outer is None:
                return False
            bound = constant_of(outer)
            if bound is None and _is_size(outer):
                continue
        if bound is None or bound.ndim or bound < 1:
            return False
    return True


def _outer(call: NodeView, test: graph.Graph, value: graph.Value) -> graph.Value | None:
    """The value that the loop passes for an argument of the condition, else None."""
    if value not in test.inputs:
        return None
    return call.node.inputs[test.inputs.index(value)]


def _is_size(value: graph.Value) -> bool:
    """Whether a value is the size of an axis; a sequence has at least one step."""
    for _ in range(8):
        node = value.node
        if node.op.name == "Shape":
            return True
        if node.op.name not in {"StridedSlice", "Cast", "Minimum", "Maximum", "Identity", "Max"}:
            return False
        value = node.inputs[0]
    return False

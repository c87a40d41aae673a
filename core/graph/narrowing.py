"""A graph for arguments of other shapes: all shapes are inferred again, also inside functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, GraphInferCall
from pinnace.graph.walk import ordered
from pinnace.ops.execute import infer_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.graph.graph import Node, Value

# How often the shapes of loop variables are widened, before the earlier shapes are kept.
_WIDENINGS = 3


def narrowed(graph: Graph, shapes: Sequence[Shape]) -> Graph:
    """The same program for arguments of these shapes.

    Args:
        graph: stays as it is.
        shapes: shapes of its inputs, each as wide as the input's or narrower.

    Raises:
        InvalidArgumentError: a node cannot take its new inputs.
    """
    given = [_merged(value.shape, shape) for value, shape in zip(graph.inputs, shapes, strict=True)]
    return _inferred_again(graph, given, set())


def reshaped(graph: Graph, shapes: Sequence[Shape]) -> Graph:
    """The program for arguments of other shapes than those it was made for.

    What was known of values that depend on arguments of other shapes is forgotten.

    Args:
        graph: stays as it is.
        shapes: shapes of its inputs.

    Raises:
        InvalidArgumentError: a node cannot take its new inputs.
    """
    changed = {
        value for value, shape in zip(graph.inputs, shapes, strict=True) if value.shape != shape
    }
    return _inferred_again(graph, shapes, changed)


def _inferred_again(graph: Graph, shapes: Sequence[Shape], changed: set[Value]) -> Graph:
    """The graph with shapes that are inferred again.

    Args:
        graph: stays as it is.
        shapes: shapes of its inputs.
        changed: the inputs of which nothing is known but that; what depends on them is added.
    """
    copy = Copy(GraphBuilder(graph.name))
    for value, name, shape in zip(graph.inputs, graph.input_names, shapes, strict=True):
        spec = TensorSpec.of(shape, value.dtype)
        made = copy.target.add_input(value.node.op, spec, value.node.name, value.handle)
        copy.target.input_names[-1] = name
        copy.values[value] = made
        copy.nodes[value.node] = (made.node,)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            _copy_node(node, copy, changed)
    copy.outputs(graph)
    return copy.target.finish()


def _copy_node(node: Node, copy: Copy, changed: set[Value]) -> None:
    given = [copy.values[value] for value in node.inputs]
    new = [value in changed for value in node.inputs]
    shapes: Sequence[Shape]
    if node.op.runs == "loop":
        attrs, shapes = _loop(node, given, new)
    elif node.op.runs is not None:
        first = 1 if node.op.runs == "branch" else 0
        attrs, shapes = _call(node, given[first:], new[first:])
    else:
        attrs, shapes = node.attrs, _inferred(node, given)
    if any(new):
        changed.update(node.outputs)
        specs = [
            TensorSpec.of(shape, value.dtype)
            for value, shape in zip(node.outputs, shapes, strict=True)
        ]
    else:
        specs = [
            TensorSpec.of(_merged(value.shape, shape), value.dtype)
            for value, shape in zip(node.outputs, shapes, strict=True)
        ]
    made = copy.target.add_raw(
        node.op, given, attrs, node.name, specs, copy.controls(node.controls)
    )
    made.source = node.source
    for here, there in zip(node.outputs, made.outputs, strict=True):
        there.handle = here.handle
        copy.values[here] = there
    copy.nodes[node] = (made,)


def _inferred(node: Node, given: Sequence[Value]) -> Sequence[Shape]:
    if node.op.kernel is None and not node.inputs:
        return [value.shape for value in node.outputs]
    call = GraphInferCall(node.op, node.op.pack_inputs(given, node.attrs), node.attrs)
    try:
        return infer_shapes(node.op, call, len(node.outputs))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"node {node.name!r}: {error.message}") from error


def _body(graph: Graph, shapes: Sequence[Shape], new: Sequence[bool]) -> Graph:
    """A function for these shapes.

    Args:
        graph: graph of the function.
        shapes: shapes of its inputs.
        new: whether what was known of an input does not hold.
    """
    known = zip(graph.inputs, shapes, new, strict=True)
    given = [shape if is_new else _merged(value.shape, shape) for value, shape, is_new in known]
    changed = {value for value, is_new in zip(graph.inputs, new, strict=True) if is_new}
    return _inferred_again(graph, given, changed)


def _call(
    node: Node, given: Sequence[Value], new: Sequence[bool]
) -> tuple[dict[str, Any], list[Shape]]:
    """A node that applies one of its functions to its last inputs."""
    inner = [value.shape for value in given]
    made: list[Graph] = []

    def function(attr: Any) -> Any:
        if isinstance(attr, tuple):
            return tuple(function(one) for one in attr)
        if not isinstance(attr, FunctionRef):
            return attr
        made.append(_body(attr.graph, inner, new))
        return FunctionRef(attr.name, made[-1])

    attrs = {name: function(attr) for name, attr in node.attrs.items()}
    shapes = [
        _widest([graph.outputs[index].shape for graph in made])
        for index in range(len(node.outputs))
    ]
    if "output_shapes" in attrs:
        attrs["output_shapes"] = tuple(shapes)
    return attrs, shapes


def _loop(
    node: Node, given: Sequence[Value], new: Sequence[bool]
) -> tuple[dict[str, Any], list[Shape]]:
    """The attributes and shapes of a loop, with shapes that hold in every iteration."""
    shapes = [value.shape for value in given]
    # In the next iteration, one loop variable may depend on any other.
    new = [any(new)] * len(new)
    body = _body(node.attrs["body"].graph, shapes, new)
    for iteration in range(_WIDENINGS + 1):
        wider = [
            _widest([shape, value.shape]) for shape, value in zip(shapes, body.outputs, strict=True)
        ]
        if wider == shapes:
            break
        declared = [
            Shape(None) if is_new else value.shape
            for value, is_new in zip(node.attrs["body"].graph.inputs, new, strict=True)
        ]
        shapes = wider if iteration < _WIDENINGS else declared
        body = _body(node.attrs["body"].graph, shapes, new)
    test = _body(node.attrs["cond"].graph, shapes, new)
    attrs = dict(node.attrs)
    attrs["body"] = FunctionRef(attrs["body"].name, body)
    attrs["cond"] = FunctionRef(attrs["cond"].name, test)
    if attrs.get("output_shapes"):
        attrs["output_shapes"] = tuple(shapes)
    return attrs, shapes


def _widest(shapes: Sequence[Shape]) -> Shape:
    found = shapes[0]
    for shape in shapes[1:]:
        found = found.most_specific_compatible_shape(shape)
    return found


def _merged(known: Shape, shape: Shape) -> Shape:
    """The merge of both shapes, or `known` if they contradict each other."""
    try:
        return known.merge_with(shape)
    except ValueError:
        return known

"""Copies of tensor lists, which TensorFlow.js changes in place.

In TensorFlow, each change makes a new list. A list that is changed and also used unchanged is
copied first, and ops that only read it run before the change.
"""

from pinnace.framework import dtypes
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.walk import ordered, users
from pinnace.ops.registry import lookup

# Ops that change the list they take; branches and loops may change one.
_CHANGES = frozenset({"TensorListSetItem", "TensorListPushBack", "TensorListPopBack"})
# Op -> the index of the input that it stores in the list.
ITEMS = {"TensorListSetItem": 2, "TensorListPushBack": 1}
_FRESH = frozenset({"TensorListReserve", "EmptyTensorList"})


def with_own_lists(graph: Graph) -> Graph:
    """The graph with copies of lists where a change would be visible to other users."""
    if not any(value.dtype is dtypes.variant for node in graph.nodes for value in node.outputs):
        return graph
    nodes = ordered(graph)
    takers = users(nodes)
    copied = {
        (value, node)
        for value, several in takers.items()
        if value.dtype is dtypes.variant
        for node in _in_need_of_copies(value, several, graph)
    }
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in nodes:
        if node in arguments:
            continue
        made = _copied(node, copy, copied)
        waits = [
            there
            for value in node.inputs
            if _may_change(node, value)
            for reader in takers.get(value, ())
            if reader is not node and not _may_change(reader, value)
            for there in copy.nodes.get(reader, ())
        ]
        made.controls = tuple(dict.fromkeys((*made.controls, *waits)))
        _tell_size(made)
    copy.outputs(graph)
    return copy.target.finish()


def _may_change(node: Node, value: Value) -> bool:
    if value.dtype is not dtypes.variant:
        return False
    return node.op.runs in ("branch", "loop") or (
        node.op.name in _CHANGES and node.inputs[0] is value
    )


def _in_need_of_copies(value: Value, several: list[Node], graph: Graph) -> list[Node]:
    """The nodes that change a list which others use unchanged."""
    changers = list(dict.fromkeys(node for node in several if _may_change(node, value)))
    twice = any(node.inputs.count(value) > 1 for node in changers)
    if len(changers) > 1 or twice or (changers and value in graph.outputs):
        return changers
    return []


def _copied(node: Node, copy: Copy, copied: set[tuple[Value, Node]]) -> Node:
    """The node with its lists copied."""
    made = copy.node(node)
    if not any((value, node) in copied for value in node.inputs):
        return made
    inputs = list(made.inputs)
    waits = list(made.controls)
    for index, value in enumerate(node.inputs):
        if (value, node) not in copied:
            continue
        fresh = _twin(copy, inputs[index], node.name)
        inputs[index] = fresh
        waits.append(fresh.node)
    # The copies are made before any change, from a list that is never changed itself.
    made.inputs = tuple(inputs)
    copy.target.nodes.remove(made)
    copy.target.nodes.append(made)
    return made


def _twin(copy: Copy, value: Value, name: str) -> Value:
    """A list with the same tensors."""
    target, maker = copy.target, value.node
    if maker.op.name in _FRESH:
        specs = [one.spec for one in maker.outputs]
        made = target.add_raw(maker.op, maker.inputs, maker.attrs, f"{name}/list", specs)
        return made.outputs[0]
    length = target.add(lookup("TensorListLength"), [value], {}, f"{name}/length").outputs[0]
    resize = lookup("TensorListResize")
    return target.add(resize, [value, length], {}, f"{name}/list").outputs[0]


def _tell_size(node: Node) -> None:
    """Set the size that a list must have, so that unwritten elements are an error."""
    if node.op.name != "TensorListStack" or node.attrs.get("num_elements", -1) != -1:
        return
    value = node.inputs[0]
    while value.node.op.runs == "loop":
        value = value.node.inputs[value.index]
    if value.node.op.name == "TensorListReserve":
        number = constant_of(value.node.inputs[1])
        if number is not None:
            node.attrs = {**node.attrs, "num_elements": int(number)}

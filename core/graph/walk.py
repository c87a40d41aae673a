"""Traversals of a graph: the needed nodes in topological order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.graph.graph import Graph, Node, Value


def needed(outputs: Iterable[Value], effects: Iterable[Node]) -> list[Node]:
    """The nodes that outputs and effects depend on, in topological order.

    Raises:
        InvalidArgumentError: nodes depend on each other in a circle.
    """
    order: list[Node] = []
    done: set[Node] = set()
    active: set[Node] = set()
    stack: list[tuple[Node, bool]] = []
    roots = [*(value.node for value in outputs), *effects]
    stack.extend((root, False) for root in reversed(roots))
    while stack:
        node, leaving = stack.pop()
        if leaving:
            active.discard(node)
            done.add(node)
            order.append(node)
            continue
        if node in done:
            continue
        if node in active:
            raise InvalidArgumentError(f"the graph has a circle through node {node.name!r}")
        active.add(node)
        stack.append((node, True))
        for value in reversed(node.inputs):
            before = value.node
            if before not in done:
                _refuse_circle(before, active)
                stack.append((before, False))
        for before in reversed(node.controls):
            if before not in done:
                _refuse_circle(before, active)
                stack.append((before, False))
    return order


def _refuse_circle(node: Node, active: set[Node]) -> None:
    if node in active:
        raise InvalidArgumentError(f"the graph has a circle through node {node.name!r}")


def ordered(graph: Graph) -> list[Node]:
    """The nodes that a graph's outputs and effects need, in written order if they can run so.

    A walk from the outputs would delay nodes that only the last outputs need, such as the gradients
    of weights, and keep their inputs alive: a program that frees its intermediate results early
    would become a graph that does not.
    """
    wanted = {*(value.node for value in graph.outputs), *graph.effects}
    for node in reversed(graph.nodes):
        if node in wanted:
            wanted.update([value.node for value in node.inputs])
            wanted.update(node.controls)
    written = [node for node in graph.nodes if node in wanted]
    # Where nodes are written behind their inputs, none was passed before it was wanted.
    is_whole = len(written) == len(wanted) and _can_run(written)
    return written if is_whole else _sorted(graph)


def _sorted(graph: Graph) -> list[Node]:
    """As `ordered`, of a graph that may list nodes before their inputs, or lack some."""
    nodes = needed(graph.outputs, graph.effects)
    place = {node: index for index, node in enumerate(graph.nodes)}
    if not all(node in place for node in nodes):
        return nodes
    written = sorted(nodes, key=place.__getitem__)
    return written if _can_run(written) else nodes


def _can_run(nodes: Sequence[Node]) -> bool:
    """Whether nodes are in topological order: a loaded graph may list them otherwise."""
    seen: set[Node] = set()
    for node in nodes:
        for value in node.inputs:
            if value.node not in seen:
                return False
        if node.controls and not seen.issuperset(node.controls):
            return False
        seen.add(node)
    return True


def users(nodes: Sequence[Node]) -> dict[Value, list[Node]]:
    """For each value, its consumers among `nodes`."""
    found: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in node.inputs:
            found.setdefault(value, []).append(node)
    return found


def root_of(handle: Value) -> Value:
    """The origin of a handle, behind nodes that only pass it on."""
    while handle.node.op.alias:
        handle = handle.node.inputs[handle.index]
    return handle

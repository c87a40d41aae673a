"""The layouts of a graph's outputs: from node to node, with those of its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute.dtensor.layout import UNSHARDED, Layout
from pinnace.distribute.dtensor.propagation.calls import Operand, whole
from pinnace.distribute.dtensor.propagation.nodes import divisible, one_mesh, placed
from pinnace.distribute.dtensor.relayouts import target
from pinnace.framework import dtypes
from pinnace.graph.caches import PerGraph
from pinnace.graph.graph import FunctionRef
from pinnace.graph.known import known_value
from pinnace.graph.walk import ordered
from pinnace.ops.array.relayout import RELAYOUT, RELAYOUT_LIKE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from pinnace.distribute.dtensor.mesh import Mesh
    from pinnace.distribute.dtensor.propagation.calls import Sizes
    from pinnace.graph.graph import Graph, Node, Value

    Found: TypeAlias = tuple[Layout | None, ...]

_MOST = 64
_known: PerGraph[dict[Any, dict[Value, Layout]]] = PerGraph()


def output_layouts(graph: Graph, inputs: Found, mesh: Mesh | None) -> Found:
    """The layouts of the outputs, None where nothing says one.

    Args:
        graph: the graph.
        inputs: the layouts of its inputs, None for a tensor without one.
        mesh: the mesh of what has no layout otherwise, None for none.
    """
    found = value_layouts(graph, inputs, mesh)
    return tuple(found.get(value) for value in graph.outputs)


def value_layouts(graph: Graph, inputs: Found, mesh: Mesh | None) -> dict[Value, Layout]:
    """The layouts of all values of a graph that have one; arguments as of `output_layouts`."""
    known = _known.get(graph)
    if known is None:
        known = _known.keep(graph, {})
    key = (inputs, mesh)
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST:
            known.clear()
        found = known[key] = _walked(graph, inputs, mesh)
    return found


def _walked(graph: Graph, inputs: Found, mesh: Mesh | None) -> dict[Value, Layout]:
    env: dict[Value, Layout] = {
        value: layout
        for value, layout in zip(graph.inputs, inputs, strict=True)
        if layout is not None
    }
    for node in ordered(graph):
        if node.outputs and node.outputs[0] not in env:
            layouts = _node_layouts(node, env, mesh)
            env.update(
                (value, layout)
                for value, layout in zip(node.outputs, layouts, strict=True)
                if layout is not None
            )
    return env


def _node_layouts(node: Node, env: dict[Value, Layout], mesh: Mesh | None) -> Found:
    given = tuple(env.get(value) for value in node.inputs)
    nothing: Found = (None,) * len(node.outputs)
    if node.op is RELAYOUT:
        first = node.outputs[0].spec.shape
        return (target(node.attrs["layout"], given[0], first.rank),)
    # What is laid out like another tensor goes to its mesh.
    own = one_mesh(node.op.name, given[1:] if node.op is RELAYOUT_LIKE else given)
    if own is None:
        own = mesh
    if own is None:
        return nothing
    if node.op.runs is not None:
        return _of_functions(node, given, own)
    sizes = [_sizes(value) for value in node.outputs]
    given_sizes = [_sizes(value) for value in node.inputs]
    if None in sizes or None in given_sizes:
        return nothing  # a number of axes that is not known
    if any(value.dtype in {dtypes.resource, dtypes.variant} for value in node.outputs):
        return nothing
    operands = [
        Operand(
            layout.specs if layout is not None else whole(len(known or ())),
            known or (),
            known_value(value) if value.dtype.is_integer else None,
        )
        for value, layout, known in zip(node.inputs, given, given_sizes, strict=True)
    ]
    return tuple(placed(node.op, operands, node.attrs, sizes, own))  # type: ignore[arg-type]


def _sizes(value: Value) -> Sizes | None:
    shape = value.spec.shape
    if value.dtype is dtypes.resource and value.handle is not None:
        shape = value.handle.shape
    return None if shape.rank is None else tuple(shape)


def _of_functions(node: Node, given: Found, mesh: Mesh) -> Found:
    graphs = [
        one.graph
        for found in node.attrs.values()
        for one in (found if isinstance(found, tuple) else (found,))
        if isinstance(one, FunctionRef)
    ]
    if node.op.runs == "loop":
        body = node.attrs["body"].graph
        now = given
        for _ in range(len(given) + 1):
            after = output_layouts(body, now, mesh)
            # What a round divides otherwise than the one before is whole.
            met = tuple(a if a == b else _less(a, b) for a, b in zip(now, after, strict=True))
            if met == now:
                break
            now = met
        return now
    if node.op.runs == "branch":
        ways = [output_layouts(graph, given[1:], mesh) for graph in graphs]
        return tuple(
            ends[0] if all(end == ends[0] for end in ends) else _less(*ends[:2])
            for ends in zip(*ways, strict=True)
        )
    return output_layouts(graphs[0], given, mesh) if graphs else (None,) * len(node.outputs)


def _less(one: Layout | None, other: Layout | None) -> Layout | None:
    if one is None or other is None or one.mesh != other.mesh or one.rank != other.rank:
        return None if one is None else Layout.replicated(one.mesh, one.rank)
    kept = [a if a == b else UNSHARDED for a, b in zip(one.specs, other.specs, strict=True)]
    return Layout(kept, one.mesh)


def resolved(
    layouts: Sequence[Layout | None], sizes: Sequence[Sequence[int]], mesh: Mesh
) -> list[Layout]:
    """The layouts for tensors of these sizes: replicated where there is none."""
    found = []
    for layout, shape in zip(layouts, sizes, strict=True):
        if layout is None or layout.rank != len(shape):
            found.append(Layout.replicated(mesh, len(shape)))
        else:
            specs = divisible(layout.specs, tuple(shape), layout.mesh)
            found.append(layout if specs == layout.specs else Layout(specs, layout.mesh))
    return found

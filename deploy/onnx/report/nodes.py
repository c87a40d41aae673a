"""The origin of each node of a file: the program's node, and the user's source line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx

from pinnace.graph.graph import FunctionRef, Graph


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node of the file.

    Attributes:
        name: the node's name.
        op: the operator.
        made_for: the program's node; empty for a node with several origins.
        called_at: the user's line that called that node; None if the model does not have it.
    """

    name: str
    op: str
    made_for: str
    called_at: str | None

    def as_dict(self) -> dict[str, Any]:
        """The node as a dict for JSON."""
        return {
            "node": self.name,
            "op": self.op,
            "made_for": self.made_for,
            "called_at": self.called_at,
        }


def nodes_of(
    model: onnx.ModelProto, origins: Mapping[str, str], lines: Mapping[str, str]
) -> tuple[NodeReport, ...]:
    """The nodes of a file, including those of bodies.

    Args:
        model: the model, possibly without weights.
        origins: name of a node -> name of the program's node.
        lines: name of a node of the program -> source line of its call.
    """
    found = []
    for node in _nodes(model.graph):
        origin = origins.get(node.name, "")
        found.append(NodeReport(node.name, node.op_type, origin, lines.get(origin)))
    return tuple(found)


def lines_of(graph: Graph) -> dict[str, str]:
    """The source lines of the calls of a program's nodes, and of its functions'."""
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.source:
            found[node.name] = node.source
        for attr in node.attrs.values():
            for one in attr if isinstance(attr, tuple) else (attr,):
                if isinstance(one, FunctionRef):
                    found.update(lines_of(one.graph))
    return found


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _nodes(attribute.g)

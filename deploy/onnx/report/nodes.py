"""The origin of each node of a file: the program's node, and the user's line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx

from pinnace.graph.graph import FunctionRef, Graph


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node of the file.

    Attributes:
        name: of it.
        op: the operator.
        made_for: the program's node, empty for one that several stand behind.
        called_at: the user's line that called that node, None if the model does not tell.
    """

    name: str
    op: str
    made_for: str
    called_at: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "node": self.name,
            "op": self.op,
            "made_for": self.made_for,
            "called_at": self.called_at,
        }


def nodes_of(
    model: onnx.ModelProto, origins: Mapping[str, str], lines: Mapping[str, str]
) -> tuple[NodeReport, ...]:
    """The nodes of a file, those of bodies too.

    Args:
        model: it may lack its weights.
        origins: name of a node -> name of the program's node.
        lines: name of a node of the program -> where it was called.
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

"""GraphDef files, and subgraphs of GraphDefs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from pinnace.proto.graph_pb2 import GraphDef
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a graph to a file.

    Args:
        graph_or_graph_def: a graph, or a GraphDef message.
        logdir: the folder, made if it is not there.
        name: name of the file in it.
        as_text: whether as text, `.pbtxt`, and not as bytes, `.pb`.

    Returns:
        The path of the file.
    """
    graph = graph_or_graph_def
    message = graph.as_graph_def() if hasattr(graph, "as_graph_def") else graph
    path = Path(logdir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = text_format.MessageToString(message).encode() if as_text else b""
    write_file(path, text if as_text else message.SerializeToString())
    return str(path)


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes of a GraphDef that some of them need.

    Args:
        graph_def: a GraphDef message.
        dest_nodes: names of nodes.

    Raises:
        TypeError: no GraphDef, or one text in the place of a list.
        AssertionError: no node has that name (TensorFlow's class).
    """
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", None) != "GraphDef":
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be an iterable of strings.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept: set[str] = set()
    waiting = list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in kept:
            kept.add(name)
            waiting += [text.lstrip("^").partition(":")[0] for text in nodes[name].input]
    found = GraphDef()
    found.CopyFrom(GraphDef.FromString(graph_def.SerializeToString()))
    del found.node[:]
    for node in graph_def.node:
        if node.name in kept:
            found.node.add().ParseFromString(node.SerializeToString())
    return found

"""Lookup tables of a graph model, which a second graph creates and fills.

A table is a node of the same name in both graphs, or an input of one graph and an output of the
other with the same number.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pinnace.deploy.tfjs.files.topology import renamed
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.node_def_pb2 import NodeDef
from pinnace.proto.saved_model_pb2 import SignatureDef

RESOURCE = dtypes.resource.enum
_INITIALISER = "pinnace_initialiser"
_FILLS = ("LookupTableImport", "InitializeTable")


def tables_of(content: Mapping[str, Any], first: GraphDef, where: str) -> dict[str, str]:
    """Node of the first graph that creates a table -> the model's name for it.

    Args:
        content: the JSON of `model.json`.
        first: the graph that fills the tables.
        where: the file, for errors.

    Raises:
        InvalidArgumentError: a table of the model is not created.
    """
    own, starts = content.get("signature"), content.get("initializerSignature")
    if not isinstance(own, dict) or not isinstance(starts, dict):
        return {}
    makers = {
        str(one["resourceId"]): str(one.get("name", "")).partition(":")[0]
        for one in _resources(starts.get("outputs"))
    }
    nodes = {node.name: node for node in first.node}
    found = {}
    for one in _resources(own.get("inputs")):
        maker = makers.get(str(one["resourceId"]))
        if maker is None:
            raise InvalidArgumentError(f"{where}: the table {one.get('name')!r:.80} is not created")
        found[_behind(maker, nodes)] = str(one.get("name", "")).partition(":")[0]
    return found


def _resources(side: Any) -> Iterator[dict[str, Any]]:
    for one in side.values() if isinstance(side, dict) else ():
        if isinstance(one, dict) and "resourceId" in one:
            yield one


def _behind(name: str, nodes: Mapping[str, NodeDef]) -> str:
    """The node behind nodes that only pass a table on."""
    for _ in range(len(nodes)):
        node = nodes.get(name)
        if node is None or not node.op.startswith("Identity") or not node.input:
            break
        name = node.input[0].partition(":")[0]
    return name


def with_tables(
    graph: GraphDef, signature: SignatureDef, first: GraphDef, tables: Mapping[str, str]
) -> str:
    """Merge the first graph into the model's; return the name of the node that runs it.

    Args:
        graph: the model's graph; tables become nodes of it.
        signature: the model's signature; tables are removed from its inputs.
        first: the graph that fills the tables.
        tables: see `tables_of`.
    """
    taken = {node.name: node for node in graph.node}
    for placeholder in tables.values():
        node = taken.pop(placeholder, None)
        if node is not None:
            graph.node.remove(node)
    names = dict(tables)
    for node in first.node:
        if node.name not in names:
            shared = node.op.startswith("HashTable") and node.name in taken
            names[node.name] = node.name if shared else f"{_INITIALISER}/{node.name}"
    fills = []
    for node in first.node:
        if names[node.name] in taken:
            continue
        made = graph.node.add()
        made.CopyFrom(node)
        made.name = names[node.name]
        made.input[:] = [renamed(text, names) for text in node.input]
        if node.op.startswith("HashTable") and not made.attr["shared_name"].s:
            made.attr["shared_name"].s = made.name.encode()
        if node.op.startswith(_FILLS):
            fills.append(made.name)
    for key in [key for key, one in signature.inputs.items() if one.dtype == RESOURCE]:
        del signature.inputs[key]
    graph.node.add(name=_INITIALISER, op="NoOp", input=[f"^{name}" for name in fills])
    return _INITIALISER

"""Which values of the checkpoint a main graph's restore nodes assign.

Restoring is an assignment of an output of RestoreV2 to a handle, either in the main graph itself or
in a function that it calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.graph.codec.references import TRANSLATED
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.ops import registry
from pinnace.ops.state import tables
from pinnace.ops.trees import boosted, quantiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.proto.node_def_pb2 import NodeDef

_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
# Ops that take a handle, and values of the checkpoint for its resource.
_IMPORTS = frozenset(
    op.name for op in (tables.LOOKUP_TABLE_IMPORT, boosted.DESERIALIZE, quantiles.DESERIALIZE)
)
_FARTHEST = 64
_RESTORE_INPUTS = 3


@dataclass(frozen=True, slots=True)
class Source:
    """The stored value of a variable: its key, and a slice of it if not all."""

    key: str
    part: str = ""


class StoredResource(NamedTuple):
    """The op that restores a resource, and the keys of its values in the checkpoint."""

    op: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Body:
    """The nodes of a graph or function; `arguments` leads to nodes of the graph that calls it."""

    nodes: Mapping[str, NodeDef]
    where: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def through(self, text: str) -> tuple[str, int]:
        """The node and output of a reference, past nodes that only forward it."""
        for _ in range(_FARTHEST):
            name, _, rest = text.lstrip("^").partition(":")
            node = self.nodes.get(name)
            if node is None or not _passes(node) or not node.input:
                index = rest.rpartition(":")[2]
                return name, int(index) if index.isascii() and index.isdigit() else 0
            text = node.input[0]
        return "", 0

    def restored(self, text: str) -> Source | None:
        """The key of a value in the checkpoint, if it comes from there."""
        name, position = self.through(text)
        node = self.nodes.get(name)
        return (
            _source(self, node, position) if node is not None and node.op == "RestoreV2" else None
        )

    def strings(self, text: str) -> list[str]:
        """The strings in a Const node."""
        node = self.nodes.get(self.through(text)[0])
        if node is None or node.op != "Const":
            raise UnimplementedError(
                f"{self.where}: restored keys must be constant, {text!r} is not"
            )
        values = decode_tensor(node.attr["value"].tensor, f"{self.where}, node {node.name!r}")
        if values.dtype != object:
            raise InvalidArgumentError(f"{self.where}: {text!r} does not hold strings")
        return [item.decode(errors="replace") for item in values.reshape(-1).tolist()]


def calls_function(node: NodeDef) -> bool:
    """Whether a node runs one function."""
    op = registry.at_hand(node.op)
    return op is not None and op.runs == "call"


def _passes(node: NodeDef) -> bool:
    """Whether a node forwards its first input."""
    op = registry.at_hand(node.op)
    return op is not None and (op.alias or op.view == "reshaped") and not op.inputs[0].is_list


def restored_sources(
    nodes: Mapping[str, NodeDef], library: FunctionLibrary, root: str, where: str
) -> dict[str, Source]:
    """The sources of the values of nodes that hold variables.

    Args:
        nodes: the main graph.
        library: the functions it may call.
        root: the node that restores everything.
        where: the file, for errors.
    """
    return {
        target: source
        for body, node in _restoring(nodes, library, root, where)
        for target, source in _assigned(body, node)
    }


def restored_resources(
    nodes: Mapping[str, NodeDef], library: FunctionLibrary, root: str, where: str
) -> dict[str, StoredResource]:
    """The keys of the stored values of nodes that create resources.

    Args:
        nodes: the main graph.
        library: the functions it may call.
        root: the node that restores everything.
        where: the file, for errors.
    """
    found: dict[str, StoredResource] = {}
    for body, node in _restoring(nodes, library, root, where):
        given = [text for text in node.input if text[:1] != "^"]
        if TRANSLATED.get(node.op, node.op) in _IMPORTS and given:
            target, _ = body.through(given[0])
            stored = [body.restored(text) for text in given[1:]]
            keys = tuple(one.key for one in stored if one is not None)
            if len(keys) == len(stored):
                found[body.arguments.get(target, target)] = StoredResource(node.op, keys)
    return found


def _restoring(
    nodes: Mapping[str, NodeDef], library: FunctionLibrary, root: str, where: str
) -> Iterable[tuple[_Body, NodeDef]]:
    """The nodes that restore, in the main graph and in the functions it calls."""
    main = _Body(nodes, f"{where}: main graph")
    for node in needed_messages(nodes, root):
        yield main, node
        if calls_function(node) and node.attr["f"].func.name in library:
            function = library.message(node.attr["f"].func.name)
            given = [text for text in node.input if text[:1] != "^"]
            names = [arg.name for arg in function.signature.input_arg]
            arguments = {
                name: main.through(text)[0] for name, text in zip(names, given, strict=False)
            }
            inner = {one.name: one for one in function.node_def}
            body = _Body(inner, f"{where}: function {function.signature.name!r}", arguments)
            for one in function.node_def:
                yield body, one


def _assigned(body: _Body, node: NodeDef) -> Iterable[tuple[str, Source]]:
    """The variable that a node assigns a value of the checkpoint to, and that value."""
    if node.op in _ASSIGNMENTS and len(node.input) > 1:
        target, _ = body.through(node.input[0])
        source = body.restored(node.input[1])
        if source is not None:
            yield body.arguments.get(target, target), source


def _source(body: _Body, node: NodeDef, position: int) -> Source:
    if len(node.input) < _RESTORE_INPUTS:
        raise InvalidArgumentError(
            f"{body.where}, node {node.name!r}: RestoreV2 takes 3 inputs, got {len(node.input)}"
        )
    keys, parts = (body.strings(text) for text in node.input[1:_RESTORE_INPUTS])
    if position >= min(len(keys), len(parts)):
        raise InvalidArgumentError(
            f"{body.where}, node {node.name!r}: RestoreV2 reads {len(keys)} values, "
            f"not {position + 1}"
        )
    return Source(keys[position], parts[position])


def needed_messages(
    nodes: Mapping[str, NodeDef], *roots: str, without: Collection[str] = ()
) -> Iterable[NodeDef]:
    """Some nodes and their dependencies; not the nodes `without`, nor what only those need."""
    waiting = [root for root in dict.fromkeys(roots) if root in nodes and root not in without]
    seen = {*waiting, *without}
    while waiting:
        node = nodes[waiting.pop()]
        yield node
        for text in node.input:
            other = text.lstrip("^").partition(":")[0]
            if other in nodes and other not in seen:
                seen.add(other)
                waiting.append(other)

"""The objects of a checkpoint: in memory, as data, and as TrackableObjectGraph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.checkpoint.keys import VARIABLE_VALUE, checkpoint_key, slot_path
from pinnace.framework.errors import DataLossError
from pinnace.framework.trackable import Trackable, is_variable
from pinnace.proto.checkpoint_pb2 import TrackableObjectGraph

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.framework.trackable import Path

Message = TrackableObjectGraph.TrackableObject
ChildrenOf: TypeAlias = Callable[[Trackable], Mapping[str, Trackable]]


class StoredTensor(NamedTuple):
    """One value of an object: its name, the key it is stored under, and the object's full name."""

    name: str
    key: str
    full_name: str = ""


class SlotVariable(NamedTuple):
    """A slot variable of an optimizer; the numbers are those of nodes."""

    original: int
    name: str
    variable: int


class ObjectNode(NamedTuple):
    """One object: its children as (name, number), its values, its slot variables."""

    children: tuple[tuple[str, int], ...] = ()
    tensors: tuple[StoredTensor, ...] = ()
    slots: tuple[SlotVariable, ...] = ()


# Node 0 is the root.
ObjectGraph: TypeAlias = tuple[ObjectNode, ...]


def encode_object_graph(graph: ObjectGraph) -> TrackableObjectGraph:
    """The objects as a message; each says whether it or an object below it has values."""
    message = TrackableObjectGraph()
    filled = _with_values(graph)
    for number, node in enumerate(graph):
        one = message.nodes.add()
        for name, child in node.children:
            one.children.add(node_id=child, local_name=name)
        for tensor in node.tensors:
            one.attributes.add(
                name=tensor.name, full_name=tensor.full_name, checkpoint_key=tensor.key
            )
        for slot in node.slots:
            one.slot_variables.add(
                original_variable_node_id=slot.original,
                slot_name=slot.name,
                slot_variable_node_id=slot.variable,
            )
        one.has_checkpoint_values.value = number in filled
    return message


def _with_values(graph: ObjectGraph) -> set[int]:
    """The numbers of the nodes from which a value can be reached."""
    parents: dict[int, list[int]] = {}
    for number, node in enumerate(graph):
        for _, child in node.children:
            parents.setdefault(child, []).append(number)
    waiting = [number for number, node in enumerate(graph) if node.tensors]
    found = set(waiting)
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def decode_object_graph(message: TrackableObjectGraph, where: str) -> ObjectGraph:
    """The inverse of `encode_object_graph`.

    Raises:
        DataLossError: the root is missing, or a number is not that of a node.
    """
    count = len(message.nodes)
    if not count:
        raise DataLossError(f"{where}: the object graph is empty")
    return tuple(_decode_node(one, n, count, where) for n, one in enumerate(message.nodes))


def _decode_node(message: Message, number: int, count: int, where: str) -> ObjectNode:
    children = tuple((child.local_name, child.node_id) for child in message.children)
    slots = tuple(
        SlotVariable(s.original_variable_node_id, s.slot_name, s.slot_variable_node_id)
        for s in message.slot_variables
    )
    named = [*(n for _, n in children), *(n for s in slots for n in (s.original, s.variable))]
    for other in named:
        if not 0 <= other < count:
            raise DataLossError(
                f"{where}: object {number} refers to object {other}, there are {count}"
            )
    tensors = tuple(
        StoredTensor(one.name, one.checkpoint_key, one.full_name) for one in message.attributes
    )
    return ObjectNode(children, tensors, slots)


def parse_object_graph(data: bytes, where: str) -> ObjectGraph:
    """The object graph in the bytes that a bundle holds.

    Raises:
        DataLossError: the bytes are no object graph.
    """
    try:
        message = TrackableObjectGraph.FromString(data)
    except DecodeError as error:
        raise DataLossError(f"{where}: the object graph is damaged") from error
    return decode_object_graph(message, where)


@dataclass(frozen=True, slots=True)
class Tree:
    """The objects below a root, in the order of `trackable.walk`.

    Attributes:
        objects: the root first.
        paths: the shortest way to each.
        children: the children of each, name -> number.
        slots: an object's slots for variables, by its number.
    """

    objects: tuple[Trackable, ...]
    paths: tuple[Path, ...]
    children: tuple[dict[str, int], ...]
    slots: Mapping[int, tuple[SlotVariable, ...]] = field(default_factory=dict)


def own_children(parent: Trackable) -> Mapping[str, Trackable]:
    """The children that an object declares, also through TensorFlow's hooks."""
    own = parent._trackable_children()
    return {**own, **{n: c for n, c in parent._children_elsewhere().items() if n not in own}}


def tree_of(root: Trackable, children_of: ChildrenOf = own_children) -> Tree:
    """The objects below `root`, each once and numbered, followed by optimizers' slots.

    Args:
        root: the object to begin at.
        children_of: gives the children of an object.
    """
    objects: list[Trackable] = [root]
    paths: list[Path] = [()]
    children: list[dict[str, int]] = []
    numbers = {id(root): 0}
    queue = deque([0])
    while queue:
        parent = queue.popleft()
        below: dict[str, int] = {}
        children.append(below)
        for name, child in children_of(objects[parent]).items():
            number = numbers.get(id(child))
            if number is None:
                number = numbers[id(child)] = len(objects)
                objects.append(child)
                paths.append((*paths[parent], name))
                queue.append(number)
            below[name] = number
    slots: dict[int, tuple[SlotVariable, ...]] = {}
    for owner in range(len(children)):
        for variable, name, kept in slots_of(objects[owner]):
            original = numbers.get(id(variable))
            if original is None:
                continue
            number = numbers.get(id(kept))
            if number is None:
                number = numbers[id(kept)] = len(objects)
                objects.append(kept)
                paths.append(slot_path(paths[original], paths[owner], name))
                children.append({})
            slots[owner] = (*slots.get(owner, ()), SlotVariable(original, name, number))
    return Tree(tuple(objects), tuple(paths), tuple(children), slots)


def slots_of(owner: Trackable) -> Iterable[tuple[Trackable, str, Trackable]]:
    """The slot variables of an object, which are not children.

    Returns:
        (the variable, the slot's name, the slot) of each.
    """
    ask = getattr(type(owner), "_slot_variables", None)
    found: Iterable[tuple[Trackable, str, Trackable]] = () if ask is None else ask(owner)
    return found


def values_of(target: Trackable) -> dict[str, Callable[[], Array]]:
    """The values of an object: name -> a function that returns the value."""
    if is_variable(target):
        return {VARIABLE_VALUE: target.stored_value}  # type: ignore[attr-defined]  # a variable has one
    serialise = getattr(target, "_serialize_to_tensors", None)
    if serialise is None:
        return {}
    # TensorFlow's hook for tables and the like.
    return {name: _constant(value) for name, value in serialise().items()}


def _constant(value: Any) -> Callable[[], Array]:
    return lambda: np.asarray(value)


def describe(tree: Tree) -> tuple[ObjectGraph, dict[str, Callable[[], Array]]]:
    """A tree as data, and every value in it by its key."""
    nodes = []
    values: dict[str, Callable[[], Array]] = {}
    for number, target in enumerate(tree.objects):
        path = tree.paths[number]
        tensors = []
        own = values_of(target)
        legacy = getattr(target, "_legacy_saveable_name", "")
        if legacy and own:
            # TensorFlow names such an object's values by one prefix of their keys.
            key = checkpoint_key(path, legacy)
            tensors.append(StoredTensor(legacy, key))
            values.update((f"{key}{suffix}", read) for suffix, read in own.items())
            own = {}
        for name, read in own.items():
            key = checkpoint_key(path, name)
            values[key] = read
            tensors.append(StoredTensor(name, key, _full_name(target)))
        children = tuple(tree.children[number].items())
        nodes.append(ObjectNode(children, tuple(tensors), tree.slots.get(number, ())))
    return tuple(nodes), values


def _full_name(target: Trackable) -> str:
    return str(getattr(target, "node_name", "")) if is_variable(target) else ""


def matched(
    graph: ObjectGraph, root: Trackable, children_of: ChildrenOf = own_children
) -> list[tuple[int, Trackable]]:
    """The objects in memory that match stored ones.

    Both sides are walked from the root along the names of children; each object and each node is
    visited once. An optimizer's slots have no parent: they are found by optimizer, variable and
    name.

    Returns:
        (number of the node, object), breadth first; slots of optimizers come last.
    """
    found: list[tuple[int, Trackable]] = [(0, root)]
    taken = {0}
    queue = deque(found)
    while queue:
        number, target = queue.popleft()
        below = children_of(target)
        for name, child in graph[number].children:
            if child not in taken and name in below:
                taken.add(child)
                found.append((child, below[name]))
                queue.append(found[-1])
    return [*found, *kept_by_optimizers(graph, dict(found))]


def kept_by_optimizers(
    graph: ObjectGraph, found: Mapping[int, Trackable]
) -> list[tuple[int, Trackable]]:
    """The slot variables of matched optimizers for matched variables.

    Args:
        graph: the stored objects.
        found: number of a node -> the object that stands for it.
    """
    slots: dict[int, Trackable] = {}
    for number, target in found.items():
        if graph[number].slots:
            # The slots of the class as it is today, under the names in the checkpoint.
            ask = getattr(target, "_slots_as_stored", list)
            pairs = [*slots_of(target), *ask()]
            own = {(id(variable), name): kept for variable, name, kept in pairs}
            for one in graph[number].slots:
                kept = own.get((id(found.get(one.original)), one.name))
                if kept is not None and one.variable not in found:
                    slots.setdefault(one.variable, kept)
    return list(slots.items())

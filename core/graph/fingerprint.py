"""A graph's digest, independent of names and equal in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape
from pinnace.graph.caches import PerGraph
from pinnace.graph.graph import FunctionRef, Graph
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.graph.graph import Node, Value

# Floats of more bytes than this contribute dtype and shape only; other constants all their bytes.
_MOST_BYTES = 1 << 20
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _NoFingerprintError(Exception):
    """An attribute of the graph has no meaning in other processes."""


_fingerprints: PerGraph[str] = PerGraph()


def fingerprint_of(graph: Graph) -> str | None:
    """The digest of a graph's computation and its order; None if it has none.

    Two graphs with one digest have the same nodes, in the same order, with the same attributes and
    inputs; names may differ, and so may the numbers in large constants of floats (weights).

    Args:
        graph: the graph.

    Returns:
        Hexadecimal digits. None where a node, or one of a function that it calls, has an attribute
        of Python's own, such as a function.
    """
    found = _fingerprints.get(graph)
    if found is None:
        try:
            found = _digest(graph, frozenset())
        except _NoFingerprintError:
            found = ""
        _fingerprints.keep(graph, found)
    return found or None


def _digest(graph: Graph, callers: frozenset[Graph]) -> str:
    if graph in callers:
        raise _NoFingerprintError  # it calls itself
    import hashlib  # late: it takes as long as a twentieth of `import pinnace`

    inside = callers | {graph}
    nodes = ordered(graph)
    places = {node: str(place) for place, node in enumerate(nodes)}
    # `ordered` leaves out unused arguments.
    for number, value in enumerate(graph.inputs):
        places[value.node] = f"x{number}"
    told = hashlib.sha256()
    for value in graph.inputs:
        told.update(f"{_spec(value)}\n".encode())
    given = {value.node for value in graph.inputs}
    for node in nodes:
        if node not in given:
            told.update(_node(node, places, inside))
    results = " ".join(_name(value, places) for value in graph.outputs)
    effects = " ".join(places[node] for node in graph.effects)
    told.update(f"return {results} effects {effects}".encode())
    return told.hexdigest()


def _node(node: Node, places: Mapping[Node, str], callers: frozenset[Graph]) -> bytes:
    parts = [node.op.name, *(_name(value, places) for value in node.inputs)]
    parts += [f"^{places[control]}" for control in node.controls]
    parts += [_spec(value) for value in node.outputs]
    parts += [
        f"{name}={_attr(attr, callers)}"
        for name, attr in sorted(node.attrs.items())
        if not name.startswith("_")
    ]
    return ("\t".join(parts) + "\n").encode()


def _name(value: Value, places: Mapping[Node, str]) -> str:
    return f"{places[value.node]}:{value.index}"


def _spec(value: Value) -> str:
    handle = "" if value.handle is None else f" of {_typed(value.handle)}"
    return f"{_typed(value.spec)}{handle}"


def _typed(spec: Any) -> str:
    return f"{spec.dtype.name}{spec.shape.text}"


def _attr(attr: Any, callers: frozenset[Graph]) -> str:
    if isinstance(attr, _PLAIN):
        return repr(attr)
    if isinstance(attr, DType):
        return attr.name
    if isinstance(attr, Shape):
        return attr.text
    if isinstance(attr, FunctionRef):
        return f"@{_digest(attr.graph, callers)}"
    if isinstance(attr, np.ndarray):
        return _array(attr)
    if isinstance(attr, (tuple, list)):
        return f"({','.join(_attr(one, callers) for one in attr)})"
    raise _NoFingerprintError


def _array(array: np.ndarray[Any, Any]) -> str:
    import hashlib

    told = f"{array.dtype.str}{array.shape}"
    if array.dtype.hasobject:
        items = array.reshape(-1).tolist()
        if not all(isinstance(one, _PLAIN) for one in items):
            raise _NoFingerprintError
        return f"{told}{hashlib.sha256(repr(items).encode()).hexdigest()}"
    if array.nbytes > _MOST_BYTES and array.dtype.kind == "f":
        return told
    return f"{told}{hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"

"""Integers in a program at which its behaviour may change with a size."""

from collections.abc import Iterator

from pinnace.graph.graph import FunctionRef, Graph, Node, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.sorting import LOWER_BOUND, UPPER_BOUND

_SEARCHES = (LOWER_BOUND, UPPER_BOUND)
_LARGEST = 300
_FEW = 16  # elements of a constant that may hold sizes


def limits_of(graph: Graph) -> list[int]:
    """The integers among a graph's constants that a size may reach, sorted."""
    found: set[int] = set()
    for node in _nodes(graph):
        for value in node.outputs if node.op.name == "Const" else ():
            array = constant_of(value)
            if array is not None and array.dtype.kind in "iu" and array.size <= _FEW:
                found.update(int(number) for number in array.flat)
    return sorted(number for number in found if 1 < number <= _LARGEST)


def demands_of(graph: Graph) -> list[int]:
    """The sizes that a graph requires (`ensure_shape`), sorted."""
    shapes = [node.attrs["shape"] for node in _nodes(graph) if node.op.name == "EnsureShape"]
    return sorted({int(n) for s in shapes if s.rank is not None for n in s if n is not None})


def searches(graph: Graph) -> bool:
    """Whether a graph searches in sorted sequences."""
    return any(node.op in _SEARCHES for node in _nodes(graph))


def _nodes(graph: Graph) -> Iterator[Node]:
    """All nodes, including those of functions that it calls."""
    waiting, seen = [graph], {id(graph)}
    while waiting:
        for node in ordered(waiting.pop()):
            yield node
            for attr in node.attrs.values():
                for ref in attr if isinstance(attr, tuple) else (attr,):
                    if isinstance(ref, FunctionRef) and id(ref.graph) not in seen:
                        seen.add(id(ref.graph))
                        waiting.append(ref.graph)

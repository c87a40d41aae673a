"""Which ops of a loaded function have no kernel here, and what to do about each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.graph.codec.opaque import remedy_for
from pinnace.graph.graph import FunctionRef
from pinnace.graph.walk import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.graph.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class MissingKernel:
    """An op without a kernel.

    Attributes:
        op: the op's name.
        count: the number of its nodes.
        place: its first node, as `function: node`.
        remedy: why it cannot run, and what to do instead.
    """

    op: str
    count: int
    place: str
    remedy: str

    def __str__(self) -> str:
        nodes = f"{self.count} nodes, first" if self.count > 1 else "node"
        return f"no kernel for {self.op} ({nodes} {self.place}): {self.remedy}"


def unsupported_ops(function: ConcreteFunction) -> tuple[MissingKernel, ...]:
    """The ops without a kernel that a call of a function needs, or may need: by name.

    Branches and loop bodies count, whether or not a call runs them; unused nodes do not.

    Args:
        function: a signature or another concrete function.

    Raises:
        InvalidArgumentError: a function it calls is damaged.
    """
    return missing_below(function.graph)


def unsupported_signatures(
    signatures: Mapping[str, ConcreteFunction],
) -> dict[str, tuple[MissingKernel, ...]]:
    """The signatures that cannot run or might not, each with the ops that it has no kernel for.

    Args:
        signatures: the signatures of a loaded model.
    """
    found = {name: unsupported_ops(signatures[name]) for name in signatures}
    return {name: missing for name, missing in found.items() if missing}


def missing_below(graph: Graph) -> tuple[MissingKernel, ...]:
    """The ops without a kernel that a run of a graph needs, or may need: by name."""
    # Only graphs with such ops are optimised as for a run, since that takes time.
    return _missing(graph, lambda one: one) and _missing(graph, lambda one: fold(inline(one)))


def _missing(graph: Graph, seen_by_a_run: Callable[[Graph], Graph]) -> tuple[MissingKernel, ...]:
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    waiting = [graph]
    entered = {id(graph)}
    while waiting:
        original = waiting.pop()
        one = seen_by_a_run(original)
        arguments = {value.node for value in one.inputs}
        for node in needed(one.outputs, one.effects):
            if node in arguments:
                continue
            if node.op.kernel is None:
                counts[node.op.name] += 1
                places.setdefault(node.op.name, f"{original.name}: {node.name}")
            for callee in _callees(node):
                if id(callee) not in entered:
                    entered.add(id(callee))
                    waiting.append(callee)
    return tuple(
        MissingKernel(op, count, places[op], remedy_for(op)) for op, count in sorted(counts.items())
    )


def _callees(node: Node) -> Iterator[Graph]:
    for value in node.attrs.values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, FunctionRef):
                yield one.graph

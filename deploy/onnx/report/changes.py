"""The effect of a pass on a graph: operators removed and added."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pinnace.deploy.onnx.ir.builder import GraphBuilder


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of one pass on the operators.

    Attributes:
        before: operator -> number before the pass, if it changed.
        after: operator -> number after the pass.
    """

    before: Mapping[str, int]
    after: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """The change as a dict for JSON."""
        return {"before": dict(self.before), "after": dict(self.after)}


def applied(g: GraphBuilder, step: Callable[[GraphBuilder], object]) -> Change:
    """Run a pass, and return its effect."""
    before = _kinds(g)
    step(g)
    after = _kinds(g)
    changed = sorted(kind for kind in before | after if before[kind] != after[kind])
    return Change(
        {kind: before[kind] for kind in changed if before[kind]},
        {kind: after[kind] for kind in changed if after[kind]},
    )


def _kinds(g: GraphBuilder) -> Counter[str]:
    return Counter(node.kind for node in g.all_nodes())

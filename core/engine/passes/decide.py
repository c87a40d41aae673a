"""Replaces conditions whose predicate is known by the branch that is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.passes.inline import inline
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node
from pinnace.graph.known import known_value
from pinnace.graph.walk import ordered
from pinnace.ops.functional.calls import STATEFUL_PARTITIONED_CALL

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def decided(graph: Graph) -> Graph:
    """The same program without calls, and without conditions whose predicate is constant.

    In TensorFlow 1 models, an unfed training switch is such a predicate: the updates of moving
    averages disappear with the branch.
    """
    while True:
        graph = inline(graph)
        if not any(_taken(node) for node in graph.nodes):
            return graph
        copy = Copy(GraphBuilder(graph.name))
        copy.inputs(graph)
        arguments = {value.node for value in graph.inputs}
        for node in ordered(graph):
            if node in arguments:
                continue
            branch = _taken(node)
            if branch is None:
                copy.node(node)
            else:
                _call(node, branch, copy)
        copy.outputs(graph)
        graph = copy.target.finish()


def _call(node: Node, branch: FunctionRef, copy: Copy) -> None:
    """Add a call of the branch in place of the condition."""
    attrs = STATEFUL_PARTITIONED_CALL.full_attrs(
        {
            "f": branch,
            "Tin": tuple(value.dtype for value in node.inputs[1:]),
            "Tout": tuple(value.dtype for value in node.outputs),
        }
    )
    made = copy.target.add_raw(
        STATEFUL_PARTITIONED_CALL,
        [copy.values[value] for value in node.inputs[1:]],
        attrs,
        node.name,
        [value.spec for value in node.outputs],
        copy.controls(node.controls),
    )
    made.source = node.source
    for here, there in zip(node.outputs, made.outputs, strict=True):
        there.handle = here.handle
        copy.values[here] = there
    copy.nodes[node] = (made,)


def _taken(node: Node) -> FunctionRef | None:
    """The branch that a condition takes in every run."""
    if node.op.runs != "branch":
        return None
    known = known_value(node.inputs[0])
    if known is None:
        return None
    branches: tuple[FunctionRef, ...] | None = node.attrs.get("branches")
    if branches is not None:
        index = int(known)
        # TensorFlow: any other index selects the last branch.
        return branches[index if 0 <= index < len(branches) else -1]
    which = "then_branch" if _holds(known) else "else_branch"
    return node.attrs[which]  # type: ignore[no-any-return]  # attributes have no types


def _holds(condition: Array) -> bool:
    """Whether a predicate holds: a scalar that is not zero or empty, or an array with elements."""
    if condition.ndim:
        return condition.size > 0
    value = condition[()]
    return bool(len(value)) if isinstance(value, (bytes, str)) else bool(np.asarray(value))

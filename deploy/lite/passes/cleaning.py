"""Removal of operators without users, and of operators that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Tensor
from pinnace.deploy.lite.passes.uses import Uses
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Subgraph

# Operators with effects beside their outputs.
_EFFECTS = {"ASSIGN_VARIABLE", "CALL_ONCE", "HASHTABLE_IMPORT"}


def without_dead(subgraph: Subgraph) -> None:
    """Drop operators whose outputs have no users."""
    wanted = {id(x) for x in subgraph.outputs}
    kept: list[Operator] = []
    for operator in reversed(subgraph.operators):
        if operator.kind in _EFFECTS or any(id(x) in wanted for x in operator.outputs):
            kept.append(operator)
            wanted.update(id(x) for x in operator.inputs if x is not None)
    subgraph.operators = kept[::-1]


def without_idle(subgraph: Subgraph) -> int:
    """Drop moves that change nothing, and join consecutive ones; return how many were dropped."""
    uses = Uses(subgraph)
    count = 0
    for operator in list(subgraph.operators):
        if operator.kind == "RESHAPE":
            count += _reshape(uses, operator)
        elif operator.kind == "TRANSPOSE":
            count += _transpose(uses, operator)
    return count


def _can_go(uses: Uses, operator: Operator) -> bool:
    """Whether its input can replace its output: at most one of them is visible outside."""
    given, made = operator.inputs[0], operator.outputs[0]
    if id(made) not in uses.results:
        return True
    maker = uses.maker(given)
    return maker is not None and given is not None and id(given) not in uses.results


def _reshape(uses: Uses, operator: Operator) -> int:
    given, made = operator.inputs[0], operator.outputs[0]
    if given is None:
        return 0
    before = uses.maker(given)
    if before is not None and before.kind == "RESHAPE" and before.inputs[0] is not None:
        source = before.inputs[0]
        uses.takers[id(given)].remove(operator)
        operator.inputs[0] = source
        uses.takers.setdefault(id(source), []).append(operator)
        if not uses.takers[id(given)] and id(given) not in uses.results:
            uses.drop(before)
        given = source
    is_same = given.shape == made.shape and given.shape.is_fully_defined()
    if not is_same and given.rank == made.rank and given.rank:
        # All sizes but one unknown one are equal, so the unknown one is unchanged.
        pairs = list(zip(given.shape, made.shape, strict=True))
        is_same = all(a == b for a, b in pairs) and list(given.shape).count(None) == 1
    if is_same and _can_go(uses, operator):
        uses.replace(made, given)
        uses.drop(operator)
        return 1
    return 0


def _transpose(uses: Uses, operator: Operator) -> int:
    given, order = operator.inputs
    made = operator.outputs[0]
    if given is None or order is None or order.data is None:
        return 0
    axes = [int(n) for n in order.data]
    before = uses.maker(given)
    if before is not None and before.kind == "TRANSPOSE":
        source, first = before.inputs
        if source is not None and first is not None and first.data is not None:
            both = [int(first.data[axis]) for axis in axes]
            if both == sorted(both) and _can_go(uses, operator):
                uses.replace(made, source)
                uses.drop(operator)
                return 1
            uses.takers[id(given)].remove(operator)
            operator.inputs = [source, _order(both)]
            uses.takers.setdefault(id(source), []).append(operator)
            return 1
    return 0


def _order(axes: list[int]) -> Tensor:
    return Tensor("order", dtypes.int32, Shape([len(axes)]), np.asarray(axes, np.int32))

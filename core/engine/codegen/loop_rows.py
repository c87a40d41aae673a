"""Whether the rows of a loop's arrays are independent.

A batch of sequences is an example: an iteration computes each row from that row and from shared
values, such as weights. Then each thread runs the iterations of some rows, without synchronising.
If an iteration accumulates a sum over rows, as for the gradient of weights, each thread has a
partial sum of its rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import (
    flips,
    is_elementwise,
    lies_as,
    multiplications,
    numbers_used,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinnace.graph.graph import Node, Value

# The cost of a number in an elementwise step, in multiplications.
_ELEMENTWISE = 16


def common_rows(
    nodes: Iterable[Node],
    sizes: Mapping[Value, tuple[int, ...]],
    changing: Collection[Value],
    sums: Collection[Node] = (),
) -> int | None:
    """The number of rows of all arrays of an iteration, if rows are independent; else None.

    Args:
        nodes: the array steps.
        sizes: the shape of each value.
        changing: the values that differ from iteration to iteration and are not computed by a step:
            loop variables and elements of lists.
        sums: the nodes that are products accumulated over iterations.
    """
    found = {sizes[value][0] if len(sizes[value]) > 1 else 0 for value in changing}
    own = set(changing)
    by_row = [node for node in nodes if node not in sums]
    for node in by_row:
        for value in node.outputs:
            found.add(sizes[value][0] if len(sizes[value]) > 1 else 0)
        own.update(node.outputs)
    if len(found) != 1 or min(found) < 2:
        return None
    (rows,) = found
    kept = all(_keeps_rows(node, sizes, own) for node in by_row)
    return rows if kept and all(_sums_rows(node, sizes, own) for node in sums) else None


def _keeps_rows(node: Node, sizes: Mapping[Value, tuple[int, ...]], own: Collection[Value]) -> bool:
    """Whether each row of a step's results depends only on the same row of changing values."""
    if node.op.product == "matrix":
        left, right = node.inputs
        return right not in own and not flips(node)[0] and len(sizes[left]) == 2
    if is_elementwise(node):
        shape = sizes[node.outputs[0]]
        return all(
            value not in own or lies_as(sizes[value], shape) in {"full", "column"}
            for value in numbers_used(node)
        )
    # A reshaped value keeps its rows: all arrays have the same number. Concatenation and split have
    # statements only along the last axis, within a row.
    return node.op.view == "reshaped" or node.op.moves in {"concatenate", "split", "slice"}


def _sums_rows(node: Node, sizes: Mapping[Value, tuple[int, ...]], own: Collection[Value]) -> bool:
    """Whether a product is a sum over the rows of two changing arrays."""
    is_turned = flips(node) == (True, False)
    return is_turned and all(value in own and len(sizes[value]) == 2 for value in node.inputs)


def work_of(nodes: Sequence[Node], sizes: Mapping[Value, tuple[int, ...]]) -> int:
    """The approximate cost of an iteration, in multiplications."""
    total = 0
    for node in nodes:
        total += multiplications(node, sizes)
        if is_elementwise(node):
            total += _ELEMENTWISE * math.prod(sizes[node.outputs[0]])
    return total

"""Whether the rows of a loop's arrays have nothing to do with each other.

A batch of sequences is: what an iteration makes of a row depends on that row and on what all rows
share, such as weights. Then threads take the iterations of some rows each, and none waits for
another. Where rows are added up to what an iteration adds to, as for the gradient of weights, each
thread has a sum of its own rows.
"""

from __future__ import annotations

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

# What a number costs that an elementwise step makes, in multiplications.
_ELEMENTWISE = 16


def common_rows(
    nodes: Iterable[Node],
    sizes: Mapping[Value, tuple[int, ...]],
    changing: Collection[Value],
    sums: Collection[Node] = (),
) -> int | None:
    """How many rows all arrays of an iteration have, if none depends on another; else None.

    Args:
        nodes: the steps over arrays.
        sizes: the shape of each value.
        changing: the values that differ from iteration to iteration and are made by no step: loop
            variables and elements of lists.
        sums: those of the nodes that are products added to what the iteration before left.
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
    """Whether each row of a step's results depends on the same row of what changes."""
    if node.op.product == "matrix":
        left, right = node.inputs
        return right not in own and not flips(node)[0] and len(sizes[left]) == 2
    if is_elementwise(node):
        shape = sizes[node.outputs[0]]
        return all(
            value not in own or lies_as(sizes[value], shape) in {"full", "column"}
            for value in numbers_used(node)
        )
    # A reshaped value keeps its rows: all arrays have as many. What is joined or split along the
    # last axis, which alone has statements, stays in its row.
    return node.op.view == "reshaped" or node.op.moves in {"concatenate", "split", "slice"}


def _sums_rows(node: Node, sizes: Mapping[Value, tuple[int, ...]], own: Collection[Value]) -> bool:
    """Whether a product is a sum over the rows of two arrays that change."""
    is_turned = flips(node) == (True, False)
    return is_turned and all(value in own and len(sizes[value]) == 2 for value in node.inputs)


def work_of(nodes: Sequence[Node], sizes: Mapping[Value, tuple[int, ...]]) -> int:
    """What an iteration takes, about, in multiplications."""
    total = 0
    for node in nodes:
        total += multiplications(node, sizes)
        if is_elementwise(node):
            count = 1
            for size in sizes[node.outputs[0]]:
                count *= size
            total += _ELEMENTWISE * count
    return total

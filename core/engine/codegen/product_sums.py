"""Sums of two products: the second is added where the first lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen.array_steps import flips

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.graph.graph import Node, Value


class ProductSum(NamedTuple):
    """A sum of products.

    Attributes:
        first: the product that is made where the sum will lie.
        second: the step whose product is added to it.
        total: the sum.
    """

    first: Value
    second: Node
    total: Value


def product_sums(
    nodes: Sequence[Node],
    size: Callable[[Value], tuple[int, ...]],
    kept: Collection[Value],
    taken: Mapping[Node, object],
) -> list[ProductSum]:
    """The sums of two products that nothing else uses.

    Args:
        nodes: the steps.
        size: the shape of a value.
        kept: values that are used outside of these steps, or put somewhere.
        taken: products that go elsewhere.
    """
    uses: dict[Value, int] = {}
    for node in nodes:
        for value in node.inputs:
            uses[value] = uses.get(value, 0) + 1
    own = set(nodes)

    def is_free(value: Value, total: Value) -> bool:
        node = value.node
        return (
            node in own
            and node not in taken
            and node.op.product == "matrix"
            and uses[value] == 1
            and value not in kept
            and size(value) == size(total)
        )

    found = []
    for node in nodes:
        if node.op.name == "AddV2" and all(is_free(one, node.outputs[0]) for one in node.inputs):
            # The shorter sum last: fewer terms are rounded to the digits of what is there.
            first, second = sorted(node.inputs, key=lambda one: -_terms(one.node, size))
            found.append(ProductSum(first, second.node, node.outputs[0]))
    return found


def _terms(product: Node, size: Callable[[Value], tuple[int, ...]]) -> int:
    """How many products a number is the sum of."""
    return size(product.inputs[0])[-2 if flips(product)[0] else -1]

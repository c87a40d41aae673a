"""Sums of two products: the second is accumulated into the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.codegen.array_steps import flips
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.graph.graph import Node, Value


class ProductSum(NamedTuple):
    """A sum of products.

    Attributes:
        first: the product that is stored first.
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
    """The sums of two products without other uses.

    Args:
        nodes: the steps.
        size: returns the shape of a value.
        kept: values that are used outside of these steps, or stored.
        taken: products with another destination.
    """
    uses = users(nodes)
    own = set(nodes)

    def is_free(value: Value, total: Value) -> bool:
        node = value.node
        return (
            node in own
            and node not in taken
            and node.op.product == "matrix"
            and len(uses[value]) == 1
            and value not in kept
            and size(value) == size(total)
        )

    found = []
    for node in nodes:
        if node.op.name == "AddV2" and all(is_free(one, node.outputs[0]) for one in node.inputs):
            # The shorter sum is last: fewer terms are rounded to the accumulator's precision.
            first, second = sorted(node.inputs, key=lambda one: -_terms(one.node, size))
            found.append(ProductSum(first, second.node, node.outputs[0]))
    return found


def _terms(product: Node, size: Callable[[Value], tuple[int, ...]]) -> int:
    """The number of terms of each sum in a product."""
    return size(product.inputs[0])[-2 if flips(product)[0] else -1]

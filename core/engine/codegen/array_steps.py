"""The steps over arrays that have statements in generated kernels, and the elementwise ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.graph.graph import Node, Value


class UnsupportedError(Exception):
    """A step has no statement, or none for its shapes."""


def multiplications(node: Node, sizes: Mapping[Value, tuple[int, ...]]) -> int:
    """The number of multiplications of a product; 0 for other steps."""
    if node.op.product != "matrix" or len(sizes[node.inputs[0]]) < 2:
        return 0
    inner = sizes[node.inputs[0]][-2 if flips(node)[0] else -1]
    return math.prod(sizes[node.outputs[0]]) * inner


def flips(node: Node) -> tuple[bool, bool]:
    """Whether each factor of a product is transposed."""
    names = ("transpose_a", "transpose_b") if "transpose_a" in node.attrs else ("adj_x", "adj_y")
    return node.attrs[names[0]], node.attrs[names[1]]


def is_made(node: Node) -> bool:
    """Whether a step can write its result to a given address."""
    return node.op.product == "matrix" or is_elementwise(node)


def is_elementwise(node: Node) -> bool:
    """Whether a step computes each float32 number from those at the same index."""
    return forms.template(node, chooses=True) is not None


def numbers_used(node: Node) -> tuple[Value, ...]:
    """The inputs whose numbers an elementwise step uses."""
    return node.inputs if "{" in (node.op.fuse or "") else ()


def lies_as(size: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The broadcast of a value of this size to the shape: full, row, column or scalar."""
    if size == shape:
        return "full"
    if math.prod(size) == 1:
        return "scalar"
    size = (1,) * (len(shape) - len(size)) + size
    if math.prod(size[:-1]) == 1 and size[-1] == shape[-1]:
        return "row"
    if size[-1] == 1 and size[:-1] == shape[:-1]:
        return "column"
    raise UnsupportedError(
        f"an operand of shape {list(size)} is no scalar, row or column of {list(shape)}"
    )

"""Finds graphs with matrix products, whose runs set BLAS to one thread (`ops.kernels.blas`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.graph.graph import FunctionRef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.graph.graph import Node

# Multiplications up to which OpenBLAS uses one thread.
_TINY = 1 << 18


def has_products(nodes: Iterable[Node]) -> bool:
    """Whether a graph, or the body of a loop in it, uses BLAS or a kernel that shares work."""
    pending, seen = [nodes], set()
    while pending:
        for node in pending.pop():
            if node.op.product and not _is_tiny(node):
                return True
            for value in node.attrs.values():
                for one in value if isinstance(value, tuple) else (value,):
                    # Each function once: functions may call one another billions of times.
                    if isinstance(one, FunctionRef) and one.graph not in seen:
                        seen.add(one.graph)
                        pending.append(one.graph.nodes)
    return False


def _is_tiny(node: Node) -> bool:
    """Whether the product is too small for BLAS to use a second thread."""
    if node.op.name != "MatMul":
        return False
    sizes = [
        size for value in (*node.inputs, *node.outputs) for size in value.shape.dims or (None,)
    ]
    if None in sizes:
        return False
    # rows, inner, columns: each occurs twice.
    return math.isqrt(math.prod(size for size in sizes if size is not None)) <= _TINY

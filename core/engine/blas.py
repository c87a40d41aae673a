"""Which graphs have products: their runs have BLAS on one thread, see `ops.kernels.blas`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.graph.graph import FunctionRef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.graph.graph import Node

# Multiplications that OpenBLAS does on one thread.
_TINY = 1 << 18


def has_products(nodes: Iterable[Node]) -> bool:
    """Whether BLAS, or a kernel that shares its work, has anything to do, in a loop's body too."""
    pending, seen = [nodes], set()
    while pending:
        for node in pending.pop():
            if node.op.product and not _is_tiny(node):
                return True
            for value in node.attrs.values():
                for one in value if isinstance(value, tuple) else (value,):
                    # Each once: functions may call one another billions of times.
                    if isinstance(one, FunctionRef) and one.graph not in seen:
                        seen.add(one.graph)
                        pending.append(one.graph.nodes)
    return False


def _is_tiny(node: Node) -> bool:
    """Whether BLAS would not wake a thread for it anyway."""
    if node.op.name != "MatMul":
        return False
    sizes = [
        size for value in (*node.inputs, *node.outputs) for size in value.shape.dims or (None,)
    ]
    if None in sizes:
        return False
    # rows, inner, columns: each twice.
    return math.isqrt(math.prod(size for size in sizes if size is not None)) <= _TINY

"""Which steps over arrays generated kernels have statements for, and what elementwise ones are."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from pinnace.engine.codegen import forms
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.graph.graph import Node, Value

PRODUCTS = frozenset({"BatchMatMul", "BatchMatMulV2", "MatMul"})
_CHOICES = {"SelectV2": "({t} if {condition} else {e})"}
_FILLED = {"OnesLike": "T(1)", "ZerosLike": "T(0)"}


class Unfit(Exception):  # noqa: N818 (no error: the steps stay what they are)
    """There is no statement for a step, or none for its shapes."""


def multiplications(node: Node, sizes: Mapping[Value, tuple[int, ...]]) -> int:
    """How many multiplications a product takes; 0 for other steps."""
    if node.op.name not in PRODUCTS or len(sizes[node.inputs[0]]) < 2:
        return 0
    inner = sizes[node.inputs[0]][-2 if flips(node)[0] else -1]
    return math.prod(sizes[node.outputs[0]]) * inner


def flips(node: Node) -> tuple[bool, bool]:
    """Which factors of a product are transposed."""
    names = ("transpose_a", "transpose_b") if node.op.name == "MatMul" else ("adj_x", "adj_y")
    return node.attrs[names[0]], node.attrs[names[1]]


def is_made(node: Node) -> bool:
    """Whether a step puts its result where it is wanted."""
    return node.op.name in PRODUCTS or is_elementwise(node)


def is_elementwise(node: Node) -> bool:
    """Whether a step makes each number of float32 from those at the same place."""
    if node.op.name in _CHOICES:
        numbers = (*node.inputs[1:], *node.outputs)
        return not node.controls and all(value.dtype is dtypes.float32 for value in numbers)
    if node.op.name in _FILLED or node.op.name == "AddN":
        return not node.controls and all(
            value.dtype is dtypes.float32 for value in (*node.inputs, *node.outputs)
        )
    return forms.template(node) is not None


def numbers_used(node: Node) -> tuple[Value, ...]:
    """The values whose numbers an elementwise step uses."""
    return () if node.op.name in _FILLED else node.inputs


def expression(node: Node, names: Mapping[Value, str]) -> str:
    """An elementwise step on single numbers, which have these names."""
    if node.op.name in _FILLED:
        return _FILLED[node.op.name]
    if node.op.name == "AddN":
        return " + ".join(names[value] for value in node.inputs)
    written = _CHOICES.get(node.op.name) or forms.template(node) or ""
    arguments = {
        argument.name: names[value]
        for argument, value in zip(node.op.inputs, node.inputs, strict=True)
    }
    written = re.sub(r"\bmax\(", "maximum(", re.sub(r"\bmin\(", "minimum(", written))
    return written.format(**arguments)


def lies_as(size: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """How a value of this size lies in the shape: full, row, column or scalar."""
    if size == shape:
        return "full"
    if math.prod(size) == 1:
        return "scalar"
    size = (1,) * (len(shape) - len(size)) + size
    if math.prod(size[:-1]) == 1 and size[-1] == shape[-1]:
        return "row"
    if size[-1] == 1 and size[:-1] == shape[:-1]:
        return "column"
    raise Unfit(f"{list(size)} in {list(shape)}")

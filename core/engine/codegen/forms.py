"""Which ops a cluster may hold, and what they are on single numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.graph.graph import Node, Value

# What a fused form may call: `codegen.mathematics` has it as vector code.
_QUICK = frozenset({"T", "abs", "max", "min", "sqrt"})
_COSTLY = frozenset({"erf", "erfc", "exp", "tanh"})
_CALLS = re.compile(r"([a-z_A-Z]\w*)\(")
_BIAS_ADD = "{value} + {bias}"
# Ops that make one number of each row, and how.
REDUCTIONS = {"Max": "max", "Mean": "sum", "Sum": "sum"}


def is_costly(form: str) -> bool:
    """Whether an expression takes much longer than a sum or a product."""
    return bool(set(_CALLS.findall(form)) & _COSTLY)


def operands(node: Node) -> tuple[Value, ...]:
    """The inputs that are numbers; a reduction's second says over which axes."""
    return node.inputs[:1] if node.op.name in REDUCTIONS else node.inputs


def is_float(node: Node) -> bool:
    """Whether it makes one float32 tensor of float32 tensors."""
    return (
        len(node.outputs) == 1
        and not node.controls
        and all(value.dtype is dtypes.float32 for value in (*operands(node), *node.outputs))
    )


def template(node: Node) -> str | None:
    """The scalar expression of an op on float32 numbers; None if there is none, or none quick."""
    op = node.op
    if not is_float(node):
        return None
    if op.name == "BiasAdd":
        return _BIAS_ADD if node.attrs.get("data_format") != "NCHW" else None
    if op.fuse is None or not set(_CALLS.findall(op.fuse)) <= _QUICK | _COSTLY:
        return None
    return op.fuse


def reduced_axes(node: Node, shape: Sequence[int]) -> int | None:
    """The first of the axes, all to the last, that the op makes one number of; None if it does not.

    Args:
        node: any op.
        shape: of its first input.
    """
    if not is_float(node) or not shape:
        return None
    rank = len(shape)
    if node.op.name == "Softmax":
        return rank - 1
    if node.op.name not in REDUCTIONS or not node.attrs.get("keep_dims"):
        return None
    given = constant_of(node.inputs[1])
    if given is None:
        return None
    axes = sorted({int(axis) % rank for axis in given.reshape(-1)})
    return axes[0] if axes and axes == list(range(axes[0], rank)) else None

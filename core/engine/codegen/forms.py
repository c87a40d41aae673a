"""The ops that a cluster may contain, and their scalar expressions."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.nn.softmaxes import LOG_SOFTMAX, SOFTMAX
from pinnace.ops.opdef import SLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.graph.graph import Node, Value

# Functions that a fused expression may call: `codegen.mathematics` has vectorised ones.
_QUICK = frozenset({"T", "abs", "max", "min", "sqrt"})
SOFTMAXES = frozenset({SOFTMAX, LOG_SOFTMAX})
_CALLS = re.compile(r"([a-z_A-Z]\w*)\(")


class _Several(tuple[str, ...]):
    """The operands of a list argument: its format is the separator between them."""

    __slots__ = ()

    def __format__(self, between: str) -> str:
        return between.join(self)


def operands(node: Node) -> tuple[Value, ...]:
    """The numeric inputs: others are reduction axes, or a target shape."""
    return node.inputs[:1] if node.op.fuse_row or node.op.name == "BroadcastTo" else node.inputs


def repeats(node: Node) -> bool:
    """Whether a step only broadcasts float32 numbers, which kernels need not write."""
    return node.op.name == "BroadcastTo" and is_float(node)


def is_float(node: Node, *, chooses: bool = False) -> bool:
    """Whether a step computes one float32 tensor from float32 tensors.

    Args:
        node: any op.
        chooses: also allow booleans as conditions of a select.
    """
    kinds = {dtypes.float32, dtypes.bool} if chooses else {dtypes.float32}
    return (
        len(node.outputs) == 1
        and not node.controls
        and node.outputs[0].dtype is dtypes.float32
        and all(value.dtype in kinds for value in operands(node))
    )


def template(node: Node, *, chooses: bool = False) -> str | None:
    """The scalar expression of an op on float32 numbers; None if there is none, or only a slow one.

    Args:
        node: any op.
        chooses: see `is_float`.
    """
    form = node.op.fuse
    if form is None or not is_float(node, chooses=chooses):
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in node.attrs.values()):
        return None
    if node.attrs.get("data_format") == "NCHW":  # its bias is not on the last axis
        return None
    return form if set(_CALLS.findall(form)) <= _QUICK | SLOW else None


def written(node: Node, names: Sequence[str], form: str | None = None) -> str:
    """The scalar expression of an op with these operand names.

    Args:
        node: the op and its inputs.
        names: names of its operands, one per input.
        form: an expression to use instead of the op's.
    """
    form = node.op.fuse or "" if form is None else form
    form = re.sub(r"\bmax\(", "maximum(", re.sub(r"\bmin\(", "minimum(", form))
    packed = node.op.pack_inputs(names, node.attrs)
    arguments = {
        argument.name: _Several(given) if argument.is_list else given
        for argument, given in zip(node.op.inputs, packed, strict=True)
    }
    # Attributes are saved as float32: use the number that kernels use.
    numbers = {
        name: f"T({float(np.float32(value))!r})"
        for name, value in node.attrs.items()
        if isinstance(value, float)
    }
    return form.format(**arguments, **numbers)


def reduced_axes(node: Node, shape: Sequence[int]) -> int | None:
    """The first axis of a reduction that extends to the last axis; None for any other op.

    Args:
        node: any op.
        shape: the shape of its first input.
    """
    if not is_float(node) or not shape:
        return None
    rank = len(shape)
    if node.op in SOFTMAXES:
        return rank - 1
    if node.op.fuse_row is None or not node.attrs.get("keep_dims"):
        return None
    axes = axes_of(node.inputs[1], rank)
    return axes[0] if axes and axes == list(range(axes[0], rank)) else None


def axes_of(value: Value, rank: int) -> list[int]:
    """The axes that a constant names, ascending; none if it is not constant."""
    given = constant_of(value)
    return [] if given is None else sorted({int(axis) % rank for axis in given.reshape(-1)})

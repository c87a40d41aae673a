"""Reductions, each of which is made once, and the axes that they leave out put back.

JAX reduces without the axis and broadcasts afterwards; TensorFlow's programs keep it with size 1,
and so do the norms that the engine and ONNX know.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.saved_model.stablehlo.lowering.operands import constant, op
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of, integers_of, node_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import Node

# TensorFlow's reductions that StableHLO's become.
REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})
# Elementwise ops through which an axis of size 1 may be put where a reduction left one out.
_THROUGH = frozenset(
    {"Abs", "AddV2", "Cast", "Exp", "Log", "Maximum", "Minimum", "Mul", "Neg", "RealDiv"}
    | {"Relu", "Rsqrt", "Sqrt", "Square", "Sub"}
)
_DEPTH = 8

_made: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Tensor]] = weakref.WeakKeyDictionary()


def reduced(kind: str, x: Tensor, axes: Sequence[int], *, keeps: bool = False) -> Tensor:
    """A reduction; the one that there is in this graph, if there is one.

    Args:
        kind: TensorFlow's op.
        x: what is reduced.
        axes: over these.
        keeps: whether they stay, with size 1.
    """
    if axes and all(x.shape[axis] == 1 for axis in axes):  # each number by itself
        return x if keeps else _without(x, axes)
    made = _made.setdefault(state.tracer, {}) if state.tracer is not None else {}
    key = kind, getattr(x, "value", None), tuple(axes), keeps
    if key[1] is None:
        return op(kind, x, constant(list(axes), dtypes.int32), keep_dims=keeps)
    if key not in made:
        made[key] = op(kind, x, constant(list(axes), dtypes.int32), keep_dims=keeps)
    return made[key]


def _without(x: Tensor, axes: Sequence[int]) -> Tensor:
    """A tensor without axes of size 1; what they were added to, if they were."""
    source = inputs_of(x, "Reshape")
    left = [size for axis, size in enumerate(x.shape) if axis not in axes]
    if source is not None and list(source[0].shape) == left and left.count(None) < 2:
        return source[0]
    return op("Squeeze", x, squeeze_dims=tuple(axes))


def reduction_of(tensor: Tensor, *, keeps: bool) -> tuple[str, Tensor, tuple[int, ...]] | None:
    """The op, the argument and the axes of the reduction that a tensor is; None if it is none."""
    node = node_of(tensor)
    if node is None or node.op.name not in REDUCTIONS or node.attrs["keep_dims"] is not keeps:
        return None
    x, axes = (value.tensor for value in node.inputs)
    over = None if axes is None else integers_of(axes)
    return None if x is None or over is None else (node.op.name, x, over)


def with_axes(x: Tensor, axes: Sequence[int], rank: int, depth: int = 0) -> Tensor | None:
    """A tensor made of reductions with the axes that they left out, as keep_dims gives it.

    Args:
        x: the tensor.
        axes: where its axes are among those of the result; the others are of size 1.
        rank: of the result.
        depth: of what it is made of.

    Returns:
        None if `x` is not made of reductions over these axes and numbers.
    """
    if len(axes) >= rank:
        return None
    made = _made.setdefault(state.tracer, {}) if state.tracer is not None else {}
    key = "with", getattr(x, "value", None), tuple(axes), rank
    if key in made:
        return made[key]
    found = _with_axes(x, axes, rank, depth)
    if found is not None:
        made[key] = found
    return found


def _with_axes(x: Tensor, axes: Sequence[int], rank: int, depth: int) -> Tensor | None:
    found = reduction_of(x, keeps=False)
    if found is not None:
        kind, source, over = found
        lost = [axis for axis in range(rank) if axis not in axes]
        if len(source.shape) != rank or sorted(axis % rank for axis in over) != lost:
            return None
        return reduced(kind, source, over, keeps=True)
    node = node_of(x)
    if node is None or node.op.name not in _THROUGH or depth > _DEPTH:
        return None
    given: list[Tensor] = []
    for value in node.inputs:
        tensor: Tensor | None = value.tensor
        if tensor is not None and len(tensor.shape):
            tensor = with_axes(tensor, axes, rank, depth + 1)
        if tensor is None:
            return None
        given.append(tensor)
    return op(node.op.name, *given, **_plain(node))


def _plain(node: Node) -> dict[str, Any]:
    """The attributes of an elementwise op that its inputs do not tell."""
    return {"DstT": node.attrs["DstT"]} if node.op.name == "Cast" else {}

"""Reductions, each created once, and their reduced axes restored with size 1.

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

# The TensorFlow reductions of StableHLO's.
REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})
# Elementwise ops before which a reduced axis may be restored with size 1.
_THROUGH = frozenset(
    {"Abs", "AddV2", "Cast", "Exp", "Log", "Maximum", "Minimum", "Mul", "Neg", "RealDiv"}
    | {"Relu", "Rsqrt", "Sqrt", "Square", "Sub"}
)
_DEPTH = 8

_made: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Tensor]] = weakref.WeakKeyDictionary()


def reduced(kind: str, x: Tensor, axes: Sequence[int], *, keeps: bool = False) -> Tensor:
    """Return a reduction, the existing one if the graph has the same.

    Args:
        kind: the TensorFlow op.
        x: the tensor to reduce.
        axes: the axes to reduce.
        keeps: whether they are kept with size 1.
    """
    if axes and all(x.shape[axis] == 1 for axis in axes):  # each element by itself
        return x if keeps else _without(x, axes)
    made = _made.setdefault(state.tracer, {}) if state.tracer is not None else {}
    key = kind, getattr(x, "value", None), tuple(axes), keeps
    if key[1] is None:
        return op(kind, x, constant(list(axes), dtypes.int32), keep_dims=keeps)
    if key not in made:
        made[key] = op(kind, x, constant(list(axes), dtypes.int32), keep_dims=keeps)
    return made[key]


def _without(x: Tensor, axes: Sequence[int]) -> Tensor:
    """A tensor without axes of size 1; the source of the reshape that added them, if any."""
    source = inputs_of(x, "Reshape")
    left = [size for axis, size in enumerate(x.shape) if axis not in axes]
    if source is not None and list(source[0].shape) == left and left.count(None) < 2:
        return source[0]
    return op("Squeeze", x, squeeze_dims=tuple(axes))


def reduction_of(tensor: Tensor, *, keeps: bool) -> tuple[str, Tensor, tuple[int, ...]] | None:
    """The op, argument and axes of the reduction that computes a tensor, or None."""
    node = node_of(tensor)
    if node is None or node.op.name not in REDUCTIONS or node.attrs["keep_dims"] is not keeps:
        return None
    x, axes = (value.tensor for value in node.inputs)
    over = None if axes is None else integers_of(axes)
    return None if x is None or over is None else (node.op.name, x, over)


def with_axes(x: Tensor, axes: Sequence[int], rank: int, depth: int = 0) -> Tensor | None:
    """Return a tensor computed from reductions with their axes restored, as by keep_dims.

    Args:
        x: the tensor.
        axes: the positions of its axes in the result; the others have size 1.
        rank: the result's rank.
        depth: the depth of the recursion.

    Returns:
        None if `x` is computed from anything but reductions over these axes, and numbers.
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
    """The attributes of an elementwise op that are not deduced from its inputs."""
    return {"DstT": node.attrs["DstT"]} if node.op.name == "Cast" else {}

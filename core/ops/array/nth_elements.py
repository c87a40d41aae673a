"""The n-th smallest of each row: NthElement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import REAL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import comparison, reduction
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []


def _kernel(input: Array, n: Array, *, reverse: bool) -> Array:
    place, count = int(n), input.shape[-1]
    if not 0 <= place < count:
        raise InvalidArgumentError(
            f"NthElement: n must be from 0 to {count - 1}, the last axis of input has {count} "
            f"elements, got {place}"
        )
    place = count - 1 - place if reverse else place
    return np.array(np.partition(input, place, axis=-1)[..., place])


def _infer(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("n must be a scalar")
    if shape.rank == 0:
        call.fail("input must have at least one axis")
    return Shape(None) if shape.rank is None else shape[:-1]


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    # All elements that are the n-th share the gradient.
    found = reshaping.expand_dims(call.outputs[0], -1)
    alike = casting.cast(comparison.equal(call.inputs[0], found), dy.dtype)
    count = reduction.reduce_sum(alike, -1, keepdims=True)
    return reshaping.expand_dims(dy, -1) * alike / count, None


NTH_ELEMENT = define(
    name="NthElement",
    signature="input: T, n: int32 -> values: T",
    types={"T": REAL},
    attrs={"reverse": attr("bool", default=False)},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

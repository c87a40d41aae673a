"""The sum of tensors of a given shape: AccumulateNV2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import NUMBERS
from pinnace.ops.math.arithmetic import ADD_N
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []


def _kernel(inputs: tuple[Array, ...]) -> Array:
    found: Array = ADD_N.kernel(inputs)  # type: ignore[misc]
    return found


def _infer(call: InferCall) -> Shape:
    shape: Shape = call.attrs["shape"]
    for spec in call.specs(0):
        if not shape.is_compatible_with(spec.shape):
            call.fail("all inputs must have the attribute's shape")
        shape = shape.merge_with(spec.shape)
    return shape


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return ((dy,) * len(call.inputs[0]),)


ACCUMULATE_N = define(
    name="AccumulateNV2",
    signature="inputs: N*T -> sum: T",
    types={"T": NUMBERS},
    attrs={"shape": attr("shape")},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)

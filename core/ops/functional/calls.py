"""Calling a function of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []


def _call_kernel(args: tuple[Array, ...], *, f: Any, ctx: RunContext) -> tuple[Array, ...]:
    return ctx.call(f, args)


def _infer_call(call: InferCall) -> tuple[Shape, ...]:
    return tuple(value.spec.shape for value in call.attrs["f"].graph.outputs)


_ATTRS = {
    "f": attr("func"),
    "Tout": attr("list(type)"),
    "config": attr("string", default=""),
    "config_proto": attr("string", default=""),
    "executor_type": attr("string", default=""),
}
# The gradient is made where the call is recorded, by the layer that knows functions.
PARTITIONED_CALL = register(
    OpDef(
        name="PartitionedCall",
        signature="args: (Tin) -> output: (Tout)",
        attrs={"Tin": attr("list(type)", default=()), **_ATTRS},
        infer=_infer_call,
        kernel=_call_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
STATEFUL_PARTITIONED_CALL = register(
    OpDef(
        name="StatefulPartitionedCall",
        signature="args: (Tin) -> output: (Tout)",
        attrs={"Tin": attr("list(type)", default=()), **_ATTRS},
        infer=_infer_call,
        kernel=_call_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)

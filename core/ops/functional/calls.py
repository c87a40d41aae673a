"""Calls of graph functions: PartitionedCall, and BatchFunction, which calls it directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []

_ATTRS = {
    "f": attr("func"),
    "Tout": attr("list(type)"),
    "config": attr("string", default=""),
    "config_proto": attr("string", default=""),
    "executor_type": attr("string", default=""),
}


def _call_kernel(args: tuple[Array, ...], *, f: Any, ctx: RunContext) -> tuple[Array, ...]:
    return ctx.call(f, args)


def _infer_call(call: InferCall) -> tuple[Shape, ...]:
    return tuple(value.spec.shape for value in call.attrs["f"].graph.outputs)


# The gradient is made where the call is recorded, by the layer that knows functions.
PARTITIONED_CALL = define(
    name="PartitionedCall",
    signature="args: (Tin) -> output: (Tout)",
    attrs={"Tin": attr("list(type)", default=()), **_ATTRS},
    infer=_infer_call,
    kernel=_call_kernel,
    gradient=NOT_DIFFERENTIABLE,
    runs="call",
)
STATEFUL_PARTITIONED_CALL = define(
    name="StatefulPartitionedCall",
    signature="args: (Tin) -> output: (Tout)",
    attrs={"Tin": attr("list(type)", default=()), **_ATTRS},
    infer=_infer_call,
    kernel=_call_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
    runs="call",
)


def _batch_kernel(
    in_tensors: tuple[Array, ...], captured_tensors: tuple[Array, ...], *, f: Any, ctx: RunContext
) -> tuple[Array, ...]:
    # TensorFlow joins the calls of several threads here, which does not change results; this
    # library's server joins requests before the graph runs.
    return ctx.call(f, (*in_tensors, *captured_tensors))


_SIZE, _SIZES = attr("int", default=0), attr("list(int)", default=())
BATCH_FUNCTION = define(
    name="BatchFunction",
    signature="in_tensors: (Tin), captured_tensors: (Tcaptured) -> out_tensors: (Tout)",
    attrs={
        "f": attr("func"),
        "Tin": attr("list(type)"),
        "Tcaptured": attr("list(type)"),
        "Tout": attr("list(type)"),
        **{
            name: attr("int")
            for name in ("num_batch_threads", "max_batch_size", "batch_timeout_micros")
        },
        "max_enqueued_batches": attr("int", default=10),
        "allowed_batch_sizes": _SIZES,
        **{
            name: attr("string", default="")
            for name in ("container", "shared_name", "batching_queue")
        },
        "low_priority_max_batch_size": _SIZE,
        "low_priority_batch_timeout_micros": _SIZE,
        "low_priority_allowed_batch_sizes": _SIZES,
        "low_priority_max_enqueued_batches": _SIZE,
        "mixed_priority_policy": attr("string", default="low_priority_padding_with_max_batch_size"),
        "batch_padding_policy": attr("string", default="PAD_UP"),
        "enable_large_batch_splitting": attr("bool", default=False),
    },
    infer=_infer_call,
    kernel=_batch_kernel,
    gradient=NOT_DIFFERENTIABLE,
    runs="call",
)

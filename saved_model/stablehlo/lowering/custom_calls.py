"""Custom calls: assertions about shapes, functions of TensorFlow, notes about devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.ops.array.constants import constant as constant_of
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.saved_model.stablehlo.lowering.operands import constant, ops
from pinnace.saved_model.stablehlo.lowering.regions import start_value
from pinnace.saved_model.stablehlo.lowering.registry import LOWERINGS, Call, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Operand
    from pinnace.saved_model.stablehlo.lowering.registry import Result

_PLACE = re.compile(r"\{(\d{1,2})\}")
_MOST_TEXT = 1000


@lowers("custom_call")
def lower_custom_call(call: Call) -> Result:
    """A call of an external function, by its name."""
    name = call.operation.text("call_target_name")
    known = LOWERINGS.get(f"custom_call {name}")
    if known is None:
        call.refuse(
            f"{name[:200]!r} is code outside the module, which is not run\n"
            "  Try: the model exported without it"
        )
    return known(call)


@lowers(
    "custom_call Sharding",
    "custom_call SPMDFullToShardShape",
    "custom_call SPMDShardToFullShape",
    "custom_call annotate_device_placement",
    "custom_call MoveToHost",
    "custom_call MoveToDevice",
    "custom_call LayoutConstraint",
)
def lower_note(call: Call) -> Sequence[Operand]:
    """An annotation for several devices: returns the operands, since there is one device."""
    return call.operands


@lowers("custom_call shape_assertion")
def lower_shape_assertion(call: Call) -> Sequence[Operand]:
    """An assertion about the arguments' shapes, with its error message."""
    holds = call.operand(0)
    if start_value(holds) is True:
        return ()
    text = call.operation.extra.get("error_message")
    message = text[:_MOST_TEXT] if isinstance(text, str) else "a shape is not one that is taken"
    parts: list[Any] = []
    for index, part in enumerate(_PLACE.split(message)):
        if index % 2 == 0:
            parts.append(constant_text(part))
        elif int(part) + 1 < len(call.operands):
            parts.append(call.full(int(part) + 1))
    ops("Assert", holds.full, parts)
    return ()


def constant_text(text: str) -> Tensor:
    """A string as a scalar."""
    return constant_of(text, dtypes.string)


@lowers("custom_call tf.call_tf_function")
def lower_call_of_tensorflow(call: Call) -> Sequence[Tensor]:
    """A TensorFlow function, by its index among those that the node names."""
    settings = call.operation.extra.get("tf.backend_config")
    index = settings.get("called_index") if isinstance(settings, dict) else None
    functions = call.translation.functions
    if not isinstance(index, int) or not 0 <= index < len(functions):
        call.refuse("it must name a TensorFlow function")
    if settings is not None and settings.get("has_token_input_output"):  # type: ignore[union-attr]
        call.refuse("TensorFlow functions with ordered effects are not called")
    function = functions[index].graph
    wanted = [value.dtype for value in function.inputs]
    if [operand.dtype for operand in call.operands] != wanted:
        call.refuse("the operands' dtypes must be those of the TensorFlow function")
    stateful = bool(function.effects)
    kind = STATEFUL_PARTITIONED_CALL if stateful else PARTITIONED_CALL
    return ops(
        kind.name,
        [operand.full for operand in call.operands],
        f=functions[index],
        Tout=tuple(value.dtype for value in function.outputs),
    )


@lowers("partition_id", "replica_id")
def lower_number_of_device(call: Call) -> Tensor:
    """0, since there is one device."""
    return constant(0, call.dtype)

"""Ops of CHLO, which modules carry with their decomposition: a TensorFlow op if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type, each
from pinnace.saved_model.stablehlo.lowering.operands import Operand, constant, op, ops
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.saved_model.stablehlo.lowering.registry import Result

# CHLO's op, and the older custom call of MHLO -> TensorFlow's op.
UNARY = {
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "bessel_i1e": "BesselI1e",
    "cosh": "Cosh",
    "digamma": "Digamma",
    "erf": "Erf",
    "erf_inv": "Erfinv",
    "erfc": "Erfc",
    "lgamma": "Lgamma",
    "sinh": "Sinh",
    "square": "Square",
    "tan": "Tan",
}
_FLOATS = frozenset({dtypes.float32, dtypes.float64})


def _register(name: str, tensorflow_op: str) -> None:
    @lowers(f"composite chlo.{name}", f"custom_call mhlo.{name}")
    def lower(call: Call) -> Result:
        x = call.operand(0)
        if x.dtype in _FLOATS:
            return each(lambda one: op(tensorflow_op, one), [x])
        if x.dtype in {dtypes.float16, dtypes.bfloat16}:
            return each(
                lambda one: as_type(op(tensorflow_op, as_type(one, dtypes.float32)), one.dtype),
                [x],
            )
        return _by_parts(call)

    lower.__doc__ = f"`{tensorflow_op}`; of other types than real numbers by its parts."


for _name, _op in UNARY.items():
    _register(_name, _op)


def _by_parts(call: Call) -> Sequence[Operand]:
    """Translate an op by the decomposition in the module."""
    if call.operation.name != "composite":
        call.refuse("it is not translated for this dtype")
    return call.translation.call(call.operation.text("decomposition"), call.operands)


@lowers("composite chlo.top_k", "custom_call mhlo.topk")
def lower_top_k(call: Call) -> Result:
    """The largest elements of the last axis, and their indices."""
    settings: Any = call.operation.attributes.get("composite_attributes")
    if not isinstance(settings, dict):
        settings = call.operation.extra.get("mhlo.attributes")
    count = settings.get("k") if isinstance(settings, dict) else None
    x = call.operand(0)
    whole = x.dtype in {dtypes.int32, dtypes.int64} or x.dtype in _FLOATS
    largest = settings.get("largest", True) if isinstance(settings, dict) else True
    if not isinstance(count, int) or not whole or largest is not True:
        return _by_parts(call)
    values, places = ops("TopKV2", x.full, constant(count, dtypes.int32))
    return [values, as_type(places, call.result(1).dtype)]

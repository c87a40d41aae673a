"""Regions that are equivalent to one TensorFlow op: a sum, a maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import Operand, op

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.module import Block

_KINDS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or"})
# Reducer -> the op that combines two values; of booleans, a sum is `or` and a product `and`.
JOINS = {
    "add": "AddV2",
    "multiply": "Mul",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "and": "LogicalAnd",
    "or": "LogicalOr",
}
_OF_TRUTHS = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def reducer_of(block: Block) -> str | None:
    """Return the name of the reducer that a region of two arguments computes, or None.

    `second` is the name for a region that returns its second argument.
    """
    if len(block.arguments) != 2 or not block.operations:
        return None
    returned = block.returned
    if len(returned) != 1:
        return None
    if len(block.operations) == 1:
        return "second" if returned[0] is block.arguments[1] else None
    operation = block.operations[0]
    if len(block.operations) != 2 or operation.name not in _KINDS:
        return None
    if returned[0] is not operation.results[0] or len(operation.operands) != 2:
        return None
    if set(operation.operands) != set(block.arguments):
        return None
    dtype = block.arguments[0].tensor.dtype
    if dtype is dtypes.bool:
        return _OF_TRUTHS.get(operation.name, operation.name)
    return None if operation.name in {"and", "or"} else operation.name


def neutral(kind: str, dtype: DType) -> float | int | bool | None:
    """The neutral element of a reducer, such as 0 for a sum; None if it has none."""
    if kind in {"and", "or"}:
        return kind == "and"
    if kind in {"add", "multiply"}:
        return 0 if kind == "add" else 1
    if dtype.is_floating:
        return float("-inf") if kind == "maximum" else float("inf")
    if dtype.is_integer:
        return int(dtype.min if kind == "maximum" else dtype.max)
    return None


def joined_with(kind: str, tensor: Tensor, start: Operand) -> Tensor:
    """Combine a result with the initial value, unless that is the neutral element."""
    value = start_value(start)
    if value is not None and value == neutral(kind, tensor.dtype):
        return tensor
    return op(JOINS[kind], tensor, start.full)


def start_value(start: Operand) -> float | int | bool | None:
    """The value of an operand if it is a constant scalar, else None."""
    if start.known is not None:
        number = start.known[()] if start.known.ndim == 0 else None
        return number if isinstance(number, int) else None
    node = getattr(getattr(start.small, "value", None), "node", None)
    if node is None or node.op.name != "Const" or len(start.small.shape):
        return None
    value: float | int | bool = node.attrs["value"].item()
    return value

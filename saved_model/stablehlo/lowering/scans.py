"""Loops that count, as JAX's `scan` is one: rows that are read and written one after the other.

A `scan` is a `while` with a counter from 0 to a number. It reads a row of some tensors in each
iteration, and writes a row of others. Where that is known, a place in bounds needs no clamp, and
rows are written into a list, as TensorFlow's loops do: the engine's recurrences, gradients and
other formats know those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import Operand, Size, constant, op
from pinnace.saved_model.stablehlo.module import operations_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.translation import Translation
    from pinnace.saved_model.stablehlo.module import Block, Operation, Value


# How deep calls are looked into.
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Scan:
    """A loop that counts.

    Attributes:
        counter: the place of the variable that is 0, 1, … in the iterations.
        turns: how many there are.
        written: the places of tensors that get a row in each iteration, and are not read.
    """

    counter: int
    turns: int
    written: frozenset[int]

    def count(self, tensor: Tensor) -> Operand:
        """The counter in an iteration, whose bounds are known."""
        size = Size(lambda: tensor)
        size.bounds = 0, self.turns - 1
        known = np.empty((), object)
        known[()] = size
        return Operand.of_sizes(known, dtypes.int32)

    def empty(self, operand: Operand) -> Tensor:
        """The list in place of a tensor that is written: each of its rows will be."""
        shape = constant(_row_shape(operand), dtypes.int32)
        count = constant(self.turns, dtypes.int32)
        return op("TensorListReserve", shape, count, element_dtype=operand.dtype)

    def joined(self, handle: Tensor, operand: Operand) -> Operand:
        """The tensor that was written."""
        shape = constant(_row_shape(operand), dtypes.int32)
        dtype, turns = operand.dtype, self.turns
        tensor = op("TensorListStack", handle, shape, element_dtype=dtype, num_elements=turns)
        return Operand(tensor, operand.shape)


def _row_shape(operand: Operand) -> list[int]:
    return [n if isinstance(n, int) else -1 for n in operand.shape[1:]]


def scan_of(
    translation: Translation, condition: Block, body: Block, operands: Sequence[Operand]
) -> Scan | None:
    """How a loop counts; None if it does not, or not in a way that is known here."""
    limit = _limit(translation, condition, body)
    if limit is None or len(body.returned) != len(operands) != 0:
        return None
    place, turns = limit
    start = operands[place].known
    if turns < 1 or start is None or start.ndim or start[()] != 0:
        return None
    counter = body.arguments[place]
    written = frozenset(
        k
        for k, operand in enumerate(operands)
        if k != place and _is_written(translation, condition, body, k, counter, operand, turns)
    )
    return Scan(place, turns, written)


def _limit(translation: Translation, condition: Block, body: Block) -> tuple[int, int] | None:
    """The place of the counter, and the number that it stays below."""
    test = _maker(condition, condition.returned[0]) if len(condition.returned) == 1 else None
    if test is None or test.name != "compare" or len(test.operands) != 2:
        return None
    counted, most = test.operands
    if test.text("comparison_direction") != "LT" or counted not in condition.arguments:
        return None
    place = condition.arguments.index(counted)
    turns = _number(translation, condition, most)
    if place >= len(body.returned) or counted.tensor.dtype is not dtypes.int32:
        return None
    step = _maker(body, body.returned[place])
    if turns is None or step is None or step.name != "add" or len(step.operands) != 2:
        return None
    argument = body.arguments[place]
    ways = (step.operands, step.operands[::-1])
    counts = any(one is argument and _number(translation, body, by) == 1 for one, by in ways)
    return (place, turns) if counts else None


def _is_written(
    translation: Translation,
    condition: Block,
    body: Block,
    place: int,
    counter: Value,
    operand: Operand,
    turns: int,
) -> bool:
    """Whether a tensor gets its row in each iteration, and nothing else happens to it."""
    argument = body.arguments[place]
    if operand.rank == 0 or operand.shape[0] != turns or operand.dtype is not argument.tensor.dtype:
        return False
    if _uses(condition, condition.arguments[place]):
        return False
    return _writes(translation, body, body.returned[place], argument, counter)


def _writes(
    translation: Translation,
    block: Block,
    made: Value,
    whole: Value,
    counter: Value,
    depth: int = 0,
) -> bool:
    """Whether a value is a tensor with its row of this number replaced, here or in what is called.

    The tensor is not taken elsewhere, nor is the value: both may be lists.
    """
    write = _maker(block, made)
    if write is None or not _uses(block, whole) == _uses(block, made) == 1:
        return False
    if write.name == "call" and depth < _DEPTH:
        given = write.operands
        if whole not in given or counter not in given:
            return False
        called = translation.module.function(write.text("callee"))
        arguments = called.arguments[given.index(whole)], called.arguments[given.index(counter)]
        result = called.returned[write.results.index(made)]
        return _writes(translation, called, result, *arguments, depth + 1)
    if write.name != "dynamic_update_slice" or write.operands[0] is not whole:
        return False
    _, update, *starts = write.operands
    shape = whole.tensor.shape
    if len(starts) != len(shape) or starts[0] is not counter:
        return False
    if update.tensor.shape[:1] != (1,) or update.tensor.shape[1:] != shape[1:]:
        return False
    return all(_number(translation, block, start) == 0 for start in starts[1:])


def _maker(block: Block, value: Value) -> Operation | None:
    """The op of a block that makes a value."""
    return next((one for one in block.operations if value in one.results), None)


def _number(translation: Translation, block: Block, value: Value) -> int | None:
    """A whole number that is a constant inside of a block, or before it."""
    made = _maker(block, value)
    if made is not None:
        if made.name != "constant":
            return None
        held = made.constant("value")
        whole = held.type.dtype in {dtypes.int32, dtypes.int64} and held.content.size == 1
        return int(held.content.reshape(-1)[0]) if whole else None
    outer = None if value in block.arguments else translation.outer(value)
    if outer is None or outer.known is None or outer.known.size != 1:
        return None
    number = outer.known.reshape(-1)[0]
    return number if isinstance(number, int) else None


def _uses(block: Block, value: Value) -> int:
    """How often a value is taken in a block, and in the regions in it."""
    return sum(one is value for operation in operations_of(block) for one in operation.operands)

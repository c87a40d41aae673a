"""Sorting by the keys that a comparator compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type, ordered_bits, widened
from pinnace.saved_model.stablehlo.lowering.operands import Operand, constant, op, ops, size_tensor
from pinnace.saved_model.stablehlo.lowering.registry import ELEMENTWISE, Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import transposed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.module import Block, Operation, Value

# The most ops between an argument of a comparator and the comparison.
_MOST_STEPS = 64


class Key(NamedTuple):
    """A sort key.

    Attributes:
        pair: the index of the operand.
        value: the compared value of one side of the comparator.
        argument: the argument of that side.
        descending: whether the largest comes first.
    """

    pair: int
    value: Value
    argument: Value
    descending: bool


@lowers("sort")
def lower_sort(call: Call) -> Sequence[Operand]:
    """Slices along an axis, sorted stably by a comparator."""
    axis, block = call.operation.integer("dimension"), call.operation.region()
    call.operand(0)
    xs = call.operands
    if not 0 <= axis < xs[0].rank or len(block.arguments) != 2 * len(xs):
        call.refuse("its comparator or its axis does not match its operands")
    keys = Comparator(block).keys()
    if keys is None:
        call.refuse("only comparators that compare keys one after the other are translated")
    order = [*(n for n in range(xs[0].rank) if n != axis), axis]
    ys = [transposed(x, order).full for x in xs]
    size = size_tensor(xs[0].shape[axis])
    # From the last key to the first, by stable sorts.
    for key in reversed(keys):
        numbers = _numbers(call, block, key, Operand.of(ys[key.pair]))
        if not key.descending:
            numbers = op("Invert", numbers)
        _, places = ops("TopKV2", numbers, size)
        batch = len(order) - 1
        ys = [op("GatherV2", y, places, batch, batch_dims=batch) for y in ys]
    back = sorted(range(len(order)), key=lambda index: order[index])
    found = []
    for x, y in zip(xs, ys, strict=True):
        turned = transposed(Operand(y, [x.shape[n] for n in order]), back)
        found.append(Operand(turned.full, x.shape))
    return found


def _numbers(call: Call, block: Block, key: Key, x: Operand) -> Tensor:
    """The keys as integers with the same order."""
    made = {value: one for one in block.operations for value in one.results}
    needed: set[Operation] = set()
    waiting = [key.value]
    while waiting:
        operation = made.get(waiting.pop())
        if operation is not None and operation not in needed:
            needed.add(operation)
            waiting.extend(operation.operands)
    found = call.translation.some(
        [one for one in block.operations if one in needed], {key.argument: x}, key.value
    )
    numbers = widened(Operand(found.small, x.shape, found.spread).full)
    if numbers.dtype.is_floating:
        numbers = ordered_bits(numbers)
    if numbers.dtype is dtypes.uint64:
        # The highest bit flipped: the order of signed numbers becomes that of unsigned ones.
        turned = op("BitwiseXor", numbers, constant(1 << 63, dtypes.uint64))
        return op("Bitcast", turned, type=dtypes.int64)
    if numbers.dtype in {dtypes.int32, dtypes.int64}:
        return numbers
    return as_type(numbers, dtypes.int64 if numbers.dtype is dtypes.uint32 else dtypes.int32)


class Comparator:
    """A region that says which of two elements comes first.

    Args:
        block: the region; its arguments are pairs, one for each operand.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._arguments = {value: index for index, value in enumerate(block.arguments)}
        self._made = {value: one for one in block.operations for value in one.results}
        self._known: dict[Value, list[Key] | None] = {}

    def keys(self) -> list[Key] | None:
        """The keys that it compares, the most significant first; None if it does anything else."""
        returned = self._block.returned
        if len(returned) != 1 or any(
            one.name not in ELEMENTWISE for one in self._block.operations[:-1]
        ):
            return None
        return self._keys_of(returned[0], 0)

    def _keys_of(self, value: Value, depth: int) -> list[Key] | None:
        if value not in self._known:
            self._known[value] = self._found(value, depth)
        return self._known[value]

    def _found(self, value: Value, depth: int) -> list[Key] | None:
        operation = self._made.get(value)
        if operation is None or depth > _MOST_STEPS:
            return None
        if operation.name == "compare":
            found = self._comparison(operation)
            return [found[0]] if found is not None and found[1] in {"LT", "GT"} else None
        if operation.name == "or":
            x, y = operation.operands
            return self._first_or_rest(x, y, depth) or self._first_or_rest(y, x, depth)
        if operation.name == "select":  # if equal, the rest, else the first key
            same, rest, first = operation.operands
            return self._chain(first, same, rest, depth)
        return None

    def _first_or_rest(self, first: Value, other: Value, depth: int) -> list[Key] | None:
        """Less by the first key, or equal by it and less by the rest."""
        both = self._made.get(other)
        if both is None or both.name != "and":
            return None
        x, y = both.operands
        return self._chain(first, x, y, depth) or self._chain(first, y, x, depth)

    def _chain(self, first: Value, same: Value, rest: Value, depth: int) -> list[Key] | None:
        head = self._keys_of(first, depth + 1)
        operation = self._made.get(same)
        if head is None or len(head) != 1 or operation is None or operation.name != "compare":
            return None
        equal = self._comparison(operation)
        if equal is None or equal[1] != "EQ" or equal[0].pair != head[0].pair:
            return None
        tail = self._keys_of(rest, depth + 1)
        return None if tail is None else head + tail

    def _comparison(self, operation: Operation) -> tuple[Key, str] | None:
        """The key and direction of a comparison of one expression on both sides, else None."""
        left, right = operation.operands
        first, second = self._text(left), self._text(right)
        if first is None or second is None or first[0] != second[0]:
            return None
        x, y = self._arguments[first[1]], self._arguments[second[1]]
        if x // 2 != y // 2 or x == y:
            return None
        direction = operation.text("comparison_direction")
        descending = (direction == "GT") != (x > y)
        return Key(x // 2, left, first[1], descending), direction

    def _text(self, value: Value) -> tuple[str, Value] | None:
        """The expression that computes a value, and the one argument that it uses; else None."""
        found: set[Value] = set()
        parts: list[str] = []
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if one in self._arguments:
                found.add(one)
                parts.append("argument")
                continue
            operation = self._made.get(one)
            if len(parts) > _MOST_STEPS:
                return None
            if operation is None:
                parts.append(f"outside {id(one)}")
                continue
            parts.append(_description(operation))
            waiting.extend(operation.operands)
        return (" ".join(parts), found.pop()) if len(found) == 1 else None


def _description(operation: Operation) -> str:
    if operation.name == "constant":
        value = operation.constant("value")
        if value.content.size == 1:
            return f"{value.type} {value.content.tobytes().hex()}"
        return f"constant {id(operation)}"
    words = [one for one in operation.attributes.values() if isinstance(one, str)]
    return f"{operation.name}/{len(operation.operands)} {words} {operation.results[0].type}"

"""Counting loops, such as JAX's `scan`, that read and write one row in each iteration.

A `scan` is a `while` with a counter from 0 to a number. It reads a row of some tensors in each
iteration, and writes a row of others. In such loops an index known to be in bounds needs no clamp,
and rows are written into a list, as in TensorFlow's loops: the engine's recurrences, gradients and
exports recognise those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.last_rows import remember
from pinnace.saved_model.stablehlo.lowering.operands import Operand, Rows, Size, constant, op
from pinnace.saved_model.stablehlo.lowering.row_products import product_of
from pinnace.saved_model.stablehlo.module import operations_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.row_products import RowProduct
    from pinnace.saved_model.stablehlo.lowering.translation import Translation
    from pinnace.saved_model.stablehlo.module import Block, Operation, Value

    # A factor of the counter, and an offset.
    _Place: TypeAlias = "tuple[int, int]"

_SLICES = frozenset({"dynamic_slice", "real_dynamic_slice"})
# The depth to which calls are analysed.
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Scan:
    """A counting loop.

    Attributes:
        counter: the index of the variable that counts the iterations.
        turns: the number of iterations.
        counters: index of a counting variable -> its first value, and its increment.
        written: index of a tensor that gets a row in each iteration and is not read -> 1 if the
            rows are written from the first to the last, -1 if from the last.
        products: index of a tensor that does not change and is read by rows -> its factors, if the
            loop should multiply row by row instead.
    """

    counter: int
    turns: int
    counters: Mapping[int, tuple[int, int]]
    written: Mapping[int, int]
    products: Mapping[int, RowProduct]

    def count(self, place: int, tensor: Tensor) -> Operand:
        """A counter in an iteration, with its bounds."""
        first, step = self.counters[place]
        last = first + step * (self.turns - 1)
        size = Size(lambda: tensor)
        size.bounds = min(first, last), max(first, last)
        known = np.empty((), object)
        known[()] = size
        return Operand.of_sizes(known, dtypes.int32)

    def empty(self, operand: Operand) -> Tensor:
        """The list that replaces a tensor of which every row is written.

        Rows are in the order of the iterations, as in TensorFlow's loops.
        """
        shape = constant(_row_shape(operand), dtypes.int32)
        count = constant(self.turns, dtypes.int32)
        return op("TensorListReserve", shape, count, element_dtype=operand.dtype)

    def rows(self, handle: Tensor, shape: Sequence[Dim], counter: Tensor) -> Rows:
        """The operand for such a list in an iteration."""
        first, _ = self.counters[self.counter]

        def iteration() -> Tensor:
            start = constant(first, dtypes.int32)
            return counter if first == 0 else op("Sub", counter, start)

        return Rows(handle, shape, Size(iteration))

    def joined(self, place: int, handle: Tensor, operand: Operand, last: Tensor | None) -> Operand:
        """The tensor after all rows are written.

        Args:
            place: the index of the variable.
            handle: the list of its rows.
            operand: the tensor before the loop.
            last: the row of the last iteration if it is also a state, else None.
        """
        shape = constant(_row_shape(operand), dtypes.int32)
        dtype, turns = operand.dtype, self.turns
        tensor = op("TensorListStack", handle, shape, element_dtype=dtype, num_elements=turns)
        if last is not None:
            remember(tensor, turns - 1, last)
        if self.written[place] < 0:
            tensor = op("ReverseV2", tensor, constant([0], dtypes.int32))
            if last is not None:
                remember(tensor, 0, last)
        return Operand(tensor, operand.shape)


def _row_shape(operand: Operand) -> list[int]:
    return [n if isinstance(n, int) else -1 for n in operand.shape[1:]]


def scan_of(
    translation: Translation, condition: Block, body: Block, operands: Sequence[Operand]
) -> Scan | None:
    """Analyse a counting loop; None if the loop does not count, or not in a known way."""
    if not len(condition.arguments) == len(body.returned) == len(operands) != 0:
        return None
    limit = _limit(translation, condition, body, operands)
    if limit is None:
        return None
    place, end = limit
    start = _known(operands[place])
    if start is None or start >= end:
        return None
    turns = end - start
    counters = {
        k: (first, step)
        for k, (first, step) in _counters(translation, body, operands).items()
        if dtypes.int32.min <= first + step * turns <= dtypes.int32.max
    }
    places = {body.arguments[k]: (step, first) for k, (first, step) in counters.items()}
    # The list does not have the tensor's rows, so that every row must be written.
    written = {
        k: way
        for k, operand in enumerate(operands)
        if k not in counters
        if (way := _written(translation, condition, body, k, places, operand, turns))
    }
    products = {
        k: product
        for k, operand in enumerate(operands)
        if body.returned[k] is body.arguments[k]
        if not _uses(condition, condition.arguments[k])
        if (product := _product(operand)) is not None
        if _reads_rows(translation, body, body.arguments[k])
    }
    return Scan(place, turns, counters, written, products) if place in counters else None


def _product(operand: Operand) -> RowProduct | None:
    if operand.rank != 3 or operand.spread or len(operand.small.shape) != 3:
        return None
    product = product_of(operand.small)
    return product if product is not None and product.is_held else None


def _reads_rows(translation: Translation, block: Block, whole: Value, depth: int = 0) -> bool:
    """Whether a block, or a function that it calls, only reads a row of a tensor or returns it."""
    takers = [one for one in operations_of(block) if whole in one.operands if one.name != "return"]
    return len(takers) == 1 and _reads_row(translation, takers[0], whole, depth)


def _reads_row(translation: Translation, taker: Operation, whole: Value, depth: int) -> bool:
    if taker.operands.count(whole) > 1 or depth > _DEPTH:
        return False
    if taker.name == "call":
        called = translation.module.function(taker.text("callee"))
        argument = called.arguments[taker.operands.index(whole)]
        handed_on = argument in called.returned
        return not handed_on and _reads_rows(translation, called, argument, depth + 1)
    is_slice = taker.name in _SLICES and taker.operands[0] is whole
    return is_slice and taker.results[0].tensor.shape[:1] == (1,)


def _counters(
    translation: Translation, body: Block, operands: Sequence[Operand]
) -> dict[int, tuple[int, int]]:
    """The variables to which a constant is added in each iteration."""
    found: dict[int, tuple[int, int]] = {}
    for place, operand in enumerate(operands):
        first, argument = _known(operand), body.arguments[place]
        if first is None or argument.tensor.dtype is not dtypes.int32:
            continue
        factor, step = _place(translation, body, body.returned[place], {argument: (1, 0)}) or (0, 0)
        if factor == 1:
            found[place] = first, step
    return found


def _known(operand: Operand) -> int | None:
    """The value of a known integer scalar, else None."""
    number = None if operand.known is None or operand.known.ndim else operand.known[()]
    return number if isinstance(number, int) else None


def _limit(
    translation: Translation, condition: Block, body: Block, operands: Sequence[Operand]
) -> tuple[int, int] | None:
    """The index of the counter, and its upper limit, which it does not reach."""
    test = _maker(condition, condition.returned[0]) if len(condition.returned) == 1 else None
    if test is None or test.name != "compare" or len(test.operands) != 2:
        return None
    counted, most = test.operands
    if test.text("comparison_direction") != "LT" or counted not in condition.arguments:
        return None
    place = condition.arguments.index(counted)
    if counted.tensor.dtype is not dtypes.int32:
        return None
    turns = _number(translation, condition, most)
    if most in condition.arguments:  # a variable that does not change
        other = condition.arguments.index(most)
        stays = body.returned[other] is body.arguments[other]
        turns = _known(operands[other]) if stays else None
    step = _maker(body, body.returned[place])
    if turns is None or step is None or step.name != "add" or len(step.operands) != 2:
        return None
    argument = body.arguments[place]
    ways = (step.operands, step.operands[::-1])
    counts = any(one is argument and _number(translation, body, by) == 1 for one, by in ways)
    return (place, turns) if counts else None


def _written(
    translation: Translation,
    condition: Block,
    body: Block,
    place: int,
    places: Mapping[Value, _Place],
    operand: Operand,
    turns: int,
) -> int:
    """See `Scan.written`; 0 if anything else happens to a tensor."""
    argument = body.arguments[place]
    if operand.rank == 0 or operand.shape[0] != turns or operand.dtype is not argument.tensor.dtype:
        return 0
    if _uses(condition, condition.arguments[place]):
        return 0
    return _writes(translation, body, body.returned[place], argument, places)


def _writes(
    translation: Translation,
    block: Block,
    made: Value,
    whole: Value,
    places: Mapping[Value, _Place],
    depth: int = 0,
) -> int:
    """Whether a value is a tensor with one row replaced, here or in a called function.

    Neither the tensor nor the value is used elsewhere, since both may be lists.

    Returns:
        1 for the row with the iteration's number, -1 for that row from the end, 0 for others.
    """
    write = _maker(block, made)
    if write is None or not _uses(block, whole) == _uses(block, made) == 1:
        return 0
    if write.name == "call" and depth < _DEPTH:
        given = write.operands
        if whole not in given:
            return 0
        called = translation.module.function(write.text("callee"))
        known = _passed(translation, block, write, called, places)
        result = called.returned[write.results.index(made)]
        argument = called.arguments[given.index(whole)]
        return _writes(translation, called, result, argument, known, depth + 1)
    if write.name != "dynamic_update_slice" or write.operands[0] is not whole:
        return 0
    _, update, *starts = write.operands
    shape = whole.tensor.shape
    if len(starts) != len(shape) or shape[0] is None:
        return 0
    factor, first = _place(translation, block, starts[0], places) or (0, 0)
    if (factor, first) not in {(1, 0), (-1, shape[0] - 1)}:
        return 0
    if update.tensor.shape[:1] != (1,) or update.tensor.shape[1:] != shape[1:]:
        return 0
    whole_rows = all(_number(translation, block, start) == 0 for start in starts[1:])
    return factor if whole_rows else 0


def _place(
    translation: Translation,
    block: Block,
    value: Value,
    places: Mapping[Value, _Place],
    depth: int = 0,
) -> _Place | None:
    """An index as a multiple of the iteration's number plus a constant, or None."""
    if value in places:
        return places[value]
    if value.tensor.dtype is not dtypes.int32 or value.tensor.shape or depth > _DEPTH:
        return None
    number = _number(translation, block, value)
    if number is not None:
        return 0, number
    made = _maker(block, value)
    if made is not None and made.name == "call":
        called = translation.module.function(made.text("callee"))
        known = _passed(translation, block, made, called, places, depth + 1)
        result = called.returned[made.results.index(value)]
        return _place(translation, called, result, known, depth + 1)
    if made is None or made.name not in {"add", "subtract"} or len(made.operands) != 2:
        return None
    x, y = (_place(translation, block, one, places, depth + 1) for one in made.operands)
    if x is None or y is None:
        return None
    sign = 1 if made.name == "add" else -1
    return x[0] + sign * y[0], x[1] + sign * y[1]


def _passed(
    translation: Translation,
    block: Block,
    call: Operation,
    called: Block,
    places: Mapping[Value, _Place],
    depth: int = 0,
) -> dict[Value, _Place]:
    """The known indices among the arguments of a called function."""
    pairs = zip(called.arguments, call.operands, strict=True)
    found = {one: _place(translation, block, value, places, depth) for one, value in pairs}
    return {argument: place for argument, place in found.items() if place is not None}


def _maker(block: Block, value: Value) -> Operation | None:
    """The op of a block that produces a value, or None."""
    return next((one for one in block.operations if value in one.results), None)


def _number(translation: Translation, block: Block, value: Value) -> int | None:
    """An integer constant inside a block or before it, else None."""
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
    """The number of uses of a value in a block and its regions."""
    return sum(one is value for operation in operations_of(block) for one in operation.operands)

"""Recurrent layers as loops over time. Their state is zero where a run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.reading.operators.convolution import with_bias
from pinnace.deploy.lite.reading.quantised import is_quantised
from pinnace.deploy.lite.reading.registry import Call, activated, clipped, constant, like, op, reads
from pinnace.framework import dtypes
from pinnace.functions.control.looping import while_loop
from pinnace.ops.composites.tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor

    Step = Callable[[Tensor, list[Tensor]], list[Tensor]]

_SMALL = 1e-8  # what LiteRT adds to variances
# Inputs of the LSTM: gates in this order, from these places on.
_GATES = ("input", "forget", "cell", "output")
_MOST_LSTM_INPUTS = 24
_BOTH_WAYS = 39


def _over_time(
    call: Call, x: Tensor, sizes: Sequence[int], step: Step, *, backwards: bool = False
) -> Tensor:
    """The results of a step at each time, [batch, time, ...]: its first state.

    Args:
        call: of the operator.
        x: [batch, time, ...], or [time, batch, ...] if the operator says so.
        sizes: of the states.
        step: new states of a part of `x` and of the old ones.
        backwards: whether time runs backwards.
    """
    first_is_time = bool(call.options["time_major"])
    if x.shape.rank != 3:
        call.damaged(f"its input has {x.shape.rank} axes, and has to have 3")
    if not first_is_time:
        x = op("Transpose", x, constant([1, 0, 2], dtypes.int32))
    length = op("Shape", x)[0] if x.shape[0] is None else constant(x.shape[0], dtypes.int32)
    batch = op("Shape", x)[1] if x.shape[1] is None else constant(x.shape[1], dtypes.int32)
    states = [
        op("Fill", op("Pack", [batch, constant(size, dtypes.int32)]), like(0.0, x))
        for size in sizes
    ]
    known = [x.shape[1], sizes[0]]
    array = TensorArray(x.dtype, size=x.shape[0] or length, element_shape=known)
    last = length - 1

    def turn(number: Tensor, given: Any, *old: Tensor) -> tuple[Any, ...]:
        at = last - number if backwards else number
        part = op("GatherV2", x, at, constant(0, dtypes.int32))
        new = step(part, list(old))
        return (number + 1, given.write(at, new[0]), *new)

    found = while_loop(
        lambda number, *_: number < length, turn, [constant(0, dtypes.int32), array, *states]
    )
    whole = found[1].stack()
    if first_is_time:
        return whole  # type: ignore[no-any-return]
    return op("Transpose", whole, constant([1, 0, 2], dtypes.int32))


def _product(x: Tensor, weights: Tensor) -> Tensor:
    return op("MatMul", x, weights, transpose_b=True)


def _refuse_whole(call: Call) -> None:
    source = call.source(0)
    if is_quantised(source.dtype, source.quantization):
        call.fail(
            "its input is of whole numbers: LiteRT rounds inside of each step, by scales that are "
            "no tensor's; layers of real numbers, and of whole weights, are read"
        )


class _Lstm:
    """The weights of one direction.

    Args:
        call: of the operator.
        first: the place of the first of its weights.
        norms: the place of the first factor of its normalisation, None if there can be none.
    """

    def __init__(self, call: Call, first: int, norms: int | None) -> None:
        def inputs(place: int, count: int = 4) -> list[Tensor | None]:
            return [call.x(n) if call.has(n) else None for n in range(place, place + count)]

        self.call = call
        self.of_x, self.of_h = inputs(first), inputs(first + 4)
        # The cell's own gate has no look at the cell.
        entry, forget, out = inputs(first + 8, 3)
        self.of_cell = [entry, forget, None, out]
        self.biases = inputs(first + 11)
        self.projection, self.projection_bias = inputs(first + 15, 2)
        self.norms = [None] * 4 if norms is None else inputs(norms)
        if any(self.of_x[n] is None or self.of_h[n] is None for n in (1, 2, 3)):
            call.damaged("one of its gates has no weights")
        weights: Any = self.of_x[1]
        cells = weights.shape[0]
        outputs = cells if self.projection is None else self.projection.shape[0]
        if cells is None or outputs is None:
            call.fail("how many cells it has is not known")
        self.sizes = [int(outputs), int(cells)]

    def gate(self, which: int, x: Tensor, h: Tensor, cell: Tensor | None) -> Tensor:
        """A gate before its activation."""
        of_x, of_h = self.of_x[which], self.of_h[which]
        found = op("AddV2", _product(x, of_x), _product(h, of_h))  # type: ignore[arg-type]
        look = self.of_cell[which]
        if look is not None and cell is not None:
            found = op("AddV2", found, op("Mul", cell, look))
        norm = self.norms[which]
        if norm is not None:
            axis = constant([-1], dtypes.int32)
            mean = op("Mean", found, axis, keep_dims=True)
            centred = op("Sub", found, mean)
            variance = op("Mean", op("Square", centred), axis, keep_dims=True)
            scale = op("Rsqrt", op("AddV2", variance, like(_SMALL, found)))
            found = op("Mul", op("Mul", centred, scale), norm)
        bias = self.biases[which]
        return found if bias is None else op("AddV2", found, bias)

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        """The output and the cells after one more part of the input."""
        h, cell = states
        options = self.call.options
        forget = op("Sigmoid", self.gate(1, x, h, cell))
        if self.of_x[0] is None:  # forgetting and taking in are coupled
            entry = op("Sub", like(1.0, forget), forget)
        else:
            entry = op("Sigmoid", self.gate(0, x, h, cell))
        new = self._activated(self.gate(2, x, h, None))
        cell = op("AddV2", op("Mul", forget, cell), op("Mul", entry, new))
        limit = float(options["cell_clip"])
        if limit > 0:
            cell = clipped(cell, -limit, limit)
        out = op("Sigmoid", self.gate(3, x, h, cell))
        h = op("Mul", out, self._activated(cell))
        if self.projection is not None:
            h = _product(h, self.projection)
            if self.projection_bias is not None:
                h = op("AddV2", h, self.projection_bias)
            limit = float(options["proj_clip"])
            if limit > 0:
                h = clipped(h, -limit, limit)
        return [h, cell]

    def _activated(self, x: Tensor) -> Tensor:
        return activated(self.call, x, self.call.options["fused_activation_function"])


@reads("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(call: Call) -> Tensor:
    """With looks at the cell, projection, normalisation and coupled gates, where there are such."""
    _refuse_whole(call)
    if call.options["diagonal_recurrent_tensors"]:
        call.fail("its recurrent weights are diagonals, which is not read")
    if call.count > _MOST_LSTM_INPUTS:
        call.damaged(f"it has {call.count} inputs")
    layer = _Lstm(call, 1, 20)
    return _over_time(call, call.x(0), layer.sizes, layer.step)


@reads("BIDIRECTIONAL_SEQUENCE_LSTM")
def lstm_both_ways(call: Call) -> Sequence[Tensor]:
    """One after the time, one against it: side by side, or two outputs."""
    _refuse_whole(call)
    if any(call.has(index) for index in range(_BOTH_WAYS, call.count)):
        call.fail("it takes a second input, which is not read")
    x = call.x(0)
    made = []
    for first, backwards in ((1, False), (18, True)):
        layer = _Lstm(call, first, None)
        made.append(_over_time(call, x, layer.sizes, layer.step, backwards=backwards))
    return _side_by_side(call, made)


def _side_by_side(call: Call, made: Sequence[Tensor]) -> Sequence[Tensor]:
    if call.options["merge_outputs"]:
        return [op("ConcatV2", list(made), constant(2, dtypes.int32))]
    return made


def _simple(call: Call, first: int) -> tuple[list[int], Step]:
    """A layer of one product: its size and its step."""
    weights, again, bias = (call.x(first + n) for n in range(3))
    size = weights.shape[0]
    if size is None:
        call.fail("how many units it has is not known")

    def step(x: Tensor, states: list[Tensor]) -> list[Tensor]:
        total = op("AddV2", _product(x, weights), _product(states[0], again))
        total = op("AddV2", total, bias)
        return [activated(call, total, call.options["fused_activation_function"])]

    return [size], step


@reads("UNIDIRECTIONAL_SEQUENCE_RNN")
def simple_rnn(call: Call) -> Tensor:
    """One product of what comes in and what went out."""
    _refuse_whole(call)
    sizes, step = _simple(call, 1)
    return _over_time(call, call.x(0), sizes, step)


@reads("BIDIRECTIONAL_SEQUENCE_RNN")
def simple_both_ways(call: Call) -> Sequence[Tensor]:
    """One after the time, one against it."""
    _refuse_whole(call)
    if any(call.has(index) for index in range(9, call.count)):
        call.fail("it takes a second input, which is not read")
    x = call.x(0)
    made = []
    for first, backwards in ((1, False), (5, True)):
        sizes, step = _simple(call, first)
        made.append(_over_time(call, x, sizes, step, backwards=backwards))
    return _side_by_side(call, made)


@reads("RNN")
def rnn_step(call: Call) -> Tensor:
    """One step of it, from zeros."""
    _refuse_whole(call)
    x, weights = call.x(0), call.x(1)
    return activated(
        call,
        with_bias(call, _product(x, weights), 3),
        call.options["fused_activation_function"],
    )

"""Recurrent layers in floats, and those with quantised weights and float activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.reading.operators.convolution import with_bias
from pinnace.deploy.lite.reading.operators.over_time import over_time, product
from pinnace.deploy.lite.reading.operators.whole_lstm import whole_lstm
from pinnace.deploy.lite.reading.quantised import is_quantised
from pinnace.deploy.lite.reading.registry import Call, activated, clipped, constant, like, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.reading.operators.over_time import Step
    from pinnace.framework.tensor import Tensor

_SMALL = 1e-8  # added to variances in LiteRT's kernel
# The LSTM's inputs: weights of the gates in this order, from these indices on.
_GATES = ("input", "forget", "cell", "output")
_MOST_LSTM_INPUTS = 24
_STATES = (18, 19)
_BOTH_WAYS = 39


def _refuse_whole(call: Call) -> None:
    source = call.source(0)
    if is_quantised(source.dtype, source.quantization):
        call.fail(
            "its input is quantised, for which LiteRT has no kernel; only layers with float "
            "activations are supported"
        )


class _Lstm:
    """The weights of one direction of an LSTM.

    Args:
        call: the operator.
        first: the index of its first weights.
        norms: the index of its first layer normalisation weights; None for none.
    """

    def __init__(self, call: Call, first: int, norms: int | None) -> None:
        def inputs(place: int, count: int = 4) -> list[Tensor | None]:
            return [call.x(n) if call.has(n) else None for n in range(place, place + count)]

        self.call = call
        self.of_x, self.of_h = inputs(first), inputs(first + 4)
        # The cell gate has no peephole.
        entry, forget, out = inputs(first + 8, 3)
        self.of_cell = [entry, forget, None, out]
        self.biases = inputs(first + 11)
        self.projection, self.projection_bias = inputs(first + 15, 2)
        self.norms = [None] * 4 if norms is None else inputs(norms)
        if any(self.of_x[n] is None or self.of_h[n] is None for n in (1, 2, 3)):
            call.damaged("a gate lacks its weights")
        weights: Any = self.of_x[1]
        cells = weights.shape[0]
        outputs = cells if self.projection is None else self.projection.shape[0]
        if cells is None or outputs is None:
            call.fail("the number of its cells must be known")
        self.sizes = [int(outputs), int(cells)]

    def gate(self, which: int, x: Tensor, h: Tensor, cell: Tensor | None) -> Tensor:
        """A gate before its activation."""
        of_x, of_h = self.of_x[which], self.of_h[which]
        found = op("AddV2", product(x, of_x), product(h, of_h))  # type: ignore[arg-type]
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
        """The new output and cell state after a step of the input."""
        h, cell = states
        options = self.call.options
        forget = op("Sigmoid", self.gate(1, x, h, cell))
        if self.of_x[0] is None:  # input and forget gate are coupled
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
            h = product(h, self.projection)
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
    """LSTM outputs, with peepholes, projection, layer normalisation, coupled gates if given."""
    if call.options["diagonal_recurrent_tensors"]:
        call.fail("its recurrent weights are diagonal, which is not supported")
    if call.count > _MOST_LSTM_INPUTS:
        call.damaged(f"it has {call.count} inputs")
    source = call.source(0)
    if is_quantised(source.dtype, source.quantization):
        return whole_lstm(call)
    layer = _Lstm(call, 1, 20)
    first = [call.x(place) for place in _STATES] if call.is_argument(_STATES[0]) else None
    return over_time(call, call.x(0), layer.sizes, layer.step, first=first)


@reads("BIDIRECTIONAL_SEQUENCE_LSTM")
def lstm_both_ways(call: Call) -> Sequence[Tensor]:
    """LSTM outputs in both directions, concatenated or as two outputs."""
    _refuse_whole(call)
    if any(call.has(index) for index in range(_BOTH_WAYS, call.count)):
        call.fail("it has an auxiliary input, which is not supported")
    x = call.x(0)
    made = []
    for first, backwards in ((1, False), (18, True)):
        layer = _Lstm(call, first, None)
        made.append(over_time(call, x, layer.sizes, layer.step, backwards=backwards))
    return _side_by_side(call, made)


def _side_by_side(call: Call, made: Sequence[Tensor]) -> Sequence[Tensor]:
    if call.options["merge_outputs"]:
        return [op("ConcatV2", list(made), constant(2, dtypes.int32))]
    return made


def _simple(call: Call, first: int) -> tuple[list[int], Step]:
    """The size and the step of a simple recurrent layer."""
    weights, again, bias = (call.x(first + n) for n in range(3))
    size = weights.shape[0]
    if size is None:
        call.fail("the number of its units must be known")

    def step(x: Tensor, states: list[Tensor]) -> list[Tensor]:
        total = op("AddV2", product(x, weights), product(states[0], again))
        total = op("AddV2", total, bias)
        return [activated(call, total, call.options["fused_activation_function"])]

    return [size], step


@reads("UNIDIRECTIONAL_SEQUENCE_RNN")
def simple_rnn(call: Call) -> Tensor:
    """The outputs of a simple recurrent layer: activation(W x + R h + b)."""
    _refuse_whole(call)
    sizes, step = _simple(call, 1)
    return over_time(call, call.x(0), sizes, step)


@reads("BIDIRECTIONAL_SEQUENCE_RNN")
def simple_both_ways(call: Call) -> Sequence[Tensor]:
    """Simple recurrent layers in both directions."""
    _refuse_whole(call)
    if any(call.has(index) for index in range(9, call.count)):
        call.fail("it has an auxiliary input, which is not supported")
    x = call.x(0)
    made = []
    for first, backwards in ((1, False), (5, True)):
        sizes, step = _simple(call, first)
        made.append(over_time(call, x, sizes, step, backwards=backwards))
    return _side_by_side(call, made)


@reads("RNN")
def rnn_step(call: Call) -> Tensor:
    """One step of a simple recurrent layer, from a zero state."""
    _refuse_whole(call)
    x, weights = call.x(0), call.x(1)
    return activated(
        call,
        with_bias(call, product(x, weights), 3),
        call.options["fused_activation_function"],
    )

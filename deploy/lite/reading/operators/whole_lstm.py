"""The integer LSTM, int8 between steps and int16 inside, rounded where LiteRT rounds.

All integers are held in float32: sums of up to a thousand products of int8 are exact in it.

Source: lite/kernels/lstm_eval.cc, `LstmStepInteger8x8_16`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.reading.operators.over_time import over_time, product
from pinnace.deploy.lite.reading.quantised import centred, nearest, one_scale
from pinnace.deploy.lite.reading.registry import Call, clipped, constant, like, op
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_TANH = 4
# Gates have steps of 2^-12 before their activation, and of 2^-15 after it.
_BEFORE, _AFTER = 2.0**-12, 2.0**-15
_INT16 = (-32768.0, 32767.0)
_INT8 = (-128.0, 127.0)
# Layer normalisation has 10 more bits.
_NORM = 1024.0
# Scales of the four normalised gates, and of the output before its projection.
_INNER = 5


def whole_lstm(call: Call) -> Tensor:
    """The outputs at each step, quantised like the state."""
    layer = _Layer(call)
    x = centred(call, 0)
    first = [centred(call, place) for place in (18, 19)] if call.is_argument(18) else None
    found = over_time(call, x, layer.sizes, layer.step, first=first)
    zero = constant(float(layer.state.zeros[0]), dtypes.float32)
    return op("Cast", op("AddV2", found, zero), DstT=dtypes.int8)


def _scaled(x: Tensor, scale: float) -> Tensor:
    """x in units of another step size, rounded."""
    return nearest(op("Mul", x, like(scale, x)))


def _within(x: Tensor, limits: tuple[float, float]) -> Tensor:
    return clipped(x, *limits)


class _Layer:
    """The weights of an LSTM, and the scales between them.

    Args:
        call: the operator.
    """

    def __init__(self, call: Call) -> None:
        if call.source(0).dtype is not dtypes.int8:
            call.fail(f"its input is {call.source(0).dtype.name}; LiteRT's kernel takes int8")
        if call.options["fused_activation_function"] != _TANH:
            call.fail("its activation must be tanh, the only one of LiteRT's int8 kernel")
        inner = call.operator.inner
        if len(inner) != _INNER:
            call.fail(f"it has {len(inner)} intermediate scales; only {_INNER} are supported")
        self.call = call
        hidden = inner[4].quantization
        if hidden is None or len(hidden.scales) != 1:
            call.damaged("the scale of its output before the projection is missing")
        self.hidden = hidden
        self.state, cell = one_scale(call, 18), one_scale(call, 19).scales[0]
        self.cell = cell
        if math.frexp(cell)[0] != 0.5:
            call.damaged(f"the scale of its cells is {cell}, must be a power of 2")
        self.is_coupled = not call.has(1)
        self.is_normal = call.has(21)
        self.is_projected = call.has(16)
        cells, outputs = call.source(2).shape[0], call.source(18).shape[-1]
        if cells is None or outputs is None:
            call.fail("the number of its cells must be known")
        self.sizes = [int(outputs), int(cells)]

    def gate(self, which: int, x: Tensor, h: Tensor, cell: Tensor) -> Tensor:
        """A gate before its activation."""
        call = self.call
        step = _BEFORE
        if self.is_normal:
            how = call.operator.inner[which].quantization
            if how is None or len(how.scales) != 1:
                call.damaged("the scale of a normalised gate is missing")
            step = how.scales[0]
        found = self._part(x, 1 + which, 0, step, None if self.is_normal else 12 + which)
        again = self._part(h, 5 + which, 18, step, None)
        found = _within(op("AddV2", found, again), _INT16)
        look = {0: 9, 1: 10, 3: 11}.get(which)
        if look is not None and call.has(look):
            scale = one_scale(call, look).scales[0] * self.cell / step
            seen = _scaled(op("Mul", cell, centred(call, look)), scale)
            found = _within(op("AddV2", found, seen), _INT16)
        return self._normal(which, found) if self.is_normal else found

    def _part(self, x: Tensor, weights: int, source: int, step: float, bias: int | None) -> Tensor:
        """The product of an input with its weights, in the gate's units."""
        call = self.call
        found = product(x, centred(call, weights))
        if bias is not None and call.has(bias):
            found = op("AddV2", found, op("Cast", call.stored(bias), DstT=dtypes.float32))
        scale = one_scale(call, weights).scales[0] * one_scale(call, source).scales[0] / step
        return _within(_scaled(found, scale), _INT16)

    def _normal(self, which: int, x: Tensor) -> Tensor:
        call = self.call
        axis = constant([-1], dtypes.int32)
        apart = op("Sub", x, op("Mean", x, axis, keep_dims=True))
        variance = op("Mean", op("Square", apart), axis, keep_dims=True)
        least = constant(1e-6, dtypes.float32)
        found = op("Mul", apart, op("Rsqrt", op("Maximum", variance, least)))
        found = op("Mul", _scaled(found, _NORM), centred(call, 20 + which))
        found = op("AddV2", found, op("Cast", call.stored(12 + which), DstT=dtypes.float32))
        found = _scaled(found, 1 / _NORM)
        return _within(_scaled(found, one_scale(call, 20 + which).scales[0] / _BEFORE), _INT16)

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        """The new output and cell state after a step of the input."""
        h, cell = states
        forget = _activated("Sigmoid", self.gate(1, x, h, cell), _BEFORE)
        new = _activated("Tanh", self.gate(2, x, h, cell), _BEFORE)
        if self.is_coupled:
            entry = op("Sub", like(_INT16[1], forget), forget)
        else:
            entry = _activated("Sigmoid", self.gate(0, x, h, cell), _BEFORE)
        kept = _scaled(op("Mul", forget, cell), _AFTER)
        taken = _scaled(op("Mul", new, entry), _AFTER * _AFTER / self.cell)
        cell = _within(op("AddV2", kept, taken), _INT16)
        cell = _limited(cell, float(self.call.options["cell_clip"]) / self.cell, _INT16[1])
        out = _activated("Sigmoid", self.gate(3, x, h, cell), _BEFORE)
        shown = _activated("Tanh", cell, self.cell)
        zero = float(self.hidden.zeros[0])
        limits = (_INT8[0] - zero, _INT8[1] - zero)
        h = _scaled(op("Mul", out, shown), _AFTER * _AFTER / self.hidden.scales[0])
        h = _within(h, limits)
        return [self._projected(h) if self.is_projected else h, cell]

    def _projected(self, h: Tensor) -> Tensor:
        call = self.call
        found = product(h, centred(call, 16))
        if call.has(17):
            found = op("AddV2", found, op("Cast", call.stored(17), DstT=dtypes.float32))
        scale = one_scale(call, 16).scales[0] * self.hidden.scales[0] / self.state.scales[0]
        zero = float(self.state.zeros[0])
        found = _within(_scaled(found, scale), (_INT8[0] - zero, _INT8[1] - zero))
        limit = float(call.options["proj_clip"]) / self.state.scales[0]
        if limit <= 0:
            return found
        # LiteRT clips the stored integers, without regard to the zero point.
        moved = _limited(op("AddV2", found, like(zero, found)), limit, _INT8[1])
        return op("Sub", moved, like(zero, moved))


def _limited(x: Tensor, limit: float, most: float) -> Tensor:
    """x clipped to ±limit, if the limit is positive."""
    if limit <= 0:
        return x
    whole = float(np.trunc(min(limit, most)))
    return clipped(x, -whole, whole)


def _activated(name: str, x: Tensor, step: float) -> Tensor:
    """An activation with output in units of 2^-15."""
    found = op(name, op("Mul", x, like(step, x)))
    return _within(_scaled(found, 1 / _AFTER), _INT16)

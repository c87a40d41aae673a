"""The LSTM of whole numbers, 8 bits between steps and 16 inside: rounded where LiteRT rounds.

All values here are whole numbers, held in float32: products of 8 bits are exact in it up to a
thousand of them in a sum.

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
# Gates are in steps of 2^-12 before their activation, and of 2^-15 after it.
_BEFORE, _AFTER = 2.0**-12, 2.0**-15
_INT16 = (-32768.0, 32767.0)
_INT8 = (-128.0, 127.0)
# What LiteRT normalises with has 10 more bits.
_NORM = 1024.0
# Scales of the four gates, where they are normalised, and of the output before its projection.
_INNER = 5


def whole_lstm(call: Call) -> Tensor:
    """The outputs at each time, in the whole numbers of the state."""
    layer = _Layer(call)
    x = centred(call, 0)
    first = [centred(call, place) for place in (18, 19)] if call.is_argument(18) else None
    found = over_time(call, x, layer.sizes, layer.step, first=first)
    zero = constant(float(layer.state.zeros[0]), dtypes.float32)
    return op("Cast", op("AddV2", found, zero), DstT=dtypes.int8)


def _scaled(x: Tensor, scale: float) -> Tensor:
    """In steps of another size."""
    return nearest(op("Mul", x, like(scale, x)))


def _within(x: Tensor, limits: tuple[float, float]) -> Tensor:
    return clipped(x, *limits)


class _Layer:
    """The weights of an LSTM, and the scales between them.

    Args:
        call: of the operator.
    """

    def __init__(self, call: Call) -> None:
        if call.source(0).dtype is not dtypes.int8:
            call.fail(f"its input is {call.source(0).dtype.name}; LiteRT has a kernel for int8")
        if call.options["fused_activation_function"] != _TANH:
            call.fail("its activation is not tanh, the only one of LiteRT's kernel for int8")
        inner = call.operator.inner
        if len(inner) != _INNER:
            call.fail(f"it has {len(inner)} scales inside; those with {_INNER} are read")
        self.call = call
        hidden = inner[4].quantization
        if hidden is None or len(hidden.scales) != 1:
            call.damaged("the scale of its output before the projection is not told")
        self.hidden = hidden
        self.state, cell = one_scale(call, 18), one_scale(call, 19).scales[0]
        self.cell = cell
        if math.frexp(cell)[0] != 0.5:
            call.damaged(f"the scale of its cells is {cell}, and has to be a power of 2")
        self.is_coupled = not call.has(1)
        self.is_normal = call.has(21)
        self.is_projected = call.has(16)
        cells, outputs = call.source(2).shape[0], call.source(18).shape[-1]
        if cells is None or outputs is None:
            call.fail("how many cells it has is not known")
        self.sizes = [int(outputs), int(cells)]

    def gate(self, which: int, x: Tensor, h: Tensor, cell: Tensor) -> Tensor:
        """A gate before its activation."""
        call = self.call
        step = _BEFORE
        if self.is_normal:
            how = call.operator.inner[which].quantization
            if how is None or len(how.scales) != 1:
                call.damaged("the scale of a gate that is normalised is not told")
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
        """What an input adds to a gate, in the gate's steps."""
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
        """The output and the cells after one more part of the input."""
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
        # LiteRT compares with whole numbers as they are stored, whatever stands for zero.
        moved = _limited(op("AddV2", found, like(zero, found)), limit, _INT8[1])
        return op("Sub", moved, like(zero, moved))


def _limited(x: Tensor, limit: float, most: float) -> Tensor:
    """Within a limit on both sides, if it is more than 0."""
    if limit <= 0:
        return x
    whole = float(np.trunc(min(limit, most)))
    return clipped(x, -whole, whole)


def _activated(name: str, x: Tensor, step: float) -> Tensor:
    """An activation of whole numbers, in steps of 2^-15."""
    found = op(name, op("Mul", x, like(step, x)))
    return _within(_scaled(found, 1 / _AFTER), _INT16)

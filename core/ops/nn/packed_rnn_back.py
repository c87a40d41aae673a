"""The gradients of recurrent layers with one vector of weights: CudnnRNNBackprop….

TensorFlow saves forward values in `reserve_space`. Here nothing is saved: the forward pass is
recomputed, step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.ops.kernels.cells import lstm_step, lstm_step_back, sigmoid
from pinnace.ops.nn import packed_rnn
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, AttrDef, InferCall, OpDef, attr
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

__all__: list[str] = []

# Gradients of a step: of the gates' input sums, of their state sums, of both states.
_Back = tuple["Array", "Array", "Array", "Array"]


class _Step(NamedTuple):
    """One forward step: the states before it, and its gradient function."""

    time: int
    there: Array
    before: Array
    back: Callable[[Array, Array], _Back]
    hidden: Array
    state: Array


def _stepped(
    mode: str, ahead: Array, h: Array, c: Array, own: packed_rnn.Direction
) -> tuple[Array, Array, Callable[[Array, Array], _Back]]:
    """The next hidden and cell state, and the backward function."""
    recurrent = h @ own.states.T + own.state_bias
    if mode == "gru":
        reset_sum, update_sum, new_sum = np.split(ahead, 3, -1)
        of_reset, of_update, of_new = np.split(recurrent, 3, -1)
        reset, kept = sigmoid(reset_sum + of_reset), sigmoid(update_sum + of_update)
        candidate = np.tanh(new_sum + reset * of_new)

        def gru_back(dh: Array, dc: Array) -> _Back:
            d_new = dh * (1 - kept) * (1 - candidate * candidate)
            d_reset = d_new * of_new * reset * (1 - reset)
            d_update = dh * (h - candidate) * kept * (1 - kept)
            d_recurrent = np.concatenate([d_reset, d_update, d_new * reset], -1)
            d_ahead = np.concatenate([d_reset, d_update, d_new], -1)
            return d_ahead, d_recurrent, dh * kept + d_recurrent @ own.states, dc

        return (1 - kept) * candidate + kept * h, c, gru_back
    total = ahead + recurrent
    if mode == "lstm":
        gates = lstm_step(dict(zip("ifco", np.split(total, 4, -1), strict=True)), c, None, 0.0)

        def lstm_back(dh: Array, dc: Array) -> _Back:
            found = lstm_step_back(gates, c, None, dc, dh)
            d_total = np.concatenate([found.sums[gate] for gate in "ifco"], -1)
            return d_total, d_total, d_total @ own.states, found.state

        return gates.hidden, gates.state, lstm_back
    new = np.maximum(total, 0) if mode == "rnn_relu" else np.tanh(total)

    def plain_back(dh: Array, dc: Array) -> _Back:
        d_total = dh * ((total > 0) if mode == "rnn_relu" else 1 - new * new)
        return d_total, d_total, d_total @ own.states, dc

    return new, c, plain_back


def _there(
    mode: str,
    x: Array,
    h: Array,
    c: Array,
    lengths: Array,
    own: packed_rnn.Direction,
    backward: bool,
) -> tuple[Array, list[_Step]]:
    """The outputs of one direction of a layer, and its steps in order of execution."""
    ahead = x @ own.inputs.T + own.input_bias
    out, steps = np.zeros((*x.shape[:2], h.shape[-1]), h.dtype), []
    for t in reversed(range(len(x))) if backward else range(len(x)):
        there = (t < lengths)[:, None]
        new_h, new_c, back = _stepped(mode, ahead[t], h, c, own)
        after = np.where(there, new_h, h), np.where(there, new_c, c)
        steps.append(_Step(t, there, h, back, *after))
        h, c = after
        out[t] = np.where(there, new_h, 0)
    return out, steps


class _Gradients(NamedTuple):
    """The gradients of one direction of a layer."""

    x: Array
    h: Array
    c: Array
    own: packed_rnn.Direction


def _and_back(
    x: Array, steps: Sequence[_Step], own: packed_rnn.Direction, d_out: Array, dh: Array, dc: Array
) -> _Gradients:
    d_ahead = np.zeros((*x.shape[:2], len(own.inputs)), x.dtype)
    d_states, d_bias = np.zeros_like(own.states), np.zeros_like(own.state_bias)
    for step in reversed(steps):
        t, there = step.time, step.there
        # After the end of a row the states are unchanged, and the output is 0.
        d_ahead[t], d_recurrent, back_h, back_c = step.back(
            np.where(there, dh + d_out[t], 0), np.where(there, dc, 0)
        )
        d_states += d_recurrent.T @ step.before
        d_bias += d_recurrent.sum(0)
        dh, dc = np.where(there, back_h, dh), np.where(there, back_c, dc)
    found = packed_rnn.Direction(
        np.tensordot(d_ahead, x, ((0, 1), (0, 1))), d_states, d_ahead.sum((0, 1)), d_bias
    )
    return _Gradients(d_ahead @ own.inputs, dh, dc, found)


def _run(call: packed_rnn.Checked, d_out: Array, d_h: Array, d_c: Array) -> tuple[Array, ...]:
    """The gradients of input, states and weights, for the arrays of `call`."""
    layout, lengths = call.layout, call.lengths
    mode, directions = layout.mode, layout.directions
    signal, ways = call.x, []
    for layer in range(layout.layers):
        first = layer * directions
        found = [
            _there(mode, signal, call.h[at], call.c[at], lengths, call.weights[at], at > first)
            for at in range(first, first + directions)
        ]
        ways.append((signal, [steps for _, steps in found]))
        signal = np.concatenate([out for out, _ in found], -1)
    back_h, back_c = np.empty_like(call.h), np.empty_like(call.c)
    weights: list[Any] = [None] * len(call.weights)
    for layer in reversed(range(layout.layers)):
        signal, steps = ways[layer]
        d_signal = np.zeros_like(signal)
        for direction, d_part in enumerate(np.split(d_out, directions, -1)):
            at = layer * directions + direction
            gone = _and_back(signal, steps[direction], call.weights[at], d_part, d_h[at], d_c[at])
            d_signal += gone.x
            back_h[at], back_c[at], weights[at] = gone.h, gone.c, gone.own
        d_out = d_signal
    matrices = [part.ravel() for own in weights for part in (own.inputs, own.states)]
    biases = [part for own in weights for part in (own.input_bias, own.state_bias)]
    return d_out, back_h, back_c, np.concatenate([*matrices, *biases])


def _gradients(
    name: str,
    inputs: tuple[Array, ...],
    lengths: Array | None,
    flows: tuple[Array, ...],
    options: dict[str, Any],
) -> tuple[Array, ...]:
    """Check the incoming gradients and run, with time as the first axis."""
    x, h, c, params = inputs
    training = {**options, "is_training": True}
    call = packed_rnn.checked(name, x, h, c, params, lengths, training)
    layout = call.layout
    d_out, d_h, d_c = (one.astype(call.x.dtype, copy=False) for one in flows)
    if layout.mode != "lstm":
        d_c = np.zeros_like(call.c)
    across = [*call.x.shape[:2], layout.units * layout.directions]
    for what, one, shape in (
        ("output", d_out, across),
        ("output_h", d_h, list(call.h.shape)),
        ("output_c", d_c, list(call.h.shape)),
    ):
        fits = list(one.shape) == shape
        packed_rnn.require(name, fits, f"{what}_backprop must have shape {shape}", one)
    found = list(_run(call, d_out, d_h, d_c))
    if layout.mode != "lstm":
        found[2] = np.zeros(c.shape, found[2].dtype)
    return tuple(one.astype(x.dtype, copy=False) for one in found)


def _kernel(version: str) -> Callable[..., tuple[Array, ...]]:
    name = f"CudnnRNNBackprop{version}"

    def kernel(
        *arrays: Array, rnn_mode: str, input_mode: str, direction: str, dropout: float
    ) -> tuple[Array, ...]:
        options = {
            "rnn_mode": rnn_mode,
            "input_mode": input_mode,
            "direction": direction,
            "dropout": dropout,
        }
        return _gradients(name, arrays[:4], None, arrays[7:10], options)

    return kernel


def _kernel_v3(
    *arrays: Array,
    rnn_mode: str,
    input_mode: str,
    direction: str,
    dropout: float,
    num_proj: int,
    time_major: bool,
) -> tuple[Array, ...]:
    options = {
        "rnn_mode": rnn_mode,
        "input_mode": input_mode,
        "direction": direction,
        "dropout": dropout,
        "num_proj": num_proj,
    }

    def turned(one: Array) -> Array:
        return one if time_major or one.ndim < 2 else one.swapaxes(0, 1)

    inputs, flows = map(turned, arrays[:4]), map(turned, arrays[8:11])
    found = _gradients("CudnnRNNBackpropV3", tuple(inputs), arrays[4], tuple(flows), options)
    return tuple(np.ascontiguousarray(turned(one)) for one in found)


def _infer(call: InferCall) -> tuple[Shape, ...]:
    return tuple(call.spec(index).shape for index in range(4))


_THERE = "input: T, input_h: T, input_c: T, params: T"
_OUTPUTS = "output: T, output_h: T, output_c: T"
_FLOWS = "output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T"
_BACK = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"


def _op(name: str, between: str, after: str, kernel: Any, attrs: dict[str, AttrDef]) -> OpDef:
    return register(
        OpDef(
            name=name,
            signature=f"{_THERE}{between}, {_OUTPUTS}, {_FLOWS}{after} -> {_BACK}",
            types=packed_rnn.T,
            attrs=attrs,
            infer=_infer,
            kernel=kernel,
            gradient=NO_GRADIENT_DEFINED,
            effect="random",
        )
    )


_HOST = ", host_reserved: int8"
BACK = _op("CudnnRNNBackprop", "", "", _kernel(""), packed_rnn.CELLS)
BACK_V2 = _op("CudnnRNNBackpropV2", "", _HOST, _kernel("V2"), packed_rnn.CELLS)
BACK_V3 = _op(
    "CudnnRNNBackpropV3",
    ", sequence_lengths: int32",
    _HOST,
    _kernel_v3,
    {**packed_rnn.PROJECTED, "time_major": attr("bool", default=True)},
)

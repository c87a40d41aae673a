"""A step of recurrent cells, and its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    half = x.dtype.type(0.5)
    return half * (1 + np.tanh(half * x))  # type: ignore[no-any-return]


class Peepholes(NamedTuple):
    """The peephole weights of the gates, [units] each; zeros without peepholes."""

    input: Array
    forget: Array
    output: Array


class Gates(NamedTuple):
    """The intermediate values of an LSTM step, [batch, units] each."""

    input: Array
    state: Array
    forget: Array
    output: Array
    candidate: Array
    squashed: Array
    hidden: Array


def lstm_step(
    sums: dict[str, Array], state: Array, peepholes: Peepholes | None, clip: float
) -> Gates:
    """A step of an LSTM from the weighted sums of its gates i, f, c, o.

    Args:
        sums: gate -> [batch, units], biases included.
        state: [batch, units], of the cell before.
        peepholes: None for none.
        clip: the bound of the new state; 0 or less for none.
    """
    i, f, o = sums["i"], sums["f"], sums["o"]
    if peepholes is not None:
        i, f = i + state * peepholes.input, f + state * peepholes.forget
    i, f, candidate = sigmoid(i), sigmoid(f), np.tanh(sums["c"])
    new = candidate * i + state * f
    if clip > 0:
        new = np.clip(new, -clip, clip)
    if peepholes is not None:
        o = o + new * peepholes.output
    o, squashed = sigmoid(o), np.tanh(new)
    return Gates(i, new, f, o, candidate, squashed, squashed * o)


class GateGradients(NamedTuple):
    """The gradients of an LSTM step, [batch, units] each: with respect to gates and state."""

    sums: dict[str, Array]
    state: Array


def lstm_step_back(
    gates: Gates, state: Array, peepholes: Peepholes | None, d_state: Array, d_hidden: Array
) -> GateGradients:
    """The backward pass of a step; clipping is ignored, as in TensorFlow."""
    do = gates.output * (1 - gates.output) * d_hidden * gates.squashed
    dc = (1 - np.square(gates.squashed)) * d_hidden * gates.output + d_state
    if peepholes is not None:
        dc = dc + do * peepholes.output
    d_candidate = (1 - np.square(gates.candidate)) * dc * gates.input
    df = gates.forget * (1 - gates.forget) * dc * state
    di = gates.input * (1 - gates.input) * dc * gates.candidate
    before = dc * gates.forget
    if peepholes is not None:
        before = before + di * peepholes.input + df * peepholes.forget
    return GateGradients({"i": di, "c": d_candidate, "f": df, "o": do}, before)


class GruGates(NamedTuple):
    """The intermediate values of a GRU step, [batch, units] each."""

    reset: Array
    update: Array
    candidate: Array
    hidden: Array

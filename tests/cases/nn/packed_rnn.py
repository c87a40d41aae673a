"""Cases of core/ops/nn/packed_rnn.py: the cells' formulas, over weights that Keras' layout packs.

Keras packs its kernels for the same library: the transposed parts of the kernel and of the
recurrent kernel, then both biases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
STEPS, BATCH, INPUTS, UNITS = 3, 2, 3, 2


def weights(
    rng: np.random.Generator, mode: str, layers: int, directions: int
) -> list[tuple[Array, ...]]:
    """A kernel [inputs, gates, units], recurrent kernel and two biases [gates, units] per layer."""
    found = []
    for at in range(layers * directions):
        width = INPUTS if at < directions else UNITS * directions
        shapes = [(width, GATES[mode], UNITS), (UNITS, GATES[mode], UNITS)]
        shapes += [(GATES[mode], UNITS)] * 2
        found.append(tuple(rng.uniform(-1, 1, shape) for shape in shapes))
    return found


def packed(every: list[tuple[Array, ...]]) -> Array:
    matrices = [
        part[:, gate].T for own in every for part in own[:2] for gate in range(part.shape[1])
    ]
    biases = [bias for own in every for bias in own[2:]]
    return np.concatenate([part.ravel() for part in (*matrices, *biases)])


def unpacked(params: Array, mode: str, layers: int, directions: int) -> list[tuple[Array, ...]]:
    """The inverse of `packed`, number by number."""
    numbers = iter(params.tolist())
    empty = weights(np.random.default_rng(0), mode, layers, directions)
    for own in empty:
        for part in own[:2]:
            for gate, unit, row in np.ndindex(part.shape[1], UNITS, part.shape[0]):
                part[row, gate, unit] = next(numbers)
    for own in empty:
        for bias in own[2:]:
            for place in np.ndindex(*bias.shape):
                bias[place] = next(numbers)
    return empty


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(mode: str, x: Array, h: Array, c: Array, own: tuple[Array, ...]) -> tuple[Array, Array]:
    kernel, recurrent, bias, recurrent_bias = own
    a = [x @ kernel[:, gate] + bias[gate] for gate in range(GATES[mode])]
    b = [h @ recurrent[:, gate] + recurrent_bias[gate] for gate in range(GATES[mode])]
    if mode == "gru":
        r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
        return z * h + (1 - z) * np.tanh(a[2] + r * b[2]), c
    total = [first + second for first, second in zip(a, b, strict=True)]
    if mode == "lstm":
        new = sigmoid(total[1]) * c + sigmoid(total[0]) * np.tanh(total[2])
        return sigmoid(total[3]) * np.tanh(new), new
    return (total[0] * (total[0] > 0) if mode == "rnn_relu" else np.tanh(total[0])), c


def layers_of(mode: str, layers: int, directions: int) -> Any:
    """The layers' outputs, row by row, each with its own length."""

    def reference(x: Array, h: Array, c: Array, params: Array, lengths: Any = None) -> Any:
        every = unpacked(params, mode, layers, directions)
        lengths = [len(x)] * x.shape[1] if lengths is None else lengths.tolist()
        out = np.zeros((len(x), x.shape[1], UNITS * directions))
        last_h, last_c = np.zeros(h.shape), np.zeros(c.shape)
        for row, length in enumerate(lengths):
            signal = x[:length, row]
            for layer in range(layers):
                parts = []
                for direction in range(directions):
                    at = layer * directions + direction
                    now_h, now_c = h[at, row], c[at, row] if mode == "lstm" else np.zeros(UNITS)
                    found = np.zeros((length, UNITS))
                    for t in range(length)[:: -1 if direction else 1]:
                        now_h, now_c = step(mode, signal[t], now_h, now_c, every[at])
                        found[t] = now_h
                    last_h[at, row] = now_h
                    if mode == "lstm":
                        last_c[at, row] = now_c
                    parts.append(found)
                signal = np.concatenate(parts, 1)
            out[:length, row] = signal
        return out, last_h, last_c

    return reference


def inputs(mode: str, layers: int, directions: int) -> Any:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        state = (layers * directions, BATCH, UNITS)
        return (
            rng.uniform(-1, 1, (STEPS, BATCH, INPUTS)),
            rng.uniform(-1, 1, state),
            rng.uniform(-1, 1, state if mode == "lstm" else (0, 0, 0)),
            packed(weights(rng, mode, layers, directions)),
            rng.integers(0, STEPS + 1, BATCH).astype(np.int32),
        )

    return random_arrays(build)


def turned(reference: Any) -> Any:
    """The output with the batch axis first."""

    def batch_major(x: Array, h: Array, c: Array, params: Array, lengths: Array) -> Any:
        found = reference(*(one.swapaxes(0, 1) for one in (x, h, c)), params, lengths)
        return tuple(one.swapaxes(0, 1) for one in found)

    return batch_major


def with_nothing(reference: Any, version: int) -> Any:
    """The outputs, and the empty reserve space of the backward pass."""
    rest = [np.zeros(0), np.zeros(0, np.int8)][: 1 if version == 1 else 2]
    return lambda *xs: (*reference(*xs), *rest)


def size(mode: str, layers: int, directions: int) -> int:
    return packed(weights(np.random.default_rng(0), mode, layers, directions)).size


def three(*numbers: int) -> tuple[Array, ...]:
    return tuple(np.array(number, np.int32) for number in numbers)


def canonical(every: list[tuple[Array, ...]]) -> tuple[Any, Any]:
    matrices = [
        part[:, gate].T for own in every for part in own[:2] for gate in range(part.shape[1])
    ]
    return tuple(matrices), tuple(row for own in every for bias in own[2:] for row in bias)


OPTIONS: dict[str, Any] = {"slack": 64, "reason": "a few steps in two layers"}
SETTINGS = [
    (mode, layers, directions) for mode in GATES for layers, directions in ((1, 1), (2, 1), (2, 2))
]
NAMES = ("", "V2", "V3")
WAYS = {1: "unidirectional", 2: "bidirectional"}

CASES = [
    *[
        OpCase(
            f"CudnnRNN{NAMES[version - 1]}",
            inputs(*setting) if version == 3 else inputs(*setting).map(lambda xs: xs[:4]),
            with_nothing(layers_of(*setting), version),
            attrs={"rnn_mode": setting[0], "direction": WAYS[setting[2]], "is_training": False},
            **OPTIONS,
        )
        for setting in SETTINGS
        for version in (1, 2, 3)
        if version == 3 or setting[1] == 2
    ],
    *[
        OpCase(
            "CudnnRNNV3",
            inputs(*setting).map(lambda xs: (*(one.swapaxes(0, 1) for one in xs[:3]), *xs[3:])),
            with_nothing(turned(layers_of(*setting)), 3),
            attrs={
                "rnn_mode": setting[0],
                "direction": WAYS[setting[2]],
                "is_training": False,
                "time_major": False,
            },
            **OPTIONS,
        )
        for setting in SETTINGS
        if setting[0] in {"lstm", "gru"}
    ],
    *[
        OpCase(
            "CudnnRNNParamsSize",
            random_arrays(lambda _, n=layers: three(n, UNITS, INPUTS)),
            lambda *_, s=(mode, layers, directions): np.array([size(*s)]),
            attrs={
                "rnn_mode": mode,
                "direction": WAYS[directions],
                "T": dtypes.float32,
                "S": dtypes.int32,
            },
        )
        for mode, layers, directions in SETTINGS
    ],
    *[
        case
        for mode, layers, directions in (("lstm", 2, 1), ("gru", 1, 2))
        for version in ("", "V2")
        for case in (
            OpCase(
                f"CudnnRNNParamsToCanonical{version}",
                random_arrays(
                    lambda rng, s=(mode, layers, directions): (
                        *three(s[1], UNITS, INPUTS),
                        packed(weights(rng, *s)),
                    )
                ),
                lambda *xs, s=(mode, layers, directions): sum(
                    canonical(unpacked(xs[3], *s)), start=()
                ),
                attrs={
                    "rnn_mode": mode,
                    "direction": WAYS[directions],
                    **dict.fromkeys(
                        ("num_params_weights", "num_params_biases") if version else ("num_params",),
                        2 * GATES[mode] * layers * directions,
                    ),
                },
            ),
            OpCase(
                f"CudnnRNNCanonicalToParams{version}",
                random_arrays(
                    lambda rng, s=(mode, layers, directions): (
                        *three(s[1], UNITS, INPUTS),
                        *canonical(weights(rng, *s)),
                    )
                ),
                lambda *xs: np.concatenate([one.ravel() for one in (*xs[3], *xs[4])]),
                attrs={"rnn_mode": mode, "direction": WAYS[directions]},
            ),
        )
    ],
]

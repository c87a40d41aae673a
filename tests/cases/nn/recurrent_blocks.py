"""Cases of core/ops/nn/recurrent_blocks.py: the cells' formulas; gradients by complex steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

if TYPE_CHECKING:
    from collections.abc import Callable

Array = npt.NDArray[Any]

BATCH, INPUTS, UNITS, STEPS = 2, 3, 2, 4


def near(rng: np.random.Generator, *shape: int) -> Array:
    return rng.uniform(-1, 1, shape)


def states(rng: np.random.Generator) -> tuple[Array, ...]:
    """cs_prev, h_prev, w, wci, wcf, wco, b."""
    return (
        *(near(rng, BATCH, UNITS) for _ in range(2)),
        near(rng, INPUTS + UNITS, 4 * UNITS),
        *(near(rng, UNITS) for _ in range(3)),
        near(rng, 4 * UNITS),
    )


def layer(steps: int) -> Any:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        return np.array(steps, np.int64), near(rng, STEPS, BATCH, INPUTS), *states(rng)

    return build


def cell(rng: np.random.Generator) -> tuple[Array, ...]:
    return near(rng, BATCH, INPUTS), *states(rng)


def gru(rng: np.random.Generator) -> tuple[Array, ...]:
    rows = INPUTS + UNITS
    return (
        near(rng, BATCH, INPUTS),
        near(rng, BATCH, UNITS),
        near(rng, rows, 2 * UNITS),
        near(rng, rows, UNITS),
        near(rng, 2 * UNITS),
        near(rng, UNITS),
    )


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_step(order: str, bias: float, clip: float, peephole: bool) -> Callable[..., Any]:
    def step(
        x: Array, c: Array, h: Array, w: Array, wci: Array, wcf: Array, wco: Array, b: Array
    ) -> tuple[Array, ...]:
        total = np.concatenate([x, h], 1) @ w + b
        gate = {name: total[:, n * UNITS : (n + 1) * UNITS] for n, name in enumerate(order)}
        seen = (wci, wcf, wco) if peephole else (0, 0, 0)
        i = sigmoid(gate["i"] + seen[0] * c)
        f = sigmoid(gate["f"] + bias + seen[1] * c)
        candidate = np.tanh(gate["c"])
        new = f * c + i * candidate
        if clip > 0 and not np.iscomplexobj(new):
            new = np.maximum(np.minimum(new, clip), -clip)
        o = sigmoid(gate["o"] + seen[2] * new)
        return i, new, f, o, candidate, np.tanh(new), o * np.tanh(new)

    return step


def lstm_layer(step: Callable[..., Any]) -> Callable[..., Any]:
    def reference(length: Array, x: Array, c: Array, h: Array, *rest: Array) -> tuple[Array, ...]:
        out = np.zeros((7, len(x), *c.shape), np.result_type(x, c, h, *rest))
        for t in range(int(length)):
            out[:, t] = step(x[t], c, h, *rest)
            c, h = out[1, t], out[6, t]
        return tuple(out)

    return reference


def gru_step(
    x: Array, h: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> tuple[Array, ...]:
    both = sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru)
    r, u = both[:, :UNITS], both[:, UNITS:]
    c = np.tanh(np.concatenate([x, r * h], 1) @ w_c + b_c)
    return r, u, c, u * h + (1 - u) * c


def derivatives(function: Callable[..., Array], *inputs: Array) -> list[Array]:
    """Derivatives of a number by complex steps, which avoid cancellation."""
    found = []
    for index, x in enumerate(inputs):
        slope = np.zeros(x.shape)
        for place in np.ndindex(*x.shape):
            moved = [np.asarray(one, np.complex128) for one in inputs]
            moved[index] = moved[index].copy()
            moved[index][place] += 1e-30j
            slope[place] = function(*moved).imag / 1e-30
        found.append(slope)
    return found


def layer_back(order: str, peephole: bool) -> tuple[Any, Any]:
    """Inputs, among them the gates of a forward run, and the expected gradients."""
    forward = lstm_layer(lstm_step(order, 0, 0, peephole))

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        given = layer(STEPS - 1)(rng)
        dys = (near(rng, STEPS, BATCH, UNITS) for _ in range(2))
        return *given, *forward(*given), *dys

    def reference(length: Array, *inputs: Array) -> tuple[Array, ...]:
        steps, (dc, dh) = int(length), inputs[-2:]

        def total(*xs: Array) -> Array:
            found = forward(length, *xs)
            return (found[1] * dc)[:steps].sum() + (found[6] * dh)[:steps].sum()

        return tuple(derivatives(total, *inputs[:8]))

    return random_arrays(build), reference


def cell_back(peephole: bool) -> tuple[Any, Any]:
    step = lstm_step("icfo", 0, 0, peephole)

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        given = cell(rng)
        return *given, *step(*given)[:6], near(rng, BATCH, UNITS), near(rng, BATCH, UNITS)

    def reference(*inputs: Array) -> tuple[Array, ...]:
        x, c, h, w, *peepholes, b = inputs[:8]
        dc, dh = inputs[-2:]
        total = np.concatenate([x, h], 1) @ w + b

        def by_sums(c: Array, sums: Array, *seen: Array) -> Array:
            # The weighted sums replace the biases, one row each.
            nothing = np.zeros((1, INPUTS)), np.zeros((INPUTS + UNITS, 4 * UNITS))
            rows = [
                step(nothing[0], c[n : n + 1], np.zeros((1, UNITS)), nothing[1], *seen, sums[n])
                for n in range(BATCH)
            ]
            state, hidden = (np.concatenate([row[k] for row in rows]) for k in (1, 6))
            return np.asarray((state * dc).sum() + (hidden * dh).sum())

        return tuple(derivatives(by_sums, c, total, *peepholes))

    return random_arrays(build), reference


def gru_back() -> tuple[Any, Any]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        given = gru(rng)
        return *given, *gru_step(*given)[:3], near(rng, BATCH, UNITS)

    def reference(*inputs: Array) -> tuple[Array, ...]:
        given, dh = inputs[:6], inputs[-1]
        dx, d_hidden = derivatives(
            lambda x, h: (gru_step(x, h, *given[2:])[3] * dh).sum(), *given[:2]
        )
        # The gradient of the sums before the gates is that of a separate bias for each row.
        d_candidate, d_gates = np.zeros((BATCH, UNITS)), np.zeros((BATCH, 2 * UNITS))
        for n in range(BATCH):
            row = [one[n : n + 1] for one in given[:2]]
            d_gates[n], d_candidate[n] = derivatives(
                lambda b_ru, b_c, row=row, n=n: (
                    gru_step(*row, *given[2:4], b_ru, b_c)[3] * dh[n]
                ).sum(),
                *given[4:],
            )
        return dx, d_hidden, d_candidate, d_gates

    return random_arrays(build), reference


# Only the gradients of the states flow back, as in TensorFlow: this is not the full derivative.
HALF: dict[str, Any] = {
    "differentiable": (),
    "dtypes": (dtypes.float32, dtypes.float16),
    "slack": 64,
    "reason": "a few steps, each rounded to the dtype",
}
SINGLE: dict[str, Any] = {**HALF, "dtypes": (dtypes.float32,)}
GRADIENT: dict[str, Any] = {**SINGLE, "slack": 400, "reason": "from gates that were rounded"}

CASES = [
    *[
        OpCase(
            "BlockLSTM",
            random_arrays(layer(steps)),
            lstm_layer(lstm_step("icfo", bias, clip, peephole)),
            attrs={"forget_bias": bias, "cell_clip": clip, "use_peephole": peephole},
            **HALF,
        )
        for steps, bias, clip, peephole in (
            *((STEPS, 1.0, 3.0, False), (STEPS, 0.5, 0.25, True)),
            *((STEPS - 1, 0.0, 0.0, True), (0, 1.0, 0.0, False)),
        )
    ],
    *[
        OpCase(
            "BlockLSTMV2",
            random_arrays(layer(STEPS)),
            lstm_layer(lstm_step("ifco", 0.0, clip, peephole)),
            attrs={"cell_clip": clip, "use_peephole": peephole},
            **HALF,
        )
        for clip, peephole in ((0.0, False), (0.25, True))
    ],
    *[
        OpCase(
            "LSTMBlockCell",
            random_arrays(cell),
            lstm_step("icfo", bias, clip, peephole),
            attrs={"forget_bias": bias, "cell_clip": clip, "use_peephole": peephole},
            **HALF,
        )
        for bias, clip, peephole in ((1.0, 3.0, False), (0.0, 0.25, True))
    ],
    OpCase("GRUBlockCell", random_arrays(gru), gru_step, **SINGLE),
    *[
        OpCase(
            op,
            *layer_back(order, peephole),
            attrs={"use_peephole": peephole},
            **GRADIENT,
        )
        for op, order in (("BlockLSTMGrad", "icfo"), ("BlockLSTMGradV2", "ifco"))
        for peephole in (False, True)
    ],
    *[
        OpCase(
            "LSTMBlockCellGrad", *cell_back(peephole), attrs={"use_peephole": peephole}, **GRADIENT
        )
        for peephole in (False, True)
    ],
    OpCase("GRUBlockCellGrad", *gru_back(), **GRADIENT),
]

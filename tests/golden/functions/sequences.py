"""Calls of tf.nn about sequences: temporal classification, isotonic regression."""

from typing import Any

import numpy as np

from golden.functions.calls import Call, waves

NEAR: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5, "reason": "float32 sums of logarithms"}
LABELS = np.array([[1, 2, 3], [1, 1, 0], [4, 0, 0]])
COUNTS, STEPS = np.array([3, 2, 1]), np.array([5, 6, 2])
LOGITS = waves(6, 3, 5, dtype="float32")
# Well separated, so that rounding decides nothing.
CLEAR = waves(7, 4, 4, phase=0.3, dtype="float32") * np.float32(2)
LENGTHS = np.array([7, 5, 3, 6], np.int32)


def losses() -> list[Call]:
    args = (LABELS, LOGITS, COUNTS, STEPS)
    batch_first = LOGITS.transpose(1, 0, 2)
    last = np.array([[1, 2, 3], [1, 1, 0], [2, 0, 0]])
    return [
        Call("nn.ctc_loss", args, {}, (1,), **NEAR),
        Call("nn.ctc_loss", (last, *args[1:]), {"blank_index": -1}, (1,), **NEAR),
        Call(
            "nn.ctc_loss",
            (LABELS, batch_first, COUNTS, STEPS),
            {"logits_time_major": False},
            (1,),
            **NEAR,
        ),
        Call("nn.collapse_repeated", (np.array([[1, 1, 2, 2], [3, 3, 3, 1]]), np.array([4, 3]))),
    ]


def decoders() -> list[Call]:
    found = [
        Call("nn.ctc_greedy_decoder", (CLEAR, LENGTHS), {"merge_repeated": merged}, **NEAR)
        for merged in (True, False)
    ]
    found.append(Call("nn.ctc_greedy_decoder", (CLEAR, LENGTHS), {"blank_index": 1}, **NEAR))
    for width, paths in ((100, 1), (3, 3), (8, 4), (1, 1)):
        options = {"beam_width": width, "top_paths": paths}
        found.append(Call("nn.ctc_beam_search_decoder", (CLEAR, LENGTHS), options, **NEAR))
    return found


def regressions() -> list[Call]:
    found = []
    # TensorFlow 2.21 has no gradient for more than two axes.
    for x, sources in ((waves(3, 9, dtype="float32"), (0,)), (waves(2, 5, 4), ())):
        found += [
            Call("nn.isotonic_regression", (x,), {"decreasing": way, "axis": axis}, sources, **NEAR)
            for way in (True, False)
            for axis in (-1, 1)
        ]
    found.append(Call("nn.isotonic_regression", (np.array([[3, 1, 2, 5, 4], [1, 2, 3, 4, 5]]),)))
    return found


CALLS = [*losses(), *decoders(), *regressions()]

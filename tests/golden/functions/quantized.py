"""Calls of tf.quantization."""

from typing import Any

import numpy as np

from golden.functions.calls import Call, waves

X = waves(3, 7, dtype="float32")
LOW, HIGH = np.float32(-1.1), np.float32(1.7)
LOWS = np.array([-1.0, -0.3, 0.0, -2.0, 0.2, -1.5, -1.0], np.float32)
HIGHS = np.array([1.0, 1.3, 2.0, 0.0, 1.2, 1.5, 1.0], np.float32)
NEAR: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6, "reason": "float32"}


def simulated() -> list[Call]:
    found = []
    for options in ({}, {"num_bits": 4}, {"num_bits": 3, "narrow_range": True}):
        found += [
            Call(
                "quantization.fake_quant_with_min_max_args", (X, -1.1, 1.7), options, (0,), **NEAR
            ),
            Call(
                "quantization.fake_quant_with_min_max_vars",
                (X, np.array(LOW), np.array(HIGH)),
                options,
                (0, 1, 2),
                **NEAR,
            ),
            Call(
                "quantization.fake_quant_with_min_max_vars_per_channel",
                (X, LOWS, HIGHS),
                options,
                (0, 1, 2),
                **NEAR,
            ),
        ]
    given = {"range_given": True, "num_bits": 5}
    for name in ("quantize_and_dequantize", "quantize_and_dequantize_v2"):
        for x in (X, X.astype("float64"), np.abs(X)):
            limits = np.array(-1.1, x.dtype), np.array(1.7, x.dtype)
            found += [
                Call(f"quantization.{name}", (x, *limits), options, (0,), **NEAR)
                for options in (
                    {},
                    given,
                    {**given, "round_mode": "HALF_UP"},
                    {**given, "narrow_range": True},
                    {"signed_input": False, "num_bits": 6},
                )
            ]
    return found


def integers() -> list[Call]:
    found = []
    for kind in ("qint8", "quint8", "qint16", "quint16"):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            args = (X, LOW, HIGH, kind, mode)
            found.append(Call("quantization.quantize", args, **NEAR))
        # TensorFlow 2.21 rounds 112.37 to 113 here for qint8.
        if kind != "qint8":
            args = (X, LOW, HIGH, kind, "SCALED", "HALF_TO_EVEN")
            found.append(Call("quantization.quantize", args, **NEAR))
        found.append(Call("quantization.quantize", (X, 0.5, 0.5, kind), **NEAR))
    return found


CALLS = [*simulated(), *integers()]

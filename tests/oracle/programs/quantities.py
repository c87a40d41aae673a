"""Quantisation and dequantisation; programs, since NumPy lacks arrays of these dtypes."""

from typing import Any

# Numbers with few bits are midway between two steps of the last three.
RANGES = ((-3.1, 5.3), (0.0, 6.3), (-0.27, 0.13), (0.0, 3.0), (-1.0, 1.0), (-1.5, 2.5))


def _there_and_back(tf: Any, ops: Any, x: Any, mode: str, dtype: Any, low: Any, high: Any) -> Any:
    q, low, high = ops.QuantizeV2(
        input=x, min_range=low, max_range=high, T=dtype, mode=mode, **_REST
    )
    back = ops.Dequantize(input=q, min_range=low, max_range=high, mode=mode, **_BACK)
    return [tf.cast(tf.bitcast(q, _WHOLE[dtype.name]), tf.int32), low, high, back]


_WHOLE = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16"}
_BACK = {"narrow_range": False, "axis": -1, "dtype": "float32"}
_REST = {
    "round_mode": "HALF_AWAY_FROM_ZERO",
    "narrow_range": False,
    "axis": -1,
    "ensure_minimum_range": 0.01,
}


def quantized(tf: Any, ops: Any, x: Any) -> list[Any]:
    """Each mode except MIN_FIRST, with its dtypes."""
    found = []
    for low, high in RANGES:
        for mode, types in (
            ("MIN_COMBINED", (tf.qint8, tf.quint8, tf.qint16, tf.quint16)),
            ("SCALED", (tf.qint8, tf.quint8)),
        ):
            for dtype in types:
                found += _there_and_back(tf, ops, x, mode, dtype, low, high)
    return found


def from_the_first(tf: Any, ops: Any, x: Any) -> list[Any]:
    """MIN_FIRST, and dequantisation of given steps."""
    steps = tf.bitcast(tf.cast(tf.abs(x) * 8, tf.uint8), tf.quint8)
    found = []
    for low, high in RANGES:
        q, *limits = ops.QuantizeV2(
            input=x, min_range=low, max_range=high, T=tf.quint8, mode="MIN_FIRST", **_REST
        )
        back = ops.Dequantize(input=steps, min_range=low, max_range=high, mode="MIN_FIRST", **_BACK)
        found += [tf.cast(tf.bitcast(q, tf.uint8), tf.int32), *limits, back]
    return found

"""Keras 3's `argmax`, which distinguishes -0 from 0 by the sign bit, in exported files."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

import pinnace as tf
from pinnace.deploy import lite, onnx
from pinnace.framework.errors import OpError

LEAST = np.int32(-(2**31))
TINY = np.finfo(np.float32).tiny


def marked(x: Any) -> Any:
    """-0 replaced by the largest number below 0: `keras.ops.argmax` takes the maximum of this."""
    sign = tf.less(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), tf.constant(LEAST)), 0)
    return tf.where(tf.logical_and(tf.equal(x, 0.0), sign), -TINY, x)


def argmax(x: Any) -> Any:
    return tf.argmax(marked(x), -1, output_type=tf.int32)


def in_a_loop(x: Any) -> Any:
    return tf.while_loop(
        lambda i, _: i < 2, lambda i, x: (i + 1, tf.reverse(marked(x), [0])), (0, x)
    )[1]


# Each pair of these is a row, whose maximum is wanted; a NaN counts from its position, as in
# TensorFlow.
CORNERS = np.array([0.0, -0.0, 1.5, -1.5, 1e-42, -1e-42, TINY, -TINY, np.inf, -np.inf], np.float32)
ROWS = np.stack(np.broadcast_arrays(CORNERS[:, None], CORNERS), -1).reshape(-1, 2)


def in_onnx(model: Any, x: Any, folder: Path) -> Any:
    onnx.export(model, folder / "m.onnx", opset=18)
    session = onnxruntime.InferenceSession(
        str(folder / "m.onnx"), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def in_lite(model: Any, x: Any, folder: Path) -> Any:
    lite.export(model, folder / "m.tflite")
    interpreter = Interpreter(str(folder / "m.tflite"))
    (given,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(given["index"], x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("run", [in_onnx, in_lite])
@pytest.mark.parametrize("body", [argmax, marked, in_a_loop])
def test_minus_zero_is_less_than_zero(run: Any, body: Any, tmp_path: Path) -> None:
    spec = tf.TensorSpec([None, 2], tf.float32, "x")
    model = tf.function(body).get_concrete_function(spec)
    is_minus_zero = (ROWS == 0) & np.signbit(ROWS)
    wanted = np.where(is_minus_zero, -TINY, ROWS)
    if body is argmax:
        wanted = wanted.argmax(-1)
    np.testing.assert_array_equal(run(model, ROWS, tmp_path), wanted)


def test_bits_that_count_otherwise_are_refused_by_name(tmp_path: Path) -> None:
    def signs(x: Any) -> Any:  # of a NaN only the bits tell it
        return tf.less(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), tf.constant(LEAST)), 0)

    def mantissa(x: Any) -> Any:
        bits = tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), tf.constant(np.int32(255)))
        return tf.logical_and(tf.equal(x, 0.0), bits < 0)

    def other(x: Any) -> Any:  # where another number is 0
        sign = tf.less(tf.bitwise.bitwise_and(tf.bitcast(x, tf.int32), tf.constant(LEAST)), 0)
        return tf.logical_and(tf.equal(x + 1.0, 0.0), sign)

    spec = tf.TensorSpec([None, 2], tf.float32, "x")
    for body in (signs, mantissa, other):
        with pytest.raises(OpError, match=r"Bitcast.*needs opset 26, got 18"):
            onnx.export(tf.function(body).get_concrete_function(spec), tmp_path / "m.onnx")
    with pytest.raises(OpError, match=r"BitwiseAnd.*except as a test of the sign bit"):
        lite.export(tf.function(mantissa).get_concrete_function(spec), tmp_path / "m.tflite")

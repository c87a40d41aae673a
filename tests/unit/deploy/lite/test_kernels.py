"""Every operator that is computed in 16 bits: LiteRT runs it, with the precision of 16 bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import lite
from pinnace.deploy.lite import export
from pinnace.deploy.lite.smaller.kernels import EIGHT, SIXTEEN
from pinnace.deploy.lite.verification.interpreting import Interpreter

pytest.importorskip("ai_edge_litert")

SIZES = (2, 8, 8, 4)
# Half a step of 16 bits is 1.5e-5 of the largest number, of the weights' 8 bits 4e-3.
FINE, WEIGHED = 1.2e-4, 2e-2


def numbers(*sizes: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def _constant(*sizes: int) -> Any:
    return tf.constant(numbers(*sizes, seed=1))


def _turned(x: Any) -> Any:
    return tf.reverse(x, [1])


def _dense(x: Any) -> Any:
    return tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 4]), _constant(4, 6)) + _constant(6))


def _blocks(x: Any) -> Any:
    return tf.batch_to_space(tf.space_to_batch(x, [2, 2], [[0, 0]] * 2) * 1.5, [2, 2], [[1, 1]] * 2)


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "ADD": lambda x: x + _turned(x),
    "AVERAGE_POOL_2D": lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
    "BATCH_MATMUL": lambda x: tf.matmul(x, x, transpose_b=True),
    "BATCH_TO_SPACE_ND": _blocks,
    "CONCATENATION": lambda x: tf.concat([x, x * 2.0], -1),
    "CONV_2D": lambda x: tf.nn.relu(tf.nn.conv2d(x, _constant(3, 3, 4, 5), 1, "SAME") + 1.5),
    "DEPTHWISE_CONV_2D": lambda x: tf.nn.depthwise_conv2d(
        x, _constant(3, 3, 4, 1), [1, 1, 1, 1], "SAME"
    ),
    "FULLY_CONNECTED": _dense,
    "GATHER": lambda x: tf.gather(x, [2, 0, 1], axis=1),
    "GELU": lambda x: tf.nn.gelu(x),
    "LEAKY_RELU": lambda x: tf.nn.leaky_relu(x),
    "LOGISTIC": lambda x: tf.sigmoid(x),
    "MAXIMUM": lambda x: tf.maximum(x, _turned(x)),
    "MAX_POOL_2D": lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    "MEAN": lambda x: tf.reduce_mean(x, [1, 2]),
    "MINIMUM": lambda x: tf.minimum(x, _constant(4)),
    "MIRROR_PAD": lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "REFLECT"),
    "MUL": lambda x: x * _constant(4),
    "PACK": lambda x: tf.stack([x, x * 2.0], 1),
    "PAD": lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]]),
    "REDUCE_MAX": lambda x: tf.reduce_max(x, [1]),
    "REDUCE_MIN": lambda x: tf.reduce_min(x, [1]),
    "RELU": lambda x: tf.nn.relu(x),
    "RELU6": lambda x: tf.nn.relu6(_turned(x)),
    "RESHAPE": lambda x: tf.reshape(x * 1.5, [2, 64, 4]),
    "RESIZE_BILINEAR": lambda x: tf.image.resize(x, [16, 16]),
    "RESIZE_NEAREST_NEIGHBOR": lambda x: tf.image.resize(x, [16, 16], "nearest"),
    "REVERSE_V2": _turned,
    "SLICE": lambda x: tf.slice(x * 1.5, [0, 1, 1, 0], [2, 3, 3, 2]),
    "SOFTMAX": lambda x: tf.nn.softmax(x),
    "SPACE_TO_BATCH_ND": _blocks,
    "SPLIT": lambda x: tf.concat(tf.split(x, 2, -1)[::-1], -1),
    "STRIDED_SLICE": lambda x: (x * 1.5)[:, ::2, 1:],
    "SUB": lambda x: _constant(4) - x,
    "SUM": lambda x: tf.reduce_sum(x, [1, 2]),
    "TANH": lambda x: tf.tanh(x),
    "TILE": lambda x: tf.tile(x, [1, 2, 1, 1]),
    "TRANSPOSE": lambda x: tf.transpose(x, [0, 3, 1, 2]),
    "TRANSPOSE_CONV": lambda x: tf.nn.conv2d_transpose(x, _constant(3, 3, 5, 4), [2, 16, 16, 5], 2),
    "UNPACK": lambda x: tf.unstack(x, axis=1)[3],
}
# A RESHAPE does both.
RESHAPES = {"EXPAND_DIMS", "SQUEEZE"}


def report_of(function: Callable[[Any], Any], kind: str = "int16_static") -> lite.LiteReport:
    spec = tf.TensorSpec(SIZES, tf.float32, name="x")
    traced = tf.function(function, input_signature=[spec]).get_concrete_function()
    # One example repeated, so that those held out have the ranges of the others.
    rows = np.repeat(np.clip(numbers(1, *SIZES), -1.5, 1.5), 10, 0)
    return export(traced, **{kind: {"x": rows}})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", OPERATORS)
def test_an_operator_of_16_bits(kind: str) -> None:
    report = report_of(OPERATORS[kind])
    assert report.precision is not None
    assert kind in report.op_counts
    assert not report.precision.stayed
    weighed = kind in {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"}
    assert report.precision.largest_relative < (WEIGHED if weighed else FINE)


def test_each_operator_of_16_bits_is_asked() -> None:
    listed = {*SIXTEEN.same, *SIXTEEN.free, *SIXTEEN.fixed}
    assert listed - RESHAPES == set(OPERATORS)
    assert listed <= {*EIGHT.same, *EIGHT.free, *EIGHT.fixed}


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("ELU", lambda x: tf.nn.elu(x)),
        ("SPACE_TO_DEPTH", lambda x: tf.nn.space_to_depth(x, 2)),
        ("LOG_SOFTMAX", lambda x: tf.nn.log_softmax(x)),
    ],
)
def test_what_has_no_kernel_of_16_bits_stays_float32(
    kind: str, function: Callable[[Any], Any]
) -> None:
    report = report_of(lambda x: function(x + _turned(x)))
    assert report.precision is not None
    assert report.precision.stayed == {kind: ("it has no quantised kernel of 16 bits", 1)}
    assert report.precision.largest_relative < FINE
    whole = report_of(lambda x: function(x + _turned(x)), "int8_static")
    assert whole.precision is not None
    assert not whole.precision.stayed


def test_a_file_of_16_bits_is_read(tmp_path: Any) -> None:
    report = report_of(lambda x: tf.nn.softmax(_dense(x)))
    assert report.content is not None
    (tmp_path / "wide.tflite").write_bytes(report.content)
    (function,) = lite.load(tmp_path / "wide.tflite").values()
    x = np.clip(numbers(*SIZES), -1.5, 1.5)
    (right,) = Interpreter(report.content).run({"x": x}).values()
    (found,) = function(x=tf.constant(x)).values()
    np.testing.assert_allclose(np.asarray(found), right, atol=1e-3)

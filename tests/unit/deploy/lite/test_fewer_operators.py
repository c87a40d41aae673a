"""Layers that are merged into the operators before and behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import lite

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("ai_edge_litert")
layers = tf.keras.layers


def counts_of(model: tf.keras.Model) -> dict[str, int]:
    """The number of each operator in the file, whose results are compared."""
    rng = np.random.default_rng(5)
    for weight in model.weights:
        weight.assign(rng.uniform(0.2, 0.8, weight.shape))
    return lite.export(model).op_counts


def batch_normalized(x: tf.keras.KerasTensor, factor: float | None = None) -> tf.keras.KerasTensor:
    x = layers.BatchNormalization()(x)
    return x if factor is None else layers.Rescaling(factor)(x)


@pytest.mark.parametrize("factor", [None, 0.7])
def test_hard_swish_of_sums_and_products(factor: float | None) -> None:
    given = tf.keras.Input([4])
    x = batch_normalized(given, factor)
    swished = layers.Activation("hard_swish")(x)
    counts = counts_of(tf.keras.Model(given, swished))
    assert counts["HARD_SWISH"] == 1
    assert not {"DIV", "RELU6"} & set(counts)


@pytest.mark.parametrize(
    "wrong", [lambda x: x * tf.nn.relu6(x + 3.1) / 6.0, lambda x: x * tf.nn.relu6(x + 3.0) / 5.0]
)
def test_what_is_no_hard_swish(wrong: Callable[[tf.Tensor], tf.Tensor]) -> None:
    made = tf.function(wrong, input_signature=[tf.TensorSpec([4])])
    report = lite.export(made.get_concrete_function())
    assert "HARD_SWISH" not in report.op_counts


@pytest.mark.parametrize(
    ("size", "pads", "window", "strides", "stays"),
    [
        (8, (0, 1), 3, 2, False),
        (8, (1, 2), 5, 2, False),
        (8, (1, 1), 3, 1, False),
        (9, (1, 1), 3, 2, False),
        (9, (0, 1), 3, 2, True),
        (8, (1, 0), 3, 2, True),
        (8, (1, 1), 3, 2, True),
        (None, (0, 1), 3, 2, True),
    ],
)
@pytest.mark.parametrize("kind", [layers.Conv2D, layers.DepthwiseConv2D])
def test_padding_before_a_convolution(
    kind: Callable[..., tf.keras.layers.Layer],
    size: int | None,
    pads: tuple[int, int],
    window: int,
    strides: int,
    stays: bool,
) -> None:
    filters = (3,) if kind is layers.Conv2D else ()
    model = tf.keras.Sequential(
        [
            tf.keras.Input([size, size, 2]),
            layers.ZeroPadding2D((pads, pads)),
            kind(*filters, window, strides, "valid"),
        ]
    )
    assert ("PAD" in counts_of(model)) == stays


def test_padding_with_a_dilation() -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 2]),
            layers.ZeroPadding2D(2),
            layers.Conv2D(3, 3, padding="valid", dilation_rate=2),
        ]
    )
    assert "PAD" not in counts_of(model)


def test_two_convolutions_of_one_padding() -> None:
    given = tf.keras.Input([8, 8, 2])
    padded = layers.ZeroPadding2D(((0, 1), (0, 1)))(given)
    both = [layers.Conv2D(2, size, 2)(padded) for size in (3, 2)]
    counts = counts_of(tf.keras.Model(given, both))
    assert counts["PAD"] == 1  # the smaller window has it elsewhere with SAME


# the smaller window has other padding with SAME
@pytest.mark.parametrize(
    "before",
    [
        [layers.Rescaling(0.5, 0.25)],
        [layers.Rescaling(1 / 127.5, -1.0)],
        [layers.Normalization(mean=[0.5, 1.0, -0.5], variance=[4.0, 1.0, 0.25])],
        [layers.Rescaling(0.5), layers.Rescaling(3.0, 0.5), layers.Rescaling(0.1, -0.5)],
    ],
)
def test_scaling_before_a_dense_layer(before: list[tf.keras.layers.Layer]) -> None:
    model = tf.keras.Sequential([tf.keras.Input([3]), *before, layers.Dense(4, "relu")])
    assert counts_of(model) == {"FULLY_CONNECTED": 1}


def test_scaling_that_loses_digits_stays() -> None:
    # (x - 1000) / 0.01 as W x / 0.01 - 1e5 W would be the difference of large numbers.
    far = layers.Normalization(mean=1000.0, variance=1e-4)
    model = tf.keras.Sequential([tf.keras.Input([3]), far, layers.Dense(4)])
    assert set(counts_of(model)) == {"SUB", "FULLY_CONNECTED"}


def test_scaling_that_others_take_stays() -> None:
    given = tf.keras.Input([3])
    x = layers.Rescaling(0.5)(given)
    model = tf.keras.Model(given, [x, layers.Dense(3)(x)])
    assert counts_of(model) == {"FULLY_CONNECTED": 1, "MUL": 1}


def test_activations_before_a_dense_layer_stay() -> None:
    model = tf.keras.Sequential(
        [tf.keras.Input([3]), layers.Rescaling(2.0, 1.0), layers.ReLU(), layers.Dense(2)]
    )
    assert counts_of(model) == {"ADD": 1, "FULLY_CONNECTED": 1, "MUL": 1}


@pytest.mark.parametrize(
    ("compute", "wanted"),
    [
        (lambda x: (x**1.0) * 1.0 + 0.0 + tf.tanh(x), {"ADD": 1, "TANH": 1}),
        (lambda x: x**2.0, {"SQUARE": 1}),
        (lambda x: x**0.5, {"SQRT": 1}),
    ],
)
def test_powers_and_neutral_numbers(
    compute: Callable[[tf.Tensor], tf.Tensor], wanted: dict[str, int]
) -> None:
    made = tf.function(compute, input_signature=[tf.TensorSpec([4])])
    assert lite.export(made.get_concrete_function()).op_counts == wanted

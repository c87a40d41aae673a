"""Pixel scaling of models: found at the beginning of the graph, or given."""

from __future__ import annotations

from typing import Any

import pytest

import pinnace as tf
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.pixels import pixels_of, scaling_of
from pinnace.deploy.program.sources import find_program
from pinnace.engine.passes.fold import fold
from pinnace.framework.errors import InvalidArgumentError

layers = tf.keras.layers
PIXELS = ((0.0,), (1.0,))
SHARES = ((0.0,), (255.0,))


def found(*first: Any, shape: tuple[int, ...] = (6, 6, 3), given: Any = None) -> Any:
    model = tf.keras.Sequential([tf.keras.Input(shape, name="x"), *first, layers.Flatten()])
    program = find_program(model, "serving_default")
    return pixels_of(fold(freeze(program).graph), program.inputs, given)


def imagenet(scale: float) -> Any:
    mean = [0.485 * scale, 0.456 * scale, 0.406 * scale]
    return layers.Normalization(mean=mean, variance=[(0.229 * scale) ** 2] * 3)


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ([layers.Rescaling(1 / 255)], PIXELS),
        ([layers.Rescaling(1 / 127.5, offset=-1)], PIXELS),
        ([imagenet(255)], PIXELS),
        ([layers.Rescaling(1 / 255), imagenet(1)], PIXELS),
        ([imagenet(1)], SHARES),
        ([layers.Rescaling(2.0, offset=-1)], SHARES),
    ],
)
def test_what_the_model_begins_with_says_it(first: list[Any], wanted: Any) -> None:
    assert found(*first) == {"x": wanted}


def test_what_says_nothing() -> None:
    assert found(layers.Conv2D(2, 3)) == {}
    assert found(layers.ReLU(), layers.Rescaling(1 / 255)) == {}
    assert found(layers.Rescaling(1000.0)) == {}
    assert found(layers.Rescaling(1 / 255), shape=(6, 6, 5)) == {}
    assert found(layers.Rescaling(1 / 255), shape=(6,)) == {}


def test_whole_pixels_are_pixels() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4, 1], tf.uint8, name="x")])
    def mean(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.cast(x, tf.float32), [1, 2])

    program = find_program(mean.get_concrete_function(), "serving_default")
    assert pixels_of(fold(freeze(program).graph), program.inputs) == {"x": PIXELS}


def test_what_is_given_counts() -> None:
    ours = ((1.0, 2.0, 3.0), (4.0,))
    assert found(layers.Rescaling(1 / 255), given=ours) == {"x": ours}
    assert found(given={"x": ([1, 2, 3], 4)}) == {"x": ours}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": PIXELS}, r"for \['y'\], which no input is"),
        (((0.0,), (0.0,)), "that is not 0"),
        (((0.0, 1.0), (1.0,)), "one for each channel"),
        ("nothing", "must be a mean and a standard deviation"),
    ],
)
def test_what_cannot_be_given(given: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        found(given=given)


def test_at_the_command_line() -> None:
    assert scaling_of("127.5:127.5") == ((127.5,), (127.5,))
    assert scaling_of("1,2,3:4") == ((1.0, 2.0, 3.0), (4.0,))
    for text in ("1", "1:2:3", "a:b", ""):
        with pytest.raises(InvalidArgumentError, match="must be MEAN:STD"):
            scaling_of(text)

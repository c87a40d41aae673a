"""Sizes: a layer's inferred output shape is the actual one, and as precise as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from support.layer_drawing import LAYERS, OTHERS
from support.layer_sizes import BATCH, answers

if TYPE_CHECKING:
    from pathlib import Path

# The number of words in a text is unknown, and so is a random size.
BY_VALUE = {"TextVectorization", "RandomHeight", "RandomWidth"}


@pytest.mark.parametrize("name", LAYERS)
@given(data=st.data())
def test_what_is_asked_called_symbolically_and_given_has_the_same_sizes(
    name: str, data: st.DataObject
) -> None:
    found = answers(tf.keras, data.draw(LAYERS[name]))
    assert found["asked"] == found["symbolic"]
    for symbolic, real in zip(found["symbolic"], found["real"], strict=True):
        if name in BY_VALUE:
            assert tf.TensorShape(symbolic).is_compatible_with(real)
        else:
            assert [BATCH, *symbolic[1:]] == real
            assert symbolic[0] is None


def test_no_layer_is_left_out() -> None:
    layers = {
        layer.__name__
        for layer in (getattr(tf.keras.layers, name) for name in dir(tf.keras.layers))
        if isinstance(layer, type) and issubclass(layer, tf.keras.layers.Layer)
    }
    # A class may have a longer registered name.
    names = {getattr(tf.keras.layers, name).__name__ for name in {*LAYERS, *OTHERS}}
    assert names == layers


@pytest.mark.parametrize(
    "make",
    [
        lambda k: k.RandomRotation(0.1),
        lambda k: k.RandomTranslation(0.1, 0.1),
        lambda k: k.RandomZoom(0.1),
        lambda k: k.UpSampling2D(2),
    ],
)
def test_a_dense_layer_can_stand_behind_pictures_that_were_moved(
    make: object, tmp_path: Path
) -> None:
    k = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((8, 6, 1)), make(k), k.Conv2D(2, 3), k.Flatten(), k.Dense(3)]
    )
    model.save(tmp_path / "model.keras")
    again = tf.keras.models.load_model(tmp_path / "model.keras")
    x = np.random.default_rng(0).random((2, 8, 6, 1), np.float32)
    np.testing.assert_array_equal(again(x, training=False), model(x, training=False))


def test_asking_for_shapes_builds_nothing() -> None:
    layer = tf.keras.layers.Dense(3)
    assert layer.compute_output_shape((None, 5)) == (None, 3)
    assert not layer.built
    assert layer(np.ones((1, 7), np.float32)).shape == (1, 3)


def test_sizes_are_known_through_arithmetic_on_some_known_ones() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 4, 6])])
    def f(x: tf.Tensor) -> tf.Tensor:
        sizes = tf.shape(x)
        pair = sizes[1:] // 2
        return tf.zeros(tf.concat([sizes[:1], pair, [sizes[2] * 3]], 0))

    (spec,) = tf.nest.flatten(f.get_concrete_function().structured_outputs)
    assert spec.shape.as_list() == [None, 2, 3, 18]

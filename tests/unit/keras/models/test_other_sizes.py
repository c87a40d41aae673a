"""A Sequential model accepts all sizes that its layers accept, whatever it was built for."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf


def test_images_of_another_size() -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 3)),
            tf.keras.layers.Conv2D(4, 3),
            tf.keras.layers.GlobalAveragePooling2D(),
        ]
    )
    assert model(np.ones((2, 12, 10, 3), np.float32)).shape == (2, 4)


def test_layers_say_what_they_do_not_take() -> None:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="must have size 4 on axis -1"):
        model(np.ones((2, 5), np.float32))

"""Layers that are built while a dataset's function is traced, as Keras builds them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf

L = tf.keras.layers


def rows() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(np.ones((4, 3), np.float32)).batch(2)


LAYERS: dict[str, tuple[Callable[[], Any], int, tuple[int, ...]]] = {
    "Dense": (lambda: L.Dense(2), 2, (2, 2)),
    "BatchNormalization": (L.BatchNormalization, 4, (2, 3)),
    "Embedding": (lambda: L.Embedding(4, 2), 1, (2, 3, 2)),
    "Sequential": (
        lambda: tf.keras.Sequential([L.Dense(5), L.Dropout(0.5), L.Dense(1)]),
        4,
        (2, 1),
    ),
    "Bidirectional": (
        lambda: tf.keras.Sequential([L.Reshape((3, 1)), L.Bidirectional(L.GRU(2))]),
        6,
        (2, 4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_map_builds_a_layer(name: str) -> None:
    make, weights, shape = LAYERS[name]
    layer = make()
    found = list(rows().map(layer))
    assert len(layer.weights) == weights
    assert [tuple(part.shape) for part in found] == [shape, shape]
    np.testing.assert_allclose(found[0], layer(np.ones((2, 3), np.float32)), rtol=1e-5)


def test_other_transformations_build_layers() -> None:
    layers = [L.Dense(3, kernel_initializer="ones") for _ in range(4)]
    assert len(list(rows().filter(lambda x: tf.reduce_sum(layers[0](x)) > 0))) == 2
    flat = rows().flat_map(lambda x: tf.data.Dataset.from_tensor_slices(layers[1](x)))
    np.testing.assert_array_equal(list(flat), np.full((4, 3), 3.0))
    total = rows().reduce(np.zeros((2, 3), np.float32), lambda state, x: state + layers[2](x))
    np.testing.assert_array_equal(total, np.full((2, 3), 6.0))
    parallel = rows().map(layers[3], num_parallel_calls=2).prefetch(1)
    np.testing.assert_array_equal(list(parallel), np.full((2, 2, 3), 3.0))


def test_a_variable_of_the_function_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="map: the function made variable"):
        rows().map(lambda x: x + tf.Variable(1.0))

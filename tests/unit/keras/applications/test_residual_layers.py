"""LayerScale, StochasticDepth, CustomScaleLayer: results, and names in Keras files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import registry
from pinnace.keras.applications.residual_layers import (
    CustomScaleLayer,
    LayerScale,
    StochasticDepth,
)

X = np.random.default_rng(0).normal(size=(4, 2, 3, 5)).astype(np.float32)
# As Keras 3.15.1 writes them into its files.
STORED = {
    "LayerScale": (
        "keras.src.applications.convnext",
        {"init_values": 1e-06, "projection_dim": 5},
    ),
    "StochasticDepth": ("keras.src.applications.convnext", {"drop_path_rate": 0.1}),
    "CustomScaleLayer": ("keras.src.applications.inception_resnet_v2", {"scale": 0.17}),
}


def stored(name: str, module: str | None = None) -> dict[str, Any]:
    home, config = STORED[name]
    return {
        "module": home if module is None else module,
        "class_name": name,
        "config": {"name": "one", "trainable": True, **config},
        "registered_name": name,
    }


@pytest.mark.parametrize("name", STORED)
def test_they_are_stored_as_keras_stores_them(name: str) -> None:
    layer = registry.deserialize_keras_object(stored(name))
    again = registry.serialize_keras_object(layer)
    assert {key: again[key] for key in ("module", "class_name", "registered_name")} == {
        key: stored(name)[key] for key in ("module", "class_name", "registered_name")
    }
    assert again["config"].items() >= stored(name)["config"].items()


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("root", ["tf_keras", ""])
def test_older_files_name_another_module_or_none(name: str, root: str) -> None:
    module = STORED[name][0].replace("keras", root, 1) if root else ""
    layer = registry.deserialize_keras_object(stored(name, module))
    assert type(layer).__name__ == name
    assert layer.name == "one"


def test_a_layer_of_a_program_with_the_same_name_is_another() -> None:
    with pytest.raises(ValueError, match=r"mine\.LayerScale is not known"):
        registry.deserialize_keras_object(stored("LayerScale", "mine"))

    class LayerScale(tf.keras.layers.Layer):
        def __init__(self, init_values: float, projection_dim: int, **options: Any) -> None:
            super().__init__(**options)
            self.given = init_values, projection_dim

    found = registry.deserialize_keras_object(stored("LayerScale"), {"LayerScale": LayerScale})
    assert type(found) is LayerScale
    assert found.given == (1e-06, 5)


def test_channels_are_scaled_by_a_weight_each() -> None:
    layer = LayerScale(0.5, 5)
    np.testing.assert_array_equal(layer(X), X * np.float32(0.5))
    gamma = np.arange(5, dtype=np.float32)
    layer.set_weights([gamma])
    np.testing.assert_array_equal(layer(X), X * gamma)
    assert [v.shape.as_list() for v in layer.trainable_weights] == [[5]]


def test_a_residual_is_scaled_before_it_is_added() -> None:
    layer = CustomScaleLayer(0.25)
    np.testing.assert_array_equal(layer([X, X * 2]), X + X * 2 * np.float32(0.25))


def test_pictures_are_dropped_whole_and_only_while_training() -> None:
    layer = StochasticDepth(0.25)
    np.testing.assert_array_equal(layer(X), X)
    tf.keras.utils.set_random_seed(1)
    x = np.ones((2000, 2, 1, 3), np.float32)
    y = layer(x, training=True).numpy().reshape(2000, -1)
    assert (y == y[:, :1]).all()
    np.testing.assert_allclose(np.unique(y), [0.0, 1 / 0.75], rtol=1e-6)
    # 2000 draws with a probability of 0.25 have a standard deviation of 0.0097.
    assert abs((y[:, 0] == 0).mean() - 0.25) < 0.05
    assert layer.weights == []


def test_draws_differ_from_call_to_call_also_in_a_function() -> None:
    layer = StochasticDepth(0.5)
    step = tf.function(lambda x: layer(x, training=True))
    x = tf.constant(np.ones((64, 1), np.float32))
    assert (step(x).numpy() != step(x).numpy()).any()


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_a_rate_is_a_share(rate: float) -> None:
    with pytest.raises(ValueError, match=f"drop_path_rate must be from 0 to 1, got {rate}"):
        StochasticDepth(rate)

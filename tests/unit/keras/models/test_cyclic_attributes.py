"""Lists and dicts that contain themselves, as attributes of layers, models and metrics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.ones((2, 3), np.float32)


def _list_of_itself(model: Any) -> None:
    model.blocks = []
    model.blocks.append(model.blocks)


def _dict_of_itself(model: Any) -> None:
    model.blocks = {}
    model.blocks["again"] = model.blocks


def _beside_layers(model: Any) -> None:
    model.blocks = [model.out]
    model.blocks.append({"all": model.blocks, "out": model.out})


def _private_in_a_tuple(model: Any) -> None:
    model._blocks = []
    model._blocks.append((model._blocks, 1))


@keras.utils.register_keras_serializable("cycles")
class Cyclic(keras.Model):
    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind
        self.out = keras.layers.Dense(2, kernel_initializer="ones")
        KINDS[kind](self)

    def call(self, x: Any) -> Any:
        return self.out(x)

    def get_config(self) -> dict[str, Any]:
        return {"kind": self.kind}


KINDS: dict[str, Callable[[Any], None]] = {
    f.__name__: f for f in (_list_of_itself, _dict_of_itself, _beside_layers, _private_in_a_tuple)
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_has_its_weights_once_is_trained_and_saved(kind: str, tmp_path: Path) -> None:
    model = Cyclic(kind)
    model(X)
    assert len(model.weights) == len(model.trainable_variables) == 2
    assert model._flatten_layers() == [model, model.out]
    model.compile("sgd", "mse")
    model.fit(X, np.zeros((2, 2)), verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))
    model.save_weights(tmp_path / "model.weights.h5")
    other = Cyclic(kind)
    other(X)
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(X), model(X))
    model.trainable = False
    assert not model.trainable_variables

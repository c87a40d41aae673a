"""A clone of a built subclassed model is built, so that it can be given the weights."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.ones((1, 2), np.float32)


class Called(keras.Model):
    def __init__(self, units: int = 2, **options: Any) -> None:
        super().__init__(**options)
        self.units = units
        self.out = keras.layers.Dense(units)

    def call(self, x: Any) -> Any:
        return self.out(x)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class OfTwo(Called):
    def call(self, x: Any) -> Any:
        return self.out(x["a"]) + self.out(x["b"])


class Built(Called):
    def build(self, shape: Any) -> None:
        self.out.build(shape)
        self.own = self.add_weight(shape=(1,))
        self.built = True


@pytest.mark.parametrize(("cls", "x"), [(Called, X), (OfTwo, {"a": X, "b": X}), (Built, X)])
def test_a_clone_takes_the_weights_of_its_model(cls: Any, x: Any) -> None:
    model = cls(3, name="model")
    assert not keras.models.clone_model(model).built
    model(x)
    clone = keras.models.clone_model(model)
    assert (clone.built, clone.name, clone.units) == (True, "model", 3)
    assert clone.out is not model.out
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone(x), model(x))

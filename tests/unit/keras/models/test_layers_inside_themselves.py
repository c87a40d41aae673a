"""Layers that hold themselves, directly or through others, in attributes, lists and dicts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.ones((2, 3), np.float32)


@keras.utils.register_keras_serializable("inside_itself")
class Part(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.out = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.out(x)


def _list(model: Any) -> None:
    model.all = [model]


def _dict(model: Any) -> None:
    model.all = {"a": {"b": model}}


def _tuple(model: Any) -> None:
    model.all = (model, [model])


def _attribute(model: Any) -> None:
    model.me = model


def _parent_in_a_list(model: Any) -> None:
    model.part.parents = [model]


def _parent(model: Any) -> None:
    model.part.parent = model


def _siblings(model: Any) -> None:
    model.other = Part()
    model.part.others, model.other.others = [model.other], [model.part]


KINDS: dict[str, Callable[[Any], None]] = {
    f.__name__: f for f in (_list, _dict, _tuple, _attribute, _parent_in_a_list, _parent, _siblings)
}


@keras.utils.register_keras_serializable("inside_itself")
class Cyclic(keras.Model):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.part = Part()
        KINDS[kind](self)

    def call(self, x: Any) -> Any:
        return self.part(x)

    def get_config(self) -> dict[str, Any]:
        return {"kind": self.kind}


@pytest.mark.parametrize("kind", KINDS)
def test_such_a_model_is_listed_frozen_trained_and_saved(kind: str, tmp_path: Path) -> None:
    model = Cyclic(kind)
    model(X)
    assert len(model.weights) == len(model.variables) == len(model.trainable_variables) == 2
    flat = model._flatten_layers()
    assert flat[:2] == [model, model.part]
    assert len({id(layer) for layer in flat}) == len(flat)
    model.trainable = False
    assert not model.trainable_variables
    assert not model.part.out.trainable
    model.trainable = True
    assert len(model.trainable_variables) == 2
    model.summary(expand_nested=True, print_fn=[].append)
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
    path = tf.train.Checkpoint(model=model).save(tmp_path / "checkpoint")
    third = Cyclic(kind)
    third(X)
    tf.train.Checkpoint(model=third).restore(path)
    np.testing.assert_array_equal(third(X), model(X))
    tf.saved_model.save(model, tmp_path / "saved")
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path / "saved")(X), model(X))

"""Functional.from_config takes configurations of Keras 2, whose calls are lists, as Keras does."""

import copy
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras


def source(name: str) -> dict[str, Any]:
    config = {"batch_input_shape": [None, 3], "dtype": "float32", "name": name}
    return {"class_name": "InputLayer", "name": name, "config": config, "inbound_nodes": []}


def dense(name: str, units: int, *inputs: str) -> dict[str, Any]:
    ones = {"class_name": "Ones", "config": {}}
    config = {"name": name, "trainable": True, "units": units, "kernel_initializer": ones}
    nodes = [[[given, 0, 0, {}]] for given in inputs]
    return {"class_name": "Dense", "name": name, "config": config, "inbound_nodes": nodes}


def model(layers: list[dict[str, Any]], *inputs: str) -> dict[str, Any]:
    places = [[name, 0, 0] for name in inputs]
    output = [[layers[-1]["name"], 0, 0]]
    return {"name": "m", "layers": layers, "input_layers": places, "output_layers": output}


JOINED = {
    "class_name": "Concatenate",
    "name": "c",
    "config": {"name": "c", "trainable": True, "axis": -1},
    "inbound_nodes": [[["d", 0, 0, {}], ["d", 1, 0, {}]]],
}
TWO = [source("a"), source("b"), dense("d", 2, "a", "b"), JOINED, dense("e", 1, "c")]


@pytest.mark.parametrize("kind", [keras.Model, keras.Functional])
def test_a_layer_that_is_called_twice(kind: Any) -> None:
    config = model(TWO, "a", "b")
    given = copy.deepcopy(config)
    found = kind.from_config(config)
    assert config == given
    assert [layer.name for layer in found.layers] == ["a", "b", "d", "c", "e"]
    ones = np.ones((2, 3))
    np.testing.assert_array_equal(found.predict([ones, 2 * ones], verbose=0), [[18.0]] * 2)


def test_a_subclass_is_made() -> None:
    class Own(keras.Model):
        pass

    found = Own.from_config(model([source("a"), dense("d", 2, "a")], "a"))
    assert type(found) is Own
    assert found.output_shape == (None, 2)


@pytest.mark.parametrize(
    "layers",
    [
        [source("a"), dense("d", 2, "e"), dense("e", 1, "d")],
        [source("a"), dense("e", 1, "nothing")],
    ],
)
def test_calls_without_their_inputs_are_named(layers: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="e have inputs that no layer gives"):
        keras.Model.from_config(model(layers, "a"))

"""Attention, normalizations and other layers give Keras's initial weights and outputs."""

import json

import numpy as np
import pytest

from pinnace import function, keras
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import layers
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from support.golden import golden
from support.layer_cases import CASES, inputs_of


@pytest.mark.parametrize("name", CASES)
def test_layers_are_those_of_keras(name: str) -> None:
    with np.load(golden("keras/layers.npz"), allow_pickle=False) as file:
        wanted = {k.removeprefix(f"{name}/"): file[k] for k in file if k.startswith(f"{name}/")}
    keras.utils.set_random_seed(3)
    case = CASES[name]
    xs, given = inputs_of(name)
    tensors, mask = [convert_to_tensor(x) for x in xs], convert_to_tensor(given)
    layer = case.make(layers)
    found = {
        f"output_{i}": y for i, y in enumerate(structure.flatten(case.call(layer, tensors, mask)))
    }
    found.update({f"weight_{i}": w for i, w in enumerate(layer.get_weights())})
    assert found.keys() == wanted.keys()
    # Sums of some ten products of float32, in another order.
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=2e-6, err_msg=key)
    if "dropout" in name:
        return
    traced = function(lambda *tensors: case.call(layer, list(tensors), mask))(*tensors)
    for i, y in enumerate(structure.flatten(traced)):
        np.testing.assert_allclose(y, found[f"output_{i}"], rtol=1e-5, atol=1e-6)
    stored = json.loads(json.dumps(serialize_keras_object(layer)))
    copy = deserialize_keras_object(stored)
    case.call(copy, tensors, mask)
    copy.set_weights(layer.get_weights())
    for i, y in enumerate(structure.flatten(case.call(copy, tensors, mask))):
        np.testing.assert_allclose(y, found[f"output_{i}"], rtol=1e-6, atol=1e-7)

"""Recurrent layers and masks give Keras's initial weights, outputs and training."""

import numpy as np
import pytest

from pinnace import function, keras
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import layers
from support.golden import golden
from support.recurrent_cases import LAYERS, MODELS, sequences, trained


def recorded(prefix: str) -> dict[str, np.ndarray]:
    with np.load(golden("keras/recurrent.npz"), allow_pickle=False) as file:
        return {key.removeprefix(prefix): file[key] for key in file if key.startswith(prefix)}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_keras(name: str) -> None:
    wanted = recorded(f"layer/{name}/")
    keras.utils.set_random_seed(3)
    x, mask, training = sequences(name)
    layer = LAYERS[name](layers)
    options = {} if mask is None else {"mask": convert_to_tensor(mask)}
    outputs = structure.flatten(layer(x, training=training, **options))
    weights = layer.get_weights()
    # Initializers draw from the same streams; 2 ulps: the logarithm in a normal distribution.
    # Orthogonal ones come from a QR decomposition, whose rounding depends on the library.
    for i, weight in enumerate(weights):
        np.testing.assert_allclose(weight, wanted[f"weight_{i}"], rtol=1e-5, atol=2e-6)
    assert f"weight_{len(weights)}" not in wanted
    assert f"output_{len(outputs)}" not in wanted
    # 6 steps of products of float32, in another order.
    for i, output in enumerate(outputs):
        np.testing.assert_allclose(output, wanted[f"output_{i}"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in LAYERS if "dropout" not in name])
def test_a_graph_gives_what_python_gives(name: str) -> None:
    x, mask, _ = sequences(name)
    layer = LAYERS[name](layers)
    options = {} if mask is None else {"mask": convert_to_tensor(mask)}
    eager = structure.flatten(layer(x, **options))
    unrolled = getattr(layer, "unroll", False)

    @function(reduce_retracing=True)
    def call(x: object) -> object:
        return layer(x, **options)

    traced = structure.flatten(call(convert_to_tensor(x)))
    for one, other in zip(traced, eager, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    if not unrolled and mask is None:
        # Another length makes the number of steps unknown in the graph.
        shorter = structure.flatten(call(convert_to_tensor(x[:, :4])))
        for one, other in zip(shorter, structure.flatten(layer(x[:, :4])), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_training_with_masks_is_that_of_keras(name: str) -> None:
    wanted = recorded(f"model/{name}/")
    keras.utils.set_random_seed(3)
    model = MODELS[name](keras)
    found = trained(model, name)
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=2e-5, atol=5e-6, err_msg=key)

"""The output dtype of layers is the compute dtype of their policies.

Encodings of categories are in the dtype of variables, as in Keras.
"""

import itertools

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers
from support.each import holds_for_each

NUMBERS = np.ones((2, 4), "int32")
ROWS = np.ones((2, 4), "float32")
STEPS = np.ones((2, 8, 3), "float32")
PICTURES = np.ones((2, 8, 8, 3), "float32")
VOLUMES = np.ones((2, 4, 4, 4, 3), "float32")
FILMS = np.ones((2, 3, 4, 4, 2), "float32")
POLICIES = {
    "float32": ("float32", "float32"),
    "float64": ("float64", "float64"),
    "float16": ("float16", "float16"),
    "mixed_float16": ("float16", "float32"),
    "mixed_bfloat16": ("bfloat16", "float32"),
}
LAYERS = {
    "Dense": (lambda: layers.Dense(3), ROWS),
    "EinsumDense": (lambda: layers.EinsumDense("ab,bc->ac", 3), ROWS),
    "Embedding": (lambda: layers.Embedding(9, 3), NUMBERS),
    "Embedding with a mask": (lambda: layers.Embedding(9, 3, mask_zero=True), NUMBERS),
    "ReversibleEmbedding": (lambda: layers.ReversibleEmbedding(9, 3), NUMBERS),
    "Activation": (lambda: layers.Activation("gelu"), ROWS),
    "Lambda": (lambda: layers.Lambda(lambda x: x * 2), ROWS),
    "Masking": (layers.Masking, STEPS),
    "Conv1D": (lambda: layers.Conv1D(2, 3), STEPS),
    "Conv2D": (lambda: layers.Conv2D(2, 3), PICTURES),
    "Conv3D": (lambda: layers.Conv3D(2, 2), VOLUMES),
    "Conv1DTranspose": (lambda: layers.Conv1DTranspose(2, 3), STEPS),
    "Conv2DTranspose": (lambda: layers.Conv2DTranspose(2, 3), PICTURES),
    "SeparableConv1D": (lambda: layers.SeparableConv1D(2, 3), STEPS),
    "SeparableConv2D": (lambda: layers.SeparableConv2D(2, 3), PICTURES),
    "DepthwiseConv2D": (lambda: layers.DepthwiseConv2D(3), PICTURES),
    "MaxPooling2D": (layers.MaxPooling2D, PICTURES),
    "AveragePooling2D": (layers.AveragePooling2D, PICTURES),
    "GlobalMaxPooling1D": (layers.GlobalMaxPooling1D, STEPS),
    "GlobalAveragePooling2D": (layers.GlobalAveragePooling2D, PICTURES),
    "BatchNormalization": (layers.BatchNormalization, ROWS),
    "LayerNormalization": (layers.LayerNormalization, ROWS),
    "GroupNormalization": (lambda: layers.GroupNormalization(1), PICTURES),
    "UnitNormalization": (layers.UnitNormalization, ROWS),
    "RMSNormalization": (layers.RMSNormalization, ROWS),
    "SpectralNormalization": (lambda: layers.SpectralNormalization(layers.Dense(3)), ROWS),
    "LSTM": (lambda: layers.LSTM(3), STEPS),
    "GRU": (lambda: layers.GRU(3), STEPS),
    "SimpleRNN": (lambda: layers.SimpleRNN(3), STEPS),
    "ConvLSTM2D": (lambda: layers.ConvLSTM2D(2, 2), FILMS),
    "Bidirectional": (lambda: layers.Bidirectional(layers.LSTM(2)), STEPS),
    "TimeDistributed": (lambda: layers.TimeDistributed(layers.Dense(2)), STEPS),
    "RNN": (lambda: layers.RNN(layers.GRUCell(2)), STEPS),
    "Dropout": (lambda: layers.Dropout(0.5), ROWS),
    "GaussianNoise": (lambda: layers.GaussianNoise(0.5), ROWS),
    "AlphaDropout": (lambda: layers.AlphaDropout(0.5), ROWS),
    "SpatialDropout1D": (lambda: layers.SpatialDropout1D(0.5), STEPS),
    "ActivityRegularization": (layers.ActivityRegularization, ROWS),
    "PReLU": (layers.PReLU, ROWS),
    "Softmax": (layers.Softmax, ROWS),
    "Flatten": (layers.Flatten, STEPS),
    "Permute": (lambda: layers.Permute((2, 1)), STEPS),
    "UpSampling2D": (layers.UpSampling2D, PICTURES),
    "ZeroPadding2D": (layers.ZeroPadding2D, PICTURES),
    "Rescaling": (lambda: layers.Rescaling(2.0), PICTURES),
    "Resizing": (lambda: layers.Resizing(4, 4), PICTURES),
    "CenterCrop": (lambda: layers.CenterCrop(4, 4), PICTURES),
    "RandomCrop": (lambda: layers.RandomCrop(4, 4), PICTURES),
    "RandomFlip": (layers.RandomFlip, PICTURES),
    "RandomRotation": (lambda: layers.RandomRotation(0.1), PICTURES),
    "RandomZoom": (lambda: layers.RandomZoom(0.1), PICTURES),
    "RandomContrast": (lambda: layers.RandomContrast(0.1), PICTURES),
    "Solarization": (layers.Solarization, PICTURES),
}


@pytest.fixture(autouse=True)
def _policy_is_put_back():
    yield
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_its_policy_computes_in(name):
    holds_for_each(
        itertools.product(POLICIES, ["to all", "to the layer"]),
        lambda case: gives_what_it_computes_in(name, *case),
    )


def gives_what_it_computes_in(name, policy, given):
    make, x = LAYERS[name]
    computed, kept = POLICIES[policy]
    keras.config.set_dtype_policy(policy)
    layer = make()
    if given == "to the layer":
        if len(layer._flatten_layers(include_self=False)) or name == "Lambda":
            return  # layers inside have policies of their own; a lambda is not stored
        config = layer.get_config()
        keras.config.set_dtype_policy("float32")
        layer = type(layer).from_config(config)
    for training in (False, True):
        found = (
            layer(x, training=training)
            if "training" in layer.call_signature_parameters
            else layer(x)
        )
        assert found.dtype == computed
    assert {w.dtype.name for w in layer.weights} <= {kept}
    assert layer(keras.Input(x.shape[1:], dtype=x.dtype.name)).dtype == computed


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "name", ["Add", "Subtract", "Average", "Maximum", "Concatenate", "Dot", "Attention"]
)
def test_layers_of_two_inputs_give_it_too(name, policy):
    keras.config.set_dtype_policy(policy)
    layer = layers.Dot(1) if name == "Dot" else getattr(layers, name)()
    x = STEPS if name == "Attention" else ROWS
    assert layer([x, x]).dtype == POLICIES[policy][0]


def test_the_rows_of_a_mixed_embedding_are_the_tables_rounded():
    layer = layers.Embedding(9, 3, dtype="mixed_float16")
    rows = layer(NUMBERS)
    table = layer.get_weights()[0]
    assert table.dtype == "float32"
    np.testing.assert_array_equal(rows, table[NUMBERS].astype("float16"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (2, 3, 4)])
def test_orthogonal_weights_of_few_bits_are_orthogonal(dtype, shape):
    value = keras.initializers.Orthogonal(gain=2.0, seed=3)(shape, dtype=dtype)
    assert value.dtype == dtype
    flat = np.asarray(value, "float64").reshape(-1, shape[-1])
    small = flat.T @ flat if flat.shape[0] >= flat.shape[1] else flat @ flat.T
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=0.05)


def test_a_penalty_of_whole_numbers_is_a_number():
    layer = layers.ActivityRegularization()
    np.testing.assert_array_equal(layer(NUMBERS), NUMBERS)
    layer = layers.ActivityRegularization(l1=0.5)
    layer(NUMBERS.astype("float32"))
    np.testing.assert_allclose(layer.losses, [2.0])

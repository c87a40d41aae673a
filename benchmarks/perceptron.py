"""The model of the saving, loading and serving cases: a perceptron 784-128-10, weights fixed."""

from pathlib import Path

import numpy as np

_random = np.random.default_rng(0)
KERNELS = [(_random.standard_normal(s) * 0.05).astype(np.float32) for s in ((784, 128), (128, 10))]
BIASES = [(_random.standard_normal(n) * 0.1).astype(np.float32) for n in (128, 10)]
X = _random.random((4, 784)).astype(np.float32)


def expected() -> np.ndarray:
    """What the model gives for X, by NumPy in float64."""
    hidden = np.maximum(X.astype(np.float64) @ KERNELS[0] + BIASES[0], 0)
    logits = hidden @ KERNELS[1] + BIASES[1]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def build(tf: object) -> object:
    """The model in either library."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((784,), name="x"),
            layers.Dense(128, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.set_weights([KERNELS[0], BIASES[0], KERNELS[1], BIASES[1]])
    return model


def call_signature(tf: object, folder: Path) -> object:
    """What the model saved there gives for X: its signature, whose input Keras names `inputs`."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    (found,) = signature(**{name: tf.constant(X)}).values()
    return found


def check_folder(tf: object, folder: Path) -> None:
    """What is saved there computes the right thing. float32 against float64: 784 products."""
    np.testing.assert_allclose(call_signature(tf, folder).numpy(), expected(), rtol=1e-4, atol=1e-6)

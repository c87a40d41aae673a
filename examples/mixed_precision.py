"""Training in mixed precision: layers compute in float16 or bfloat16, weights stay in float32.

python examples/mixed_precision.py
python examples/mixed_precision.py --policy=mixed_bfloat16
"""

from __future__ import annotations

import argparse

from sklearn.datasets import load_digits

import pinnace as tf


def train(policy, epochs):
    """The model, its accuracy on digits that it has not seen, and its optimizer."""
    tf.keras.utils.set_random_seed(0)
    digits = load_digits()
    x, y = (digits.images[..., None] / 16).astype("float32"), digits.target
    tf.keras.mixed_precision.set_global_policy(policy)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1)),
            tf.keras.layers.Conv2D(16, 3, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(10),
            # Probabilities of float16 would be too coarse for a loss.
            tf.keras.layers.Activation("softmax", dtype="float32"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x[:1500], y[:1500], epochs=epochs, verbose=0)
    _, accuracy = model.evaluate(x[1500:], y[1500:], verbose=0)
    tf.keras.mixed_precision.set_global_policy("float32")
    return model, accuracy


def main(policy, epochs):
    for name in ("float32", policy):
        model, accuracy = train(name, epochs)
        layer = model.layers[0]
        print(f"{name}: computes in {layer.compute_dtype}, keeps {layer.variable_dtype}")
        print(f"  accuracy {accuracy:.2f}")
        scale = getattr(model.optimizer, "dynamic_scale", None)
        if scale is not None:
            print(f"  the loss was multiplied by {float(scale.numpy()):.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="mixed_float16")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    main(options.policy, options.epochs)

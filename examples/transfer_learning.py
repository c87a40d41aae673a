"""One trunk, two heads: train the trunk with the first, reuse it for the second, publish it alone.

    python examples/transfer_learning.py

The primary task has many images: which digit is it? The second has few: is it above four? The data
are the 1,797 handwritten digits that scikit-learn ships.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import pinnace as tf

layers = tf.keras.layers


def load():
    """(images [1797, 64] from 0 to 1, digits), shuffled."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    return (digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int32)


def main(epochs=4, output_path=None):
    tf.keras.utils.set_random_seed(0)
    x, digit = load()
    above_four = (digit > 4).astype(np.int32)
    main_dataset = tf.data.Dataset.from_tensor_slices((x[:1200], digit[:1200])).batch(32)
    small_dataset = tf.data.Dataset.from_tensor_slices((x[1200:1328], above_four[1200:1328]))
    small_dataset = small_dataset.batch(32)

    trunk = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            layers.Dense(64, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(32, activation="relu"),
        ]
    )
    head1 = tf.keras.Sequential([layers.Dense(10)])
    head2 = tf.keras.Sequential([layers.Dense(2)])

    path1 = tf.keras.Sequential([trunk, head1])
    path2 = tf.keras.Sequential([trunk, head2])

    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer1, optimizer2 = tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.Adam(0.01)

    # Train on the primary dataset.
    for _ in range(epochs):
        for images, y in main_dataset:
            with tf.GradientTape() as tape:
                # training=True: Dropout behaves differently then.
                prediction = path1(images, training=True)
                loss = loss_fn(y, prediction)
            # Trunk and head1 together.
            gradients = tape.gradient(loss, path1.trainable_variables)
            optimizer1.apply_gradients(zip(gradients, path1.trainable_variables, strict=True))

    before = trunk.get_weights()

    # Fine-tune the second head, reusing the trunk.
    for _ in range(5 * epochs):
        for images, y in small_dataset:
            with tf.GradientTape() as tape:
                prediction = path2(images, training=True)
                loss = loss_fn(y, prediction)
            # Only the weights of head2, not those of the trunk.
            gradients = tape.gradient(loss, head2.trainable_variables)
            optimizer2.apply_gradients(zip(gradients, head2.trainable_variables, strict=True))

    untouched = all(map(np.array_equal, before, trunk.get_weights()))
    scores = {
        "digits": accuracy(path1, x[1400:], digit[1400:]),
        "above four": accuracy(path2, x[1400:], above_four[1400:]),
    }
    print(f"the second task left the trunk as it was: {untouched}")
    for name, score in scores.items():
        print(f"{name}: {score:.3f} of 397 images that they have not seen")

    # Publish just the trunk's computation, for other people to reuse.
    output_path = output_path or str(Path(tempfile.mkdtemp()) / "trunk")
    tf.saved_model.save(trunk, output_path)
    published = tf.saved_model.load(output_path)
    # A saved function runs as tables, which sum in another order than eager layers.
    same = np.allclose(
        published(x[:8], training=False), trunk(x[:8], training=False), rtol=1e-5, atol=1e-6
    )
    print(f"published in {output_path}; it gives the same features: {same}")
    return scores, untouched, same


def accuracy(model, x, y):
    """The part that is right."""
    return float(np.mean(np.argmax(model(x, training=False), 1) == y))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--output-path")
    options = parser.parse_args()
    main(options.epochs, options.output_path)

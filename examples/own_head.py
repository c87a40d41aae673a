"""A network of `keras.applications` with a head of one's own: train the head, publish the whole.

    python examples/own_head.py                          random weights below the head
    python examples/own_head.py --weights imagenet --layer out_relu
                                                         those that Keras publishes, from its cache
    python examples/own_head.py --weights PATH           those of a file, .weights.h5 or .h5

The pictures are drawn here: bars that lie, bars that stand, and disks, anywhere in any colour.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import pinnace as tf

KINDS = ("lying", "standing", "disk")
SIZE = 64


def draw(count, seed):
    """(pictures [count, SIZE, SIZE, 3] from 0 to 255, kinds)."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, len(KINDS), count).astype(np.int32)
    pictures = rng.uniform(0, 60, (count, SIZE, SIZE, 3)).astype(np.float32)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    for picture, kind in zip(pictures, kinds, strict=True):
        y, x = rng.integers(20, SIZE - 20, 2)
        dy, dx = abs(rows - y), abs(columns - x)
        inside = {
            "lying": (dy < 5) & (dx < 20),
            "standing": (dy < 20) & (dx < 5),
            "disk": dy**2 + dx**2 < 64,
        }
        picture[inside[KINDS[kind]]] = rng.uniform(120, 255, 3)
    return pictures, kinds


def network_of(weights):
    return tf.keras.applications.MobileNetV2(
        input_shape=(SIZE, SIZE, 3), alpha=0.35, include_top=False, weights=weights
    )


def trunk_of(network, layer):
    """The network up to a layer: the mean of each of its channels."""
    channels = network.get_layer(layer).output
    return tf.keras.Model(network.input, tf.keras.layers.GlobalAveragePooling2D()(channels))


def settle(trunk, pictures):
    """Let the normalizations see pictures: with random weights features would vanish."""
    x = tf.keras.applications.mobilenet_v2.preprocess_input(pictures[:64].copy())
    for layer in trunk.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            layer.momentum = 0.5
    for _ in range(8):
        trunk(x, training=True)


def main(weights=None, layer="block_1_expand_relu", epochs=8, output_path=None):
    tf.keras.utils.set_random_seed(0)
    pictures, truth = draw(240, seed=1)
    network = network_of(weights)
    trunk = trunk_of(network, layer)
    if weights is None:
        settle(trunk, pictures)
    trunk.trainable = False

    inputs = tf.keras.Input((SIZE, SIZE, 3), name="picture")
    x = tf.keras.applications.mobilenet_v2.preprocess_input(inputs)
    # training=False: its normalizations keep the means they have.
    features = trunk(x, training=False)
    features = tf.keras.layers.BatchNormalization(momentum=0.9, name="scale")(features)
    kinds = tf.keras.layers.Dense(len(KINDS), activation="softmax", name="kind")(features)
    model = tf.keras.Model(inputs, kinds)
    model.compile(
        tf.keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )

    before = trunk.get_weights()
    model.fit(pictures, truth, batch_size=32, epochs=epochs, verbose=2)
    new_pictures, new_truth = draw(90, seed=2)
    _, accuracy = model.evaluate(new_pictures, new_truth, verbose=0)
    untouched = all(map(np.array_equal, before, trunk.get_weights()))

    output_path = output_path or tempfile.mkdtemp()
    # The network's weights alone, for the next program: its `weights` is this file.
    file = str(Path(output_path) / "network.weights.h5")
    network.save_weights(file)
    x = tf.keras.applications.mobilenet_v2.preprocess_input(new_pictures[:4].copy())
    again = trunk_of(network_of(file), layer)
    same_features = np.allclose(again(x, training=False), trunk(x, training=False), atol=1e-5)

    folder = str(Path(output_path) / "pictures")
    model.save(folder)
    loaded = tf.saved_model.load(folder)
    (answer,) = loaded.signatures["serving_default"](picture=tf.constant(new_pictures)).values()
    same = np.allclose(answer, model.predict(new_pictures, verbose=0), atol=1e-5)
    return {
        "accuracy": accuracy,
        "untouched": untouched,
        "same_features": same_features,
        "same": same,
        "folder": folder,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", help="imagenet, or the path of a file")
    parser.add_argument(
        "--layer",
        default="block_1_expand_relu",
        help="the last one taken: an early one for random weights, out_relu for published ones",
    )
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    found = main(options.weights, options.layer, options.epochs)
    print(f"right for {found['accuracy']:.0%} of new pictures; one in {len(KINDS)} by chance")
    print(f"the trunk kept its weights: {found['untouched']}")
    print(f"with the weights of its file it gives the same features: {found['same_features']}")
    print(f"published in {found['folder']}, it gives the same kinds: {found['same']}")

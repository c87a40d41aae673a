"""Models built here, for features that no recorded model has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path


class Random(tf.Module):
    """TensorFlow's seeded random numbers: 64-bit integer arithmetic in every runtime."""

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32, name="seed")])
    def serve(self, seed: tf.Tensor) -> dict[str, tf.Tensor]:
        """Numbers between 0 and 1, and integers."""
        return {
            "uniform": tf.random.stateless_uniform([5, 7], seed),
            "whole": tf.random.stateless_uniform([9], seed, 0, 1000, tf.int32),
        }


def random(folder: Path) -> None:
    """Save `Random`."""
    model = Random()
    tf.saved_model.save(model, folder, signatures=model.serve)


class Strings(tf.Module):
    """The string operations that ONNX has from opset 20 on."""

    def __init__(self) -> None:
        super().__init__()
        start = tf.lookup.KeyValueTensorInitializer(
            tf.constant(["a", "pinnace", "words"]), tf.constant([5, -1, 1 << 40], tf.int64)
        )
        self.table = tf.lookup.StaticHashTable(start, tf.constant(0, tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Case conversion, splitting, joining, comparison, a lookup table."""
        pieces = tf.strings.split(text, " ")
        return {
            "upper": tf.strings.upper(text),
            "pieces": pieces.to_tensor(""),
            "numbers": self.table.lookup(tf.strings.lower(pieces.flat_values)),
            "joined": tf.strings.join([text, "größer"], "-"),
            "same": tf.equal(text, "a"),
            "whole": tf.strings.regex_full_match(text, "[a-z ]+"),
            "chosen": tf.where(tf.equal(text, "a"), "none", text),
        }


def strings(folder: Path) -> None:
    """Save `Strings`."""
    model = Strings()
    tf.saved_model.save(model, folder, signatures=model.serve)


LABELS = ["red", "green", "blue", "dark", "bright"]


def picture_layers() -> tf.keras.Model:
    """A network for images that normalises their pixels itself."""
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((20, 24, 3), name="image"),
            layers.Rescaling(1 / 127.5, offset=-1),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.DepthwiseConv2D(3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(len(LABELS), activation="softmax"),
        ]
    )


def word_layers() -> tf.keras.Model:
    """Two inputs, one of them integer, and two outputs."""
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    words = tf.keras.Input([7], name="words", dtype="int32")
    facts = tf.keras.Input([3], name="facts")
    x = layers.LSTM(6, return_sequences=True)(layers.Embedding(30, 5)(words))
    state = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), facts])
    return tf.keras.Model([words, facts], [layers.Dense(4)(state), layers.Dense(2)(x)])


def pictures(folder: Path) -> None:
    """The same network, saved with labels."""
    model = picture_layers()
    tf.saved_model.save(model, folder)
    (folder / "labels.txt").write_text("\n".join(LABELS))


def recurrent(folder: Path) -> None:
    """Both directions, states passed on, a layer normalisation: each is one operator."""
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((12, 5), name="x"),
            layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
            layers.LayerNormalization(),
            layers.GRU(4, return_sequences=True),
            layers.SimpleRNN(3),
        ]
    )
    model(np.zeros((1, 12, 5), np.float32))
    tf.saved_model.save(model, folder)

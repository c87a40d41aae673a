"""keras.applications: VGG, ResNet, DenseNet and MobileNet, compared with Keras'."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from oracle.drawing import ASKED
from oracle.networks import Case, ask, close, compare
from oracle.programs import applications

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.peer import Peer

TOP = {"input_shape": [32, 32, 3], "classes": 10}
LOGITS = {**TOP, "classifier_activation": None}
BARE = {"include_top": False}

CASES = [
    Case("VGG16", LOGITS),
    Case("VGG16", {**BARE, "pooling": "avg"}, ".h5"),
    Case("VGG16", {**BARE, "input_shape": [40, 33, 1], "pooling": "max", "name": "mine"}, ""),
    Case("VGG16", {**BARE, "input_tensor": [32, 32, 3]}, ".keras"),
    Case("VGG19", BARE, "whole.h5"),
    Case("VGG19", TOP, ""),
    Case("ResNet50", TOP, ".keras", size=32),
    Case("ResNet50", {**BARE, "pooling": "avg", "input_tensor": [64, 48, 3]}, ""),
    Case("ResNet50", BARE, ".h5", size=50),
    Case("ResNet101", {**BARE, "pooling": "max"}, ".weights.h5"),
    Case("ResNet152", LOGITS, ""),
    Case("ResNet50V2", LOGITS, ".h5"),
    Case("ResNet50V2", {**BARE, "pooling": "max"}, ".weights.h5", size=70),
    Case("ResNet101V2", {**BARE, "pooling": "avg"}, "whole.h5"),
    Case("ResNet152V2", TOP, ""),
    Case("DenseNet121", LOGITS, ".weights.h5"),
    Case("DenseNet121", {**BARE, "input_tensor": [64, 64, 3]}, ".h5", size=64),
    Case("DenseNet169", {**BARE, "pooling": "avg"}, ".keras"),
    Case("DenseNet201", {**BARE, "pooling": "max"}, ""),
    Case("MobileNet", LOGITS, ".weights.h5"),
    Case("MobileNet", {**TOP, "alpha": 0.25, "dropout": 0.5}, ".h5"),
    Case("MobileNet", {**BARE, "alpha": 0.75, "depth_multiplier": 2}, ".keras", size=64),
    Case("MobileNet", {**BARE, "input_tensor": [48, 48, 1], "pooling": "max"}, ""),
    Case("MobileNet", {**BARE, "input_shape": [128, 128, 3], "pooling": "avg"}, ""),
    Case("MobileNetV2", LOGITS, ".weights.h5"),
    Case("MobileNetV2", {**BARE, "alpha": 0.35}, ".h5", size=65),
    Case("MobileNetV2", {**BARE, "alpha": 1.4, "pooling": "avg"}, ".keras", size=96),
    Case("MobileNetV2", {"alpha": 1.3, "input_tensor": [96, 96, 3]}, ""),
    Case("MobileNetV2", {**TOP, "alpha": 0.5, "input_shape": [33, 47, 3]}, ""),
    Case("MobileNetV3Small", LOGITS, ".weights.h5", largest=255.0),
    Case("MobileNetV3Small", {"minimalistic": True, "classes": 7}, ".h5", 47, largest=255.0),
    Case("MobileNetV3Small", {**BARE, "alpha": 0.75, "pooling": "avg"}, ".keras", 64, 255.0),
    Case("MobileNetV3Small", {**LOGITS, "alpha": 1.3, "include_preprocessing": False}, ".h5"),
    Case("MobileNetV3Large", {**BARE, "pooling": "max"}, ".h5", size=33, largest=255.0),
    Case("MobileNetV3Large", {**LOGITS, "minimalistic": True, "dropout_rate": 0}, ".keras"),
    Case("MobileNetV3Large", {"input_tensor": [64, 96, 3], "alpha": 1.2, "classes": 3}, ""),
]


# The short form takes every eighth: most of the time is spent building networks in Keras.
@pytest.mark.parametrize("case", CASES[:: 8 if ASKED else 1], ids=str)
def test_a_network_is_that_of_keras(case: Case, peer: Peer, tmp_path: Path) -> None:
    compare(case, peer, tmp_path)


# Floats, integers; both positions of the channels, with a batch and without.
PICTURES = {
    "batch": ("channels_last", (2, 4, 5, 3)),
    "one": ("channels_last", (4, 5, 3)),
    "batch_first": ("channels_first", (2, 3, 4, 5)),
    "one_first": ("channels_first", (3, 4, 5)),
}


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("pictures", PICTURES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pictures_are_scaled_as_in_keras(mode: str, pictures: str, dtype: Any, peer: Peer) -> None:
    data_format, sizes = PICTURES[pictures]
    x = np.random.default_rng(1).uniform(0, 255, sizes).astype(dtype)
    how = {"data_format": data_format, "mode": mode}
    of_tensor, of_array, left = ask(peer, "scaled", json.dumps(how), x)
    scale = tf.keras.applications.imagenet_utils.preprocess_input
    array = x.copy()
    # Bit for bit: the same few operations, in the same order.
    np.testing.assert_array_equal(scale(tf.constant(x), **how).numpy(), of_tensor)
    np.testing.assert_array_equal(scale(array, **how), of_array)
    np.testing.assert_array_equal(array, left)


def test_a_frozen_network_in_a_model_comes_from_an_older_file(peer: Peer, tmp_path: Path) -> None:
    """Keras lists the weights of frozen layers in another order."""
    x = Case("MobileNetV2").pictures()
    path = str(tmp_path / "whole.h5")
    (theirs,) = ask(peer, "frozen_inside", path, x)
    close(theirs, tf.keras.models.load_model(path)(x, training=False).numpy())
    tf.keras.utils.clear_session()
    for frozen in (True, False):
        model = applications.around(tf.keras, (32, 32, 3))
        model.layers[1].trainable = not frozen
        model.load_weights(path)
        close(theirs, model(x, training=False).numpy())

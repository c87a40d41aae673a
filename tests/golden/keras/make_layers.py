"""Attention, normalizations and other layers as Keras computes them: weights and outputs.

Run by a Python that has TensorFlow, from the root of the repository:

    PYTHONPATH=tests python tests/golden/keras/make_layers.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from support.golden import record
from support.layer_cases import CASES, inputs_of

FOLDER = Path(__file__).parent


def main() -> None:
    """Write the file."""
    arrays = {}
    for name, case in CASES.items():
        keras.utils.set_random_seed(3)
        xs, mask = inputs_of(name)
        layer = case.make(keras.layers)
        outputs = case.call(layer, [tf.constant(x) for x in xs], tf.constant(mask))
        for i, value in enumerate(layer.get_weights()):
            arrays[f"{name}/weight_{i}"] = value
        for i, y in enumerate(tf.nest.flatten(outputs)):
            arrays[f"{name}/output_{i}"] = y.numpy()
    np.savez_compressed(FOLDER / "layers.npz", **arrays)
    record(
        "keras/layers.npz",
        script="keras/make_layers.py",
        made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()

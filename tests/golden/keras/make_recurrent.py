"""Recurrent layers and masks as Keras computes them: inputs, weights, outputs, training.

Run by a Python that has TensorFlow, from the root of the repository:

    PYTHONPATH=tests python tests/golden/keras/make_recurrent.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from support.golden import record
from support.recurrent_cases import LAYERS, MODELS, sequences, trained

FOLDER = Path(__file__).parent


def main() -> None:
    """Write the file."""
    arrays = {}
    for name, make in LAYERS.items():
        keras.utils.set_random_seed(3)
        x, mask, training = sequences(name)
        layer = make(keras.layers)
        options = {} if mask is None else {"mask": tf.constant(mask)}
        outputs = layer(tf.constant(x), training=training, **options)
        weights = layer.get_weights()
        found = {f"weight_{i}": value for i, value in enumerate(weights)}
        for i, y in enumerate(tf.nest.flatten(outputs)):
            found[f"output_{i}"] = y.numpy()
        arrays.update({f"layer/{name}/{key}": value for key, value in found.items()})
    for name, make in MODELS.items():
        keras.utils.set_random_seed(3)
        model = make(keras)
        found = trained(model, name)
        arrays.update({f"model/{name}/{key}": value for key, value in found.items()})
    np.savez_compressed(FOLDER / "recurrent.npz", **arrays)
    record(
        "keras/recurrent.npz",
        script="keras/make_recurrent.py",
        made_with=f"tensorflow {tf.__version__}, keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()

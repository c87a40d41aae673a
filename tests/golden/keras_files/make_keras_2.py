"""Models as Keras 2 writes them; see make.py.

Run by a Python that has TensorFlow and, beside it, tf-keras 2.21.0 (installed without its
dependencies, which include another TensorFlow), from the root of the repository:

    PYTHONPATH=tests python tests/golden/keras_files/make_keras_2.py [NAME…]
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
import tf_keras

from support.golden import record
from support.keras_exchange import write
from support.keras_models import CASES, OLDER, Case

FOLDER = Path(__file__).parent
NAMES = ("dense", "recurrent", "heads", "pictures", "sentences")


def functions(keras: Any) -> Any:
    """Functions of TensorFlow called on outputs of layers."""
    inputs = keras.Input([4], name="x")
    h = keras.layers.Dense(3, activation="hard_sigmoid")(inputs)
    x = tf.concat([h * 2.0 + inputs[:, :1], tf.nn.relu(h - 0.5)], axis=-1)
    x = tf.reshape(x, [-1, 2, 3])
    x = tf.transpose(x, [0, 2, 1]) / tf.reduce_sum(tf.exp(x), axis=[1, 2], keepdims=True)
    a, b = tf.split(x, [1, 2], axis=1)
    x = tf.clip_by_value(tf.matmul(b, tf.expand_dims(tf.squeeze(a, 1), -1)), 0.0, 1.0)
    x = tf.stack([tf.cast(x, "float32"), 1.0 - x], axis=1) ** 2.0
    x = tf.where(x > 0.1, tf.sqrt(x), tf.nn.gelu(x))
    x = tf.math.l2_normalize(keras.layers.Flatten()(tf.gather(x, [1, 0], axis=1)), axis=-1)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model


def main() -> None:
    """Write the files."""
    library = SimpleNamespace(keras=tf_keras, constant=tf.constant)
    CASES["functions"] = Case(functions)
    for name in sys.argv[1:] or (*NAMES, "functions", *OLDER):
        write(library, FOLDER / "keras_2", name)
    record(
        "keras_files/keras_2",
        script="keras_files/make_keras_2.py",
        made_with=f"tensorflow {tf.__version__}, tf-keras {tf_keras.__version__}",
    )


if __name__ == "__main__":
    main()

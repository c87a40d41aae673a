"""Functional models with graph nodes between layers, as TensorFlow 1.13 to 2.3 wrote them.

Each node that a TensorFlow function adds to a graph is one layer, with its constants. The class
that did so is still in Keras 2, which reads and runs it. Run like make_keras_2.py.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras.src.engine.base_layer import TensorFlowOpLayer

from support.golden import record

FOLDER = Path(__file__).parent / "keras_2_nodes"

MODELS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (2.0 * x - 1.0) / tf.exp(x) + tf.maximum(x, 0.0) ** 2.0,
    "joined": lambda x: tf.concat([x, x + 1.0, tf.constant([[1.0]] * 3)], axis=1),
    "stacked": lambda x: tf.stack([x, -x], axis=1)[:, 1, ::2],
    "shaped": lambda x: tf.reshape(x, [tf.shape(x)[0], 2, 2]),
    "cast": lambda x: tf.cast(tf.argmax(tf.cast(x * 9.0, tf.int32), axis=1), tf.float16),
    "parts": lambda x: tf.split(x, [1, 3], axis=1),
    "best": lambda x: tf.nn.top_k(x, 2),
    "summed": lambda x: tf.reduce_mean(x, axis=1, keepdims=True) + tf.reduce_sum(x),
    "product": lambda x: tf.matmul(x, np.eye(4, 2, dtype="float32"), transpose_b=False),
    "pictures": lambda x: tf.nn.conv2d(
        tf.reshape(x, [-1, 2, 2, 1]), np.ones([2, 1, 1, 2], "float32"), [1, 1, 1, 1], "SAME"
    ),
    "texts": lambda x: tf.strings.length(tf.strings.as_string(x, precision=1)),
    "chosen": lambda x: tf.where(x > 0.0, x, tf.zeros_like(x)),
    "gathered": lambda x: tf.gather(x, [3, 0], axis=1),
    "padded": lambda x: tf.pad(x, [[0, 0], [1, 2]], constant_values=5.0),
    "sums": lambda x: tf.add_n([x, x, x]),
}


def layered(function: Callable[[Any], Any], given: Any, stem: str = "") -> Any:
    """The function's result for a KerasTensor: its nodes, one layer each."""
    with tf.Graph().as_default():
        source = tf.compat.v1.placeholder(tf.float32, [None, 4])
        wanted = tf.nest.flatten(function(source))

    made = {source.name: given}

    def tensor_of(tensor: Any) -> Any:
        if tensor.name not in made:
            op = tensor.op
            tensors, constants = [], {}
            for at, one in enumerate(op.inputs):
                value = tf.get_static_value(one)
                if value is None:
                    tensors.append(tensor_of(one))
                else:
                    constants[at] = value
            name = stem + op.name.replace("/", "_")
            layer = TensorFlowOpLayer(op.node_def.SerializeToString(), name, constants)
            outputs = layer(tensors if len(tensors) > 1 else tensors[0])
            for one, output in zip(op.outputs, tf.nest.flatten(outputs), strict=True):
                made[one.name] = output
        return made[tensor.name]

    return [tensor_of(tensor) for tensor in wanted]


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    x = np.random.default_rng(2).normal(size=(3, 4)).astype("float32")
    arrays: dict[str, Any] = {"x": x}
    for name, function in MODELS.items():
        keras.backend.clear_session()
        given = keras.Input([4])
        model = keras.Model(given, layered(function, given))
        text = model.to_json()
        answers = tf.nest.flatten(model(x))
        again = tf.nest.flatten(keras.models.model_from_json(text)(x))
        for at, (one, other) in enumerate(zip(answers, again, strict=True)):
            np.testing.assert_array_equal(one, other)
            arrays[f"{name}/{at}"] = one
        arrays[f"{name}/config"] = text
    keras.backend.clear_session()
    given = keras.Input([4])
    h = keras.layers.Dense(4)(given)
    every = [y for name in ("arithmetic", "joined") for y in layered(MODELS[name], h, name)]
    model = keras.Model(given, keras.layers.Dense(2)(keras.layers.Concatenate()(every)))
    model.save(FOLDER / "dense.h5")
    arrays["dense"] = model(x)
    np.savez_compressed(FOLDER / "answers.npz", **arrays)
    record(
        "keras_files/keras_2_nodes",
        script="keras_files/make_graph_nodes.py",
        made_with=f"tensorflow {tf.__version__}, tf-keras {keras.__version__}",
    )


if __name__ == "__main__":
    main()

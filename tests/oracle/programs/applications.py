"""Networks of keras.applications: their structure, and their weights in files."""

import json
from typing import Any

import numpy as np


def network(tf: Any, _: Any, maker: Any, keywords: Any, path: Any, x: Any) -> list[Any]:
    """The structure of a network as JSON, and its outputs if its weights are written.

    Args:
        tf: TensorFlow.
        maker: name of the function.
        keywords: its arguments, JSON; `weights` is None.
        path: file to write, in the format of its extension; empty for none.
        x: images.
    """
    tf.keras.utils.clear_session()
    tf.keras.utils.set_random_seed(7)  # since a case that failed fails again
    model = made(tf, text(maker), json.loads(text(keywords)))
    facts = json.dumps(facts_of(model, model.operations))
    if not text(path):
        return [tf.constant(facts)]
    disturb(model)
    write(model, text(path))
    return [tf.constant(facts), model(x, training=False)]


def frozen_inside(tf: Any, _: Any, path: Any, x: Any) -> list[Any]:
    """The outputs of a network frozen inside a model, which is written as a whole."""
    keras = tf.keras
    keras.utils.clear_session()
    model = around(keras, (32, 32, 3))
    disturb(model)
    write(model, text(path))
    return [model(x, training=False)]


def outputs(tf: Any, _: Any, maker: Any, keywords: Any, path: Any, x: Any) -> list[Any]:
    """The outputs of a network with the weights of a file."""
    model = made(tf, text(maker), {**json.loads(text(keywords)), "weights": text(path)})
    return [model(x, training=False)]


def scaled(tf: Any, _: Any, how: Any, x: Any) -> list[Any]:
    """Results of preprocess_input for a tensor and an array, and the array afterwards."""
    function = tf.keras.applications.imagenet_utils.preprocess_input
    given = json.loads(text(how))
    array = x.numpy().copy()
    found = function(array, **given)
    return [function(x, **given), tf.constant(found), tf.constant(array)]


def around(keras: Any, shape: tuple[int, ...]) -> Any:
    """A model with a frozen MobileNetV2 in it, for both sides."""
    inside = keras.applications.MobileNetV2(
        weights=None, include_top=False, input_shape=shape, alpha=0.35, pooling="avg"
    )
    inside.trainable = False
    inputs = keras.Input(shape)
    return keras.Model(inputs, keras.layers.Dense(3, name="head")(inside(inputs, training=False)))


def made(tf: Any, maker: str, keywords: dict[str, Any]) -> Any:
    """The network that a function builds, for both sides; `input_tensor` is an Input's shape."""
    if "input_tensor" in keywords:
        inputs = tf.keras.Input(keywords["input_tensor"], name="given")
        keywords = {**keywords, "input_tensor": tf.keras.layers.Rescaling(2.0)(inputs)}
    if "input_shape" in keywords:
        keywords = {**keywords, "input_shape": tuple(keywords["input_shape"])}
    keywords = {"weights": None, **keywords}
    return getattr(tf.keras.applications, maker)(**keywords)


def facts_of(model: Any, operations: Any) -> dict[str, Any]:
    """The facts on which summaries and weight files depend, in a form for JSON; for both sides."""
    return {
        "name": model.name,
        "parameters": model.count_params(),
        "trainable": sum(int(np.prod(v.shape)) for v in model.trainable_weights),
        "input": repr(plain(model.input_shape)),
        "output": repr(plain(model.output_shape)),
        "operations": [operation.name for operation in operations],
        "layers": [
            [
                layer.name,
                type(layer).__name__,
                repr(plain(layer.output.shape)),
                [[int(n) for n in v.shape] for v in layer.weights],
            ]
            for layer in model.layers
        ],
    }


def plain(shape: Any) -> Any:
    """A shape, or a list of them, as tuples."""
    if isinstance(shape, list):
        return [plain(one) for one in shape]
    return tuple(None if n is None else int(n) for n in shape)


def disturb(model: Any) -> None:
    """Give weights that initializers set to 0 and 1 other values of about the same size."""
    rng = np.random.default_rng(7)
    for v in model.weights:
        kind = v.name.partition(":")[0].rpartition("/")[2]
        if kind in {"gamma", "moving_variance"}:
            v.assign(rng.uniform(0.7, 1.3, v.shape))
        elif kind in {"beta", "bias", "moving_mean"}:
            v.assign(rng.normal(0.0, 0.1, v.shape))


def write(model: Any, path: str) -> None:
    """Write weights: as Keras 3 does, in a whole model, or as Keras 2 does for weights alone."""
    if path.endswith(".weights.h5"):
        model.save_weights(path)
    elif path.endswith((".keras", "whole.h5")):
        model.save(path)
    else:
        import h5py
        from keras.src.legacy.saving import legacy_h5_format

        with h5py.File(path, "w") as file:
            legacy_h5_format.save_weights_to_hdf5_group(file, model)


def text(x: Any) -> str:
    """The text of a tensor."""
    return str(x.numpy().decode())

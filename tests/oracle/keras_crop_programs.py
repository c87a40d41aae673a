"""Images cropped and zoomed, with masks; see `both`.

python keras_crop_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers

X = np.arange(60, dtype="float32").reshape(2, 6, 5, 1)
FILLS = ("reflect", "constant", "nearest", "wrap")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: plain(value) for name, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.astype("float64").tolist()]


def data() -> Any:
    masks = (np.arange(60).reshape(2, 6, 5, 1) % 3).astype("float32")
    labels = np.eye(2, dtype="float32")
    return {"images": X, "labels": labels, "segmentation_masks": masks}


def zoomed() -> Any:
    found = {}
    for factors in ((0.3,), ((-0.3, 0.2), 0.4), ((-0.5, -0.4), (-0.4, -0.5)), (0.2, 0.1)):
        for fill in FILLS:
            for interpolation in ("bilinear", "nearest"):
                layer = layers.RandomZoom(
                    *factors, seed=4, fill_mode=fill, interpolation=interpolation, fill_value=2.0
                )
                found[f"{factors} {fill} {interpolation}"] = layer(X, training=True)
    layer = layers.RandomZoom(0.4, 0.3, seed=4, data_format="channels_first")
    found["channels first"] = layer(X.transpose(0, 3, 1, 2), training=True)
    layer = layers.RandomZoom(0.4, seed=4)
    found["one"] = layer(X[0], training=True)
    found["dict"] = layer(data(), training=True)
    found["idle"] = layer(X, training=False)
    found["config"] = {
        name: value for name, value in layer.get_config().items() if name not in {"dtype", "name"}
    }
    return found


def cropped() -> Any:
    found = {}
    for sizes in ((3, 3), (6, 5), (8, 3), (3, 5), (3, 4), (7, 9)):
        # Without training, Keras leaves images unchanged, contrary to its documentation.
        layer = layers.RandomCrop(*sizes, seed=3)
        found[f"{sizes}"] = layer(X, training=True)
    layer = layers.RandomCrop(3, 2, seed=3, data_format="channels_first")
    found["channels first"] = layer(X.transpose(0, 3, 1, 2), training=True)
    layer = layers.RandomCrop(3, 2, seed=3)
    found["one"] = layer(X[0], training=True)
    found["dict"] = layer(data(), training=True)
    found["place"] = layers.RandomCrop(3, 2, seed=5).get_random_transformation(X)
    found["shape"] = list(layer.compute_output_shape((None, 6, 5, 1)))
    x = keras.Input((6, 5, 1))
    model = keras.Model(x, layers.RandomCrop(3, 2)(x))
    found["model"] = [
        list(model.output_shape),
        list(model(X, training=True).shape),
    ]
    pictures = tf.data.Dataset.from_tensors(X).map(layers.RandomCrop(3, 2, seed=3))
    found["dataset"] = list(next(iter(pictures)).shape)
    return found


def rescaled() -> Any:
    """A scale for each channel, with channels first."""
    keras.config.set_image_data_format("channels_first")
    try:
        x = np.arange(24, dtype="float32").reshape(1, 3, 2, 4)
        found = [layers.Rescaling([1.0, 2.0, 3.0], 0.5)(x), layers.Rescaling(2.0)(x)]
        return [*found, layers.Rescaling([1.0, 2.0, 3.0])(x[0])]
    finally:
        keras.config.set_image_data_format("channels_last")


PROGRAMS = {
    "rescaled": rescaled,
    "zoomed": zoomed,
    "cropped": cropped,
}


if __name__ == "__main__":
    report(PROGRAMS, plain)

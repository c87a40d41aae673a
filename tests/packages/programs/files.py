"""Results of model files in packages for random inputs: `python files.py PACKAGES`."""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

PACKAGES = Path(sys.argv[1])
RNG = np.random.default_rng(0)
SNIPPETS = ["def f(x):\n    return x + 1\n", "#include <stdio.h>\nint main() { return 0; }", ""]


def listed(values):
    flat = values if isinstance(values, (list, tuple)) else [values]
    return [[list(np.shape(x)), np.asarray(x, "float64").ravel()[:500].tolist()] for x in flat]


def from_keras(pattern, *shapes):
    """A file of Keras 2, on uniform numbers of these shapes."""
    path = min(PACKAGES.glob(pattern))
    model = keras.models.load_model(path, compile=False)
    inputs = [RNG.random(shape).astype("float32") for shape in shapes]
    return listed(model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0))


def from_signature(folder, name, **inputs):
    """A signature of a SavedModel."""
    function = tf.saved_model.load(str(PACKAGES / folder)).signatures[name]
    outputs = function(**{key: tf.constant(value) for key, value in inputs.items()})
    numbers = {key: value for key, value in outputs.items() if value.dtype != tf.string}
    texts = {
        key: value.numpy().astype(str).tolist()
        for key, value in outputs.items()
        if key not in numbers
    }
    return {"texts": texts, **{key: listed(value.numpy()) for key, value in numbers.items()}}


FOUND = {
    "splice sites": from_keras("spliceai/models/spliceai1.h5", (1, 10101, 4)),
    "emotions": from_keras("fer/data/emotion_model.hdf5", (3, 64, 64, 1)),
    "languages": from_signature("guesslang/data/model", "serving_default", inputs=SNIPPETS),
    "first names": from_signature(
        "naampy/model/naampy_rmse", "serving_default", input=RNG.integers(0, 28, (4, 24))
    ),
}
print(json.dumps(FOUND))

"""Graph models that tensorflowjs 4.22.0 wrote with TensorFlow 2.21.0, and TensorFlow's results.

Run with both importable: python make.py FOLDER; FOLDER gets a folder for each model.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflowjs.converters import tf_saved_model_conversion_v2 as converter

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "saved_models"


class Table(tf.Module):
    def __init__(self):
        start = tf.lookup.KeyValueTensorInitializer(
            tf.constant(["a", "b", "sea"]), tf.constant([1, 2, 3], tf.int64)
        )
        self.table = tf.lookup.StaticHashTable(start, 0)
        self.rows = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2) / 4)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="word")])
    def serve(self, word):
        return {"row": tf.gather(self.rows, self.table.lookup(word))}


def convert(name, source, **options):
    target = Path(sys.argv[1]) / name
    converter.convert_tf_saved_model(str(source), str(target), **options)
    function = tf.saved_model.load(str(source)).signatures["serving_default"]
    rng = np.random.default_rng(7)
    feeds = {}
    for key, spec in function.structured_input_signature[1].items():
        shape = [3 if n is None else n for n in spec.shape]
        if spec.dtype == tf.string:
            feeds[key] = np.array(["sea", "?", "a"])
        elif spec.dtype.is_floating:
            feeds[key] = rng.standard_normal(shape).astype(np.float32)
        else:
            feeds[key] = rng.integers(0, 5, shape).astype(spec.dtype.as_numpy_dtype)
    answers = function(**{key: tf.constant(value) for key, value in feeds.items()})
    told = {
        "inputs": {key: value.tolist() for key, value in feeds.items()},
        "outputs": {key: value.numpy().tolist() for key, value in answers.items()},
    }
    (target / "answers.txt").write_text(json.dumps(told))


if __name__ == "__main__":
    convert("keras_cnn", MODELS / "keras_cnn" / "model")
    convert("keras_separable", MODELS / "keras_separable" / "model")
    convert("keras_lstm_v1", MODELS / "keras_lstm" / "model")
    convert("keras_lstm_v2", MODELS / "keras_lstm" / "model", control_flow_v2=True)
    convert("keras_gru_v2", MODELS / "keras_gru" / "model", control_flow_v2=True)
    convert("multi_io", MODELS / "multi_io" / "model")
    convert("mlp_uint8", MODELS / "keras_mlp" / "model", quantization_dtype_map={"uint8": True})
    convert("mlp_float16", MODELS / "keras_mlp" / "model", quantization_dtype_map={"float16": True})
    model = Table()
    tf.saved_model.save(model, "/tmp/tfjs_table", signatures=model.serve)
    convert("table", "/tmp/tfjs_table")

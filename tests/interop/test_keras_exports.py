"""Files of one library's ExportArchive can be loaded by the other, as functions and a layer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.loaded_process import run_either

X = (np.arange(6, dtype=np.float32).reshape(2, 3) - 2) / 4
# The program that both libraries run: LIBRARY is replaced by the name of the module.
WRITE = """
import sys
import numpy as np
import LIBRARY as tf

keras = tf.keras
folder = sys.argv[1]
inputs = {"a": keras.Input((3,), name="a"), "b": keras.Input((3,), name="b")}
joined = keras.layers.Concatenate()([inputs["a"], inputs["b"]])
several = keras.Model(inputs, keras.layers.Dense(2, name="both")(joined))
several.set_weights([np.arange(12, dtype="float32").reshape(6, 2) / 8, np.float32([1, -1])])
single = keras.Sequential(
    [keras.Input((3,)), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
)
kernel = np.arange(6, dtype="float32").reshape(3, 2) / 4
single.layers[1].set_weights([kernel, np.ones(2, "float32")])
archive = keras.export.ExportArchive()
archive.track(single)
archive.track(several)
spec = keras.InputSpec(shape=(None, 3), dtype="float32")
archive.add_endpoint("single", lambda x: single(x, training=False), [spec])
archive.add_endpoint("several", lambda x: several(x), [{"a": spec, "b": spec}])
archive.add_endpoint("two", lambda x, y: (single(x), x - y), [spec, spec])
archive.add_variable_collection("moments", single.layers[0].non_trainable_variables)
archive.write_out(folder, verbose=False)
"""
READ = """
import json, sys
import numpy as np
import LIBRARY as tf

folder = sys.argv[1]
x = (np.arange(6, dtype="float32").reshape(2, 3) - 2) / 4
loaded = tf.saved_model.load(folder)
layer = tf.keras.layers.TFSMLayer(folder, "single")
given = tf.constant(x)
first, second = loaded.two(given, given * 2)
found = {
    "single": loaded.single(given),
    "several": loaded.several({"a": given, "b": given + 1}),
    "first": first,
    "second": second,
    "served": loaded.signatures["serving_default"](given)["output_0"],
    "layer": layer(given),
    "weights": [len(layer.trainable_weights), len(layer.non_trainable_weights)],
    "moments": [len(loaded.moments), len(loaded.variables), len(loaded.trainable_variables)],
}
lists = lambda y: [lists(z) for z in y] if isinstance(y, (list, tuple)) else np.asarray(y).tolist()
print(json.dumps({name: lists(value) for name, value in found.items()}))
"""


def expected() -> dict[str, Any]:
    # An untrained BatchNormalization divides by sqrt(1 + epsilon).
    kernel = np.arange(6).reshape(3, 2) / 4
    single = X / np.sqrt(1.001) @ kernel + 1
    both = np.concatenate([X, X + 1], -1) @ (np.arange(12).reshape(6, 2) / 8) + [1, -1]
    return {
        "single": single,
        "several": both,
        "first": single,
        "second": -X,
        "served": single,
        "layer": single,
        # gamma, beta, kernel, bias, and the two moving moments.
        "weights": [4, 2],
        "moments": [2, 8, 6],
    }


@pytest.mark.parametrize(
    ("writer", "reader"), [("pinnace", "tensorflow"), ("tensorflow", "pinnace")]
)
def test_the_other_library_loads_an_archive(
    writer: str, reader: str, tmp_path: Path, tensorflow_python: str
) -> None:
    python: dict[str, Any] = {"tensorflow": {"python": tensorflow_python}, "pinnace": {}}
    folder = str(tmp_path / "out")
    run_either(WRITE.replace("LIBRARY", writer), folder, **python[writer])
    done = run_either(READ.replace("LIBRARY", reader), folder, **python[reader])
    found = json.loads(done.strip().splitlines()[-1])
    for name, value in expected().items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_export_writes_is_a_layer_of_keras(tmp_path: Path, tensorflow_python: str) -> None:
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    folder = str(tmp_path / "out")
    model.export(folder)
    read = """
import json, sys
import numpy as np
import tensorflow as tf
layer = tf.keras.layers.TFSMLayer(sys.argv[1])
print(json.dumps(np.asarray(layer(tf.constant(json.loads(sys.argv[2])))).tolist()))
"""
    done = run_either(read, folder, json.dumps(X.tolist()), python=tensorflow_python)
    found = json.loads(done.strip().splitlines()[-1])
    np.testing.assert_allclose(found, model(X), rtol=1e-5, atol=1e-6)

"""Keras' preprocessing layers with sparse and ragged results and inputs: see `both`.

python keras_sparse_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import os
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
WORDS = ["earth", "wind", "and", "fire"]


def told(x: Any) -> Any:
    """What there is to compare of a result: its kind, shape, dtype and parts."""
    if isinstance(x, dict):
        return {str(key): told(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [told(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, (tf.SparseTensor, tf.RaggedTensor, tf.Tensor)):
        shape = x.shape.as_list() if x.shape.rank is not None else "unknown"
        kind = type(x).__name__.removeprefix("Eager")
        head = [kind, shape, x.dtype.name]
        if kind == "SparseTensor":
            return [*head, *(told(part.numpy()) for part in (x.indices, x.values, x.dense_shape))]
        return [*head, told(x.to_list() if kind == "RaggedTensor" else x.numpy())]
    return told(np.asarray(x).tolist())


def inputs(kind: str, form: str) -> Any:
    """Numbers or texts in one of the forms that a layer may be called on."""
    if kind == "text":
        table = np.array([["earth", "fire", "air"], ["wind", "", "wind"], ["and", "and", "earth"]])
    elif kind == "float":
        table = np.array([[-1.5, 1.0, 3.5], [0.5, 0.25, 2.0], [7.0, 1.5, 1.0]], "float32")
    else:
        table = np.array([[1, 3, 2], [0, 4, 0], [2, 2, 1]])
    if form == "ragged":
        rows = [table[0].tolist(), [], table[2, :2].tolist()]
        return tf.ragged.constant(
            rows, dtype=None if kind == "text" else table.dtype, ragged_rank=1
        )
    if form == "sparse":
        places = [[0, 0], [0, 2], [2, 0], [2, 1]]
        values = [table[i, j] for i, j in places]
        return tf.SparseTensor(places, values, [3, 4])
    cut = {
        "scalar": table[0, 1],
        "vector": table[0],
        "column": table[:, :1],
        "matrix": table,
        "empty": table[:0],
        "cube": np.stack([table, table[::-1]]),
    }[form]
    return tf.constant(cut)


FORMS = ("scalar", "vector", "column", "matrix", "empty", "cube", "ragged", "sparse")
LOOKUP_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


def category(**options: Any) -> Any:
    return layers.CategoryEncoding(num_tokens=6, **options), "int"


def hashing(**options: Any) -> Any:
    return layers.Hashing(num_bins=5, **options), "text"


def hashing_numbers(**options: Any) -> Any:
    return layers.Hashing(num_bins=5, mask_value=2, **options), "int"


def discretization(**options: Any) -> Any:
    return layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0], **options), "float"


def _weights(options: Any) -> Any:
    if options.get("output_mode") == "tf_idf":
        options["idf_weights"] = [0.25, 0.5, 2.0, 4.0]
    return options


def string_lookup(**options: Any) -> Any:
    return layers.StringLookup(vocabulary=WORDS, **_weights(options)), "text"


def masked_lookup(**options: Any) -> Any:
    options = _weights(options)
    return layers.StringLookup(
        vocabulary=WORDS, mask_token="", num_oov_indices=2, **options
    ), "text"


def padded_lookup(**options: Any) -> Any:
    options = _weights(options)
    return layers.StringLookup(
        vocabulary=WORDS, max_tokens=9, pad_to_max_tokens=True, **options
    ), "text"


def integer_lookup(**options: Any) -> Any:
    return layers.IntegerLookup(vocabulary=[1, 2, 3, 9], **_weights(options)), "int"


MAKERS = {
    "category": (category, ("one_hot", "multi_hot", "count")),
    "hashing": (hashing, ("int", "one_hot", "multi_hot", "count")),
    "hashing_numbers": (hashing_numbers, ("int", "one_hot", "multi_hot", "count")),
    "discretization": (discretization, ("int", "one_hot", "multi_hot", "count")),
    "string_lookup": (string_lookup, LOOKUP_MODES),
    "masked_lookup": (masked_lookup, LOOKUP_MODES),
    "padded_lookup": (padded_lookup, LOOKUP_MODES),
    "integer_lookup": (integer_lookup, LOOKUP_MODES),
}


def attempt(program: Any) -> Any:
    """What it gives; of an error that it is one."""
    try:
        return told(program())
    except Exception as error:
        if os.environ.get("SHOW_ERRORS"):
            return f"error {type(error).__name__}: {error}"[:150]
        return "error"


def everywhere(layer: Any, x: Any) -> Any:
    """Called at once, traced with the shape known and not, and mapped over a dataset."""
    spec = x.spec if hasattr(x, "spec") else getattr(x, "_type_spec", None)
    if spec is None or isinstance(x, tf.Tensor):
        spec = tf.TensorSpec([None, *x.shape[1:]] if x.shape.rank else [], x.dtype)
    open_call = tf.function(layer, input_signature=[spec])
    found = {
        "eager": attempt(lambda: layer(x)),
        "function": attempt(lambda: tf.function(lambda: layer(x))()),
        "open": attempt(lambda: open_call(x)),
    }
    if x.shape.rank:
        data = tf.data.Dataset.from_tensor_slices(x)
        found["mapped"] = attempt(lambda: list(data.batch(2).map(layer)))
        found["batched"] = attempt(lambda: list(data.map(layer).batch(2)))
    return found


def grid(name: str, sparse: bool) -> Any:
    """Each mode on each form of input."""
    make, modes = MAKERS[name]
    found = {}
    for mode in modes:
        if sparse and mode == "int":
            continue
        for form in FORMS:
            layer, kind = make(output_mode=mode, sparse=sparse)
            found[f"{mode}_{form}"] = everywhere(layer, inputs(kind, form))
    return found


PROGRAMS = {
    "category": lambda: grid("category", True),
    "category_dense": lambda: grid("category", False),
    "hashing": lambda: grid("hashing", True),
    "hashing_dense": lambda: grid("hashing", False),
    "hashing_numbers": lambda: grid("hashing_numbers", True),
    "discretization": lambda: grid("discretization", True),
    "discretization_dense": lambda: grid("discretization", False),
    "string_lookup": lambda: grid("string_lookup", True),
    "string_lookup_dense": lambda: grid("string_lookup", False),
    "masked_lookup": lambda: grid("masked_lookup", True),
    "masked_lookup_dense": lambda: grid("masked_lookup", False),
    "padded_lookup": lambda: grid("padded_lookup", True),
    "integer_lookup": lambda: grid("integer_lookup", True),
    "integer_lookup_dense": lambda: grid("integer_lookup", False),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.chdir(sys.argv[2])
    done: dict[str, Any] = {}
    for name, program in PROGRAMS.items():
        try:
            done[name] = told(program())
        except Exception as error:
            done[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write("\n" + json.dumps(done))

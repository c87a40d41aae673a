"""TensorFlow's results for calls of `tf.compat.v1`; run with the Python that has it.

Reads a JSON object from stdin: `calls`, expressions, and `names`, functions below `tf.compat.v1`;
writes the values of the first and the parameters of the second.
"""

import contextlib
import inspect
import io
import json
import os
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")


def told(value):
    """A value in a form for JSON."""
    if isinstance(value, dict):
        return {str(key): told(one) for key, one in sorted(value.items())}
    if hasattr(value, "indices") and hasattr(value, "dense_shape"):
        return [told(value.indices), told(value.values), told(value.dense_shape)]
    if hasattr(value, "to_list"):
        return told_list(value.to_list())
    if isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
        return [told(one) for one in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    array = value.numpy() if hasattr(value, "numpy") else value
    dtype = getattr(getattr(value, "dtype", None), "name", type(array).__name__)
    shape = list(getattr(array, "shape", []))
    listed = array.tolist() if hasattr(array, "tolist") else array
    return {"dtype": dtype, "shape": shape, "values": told_list(listed)}


def told_list(value):
    if isinstance(value, list):
        return [told_list(one) for one in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value.decode() if isinstance(value, bytes) else value


def parameters(function):
    """Names of a function's parameters, and plain defaults."""
    plain = (bool, int, float, str, type(None))
    return [
        [one.name, one.default if isinstance(one.default, plain) else "..."]
        for one in inspect.signature(function).parameters.values()
    ]


def answer(asked, tf, np):
    """The values and the parameters."""
    values = {}
    space = {
        "tf": tf,
        "v1": tf.compat.v1,
        "np": np,
        "X": np.arange(1, 7, dtype=np.float32).reshape(2, 3),
        "N": np.array([[3, -1, 2], [0, 5, -4]], np.int32),
        "B": np.array([[True, False, True], [False, False, True]]),
        "P": np.linspace(-1, 1, 1 * 4 * 4 * 2, dtype=np.float32).reshape(1, 4, 4, 2),
    }
    for call in asked["calls"]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                values[call] = told(eval(call, dict(space)))
        except Exception as error:
            values[call] = {"raised": type(error).__name__, "said": str(error)[:300]}
    found = {}
    for name in asked["names"]:
        value = tf.compat.v1
        for part in name.split("."):
            value = getattr(value, part)
        found[name] = parameters(value)
    return {"values": values, "parameters": found}


if __name__ == "__main__":
    import numpy as np
    import tensorflow as tf

    json.dump(answer(json.load(sys.stdin), tf, np), sys.stdout)

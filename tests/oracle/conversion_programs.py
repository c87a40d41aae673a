"""Conversion of arrays and Python values to a requested dtype; see `both`.

python conversion_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])

ARRAYS = [
    np.array([120.0, 1.5, -2.75]),
    np.array([120.0, 1.5], "float32"),
    np.array([1.5, 0.0], "float16"),
    np.array([0, 1, 7]),
    np.array([300, 2], "int32"),
    np.array([2**40, 1]),
    np.array([200, 1], "uint8"),
    np.array([True, False]),
    np.array([1 + 2j, 0]),
    np.array([[1.5]]),
    np.array(3.0),
    np.array([]),
    np.zeros([0, 2], "int64"),
    np.float64(1.5),
    np.float32(2.5),
    np.int64(3),
    np.bool_(True),
]
PYTHON = [
    *(True, 1, 1.5, 1j, "a", b"a", [True, False], [1, 0], [1.5], [1, 2.5], [], ["a"], [1, "a"]),
    *([np.float64(1.5)], [np.int64(3)]),
]
# In TensorFlow, uint8 and int8 with Python bools differ between eager and traced code.
KINDS = ("int32", "int64", "float32", "float64", "bool", "float16", "complex64")
TENSORS = {
    "int32": [1, 2],
    "float32": [1.0, 2.0],
    "float64": [1.0, 2.0],
    "uint8": [1, 2],
}


def told(call: Any) -> Any:
    """The result of a call, or that it fails."""
    try:
        found = call()
    except (tf.errors.OpError, OverflowError, TypeError, ValueError):
        return "fails"
    array = np.asarray(found)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    values = [str(x) for x in array.reshape(-1)] if array.dtype == object else array.tolist()
    return [found.dtype.name, list(found.shape), values]


def traced(call: Any) -> Any:
    return tf.function(call, autograph=False)()


def constants(values: Any, kinds: Any) -> Any:
    return [
        [
            told(lambda v=v, k=k: tf.constant(v, k)),
            told(lambda v=v, k=k: tf.convert_to_tensor(v, k)),
            told(lambda v=v, k=k: traced(lambda: tf.constant(v, k))),
        ]
        for v in values
        for k in kinds
    ]


def hints() -> Any:
    return [
        told(lambda v=v, k=k: tf.convert_to_tensor(v, dtype_hint=k)) for v in ARRAYS for k in KINDS
    ]


def variables() -> Any:
    return [told(lambda v=v, k=k: tf.Variable(v, dtype=k)) for v in ARRAYS for k in KINDS]


def assigned() -> Any:
    found = []
    for kind, value in TENSORS.items():
        for array in ARRAYS[:8]:
            variable = tf.Variable(value, dtype=kind)
            whole = np.broadcast_to(array[:1], [2])
            found.append(told(lambda v=variable, w=whole: v.assign(w)))
            found.append(told(lambda v=variable, w=whole: v.assign_add(w)))
    return found


def beside_tensors() -> Any:
    calls = {
        "+": lambda x, y: x + y,
        "add": tf.add,
        "maximum": tf.maximum,
        "where": lambda x, y: tf.where([True, False], x, y),
        "stack": lambda x, y: tf.stack([x, y]),
        "after": lambda x, y: y + x,
        "==": lambda x, y: x == y,
    }
    found = {}
    for kind, value in TENSORS.items():
        x = tf.constant(value, kind)
        for index, array in enumerate(ARRAYS):
            if array.ndim > 1 or array.size not in {1, 2}:
                continue
            y = array if array.ndim == 0 else array[:2]
            for name, call in calls.items():
                key = f"{kind} {index} {name}"
                found[key] = told(lambda c=call, x=x, y=y: c(x, y))
                if name != "maximum":
                    found[f"{key} traced"] = told(lambda c=call, x=x, y=y: traced(lambda: c(x, y)))
    return found


def sizes() -> Any:
    x = tf.range(6)
    image = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    return [
        told(lambda: tf.reshape(x, np.array([2.0, 3.0]))),
        told(lambda: tf.reshape(x, np.array([2, 3], "uint8"))),
        told(lambda: tf.image.resize(image, np.array([2.0, 2.0]))),
        told(lambda: tf.zeros(np.array([2, 1], "int16"))),
    ]


PROGRAMS = {
    "arrays": lambda: constants(ARRAYS, KINDS),
    "narrow": lambda: constants(ARRAYS[:11], ("uint8", "int8", "uint16")),
    "python": lambda: constants(PYTHON, KINDS[:5]),
    "strings": lambda: constants([*ARRAYS[:2], np.array(["a"])], ("string",)),
    "hints": hints,
    "variables": variables,
    "assigned": assigned,
    "beside tensors": beside_tensors,
    "sizes": sizes,
}


if __name__ == "__main__":
    report(PROGRAMS)
